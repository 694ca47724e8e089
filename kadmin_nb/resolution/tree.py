"""The hierarchy of quotas as stored: who hangs below whom, and what can never apply."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..frames import schemas
from ..model.findings import Row
from ..model.grammar import DEFAULT, format_word
from ..model.levels import LEVELS_BY_NAME
from . import input_columns
from .input_columns import QUOTAS_LABEL
from .rules import entity_at, stored_of
from .shadows import COMES_BEFORE, shadowed_by

QUOTA_COLUMNS = ("entity", "level", "user", "client_id", "key", "value")
ORDER = {
    "USER": (0, 0),
    "CLIENT_OF_USER": (0, 1),
    "DEFAULT_CLIENT_OF_USER": (0, 2),
    "DEFAULT_USER": (1, 0),
    "CLIENT_OF_DEFAULT_USER": (1, 1),
    "DEFAULT_CLIENT_OF_DEFAULT_USER": (1, 2),
    "CLIENT": (2, 0),
    "DEFAULT_CLIENT": (3, 0),
    "IP": (4, 0),
    "DEFAULT_IP": (5, 0),
    "OTHER": (6, 0),
}
"""Each level's group of roots, and its place below a root."""
_SHADOWY = {*COMES_BEFORE, *(level for levels in COMES_BEFORE.values() for level in levels)}


def tree(quotas: Any) -> pa.Table:
    """The hierarchy as TREE: every stored quota, children after their parents.

    Parameters
    ----------
    quotas
        QUOTAS of one cluster, as anything with `__arrow_c_stream__`.

    Returns
    -------
    pyarrow.Table
        `entity`; `parent`, `user=alice` for `user=alice client-id=app`, null for a root; `level`; `key` and
        `value` in the key's unit, both null where a parent has no quota of its own; `shadowed_by`, the entity
        that always wins over this quota, null while it can bind anyone (a client without a client-id counts).

    Raises
    ------
    UsageError
        Not a frame, a column is missing, or it is of several clusters.
    """
    table = input_columns.read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
    if input_columns.CLUSTER in table.column_names and len(table.column(input_columns.CLUSTER).unique()) > 1:
        raise UsageError("a tree shows one cluster", hint="Filter the quotas by cluster_id first.")
    rows: list[Row] = table.select(QUOTA_COLUMNS).to_pylist()
    stored = stored_of(row for row in rows if row["level"] in _SHADOWY)
    for row in rows:
        group, depth = ORDER.get(row["level"], ORDER["OTHER"])
        row["parent"] = format_word("user", row["user"] if group == 0 else DEFAULT) if depth else None
        if row["level"] in COMES_BEFORE:
            other = shadowed_by(stored, entity_at(LEVELS_BY_NAME[row["level"]], "", row["client_id"] or ""), row["key"])
            row["shadowed_by"] = None if other is None else str(other)
    present = {row["entity"] for row in rows}
    absent = {row["parent"]: row["user"] for row in rows if row["parent"] and row["parent"] not in present}
    rows += [
        {"entity": parent, "user": user, "level": "DEFAULT_USER" if user is None else "USER"}
        for parent, user in absent.items()  # those that have no quota of their own
    ]
    answer = schemas.table(schemas.TREE, sorted(rows, key=_sort_key))
    return schemas.marked(answer, input_columns.stamp(table))


def _sort_key(row: Row) -> tuple[object, ...]:
    """Roots by kind and name, their children below, named ones first, then keys."""
    group, depth = ORDER.get(row["level"], ORDER["OTHER"])
    root = (row["user"] or "") if group == 0 else row["entity"] if group > 1 else ""
    return group, root, depth, row.get("client_id") or "", row.get("key") or ""
