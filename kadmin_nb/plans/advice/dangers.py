"""Rows that weaken durability, security or the limits of many clients, judged by what holds now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...admin.ports import Kafka
from ...model.changes import Change
from ...model.findings import Finding
from ..kinds import by_kind
from ..observed_state import ObservedState
from . import Advice, in_order


def found(
    kafka: Kafka,
    changes: Sequence[Change],
    state: ObservedState | None = None,
) -> tuple[Finding, ...]:
    """The dangers of these rows on the cluster as it is; most plans have none, and ask no broker.

    A row that the broker refuses changes nothing, and so has none.

    Parameters
    ----------
    state
        What was read just now; what is missing in it is added.

    Raises
    ------
    NotAuthorized, TimedOut, ConnectionFailed
        What holds now could not be read.
    """
    state = ObservedState() if state is None else state
    for kind, mine in by_kind(change for change in changes if not change.is_refused).items():
        kind.read_for_dangers(kafka, mine, state)
    return judged(changes, state)


def judged(changes: Iterable[Change], state: ObservedState) -> tuple[Finding, ...]:
    """The dangers of these rows by what was read."""
    groups = by_kind(change for change in changes if not change.is_refused)
    return in_order(danger for kind, mine in groups.items() for danger in kind.dangers(mine, state))


def advice_on(kafka: Kafka, changes: Sequence[Change], state: ObservedState | None) -> Advice:
    """Dangers and warnings of the rows that are not refused, judged now.

    Parameters
    ----------
    state
        What was read when the rows were planned, if they were just now.
    """
    changes = [change for change in changes if not change.is_refused]
    facts = ObservedState() if state is None else state
    groups = by_kind(changes)
    for kind, mine in groups.items():
        kind.read_for_warnings(kafka, mine, facts)
    dangers = found(kafka, changes, facts)
    return Advice(dangers, tuple(warning for kind, mine in groups.items() for warning in kind.warnings(mine, facts)))
