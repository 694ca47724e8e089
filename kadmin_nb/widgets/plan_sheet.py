"""The sheet of a plan: a row a change, before and after, and what came of it as soon as that is known."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from ..frames.blocks import BADGE, KEY, NAME, NUMBER, PROSE
from ..frames.meanings import in_unit, word
from ..model.changes import FAILED, SKIPPED, UNKNOWN, UNVERIFIED, Change
from .sheet import DANGER, REFUSED, Column, Mark, Page, ReadOnlySheet

PLAN_COLUMNS = (
    Column("row", "row", NUMBER, is_sortable=False),
    Column("state", "state", BADGE, is_sortable=False),
    Column("resource", "of", NAME, is_sortable=False),
    Column("op", "change", BADGE, is_sortable=False),
    Column("key", "key", KEY, is_sortable=False),
    Column("old", "before", is_sortable=False),
    Column("after", "after", is_sortable=False),
    Column("note", "note", PROSE, is_sortable=False),
)
_PLACES = {column.name: place for place, column in enumerate(PLAN_COLUMNS)}

CONFLICT = "conflict"
_BAD = (FAILED, UNKNOWN, UNVERIFIED, SKIPPED, CONFLICT)

State = tuple[str, str | None]
"""The state of a row, and what is to be said of it."""


class PlanSheet(ReadOnlySheet):
    """The rows of a plan, in its order, or those that failed first; nothing in it can be edited."""

    label = "Planned changes"
    columns = PLAN_COLUMNS
    in_order = "the rows of a plan stay in their order"
    not_edited = "a plan cannot be edited"
    edit_hint = "Edit what is staged, and plan again."

    def __init__(self, changes: Sequence[Change], dangers: Mapping[int, str] | None = None) -> None:
        super().__init__()
        self._changes = changes
        self._dangers = dangers or {}
        self._states: dict[int, State] = {}
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._changes)

    def keys(self, first: int, count: int) -> Sequence[str]:
        return [str(change.row) for change in self._changes[first : first + count]]

    def page(self, first: int, count: int) -> Page:
        rows = self._changes[first : first + count]
        texts = [self._texts(change) for change in rows]
        cells = [list(column) for column in zip(*texts, strict=True)] or [[] for _ in PLAN_COLUMNS]
        marks = [mark for place, change in enumerate(rows) for mark in self._marks(place, change)]
        return Page(first, self.keys(first, count), cells, marks)

    def state(self, row: int) -> str | None:
        """The state of a row as far as it was applied; None before."""
        return self._states.get(row, (None, None))[0]

    def show(self, states: Iterable[tuple[int, State]]) -> None:
        """The states of rows, as far as they are known by now."""
        with self._guard:
            self._states |= dict(states)
        self._listeners.tell()

    def failures_first(self) -> None:
        """Show the rows that are not as wanted above the others."""
        with self._guard:
            self._changes = sorted(self._changes, key=lambda change: (self.state(change.row) not in _BAD, change.row))
        self._listeners.tell()

    def _texts(self, change: Change) -> list[str]:
        state, message = self._states.get(change.row, ("refused" if change.is_refused else "planned", None))
        notes = [message, str(change.refusal) if change.is_refused else None, change.note]
        before = "not shown" if not change.old_known else _readable_value(change, change.old)
        return [
            *(str(change.row), state, str(change.resource), word(change.op), change.key),
            *(before, _readable_value(change, change.after), "; ".join(filter(None, notes))),
        ]

    def _marks(self, place: int, change: Change) -> Iterable[Mark]:
        state, message = self._states.get(change.row, ("", None))
        if change.is_refused:
            yield Mark(place, _PLACES["state"], REFUSED, str(change.refusal))
        elif state in _BAD:
            yield Mark(place, _PLACES["state"], REFUSED, message or "")
        if danger := self._dangers.get(change.row):
            yield Mark(place, _PLACES["after"], DANGER, danger)


def _readable_value(change: Change, text: str | None) -> str:
    return "not set" if text is None else in_unit(change.key, text)
