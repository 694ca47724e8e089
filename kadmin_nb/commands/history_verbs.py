"""`history`: record what a cluster holds, look back, and see what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import NotFound, UsageError
from ..model.figures import utc
from . import options
from .click_glue import Verbs
from .session import Session

if TYPE_CHECKING:
    from ..state import History


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
@click.option(
    "--plan",
    "plans",
    multiple=True,
    metavar="PLAN",
    help="A plan that was applied elsewhere since the last snapshot.",
)
@click.option("--keep", metavar="LENGTH", help="Remove rows that ended longer ago than this: '90 days'.")
def record(session: Session, where: str, plans: tuple[str, ...], keep: str | None) -> Any:
    """Record the current cluster.

    All quotas, configs, client configs and SCRAM users are recorded, but no secret. Unchanged rows take no space. A
    change since the last snapshot is a plan's if the plan has that row, with the value that is there now. Plans that
    were applied on this machine are known; --plan gives others, and may be repeated."""
    from ..plans.journal.store import plan_named

    applied = [plan_named(plan) for plan in plans]
    with session.at_work("recording"):
        return _at(where, keep).record(session.cluster.snapshot(), applied)


@history.command()
@options.reading
@_where
@_whose
def snapshots(session: Session, where: str, cluster_id: str | None) -> Any:
    """List the recorded snapshots, oldest first."""
    with session.at_work("reading the history"):
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

    with session.at_work("reading the history"):
        snapshot = _at(where).as_of(" ".join(time), cluster_id)
    asked_for = KINDS[kind or "quotas"]
    if asked_for not in snapshot.kinds:
        raise NotFound(f"the snapshot of {utc(snapshot.taken_at)} has not read the {asked_for.title}")
    return snapshot.frames[asked_for.name]


@history.command()
@options.reading
@_detailed
@click.argument("where", metavar="WHERE", required=False)
@click.argument("times", nargs=-1, metavar="[SINCE] [UNTIL]")
@_whose
def changes(session: Session, where: str | None, times: tuple[str, ...], cluster_id: str | None) -> Any:
    """List the changes between snapshots, each with its plan.

    From SINCE (default: the first snapshot) to UNTIL (default: now).
    """
    if len(times) > 2:
        raise UsageError(
            f"{times[2]} is too much: changes takes SINCE and UNTIL", hint="A TIME of two words needs quotes."
        )
    since, until = (*times, None, None)[:2]
    with session.at_work("reading the history"):
        return _recorded_at(where).changes((since, until), cluster_id)


def history_at(where: str | None) -> History | None:
    """The history that an option names; None without one."""
    return None if where is None else _at(where)


def _at(where: str, keep: str | None = None) -> History:
    from ..state import open_history

    return open_history(where, keep=keep)


def _recorded_at(where: str | None) -> History:
    """The history there; whoever asks what changed without one reads how to begin it."""
    from ..model.times import is_time
    from ..state.history import nothing_recorded

    if where is None or is_time(where):
        raise nothing_recorded()
    return _at(where)
