"""A snapshot in a file: one Parquet row, with the quotas and the configs as two lists of structs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from ..errors import Invalid, NotFound, UsageError
from ..files import check, writing
from ..model.resources import Resource
from . import schemas
from .files import MAX_TABLE_BYTES, read_parquet
from .schema_metadata import CLUSTER_ID, TAKEN_AT
from .snapshots import COMPLETE, ID, SCOPE, Snapshot, snapshot
from .to_pandas import plain

SUFFIX = ".parquet"
RESOURCES = "kadmin.resources"
_FRAMES = {"quotas": schemas.QUOTAS, "configs": schemas.CONFIGS}
_NO_SNAPSHOT = "cluster.snapshot().save(path) writes one."


def save(snapshot: Snapshot, place: Path) -> Path:
    """Write a snapshot, whole or not at all.

    Raises
    ------
    UsageError, NotFound, Invalid
        A name that does not end in `.parquet`; a place that cannot be written.
    """
    if place.suffix != SUFFIX:
        raise UsageError(f"{place} is no name for a snapshot", hint=f"It is written as {SUFFIX}.")
    parts = {name: _parts_list(getattr(snapshot, name).to_arrow(), schema) for name, schema in _FRAMES.items()}
    whole = pa.table(parts)
    marks = {
        CLUSTER_ID: snapshot.cluster_id,
        TAKEN_AT: snapshot.taken_at.isoformat(timespec="microseconds"),
        ID: snapshot.id,
        COMPLETE: str(snapshot.complete).lower(),
        SCOPE: " ".join(snapshot.scopes),
    }
    if snapshot.resources is not None:
        marks[RESOURCES] = json.dumps([(resource.type, resource.name) for resource in snapshot.resources])
    with writing(place) as file:
        parquet.write_table(whole.replace_schema_metadata(marks), file)
    return place


def _parts_list(table: pa.Table, schema: pa.Schema) -> pa.Array:
    rows = plain(table.select(schema.names)).combine_chunks()
    return pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows.to_struct_array().combine_chunks())


def load_snapshot(place: Path) -> Snapshot:
    """Read what `save` wrote.

    Raises
    ------
    NotFound, UsageError, Invalid
        No such file; a folder, a pipe; a file that holds no snapshot.
    """
    if not place.exists():
        raise NotFound(f"there is no file {place}", hint=_NO_SNAPSHOT)
    check(place, "a snapshot", MAX_TABLE_BYTES)
    try:
        return _snapshot_of(read_parquet(place))
    except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
        why = str(exc).partition("\n")[0]
        raise Invalid(f"{place} cannot be read as a snapshot: {why}", hint=_NO_SNAPSHOT) from None


def _snapshot_of(whole: pa.Table) -> Snapshot:
    marks = {key.decode(): value.decode() for key, value in (whole.schema.metadata or {}).items()}
    if ID not in marks or whole.column_names != list(_FRAMES) or len(whole) != 1:
        raise ValueError("it holds something else")
    return snapshot(
        *(_frame(whole[name], schema) for name, schema in _FRAMES.items()),
        cluster_id=marks[CLUSTER_ID],
        taken_at=datetime.fromisoformat(marks[TAKEN_AT]),
        scopes=marks[SCOPE].split(),
        snapshot_id=marks[ID],
        complete=marks[COMPLETE] == "true",
        resources=[Resource(*fields) for fields in json.loads(marks[RESOURCES])] if RESOURCES in marks else None,
    )


def _frame(column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    rows = pa.Table.from_struct_array(column.combine_chunks().flatten())
    return pa.table([_typed(rows[field.name], field.type) for field in schema], schema=schema)


def _typed(column: pa.ChunkedArray, target_type: pa.DataType) -> pa.ChunkedArray:
    return column.dictionary_encode() if pa.types.is_dictionary(target_type) else column.cast(target_type)
