"""QUOTAS as a spreadsheet shows them: a row per entity, a column per quota key. Arrow and numpy, for a million rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..model.entity import Entity
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import QUOTA_KEYS, readable
from ..resolution.shadows import COMES_FIRST

NAMES = ("entity", "level", "user", "client_id", "ip")


Peaks = Mapping[tuple[str, str | None, str | None], float]
"""The most that a bucket has used on one broker, by key and the user and client-id of the bucket."""


@dataclass(frozen=True)
class StoredQuotas:
    """All QUOTAS of a cluster, those of them that are to be shown, the number of its brokers, and what was used."""

    quotas: pa.Table
    shown: pa.Table
    brokers: int = 1
    peaks: Peaks = field(default_factory=dict)

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
    """Entities in their order with `NAMES` as texts, and for each key the values, NaN where none is set.

    The rows of `is_chosen` may be shown; the others are there because they count for what applies.
    """

    entities: pa.Table
    values: dict[str, np.ndarray]
    index: EntityIndex
    is_chosen: np.ndarray

    @classmethod
    def of(cls, stored: StoredQuotas, keys: Collection[str]) -> QuotaTable:
        """The wide form of QUOTAS, with these keys."""
        quotas = stored.quotas
        row_of_quota = _rows(quotas["entity"])
        rows, names = int(row_of_quota.max(initial=-1)) + 1, quotas.select(NAMES)
        if rows < quotas.num_rows:
            names = names.take(pa.array(np.unique(row_of_quota, return_index=True)[1]))
        texts = pa.table({name: names[name].cast(pa.string()) for name in NAMES})
        is_chosen = np.ones(rows, dtype=bool)
        if stored.shown.num_rows < quotas.num_rows:
            shown = pc.is_in(texts["entity"], pc.unique(stored.shown["entity"]))
            is_chosen = np.array(shown.to_numpy(zero_copy_only=False))
        values = _values_by_key(quotas, row_of_quota, rows, keys)
        return cls(texts, values, EntityIndex.of(texts["entity"]), is_chosen)

    def with_rows(self, entities: Sequence[Entity]) -> QuotaTable:
        """The same with rows without quotas above it."""
        rows = [{"level": entity.level, **entity.columns()} for entity in entities]
        above = pa.Table.from_pylist(rows, schema=self.entities.schema)
        empty = np.full(len(rows), np.nan)
        values = {key: np.concatenate([empty, column]) for key, column in self.values.items()}
        index = replace(self.index, on_top=(*map(str, entities), *self.index.on_top))
        is_chosen = np.concatenate([np.ones(len(rows), dtype=bool), self.is_chosen])
        return QuotaTable(pa.concat_tables([above, self.entities]), values, index, is_chosen)

    def filtered(self, is_kept: np.ndarray) -> QuotaTable:
        """The rows that are flagged."""
        values = {key: column[is_kept] for key, column in self.values.items()}
        entities, on_top = self.entities.filter(pa.array(is_kept)), self.index.on_top
        if is_kept[len(on_top) :].all():
            index = replace(self.index, on_top=tuple(compress(on_top, is_kept)))
        else:
            index = EntityIndex.of(entities["entity"])
        return QuotaTable(entities, values, index, self.is_chosen[is_kept])

    def __len__(self) -> int:
        return int(self.entities.num_rows)

    def rows_of(self, entities: Collection[str]) -> dict[str, int]:
        """The rows of those of the entities that have one."""
        return self.index.rows_of(entities)

    def chosen(self, names: Collection[str]) -> set[str]:
        """Those of these entities that have a row that may be shown."""
        return {name for name, row in self.rows_of(names).items() if self.is_chosen[row]}

    def is_empty(self, row: int) -> bool:
        """True if no quota is stored there."""
        return all(np.isnan(column[row]) for column in self.values.values())

    @cached_property
    def shadowed(self) -> np.ndarray:
        """A flag for each row with a stored quota in whose place another one applies to clients with a client-id."""
        levels = self.entities["level"].combine_chunks().dictionary_encode()
        at_level = {name: np.asarray(levels.indices) == code for code, name in enumerate(levels.dictionary.to_pylist())}
        pairs = [(level, other) for level, before in COMES_FIRST.items() for other in before]
        shadowed = np.zeros(len(self), dtype=bool)
        for level, other in pairs:
            if level in at_level and other in at_level:
                for is_set in (~np.isnan(values) for values in self.values.values()):
                    shadowed |= self._covered(is_set & at_level[level], is_set & at_level[other], other)
        return shadowed

    def _covered(self, mine: np.ndarray, others: np.ndarray, level: str) -> np.ndarray:
        """Those rows whose clients the others bind, all of one level: where it has a name, the rows of that name."""
        parts = {"user": LEVELS_BY_NAME[level].user, "client_id": LEVELS_BY_NAME[level].client_id}
        part = next((part for part, kind in parts.items() if kind == "name"), None)
        if not mine.any() or not others.any():
            return np.zeros(len(self), dtype=bool)
        if part is None:
            return mine
        names = self.entities[part]
        is_named = pc.is_in(names, names.filter(pa.array(others)).combine_chunks())
        covered: np.ndarray = mine & np.asarray(is_named)
        return covered


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
    """The differences of QUOTAS from QUOTAS: `1 changed, 2 new`, the first of each by name."""
    old_names, new_names = _identities(before), _identities(after)
    row_before = pc.index_in(new_names, value_set=old_names)
    is_new = pc.is_null(row_before).to_numpy(zero_copy_only=False)
    old_values = before["value"].to_numpy()[pc.fill_null(row_before, 0).to_numpy()] if len(before) else 0.0
    is_changed = ~is_new & (after["value"].to_numpy() != old_values)
    is_gone = pc.invert(pc.is_in(old_names, value_set=new_names)).to_numpy(zero_copy_only=False)
    kinds = (("changed", after, is_changed), ("new", after, is_new), ("gone", before, is_gone))
    return ", ".join(
        f"{_many(word, flags.sum())} ({_first(table, flags)})" for word, table, flags in kinds if flags.any()
    )


def _many(word: str, count: int) -> str:
    """So many of a kind of differences: `2 changed`, `1 quota no longer exists`."""
    if word != "gone":
        return f"{count:,} {word}"
    return f"{count:,} quotas no longer exist" if count > 1 else "1 quota no longer exists"


def _identities(quotas: pa.Table) -> pa.Array:
    joined = pc.binary_join_element_wise(quotas["entity"], quotas["key"].cast(pa.string()), "\n")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _first(quotas: pa.Table, flags: np.ndarray) -> str:
    row = quotas.slice(int(np.argmax(flags)), 1).to_pylist()[0]
    more = ", …" if flags.sum() > 1 else ""
    return f"{row['entity']} {row['key']} {readable(row['key'], row['value'])}{more}"
