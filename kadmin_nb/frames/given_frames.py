"""Frames that somebody made, as Arrow, and ours as pandas, which is loaded when the first one is made.

A cell that does not fit is refused by its row, from 1, and its column.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..errors import UsageError
from ..model.config_units import plain as in_digits
from ..model.quota_keys import text_of

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A plain DataFrame with the same columns; dictionary-encoded strings become strings.

    `attrs` has `kadmin.cluster_id` and `kadmin.taken_at` where the frame came from a cluster.
    """
    frame = plain(table).to_pandas()
    frame.attrs.update({key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()})
    return frame


def plain(table: pa.Table) -> pa.Table:
    """`table` with dictionary-encoded strings, also inside structs, as plain strings."""
    schema = plain_schema(table.schema)
    return table if schema.equals(table.schema) else table.cast(schema)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as Spark and pandas have them: without dictionaries."""
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema], schema.metadata)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return kind


_OF_TEXT = ("cluster_id", "entity", "level", "user", "client_id", "ip",
            "resource", "resource_type", "resource_name", "key")  # fmt: skip
"""Columns of names and words, in which each cell is a text."""

TEXT_COLUMNS = tuple(name for name in _OF_TEXT if name != "resource_name")
"""Columns that a number is an error in; brokers have numbers for names."""

_UNFIT = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""Errors of Arrow at a cell that does not fit its column."""

_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
_MISSING = ("nan", "NaN", "<NA>", "NaT")


def table_of(frame: Any, what: str, *, mixed: Collection[str] = ()) -> pa.Table:
    """Anything with `__arrow_c_stream__` as a table; `what` is how the message calls it.

    Columns that are `mixed` may hold texts beside numbers, truths and lists: then all of them are texts. Decimals, as
    databases and Spark have them, are doubles, but in a mixed column.

    Raises
    ------
    UsageError
        The first cell that is of another type than its column.
    """
    table = _read(frame, what, mixed)
    fields = [field.with_type(_known_type(field.type, field.name in mixed)) for field in table.schema]
    schema = pa.schema(fields, table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _known_type(kind: pa.DataType, is_mixed: bool) -> pa.DataType:
    """The type that a column is worked on in: most of Arrow's functions know no string views, as Polars has them."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _known_type(kind.value_type, is_mixed))
    if pa.types.is_decimal(kind) and not is_mixed:
        return pa.float64()
    return pa.string() if pa.types.is_string_view(kind) else kind


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
        The first cell that is something else.
    """
    column = table.column(name)
    if column.null_count == len(column):  # of no rows, say, for which pandas has numbers
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    if not is_text(column.type):
        raise _refusal(column.to_pylist(), name, what, str)
    return column.cast(pa.string())


def refuse_other_than_text(table: pa.Table, names: Iterable[str], what: str) -> None:
    """Refuse a number, or whatever else is not a text, in a column of names that the table has.

    Raises
    ------
    UsageError
        The first such cell.
    """
    for name in names:
        if name in table.column_names:
            text_column(table, name, what)


def column_of(cells: Sequence[Any], name: str, what: str) -> pa.Array:
    """Cells of a column of names, as text; refused as in `table_of`."""
    with suppress(*_UNFIT):
        return pa.array(cells, pa.string())
    raise _refusal(cells, name, what, str)


def _read(frame: Any, what: str, mixed: Collection[str]) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if not has_cells(frame):
        return pa.RecordBatchReader.from_stream(frame).read_all()
    if not any(_has_objects(frame[name]) for name in mixed if name in frame.columns):
        with suppress(*_UNFIT):
            return pa.RecordBatchReader.from_stream(frame).read_all()
    names = [str(name) for name in frame.columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two columns of {what} are called {twice}", hint="Leave one of them out.")
    return pa.table({str(name): _of_series(frame[name], str(name), what, mixed) for name in frame.columns})


def has_cells(frame: Any) -> bool:
    """True of the DataFrames of pandas and Polars."""
    return hasattr(frame, "columns") and hasattr(frame, "to_dict")


def _has_objects(series: Any) -> bool:
    """True of a column of pandas' objects: among numbers, Arrow takes True for 1."""
    return str(series.dtype) == "object"


def _of_series(series: Any, name: str, what: str, mixed: Collection[str]) -> pa.Array:
    """A column of a DataFrame that Arrow does not take whole."""
    cells, is_mixed = series.to_list(), name in mixed and _has_objects(series)
    with suppress(*_UNFIT):
        if is_mixed:
            return pa.array([None if _is_missing(cell) else cell_text(cell) for cell in cells], pa.string())
        return pa.array(series, from_pandas=True)
    raise _refusal(cells, name, what, str if name in _OF_TEXT else None)


def cell_text(value: Any) -> str:
    """The text of a text, a number, a truth, a path, or a list of these.

    Raises
    ------
    TypeError, ValueError
        Of anything else: bytes, a dict, a time; an integer with more digits than Python writes.
    """
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, list | tuple | np.ndarray):
        return ",".join(map(cell_text, value))
    if isinstance(value, float):
        return text_of(value)
    if isinstance(value, Decimal) and value.is_finite():
        return in_digits(value)
    if isinstance(value, str | numbers.Number | os.PathLike):
        return str(value)
    raise TypeError(type(value).__name__)


def _is_missing(cell: Any) -> bool:
    """True of None, and of what stands for it in pandas."""
    return cell is None or (not isinstance(cell, str | int | bytes) and str(cell) in _MISSING)


def _refusal(cells: Iterable[Any], name: str, what: str, kind: type | None) -> UsageError:
    """The first cell that is not of this type; without one of another type than the first."""
    for number, cell in enumerate(cells, 1):
        if not _is_missing(cell):
            kind = kind or type(cell)
            if type(cell) is not kind:
                wanted = "text" if kind is str else kind.__name__
                message = f"row {number} of {what}: {name} is of type {type(cell).__name__}, not {wanted}"
                return UsageError(message, hint=f"Where it is read: pd.read_csv(…, dtype={{{name!r}: 'string'}}).")
    return UsageError(f"{name} of {what} holds what a column cannot hold")


def is_text(kind: pa.DataType) -> bool:
    """True of every type of texts, also in a dictionary, and of a column of nothing."""
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(check(values) for check in _TEXT)
