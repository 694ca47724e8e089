"""The sheet of quotas: a row per entity, a column per key, over a stage; texts go through the parser of all doors.

An empty cell says what applies to the clients of its entity, a set one whether another quota comes first for them. The
table below it is Arrow and numpy, for a million rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames.blocks import NAME, NUMBER
from ..model.changes import DELETE, SET, Edit
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS, LEVELS_BY_NAME, SHARED
from ..model.quota_keys import HEADS, IP_KEYS, QUOTA_KEYS, find, parse_value, readable, text_of
from ..plans.kinds import QUOTAS
from ..plans.observed_state import ObservedState, ObservedValue
from ..plans.stage import Stage
from ..resolution.rules import Effective, Name, Stored, entity_at, reaches, resolve_client
from ..resolution.shadows import COMES_FIRST, comes_first
from .sheet import SHADOWED, Arrangement, CellEditor, CellText, Column, Mark, Result
from .staged_sheet import Refused, ShownState, StagedSheet, verdict

ENTITY = "entity"
NAMES = ("entity", "level", "user", "client_id", "ip")

QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""

Peaks = Mapping[tuple[str, str | None, str | None], float]
"""The most that a bucket has used on one broker, by key and the user and client-id of the bucket."""


@dataclass(frozen=True)
class StoredQuotas:
    """All QUOTAS of a cluster, the number of its brokers, and what was used."""

    quotas: pa.Table
    brokers: int = 1
    peaks: Peaks = field(default_factory=dict)


@dataclass(frozen=True)
class QuotaTable:
    """Entities in their order with `NAMES` as texts, and for each key the values, NaN where none is set.

    Names that were read are searched by halves, as QUOTAS are sorted; `places` are the rows that were looked for
    before, as an action asks several times for the same ones.
    """

    stored: StoredQuotas
    entities: pa.Table
    values: dict[str, np.ndarray]
    sorted_names: pa.Array
    places: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: StoredQuotas, keys: Collection[str]) -> QuotaTable:
        """The wide form of QUOTAS, with these keys."""
        quotas = stored.quotas
        row_of_quota = _rows(quotas["entity"])
        rows, names = int(row_of_quota.max(initial=-1)) + 1, quotas.select(NAMES)
        if rows < quotas.num_rows:
            names = names.take(pa.array(np.unique(row_of_quota, return_index=True)[1]))
        entities = pa.table({name: names[name].cast(pa.string()) for name in NAMES})
        values = _values_by_key(quotas, row_of_quota, rows, keys)
        return cls(stored, entities, values, entities["entity"].combine_chunks())

    @property
    def names(self) -> pa.ChunkedArray:
        """The name of each row."""
        return self.entities["entity"]

    @property
    def rank(self) -> np.ndarray:
        """Rows of a lower one stand above others: all quotas are in the order of their names."""
        return np.zeros(self.entities.num_rows, dtype=np.int64)

    def with_rows(self, targets: Iterable[QuotaTarget]) -> QuotaTable:
        """The same with rows without quotas below it."""
        entities = [*dict.fromkeys(entity for entity, _ in targets)]
        rows = [{"level": entity.level, **entity.columns()} for entity in entities]
        below = pa.Table.from_pylist(rows, schema=self.entities.schema)
        empty = np.full(len(rows), np.nan)
        values = {key: np.concatenate([column, empty]) for key, column in self.values.items()}
        places = {str(entity): row for row, entity in enumerate(entities, self.entities.num_rows)}
        both = pa.concat_tables([self.entities, below])
        return replace(self, entities=both, values=values, places={**self.places, **places})

    def name_of(self, target: QuotaTarget) -> str:
        """The name of the row that a target is in."""
        return str(target[0])

    def rows_of(self, names: Iterable[str]) -> dict[str, int]:
        """The rows of those of the names that have one."""
        rows = {name: self._row(name) for name in names}
        return {name: row for name, row in rows.items() if row is not None}

    def _row(self, name: str) -> int | None:
        if name not in self.places:
            names = self.sorted_names
            place = bisect_left(range(len(names)), name, key=lambda at: names[at].as_py())
            is_there = place < len(names) and names[place].as_py() == name
            self.places[name] = place if is_there else None
        return self.places[name]

    def values_of(self, targets: Collection[QuotaTarget]) -> dict[QuotaTarget, float | None]:
        """The stored values of these cells."""
        rows = self.rows_of({str(entity) for entity, _ in targets})
        stored: dict[QuotaTarget, float | None] = {}
        for entity, key in targets:
            row, values = rows.get(str(entity)), self.values.get(key)
            value = None if values is None or row is None else float(values.item(row))
            stored[entity, key] = None if value is None or isnan(value) else value
        return stored

    @cached_property
    def is_own(self) -> np.ndarray:
        """A flag for each row with a stored quota in whose place another one applies to clients with a client-id."""
        levels = self.entities["level"].combine_chunks().dictionary_encode()
        at_level = {name: np.asarray(levels.indices) == code for code, name in enumerate(levels.dictionary.to_pylist())}
        pairs = [(level, other) for level, before in COMES_FIRST.items() for other in before]
        shadowed = np.zeros(self.entities.num_rows, dtype=bool)
        for level, other in ((one, other) for one, other in pairs if one in at_level and other in at_level):
            part = next((p for p in ("user", "client_id") if getattr(LEVELS_BY_NAME[other], p) == "name"), None)
            for is_set in (~np.isnan(values) for values in self.values.values()):
                mine, others = is_set & at_level[level], is_set & at_level[other]
                if part is not None and mine.any() and others.any():
                    named = self.entities[part].filter(pa.array(others)).combine_chunks()
                    mine &= np.asarray(pc.is_in(self.entities[part], named))
                shadowed |= mine & others.any()
        return shadowed


def peaks_of(utilisation: pa.Table) -> Peaks:
    """The peaks of UTILISATION, of the broker that has most; a client without a limit is a bucket of its own."""
    parts = {name: pc.coalesce(utilisation[f"bucket_{name}"], utilisation[name]) for name in ("user", "client_id")}
    rows = pa.table({"key": utilisation["key"].cast(pa.string()), **parts, "peak": utilisation["peak"]})
    most = rows.filter(rows["peak"].is_valid()).group_by(["key", *parts]).aggregate([("peak", "max")])
    names = zip(*(most[name].to_pylist() for name in ("key", *parts)), strict=True)
    return dict(zip(names, most["peak_max"].to_pylist(), strict=True))


def keys_of(quotas: pa.Table) -> list[str]:
    """Kafka's keys, then those that only this cluster has."""
    own_keys = [key.name for key in QUOTA_KEYS]
    return [*own_keys, *sorted({*pc.unique(quotas["key"].cast(pa.string())).to_pylist()} - {*own_keys})]


