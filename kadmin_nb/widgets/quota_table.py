"""QUOTAS as a spreadsheet shows them: a row per entity, a column per quota key. Arrow and numpy, for a million rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.entity import Entity
from ..model.grammar import Word
from ..model.levels import DEFAULT_IP, IP, LEVELS, LEVELS_BY_NAME
from ..model.quota_keys import QUOTA_KEYS
from ..resolution.shadows import COMES_FIRST
from .staged_sheet import fits_choices

NAMES = ("entity", "level", "user", "client_id", "ip")

QuotaTarget = tuple[Entity, str]
"""An entity and a quota key: a cell."""

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
class QuotaTable:
    """Entities in their order with `NAMES` as texts, and for each key the values, NaN where none is set.

    Names are searched by halves in `sorted_names`, whose rows are in `order` where brokers have not sorted them;
    `places` are the rows that were looked for before, as an action asks several times for the same ones.
    """

    stored: StoredQuotas
    entities: pa.Table
    values: dict[str, np.ndarray]
    sorted_names: pa.Array
    order: np.ndarray | None
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
        texts, order = entities["entity"].combine_chunks(), None
        if pc.all(pc.less_equal(texts[:-1], texts[1:])).as_py() is False:
            order = pc.sort_indices(texts)
            texts, order = texts.take(order), order.to_numpy()
        return cls(stored, entities, _values_by_key(quotas, row_of_quota, rows, keys), texts, order)

    @property
    def names(self) -> pa.ChunkedArray:
        """The name of each row."""
        return self.entities["entity"]

    @property
    def is_chosen(self) -> np.ndarray:
        """A flag for each row that is to be shown; the others are there because they count for what applies."""
        shown, quotas = self.stored.shown, self.stored.quotas
        if shown.num_rows == quotas.num_rows:
            return np.ones(self.entities.num_rows, dtype=bool)
        return np.array(pc.is_in(self.names, pc.unique(shown["entity"])).to_numpy())

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
            self.places[name] = (place if self.order is None else int(self.order[place])) if is_there else None
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

    def by_name(self) -> pa.Table:
        """What is stored, by entity and key, with a number and how it is read."""
        quotas = self.stored.quotas
        names = pc.binary_join_element_wise(quotas["entity"], quotas["key"].cast(pa.string()), " ")
        return pa.table({"name": names, "value": quotas["value"], "key": quotas["key"].cast(pa.string())})

    def fits(self, word: Word) -> pa.Array:
        """A flag for each entity that a word fits."""
        if word.name not in _COLUMNS:
            raise UsageError(f"{word.name} is not a type of entity", hint=_HINT)
        part = _COLUMNS[word.name]
        is_default = pc.is_in(self.entities["level"], _levels(part, "default"))
        is_any = pc.is_in(self.entities["level"], _levels(part, "default", "name"))
        return fits_choices(self.entities[part], word, is_default, is_any)

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


_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_HINT = f"One of {', '.join(f'{kind}=…' for kind in _COLUMNS)}, {'user~=team-*'}, or any part of who."


def _levels(part: str, *kinds: str) -> pa.Array:
    """The levels whose entities have a part that is a name, the default, or either."""
    of_ip = {"name": IP, "default": DEFAULT_IP}
    of_clients = [level.name for level in LEVELS if getattr(level, part, None) in kinds]
    return pa.array([of_ip[kind] for kind in kinds] if part == "ip" else of_clients, pa.string())


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
