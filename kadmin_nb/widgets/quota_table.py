"""QUOTAS as a spreadsheet shows them: a row an entity, a column a quota key. Arrow and numpy, for a million rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.changes import Edit
from ..model.entity import Entity
from ..model.levels import LEVEL_NAMES, LEVELS_BY_NAME
from ..model.quota_keys import QUOTA_KEYS, readable
from ..resolution.rules import Stored
from ..resolution.shadows import COMES_BEFORE, shadowed_by, shadowers
from .row_filter import matching
from .sheet import Arrangement

NAMES = ("entity", "level", "user", "client_id", "ip")


@dataclass(frozen=True)
class StoredQuotas:
    """All QUOTAS of a cluster, those of them that are to be shown, and the number of its brokers."""

    quotas: pa.Table
    shown: pa.Table
    brokers: int = 1

    @classmethod
    def of(cls, quotas: pa.Table) -> StoredQuotas:
        """All of them, shown."""
        return cls(quotas, quotas)


@dataclass(frozen=True)
class EntityIndex:
    """The rows of entities: sorted names are searched by halves; those that were added stand on top of them.

    `known` are the places of names that were looked for before: an action asks several times for the same ones.
    """

    names: pa.Array
    order: np.ndarray | None
    on_top: tuple[str, ...] = ()
    known: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, names: pa.ChunkedArray) -> EntityIndex:
        """The index of these names, which brokers sort; others are sorted here, once."""
        texts = names.combine_chunks()
        is_sorted = pc.all(pc.less_equal(texts[:-1], texts[1:])).as_py() is not False
        if is_sorted:
            return cls(texts, None)
        order = pc.sort_indices(texts)
        return cls(texts.take(order), order.to_numpy())

    def rows_of(self, entities: Collection[str]) -> dict[str, int]:
        """The rows of those of the entities that have one."""
        places = {name: row for row, name in enumerate(self.on_top)}
        rows = {name: places[name] if name in places else self._below(name) for name in entities}
        return {name: row for name, row in rows.items() if row is not None}

    def _below(self, name: str) -> int | None:
        if name not in self.known:
            self.known[name] = self._place(name)
        place = self.known[name]
        return None if place is None else len(self.on_top) + place

    def _place(self, name: str) -> int | None:
        place = bisect_left(range(len(self.names)), name, key=lambda at: self.names[at].as_py())
        if place == len(self.names) or self.names[place].as_py() != name:
            return None
        return place if self.order is None else int(self.order[place])


@dataclass(frozen=True)
class QuotaTable:
    """Entities in their order with `NAMES` as texts, and for each key the values, NaN where none is set."""

    entities: pa.Table
    values: dict[str, np.ndarray]
    index: EntityIndex

    @classmethod
    def of(cls, quotas: pa.Table, keys: Collection[str]) -> QuotaTable:
        """The wide form of QUOTAS, with these keys."""
        row_of_quota = _rows(quotas["entity"])
        rows, names = int(row_of_quota.max(initial=-1)) + 1, quotas.select(NAMES)
        if rows < quotas.num_rows:
            names = names.take(pa.array(np.unique(row_of_quota, return_index=True)[1]))
        texts = pa.table({name: names[name].cast(pa.string()) for name in NAMES})
        return cls(texts, _values_by_key(quotas, row_of_quota, rows, keys), EntityIndex.of(texts["entity"]))

    def with_rows(self, entities: Sequence[Entity]) -> QuotaTable:
        """The same with rows without quotas above it."""
        rows = [{"level": entity.level, **entity.columns()} for entity in entities]
        above = pa.Table.from_pylist(rows, schema=self.entities.schema)
        empty = np.full(len(rows), np.nan)
        values = {key: np.concatenate([empty, column]) for key, column in self.values.items()}
        index = replace(self.index, on_top=(*map(str, entities), *self.index.on_top))
        return QuotaTable(pa.concat_tables([above, self.entities]), values, index)

    def filtered(self, is_kept: np.ndarray) -> QuotaTable:
        """The rows that are flagged."""
        values = {key: column[is_kept] for key, column in self.values.items()}
        entities, on_top = self.entities.filter(pa.array(is_kept)), self.index.on_top
        if is_kept[len(on_top) :].all():
            index = replace(self.index, on_top=tuple(compress(on_top, is_kept)))
        else:
            index = EntityIndex.of(entities["entity"])
        return QuotaTable(entities, values, index)

    def __len__(self) -> int:
        return int(self.entities.num_rows)

    def rows_of(self, entities: Collection[str]) -> dict[str, int]:
        """The rows of those of the entities that have one."""
        return self.index.rows_of(entities)


def keys_of(quotas: pa.Table) -> list[str]:
    """Kafka's keys, then those that only this cluster has."""
    own_keys = [key.name for key in QUOTA_KEYS]
    return [*own_keys, *sorted({*pc.unique(quotas["key"].cast(pa.string())).to_pylist()} - {*own_keys})]


