"""`kn.diff(a, b)`: two sides compared, of which a word may name a cluster."""

from __future__ import annotations

from ..plans.journal.store import plan_named
from ..state.compare import Diff, compare
from . import connect


def diff(a: object, b: object, *, everything: bool = False, cluster_id: str | None = None) -> Diff:
    """DIFF: the differences from `a` to `b`, a row for each resource and key.

    Each side is a Cluster or what `connect` takes as target, both as they are now; a snapshot; a declarative file
    (`.yaml`, `.yml`, `.json`), or what was read from one; `history:WHERE@TIME`, what a history has of a moment
    (`history:lake/kafka@2h ago`; without a time its newest); or a plan, `plan:FILE` or `plan:ID`: what it leaves, of
    its rows alone. What one side could not read is `unknown`, what it says nothing of is not compared; nor are single
    brokers, and Kafka's own topics, of two clusters.

    Parameters
    ----------
    everything
        Also rows that differ only by default, or that Kafka's tools set for a while; they are always counted.
    cluster_id
        The cluster, if a history has several; default: that of the other side.

    Raises
    ------
    UsageError
        The same side twice; sides that have no kind in common; something that is not a side.
    NotFound, Invalid, ConnectionFailed, NotAuthorized
        A side does not exist, or cannot be read.
    """
    sides = [
        plan_named(side.removeprefix(PLAN)) if isinstance(side, str) and side.startswith(PLAN) else side
        for side in (a, b)
    ]
    return compare(*sides, connect=connect, everything=everything, cluster_id=cluster_id)


PLAN = "plan:"
"""Before the file or the id of a plan, where a word names a side."""
