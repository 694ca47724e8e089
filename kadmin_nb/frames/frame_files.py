"""Frames in files: Parquet, CSV, JSON, JSON lines."""

from __future__ import annotations

import csv as plain_csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from ..errors import Invalid, UsageError
from ..files import check, writing
from .given_frames import plain, to_pandas

if TYPE_CHECKING:
    import pandas as pd

FILES = (".parquet", ".csv", ".json", ".jsonl")
ROWS_AT_ONCE = 4096
"""Rows that are Python at the same time."""
MAX_TABLE_BYTES = 1 << 32
"""Bytes of the largest file that is read."""
MOST_CELLS = 10**9
"""Rows times columns of the largest Parquet file: a few bytes of it may stand for millions of rows."""

_FORMULA = re.compile(r"'*[\s\0]*[=+\-@\t\r\n\0\uff0b\uff0d\uff1d\uff20]")
"""The beginnings of texts that a spreadsheet may calculate (ASVS 1.2.10, and the wide forms of its four signs).

A text with quotes before such a beginning is written with one more, so that reading takes one away and no other text
is changed.
"""


def read_table(place: Path) -> pa.Table:
    """The table in a Parquet or CSV file; every CSV column is text, so that a client called 007 stays one.

    Raises
    ------
    NotFound, UsageError, Invalid
        No such file; another kind of file, a pipe, one that is too large; a file that is not what its name says.
    """
    readers: dict[str, Callable[[Path], pa.Table]] = {".parquet": read_parquet, ".csv": _read_csv}
    if place.suffix not in readers:
        raise UsageError(f"{place} is neither .parquet nor .csv")
    check(place, "a frame", MAX_TABLE_BYTES, missing=f"no such file: {place}")
    try:
        return readers[place.suffix](place)
    except (pa.ArrowInvalid, OSError) as exc:
        raise Invalid(f"{place} cannot be read: {exc}") from None


def read_parquet(place: Path) -> pa.Table:
    """The table in a Parquet file, which has a billion values at most."""
    with parquet.ParquetFile(place) as file:
        cells = file.metadata.num_rows * file.metadata.num_columns
        if cells > MOST_CELLS:
            raise pa.ArrowInvalid(f"it has {cells:,} values, more than {MOST_CELLS:,}")
        return file.read()


def typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table, its text columns in the types of the schema, as the columns of a CSV must be.

    Raises
    ------
    Invalid
        A text that is none of that type; the column is named.
    """
    for number, field in enumerate(table.schema):
        target_type = schema.field(field.name).type if field.name in schema.names else field.type
        if pa.types.is_string(field.type) and not pa.types.is_dictionary(target_type):
            table = table.set_column(number, field.name, _cast(table[field.name], target_type, field.name))
    return table


def _cast(texts: pa.ChunkedArray, target_type: pa.DataType, name: str) -> pa.ChunkedArray:
    if target_type == texts.type:
        return texts
    try:
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts).cast(
            target_type
        )  # a CSV has no null
    except pa.ArrowInvalid as exc:
        raise Invalid(f"{name} is not {target_type}: {exc}") from None


def _read_csv(place: Path) -> pa.Table:
    parsed = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(place, parse_options=parsed) as head:
        names = head.schema.names
    text = csv.ConvertOptions(column_types={name: pa.string() for name in names}, strings_can_be_null=False)
    table = csv.read_csv(place, parse_options=parsed, convert_options=text)
    return pa.table([_originals(column) for column in table.columns], [_original(name) for name in names])


def _originals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.starts_with(column, "'")).as_py():
        return column
    return pa.chunked_array([pa.array(map(_original, column.to_pylist()), pa.string())])


def _harmless(text: object) -> object:
    """A text that no spreadsheet takes for a formula; whatever is not a text stays as it is."""
    return f"'{text}" if isinstance(text, str) and _FORMULA.match(text) else text


def _original(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text, 1) else text


def write_table(table: pa.Table, place: Path) -> None:
    """Write a table to a .parquet, .csv, .json (what `--json` prints) or .jsonl (one row per line) file, or nothing.

    In CSV a text that a spreadsheet would calculate begins with a quote, which `read` takes away.

    Raises
    ------
    UsageError
        Another kind of file.
    NotFound, Invalid
        It cannot be written there.
    """
    writers: dict[str, Callable[[pa.Table, BinaryIO], object]] = {
        ".parquet": parquet.write_table,
        ".csv": lambda table, file: _write_csv(to_pandas(table), file),
        ".json": lambda table, file: _write_lines(json_lines(table), file),
        ".jsonl": lambda table, file: _write_lines(map(json_text, _rows(table)), file),
    }
    if place.suffix not in writers:
        raise UsageError(f"--out {place} does not end in {', '.join(FILES)}")
    with writing(place) as file:
        writers[place.suffix](plain(table), file)


def json_lines(table: pa.Table) -> Iterator[str]:
    """A table as one list of JSON, line by line: a long one is never text as a whole."""
    if not len(table):
        yield "[]"
        return
    yield "["
    for number, row in enumerate(_rows(table), 1):
        yield indent(json_text(row, indent=1), " ") + "," * (number < len(table))
    yield "]"


def json_text(value: object, **how: Any) -> str:
    """A value as JSON, in ASCII; a time as text."""
    return json.dumps(value, ensure_ascii=True, default=str, **how)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    return (row for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE) for row in batch.to_pylist())


def _write_lines(lines: Iterator[str], file: BinaryIO) -> None:
    file.writelines(f"{line}\n".encode() for line in lines)


def _write_csv(frame: pd.DataFrame, file: BinaryIO) -> None:
    """Every text is quoted: the library leaves a lone carriage return bare, which ends a row for others."""
    texts = frame.select_dtypes(exclude="number").columns
    frame = frame.assign(**{name: frame[name].map(_harmless) for name in texts}).rename(columns=_harmless)
    frame.to_csv(file, index=False, quoting=plain_csv.QUOTE_NONNUMERIC)