def _rows(entities: pa.ChunkedArray) -> np.ndarray:
    """The row of each quota: a new one where the entity is another, of entities in any order where it is new."""
    texts = entities.combine_chunks()
    before, after = texts[:-1], texts[1:]
    if not pc.all(pc.less_equal(before, after)).as_py():
        return np.asarray(texts.dictionary_encode().indices)
    is_new = np.asarray(pc.not_equal(before, after), dtype=np.int64)
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


def differences(before: pa.Table, after: pa.Table) -> str:
    """The differences of QUOTAS from QUOTAS: `1 changed, 2 new, 1 gone`, the first of them by name."""
    old_names, new_names = _identities(before), _identities(after)
    row_before = pc.index_in(new_names, value_set=old_names)
    is_new = pc.is_null(row_before).to_numpy(zero_copy_only=False)
    old_values = before["value"].to_numpy()[pc.fill_null(row_before, 0).to_numpy()] if len(before) else 0.0
    is_changed = ~is_new & (after["value"].to_numpy() != old_values)
    is_gone = pc.invert(pc.is_in(old_names, value_set=new_names)).to_numpy(zero_copy_only=False)
    kinds = (("changed", after, is_changed), ("new", after, is_new), ("gone", before, is_gone))
    parts = [f"{flags.sum():,} {word} ({_first(table, flags)})" for word, table, flags in kinds if flags.any()]
    return ", ".join(parts)


def _identities(quotas: pa.Table) -> pa.Array:
    joined = pc.binary_join_element_wise(quotas["entity"], quotas["key"].cast(pa.string()), "\n")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _first(quotas: pa.Table, flags: np.ndarray) -> str:
    row = quotas.slice(int(np.argmax(flags)), 1).to_pylist()[0]
    more = ", …" if flags.sum() > 1 else ""
    return f"{row['entity']} {row['key']} {readable(row['key'], row['value'])}{more}"


def shadowers_of(
    table: QuotaTable, entities: Sequence[Entity], overlay: Mapping[tuple[Entity, str], object]
) -> list[str]:
    """The entity that shadows each of these, `user=<default>`, with the keys where it is not all that are set."""
    candidates = {other for entity in entities for other in shadowers(entity)}
    if not candidates:
        return [""] * len(entities)
    stored = _limits(table, {*candidates, *entities}, overlay)
    keys_of: dict[Entity, list[str]] = {}
    for entity, key in stored:
        keys_of.setdefault(entity, []).append(key)
    return [_shadowed_text(stored, entity, keys_of.get(entity, [])) for entity in entities]


def _limits(table: QuotaTable, entities: set[Entity], overlay: Mapping[tuple[Entity, str], object]) -> Stored:
    """The quotas of these entities, staged edits included."""
    rows = table.rows_of({str(entity) for entity in entities})
    limits = {
        (entity, key): float(values[rows[str(entity)]])
        for key, values in table.values.items()
        for entity in entities
        if str(entity) in rows and not np.isnan(values[rows[str(entity)]])
    }
    for (entity, key), edit in overlay.items():
        if entity in entities and isinstance(edit, Edit):
            limits.pop((entity, key), None)
            if edit.text is not None:
                limits[entity, key] = float(edit.text)
    return limits


def _shadowed_text(stored: Stored, entity: Entity, keys: Sequence[str]) -> str:
    by_key = {key: other for key in keys if (other := shadowed_by(stored, entity, key)) is not None}
    if not by_key:
        return ""
    if len(by_key) == len(keys) and len({*by_key.values()}) == 1:
        return str(by_key[keys[0]])
    return ", ".join(f"{other} ({key})" for key, other in by_key.items())


def shadowed_rows(table: QuotaTable) -> np.ndarray:
    """A flag for each row of which some stored quota can never apply."""
    levels = table.entities["level"].to_numpy()
    client_ids = table.entities["client_id"].to_numpy()
    shadowed = np.zeros(len(table), dtype=bool)
    for values in table.values.values():
        is_set = ~np.isnan(values)
        for level, before in COMES_BEFORE.items():
            mine = is_set & (levels == level)
            for other in before if mine.any() else ():
                shadowed |= mine & _covered(client_ids, is_set & (levels == other), LEVELS_BY_NAME[other].client_id)
    return shadowed


