"""Frames in files: Parquet, CSV, JSON lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from ..errors import Invalid, UsageError
from .to_pandas import frame_of, plain

FILES = (".parquet", ".csv", ".json")


def read(place: Path) -> pa.Table:
    """The table in a Parquet or CSV file; every CSV column is text, so that a client called 007 stays one.

    Raises
    ------
    UsageError, Invalid
        Another kind of file; a file that is not what its name says.
    """
    readers: dict[str, Callable[[Path], pa.Table]] = {".parquet": parquet.read_table, ".csv": _read_csv}
    if place.suffix not in readers:
        raise UsageError(f"{place} is neither .parquet nor .csv")
    try:
        return readers[place.suffix](place)
    except (pa.ArrowInvalid, OSError) as exc:
        raise Invalid(f"{place} cannot be read: {exc}") from None


def _read_csv(place: Path) -> pa.Table:
    with csv.open_csv(place) as head:
        names = head.schema.names
    text = csv.ConvertOptions(column_types={name: pa.string() for name in names}, strings_can_be_null=False)
    return csv.read_csv(place, convert_options=text)


def write(table: pa.Table, place: Path) -> None:
    """Write a table to a .parquet, .csv or .json (lines) file."""
    writers: dict[str, Callable[[pa.Table, Path], object]] = {
        ".parquet": lambda t, p: parquet.write_table(t, p),
        ".csv": lambda t, p: frame_of(t).to_csv(p, index=False),
        ".json": lambda t, p: frame_of(t).to_json(p, orient="records", lines=True),
    }
    if place.suffix not in writers:
        raise UsageError(f"--out {place} is none of {', '.join(FILES)}")
    writers[place.suffix](plain(table), place)
