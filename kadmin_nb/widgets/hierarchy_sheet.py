"""The hierarchy of quotas as rows that open and close: levels, the entities of each, and what hangs below them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames.blocks import BRANCH, NUMBER
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVEL_NAMES, LEVELS
from ..resolution.rules import entity_at
from ..resolution.tree import ORDER
from .quota_sheet import cell_text
from .quota_table import QuotaTable, keys_of, shadowers_of
from .sheet import CHOSEN, SHADOWED, Branch, Column, Mark, Page, ReadOnlySheet

HEADINGS = (
    "users",
    "the default user",
    "client-ids of any user",
    "the default client-id",
    "ips",
    "the default ip",
    "other",
)
"""The groups of `resolution.tree.ORDER`, in its order."""

ALL_OPEN = 60
"""Entities up to which everything is open at first."""


class HierarchySheet(ReadOnlySheet):
    """Quotas as a tree; nothing in it can be edited."""

    label = "Hierarchy of quotas"
    in_order = "a hierarchy has an order of its own"
    not_edited = "the hierarchy cannot be edited"
    edit_hint = "kquota edit edits quotas."

    def __init__(self, quotas: pa.Table) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._keys = tuple(
            key for key in keys_of(quotas) if pc.any(pc.equal(quotas["key"].cast(pa.string()), key)).as_py()
        )
        self._table = _with_absent_parents(QuotaTable.of(quotas, self._keys))
        self._group, self._depth = _tree_places(self._table)
        self._rows = _tree_order(self._table, self._group, self._depth)
        self._parents = {*self._with_children().tolist()}
        is_small = len(self._table) <= ALL_OPEN
        self._closed: set[str] = set() if is_small else {*self._names(np.array([*self._parents], dtype=np.int64))}
        self.columns = (
            Column("entity", "who", BRANCH, is_sortable=False),
            *(Column(key, key, NUMBER, is_sortable=False) for key in self._keys),
            Column("shadowed_by", "shadowed by", is_sortable=False),
        )
        self._visible = self._shown()
        self._chosen: str | None = None

    def __len__(self) -> int:
        return len(self._visible)

    def keys(self, first: int, count: int) -> list[str]:
        with self._lock:
            return [self._key(int(node)) for node in self._visible[first : first + count]]

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            nodes = [int(node) for node in self._visible[first : first + count]]
            rows = [node for node in nodes if node >= 0]
            entities = [Entity.parse(name) for name in self._names(np.array(rows, dtype=np.int64))]
            shadowers = dict(zip(rows, shadowers_of(self._table, entities, {}), strict=True))
            columns = [[self._name(node) for node in nodes], *(self._texts(key, nodes) for key in self._keys)]
            columns.append([shadowers.get(node, "") for node in nodes])
            marks = [
                Mark(n, column, SHADOWED, f"can never apply: {shadowers[node]} always wins")
                for n, node in enumerate(nodes)
                for column in range(1, len(self._keys) + 1)
                if shadowers.get(node) and columns[column][n]
            ]
            keys = [*map(self._key, nodes)]
            marks += [Mark(keys.index(self._chosen), 0, CHOSEN, "the client")] if self._chosen in keys else []
            return Page(first, keys, columns, marks, branches=[*map(self._branch, nodes)])

    def choose(self, user: str, client_id: str) -> bool:
        """Mark the row of a client, the most specific that there is, and open what it is in; False if it is marked."""
        with self._lock:
            chosen = self._row_of(user, client_id)
            if chosen == self._chosen:
                return False
            self._chosen = chosen
            if chosen is not None:
                row, user_part = self._table.rows_of([chosen])[chosen], dict(Entity.parse(chosen).parts).get("user")
                parent = "" if user_part is None else str(Entity.of({"user": user_part}))
                self._closed -= {HEADINGS[self._group[row]], parent}
                self._visible = self._shown()
        self._listeners.tell()
        return True

    @property
    def position(self) -> int | None:
        """The position of the row that is marked; None where none is, or it is below a closed one."""
        with self._lock:
            rows = {} if self._chosen is None else self._table.rows_of([self._chosen])
            places = [place for row in rows.values() for place in np.flatnonzero(self._visible == row).tolist()]
            return places[0] if places else None

    def toggle(self, key: str) -> None:
        """Open a row, or close it.

        Raises
        ------
        UsageError
            There is no such row.
        """
        with self._lock:
            if key not in HEADINGS and not self._table.rows_of([key]):
                raise UsageError(f"there is no row {key}")
            self._closed ^= {key}
            self._visible = self._shown()
        self._listeners.tell()

    def _row_of(self, user: str, client_id: str) -> str | None:
        levels = [level for level in LEVELS if client_id or not level.client_id] if user else []
        names = [str(entity_at(level, user, client_id)) for level in levels]
        there = self._table.rows_of(names)
        return next((name for name in names if name in there), None)

    # -- nodes: a row of the table, or below zero the heading of a group

    def _shown(self) -> np.ndarray:
        """The nodes that are not below a closed one."""
        closed = self._table.rows_of(self._closed)
        is_closed = np.zeros(len(self._table), dtype=bool)
        is_closed[[*closed.values()]] = True
        group, depth = self._group[self._rows], self._depth[self._rows]
        roots = np.maximum.accumulate(np.where(depth == 0, np.arange(len(self._rows)), 0))
        hidden = (depth > 0) & is_closed[self._rows][roots] if len(self._rows) else depth > 0
        parts: list[np.ndarray] = []
        for number in np.unique(group).tolist():
            rows = self._rows[(group == number) & ~hidden]
            parts += [np.array([-1 - number]), *([] if HEADINGS[number] in self._closed else [rows])]
        return np.asarray(np.concatenate([np.array([], dtype=np.int64), *parts]))

    def _with_children(self) -> np.ndarray:
        """The rows that something hangs below."""
        depth = self._depth[self._rows]
        has_below = np.append(depth[1:], 0) > 0
        return np.asarray(self._rows[(depth == 0) & has_below])

    def _names(self, rows: np.ndarray) -> list[str]:
        return list(self._table.entities["entity"].take(pa.array(rows)).to_pylist())

    def _key(self, node: int) -> str:
        return HEADINGS[-1 - node] if node < 0 else self._names(np.array([node]))[0]

    def _name(self, node: int) -> str:
        if node >= 0:
            return self._key(node)
        return f"{HEADINGS[-1 - node]} ({np.count_nonzero(self._group == -1 - node):,})"

    def _texts(self, key: str, nodes: Sequence[int]) -> list[str]:
        values = self._table.values[key]
        return ["" if node < 0 else cell_text(key, None, float(values[node])) for node in nodes]

    def _branch(self, node: int) -> Branch:
        if node < 0:
            return Branch(1, HEADINGS[-1 - node] not in self._closed)
        depth = int(self._depth[node])
        has_below = node in self._parents
        return Branch(2 + (depth > 0), self._key(node) not in self._closed if has_below else None)


def _with_absent_parents(table: QuotaTable) -> QuotaTable:
    """The table with a row for each user that only has quotas of client-ids."""
    levels, users = table.entities["level"], table.entities["user"]

    def named(*chosen: str) -> set[str | None]:
        return {*users.filter(pc.is_in(levels, pa.array(chosen))).to_pylist()}

    absent = named("CLIENT_OF_USER", "DEFAULT_CLIENT_OF_USER") - named("USER")
    entities = [Entity.of({"user": user}) for user in sorted(filter(None, absent))]
    if named("CLIENT_OF_DEFAULT_USER", "DEFAULT_CLIENT_OF_DEFAULT_USER") and not named("DEFAULT_USER"):
        entities.append(Entity.of({"user": DEFAULT}))
    return table.with_rows(entities) if entities else table


def _tree_places(table: QuotaTable) -> tuple[np.ndarray, np.ndarray]:
    """The group of each row, and its depth there."""
    places = np.array([ORDER[level] for level in LEVEL_NAMES])
    ranks = pc.index_in(table.entities["level"], pa.array(LEVEL_NAMES)).to_numpy(zero_copy_only=False)
    return places[ranks, 0], places[ranks, 1]


def _tree_order(table: QuotaTable, group: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """The rows with children after their parents: by group, user, depth and name."""
    columns = {"group": pa.array(group), "user": table.entities["user"].combine_chunks(), "depth": pa.array(depth)}
    names = pa.table({**columns, "entity": table.entities["entity"].combine_chunks()})
    order = [(name, "ascending") for name in names.column_names]
    return np.asarray(pc.sort_indices(names, sort_keys=order)).astype(np.int64)
