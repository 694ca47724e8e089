"""ApplyOptions: how a plan is to be carried out, as its user chooses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from ..errors import UsageError
from ..hints import Hint, Option, sentence
from ..model.changes import refuse_secret_text
from . import QUIET_PERIOD, VERIFY_TIMEOUT


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """The options of applying a plan. Every verb that applies takes this object, or its fields as keyword arguments.

    Parameters
    ----------
    allow
        The dangerous rows to allow, each by its key and whose it is, `"acks user=alice"`: the column `allow` of
        `plan.dangers()`. A reason is needed then. The id of the plan by which this one was rolled back, to apply
        it all the same.
    reason
        The reason for the dangers that are allowed, where the plan has none; its journal keeps it.
    gradual, usage
        Lower quotas in steps, so that no client in USAGE is throttled for more than this many seconds. A usage alone
        makes limits dangerous that would stall one of its clients for two minutes.
    lock, steal
        Hold the cluster's lease while the plan is applied; take the lease from its holder.
    wait_lease
        Seconds to wait for the lease while another editor holds it; 0 refuses at once, None is 150.
    require_approval
        Refuse a plan that no other person has approved; see `cluster.plans.approve`.
    policy
        Refuse a plan that breaks a rule of this policy, a file or functions, besides those of the profile. See
        `cluster.plans.guard`.
    verify_timeout
        Seconds without a further row after which brokers that do not show a change are no longer waited for.
    quiet_period
        Seconds to wait until a lost alter can no longer take effect.

    Raises
    ------
    UsageError
        `gradual` without `usage`.
    """

    allow: str | Collection[str] = ()
    reason: str | None = None
    gradual: float | None = None
    usage: object = None
    lock: bool = True
    steal: bool = False
    wait_lease: float | None = None
    require_approval: bool = False
    policy: Any = ()
    verify_timeout: float = VERIFY_TIMEOUT
    quiet_period: float = QUIET_PERIOD

    def __post_init__(self) -> None:
        refuse_secret_text("the reason", self.reason or "")
        if self.gradual is not None and self.usage is None:
            raise UsageError(
                "lowering in steps needs the clients' usage",
                hint=Hint(sentence("Add {}, a USAGE frame.", Option("usage", "NAME"))),
            )

    @property
    def allowed(self) -> Collection[str]:
        """`allow` as several; a single one may be given as text."""
        return [self.allow] if isinstance(self.allow, str) else self.allow


def with_arguments(options: ApplyOptions | None, given: Mapping[str, Any]) -> ApplyOptions:
    """The options, changed where a keyword argument is given; None is as if it were not given."""
    return replace(options or ApplyOptions(), **{name: value for name, value in given.items() if value is not None})


_Verb = TypeVar("_Verb", bound=Callable[..., object])


def shows_options(verb: _Verb) -> _Verb:
    """The same verb, whose help and completion name each field of `ApplyOptions` where it takes `**given`."""
    signature = inspect.signature(verb)
    *own, _ = signature.parameters.values()
    options = [
        inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{field.type} | None")
        for field in fields(ApplyOptions)
    ]
    verb.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return verb
