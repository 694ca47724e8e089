"""The sheet of quotas: a row per entity, a column per key, over a stage; texts go through the parser of all doors.

An empty cell says what applies to the clients of its entity, a set one whether another quota comes first for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError
from ..frames.blocks import NAME, NUMBER
from ..model.changes import DELETE, SET, Change, Edit
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS, LEVELS_BY_NAME, SHARED
from ..model.quota_keys import HEADS, IP_KEYS, find, parse_value, readable, text_of
from ..plans.advice import dangers
from ..plans.kinds import QUOTAS
from ..plans.observed_state import ObservedState, ObservedValue
from ..plans.stage import Stage
from ..resolution.rules import Effective, Name, Stored, entity_at, reaches, resolve_client
from ..resolution.shadows import comes_first
from .quota_table import Peaks, QuotaTable, StoredQuotas, differences, keys_of
from .sheet import DANGER, REFUSED, SHADOWED, STAGED, Arrangement, CellEditor, CellText, Column, Mark, Page, Result
from .staged_sheet import AddedRow, CellState, Refused, ShownState, StagedSheet, States, matching

ENTITY = "entity"
QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""


def client_of(entity: Entity) -> tuple[Name, Name]:
    """A client that this entity is about: of a part that is a default, or not there, each whose name no quota has."""
    user, client_id = entity.get("user"), entity.get("client-id")
    return user if isinstance(user, str) else None, client_id if isinstance(client_id, str) else None


def applying(limits: Stored, entity: Entity, key: str) -> Effective:
    """What applies to the clients of this entity that send a client-id, by these quotas; an address has no level."""
    user, client_id = client_of(entity)
    if key not in IP_KEYS:
        return resolve_client(limits, user, client_id, key) if limits else Effective(user, client_id, key)
    tried = (other for other in (entity, Entity.of({"ip": DEFAULT})) if (other, key) in limits)
    found = next(tried, None)
    return Effective(user, client_id, key, None if found is None else limits[found, key], entity=found)


def limit_text(effective: Effective) -> str:
    """The limit as a cell shows it."""
    return "unlimited" if effective.value is None else readable(effective.key, effective.value)


def read_text(target: QuotaTarget, text: str, stored: float | None) -> CellState:
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


class QuotaCell(NamedTuple):
    """A cell: what is stored, what is typed, and the limits that count for it."""

    entity: Entity
    key: str
    stored: float | None
    state: ShownState
    limits: Stored
    peaks: Peaks

    @property
    def old(self) -> str:
        """The stored value as a cell shows it; empty where none is."""
        return "" if self.stored is None else readable(self.key, self.stored)

    @property
    def text(self) -> str:
        """The text of the cell."""
        if isinstance(self.state, Refused):
            return self.state.text
        after = self.limits.get((self.entity, self.key))
        return "" if after is None else readable(self.key, after)

    @property
    def applies(self) -> Effective:
        """What applies to its clients."""
        return applying(self.limits, self.entity, self.key)

    @property
    def used(self) -> float | None:
        """The most that was used of the limit that applies, in its unit; None where that is not known.

        A default is a template of many buckets: of one of these nothing is said.
        """
        is_exact = all(isinstance(name, str) for _, name in self.entity.parts)
        bucket = self.applies.bucket if is_exact and self.peaks else None
        return None if bucket is None else self.peaks.get((self.key, *bucket))

    @property
    def percent_used(self) -> float | None:
        """That in percent of the limit."""
        used = self.used
        return None if used is None or not (limit := self.applies.value) else 100 * used / limit

    @property
    def first(self) -> Entity | None:
        """The entity whose limit comes first for all its clients that send a client-id."""
        return comes_first(self.limits, self.entity, self.key) if self.text else None

    def mark(self, row: int, column: int) -> Mark | None:
        """Its mark, where it has one."""
        mark, percent = self._mark(row, column), self.percent_used
        return mark if percent is None else replace(mark or Mark(row, column, ""), used=round(percent))

    def _mark(self, row: int, column: int) -> Mark | None:
        state, instead, note = self.state, "", ""
        if not self.text and QUOTAS.misfit(Edit(SET, self.entity, self.key)) is None:
            applies = self.applies
            instead, note = limit_text(applies), "" if applies.entity is None else f"set on {applies.entity}"
        if isinstance(state, Refused):
            return Mark(row, column, REFUSED, state.reason, self.old or None)
        if state is not None and state.change.is_refused:
            return Mark(row, column, REFUSED, str(state.change.refusal), self.old)
        if state is not None:
            kind = STAGED if state.danger is None else DANGER
            return Mark(row, column, kind, state.danger or note, self.old, instead)
        if (first := self.first) is not None:
            return Mark(row, column, SHADOWED, f"{first} ({limit_text(self.applies)}) comes first")
        return Mark(row, column, "", note, None, instead) if instead else None


class QuotaSheet(StagedSheet[Entity]):
    """Quotas as they are stored, with what is staged for them."""

    kind = QUOTAS
    label = "Quotas"
    legend = "Grey: what applies where nothing is set. ⊘: set, but something more specific wins."
    what_rows_are = "quotas"
    filter_words = "alice, team-*"
    own_choice = "shadowed"

    def __init__(self, stored: StoredQuotas, stage: Stage) -> None:
        super().__init__(stage)
        self.stored = stored
        self._keys = tuple(keys_of(stored.quotas))
        self._table = QuotaTable.of(stored, self._keys)
        self._order = np.flatnonzero(self._table.is_chosen)
        self._added: set[Entity] = set()
        self._gone: set[str] = set()
        self._follow_stage()
        used = {*stored.shown["key"].unique().to_pylist(), *(key for _, key in self._staged())}
        self.columns = tuple(_quota_columns(self._keys, used or {*self._keys}))

    def to_arrow(self) -> pa.Table:
        return self.stored.shown

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            rows, names = self._rows(first, count), self.keys(first, count)
            entities = [*map(Entity.parse, names)]
            limits, states, peaks = self._limits(entities), self._shown_states(), self.stored.peaks
            texts: list[list[str]] = [names]
            marks: list[Mark] = []
            for column, key in enumerate(self._keys, 1):
                stored = [None if np.isnan(value) else value for value in self._table.values[key][rows].tolist()]
                cells = [
                    QuotaCell(entity, key, value, states.get((entity, key)), limits[key], peaks)
                    for entity, value in zip(entities, stored, strict=True)
                ]
                texts.append([cell.text for cell in cells])
                marks += filter(None, (cell.mark(row, column) for row, cell in enumerate(cells)))
            return Page(first, names, texts, marks, [*_locked(entities, self._keys)], [*self._indented(rows, entities)])

    def cell(self, entity: Entity, key: str) -> QuotaCell:
        """One cell."""
        with self._lock:
            stored = self._values([(entity, key)])[entity, key]
            state = self._shown_states().get((entity, key))
            return QuotaCell(entity, key, stored, state, self._limits([entity]).get(key, {}), self.stored.peaks)

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
            name = str(entity)
            if not self._table.chosen([name]):
                self._do({(entity, ENTITY): AddedRow.ADDED})
            row = self._table.rows_of([name])[name]
            if row not in self._order:
                self._arrangement = Arrangement()
                self._order = self._arranged(self._arrangement)
            position = int(np.flatnonzero(self._order == row)[0])
        self._changed()
        return position

    def read(self, stored: StoredQuotas) -> Result:
        with self._lock:
            before, names_before = self.stored, self._chosen_names()
            self.stored, self._judged = stored, None
            self._table = QuotaTable.of(stored, self._keys)
            self._order = np.flatnonzero(self._table.is_chosen)
            self._show_targets([*((entity, ENTITY) for entity in self._added), *self._staged(), *self._refused])
            self._gone |= names_before - self._chosen_names()
            self._order = self._arranged(self._arrangement)
        self._changed()
        news = differences(before.quotas, stored.quotas)
        return Result(f"reloaded: {news}" if news else "reloaded: nothing has changed")

    def counts(self) -> dict[str, int]:
        return {**super().counts(), "all": int(self._table.is_chosen.sum())}

    # -- rows

    def _all_names(self) -> pa.ChunkedArray:
        return self._table.entities[ENTITY]

    def _chosen_names(self) -> set[str]:
        return {*self._all_names().filter(pa.array(self._table.is_chosen)).to_pylist()}

    def _name_of(self, target: QuotaTarget) -> str:
        return str(target[0])

    def _own_flags(self) -> np.ndarray:
        flags: np.ndarray = self._table.shadowed & self._table.is_chosen
        return flags

    def _arranged(self, arrangement: Arrangement) -> np.ndarray:
        flags = matching(self._table.entities, arrangement.words) & self._flags(arrangement.show)
        rows, column = np.flatnonzero(flags & self._table.is_chosen), arrangement.column
        if column is None:
            return rows
        if column in self._table.values:
            numbers = self._with_staged(column)[rows]
            by_number: np.ndarray = rows[np.argsort(-numbers if arrangement.descending else numbers, kind="stable")]
            return by_number
        if column != ENTITY:
            raise UsageError(f"rows cannot be sorted by {column}")
        order = "descending" if arrangement.descending else "ascending"
        names = self._all_names().take(pa.array(rows))
        sorted_rows: np.ndarray = rows[np.asarray(pc.array_sort_indices(names, order=order))]
        return sorted_rows

    def _with_staged(self, key: str) -> np.ndarray:
        values = self._table.values[key].copy()
        edits = {str(entity): edit for (entity, edited), edit in self._staged().items() if edited == key}
        for name, row in self._table.rows_of(edits).items():
            value = edits[name].text
            values[row] = np.nan if value is None else float(value)
        return values

    def _indented(self, rows: np.ndarray, entities: Sequence[Entity]) -> Iterator[str]:
        """For a client-id of a user whose own row stands above it: the client-id alone."""
        owners = [str(Entity(entity.parts[:1])) for entity in entities]  # of a client-id of a user: the user
        places = self._table.rows_of({*owners})
        is_indented = False
        for n, (entity, owner) in enumerate(zip(entities, owners, strict=True)):
            place = places.get(owner, len(self._table))
            is_below = len(entity.parts) == 2 and place < rows[n] and self._arrangement.column is None
            is_next = str(entities[n - 1]) == owner or (is_indented and owners[n - 1] == owner)
            is_indented = is_below and (is_next if n else place in self._order)
            yield str(Entity(entity.parts[1:])) if is_indented else ""

    # -- cells

    def _limits(self, entities: Collection[Entity]) -> dict[str, dict[QuotaTarget, float]]:
        """The quotas of each key that may bind clients of these entities, staged ones included."""
        candidates = {Entity.of({"ip": DEFAULT}), *entities}
        for entity in entities:
            if entity.level in LEVELS_BY_NAME:
                user, client_id = client_of(entity)
                candidates |= {
                    entity_at(level, user or "", client_id or "") for level in LEVELS if reaches(level, user, client_id)
                }
        rows = self._table.rows_of({str(entity) for entity in candidates})
        placed = [(entity, rows[str(entity)]) for entity in candidates if str(entity) in rows]
        limits: dict[str, dict[QuotaTarget, float]] = {}
        for key, values in self._table.values.items():
            numbers = values[[row for _, row in placed]].tolist()
            limits[key] = {(e, key): n for (e, _), n in zip(placed, numbers, strict=True) if not np.isnan(n)}
        for (entity, key), edit in self._staged().items():
            if entity in candidates:
                of_key = limits.setdefault(key, {})
                of_key.pop((entity, key), None)
                if edit.text is not None:
                    of_key[entity, key] = float(edit.text)
        return limits

    def _values(self, targets: Iterable[QuotaTarget]) -> dict[QuotaTarget, float | None]:
        """The stored values of these cells."""
        targets, table = [*targets], self._table
        rows = table.rows_of({str(entity) for entity, _ in targets})
        stored: dict[QuotaTarget, float | None] = {}
        for entity, key in targets:
            row, values = rows.get(str(entity)), table.values.get(key)
            value = np.nan if values is None or row is None else values[row]
            stored[entity, key] = None if np.isnan(value) else float(value)
        return stored

    def _observed_state(self, targets: Collection[QuotaTarget]) -> ObservedState:
        state = ObservedState(quotas=self.stored.quotas, brokers=self.stored.brokers)
        values = self._values(targets).items()
        state.values |= {target: ObservedValue(text_of(value)) for target, value in values if value is not None}
        return state

    def _targets(self, cells: Sequence[CellText]) -> list[tuple[QuotaTarget, CellText]]:
        """The target of each cell; all of them are checked before the first is changed."""
        if strange := next((cell.column for cell in cells if cell.column not in self._keys), None):
            raise UsageError(f"the column {strange} cannot be edited")
        names = {cell.key for cell in cells}
        if strange := next(iter(names - self._table.chosen(names) - self._gone), None):
            raise UsageError(f"there is no row {strange}", hint="It may have been removed: read again.")
        entities = {name: Entity.parse(name) for name in names}
        return [((entities[cell.key], cell.column), cell) for cell in cells]

    def _states_of(self, texts: Mapping[QuotaTarget, str]) -> dict[QuotaTarget, CellState]:
        stored = self._values(texts)
        return {target: read_text(target, text, stored[target]) for target, text in texts.items()}

    # -- rows that come and go

    def _states(self, targets: Iterable[QuotaTarget]) -> dict[QuotaTarget, CellState]:
        cells, rows = _apart(targets)
        added = {entity: AddedRow.ADDED for entity in rows if entity in self._added}
        return {**super()._states(cells), **{(entity, ENTITY): added.get(entity) for entity in rows}}

    def _put(self, states: States[Entity]) -> None:
        """Make these cells hold that; an entity's own cell is its row, where that was added by hand."""
        cells, rows = _apart(states)
        super()._put({target: states[target] for target in cells})
        added = {entity for entity in rows if states[entity, ENTITY] is not None}
        self._added = (self._added | added) - ({*rows} - added)
        overlay = {entity for entity, _ in self._overlay()}
        self._remove_empty({*rows} - added - overlay)
        self._show_targets([(entity, ENTITY) for entity in (*added, *(e for e, _ in cells if e in overlay))])

    def _show_targets(self, targets: Collection[QuotaTarget]) -> None:
        """Rows on top for those entities that have none."""
        entities = dict.fromkeys(entity for entity, _ in targets)
        known = self._table.rows_of([*map(str, entities)])
        hidden = [row for row in known.values() if not self._table.is_chosen[row]]
        self._table.is_chosen[hidden] = True
        self._order = np.concatenate([np.array(hidden, dtype=np.int64), self._order])
        if new := [entity for entity in entities if str(entity) not in known]:
            self._table = self._table.with_rows(new)
            self._order = np.concatenate([np.arange(len(new)), self._order + len(new)])

    def _remove_empty(self, entities: Collection[Entity]) -> None:
        """Take the rows of these entities out, those that have quotas apart."""
        rows = self._table.rows_of([*map(str, entities)]).values()
        if empty := [row for row in rows if self._table.is_empty(row)]:
            is_kept = np.ones(len(self._table), dtype=bool)
            is_kept[empty] = False
            self._table = self._table.filtered(is_kept)
            self._order = (np.cumsum(is_kept) - 1)[self._order[is_kept[self._order]]]


