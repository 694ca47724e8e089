"""Kafka's own command lines: the options that they share here, how they reach a cluster, and how they answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from ..errors import Invalid, UsageError
from ..model.changes import DELETE
from ..plans.apply_options import ApplyOptions
from .answer_formats import as_csv, as_json
from .click_glue import HelpAsked, Lines, Words
from .completions import dangerous
from .options import pair
from .session import PlanOptions, Session, planned

if TYPE_CHECKING:
    import pyarrow as pa

    from ..plans.plan import Plan
    from ..plans.stage import Stage

TEXT, TABLE, JSON, CSV = "text", "table", "json", "csv"
OUTPUTS = (TEXT, TABLE, JSON, CSV)

Command = Callable[..., Any]


@dataclass(frozen=True)
class ToolOptions:
    """The options that Kafka's own tools do not have: the form of the answer, and how a change is carried out."""

    output: str = TEXT
    dry_run: bool = False
    allow: tuple[str, ...] = ()
    allow_unknown: tuple[str, ...] = ()
    reason: str | None = None
    policy: tuple[str, ...] = ()
    lock: bool = False

    @property
    def plan_options(self) -> PlanOptions:
        """The same for a plan."""
        chosen = ApplyOptions(allow=self.allow, policy=self.policy, lock=self.lock)
        return PlanOptions(self.reason, apply=not self.dry_run, allow_unknown=self.allow_unknown, apply_options=chosen)


def kafka_tool(command: Command) -> Command:
    """The shared options, for a command that takes the session and its ToolOptions first."""
    for option in reversed(_OPTIONS):
        command = option(command)

    @functools.wraps(command)
    @click.pass_context
    def run(ctx: click.Context, /, **params: Any) -> Any:
        options = ToolOptions(**{field.name: params.pop(field.name) for field in fields(ToolOptions)})
        target, properties = _connection({name: params.pop(name) for name in _CONNECTION})
        with ctx.obj.at(target, properties) as session:
            return command(session, options, **params)

    return run


def _connection(chosen: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The target and the properties on top of it that the options of a tool name.

    Raises
    ------
    UsageError
        No broker, or something that is not one.
    """
    if chosen["zookeeper"]:
        raise UsageError("--zookeeper: Kafka 4 has no ZooKeeper", hint="--bootstrap-server host:port instead.")
    if chosen["bootstrap_controller"]:
        raise UsageError(
            "--bootstrap-controller: only brokers are spoken to", hint="--bootstrap-server with a broker's address."
        )
    bootstrap, file = chosen["bootstrap_server"], chosen["command_config"]
    if not bootstrap:
        raise UsageError("--bootstrap-server is required", hint="Such as --bootstrap-server localhost:9092.")
    properties = dict(pair(text, "--adminclient-property") for text in chosen["adminclient_property"])
    return (file, {**properties, "bootstrap.servers": bootstrap}) if file else (bootstrap, properties)


def plan_of(stage: Stage, options: ToolOptions) -> Plan:
    """The plan of what is staged, as the options want it."""
    return planned(stage, options.plan_options)


def carry_out(session: Session, plan: Plan, options: ToolOptions) -> Any:
    """The outcomes of a plan, every one of them good; of a dry run the plan itself.

    Raises
    ------
    KadminError
        Whatever refuses a plan, or fails a row of it.
    """
    return session.save_or_apply(plan, options.plan_options).raise_for_errors()


def shown(table: pa.Table, output: str) -> Any:
    """Rows as JSON, as CSV, or as the terminal shows them."""
    from ..frames.answer import Answer

    forms = {JSON: as_json, CSV: as_csv}
    answer = Answer(table)
    return forms[output](answer) if output in forms else answer


def refuse_absent(plan: Plan) -> None:
    """Refuse to take away what is not set, where kafka-configs.sh does: it changes nothing then.

    Raises
    ------
    Invalid
        A quota that is not set. A config is taken away without a word.
    """
    from ..plans.kinds.registry import kind_of

    removals = (change for change in plan.changes if change.op == DELETE)
    absent = [c for c in removals if kind_of(c).is_absent(c) and not kind_of(c).tool_deletes_absent]
    if absent:
        keys = ",".join(dict.fromkeys(change.key for change in absent))
        raise Invalid(f"Invalid config(s): {keys}: not set on {absent[0].resource}", hint="Nothing was changed.")


def lines(texts: Iterable[str]) -> Lines | None:
    """Lines to print, as they are where a program reads them; nothing where there are none."""
    return Lines(texts) or None


def _version(ctx: click.Context, option: click.Parameter, is_typed: bool) -> None:
    if is_typed and not ctx.resilient_parsing:
        from importlib.metadata import version

        raise HelpAsked(f"kadmin_nb {version('kadmin_nb')}, with the arguments of Kafka 4.3")


_CONNECTION = ("bootstrap_server", "bootstrap_controller", "zookeeper", "command_config", "adminclient_property")
_NOT_KAFKAS = "Kafka's own has no such option."
_OPTIONS: tuple[Callable[[Command], Command], ...] = (
    click.option("--bootstrap-server", metavar="HOST:PORT", help="The brokers to connect to."),
    click.option(
        "--command-config",
        "--adminclient.config",
        "command_config",
        metavar="FILE",
        help="A properties file of a Java client.",
    ),
    click.option(
        "--adminclient-property",
        multiple=True,
        metavar="KEY=VALUE",
        help=f"One property of a client, on top of the file (KIP-248). {_NOT_KAFKAS}",
    ),
    click.option("--bootstrap-controller", metavar="HOST:PORT", hidden=True),
    click.option("--zookeeper", metavar="URL", hidden=True),
    click.option(
        "--output", type=click.Choice(OUTPUTS), default=TEXT, help="Kafka's own text, or KIP-248's table, JSON, CSV."
    ),
    click.option(
        "--dry-run", is_flag=True, help=f"Show the plan of --alter, validated, and change nothing. {_NOT_KAFKAS}"
    ),
    click.option(
        "--allow", multiple=True, metavar="KEY", type=Words(dangerous), help="Let a dangerous change through."
    ),
    click.option("--allow-unknown", multiple=True, metavar="KEY", help="Let a key through that nobody knows."),
    click.option("--reason", help="Why; it is part of the plan."),
    click.option("--policy", multiple=True, metavar="FILE", help="Refuse a change that breaks a rule of this policy."),
    click.option("--lock", is_flag=True, help="Hold the cluster's lease while changing it."),
    click.option(
        "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
    ),
)
