"""ApplyOptions: how a plan is to be carried out, as its user chooses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..errors import Locked, UsageError
from ..hints import Hint, Option, sentence
from . import QUIET_PERIOD, VERIFY_TIMEOUT, WAIT_LEASE


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options of applying a plan. Every verb that applies takes this object, or its fields as keyword arguments.

    Parameters
    ----------
    skip_conflicts
        Skip rows that changed since the plan. Without it, such rows refuse the whole plan.
    allow
        The keys of dangerous rows, `plan.dangers()`, to allow; the plan then needs a reason. The id of the plan by
        which this one was rolled back, to apply it all the same.
    gradual, usage
        Lower quotas in steps, so that no client in USAGE is throttled for more than this many seconds. A usage alone
        makes limits dangerous that would stall one of its clients for two minutes.
    lock, steal
        Hold the cluster's lease while the plan is applied; take the lease from its holder.
    wait_lease
        Seconds to wait for the lease while another editor holds it; 0 refuses at once. None is 150 seconds, and in a
        terminal the person there is asked first. A function is called with the refusal, and returns the seconds.
    require_approval
        Refuse a plan that no other person has approved; see `Cluster.approve`.
    policy
        Refuse a plan that breaks a rule of this policy, besides `$KADMIN_POLICY` and the profile's. See
        `Cluster.guard`.
    verify_timeout
        Seconds without a further row after which brokers that do not show a change are no longer waited for.
    quiet_period
        Seconds to wait until a lost alter can no longer take effect.
    wait_clients
        Seconds to wait until registered clients follow a dynamic client config: see `Cluster.verify`.

    Raises
    ------
    UsageError
        `gradual` without `usage`.
    """

    skip_conflicts: bool = False
    allow: str | Collection[str] = ()
    gradual: float | None = None
    usage: object = None
    lock: bool = True
    steal: bool = False
    wait_lease: float | Callable[[Locked], float] | None = None
    require_approval: bool = False
    policy: Any = ()
    verify_timeout: float = VERIFY_TIMEOUT
    quiet_period: float = QUIET_PERIOD
    wait_clients: float = 0.0

    def __post_init__(self) -> None:
        if self.gradual is not None and self.usage is None:
            raise UsageError(
                "lowering in steps needs the clients' usage",
                hint=Hint(sentence("Add {}, a USAGE frame.", Option("usage", "NAME"))),
            )

    def patience(self, held: Locked) -> float:
        """`wait_lease` in seconds, where the lease is held."""
        seconds = self.wait_lease(held) if callable(self.wait_lease) else self.wait_lease
        return WAIT_LEASE if seconds is None else seconds

    @property
    def allowed_keys(self) -> Collection[str]:
        """`allow` as keys; a single key may be given as text."""
        return [self.allow] if isinstance(self.allow, str) else self.allow

    @property
    def policies(self) -> list[Any]:
        """`policy` as a tuple; it may be several."""
        return [*self.policy] if isinstance(self.policy, list | tuple) else [self.policy] if self.policy else []


_FIELDS = tuple(field.name for field in fields(ApplyOptions))


def with_arguments(options: ApplyOptions | None, arguments: Mapping[str, Any]) -> ApplyOptions:
    """The options, changed where an argument of the name of a field is given; other arguments are passed over."""
    changes = {name: value for name in _FIELDS if (value := arguments[name]) is not None}
    return replace(options or ApplyOptions(), **changes)
