"""Options of verbs that plan, change and apply: the one place where they become PlanOptions and ApplyOptions."""

from __future__ import annotations

from functools import wraps
from typing import Any

import click

from ..errors import UsageError
from ..plans import VERIFY_TIMEOUT, WAIT_LEASE
from ..plans.apply_options import ApplyOptions
from .click_glue import FRAME
from .options import Command, Finite, detailed, printing, reading, refuse_together, taken
from .session import PlanOptions, Session, usage_frame

_POLICIES = "kadmin.policy"


def _with_those_before(ctx: click.Context, option: click.Parameter, policies: tuple[str, ...]) -> tuple[str, ...]:
    """A policy that is named before a sub-command holds for it too."""
    ctx.meta[_POLICIES] = (*ctx.meta.get(_POLICIES, ()), *policies)
    every: tuple[str, ...] = ctx.meta[_POLICIES]
    return every


def negated(ctx: click.Context, option: click.Parameter, is_typed: bool) -> bool:
    return not is_typed


reason = click.option("--reason", help="The reason, stored in the plan.")
again = click.option(
    "--again",
    is_flag=True,
    help="Send a broker's key and trust stores even if they are set already: the broker reloads the files.",
)
every = click.option(
    "--every",
    is_flag=True,
    help="Take a pattern that matches more than 100 names, or internal topics, and <any>.",
)
allow_unknown = click.option("--allow-unknown", multiple=True, metavar="KEY", help="Allow a key that is not known.")
_policy = click.option(
    "--policy",
    multiple=True,
    metavar="FILE",
    callback=_with_those_before,
    help="Refuse a plan that breaks a rule of this policy.",
)
_allow = click.option(
    "--allow", multiple=True, metavar="'KEY ROW'", help="Allow a dangerous change: 'acks user=alice'."
)
_wait_lease = click.option(
    "--wait-lease",
    type=Finite(min=0, max=24 * 3600),
    metavar="SECONDS",
    help=f"How long to wait for another editor's lease; default: {WAIT_LEASE:.0f}.",
)


def planning(command: Command) -> Command:
    """`--reason`, `--save`, `--force`, `--allow-unknown`, `--policy`, `--print`: for a verb that plans.

    The command takes `plan_options`.
    """

    @reason
    @click.option("--save", metavar="FILE", help="Write the plan to a file.")
    @click.option("--force", is_flag=True, help="Let --save overwrite another plan.")
    @allow_unknown
    @_policy
    @wraps(command)
    def run(session: Session, /, **params: Any) -> Any:
        of_plan = {"reason": params.pop("reason")}
        plan_options = taken(PlanOptions, params, **of_plan, apply_options=taken(ApplyOptions, params))
        is_printed = "print" in click.get_current_context().meta
        refuse_together({"--print": is_printed, "--apply": plan_options.apply})
        if plan_options.apply_options.allow and not plan_options.apply:
            raise UsageError("--allow needs --apply", hint="A plan only shows its dangers; --apply accepts them.")
        if plan_options.apply_options.wait_lease is not None and not plan_options.apply:
            raise UsageError("--wait-lease needs --apply", hint="Only what is applied needs the lease.")
        return command(session, plan_options=plan_options, **params)

    return reading(printing(run))


def changing(command: Command) -> Command:
    """`--apply`, `--allow`, `--wait-lease`, `--detailed-exitcode`, and what `planning` has: for a verb that changes."""
    apply = click.option("--apply", is_flag=True, help="Apply the plan.")
    return planning(detailed("there is something to change")(apply(_allow(_wait_lease(command)))))


def applying(command: Command) -> Command:
    """`--allow`, `--gradual`, `--usage`, `--no-lock`, …: for a verb that applies a plan.

    The command takes `apply_options`.
    """

    @click.option("--no-lock", "lock", is_flag=True, callback=negated, help="Do not take the cluster's lease.")
    @click.option("--steal-lock", "steal", is_flag=True, help="Take the lease from its holder.")
    @_wait_lease
    @click.option(
        "--gradual",
        type=Finite(min=1, max=10**6),
        metavar="SECONDS",
        help="Lower quotas in steps, so that no client is throttled for longer than this.",
    )
    @click.option(
        "--usage",
        metavar="NAME",
        type=FRAME,
        help="USAGE, a variable or file: limits that would delay a client for minutes need --allow.",
    )
    @click.option(
        "--wait",
        "verify_timeout",
        type=Finite(min=0, max=24 * 3600),
        default=VERIFY_TIMEOUT,
        show_default=True,
        metavar="SECONDS",
        help="Wait for brokers that are behind, until none has shown a further row for this long.",
    )
    @click.option(
        "--require-approval", is_flag=True, help="Refuse a plan that no other person has approved (plan approve)."
    )
    @_policy
    @_allow
    @click.option("--reason", help="The reason for what is allowed, where the plan has none; its journal keeps it.")
    @wraps(command)
    def run(session: Session, /, usage: Any, **params: Any) -> Any:
        apply_options = taken(ApplyOptions, params, usage=usage_frame(session, usage))
        return command(session, apply_options=apply_options, **params)

    return reading(run)
