"""The stored form of a history: one table, append-only, of two kinds of rows.

A row of kind `snapshots` says that at `taken_at` a cluster held a content: that of the rows stored under `base`, as
the rows under `delta` change it. It is all that an unchanged snapshot adds. Every one stands alone: two writers at
once, or a snapshot that is recorded late, cannot spoil another.
Rows of kind `quotas` and `configs` are contents and changes of contents, found by their partition, `part`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames import schemas
from ..frames.to_pandas import plain

STATES = "snapshots"
QUOTAS, CONFIGS = "quotas", "configs"
PARTITIONS = ("kind", "part")

TABLE = schemas.HISTORY.schema
STATISTICS = ("cluster_id", "taken_at", "snapshot_id", "frame")
"""The columns by which files are passed over."""

COLUMNS = {
    QUOTAS: ("entity", "level", "user", "client_id", "ip", "key", "quota"),
    CONFIGS: (
        *("resource_type", "resource_name", "key", "value", "source"),
        *("is_sensitive", "is_read_only", "is_default", "type", "synonyms"),
    ),
}
IDENTITY = {QUOTAS: ("key", "entity"), CONFIGS: ("resource_type", "key", "resource_name")}
"""The columns that identify a row; their order is that of `identities`."""

VALUES = {QUOTAS: "quota", CONFIGS: "value"}
"""The column that has a frame's values: those of quotas are numbers, those of configs texts."""

ORDER = {QUOTAS: ("entity", "key"), CONFIGS: ("resource_type", "resource_name", "key")}
SCHEMAS = {QUOTAS: schemas.QUOTAS.schema, CONFIGS: schemas.CONFIGS.schema}


@dataclass(frozen=True)
class State:
    """A row of kind `snapshots`."""

    cluster_id: str
    taken_at: datetime
    snapshot_id: str
    plan_id: str | None
    author: str | None
    frame: str
    content: str
    base: str
    delta: str | None
    rows: int
    base_rows: int
    spent: int
    scopes: str

    @property
    def parts(self) -> list[str]:
        return [self.base, *([self.delta] if self.delta else [])]


_FIELDS = [field.name for field in fields(State)]


def states(table: pa.Table) -> list[State]:
    """The states in a table, oldest first; one that was written twice, by a writer who tried again, is one."""
    rows = sorted(table.select(_FIELDS).to_pylist(), key=lambda row: row["plan_id"] is not None)
    by_snapshot = {(row["snapshot_id"], row["frame"]): State(**row) for row in rows}
    return sorted(by_snapshot.values(), key=lambda state: (state.taken_at, state.snapshot_id))


def state_rows(states: list[State]) -> pa.Table:
    """States as rows of the table; their part is the month."""
    rows = [{**asdict(state), "kind": STATES, "part": f"{state.taken_at:%Y-%m}"} for state in states]
    return pa.Table.from_pylist(rows, schema=TABLE)


def content_rows(rows: pa.Table, state: State, part: str) -> pa.Table:
    """Rows of a content, or of a change of one, as they are stored."""
    constants: Mapping[str, object] = {
        **{name: getattr(state, name) for name in ("cluster_id", "taken_at", "snapshot_id")},
        "kind": state.frame,
        "part": part,
    }
    return pa.table([_column(rows, field, constants) for field in TABLE], schema=TABLE)


def _column(rows: pa.Table, field: pa.Field, constants: Mapping[str, object]) -> pa.ChunkedArray | pa.Array:
    if field.name in rows.column_names:
        return rows[field.name]
    return pa.repeat(pa.scalar(constants.get(field.name), field.type), len(rows))


def kind_of(table: pa.Table) -> str:
    """The kind of a frame, of quotas or of configs.

    Raises
    ------
    UsageError
        Neither; the columns that miss are named.
    """
    kind = CONFIGS if "resource_type" in table.column_names else QUOTAS
    needed = ("resource_type", "resource_name", "key", "value") if kind == CONFIGS else ("entity", "key", "value")
    schemas.require_columns("the rows of quotas or configs", needed, table.column_names)
    return kind


def content_of(table: pa.Table, kind: str) -> pa.Table:
    """A QUOTAS or CONFIGS frame as content: plain columns, sorted, each row once; failed rows are left out.

    Raises
    ------
    Invalid
        Something is in it twice.
    """
    table = plain(table)
    if "error" in table.column_names:
        table = table.filter(pc.is_null(table["error"]))
    stored = pa.table({name: _stored(table, kind, name) for name in COLUMNS[kind]}, schema=content_schema(kind))
    stored = stored.sort_by([(name, "ascending") for name in ORDER[kind]]).combine_chunks()
    _check_unique(stored, kind)
    return stored


def content_schema(kind: str) -> pa.Schema:
    return pa.schema([TABLE.field(name) for name in COLUMNS[kind]])


def _stored(table: pa.Table, kind: str, name: str) -> pa.ChunkedArray | pa.Array:
    source = "value" if name == VALUES[kind] else name
    target_type = TABLE.field(name).type
    if source not in table.column_names:
        return pa.nulls(len(table), target_type)
    column = table[source]
    if name == "synonyms" and not pa.types.is_string(column.type):
        return _as_json(column)
    return column.cast(target_type)


def _as_json(column: pa.ChunkedArray) -> pa.Array:
    """Lists of synonyms as text, which every engine can keep and compare."""
    return pa.array([None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_pylist()], pa.string())


def _check_unique(stored: pa.Table, kind: str) -> None:
    keys = identities(stored, kind)
    if keys.null_count:
        raise Invalid(f"a row of the {kind} does not say what it is set on", hint=f"Needed: {', '.join(ORDER[kind])}.")
    if pc.count_distinct(keys).as_py() == len(keys):
        return
    counts = pc.value_counts(keys)
    row = stored.slice(pc.index(keys, next(c["values"] for c in counts if c["counts"].as_py() > 1)).as_py(), 1)
    whose = " ".join(str(row[name][0]) for name in ORDER[kind])
    raise Invalid(f"{whose} is in the {kind} twice", hint="A snapshot is of one cluster, with one row a key.")


def identities(rows: pa.Table, kind: str) -> pa.Array:
    """A text for each row that no other row has: its parts, each but the last with its length before it."""
    *heads, last = (rows[name].combine_chunks() for name in IDENTITY[kind])
    lengths = [pc.binary_length(head).cast(pa.string()) for head in heads]
    pieces = [piece for pair in zip(lengths, heads, strict=True) for piece in pair]
    names = pc.binary_join_element_wise(*pieces, last, ":")
    return names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names


def frame_of(content: pa.Table, kind: str) -> pa.Table:
    """A content as QUOTAS or CONFIGS again."""
    schema = SCHEMAS[kind]
    return pa.table([_restored_column(content, field, kind) for field in schema], schema=schema)


def _restored_column(content: pa.Table, field: pa.Field, kind: str) -> Any:
    name = VALUES[kind] if field.name == "value" else field.name
    if name not in content.column_names:
        return pa.nulls(len(content), field.type)
    if name == "synonyms":
        return pa.array([None if v is None else json.loads(v) for v in content[name].to_pylist()], field.type)
    return content[name].cast(field.type)


def refuse_other_table(where: str, columns: Sequence[str]) -> None:
    """Refuse a table that holds something else than snapshots.

    Raises
    ------
    UsageError
        A column of a history is missing; the first is named, and what there is.
    """
    missing = [name for name in TABLE.names if name not in columns]
    if missing:
        raise UsageError(f"{where} is not a history: no column {missing[0]}", hint=f"Found: {', '.join(columns)}.")
