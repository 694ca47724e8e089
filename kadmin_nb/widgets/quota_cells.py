"""The cells of a quota sheet: the edit that a typed text means, and how a cell shows its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import KadminError
from ..model.changes import DELETE, SET, Edit
from ..model.entity import Entity
from ..model.quota_keys import parse_value, readable, text_of
from ..plans.kinds.quotas import QUOTAS
from .sheet import DANGER, NEW, REFUSED, STAGED, CellEditor, Mark
from .staged_sheet import CellState, Judgement, Refused

QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""


def state_of(target: QuotaTarget, text: str, stored: float | None) -> CellState:
    """The edit that a text means, or its refusal; nothing where it says what is stored."""
    entity, key = target
    if not text.strip():
        return None if stored is None else Edit(DELETE, entity, key)
    try:
        value = parse_value(key, text.strip())
    except KadminError as exc:
        return Refused(text, exc.in_one_line())
    edit = Edit(SET, entity, key, text_of(value))
    if misfit := QUOTAS.misfit(edit):
        return Refused(text, misfit.message or misfit.code)
    return None if value == stored else edit


def cell_text(key: str, state: CellState, stored: float) -> str:
    """The text of a cell; NaN is stored where no quota is."""
    if isinstance(state, Refused):
        return state.text
    value = float(state.value or "nan") if isinstance(state, Edit) else stored
    return "" if np.isnan(value) else readable(key, value)


def cell_mark(row: int, column: int, key: str, state: Judgement | Refused, stored: float) -> Mark:
    """The mark of a cell that is staged or refused."""
    old = "" if np.isnan(stored) else readable(key, stored)
    if isinstance(state, Refused):
        return Mark(row, column, REFUSED, state.reason, old or None)
    if state.change.is_refused:
        return Mark(row, column, REFUSED, str(state.change.refusal), old)
    if state.danger is not None:
        return Mark(row, column, DANGER, state.danger, old)
    return Mark(row, column, STAGED if old else NEW, "", old)


def locked_cells(entities: Sequence[Entity], keys: Sequence[str]) -> Iterator[CellEditor]:
    """The cells of keys that an entity of that type cannot have."""
    for row, entity in enumerate(entities):
        for column, key in enumerate(keys, 2):
            if QUOTAS.misfit(Edit(SET, entity, key)):
                yield CellEditor(row, column, is_locked=True)
