"""Kafka's own command lines: the options that they share here, how they reach a cluster, and how they answer."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from ..errors import Interrupted, Invalid, KadminError, UsageError, printable
from ..frames.blocks import Text
from ..model.changes import DELETE
from .click_glue import HelpAsked
from .options import Command, allow_unknown, cluster, negated, pair, reason, taken_of_plan, with_session
from .session import PlanOptions, Session

if TYPE_CHECKING:
    from ..plans.plan import Plan


def _version(ctx: click.Context, option: click.Parameter, is_typed: bool) -> None:
    if is_typed and not ctx.resilient_parsing:
        from importlib.metadata import version

        raise HelpAsked(f"kadmin_nb {version('kadmin_nb')}, with the arguments of Kafka 4.4")


NOT_KAFKAS = "Kafka's own tool has no such option."


def kafka_tool(command: Command) -> Command:
    """The shared options, for a command that takes the session, and PlanOptions by name."""

    @cluster
    @click.option(
        "--dry-run",
        "apply",
        is_flag=True,
        callback=negated,
        help=f"Plan and validate --alter, and change nothing. {NOT_KAFKAS}",
    )
    @click.option("--allow", multiple=True, metavar="'KEY ROW'", help="Allow a dangerous change: 'acks user=alice'.")
    @allow_unknown
    @reason
    @click.option("--lock", is_flag=True, help="Hold the cluster's lease while changing it.")
    @click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
    )
    @functools.wraps(command)
    def run(session: Session, /, **params: Any) -> Any:
        return command(session, plan_options=taken_of_plan(params), **params)

    return kafka_connection(with_session(run))


def _refuse_controller(ctx: click.Context, option: click.Parameter, address: str | None) -> None:
    if address is not None:
        raise UsageError("kadmin_nb connects to brokers only", hint="--bootstrap-server with a broker's address.")


def kafka_connection(command: Command) -> Command:
    """`--bootstrap-server` and its kin, for a command that has `--cluster` already and the session by it."""

    @click.option("--bootstrap-server", "bootstrap", metavar="HOST:PORT", help="The brokers to connect to.")
    @click.option(
        "--command-config",
        "--adminclient.config",
        "file",
        metavar="FILE",
        help="A properties file of a Java client.",
    )
    @click.option(
        "--adminclient-property",
        "on_top",
        multiple=True,
        metavar="KEY=VALUE,…",
        help=f"Client properties that override the file (KIP-248). {NOT_KAFKAS}",
    )
    @click.option("--bootstrap-controller", hidden=True, expose_value=False, callback=_refuse_controller)
    @functools.wraps(command)
    @click.pass_context
    def run(
        ctx: click.Context, /, bootstrap: str | None, file: str | None, on_top: tuple[str, ...], **params: Any
    ) -> Any:
        target = _target(ctx, bootstrap, file, is_altering=any(map(params.get, _ALTERING)))
        parts = [part for text in on_top for part in _NEXT_PROPERTY.split(text)]
        for part in parts:
            pair(part, "--adminclient-property")
        if file:
            parts.append(f"bootstrap.servers={bootstrap}")
        ctx.meta.update(cluster=target, property=(*ctx.meta.get("property", ()), *parts))
        return command(**params)

    return run


def _target(ctx: click.Context, bootstrap: str | None, file: str | None, *, is_altering: bool) -> str | None:
    """The target that a tool's options name: a file, an address, or what `--cluster` says.

    None is the current cluster of a notebook, or `$KADMIN_PROFILE`; for a line that only reads also the cluster that
    `use` has chosen, or the only profile.

    Raises
    ------
    UsageError
        No broker is named, or twice.
    """
    named: str | None = ctx.meta.get("cluster")
    if bootstrap and named:
        raise UsageError("--bootstrap-server and --cluster both name the brokers", hint="Use one of them.")
    is_current = ctx.obj.connected or ctx.obj.target or os.environ.get("KADMIN_PROFILE")  # not by an earlier line
    if not bootstrap and (file or (is_altering and not (named or is_current))):
        also = "" if file else " Or use --cluster TARGET or $KADMIN_PROFILE: a line that alters names its cluster."
        raise UsageError("--bootstrap-server is required", hint=f"For example --bootstrap-server localhost:9092.{also}")
    return file or bootstrap or named


_ALTERING = ("alter", "add", "deleted")
"""The parameters of which one is there when something is to be changed."""

_NEXT_PROPERTY = re.compile(r""",(?=[\w.-]+=)(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")
"""A comma before `name=`, and not within quotation marks, where JAAS has its own."""


def carry_out(session: Session, plan: Plan, plan_options: PlanOptions) -> Any:
    """The outcomes of a plan, every one of them good; of a dry run the plan itself.

    Raises
    ------
    KadminError
        Whatever refuses a plan, or fails a row of it.
    """
    try:
        return session.save_or_apply(plan, plan_options).raise_for_errors()
    except (KadminError, Interrupted) as exc:
        exc.rows, exc.outcomes = exc.outcomes, None  # a script reads lines on standard output
        raise


def refuse_absent(plan: Plan) -> None:
    """Refuse to remove what is not set, as kafka-configs.sh does, which changes nothing.

    Raises
    ------
    Invalid
        A quota, a client config or a credential that is not set. A config is taken away without a word.
    """
    from ..plans.kinds import kind_of

    removals = (change for change in plan.changes if change.op == DELETE)
    absent = [c for c in removals if c.old_known and c.old is None and not kind_of(c).tool_deletes_absent]
    if absent:
        keys = ",".join(dict.fromkeys(change.key for change in absent))
        raise Invalid(f"Invalid config(s): {keys}: not set on {absent[0].resource}", hint="Nothing was changed.")


def lines(texts: Iterable[str]) -> Text | None:
    """Lines with names that clients chose: exact for a program, and on a screen each one line, escaped.

    None without lines.
    """
    texts = [*texts]
    return Text("\n".join(texts), "\n".join(map(printable, texts))) if texts else None