def _locked(entities: Sequence[Entity], keys: Sequence[str]) -> Iterator[CellEditor]:
    """The cells of keys that an entity of that type cannot have."""
    for row, entity in enumerate(entities):
        for column, key in enumerate(keys, 1):
            if QUOTAS.misfit(Edit(SET, entity, key)):
                yield CellEditor(row, column, is_locked=True)


def _apart(targets: Iterable[QuotaTarget]) -> tuple[list[QuotaTarget], list[Entity]]:
    """The cells among targets, and the rows."""
    targets = [*targets]
    return [t for t in targets if t[1] != ENTITY], [entity for entity, key in targets if key == ENTITY]


def _quota_columns(keys: Iterable[str], used: Collection[str]) -> Iterator[Column]:
    yield Column(ENTITY, "who", NAME)
    for key in keys:
        hint = f"{key}, {spec.unit}" if (spec := find(key)) else key
        yield Column(key, HEADS.get(key, key), NUMBER, is_editable=True, hint=hint, is_rare=key not in used)


# -- a cell in words


def advice(cell: QuotaCell, quotas: pa.Table, changes: Sequence[Change], brokers: int = 1) -> list[str]:
    """The refusal, the dangers and the warnings that a plan of all staged edits has on this cell.

    Parameters
    ----------
    quotas
        All QUOTAS as they are stored.
    changes
        The rows of a plan that all staged edits of quotas would be.
    """
    of_key = sorted((c for c in changes if c.key == cell.key), key=lambda change: change.resource != cell.entity)
    if not of_key or of_key[0].resource != cell.entity:
        return []
    staged = [change.with_(row=number) for number, change in enumerate(of_key, 1)]  # advice is about the first row
    state = ObservedState(quotas=quotas.filter(pc.equal(quotas["key"].cast(pa.string()), cell.key)), brokers=brokers)
    refusal = [str(staged[0].refusal)] if staged[0].is_refused else []
    judged = [danger.message for danger in dangers.judged(staged, state) if danger.row == 1]
    warned = QUOTAS.warnings([change for change in staged if not change.is_refused], state)
    return [*refusal, *judged, *(warning.message for warning in warned if warning.row in (0, 1))]


