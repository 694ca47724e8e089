"""The rows of a quota sheet: those of the cluster, and those that were added, as they are sorted and filtered now."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..model.entity import Entity
from ..model.levels import LEVEL_NAMES
from .quota_table import QuotaTable, StoredQuotas
from .row_filter import matching
from .sheet import Arrangement

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