def _rows(entities: pa.ChunkedArray) -> np.ndarray:
    """The row of each quota: a new one where the entity is another."""
    texts = entities.combine_chunks()
    is_new = np.asarray(pc.not_equal(texts[:-1], texts[1:]), dtype=np.int64)
    return np.concatenate([np.zeros(min(len(texts), 1), dtype=np.int64), np.cumsum(is_new)])


def _values_by_key(
    quotas: pa.Table, row_of_quota: np.ndarray, rows: int, keys: Collection[str]
) -> dict[str, np.ndarray]:
    """The values of each key by row."""
    encoded = pc.dictionary_encode(quotas["key"].cast(pa.string()).combine_chunks())
    code_of_quota, amounts = np.asarray(encoded.indices), quotas["value"].to_numpy()
    values = {name: np.full(rows, np.nan) for name in keys}
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        is_of_key = code_of_quota == code
        if name in values:
            values[name][row_of_quota[is_of_key]] = amounts[is_of_key]
    return values


# -- a cell


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


@dataclass
class QuotaCell:
    """A cell: what is stored, what is typed, the limits that count for it, and what was used of them."""

    entity: Entity
    key: str
    stored: float | None
    state: ShownState = None
    limits: Stored = field(default_factory=dict)
    peaks: Peaks = field(default_factory=dict)
    is_secret = False

    @property
    def old(self) -> str:
        """The stored value as a cell shows it; empty where none is."""
        return "" if self.stored is None else readable(self.key, self.stored)

    @cached_property
    def text(self) -> str:
        """The text of the cell."""
        if isinstance(self.state, Refused):
            return self.state.text
        after = self.limits.get((self.entity, self.key))
        return "" if after is None else readable(self.key, after)

    @cached_property
    def applies(self) -> Effective:
        """What applies to its clients."""
        return applying(self.limits, self.entity, self.key)

    @cached_property
    def used(self) -> tuple[float, float] | None:
        """The most that was used of the limit that applies, in its unit and in percent; None where that is not known.

        A default is a template of many buckets: of one of these nothing is said.
        """
        is_exact = all(isinstance(name, str) for _, name in self.entity.parts)
        if not (self.peaks and is_exact and self.applies.bucket and self.applies.value):
            return None
        used = self.peaks.get((self.key, *self.applies.bucket))
        return None if used is None else (used, 100 * used / self.applies.value)

    @cached_property
    def first(self) -> Entity | None:
        """The entity whose limit comes first for all its clients that send a client-id."""
        return comes_first(self.limits, self.entity, self.key) if self.text else None

    @cached_property
    def is_locked(self) -> bool:
        """True if an entity of its type cannot have the key."""
        return QUOTAS.misfit(Edit(SET, self.entity, self.key)) is not None

    def read(self, text: str) -> Edit | None:
        """The edit that a typed text means; None where it says what is stored."""
        if not text.strip():
            return None if self.stored is None else Edit(DELETE, self.entity, self.key)
        value = parse_value(self.key, text.strip())
        edit = Edit(SET, self.entity, self.key, text_of(value))
        if misfit := QUOTAS.misfit(edit):
            raise UsageError(misfit.message or misfit.code)
        return None if value == self.stored else edit

    @property
    def mark(self) -> Mark | None:
        """Its mark, where it has one."""
        kind, note, old, applied, used = "", "", None, "", self.used and round(self.used[1])
        if not self.text and not self.is_locked:
            applied = limit_text(self.applies)
            note = "" if self.applies.entity is None else f"set on {self.applies.entity}"
        if self.state is not None:
            (kind, reason), old = verdict(self.state), self.old
            note = reason or note
        elif self.first is not None:
            kind, note = SHADOWED, f"{self.first} ({limit_text(self.applies)}) comes first"
        has_one = kind or applied or used is not None
        return Mark(kind, note, old, applied, used) if has_one else None

    @property
    def editor(self) -> CellEditor | None:
        """That there is none, where the entity cannot have the key."""
        return CellEditor(is_locked=True) if self.is_locked else None

    @property
    def lines(self) -> tuple[str, str]:
        """It in two lines: what it says and what applies; then what is dangerous, else who shares it."""
        head = f"{self.entity}, {HEADS.get(self.key, self.key)}: "
        was = f", was {self.old}" if self.old and self.state is not None else ""
        applies = self.applies
        applied = limit_text(applies) + (f" ({applies.entity})" if applies.entity is not None else "")
        used = f"; uses {readable(self.key, self.used[0])} ({self.used[1]:,.0f} %)" if self.used is not None else ""
        if isinstance(self.state, Refused):
            return f"{head}{self.text} is not staged{was}", self.state.reason
        if not self.text:
            first = f"{head}not set{was}; {applied} applies{used}"
        elif self.first is not None:
            first = f"{head}{self.text}{was}; {applied} comes first for its clients that send a client-id{used}"
        else:
            first = f"{head}{self.text}{was}{used}"
        danger = "" if self.state is None else verdict(self.state)[1]
        return first, danger or _sharing(applies)


