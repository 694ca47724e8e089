"""ApplyOptions: how a plan is to be carried out, as its user chooses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import UsageError
from ..hints import Hint, Option, sentence
from . import QUIET_PERIOD, VERIFY_TIMEOUT

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The choices of carrying out a plan. Every verb that applies takes it whole, or its fields as keyword arguments.

    Parameters
    ----------
    skip_conflicts
        Leave rows alone that somebody has moved since the plan; else they refuse the whole plan.
    allow
        The keys of dangerous rows, `plan.dangers()`, that are meant; the plan then needs a reason.
    gradual, usage
        Lower quotas in steps, so that no client that USAGE knows is throttled for more than so many seconds. A usage
        alone makes a limit dangerous under which one of its clients would stand still for two minutes.
    lock, steal
        Hold the cluster's lease while it runs; take it from one who holds it.
    require_approval
        Refuse a plan that nobody but its author has approved; see `Cluster.approve`.
    policy
        Refuse a plan that breaks a rule of it; so do `$KADMIN_POLICY` and the profile's policy. See `Cluster.guard`.
    verify_timeout, quiet_period
        Seconds that brokers are given to show a change, and that a lost alter is waited for.
    wait_clients
        Seconds that registered clients are given to say that they follow a dynamic client config: see `Cluster.verify`.

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
    require_approval: bool = False
    policy: Any = ()
    verify_timeout: float = VERIFY_TIMEOUT
    quiet_period: float = QUIET_PERIOD
    wait_clients: float = 0.0

    def __post_init__(self) -> None:
        if self.gradual is not None and self.usage is None:
            raise UsageError(
                "lowering in steps needs to know what clients use",
                hint=Hint(sentence("{} is a USAGE frame.", Option("usage", "NAME"))),
            )

    @property
    def allowed_keys(self) -> Collection[str]:
        """`allow`, of which a single key may be a text."""
        return [self.allow] if isinstance(self.allow, str) else self.allow

    @property
    def policies(self) -> list[Any]:
        """`policy`, which may be several."""
        return [*self.policy] if isinstance(self.policy, list | tuple) else [self.policy] if self.policy else []


def takes_apply_options(function: F) -> F:
    """Show the fields of ApplyOptions in a function's signature, for help and completion, instead of `**keywords`."""
    signature = inspect.signature(function)
    *parameters, _ = signature.parameters.values()
    options = inspect.signature(ApplyOptions).parameters.values()
    fields = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    function.__signature__ = signature.replace(parameters=[*parameters, *fields])  # type: ignore[attr-defined]
    return function
