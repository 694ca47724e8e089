"""The file of a snapshot: one Parquet row, with the quotas and the configs as two lists of structs, and its marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import parquet

from ..errors import Invalid, NotFound, UsageError
from ..files import check, writing
from . import schemas
from .files import MAX_TABLE_BYTES, read_parquet
from .to_pandas import plain

SUFFIX = ".parquet"
_FRAMES = {"quotas": schemas.QUOTAS.schema, "configs": schemas.CONFIGS.schema}
_NO_SNAPSHOT = "cluster.snapshot().save(path) writes one."


_T = TypeVar("_T")


def save(place: Path, quotas: pa.Table, configs: pa.Table, marks: Mapping[str, str]) -> Path:
    """Write a snapshot's QUOTAS and CONFIGS with its marks, whole or not at all.

    Raises
    ------
    UsageError, NotFound, Invalid
        A name that does not end in `.parquet`; a place that cannot be written.
    """
    if place.suffix != SUFFIX:
        raise UsageError(f"{place} is not a name for a snapshot", hint=f"It is written as {SUFFIX}.")
    tables = zip(_FRAMES.items(), (quotas, configs), strict=True)
    whole = pa.table({name: _parts_list(table, schema) for (name, schema), table in tables})
    with writing(place) as file:
        parquet.write_table(whole.replace_schema_metadata(dict(marks)), file)
    return place


def _parts_list(table: pa.Table, schema: pa.Schema) -> pa.Array:
    rows = plain(table.select(schema.names)).combine_chunks()
    return pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows.to_struct_array().combine_chunks())


def load_snapshot(place: Path, build: Callable[[pa.Table, pa.Table, Mapping[str, str]], _T]) -> _T:
    """The result of `build` for the QUOTAS, CONFIGS and marks that `save` wrote.

    Raises
    ------
    NotFound, UsageError, Invalid
        No such file; a folder, a pipe; a file that holds no snapshot.
    """
    if not place.exists():
        raise NotFound(f"no such file: {place}", hint=_NO_SNAPSHOT)
    check(place, "a snapshot", MAX_TABLE_BYTES)
    try:
        return build(*_parts(read_parquet(place)))
    except (pa.ArrowException, OSError, ValueError, KeyError) as exc:
        why = str(exc).partition("\n")[0]
        raise Invalid(f"{place} cannot be read as a snapshot: {why}", hint=_NO_SNAPSHOT) from None


def _parts(whole: pa.Table) -> tuple[pa.Table, pa.Table, Mapping[str, str]]:
    if whole.column_names != list(_FRAMES) or len(whole) != 1:
        raise ValueError("it holds something else")
    quotas, configs = (_frame(whole[name], schema) for name, schema in _FRAMES.items())
    return quotas, configs, {key.decode(): value.decode() for key, value in (whole.schema.metadata or {}).items()}


def _frame(column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    rows = pa.Table.from_struct_array(column.combine_chunks().flatten())
    return pa.table([_typed(rows[field.name], field.type) for field in schema], schema=schema)


def _typed(column: pa.ChunkedArray, target_type: pa.DataType) -> pa.ChunkedArray:
    return column.dictionary_encode() if pa.types.is_dictionary(target_type) else column.cast(target_type)