def _covered(client_ids: np.ndarray, others: np.ndarray, client_id: str | None) -> np.ndarray | bool:
    """The rows whose clients those others bind: of a named client-id, the rows of that name; else all."""
    if client_id != "name":
        return bool(others.any())
    names = pa.array(client_ids[others], pa.string())
    return np.asarray(pc.is_in(pa.array(client_ids, pa.string()), names))


ENTITY, LEVEL = "entity", "level"

Values = Callable[[str], np.ndarray]
"""The values of a quota key by row, staged ones included."""


class QuotaRows:
    """Rows of a table of all quotas; `order` has the numbers of those that are shown, in their order."""

    def __init__(self, stored: StoredQuotas, keys: Collection[str]) -> None:
        self.table = QuotaTable.of(stored.quotas, keys)
        self._is_chosen = _chosen_rows(self.table, stored)
        self.order = np.flatnonzero(self._is_chosen)

    def __len__(self) -> int:
        return len(self.order)

    def at(self, first: int, count: int) -> np.ndarray:
        """The numbers of the rows at these positions."""
        return self.order[max(first, 0) : max(first, 0) + count]

    def names(self, rows: np.ndarray) -> list[str]:
        """The entities of these rows."""
        return list(self.table.entities[ENTITY].take(pa.array(rows)).to_pylist())

    def chosen(self, names: Collection[str] | None = None) -> set[str]:
        """Those of these entities that have a row here, filtered out or not; all of them unless said."""
        if names is None:
            return {*self.names(np.flatnonzero(self._is_chosen))}
        return {name for name, row in self.table.rows_of(names).items() if self._is_chosen[row]}

    def position(self, entity: Entity) -> int | None:
        """The position of an entity; None where it is filtered out, or has no row."""
        rows = self.table.rows_of([str(entity)])
        places = [place for row in rows.values() for place in np.flatnonzero(self.order == row).tolist()]
        return places[0] if places else None

    def add(self, entities: Collection[Entity]) -> None:
        """Rows on top for those entities that have none."""
        known = self.table.rows_of([str(entity) for entity in entities])
        hidden = [row for row in known.values() if not self._is_chosen[row]]
        self._is_chosen[hidden] = True
        self.order = np.concatenate([np.array(hidden, dtype=np.int64), self.order])
        if new := [entity for entity in dict.fromkeys(entities) if str(entity) not in known]:
            self.table = self.table.with_rows(new)
            self._is_chosen = np.concatenate([np.ones(len(new), dtype=bool), self._is_chosen])
            self.order = np.concatenate([np.arange(len(new)), self.order + len(new)])

    def remove_empty(self, entities: Collection[Entity]) -> None:
        """Take the rows of these entities out, those that have quotas apart."""
        rows = [*self.table.rows_of([str(entity) for entity in entities]).values()]
        empty = [row for row in rows if all(np.isnan(column[row]) for column in self.table.values.values())]
        if not empty:
            return
        is_kept = np.ones(len(self.table), dtype=bool)
        is_kept[empty] = False
        self.table, self._is_chosen = self.table.filtered(is_kept), self._is_chosen[is_kept]
        self.order = (np.cumsum(is_kept) - 1)[self.order[is_kept[self.order]]]

    def arrange(self, arrangement: Arrangement, is_shown: np.ndarray, values: Values) -> None:
        """Sort and filter; `is_shown` is a flag for each row of the table."""
        flags = matching(self.table.entities, arrangement.words) & is_shown & self._is_chosen
        rows = np.flatnonzero(flags)
        self.order = rows if arrangement.column is None else rows[self._sorted(rows, arrangement, values)]

    def _sorted(self, rows: np.ndarray, arrangement: Arrangement, values: Values) -> np.ndarray:
        if arrangement.column in self.table.values:
            numbers = values(str(arrangement.column))[rows]
            return np.argsort(-numbers if arrangement.descending else numbers, kind="stable")
        if arrangement.column not in (ENTITY, LEVEL):
            raise UsageError(f"rows cannot be sorted by {arrangement.column}")
        texts = self.table.entities[ENTITY] if arrangement.column == ENTITY else self._level_ranks()
        order = "descending" if arrangement.descending else "ascending"
        return np.asarray(pc.array_sort_indices(texts.take(pa.array(rows)), order=order))

    def _level_ranks(self) -> pa.Array:
        return pc.index_in(self.table.entities[LEVEL], pa.array(LEVEL_NAMES)).combine_chunks()


def _chosen_rows(table: QuotaTable, stored: StoredQuotas) -> np.ndarray:
    """A flag for each row that is to be shown; mostly all are."""
    if stored.shown.num_rows == stored.quotas.num_rows:
        return np.ones(len(table), dtype=bool)
    shown = pc.is_in(table.entities[ENTITY], pc.unique(stored.shown["entity"]))
    return np.array(shown.to_numpy(zero_copy_only=False))
