"""The sheet of quotas: a row an entity, a column a key, over a stage; texts go through the parser of all doors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..frames.blocks import BADGE, NAME, NUMBER
from ..frames.meanings import word
from ..model.changes import DELETE, SET, Edit
from ..model.entity import Entity
from ..model.quota_keys import find, parse_value, readable, text_of
from ..plans.kinds import QUOTAS
from ..plans.observed_state import ObservedState, ObservedValue
from ..plans.stage import Stage
from .quota_table import ENTITY, LEVEL, QuotaRows, StoredQuotas, differences, keys_of, shadowed_rows, shadowers_of
from .sheet import DANGER, NEW, REFUSED, STAGED, Arrangement, CellEditor, CellText, Column, Mark, Page, Result
from .staged_sheet import AddedRow, CellState, Judgement, Refused, StagedSheet

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
    value = float(state.text or "nan") if isinstance(state, Edit) else stored
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


SHADOWED_BY = "shadowed_by"


class QuotaSheet(StagedSheet[Entity]):
    """Quotas as they are stored, with what is staged for them."""

    label = "Quotas"

    def __init__(self, stored: StoredQuotas, stage: Stage) -> None:
        super().__init__(stage, QUOTAS)
        self._stored = stored
        self._keys = tuple(keys_of(stored.quotas))
        self._rows = QuotaRows(stored, self._keys)
        self._arrangement = Arrangement()
        self._added: set[Entity] = set()
        self._gone: set[str] = set()
        self.columns = tuple(_quota_columns(self._keys))
        self._follow_stage()

    def __len__(self) -> int:
        return len(self._rows)

    def keys(self, first: int, count: int) -> list[str]:
        with self._lock:
            return self._rows.names(self._rows.at(first, count))

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            rows, table = self._rows.at(first, count), self._rows.table
            entities = [Entity.parse(name) for name in self._rows.names(rows)]
            overlay = self._overlay()
            shadowers = shadowers_of(table, entities, overlay)
            cells = [self._cells(key, rows, entities, overlay) for key in self._keys]
            levels = [*map(word, table.entities[LEVEL].take(pa.array(rows)).to_pylist())]
            marks = [*self._marks(rows, entities)]
            texts = [[str(entity) for entity in entities], levels, *cells, shadowers]
            return Page(first, texts[0], texts, marks, [*locked_cells(entities, self._keys)])

    def arrange(self, arrangement: Arrangement) -> None:
        with self._lock:
            self._arrange(arrangement)
        self._changed()

    def edit(self, cells: Sequence[CellText]) -> Result:
        """Take texts into cells; a row that somebody else has removed meanwhile comes back, without stored values."""
        returned = {cell.key for cell in cells} & self._gone
        result = super().edit(cells)
        self._gone -= returned
        if returned and result.ok:
            return Result(f"{min(returned)} was removed by someone else meanwhile: this sets it again")
        return result

    def add(self, entity: Entity) -> int:
        """A row for an entity, on top; the position of the one that it has already, where it does."""
        with self._lock:
            if not self._rows.chosen([str(entity)]):
                self._history.do({(entity, ENTITY): AddedRow.ADDED})
            if self._rows.position(entity) is None:
                self._arrange(Arrangement())
            position = self._rows.position(entity) or 0
        self._changed()
        return position

    def read(self, stored: StoredQuotas) -> Result:
        """Take quotas that were read anew; what is staged, refused or added stays."""
        with self._lock:
            before, names_before = self._stored, self._rows.chosen()
            self._stored, self._judged = stored, None
            self._rows = QuotaRows(stored, self._keys)
            self._rows.add([*self._added, *(entity for entity, _ in (*self._staged(), *self._refused))])
            self._gone |= names_before - self._rows.chosen()
            self._arrange(self._arrangement)
        self._changed()
        news = differences(before.quotas, stored.quotas)
        return Result(f"reloaded: {news}" if news else "reloaded: nothing has changed")

    @property
    def stored(self) -> StoredQuotas:
        """The quotas as they were read last."""
        return self._stored

    # -- rows

    def _arrange(self, arrangement: Arrangement) -> None:
        self._rows.arrange(arrangement, self._shown(arrangement.show), self._with_staged)
        self._arrangement = arrangement

    def _shown(self, show: str) -> np.ndarray:
        """A flag for each row that is of the chosen kind."""
        table = self._rows.table
        if show == "shadowed":
            return shadowed_rows(table)
        if (targets := self._targets_to_show(show)) is None:
            return np.ones(len(table), dtype=bool)
        names = pa.array({str(entity) for entity, _ in targets}, pa.string())
        return np.asarray(pc.is_in(table.entities[ENTITY], names))

    def _with_staged(self, key: str) -> np.ndarray:
        values = self._rows.table.values[key].copy()
        edits = {str(entity): edit for (entity, edited), edit in self._staged().items() if edited == key}
        for name, row in self._rows.table.rows_of(edits).items():
            value = edits[name].text
            values[row] = np.nan if value is None else float(value)
        return values

    # -- cells

    def _values(self, targets: Iterable[QuotaTarget]) -> dict[QuotaTarget, float | None]:
        """The stored values of these cells."""
        targets, table = [*targets], self._rows.table
        rows = table.rows_of({str(entity) for entity, _ in targets})
        return {(entity, key): _stored(table.values.get(key), rows.get(str(entity))) for entity, key in targets}

    def _observed_state(self, targets: Collection[QuotaTarget]) -> ObservedState:
        state = ObservedState(quotas=self._stored.quotas, brokers=self._stored.brokers)
        values = self._values(targets).items()
        state.values |= {target: ObservedValue(text_of(value)) for target, value in values if value is not None}
        return state

    def _cells(
        self, key: str, rows: np.ndarray, entities: Sequence[Entity], overlay: Mapping[QuotaTarget, CellState]
    ) -> list[str]:
        pairs = zip(entities, self._rows.table.values[key][rows].tolist(), strict=True)
        return [cell_text(key, overlay.get((entity, key)), value) for entity, value in pairs]

    def _marks(self, rows: np.ndarray, entities: Sequence[Entity]) -> Iterator[Mark]:
        states: dict[QuotaTarget, Judgement | Refused] = {**self._judge(), **self._refused}
        for column, key in enumerate(self._keys, 2):
            stored = self._rows.table.values[key][rows].tolist()
            for row, (entity, value) in enumerate(zip(entities, stored, strict=True)):
                if state := states.get((entity, key)):
                    yield cell_mark(row, column, key, state, value)

    def _targets(self, cells: Sequence[CellText]) -> list[tuple[QuotaTarget, CellText]]:
        """The target of each cell; all of them are checked before the first is changed."""
        if strange := next((cell.column for cell in cells if cell.column not in self._keys), None):
            raise UsageError(f"the column {strange} cannot be edited")
        names = {cell.key for cell in cells}
        if strange := next(iter(names - self._rows.chosen(names) - self._gone), None):
            raise UsageError(f"there is no row {strange}", hint="It may have been removed: read again.")
        entities = {name: Entity.parse(name) for name in names}
        return [((entities[cell.key], cell.column), cell) for cell in cells]

    def _states_of(self, texts: Mapping[QuotaTarget, str]) -> dict[QuotaTarget, CellState]:
        stored = self._values(texts)
        return {target: state_of(target, text, stored[target]) for target, text in texts.items()}

    # -- changes

    def _states(self, targets: Iterable[QuotaTarget]) -> dict[QuotaTarget, CellState]:
        cells, rows = _apart(targets)
        added = {(entity, ENTITY): AddedRow.ADDED for entity in rows if entity in self._added}
        return {**super()._states(cells), **{(entity, ENTITY): added.get((entity, ENTITY)) for entity in rows}}

    def _put(self, states: Mapping[QuotaTarget, CellState]) -> None:
        """Make these cells hold that; an entity's own cell is its row, where that was added by hand."""
        cells, rows = _apart(states)
        super()._put({target: states[target] for target in cells})
        added = {entity for entity in rows if states[entity, ENTITY] is not None}
        self._added = (self._added | added) - ({*rows} - added)
        overlay = {entity for entity, _ in self._overlay()}
        self._rows.remove_empty({*rows} - added - overlay)
        self._rows.add([*added, *(entity for entity, _ in cells if entity in overlay)])

    def _show_targets(self, targets: Collection[QuotaTarget]) -> None:
        self._rows.add([entity for entity, _ in targets])


def _apart(targets: Iterable[QuotaTarget]) -> tuple[list[QuotaTarget], list[Entity]]:
    """The cells among targets, and the rows."""
    targets = [*targets]
    return [t for t in targets if t[1] != ENTITY], [entity for entity, key in targets if key == ENTITY]


def _quota_columns(keys: Iterable[str]) -> Iterator[Column]:
    yield Column(ENTITY, "who", NAME)
    yield Column(LEVEL, "level", BADGE)
    for key in keys:
        unit = spec.unit if (spec := find(key)) else ""
        yield Column(key, key, NUMBER, is_editable=True, hint=f"{key}, {unit}" if unit else key)
    yield Column(SHADOWED_BY, "shadowed by", is_sortable=False)


def _stored(values: np.ndarray | None, row: int | None) -> float | None:
    value = np.nan if values is None or row is None else values[row]
    return None if np.isnan(value) else float(value)
