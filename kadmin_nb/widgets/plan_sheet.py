"""The sheet of a plan: a row a change, before and after, and what came of it as soon as that is known."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..model.changes import Change
from ..model.quota_keys import find, readable
from .sheet import REFUSED, Arrangement, CellText, Column, Mark, Page, Result

PLAN_COLUMNS = (
    Column("row", "row", 50, is_number=True, is_sortable=False),
    Column("resource", "of", 200, is_sortable=False),
    Column("key", "key", 170, is_sortable=False),
    Column("old", "before", 110, is_number=True, is_sortable=False),
    Column("after", "after", 110, is_number=True, is_sortable=False),
    Column("state", "state", 110, is_sortable=False),
    Column("note", "note", 260, is_sortable=False),
)


class PlanSheet:
    """The rows of a plan; nothing in it can be edited."""

    label = "Planned changes"
    columns = PLAN_COLUMNS

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes
        self._outcomes: dict[int, Mapping[str, str]] = {}
        self._listeners: list[weakref.WeakMethod[Callable[[], None]]] = []

    def __len__(self) -> int:
        return len(self._changes)

    def keys(self, first: int, count: int) -> Sequence[str]:
        return [str(change.row) for change in self._changes[first : first + count]]

    def page(self, first: int, count: int) -> Page:
        rows = self._changes[first : first + count]
        texts = [self._texts(change) for change in rows]
        cells = [list(column) for column in zip(*texts, strict=True)] or [[] for _ in PLAN_COLUMNS]
        refused = [Mark(n, 5, REFUSED, str(c.refusal)) for n, c in enumerate(rows) if c.is_refused]
        return Page(first, self.keys(first, count), cells, refused)

    def show(self, outcomes: Sequence[Mapping[str, Any]]) -> None:
        """Rows of OUTCOMES, as far as they are known by now."""
        self._outcomes |= {outcome["row"]: outcome for outcome in outcomes}
        for reference in self._listeners:
            if (listener := reference()) is not None:
                listener()

    def arrange(self, arrangement: Arrangement) -> None:
        raise UsageError("the rows of a plan stay in their order")

    def edit(self, cells: Sequence[CellText]) -> Result:
        raise UsageError("a plan cannot be edited", hint="Edit what is staged, and plan again.")

    def undo(self) -> Result:
        return Result("a plan cannot be edited", ok=False)

    redo = undo

    def watch(self, listener: Callable[[], None]) -> None:
        self._listeners.append(weakref.WeakMethod(listener))

    def _texts(self, change: Change) -> list[str]:
        outcome = self._outcomes.get(change.row, {})
        state = outcome.get("state") or ("refused" if change.is_refused else "planned")
        old = "?" if not change.old_known else _value(change, change.old)
        notes = [outcome.get("message"), change.note]
        after = _value(change, change.after)
        return [str(change.row), str(change.resource), change.key, old, after, state, "; ".join(filter(None, notes))]


def _value(change: Change, text: str | None) -> str:
    if text is None:
        return "not set"
    return readable(change.key, float(text)) if change.level and find(change.key) else text
