"""`diff A B`: what differs between two clusters, files or moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ..errors import UsageError
from . import completions, options
from .click_glue import Objects, Verb
from .session import Session


@click.command(cls=Verb)
@options.reading
@options.detailed("something differs")
@click.argument("sides", nargs=-1, metavar="[A] [B]", type=Objects(lambda before: completions.profiles()))
@click.option("--cluster-id", metavar="ID", help="The cluster, if the history has several.")
def diff(session: Session, sides: tuple[Any, ...], cluster_id: str | None) -> Any:
    """Compare two clusters, files or times.

    Each is a profile, a .properties file or host:port; a declarative file (.yaml, .json); history:WHERE@TIME; or
    plan:FILE, what a plan leaves. B is the current cluster by default.

    \b
    {here} staging prod
    {here} cluster.yaml --detailed-exitcode
    {here} 'history:lake/kafka@2h ago' prod
    """
    from ..cluster.diff import diff as compared

    return compared(*_two(session, sides), cluster_id=cluster_id)


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
