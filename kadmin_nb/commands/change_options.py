"""Options of verbs that plan, change and apply: the one place where they become PlanOptions and ApplyOptions."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any, TypeVar

import click

from ..errors import UsageError
from ..plans import VERIFY_TIMEOUT, WAIT_LEASE
from ..plans.apply_options import ApplyOptions
from .click_glue import FRAME, Words
from .completions import dangerous
from .options import Bind, Command, Finite, Length, detailed, no_binding, printing, reading
from .session import PlanOptions, Session, usage_frame

_POLICIES = "kadmin.policy"
T = TypeVar("T")


def planning(command: Command, bind: Bind = no_binding) -> Command:
    """`--reason`, `--save`, `--force`, `--expires-in`, `--allow-unknown`, `--policy`, `--print`: for a verb that plans.

    The command takes `plan_options`; `bind` makes something of its other options.
    """
    for option in (_policy, allow_unknown, _lifetime, _force, _save, reason):
        command = option(command)

    def bind_all(ctx: click.Context, session: Session, params: dict[str, Any]) -> None:
        bind(ctx, session, params)
        _bind_plan_options(ctx, session, params)

    return reading(printing(command), bind_all)


def changing(command: Command, bind: Bind = no_binding) -> Command:
    """`--apply`, `--allow`, `--wait-lease`, `--detailed-exitcode`, and what `planning` has: for a verb that changes."""
    return planning(detailed("there is something to change")(_apply(_allow(_wait_lease(command)))), bind)


def applying(command: Command) -> Command:
    """`--allow`, `--skip-conflicts`, `--gradual`, `--usage`, `--no-lock`, …: for a verb that applies a plan.

    The command takes `apply_options`.
    """
    for option in (
        _allow,
        _policy,
        _approval,
        wait_clients,
        _wait,
        _usage,
        _gradual,
        _wait_lease,
        _steal,
        _no_lock,
        _skip,
    ):
        command = option(command)
    return reading(command, _bind_apply_options)


def _bind_plan_options(ctx: click.Context, session: Session, params: dict[str, Any]) -> None:
    plan_options = taken(PlanOptions, params, apply_options=taken(ApplyOptions, params))
    if plan_options.apply and "print" in ctx.meta:
        raise UsageError("--print and --apply cannot be combined", hint="Use one, then the other.")
    if plan_options.apply_options.allow and not plan_options.apply:
        raise UsageError("--allow needs --apply", hint="A plan only shows its dangers; --apply accepts them.")
    if plan_options.apply_options.wait_lease is not None and not plan_options.apply:
        raise UsageError("--wait-lease needs --apply", hint="Only what is applied needs the lease.")
    params["plan_options"] = plan_options


def _bind_apply_options(ctx: click.Context, session: Session, params: dict[str, Any]) -> None:
    params["usage"] = usage_frame(session, params["usage"])
    params["apply_options"] = taken(ApplyOptions, params)


def taken(kind: type[T], params: dict[str, Any], **more: Any) -> T:
    """The options of this kind, made of those parameters that are named as its fields; they leave the others."""
    names = [field.name for field in fields(kind) if field.name in params]  # type: ignore[arg-type]
    return kind(**{name: params.pop(name) for name in names}, **more)


def _with_those_before(ctx: click.Context, option: click.Parameter, policies: tuple[str, ...]) -> tuple[str, ...]:
    """A policy that is named before a sub-command holds for it too."""
    ctx.meta[_POLICIES] = (*ctx.meta.get(_POLICIES, ()), *policies)
    every: tuple[str, ...] = ctx.meta[_POLICIES]
    return every


def _hours(ctx: click.Context, option: click.Parameter, number: float | None) -> timedelta | None:
    return None if number is None else timedelta(hours=number)


def negated(ctx: click.Context, option: click.Parameter, is_typed: bool) -> bool:
    return not is_typed


reason = click.option("--reason", help="The reason, stored in the plan.")
_save = click.option("--save", metavar="FILE", help="Write the plan to a file.")
_force = click.option("--force", is_flag=True, help="Let --save overwrite another plan.")
_lifetime = click.option(
    "--expires-in",
    "lifetime",
    type=Finite(min=0, min_open=True, max=24 * 366),
    callback=_hours,
    metavar="HOURS",
    help="How long the plan may be applied; default: 7 days.",
)
again = click.option(
    "--again",
    is_flag=True,
    help="Send a broker's key and trust stores even if they are set already: the broker reloads the files.",
)
allow_unknown = click.option("--allow-unknown", multiple=True, metavar="KEY", help="Allow a key that is not known.")
_policy = click.option(
    "--policy",
    multiple=True,
    metavar="FILE",
    callback=_with_those_before,
    help="Refuse a plan that breaks a rule of this policy.",
)
_apply = click.option("--apply", is_flag=True, help="Apply the plan.")
_allow = click.option(
    "--allow", multiple=True, metavar="KEY", type=Words(dangerous), help="Allow dangerous changes of this key."
)
_skip = click.option("--skip-conflicts", is_flag=True, help="Skip rows that changed since the plan.")
_no_lock = click.option("--no-lock", "lock", is_flag=True, callback=negated, help="Do not take the cluster's lease.")
_steal = click.option("--steal-lock", "steal", is_flag=True, help="Take the lease from its holder.")
_wait_lease = click.option(
    "--wait-lease",
    type=Finite(min=0, max=24 * 3600),
    metavar="SECONDS",
    help=f"How long to wait for another editor's lease; default: {WAIT_LEASE:.0f}, and whoever types is asked first.",
)
_gradual = click.option(
    "--gradual",
    type=Finite(min=1, max=10**6),
    metavar="SECONDS",
    help="Lower quotas in steps, so that no client is throttled for longer than this.",
)
_usage = click.option(
    "--usage",
    metavar="NAME",
    type=FRAME,
    help="USAGE, a variable or file: limits that would stall a client need --allow.",
)
_approval = click.option(
    "--require-approval", is_flag=True, help="Refuse a plan that no other person has approved (plan approve)."
)
_wait = click.option(
    "--wait",
    "verify_timeout",
    type=Finite(min=0, max=24 * 3600),
    default=VERIFY_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Wait for brokers that are behind, until none has shown a further row for this long.",
)
wait_clients = click.option(
    "--wait-clients",
    type=Length(),
    default=0.0,
    metavar="DURATION",
    help="How long to wait until each registered client follows a dynamic client config: 60s.",
)
