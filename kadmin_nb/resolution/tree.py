"""The hierarchy of quotas as stored: who hangs below whom, and what can never bind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from ..errors import UsageError, printable
from ..frames import schemas
from ..model.grammar import DEFAULT, format_word
from ..model.quota_keys import readable
from ..model.rows import Row
from . import input_columns
from .input_columns import QUOTAS_LABEL
from .rules import entity_at, stored_of
from .shadows import _LEVEL_OF_NAME, COMES_BEFORE, shadowed_by

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
    _check_one_cluster(table)
    rows: list[Row] = table.select(QUOTA_COLUMNS).to_pylist()
    stored = stored_of(row for row in rows if row["level"] in _SHADOWY)
    for row in rows:
        row["parent"] = _parent(row)
        if row["level"] in COMES_BEFORE:
            other = shadowed_by(stored, entity_at(_LEVEL_OF_NAME[row["level"]], "", row["client_id"] or ""), row["key"])
            row["shadowed_by"] = None if other is None else str(other)
    answer = schemas.table(schemas.TREE, sorted([*rows, *_absent_parents(rows)], key=_sort_key))
    return answer.replace_schema_metadata(input_columns.stamp(table))


def _check_one_cluster(table: pa.Table) -> None:
    if input_columns.CLUSTER in table.column_names and len(table.column(input_columns.CLUSTER).unique()) > 1:
        raise UsageError("a tree is of one cluster", hint="Filter the quotas by cluster_id first.")


def _parent(row: Row) -> str | None:
    """The entity one step up, as the grammar writes it."""
    group, depth = ORDER.get(row["level"], ORDER["OTHER"])
    if not depth:
        return None
    return format_word("user", row["user"] if group == 0 else DEFAULT)


def _absent_parents(rows: Iterable[Row]) -> Iterator[Row]:
    """A row without key and value for each parent that has no quota of its own."""
    rows = list(rows)
    stored = {row["entity"] for row in rows}
    absent = {row["parent"]: row["user"] for row in rows if row["parent"] and row["parent"] not in stored}
    for entity, user in absent.items():
        yield {"entity": entity, "user": user, "level": "DEFAULT_USER" if user is None else "USER"}


def _sort_key(row: Row) -> tuple[object, ...]:
    """Roots by kind and name, their children below, named ones first, then keys."""
    group, depth = ORDER.get(row["level"], ORDER["OTHER"])
    root = row["user"] if group == 0 else row["entity"] if group > 1 else ""
    return group, root, depth, row.get("client_id") or "", row.get("key") or ""


def lines(tree: pa.Table) -> list[str]:
    """TREE as indented text, an entity a line, safe to print.

    Examples
    --------
    >>> print(*lines(tree(quotas)), sep="\\n")  # doctest: +SKIP
    user=alice  producer_byte_rate 1 MB/s
      client-id=app  producer_byte_rate 5 MB/s
    client-id=app  producer_byte_rate 2 MB/s (never: user=<default> wins)
    """
    entities = [list(rows) for _, rows in groupby(tree.to_pylist(), key=lambda row: row["entity"])]
    there = {rows[0]["entity"] for rows in entities}
    return [_entity_line(rows, rows[0]["parent"] in there) for rows in entities]


def _entity_line(rows: list[Row], is_child: bool) -> str:
    """One entity; below its parent only what it adds to the parent's name."""
    entity, parent = rows[0]["entity"], rows[0]["parent"]
    indent, own_text = ("  ", entity.removeprefix(f"{parent} ")) if is_child else ("", entity)
    quotas_text = ", ".join(_quota_text(row) for row in rows if row["key"] is not None)
    return indent + printable(f"{own_text}  {quotas_text}".rstrip())


def _quota_text(row: Row) -> str:
    never = f" (never: {row['shadowed_by']} wins)" if row["shadowed_by"] else ""
    return f"{row['key']} {readable(row['key'], row['value'])}{never}"
