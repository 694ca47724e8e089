"""Changes with an end: what is due by the journals here, and the edits that bring back what was there before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..frames import schemas
from ..frames.answer import Answer
from ..model.changes import DELETE, SET, Change, Edit, Target
from .journal.replay import JournalState
from .observed_state import ObservedState
from .plan import Plan
from .stored_values import same

WAITING, DUE, CHANGED = "waiting", "due", "changed"
"""The states of DUE."""

TOLD_FOR = timedelta(days=7)
"""How long after its end a change is listed that somebody has replaced since."""


@dataclass(frozen=True)
class Ending:
    """A change that was made from here and has an end; `before` comes back then, itself until `before_until`."""

    plan_id: str
    change: Change
    before: str | None
    before_until: str | None = None

    @property
    def end(self) -> datetime:
        """The moment at which it ends."""
        return _moment(self.change)

    def state(self, now: datetime, observed: ObservedState) -> str | None:
        """DUE's `state`; None where nothing is left to be done or told."""
        value = observed.of(self.change.target)
        if same(value.value, self.change.after, value.type):
            return DUE if self.end <= now else WAITING
        is_back = same(value.value, self.before, value.type)
        return None if is_back or now - self.end > TOLD_FOR else CHANGED

    @property
    def edit(self) -> Edit:
        """What brings back the value from before."""
        op = DELETE if self.before is None else SET
        note = f"ends row {self.change.row} of plan {self.plan_id[:8]}"
        return Edit(op, self.change.resource, self.change.key, self.before, note, self.before_until)


def endings(begun: Iterable[tuple[Plan, JournalState]]) -> list[Ending]:
    """The changes with an end that are the last of their target, the next end first."""
    made: dict[Target, list[tuple[str, Change]]] = {}
    for plan, state in sorted(begun, key=lambda pair: pair[0].created):
        for change in plan.changes:
            if change.row in state.verified:
                made.setdefault(change.target, []).append((plan.id, change))
    return sorted((_ending(changes) for changes in made.values() if changes[-1][1].until), key=lambda one: one.end)


def _ending(changes: list[tuple[str, Change]]) -> Ending:
    """The end of the last of these changes of one target.

    Where an earlier one that has an end, too, made what was there before, it does not outlive its own.
    """
    *earlier, (plan_id, last) = changes
    before = last.old
    for _, change in reversed(earlier):
        if change.until is None or change.after != before:
            break
        if _moment(change) > _moment(last):
            return Ending(plan_id, last, before, change.until)
        before = change.old
    return Ending(plan_id, last, before)


def _moment(change: Change) -> datetime:
    return datetime.fromisoformat(str(change.until))


def due_answer(states: Mapping[Ending, str]) -> Answer:
    """DUE, of these changes and their states."""
    return Answer(schemas.table(schemas.DUE, _rows(states)))


def _rows(states: Mapping[Ending, str]) -> Iterator[dict[str, Any]]:
    for ending, state in states.items():
        change = ending.change
        yield {
            "state": state,
            "until": ending.end,
            "resource": str(change.resource),
            "key": change.key,
            "value": change.after,
            "before": ending.before,
            "plan_id": ending.plan_id,
            "row": change.row,
        }