def _sharing(applies: Effective) -> str:
    """The clients that share a limit, and the limits that it comes before."""
    if applies.entity is None:
        return "No quota applies."
    lost = ", ".join(f"{other.entity} ({readable(applies.key, other.value)})" for other in applies.overridden)
    shared = SHARED.get(applies.level or "", "each address has its own")
    return f"{shared}; overrides {lost}" if lost else shared


class QuotaSheet(StagedSheet[Entity, QuotaCell]):
    """Quotas as they are stored, with what is staged for them."""

    kind = QUOTAS
    label = "Quotas"
    legend = "Grey: what applies where nothing is set. ⊘: set, but something more specific wins."
    what_rows_are = "quotas"
    filter_words = "alice, team-*"
    own_choice = "shadowed"
    _table: QuotaTable

    def __init__(self, stored: StoredQuotas, stage: Stage) -> None:
        super().__init__(QuotaTable.of(stored, keys_of(stored.quotas)), stage)
        self._keys = tuple(self._table.values)
        used = {*stored.quotas["key"].unique().to_pylist(), *(key for _, key in self._staged())}
        self.columns = tuple(_quota_columns(self._keys, used or {*self._keys}))

    @property
    def stored(self) -> StoredQuotas:
        """The quotas as they were read last."""
        return self._table.stored

    def to_arrow(self) -> pa.Table:
        return self.stored.quotas

    def read_stored(self, stored: StoredQuotas) -> Result:
        """Take quotas that were read anew; what is staged or refused stays."""
        return self.read(QuotaTable.of(stored, self._keys))

    def _add_rows(self, targets: Sequence[QuotaTarget]) -> None:
        self._table, self._judged = self._table.with_rows(targets), None

    def add(self, entity: Entity) -> int:
        """A row for an entity, on top; the position of the one that it has already, where it does."""
        with self._lock:
            self._show_targets([(entity, ENTITY)])
            row = self._table.rows_of([str(entity)])[str(entity)]
            if row not in self._order:
                self.arrangement = Arrangement()
                self._order = self._arranged(self.arrangement)
            position = int(np.flatnonzero(self._order == row)[0])
        self._changed()
        return position

    # -- rows

    def _cells(self, rows: np.ndarray, names: Sequence[str]) -> Iterator[Sequence[str | QuotaCell]]:
        entities = [*map(Entity.parse, names)]
        stored = self._table.values_of([(entity, key) for entity in entities for key in self._keys])
        limits, states, peaks = self._limits(entities), self._shown_states(), self.stored.peaks
        yield names
        for key in self._keys:
            targets = [(entity, key) for entity in entities]
            yield [QuotaCell(*target, stored[target], states.get(target), limits, peaks) for target in targets]

    def _indented(self, rows: np.ndarray, columns: Sequence[Sequence[str | QuotaCell]]) -> list[str]:
        """For a client-id of a user whose own row stands above it: the client-id alone."""
        entities = [cell.entity for cell in columns[1] if not isinstance(cell, str)]
        owners = [str(Entity(entity.parts[:1])) for entity in entities]  # of a client-id of a user: the user
        places, indented = self._table.rows_of(owners), [""] * len(entities)
        for n, (entity, owner) in enumerate(zip(entities, owners, strict=True)):
            if len(entity.parts) < 2:
                continue
            is_next = str(entities[n - 1]) == owner or bool(indented[n - 1] and owners[n - 1] == owner)
            if is_next if n else places.get(owner, rows[0]) < rows[0] and places[owner] in self._order:
                indented[n] = str(Entity(entity.parts[1:]))
        return indented

    # -- cells

    def _limits(self, entities: Iterable[Entity]) -> dict[QuotaTarget, float]:
        """The quotas that may bind clients of these entities, staged ones included."""
        candidates = {Entity.of({"ip": DEFAULT}), *entities}
        for entity in [*candidates]:
            if entity.level in LEVELS_BY_NAME:
                user, client_id = client_of(entity)
                reached = (level for level in LEVELS if reaches(level, user, client_id))
                candidates |= {entity_at(level, user or "", client_id or "") for level in reached}
        limits = self._table.values_of([(entity, key) for entity in candidates for key in self._table.values])
        staged = {target: edit.text for target, edit in self._staged().items() if target[0] in candidates}
        limits |= {target: None if text is None else float(text) for target, text in staged.items()}
        return {target: value for target, value in limits.items() if value is not None}

    def _stored_cells(self, targets: Sequence[QuotaTarget]) -> Iterator[QuotaCell]:
        return (QuotaCell(*target, value) for target, value in self._table.values_of(targets).items())

    def _targets(self, cells: Sequence[CellText]) -> list[QuotaTarget]:
        entities = {name: Entity.parse(name) for name in {cell.key for cell in cells}}
        return [(entities[cell.key], cell.column) for cell in cells]

    def _observed_state(self, targets: Collection[QuotaTarget]) -> ObservedState:
        state = ObservedState(quotas=self.stored.quotas, brokers=self.stored.brokers)
        values = self._table.values_of(targets).items()
        state.values |= {target: ObservedValue(text_of(value)) for target, value in values if value is not None}
        return state


def _quota_columns(keys: Iterable[str], used: Collection[str]) -> Iterator[Column]:
    yield Column(ENTITY, "who", NAME)
    for key in keys:
        hint = f"{key}, {spec.unit}" if (spec := find(key)) else key
        yield Column(key, HEADS.get(key, key), NUMBER, is_editable=True, hint=hint, is_rare=key not in used)
