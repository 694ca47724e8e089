"""Preflight: is a row done, still as it was seen, on its way by us, or has somebody else moved it?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import Conflict
from ...frames import schemas
from ...frames.answer import Answer
from ...frames.meanings import in_unit
from ...hints import Hint, Option, sentence
from ...model.changes import Change
from ..observed_state import ObservedState, ObservedValue
from .verification import holds, is_as_before

Ours = Mapping[int, Collection[str | None]]
"""Values that we have sent for a row, on its way to the last one or in doubt."""

HIDDEN = "a sensitive value"
"""The placeholder of a secret, which no broker shows."""


@dataclass(frozen=True)
class MovedRow:
    """A row that is not as the plan saw it; with `is_of_new_topic`, whatever its value is."""

    change: Change
    now: ObservedValue
    is_of_new_topic: bool = False

    def __str__(self) -> str:
        if self.is_of_new_topic:
            return _MADE_ANEW
        key = self.change.key
        return f"was {_in_words(key, self.change.old)}, is now {_in_words(key, _value_text(self.now))}"


_MADE_ANEW = "was deleted and created again since the plan was made"


@dataclass
class ComparedRows:
    """Rows of a plan beside one observed state."""

    done: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    moved: list[MovedRow] = field(default_factory=list)


def classed(
    changes: Iterable[Change], state: ObservedState, ours: Ours, verified: Collection[int] = ()
) -> ComparedRows:
    """Each row where it belongs. A secret that we have set is done for as long as something is set there; a value that
    was the same before, once we have sent it.

    Raises
    ------
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource could not be read.
    """
    rows, changes = ComparedRows(), list(changes)
    state.refuse_unreadable(change.target for change in changes)
    for change in changes:
        now = state.of(change.target)
        if is_of_new_topic(change, state):
            rows.moved.append(MovedRow(change, now, is_of_new_topic=True))
        elif holds(now, change) and _is_made(now, change, verified):
            rows.done.append(change)
        elif is_as_before(now, change):
            rows.pending.append(change)
        elif change.row in ours and _value_text(now) in ours[change.row]:
            rows.pending.append(change.with_(old=now.value))
        else:
            rows.moved.append(MovedRow(change, now))
    return rows


def _is_made(now: ObservedValue, change: Change, verified: Collection[int]) -> bool:
    """True if the value that was read shows that the change was made, or our journal has it."""
    if now.is_known and not change.is_again:
        return True
    return (change.is_secret or change.is_again) and change.row in verified


def is_of_new_topic(change: Change, state: ObservedState) -> bool:
    """True if the plan saw another topic of this name; where either id may not be seen, nobody can say."""
    return change.topic_id is not None and state.topic_ids.get(change.resource, change.topic_id) != change.topic_id


def conflict(moved: Sequence[MovedRow], of: int) -> Conflict:
    """The error that shows old, now and wanted of every row that moved."""
    error = Conflict(
        _conflict_text(moved, of),
        hint=Hint(
            "Nothing was sent. Plan again and review.",
            sentence("{} leaves those rows as they are.", Option("skip_conflicts")),
        ),
    )
    error.rows = conflict_rows(moved)
    return error


def conflict_rows(moved: Iterable[MovedRow]) -> Answer:
    """CONFLICTS, of these rows."""
    return Answer(schemas.table(schemas.CONFLICTS, map(_conflict_row, moved)))


def _conflict_text(moved: Sequence[MovedRow], of: int) -> str:
    new_topics = list(dict.fromkeys(str(row.change.resource) for row in moved if row.is_of_new_topic))
    if new_topics:
        more = f" and {len(new_topics) - 1} more" if len(new_topics) > 1 else ""
        return f"{new_topics[0]}{more} {_MADE_ANEW}: plan again"
    first = moved[0].change
    return (
        f"{len(moved)} of {of} rows changed since the plan; the first, {first.resource} {first.key}, {moved[0]}, "
        f"wanted {_in_words(first.key, first.after)}"
    )


def _in_words(key: str, value: str | None) -> str:
    """A value as a sentence has it."""
    return "not set" if value is None else in_unit(key, value)


def _value_text(now: ObservedValue) -> str | None:
    """The value of a target, as far as it may be seen."""
    return now.value if now.is_known else HIDDEN


def _conflict_row(moved: MovedRow) -> dict[str, object]:
    change = moved.change
    names = {"row": change.row, "resource": str(change.resource), "key": change.key}
    return {**names, "old": change.old, "now": _value_text(moved.now), "wanted": change.after}
