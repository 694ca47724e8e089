"""QUOTAS as a spreadsheet shows them: a row an entity, a column a quota key. Arrow and numpy, for a million rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..model.entity import Entity
from ..model.quota_keys import QUOTA_KEYS

NAMES = ("entity", "level", "user", "client_id", "ip")


@dataclass(frozen=True)
class QuotaTable:
    """Entities in their order with `NAMES` as texts, and for each key the values, NaN where none is set."""

    entities: pa.Table
    values: dict[str, np.ndarray]

    @classmethod
    def of(cls, quotas: pa.Table) -> QuotaTable:
        """The wide form of QUOTAS."""
        encoded = quotas["entity"].combine_chunks().dictionary_encode()
        row_of_quota = encoded.indices.to_numpy(zero_copy_only=False)
        _, first_quotas = np.unique(row_of_quota, return_index=True)
        stored = pa.table({name: quotas[name].cast(pa.string()) for name in NAMES}).take(pa.array(first_quotas))
        return cls(stored, _values_by_key(quotas, row_of_quota, len(first_quotas)))

    def with_rows(self, entities: Sequence[Entity]) -> QuotaTable:
        """The same with rows without quotas above it."""
        rows = [{"level": entity.level, **entity.columns()} for entity in entities]
        above = pa.Table.from_pylist(rows, schema=self.entities.schema)
        empty = np.full(len(rows), np.nan)
        values = {key: np.concatenate([empty, column]) for key, column in self.values.items()}
        return QuotaTable(pa.concat_tables([above, self.entities]), values)

    def __len__(self) -> int:
        return int(self.entities.num_rows)

    def position(self, entity: str) -> int | None:
        """The row of an entity; None where it has none."""
        found = pc.index(self.entities["entity"], entity).as_py()
        return None if found < 0 else int(found)


def _values_by_key(quotas: pa.Table, row_of_quota: np.ndarray, rows: int) -> dict[str, np.ndarray]:
    """The values of each key by row: Kafka's keys, then those that only this cluster has."""
    key_of_quota, amounts = quotas["key"].cast(pa.string()), quotas["value"].to_numpy()
    strange = sorted({*pc.unique(key_of_quota).to_pylist()} - {key.name for key in QUOTA_KEYS})
    values = {name: np.full(rows, np.nan) for name in (*(key.name for key in QUOTA_KEYS), *strange)}
    for name, column in values.items():
        is_of_key = pc.equal(key_of_quota, name).to_numpy(zero_copy_only=False)
        column[row_of_quota[is_of_key]] = amounts[is_of_key]
    return values
