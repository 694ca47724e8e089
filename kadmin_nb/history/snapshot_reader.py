"""The snapshot to record: a snapshot, or a SNAPSHOT frame that says of itself what it is."""

from __future__ import annotations

import pyarrow as pa

from ..errors import Invalid, UsageError
from ..frames import schemas
from ..frames.schema_metadata import CLUSTER_ID, TAKEN_AT
from ..frames.snapshots import COMPLETE, ID, SCOPE, SCOPES, Snapshot, snapshot
from ..model.times import moment
from .drift_frames import table_of
from .stored_rows import QUOTAS, SCHEMAS, kind_of

_MARKS = {"cluster_id": CLUSTER_ID, "taken_at": TAKEN_AT, "snapshot_id": ID, "complete": COMPLETE}


def taken_of(source: object) -> Snapshot:
    """The snapshot that was given, itself or as a frame.

    Raises
    ------
    UsageError
        No snapshot, or a frame that does not say whose it is, when it was taken and whether it is complete.
    Invalid
        It is not complete.
    """
    snapshot = source if isinstance(source, Snapshot) else _of_frame(table_of(source))
    if not snapshot.complete:
        raise Invalid(
            f"the snapshot of {snapshot.taken_at:%Y-%m-%d %H:%M:%SZ} is not complete{_why(snapshot)}; "
            "nothing was recorded",
            hint="What could not be read would look as if it had been deleted. Take another.",
        )
    return snapshot


def _why(snapshot: Snapshot) -> str:
    failed = snapshot.failed.to_arrow().slice(0, 1).to_pylist()
    if not failed:
        return ""
    first, more = failed[0], len(snapshot.failed) - 1
    return f": {first['error']} for {first['resource_type']} {first['resource_name']}" + (
        f" and {more} more" * (more > 0)
    )


def _of_frame(table: pa.Table) -> Snapshot:
    kind = kind_of(table)
    marks = {name: _common_value(table, name, mark) for name, mark in _MARKS.items()}
    scopes = (table.schema.metadata or {}).get(SCOPE.encode(), b"").decode().split()
    frames = {name_of_frame: schemas.table(schema, ()) for name_of_frame, schema in SCHEMAS.items()} | {
        kind: _filled(table, kind)
    }
    return snapshot(
        *frames.values(),
        cluster_id=str(marks["cluster_id"]),
        taken_at=moment(marks["taken_at"]),
        snapshot_id=str(marks["snapshot_id"]),
        complete=str(marks["complete"]).lower() == "true",
        scopes=[s for s in scopes or SCOPES if (s == "QUOTAS") == (kind == QUOTAS)],
    )


def _common_value(table: pa.Table, name: str, mark: str) -> object:
    """The one value of a column; of a frame without rows, that of its metadata."""
    if name in table.column_names and len(table):
        values = table[name].unique().to_pylist()
        if len(values) == 1 and values[0] is not None:
            return values[0]
        raise UsageError(
            f"{name} is not one and the same in all rows", hint="Record one snapshot of one cluster a time."
        )
    if mark_text := (table.schema.metadata or {}).get(mark.encode()):
        return mark_text.decode()
    if len(table):
        schemas.require_columns("the rows of the snapshot", [name], table.column_names)
    raise UsageError(
        f"a frame without rows, and nothing in it says {name}",
        hint="Nothing there, or not read? Record cluster.snapshot(), which knows.",
    )


def _filled(table: pa.Table, kind: str) -> pa.Table:
    """All columns of QUOTAS or CONFIGS: those that are not there are null."""
    for field in SCHEMAS[kind]:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(SCHEMAS[kind].names).cast(pa.schema([f.with_nullable(True) for f in SCHEMAS[kind]]))