def quota_lines(cell: QuotaCell, advised: Sequence[str]) -> tuple[str, str]:
    """A cell of quotas in two lines: what it says and what applies; then what is dangerous, else who shares it."""
    head = f"{cell.entity}, {HEADS.get(cell.key, cell.key)}: "
    was = f", was {cell.old}" if cell.old and cell.state is not None else ""
    applies = cell.applies
    applied = limit_text(applies) + (f" ({applies.entity})" if applies.entity is not None else "")
    percent = cell.percent_used
    used = f"; uses {readable(cell.key, cell.used or 0.0)} ({percent:,.0f} %)" if percent is not None else ""
    if isinstance(cell.state, Refused):
        return f"{head}{cell.text} is not staged{was}", cell.state.reason
    if not cell.text:
        first = f"{head}not set{was}; {applied} applies{used}"
    elif cell.first is not None:
        first = f"{head}{cell.text}{was}; {applied} comes first for its clients that send a client-id{used}"
    else:
        first = f"{head}{cell.text}{was}{used}"
    return first, "; ".join(advised) or _sharing(applies)


def _sharing(applies: Effective) -> str:
    """The clients that share a limit, and the limits that it comes before."""
    if applies.entity is None:
        return "No quota applies."
    lost = ", ".join(f"{other.entity} ({readable(applies.key, other.value)})" for other in applies.overridden)
    shared = SHARED.get(applies.level or "", "each address has its own")
    return f"{shared}; overrides {lost}" if lost else shared
