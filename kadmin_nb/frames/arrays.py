"""Arrow arrays from Python values; `pa.array` loads pandas first, which takes longer than many an answer."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

MANY = 2_000
"""From so many values on, `pa.array` is worth loading pandas for: it is ten times as fast."""

_TYPECODES = {pa.int32(): "i", pa.int64(): "q", pa.float64(): "d"}
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def array_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The array that `pa.array(values, kind)` makes."""
    if len(values) >= MANY or "pandas" in sys.modules:
        return pa.array(values, kind)
    return without_pandas(values, kind)


def without_pandas(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The same, whatever is loaded."""
    if pa.types.is_string(kind):
        return text_array(values)
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        return text_array(values).dictionary_encode()
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return _numbers([None if time is None else _microseconds(time) for time in values], kind, "q")
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(values), [_validity(values), bits(values)])
    if kind in _TYPECODES:
        return _numbers(values, kind, _TYPECODES[kind])
    return _nested(values, kind)


def text_array(texts: Iterable[str | None]) -> pa.StringArray:
    """An array of texts."""
    words = [None if text is None else text.encode() for text in texts]
    content = b"".join(word or b"" for word in words)
    return pa.StringArray.from_buffers(len(words), _ends(words), pa.py_buffer(content), _validity(words))


def text_scalar(text: str) -> pa.StringScalar:
    """A text as the functions of `pyarrow.compute` take it: of a `str`, they make a scalar by way of pandas."""
    return text_array([text])[0]


def flag_array(flags: Iterable[bool]) -> pa.BooleanArray:
    """An array of booleans."""
    return array_of(list(flags), pa.bool_())


def _numbers(values: Sequence[Any], kind: pa.DataType, typecode: str) -> pa.Array:
    numbers = array(typecode, [0 if value is None else value for value in values])
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(numbers)])


def _nested(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_list(kind):
        return _lists(values, kind)
    if pa.types.is_struct(kind):
        return _structs(values, kind)
    return pa.array(values, kind)


def _lists(values: Sequence[Any], kind: pa.ListType) -> pa.Array:
    items = without_pandas([item for value in values for item in value or ()], kind.value_type)
    return pa.Array.from_buffers(kind, len(values), [_validity(values), _ends(values)], children=[items])


def _structs(values: Sequence[Any], kind: pa.StructType) -> pa.Array:
    parts = [without_pandas([(value or {}).get(part.name) for value in values], part.type) for part in kind]
    return pa.Array.from_buffers(kind, len(values), [_validity(values)], children=parts)


def _ends(values: Sequence[Any]) -> pa.Buffer:
    """The place where the first value begins in the content of all, and where each ends."""
    return pa.py_buffer(array("i", accumulate((len(value or ()) for value in values), initial=0)))


def _microseconds(time: datetime) -> int:
    """Since 1970; a time without a zone is UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _validity(values: Sequence[Any]) -> pa.Buffer | None:
    """A bit for each value, set where there is one; nothing where all are there."""
    return bits([value is not None for value in values]) if None in values else None


def bits(flags: Sequence[Any] | np.ndarray) -> pa.Buffer:
    """Flags as Arrow packs them, eight to a byte."""
    return pa.py_buffer(np.packbits(np.asarray(flags, bool), bitorder="little"))
