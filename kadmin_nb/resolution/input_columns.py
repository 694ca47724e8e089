"""The columns that the rules need of a caller's frame, as Arrow strings and doubles, checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames import schemas
from ..frames.given_frames import has_cells, is_text, table_of

CLUSTER = "cluster_id"
QUOTAS_LABEL = "the quotas"
STAMPS = (b"kadmin.cluster_id", b"kadmin.taken_at")
_MAX_ROWS = 2**31 - 1


def read_columns(frame: Any, names: Sequence[str], what: str) -> pa.Table:
    """These columns of anything with `__arrow_c_stream__`, and `cluster_id` where it has one.

    Raises
    ------
    UsageError
        No such thing, or a column is missing; `what` is how the message calls the frame.
    """
    table = arrow_table(frame, (*names, CLUSTER), what)
    schemas.require_columns(what, names, table.column_names)
    return table.select([name for name in (CLUSTER, *names) if name in table.column_names])


def arrow_table(
    frame: Any, names: Sequence[str], what: str, *, mixed: Collection[str] = (), place: str | None = None
) -> pa.Table:
    """Anything with `__arrow_c_stream__` as a table; of a DataFrame, where it has them, these columns alone.

    Columns that are `mixed` may hold texts beside numbers.

    Raises
    ------
    UsageError
        No such thing, or the first cell that does not fit; `what`, a plural, is how the message calls the frame, and
        `place` how it does so after a row's number.
    """
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            f"{what} are a {type(frame).__name__}, not a frame",
            hint="Pass an Arrow table, or a pandas or Polars DataFrame.",
        )
    return table_of(_narrowed(frame, names), place or what, mixed=mixed)


def _narrowed(frame: Any, names: Sequence[str]) -> Any:
    """A DataFrame without the columns nobody reads: they may hold what Arrow cannot."""
    has = [str(name) for name in frame.columns] if has_cells(frame) else []
    present = [name for name in names if name in has]
    return frame[present] if present and len(present) < len(has) else frame


def text_column(table: pa.Table, name: str, what: str) -> pa.ChunkedArray:
    """A column of names as Arrow strings, whichever string type it came as; nulls stay.

    Raises
    ------
    UsageError
        The column holds something else.
    """
    column = table.column(name)
    if column.null_count == len(column):  # of no rows, say, for which pandas has numbers
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if not is_text(column.type):
        raise UsageError(f"{name} of {what} is {column.type}, not text")
    if column.type == pa.string():
        return column
    parts = [part.cast(pa.string()) for chunk in column.chunks for part in _small_parts(chunk)]
    return pa.chunked_array(parts, pa.string())


def _small_parts(chunk: pa.Array) -> list[pa.Array]:
    """The array in parts that fit Arrow's 32-bit strings (2 GiB each)."""
    if chunk.get_total_buffer_size() <= _MAX_ROWS or len(chunk) < 2:
        return [pa.concat_arrays([chunk])] if chunk.offset else [chunk]
    half = len(chunk) // 2
    return [part for s in (chunk.slice(0, half), chunk.slice(half)) for part in _small_parts(pa.concat_arrays([s]))]


def number_column(table: pa.Table, name: str, what: str, *, nullable: bool = False) -> pa.ChunkedArray:
    """A column of values as doubles, without nulls unless it is nullable."""
    column = table.column(name)
    if not _is_number(column.type):
        raise UsageError(f"{name} of {what} is {column.type}, not a number")
    numbers = column.cast(pa.float64(), safe=False)
    return numbers if nullable else non_null_column(numbers, name, what)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind))


def non_null_column(column: pa.ChunkedArray, name: str, what: str) -> pa.ChunkedArray:
    """`column`, which may not have nulls.

    Raises
    ------
    Invalid
        It has one; the message says in which row, counting from 0.
    """
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise Invalid(f"{name} is null in row {row} of {what}", hint="Rows are counted from 0.")
    return column


def check_clusters(pairs: pa.Table, what: str, quotas_have_it: bool) -> None:
    """`cluster_id` is part of the match: on both sides, or on none.

    Raises
    ------
    UsageError
        It is on one side only; the message names the side.
    """
    if quotas_have_it and CLUSTER not in pairs.column_names:
        raise UsageError(f"the quotas have a cluster_id and {what} have none", hint="Give it to both, or drop it.")
    if not quotas_have_it and CLUSTER in pairs.column_names:
        raise UsageError(f"{what} have a cluster_id and the quotas have none", hint="Give it to both, or drop it.")


def stamp(table: pa.Table) -> dict[bytes, bytes] | None:
    """The place and time of which the frame is, to hand on."""
    return {name: value for name, value in (table.schema.metadata or {}).items() if name in STAMPS} or None
