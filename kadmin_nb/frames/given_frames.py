"""Frames that somebody made, as Arrow, and ours as pandas, which is loaded when the first one is made.

A cell that does not fit is refused by its row, from 1, and its column.
"""

from __future__ import annotations

import numbers
import os
import reprlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
    schema = pa.schema([field.with_type(_plain_type(field.type)) for field in table.schema], table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    return kind


_SHOWN_COLUMNS = ("cluster_id", "entity", "level", "user", "client_id", "ip",
                  "resource", "resource_type", "resource_name", "key")  # fmt: skip
"""Columns whose cells a message may repeat; a cell of any other may be a secret."""

TEXT_COLUMNS = tuple(name for name in _SHOWN_COLUMNS if name != "resource_name")
"""Columns that a number is an error in; brokers have numbers for names."""

_MOST_BYTES = 2**31 - 1
"""Bytes of an array of Arrow's 32-bit strings."""

_UNFIT = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""Errors of Arrow at a cell that does not fit its column."""

_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
_MISSING = ("nan", "NaN", "<NA>", "NaT")
_HALF_A_PAIR = "has half a surrogate pair, which is not text"


def table_of(frame: Any, what: str, *, mixed: Collection[str] = ()) -> pa.Table:
    """Anything with `__arrow_c_stream__` as a table; `what` is how the message calls it.

    Columns that are `mixed` may hold texts beside numbers, truths and lists: then all of them are texts. Decimals,
    as databases and Spark have them, are doubles, or in a mixed column texts with all their digits.

    Raises
    ------
    UsageError
        The first cell that is bytes, half a surrogate pair, or of another type than its column.
    """
    table = _read(frame, what, mixed)
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(place, field.name, _of_decimals(table.column(place), field.name in mixed))
            continue
        if (known := _without_views(field.type)) != field.type:
            table = table.set_column(place, field.name, _in_type(table.column(place), known))
        if _is_any(_BINARY, field.type) or (field.name in mixed and _has_objects(frame, field.name)):
            column = _column(_given_cells(frame, table, field.name), field.name, what, field.name in mixed)
            table = table.set_column(place, field.name, column)
    return table


def _of_decimals(column: pa.ChunkedArray, is_mixed: bool) -> pa.ChunkedArray:
    if not is_mixed:
        return column.cast(pa.float64())
    texts = [None if cell is None else cell_text(cell) for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _without_views(kind: pa.DataType) -> pa.DataType:
    """The type without the texts of Polars, string views, which most of Arrow's functions do not know."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_without_views(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_views(field.type)) for field in kind])
    return kind


def _in_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    texts = (
        pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(kind.value_type)) for part in column.chunks
    )
    return pa.chunked_array(list(texts), kind)


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
    if chunk.get_total_buffer_size() <= _MOST_BYTES or len(chunk) < 2:
        return [pa.concat_arrays([chunk])] if chunk.offset else [chunk]
    half = len(chunk) // 2
    return [part for s in (chunk.slice(0, half), chunk.slice(half)) for part in _small_parts(pa.concat_arrays([s]))]


def refuse_other_than_text(table: pa.Table, names: Iterable[str], what: str) -> None:
    """Refuse a number, or whatever else is not a text, in a column of names that the table has.

    Raises
    ------
    UsageError
        The first such cell.
    """
    for name in names:
        column = table[name] if name in table.column_names else None
        if column is None or is_text(column.type) or column.null_count == len(column):
            continue
        raise _refusal(column.to_pylist(), name, what)


