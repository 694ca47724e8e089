"""Rows of any frame, as its columns are declared: of their types, null where they may be, different by their key."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kadmin_nb.frames.frame import Field, Frame

_LEAVES = {
    pa.string(): st.text(),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**53), 2**53),
    pa.float64(): st.floats(-1e15, 1e15),
    pa.date32(): st.dates(date(1970, 1, 1), date(2100, 1, 1)),
    pa.timestamp("us", "UTC"): st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
}


def rows(frame: type[Frame], most: int = 5) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of rows of a frame."""
    row = st.fixed_dictionaries({name: values(field) for name, field in frame.fields.items()})
    key = [lambda row: tuple(row[name] for name in frame.key_columns)] if frame.key_columns else []
    return st.lists(row, max_size=most, unique_by=key[0] if key else None)


def values(field: Field) -> st.SearchStrategy[Any]:
    """The values of a column."""
    return st.none() | of_type(field.type) if field.null else of_type(field.type)


def of_type(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """The values of an Arrow type, without null."""
    if pa.types.is_dictionary(kind):
        return of_type(kind.value_type)
    if pa.types.is_list(kind):
        return st.lists(of_type(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({part.name: of_type(part.type) for part in kind})
    return _LEAVES[kind]
