"""`diff A B`: what differs between two clusters, files, snapshots or moments; and chosen rows of it, staged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import Conflict, UsageError, WrongCluster
from ..model.grammar import quote
from . import completions
from .change_options import changing
from .click_glue import Objects, Verb
from .session import PlanOptions, Session

if TYPE_CHECKING:
    from ..state.diff_answer import Diff

_SIDE = click.Choice(["a", "b"], case_sensitive=False)


@click.command(cls=Verb)
@changing
@click.argument("sides", nargs=-1, metavar="[A] [B]", type=Objects(lambda before: completions.profiles()))
@click.option("--cluster-id", metavar="ID", help="The cluster, if the history has several.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also rows that differ only by a default, or by nature, as ids of brokers do.",
)
@click.option(
    "--stage-on", "--onto", "onto", type=_SIDE, help="Stage rows on this side, to make it equal to the other."
)
@click.option(
    "--rows", metavar="[ID:]ROWS", help="The rows to stage: 1-3,7, or all; after the id of the diff that has them."
)
def diff(
    session: Session, sides: tuple[Any, ...], cluster_id: str | None, everything: bool, onto: str | None,
    rows: str | None, plan_options: PlanOptions,
) -> Any:  # fmt: skip
    """Compare two clusters, files or times.

    Each is a profile, a .properties file or host:port; a declarative file (.yaml, .json); a saved snapshot (.parquet);
    history:WHERE@TIME; or plan:FILE, what a plan leaves. B is the current cluster by default.

    \b
    {here} staging prod
    {here} cluster.yaml --detailed-exitcode
    {here} 'history:lake/kafka@2h ago' prod --all
    {here} staging prod --stage-on b --rows 3f9a27c41b2e:1-3,7 --apply
    """
    from ..cluster.diff import diff as compared

    which, _, numbers = (rows or "").rpartition(":")
    _refuse_half_a_wish(onto, rows, which, plan_options)
    sources = _two(session, sides)
    answer = compared(*sources, everything=everything, cluster_id=cluster_id)
    if onto is None:
        return answer
    if which and (len(which) < 6 or not answer.id.startswith(which)):
        raise Conflict(f"this is diff {answer.id}, not {which}: the differences changed since", hint="Run it again.")
    return _staged(session, answer, onto.lower(), numbers, sources, plan_options)


def _refuse_half_a_wish(onto: str | None, rows: str | None, which: str, plan_options: PlanOptions) -> None:
    """Refuse what cannot be meant, before anything is read."""
    if onto is None and (rows or plan_options.is_typed):
        raise UsageError(
            "options of a change need --stage-on", hint="--stage-on a|b --rows 1-3,7 stages rows on one side."
        )
    if onto is not None and not rows:
        raise UsageError("--rows is required", hint="--rows 1-3,7, or --rows all.")
    if plan_options.apply and not which:
        raise UsageError(
            "--apply needs --rows ID:ROWS: row numbers change from diff to diff",
            hint="The line above the rows has the id.",
        )


def _two(session: Session, sides: Sequence[Any]) -> tuple[Any, Any]:
    """The two sides, as they are given; the current cluster is the second unless said."""
    if not sides:
        raise UsageError("two sides are required", hint="diff A B, or diff FILE: against the current cluster.")
    if len(sides) > 2:
        raise UsageError(
            f"{len(sides)} sides are too many: diff compares two", hint="A TIME of two words needs quotes."
        )
    if len(sides) == 2 and (cluster_options := {"cluster", "property"} & {*click.get_current_context().meta}):
        raise UsageError(
            f"--{min(cluster_options)} is about the current cluster, but two others are named",
            hint="diff A --cluster B",
        )
    return (sides[0], sides[1] if len(sides) == 2 else session.cluster)


def _staged(
    session: Session, answer: Diff, onto: str, rows: str, sources: tuple[Any, Any], plan_options: PlanOptions
) -> Any:
    """The chosen rows where that side stages them: in the stage, or as a plan of their own."""
    target = sources[onto == "b"]
    edits = answer.edits(rows, like="b" if onto == "a" else "a")
    if not edits and not len(answer.differing):
        return answer
    if not edits:
        raise UsageError(
            "no row can be staged", hint="Secrets, and rows that differ only by default, cannot be staged."
        )
    if target is session.connected:
        return session.change(edits, plan_options)
    _refuse_what_stays(target, onto)
    with session.at(target, {}) as there:
        if there is not session and not (plan_options.apply or plan_options.save):
            raise UsageError(
                f"side {onto} is not the current cluster, and the stage has changes of that one only",
                hint=f"%kadmin use {quote(target)} first; or --save FILE, or --apply.",
            )
        side = answer.a if onto == "a" else answer.b
        if side is not None and there.cluster.id != side.cluster_id:  # the address leads elsewhere by now
            raise WrongCluster(f"side {onto} was {side}, but now it is cluster {there.cluster.id}")
        return there.change(edits, plan_options)


def _refuse_what_stays(target: Any, onto: str) -> None:
    from ..cluster import Cluster
    from ..state.sides import named

    if isinstance(target, Cluster):
        raise UsageError(f"side {onto} is not the current cluster", hint="%kadmin use {name} first; or diff.stage(…).")
    if not isinstance(target, str) or named(target).what != "cluster":
        raise UsageError(f"side {onto} is not a cluster: nothing can be staged on it", hint="Stage on the other side.")