def fitted(table: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    """The table, with those columns of a schema that it has in their types; numbers become texts, but for names.

    Raises
    ------
    UsageError
        The first cell that its column's type does not take.
    """
    refuse_other_than_text(table, (name for name in schema.names if name in TEXT_COLUMNS), what)
    for place, name in enumerate(table.column_names):
        if name in schema.names:
            table = table.set_column(place, name, _fitted(table.column(place), schema.field(name), what))
    return table


def _fitted(column: pa.ChunkedArray, field: pa.Field, what: str) -> pa.ChunkedArray:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if column.type in (field.type, kind) or (is_text(kind) and is_text(column.type)):
        return column
    if pa.types.is_nested(kind):
        return _lists_of(column, kind)
    if is_text(column.type):
        column = blank_as_null(column.cast(pa.string()))
    try:
        return _cast(column, kind)
    except _UNFIT:
        unfit = ((n, cell) for n, cell in enumerate(column.to_pylist(), 1) if not _takes(kind, cell))
        number, cell = next(unfit, (0, None))
    if not number:  # each cell fits, and the column does not
        raise UsageError(f"{field.name} of {what} is {column.type}, not {kind}")
    raise _at(number, field.name, what, f"is of type {type(cell).__name__}, not {kind}")


def _lists_of(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Lists as they are; texts, as a CSV has for them, tell nothing."""
    return pa.chunked_array([pa.nulls(len(column), kind)]) if is_text(column.type) else column


def blank_as_null(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts of numbers and times, as a CSV has them: it writes nothing for none."""
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)


def _cast(column: Any, kind: pa.DataType) -> Any:
    """The column in another type; whole numbers stay what they are, and times may lose their nanoseconds."""
    return column.cast(kind, safe=pa.types.is_integer(kind))


def _takes(kind: pa.DataType, cell: Any) -> bool:
    try:
        _cast(pa.array([cell]), kind)
    except _UNFIT:
        return False
    return True


def column_of(cells: Sequence[Any], name: str, what: str) -> pa.Array:
    """Cells of a column of names, as text; refused as in `table_of`."""
    return _column(cells, name, what, is_mixed=False)


def _read(frame: Any, what: str, mixed: Collection[str]) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        return pa.RecordBatchReader.from_stream(frame).read_all()
    except _UNFIT:
        if not has_cells(frame):
            raise
    return _by_columns(frame, what, mixed)  # outside, as Arrow's error repeats a cell


def has_cells(frame: Any) -> bool:
    """True of the DataFrames of pandas and Polars."""
    return hasattr(frame, "columns") and hasattr(frame, "to_dict")


def _has_objects(frame: Any, name: str) -> bool:
    """True of a column of pandas' objects: among numbers, Arrow takes True for 1."""
    return has_cells(frame) and str(frame[name].dtype) == "object"


def _by_columns(frame: Any, what: str, mixed: Collection[str]) -> pa.Table:
    """A DataFrame that Arrow does not take whole."""
    names = [str(name) for name in frame.columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two columns of {what} are called {twice}", hint="Leave one of them out.")
    arrays = (_of_series(frame[name], str(name), what, mixed) for name in frame.columns)
    return pa.table(dict(zip(names, arrays, strict=True)))


def _of_series(series: Any, name: str, what: str, mixed: Collection[str]) -> pa.Array:
    try:
        return pa.array(series, from_pandas=True)
    except _UNFIT:
        cells = series.to_list()
    if name not in mixed and any(isinstance(cell, Decimal) for cell in cells):  # beside floats, or NaN among them
        with suppress(*_UNFIT):
            return pa.array([float(cell) if isinstance(cell, Decimal) else cell for cell in cells], from_pandas=True)
    return _column(cells, name, what, name in mixed)


def _given_cells(frame: Any, table: pa.Table, name: str) -> Sequence[Any]:
    """The cells as they were given: Arrow makes bytes of texts beside bytes, and addresses of Polars' objects."""
    cells: Sequence[Any] = frame[name].to_list() if has_cells(frame) else table[name].to_pylist()
    return cells


def _column(cells: Sequence[Any], name: str, what: str, is_mixed: bool) -> pa.Array:
    """Cells as texts, where all of them are, or are `is_mixed`."""
    texts: list[str | None] = []
    for number, cell in enumerate(cells, 1):
        if _is_missing(cell):
            texts.append(None)
        elif isinstance(cell, str) or (is_mixed and _is_plain(cell)):
            texts.append(cell_text(cell))
        else:
            raise _at(number, name, what, _strange(cell, name)) if is_mixed else _refusal(cells, name, what)
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        pass
    raise _refusal(texts, name, what)


def cell_text(value: Any) -> str:
    """The text of a text, a number, a truth, a path, or a list of these.

    Raises
    ------
    TypeError
        Of anything else: bytes, a dict, a time.
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
        return _digits(value)
    raise TypeError(type(value).__name__)


def _digits(value: Any) -> str:
    try:
        return str(value)
    except ValueError:
        raise TypeError("int with more digits than Python writes") from None


def _is_plain(cell: Any) -> bool:
    try:
        cell_text(cell)
    except TypeError:
        return False
    return True


def _is_missing(cell: Any) -> bool:
    """True of None, and of what stands for it in pandas."""
    return (
        cell is None
        or (isinstance(cell, Decimal) and cell.is_nan())
        or (not isinstance(cell, str | int | bytes) and _shown(cell) in _MISSING)
    )


def _refusal(cells: Iterable[Any], name: str, what: str) -> UsageError:
    """The first cell that does not fit: in a column of names no text, in another of another type than the first."""
    first: tuple[int, type] | None = None
    for number, cell in enumerate(cells, 1):
        if _is_missing(cell):
            continue
        if _is_half_a_pair(cell) or isinstance(cell, bytes) or (name in _SHOWN_COLUMNS and not isinstance(cell, str)):
            return _at(number, name, what, _strange(cell, name), _as_text(cell, name))
        first = first or (number, type(cell))
        if type(cell) is not first[1] and not {type(cell), first[1]} <= {int, float}:
            kinds = f"is of type {type(cell).__name__}, and of type {first[1].__name__} in row {first[0]}"
            return _at(number, name, what, kinds)
        if isinstance(cell, int) and not -(2**63) <= cell < 2**64:
            return _at(number, name, what, "is a number of more than 64 bits")
    return UsageError(f"{name} of {what} is of type {first[1].__name__ if first else None}, which a column cannot hold")


def _strange(cell: Any, name: str) -> str:
    """The fault of a cell; its content only where that cannot be a secret."""
    if isinstance(cell, str):
        return _HALF_A_PAIR
    if name in _SHOWN_COLUMNS:
        return f"is {_shown(cell)}, not text"
    return f"is of type {type(cell).__name__}, not a text or a number"


def _at(number: int, name: str, what: str, problem: str, hint: str | None = None) -> UsageError:
    return UsageError(f"row {number} of {what}: {name} {problem}", hint=hint)


def _as_text(cell: Any, name: str) -> str | None:
    """The way to a column of texts, where a number was read from a file of them: `007` would be 7."""
    is_number = isinstance(cell, numbers.Number) and not isinstance(cell, bool)
    return f"Where it is read: pd.read_csv(…, dtype={{{name!r}: 'string'}})." if is_number else None


def _shown(cell: Any) -> str:
    try:
        return reprlib.repr(cell)
    except ValueError:  # a number of 5,000 digits
        return type(cell).__name__


def _is_half_a_pair(cell: Any) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        cell.encode()
    except UnicodeEncodeError:
        return True
    return False


def is_text(kind: pa.DataType) -> bool:
    """True of every type of texts, also in a dictionary, and of a column of nothing."""
    return _is_any(_TEXT, kind.value_type if pa.types.is_dictionary(kind) else kind)


def _is_any(checks: Iterable[Any], kind: pa.DataType) -> bool:
    return any(check(kind) for check in checks)
