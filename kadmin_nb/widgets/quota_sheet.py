"""The sheet of quotas: a row an entity, a column a key, over a stage; texts go through the parser of all doors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..model.changes import DELETE, SET, Change, Edit
from ..model.entity import Entity
from ..model.levels import LEVEL_NAMES
from ..model.quota_keys import find, parse_value, readable, text_of
from ..plans.advice import forgotten_units
from ..plans.kinds.quotas import QUOTAS
from ..plans.stage import Stage
from .quota_table import QuotaTable
from .row_filter import matching
from .shadow_column import shadowed_rows, shadowers_of
from .sheet import DANGER, NEW, REFUSED, STAGED, Arrangement, CellEditor, CellText, Column, Mark, Page
from .staged_sheet import CellState, Refused, StagedSheet

ENTITY, LEVEL, SHADOWED_BY = "entity", "level", "shadowed_by"


QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""


class QuotaSheet(StagedSheet[Entity]):
    """Quotas as they are stored, with what is staged for them."""

    label = "Quotas"

    def __init__(self, quotas: pa.Table, stage: Stage) -> None:
        super().__init__(stage, QUOTAS)
        self._table = QuotaTable.of(quotas)
        self._order = np.arange(len(self._table))
        self._arrangement = Arrangement()
        self._known: set[Entity] = set()
        self._keys = tuple(self._table.values)
        self.columns = tuple(_quota_columns(self._keys))
        self._follow_stage()

    def __len__(self) -> int:
        return len(self._order)

    def keys(self, first: int, count: int) -> list[str]:
        with self._lock:
            return list(self._names(self._rows(first, count)))

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            rows = self._rows(first, count)
            entities = [Entity.parse(name) for name in self._names(rows)]
            overlay = self._overlay()
            shadowers = shadowers_of(self._table, entities, overlay)
            cells = [self._cells(column, rows, entities, overlay) for column in self._keys]
            levels = self._table.entities[LEVEL].take(pa.array(rows)).to_pylist()
            marks = [*self._marks(rows, entities, overlay)]
            texts = [[str(entity) for entity in entities], levels, *cells, shadowers]
            return Page(first, texts[0], texts, marks, [*_locked(entities, self._keys)])

    def arrange(self, arrangement: Arrangement) -> None:
        with self._lock:
            rows = np.flatnonzero(matching(self._table.entities, arrangement.words) & self._shown(arrangement.show))
            self._order = rows if arrangement.column is None else rows[self._sorted(rows, arrangement)]
            self._arrangement = arrangement
        self._changed()

    def add(self, entity: Entity) -> int:
        """A row for an entity, on top; the position of the one that it has already, where it does."""
        with self._lock:
            self._add_rows([entity])
            is_hidden = self._position(entity) is None
        if is_hidden:
            self.arrange(Arrangement())
        else:
            self._changed()
        with self._lock:
            return self._position(entity) or 0

    # -- rows

    def _rows(self, first: int, count: int) -> np.ndarray:
        return self._order[max(first, 0) : max(first, 0) + count]

    def _names(self, rows: np.ndarray) -> list[str]:
        return list(self._table.entities[ENTITY].take(pa.array(rows)).to_pylist())

    def _position(self, entity: Entity) -> int | None:
        """The position of an entity now; None where it is filtered out, or has no row."""
        row = self._table.position(str(entity))
        places = [] if row is None else np.flatnonzero(self._order == row).tolist()
        return places[0] if places else None

    def _show_targets(self, targets: Collection[QuotaTarget]) -> None:
        self._add_rows(entity for entity, _ in targets)

    def _add_rows(self, entities: Iterable[Entity]) -> None:
        """Rows for entities that have none, on top of all."""
        unknown = [entity for entity in dict.fromkeys(entities) if entity not in self._known]
        self._known |= {*unknown}
        new = [entity for entity in unknown if self._table.position(str(entity)) is None]
        if new:
            self._table = self._table.with_rows(new)
            self._order = np.concatenate([np.arange(len(new)), self._order + len(new)])

    def _shown(self, show: str) -> np.ndarray:
        """A flag for each row that is of the chosen kind."""
        if show == "shadowed":
            return shadowed_rows(self._table)
        targets = {"staged": [*self._staged()], "refused": [*self._refused]}.get(show)
        if targets is None:
            return np.ones(len(self._table), dtype=bool)
        names = pa.array({str(entity) for entity, _ in targets}, pa.string())
        return np.asarray(pc.is_in(self._table.entities[ENTITY], names))

    def _sorted(self, rows: np.ndarray, arrangement: Arrangement) -> np.ndarray:
        if arrangement.column in self._keys:
            values = self._with_staged(str(arrangement.column))[rows]
            return np.argsort(-values if arrangement.descending else values, kind="stable")
        if arrangement.column not in (ENTITY, LEVEL):
            raise UsageError(f"rows cannot be sorted by {arrangement.column}")
        texts = _level_ranks(self._table) if arrangement.column == LEVEL else self._table.entities[ENTITY]
        order = "descending" if arrangement.descending else "ascending"
        return np.asarray(pc.array_sort_indices(texts.take(pa.array(rows)), order=order))

    def _with_staged(self, key: str) -> np.ndarray:
        values = self._table.values[key].copy()
        for (entity, edited), edit in self._staged().items():
            if edited == key and (row := self._table.position(str(entity))) is not None:
                values[row] = np.nan if edit.value is None else float(edit.value)
        return values

    # -- cells

    def _stored(self, entity: Entity, key: str) -> float | None:
        row = self._table.position(str(entity))
        value = np.nan if row is None else self._table.values[key][row]
        return None if np.isnan(value) else float(value)

    def _cells(
        self, key: str, rows: np.ndarray, entities: Sequence[Entity], overlay: Mapping[QuotaTarget, CellState]
    ) -> list[str]:
        stored = self._table.values[key][rows].tolist()
        pairs = zip(entities, stored, strict=True)
        return [_text(key, overlay.get((entity, key)), value) for entity, value in pairs]

    def _marks(
        self, rows: np.ndarray, entities: Sequence[Entity], overlay: Mapping[QuotaTarget, CellState]
    ) -> Iterator[Mark]:
        for column, key in enumerate(self._keys, 2):
            stored = self._table.values[key][rows].tolist()
            for row, (entity, value) in enumerate(zip(entities, stored, strict=True)):
                if (state := overlay.get((entity, key))) is not None:
                    yield _mark(row, column, state, None if np.isnan(value) else value)

    def _targets(self, cells: Sequence[CellText]) -> Iterator[tuple[QuotaTarget, CellText]]:
        """The target of each cell; all of them are checked before the first is changed."""
        for cell in cells:
            if cell.column not in self._keys:
                raise UsageError(f"the column {cell.column} cannot be edited")
            if self.keys(cell.position, 1) != [cell.key] and self._table.position(cell.key) is None:
                raise UsageError(f"there is no row {cell.key}", hint="Somebody may have removed it: read again.")
            entity = Entity.parse(cell.key)
            self._known.add(entity)
            yield (entity, cell.column), cell

    def _state_of(self, target: QuotaTarget, text: str) -> CellState:
        """The edit that a text means, or its refusal; nothing where it says what is stored."""
        entity, key = target
        stored = self._stored(entity, key)
        if not text.strip():
            return None if stored is None else Edit(DELETE, entity, key)
        try:
            _refuse_misplaced(entity, key)
            value = parse_value(key, text.strip())
        except KadminError as exc:
            return Refused(text, " ".join(filter(None, [str(exc), exc.hint])))
        return None if value == stored else Edit(SET, entity, key, text_of(value))


def _quota_columns(keys: Iterable[str]) -> Iterator[Column]:
    yield Column(ENTITY, "who", 220)
    yield Column(LEVEL, "level", 130)
    for key in keys:
        unit = spec.unit if (spec := find(key)) else ""
        yield Column(key, key, 160, is_number=True, is_editable=True, hint=f"{key}, {unit}" if unit else key)
    yield Column(SHADOWED_BY, "shadowed by", 140, is_sortable=False)


def _text(key: str, state: CellState, stored: float) -> str:
    if isinstance(state, Refused):
        return state.text
    value = stored if state is None else float(state.value or "nan")
    return "" if np.isnan(value) else readable(key, value)


def _mark(row: int, column: int, state: CellState, stored: float | None) -> Mark:
    if isinstance(state, Refused):
        return Mark(row, column, REFUSED, state.reason, None)
    assert state is not None
    old = "" if stored is None else readable(state.key, stored)
    danger = next(forgotten_units.dangers([_change(state, stored)]), None)
    if danger is not None:
        return Mark(row, column, DANGER, danger.message, old)
    return Mark(row, column, STAGED if stored is not None else NEW, "", old)


def _change(edit: Edit, stored: float | None) -> Change:
    """The row of a plan that an edit will be."""
    old = None if stored is None else text_of(stored)
    return Change(1, edit.op, edit.resource, edit.key, old, edit.value, edit.value, level=edit.resource.level)


def _refuse_misplaced(entity: Entity, key: str) -> None:
    spec = find(key)
    if spec and not {kind for kind, _ in entity.parts} <= {*spec.entities}:
        raise UsageError(f"{key} is not set on {entity}", hint=f"It belongs to {' and '.join(spec.entities)}.")


def _locked(entities: Sequence[Entity], keys: Sequence[str]) -> Iterator[CellEditor]:
    """The cells of keys that an entity of that type cannot have."""
    for row, entity in enumerate(entities):
        kinds = {kind for kind, _ in entity.parts}
        for column, key in enumerate(keys, 2):
            if (spec := find(key)) and kinds <= {"user", "client-id", "ip"} and not kinds <= {*spec.entities}:
                yield CellEditor(row, column, is_locked=True)


def _level_ranks(table: QuotaTable) -> pa.Array:
    return pc.index_in(table.entities[LEVEL], pa.array(LEVEL_NAMES)).combine_chunks()
