"""Preflight: is a row done, still as it was seen, on its way by us, or has somebody else moved it?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import Conflict
from ...frames import schemas
from ...frames.answer import Answer
from ...hints import Hint, Option, sentence
from ...model.changes import Change
from ..observed_state import ObservedState, ObservedValue
from .verification import holds, is_as_before

Ours = Mapping[int, Collection[str | None]]
"""Values that we have sent for a row, on its way to the last one or in doubt."""

HIDDEN = "a sensitive value"
"""The placeholder of a secret, which no broker shows."""


@dataclass
class ComparedRows:
    """Rows of a plan beside one picture."""

    done: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    moved: list[tuple[Change, ObservedValue]] = field(default_factory=list)


def classed(
    changes: Iterable[Change], picture: ObservedState, ours: Ours, verified: Collection[int] = ()
) -> ComparedRows:
    """Each row where it belongs. A secret that we have set is done for as long as something is set there.

    Raises
    ------
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource could not be read.
    """
    rows, changes = ComparedRows(), list(changes)
    picture.refuse_unreadable(change.target for change in changes)
    for change in changes:
        now = picture.of(change.target)
        if holds(now, change) and (now.is_known or (change.is_secret and change.row in verified)):
            rows.done.append(change)
        elif is_as_before(now, change):
            rows.pending.append(change)
        elif change.row in ours and value_text(now) in ours[change.row]:
            rows.pending.append(change.with_(old=now.value))
        else:
            rows.moved.append((change, now))
    return rows


def conflict(moved: Sequence[tuple[Change, ObservedValue]], of: int) -> Conflict:
    """The error that shows old, now and wanted of every row that moved."""
    first, now = moved[0]
    error = Conflict(
        f"{len(moved)} of {of} rows have moved since the plan; the first, {first.resource} {first.key}, was "
        f"{in_words(first.old)}, is now {in_words(value_text(now))}, wanted {in_words(first.after)}",
        hint=Hint(
            "Nothing was sent. Plan again and look.",
            sentence("{} leaves those rows as they are.", Option("skip_conflicts")),
        ),
    )
    error.rows = Answer(schemas.table(schemas.CONFLICTS, (_conflict_row(change, current) for change, current in moved)))
    return error


def in_words(value: str | None) -> str:
    """A value as a sentence has it."""
    return "not set" if value is None else value


def value_text(now: ObservedValue) -> str | None:
    """The value of a target, as far as it may be seen."""
    return now.value if now.is_known else HIDDEN


def _conflict_row(change: Change, now: ObservedValue) -> dict[str, object]:
    names = {"row": change.row, "resource": str(change.resource), "key": change.key}
    return {**names, "old": change.old, "now": value_text(now), "wanted": change.after}
