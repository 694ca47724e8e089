"""`history`, `diff`, `export` and `plan from`: what clusters hold, held, and are to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import files
from ..errors import NotFound, UsageError
from ..frames.blocks import Text
from ..model.figures import utc
from ..model.resources import WORDS
from . import completions, options
from .click_glue import FILE, CommaSeparated, Objects, Verb, Verbs
from .options import again, changing
from .session import PlanOptions, Session, at_work

if TYPE_CHECKING:
    from ..state import History
    from ..state.snapshots import Snapshot


@click.group(cls=Verbs)
def history() -> None:
    """Record clusters over time, and look up what was set when.

    WHERE is a path (Delta tables) or a schema of Spark's, a.b. A TIME is a time in UTC (2026-11-21T12:00:00Z), a time
    ago ('2h ago') or a day (monday, yesterday, today).

    \b
    {here} record lake/kafka
    {here} as-of lake/kafka 2h ago
    {here} changes lake/kafka monday
    """


_where = click.argument("where", metavar="WHERE")
_whose = click.option("--cluster-id", metavar="ID", help="The cluster, if the history has several.")
_detailed = options.detailed("something differs")


@history.command()
@options.reading
@_where
def record(session: Session, where: str) -> Any:
    """Record the current cluster.

    All quotas, configs, client configs and SCRAM users are recorded, but no secret. Unchanged rows take no space. A
    change since the last snapshot is a plan's if a plan that was applied on this machine has that row, with the value
    that is there now."""
    with at_work():
        return _at(where).record(session.cluster.snapshot())


@history.command()
@options.reading
@_where
@_whose
def snapshots(session: Session, where: str, cluster_id: str | None) -> Any:
    """List the recorded snapshots, oldest first."""
    with at_work():
        return _at(where).snapshots(cluster_id)


@history.command("as-of")
@options.reading
@_where
@click.argument("time", nargs=-1, required=True, metavar="TIME")
@_whose
@click.option("--configs", "kind", flag_value="configs", help="Its configs, instead of its quotas.")
@click.option(
    "--client-configs", "kind", flag_value="client_configs", help="Its client configs, instead of its quotas."
)
@click.option("--credentials", "kind", flag_value="credentials", help="Its SCRAM users, instead of its quotas.")
def as_of(session: Session, where: str, time: tuple[str, ...], cluster_id: str | None, kind: str | None) -> Any:
    """Show what was set at TIME.

    It comes from the newest snapshot up to then.
    """
    from ..state.snapshot_kinds import KINDS

    with at_work():
        snapshot = _at(where).as_of(" ".join(time), cluster_id)
    asked_for = KINDS[kind or "quotas"]
    if asked_for not in snapshot.kinds:
        raise NotFound(f"the snapshot of {utc(snapshot.taken_at)} has not read the {asked_for.title}")
    return snapshot.frames[asked_for.name]


@history.command()
@options.reading
@_detailed
@_where
@click.argument("times", nargs=-1, metavar="[SINCE] [UNTIL]")
@_whose
def changes(session: Session, where: str, times: tuple[str, ...], cluster_id: str | None) -> Any:
    """List the changes between snapshots, each with its plan.

    From SINCE (default: the first snapshot) to UNTIL (default: now).
    """
    if len(times) > 2:
        raise UsageError("changes takes SINCE and UNTIL", hint="A TIME of two words needs quotes.")
    since, until = (*times, None, None)[:2]
    with at_work():
        return _at(where).changes((since, until), cluster_id)


def history_at(where: str | None) -> History | None:
    """The history that an option names; None without one."""
    return None if where is None else _at(where)


def _at(where: str) -> History:
    from ..state import open_history

    return open_history(where)


@click.command(cls=Verb)
@options.reading
@options.detailed("something differs")
@click.argument("sides", nargs=-1, metavar="[A] [B]", type=Objects(lambda before: completions.profiles()))
@_whose
@click.option("--all", "everything", is_flag=True, help="Also rows that differ only by a default, or for a while.")
def diff(session: Session, sides: tuple[Any, ...], cluster_id: str | None, everything: bool) -> Any:
    """Compare two clusters, files or times.

    Each is a profile, a .properties file or host:port; a declarative file (.yaml, .json); history:WHERE@TIME; or
    plan:FILE, what a plan leaves. B is the current cluster by default.

    \b
    {here} staging prod
    {here} cluster.yaml --detailed-exitcode
    {here} 'history:lake/kafka@2h ago' prod
    """
    from ..cluster.diff import diff as compared

    if not 1 <= len(sides) <= 2:
        raise UsageError("diff compares two sides", hint="diff A B, or diff FILE: against the current cluster.")
    if len(sides) == 2 and "cluster" in click.get_current_context().meta:
        raise UsageError("--cluster is a third cluster", hint="diff A --cluster B")
    other = sides[1] if len(sides) == 2 else session.cluster
    return compared(sides[0], other, everything=everything, cluster_id=cluster_id)


_FILES = (".yaml", ".yml")
_KINDS_OPTION = CommaSeparated(lambda before: ("quotas", "configs", *WORDS, "client-configs"))


@click.command(cls=Verb)
@options.connecting
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--out", metavar="FILE", help="Write it to this .yaml file.")
@click.option(
    "--kinds",
    multiple=True,
    type=_KINDS_OPTION,
    metavar="KIND[,KIND]",
    help="quotas, configs, topic, broker, client-configs, …",
)
@_whose
@click.option("--schema", is_flag=True, help="Print the JSON Schema of these files.")
def export(
    session: Session, source: str | None, out: str | None, kinds: tuple[str, ...], cluster_id: str | None, schema: bool,
) -> Any:  # fmt: skip
    """Write all quotas, configs and client configs that are set, as YAML; `plan from` reads it.

    SOURCE is history:WHERE@TIME; default: the current cluster, of which only the KINDs are read. One
    that cannot be read is named, the others are written, and the exit code is 1.

    \b
    {here} > cluster.yaml
    {here} --out cluster.yaml --kinds quotas,topic
    {here} 'history:lake/kafka@2h ago'
    """
    from .. import state
    from ..state.writer import left_out, unread_of

    if out and Path(out).suffix not in _FILES:
        raise UsageError(f"--out {out} is not a .yaml file")
    if schema:
        return Text(state.schema().rstrip())
    snapshot = _snapshot_to_write(session, source, cluster_id, options.keys_of(kinds))
    text = state.export(snapshot)
    if temporary := left_out(snapshot):
        session.warn(temporary)
    if out is not None:
        files.write(Path(out), f"{text}\n")
    if (unread := unread_of(snapshot)) is None:
        return Text(text) if out is None else None
    error = unread.reworded(f"{unread}; the rest is written")
    error.outcomes = Text(text) if out is None else None
    raise error


def _snapshot_to_write(
    session: Session, source: str | None, cluster_id: str | None, kinds: Sequence[str] | None
) -> Snapshot:
    """The snapshot to write: of the current cluster, or a history."""
    from ..state import declaration
    from ..state.sides import kept, named

    if source is None:
        return session.cluster.snapshot(declaration.kinds(kinds or declaration.KINDS))
    if kinds:
        raise UsageError("--kinds chooses what is read of a cluster", hint="A time of a history is written whole.")
    found = named(source)
    if found.what != "history":
        raise UsageError(f"{source} is not history:WHERE@TIME", hint="--cluster names another cluster.")
    with at_work():
        return kept(found, cluster_id).content


@click.command("from", cls=Verb)
@changing
@again
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--prune", is_flag=True, help="Also remove what FILE does not mention, of the kinds that it has.")
@click.option("--any-cluster", is_flag=True, help="Accept a file of another cluster.")
def plan_from(
    session: Session, file: str | Path, prune: bool, any_cluster: bool, plan_options: PlanOptions,
) -> Any:  # fmt: skip
    """Plan what brings the cluster to the state in FILE.

    - reads standard input. What FILE does not mention stays, unless --prune is given: then the plan removes it, row by
    row.

    \b
    {here} cluster.yaml
    {here} cluster.yaml --prune --save p.json --reason "the fair"
    """
    from .. import state

    if file == "-":
        from ..state.reader import MAX_DECLARATION_BYTES, WHAT

        wished = state.read(files.read_stdin(WHAT, MAX_DECLARATION_BYTES), "standard input")
    else:
        wished = state.load(file)
    plan = session.cluster.plan_from(
        wished,
        prune=prune,
        any_cluster=any_cluster,
        allow_unknown=plan_options.allow_unknown,
        reason=plan_options.reason,
        again=plan_options.again,
    )
    return session.save_or_apply(plan, replace(plan_options, apply=plan_options.apply and len(plan) > 0))
