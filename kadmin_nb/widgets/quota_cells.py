"""The cells of a quota sheet: the edit that a typed text means, and how a cell shows its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import KadminError, UsageError
from ..model.changes import DELETE, SET, Change, Edit
from ..model.entity import Entity
from ..model.quota_keys import find, parse_value, readable, text_of
from .sheet import DANGER, NEW, REFUSED, STAGED, CellEditor, Mark
from .staged_sheet import CellState, Refused

QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""


def state_of(target: QuotaTarget, text: str, stored: float | None) -> CellState:
    """The edit that a text means, or its refusal; nothing where it says what is stored."""
    entity, key = target
    if not text.strip():
        return None if stored is None else Edit(DELETE, entity, key)
    try:
        _refuse_misplaced(entity, key)
        value = parse_value(key, text.strip())
    except KadminError as exc:
        return Refused(text, exc.in_one_line())
    return None if value == stored else Edit(SET, entity, key, text_of(value))


def _refuse_misplaced(entity: Entity, key: str) -> None:
    spec = find(key)
    if spec and not {kind for kind, _ in entity.parts} <= {*spec.entities}:
        raise UsageError(f"{key} is not set on {entity}", hint=f"It belongs to {' and '.join(spec.entities)}.")


def planned_change(row: int, edit: Edit, stored: float | None) -> Change:
    """The row of a plan that an edit of a quota will be."""
    old = None if stored is None else text_of(stored)
    return Change(row, edit.op, edit.resource, edit.key, old, edit.value, edit.value, level=edit.resource.level)


def cell_text(key: str, state: CellState, stored: float) -> str:
    """The text of a cell; NaN is stored where no quota is."""
    if isinstance(state, Refused):
        return state.text
    value = float(state.value or "nan") if isinstance(state, Edit) else stored
    return "" if np.isnan(value) else readable(key, value)


def cell_mark(row: int, column: int, key: str, state: Edit | Refused, stored: float, danger: str | None) -> Mark:
    """The mark of a cell that is staged or refused; `danger` is the plan's message on it."""
    old = "" if np.isnan(stored) else readable(key, stored)
    if isinstance(state, Refused):
        return Mark(row, column, REFUSED, state.reason, old or None)
    if danger is not None:
        return Mark(row, column, DANGER, danger, old)
    return Mark(row, column, STAGED if old else NEW, "", old)


def locked_cells(entities: Sequence[Entity], keys: Sequence[str]) -> Iterator[CellEditor]:
    """The cells of keys that an entity of that type cannot have."""
    for row, entity in enumerate(entities):
        kinds = {kind for kind, _ in entity.parts}
        for column, key in enumerate(keys, 2):
            if (spec := find(key)) and kinds <= {"user", "client-id", "ip"} and not kinds <= {*spec.entities}:
                yield CellEditor(row, column, is_locked=True)
