"""DescribeClientQuotas' answer (API 48, version 1), read straight into columns.

kafka-python builds one object for every entity, name and value; this reads the same bytes into lists and
lets Arrow do the rest. Unknown entity types, keys and tagged fields survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Unsupported
from ..frames import schemas
from ..model.entity import Entity
from ..model.levels import LEVEL_NAMES, LEVELS
from ..model.words import DEFAULT, Special, write


@dataclass
class Entries:
    """The answer's entries as flat lists: the parts and the values of every entity, in the answer's order.

    `names` are UTF-8 (None is the default entity), `places` are where the doubles stand in the frame.
    """

    types: list[bytes] = field(default_factory=list)
    names: list[bytes | None] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)


@dataclass
class Answer:
    """The whole answer: an error code and text, and the entries."""

    error_code: int
    error_message: str | None
    entries: Entries
    frame: bytes


def decode(frame: bytes) -> Answer:
    """Read one answer of version 1, header taken off.

    Raises
    ------
    Unsupported
        Bytes that are no such answer: truncated, garbled, or longer than they should be.
    """
    try:
        return _decode(frame)
    except (IndexError, ValueError, UnicodeDecodeError):
        raise Unsupported("DescribeClientQuotas: an answer that cannot be read", code="CORRUPT_MESSAGE") from None


def _decode(frame: bytes) -> Answer:
    code = int.from_bytes(frame[4:6], "big", signed=True)
    message, at = _text(frame, 6)
    count, at = _varint(frame, at)
    if count > len(frame):
        raise ValueError("more entries than bytes")
    entries = Entries()
    at = _entries(frame, at, count - 1, entries)
    if _skip_tags(frame, at) != len(frame):
        raise ValueError("bytes are missing, or left over")
    return Answer(code, message, entries, frame)


def _entries(frame: bytes, at: int, count: int, into: Entries) -> int:  # noqa: C901
    """The hot loop: one turn an entity. A compact size counts one more than its bytes; null is 0."""
    add_type, add_name, add_parts = into.types.append, into.names.append, into.parts.append
    add_key, add_place, add_values = into.keys.append, into.places.append, into.values.append
    for _ in range(count):
        parts = frame[at]
        if not 0 < parts < 128:
            raise ValueError("an entity of no, or too many, parts")
        at += 1
        add_parts(parts - 1)
        while parts > 1:
            size = frame[at]
            end = at + size
            if size > 127:
                size, at, end = _long(frame, at)
            add_type(frame[at + 1 : end])
            size, at = frame[end], end
            end = at + size
            if size > 127:
                size, at, end = _long(frame, at)
            add_name(frame[at + 1 : end] if size else None)
            at = end + (not size)
            at = at + 1 if not frame[at] else _skip_tags(frame, at)
            parts -= 1
        values = frame[at]
        if not 0 < values < 128:
            raise ValueError("an entity of no, or too many, values")
        at += 1
        add_values(values - 1)
        while values > 1:
            size = frame[at]
            end = at + size
            if size > 127:
                size, at, end = _long(frame, at)
            add_key(frame[at + 1 : end])
            add_place(end)
            at = end + 8
            at = at + 1 if not frame[at] else _skip_tags(frame, at)
            values -= 1
        at = at + 1 if not frame[at] else _skip_tags(frame, at)
    return at


def _varint(frame: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint and the place after it."""
    value = shift = 0
    while True:
        byte = frame[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 28:
            raise ValueError("a varint that never ends")


def _long(frame: bytes, at: int) -> tuple[int, int, int]:
    """A size of more than one byte: the size, its last byte's place, the end of what it measures."""
    size, after = _varint(frame, at)
    return size, after - 1, after - 1 + size


def _text(frame: bytes, at: int) -> tuple[str | None, int]:
    size, at = _varint(frame, at)
    return (frame[at : at + size - 1].decode(), at + size - 1) if size else (None, at)


def _skip_tags(frame: bytes, at: int) -> int:
    """The place after a tag buffer; fields of versions to come are passed over."""
    count, at = _varint(frame, at)
    for _ in range(count):
        _, at = _varint(frame, at)
        size, at = _varint(frame, at)
        at += size
    return at


def table(answer: Answer) -> pa.Table:
    """QUOTAS from an answer, sorted by entity and key."""
    try:
        return _table(answer.entries, answer.frame)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise Unsupported("DescribeClientQuotas: a name that is no UTF-8", code="CORRUPT_MESSAGE") from None


def _table(entries: Entries, frame: bytes) -> pa.Table:
    entities = _entities(entries)
    rows = np.repeat(np.arange(len(entries.parts)), entries.values)
    keys = _words(entries.keys)
    order = _order(entities["entity"], keys, rows)
    whose = _column(rows[order])
    columns = {name: column.take(whose) for name, column in entities.items()}
    columns["key"] = keys.take(_column(order)).cast(schemas.WORD)
    columns["value"] = _column(_doubles(frame, np.asarray(entries.places, np.int64)[order]))
    return pa.table([columns[name] for name in schemas.QUOTAS.names], schema=schemas.QUOTAS)


def _doubles(frame: bytes, places: np.ndarray) -> np.ndarray:
    if not len(places):
        return np.empty(0)
    every_eight = np.lib.stride_tricks.sliding_window_view(np.frombuffer(frame, np.uint8), 8)
    return np.asarray(every_eight[places].view(">f8").ravel(), float)


def _order(entity: pa.Array, keys: pa.DictionaryArray, rows: np.ndarray) -> np.ndarray:
    """The rows by entity, then by key: two small sorts of names and one of integers."""
    by_entity = _ranks(entity)[rows] * max(1, len(keys.dictionary))
    by_key = _ranks(keys.dictionary)[_numbers(keys.indices)] if len(keys) else 0
    return np.argsort(by_entity + by_key, kind="stable")


def _ranks(texts: pa.Array) -> np.ndarray:
    ranks = np.empty(len(texts), np.int64)
    ranks[_numbers(pc.sort_indices(texts))] = np.arange(len(texts))
    return ranks


_KNOWN = {b"user": 0, b"client-id": 1, b"ip": 2}
_OTHER_TYPE = len(_KNOWN)
_ABSENT, _NAMED, _DEFAULT = 0, 1, 2
_KINDS = {None: _ABSENT, "name": _NAMED, "default": _DEFAULT}
_LEVEL_OF = np.full(27, len(LEVELS) + 2, np.int32)
for _i, _level in enumerate(LEVELS):
    _LEVEL_OF[_KINDS[_level.user] * 9 + _KINDS[_level.client_id] * 3] = _i
_LEVEL_OF[_NAMED], _LEVEL_OF[_DEFAULT] = len(LEVELS), len(LEVELS) + 1


def _utf8(texts: Sequence[bytes | None]) -> pa.StringArray:
    """A string column, checked."""
    nulls = _nulls(texts)
    there = cast(list[bytes], [text or b"" for text in texts] if nulls.any() else texts)
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, there), np.int32, len(there)), out=ends[1:])
    valid = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    data = pa.py_buffer(b"".join(there))
    column = pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), data, valid)
    column.validate(full=True)
    return column


def _nulls(texts: Sequence[bytes | None]) -> np.ndarray:
    if None not in texts:
        return np.zeros(len(texts), bool)
    return np.fromiter((text is None for text in texts), bool, len(texts))


def _words(texts: Sequence[bytes]) -> pa.DictionaryArray:
    """A dictionary-encoded column of texts of which few differ."""
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    indices = np.fromiter(map(codes.__getitem__, texts), np.int32, len(texts))
    return pa.DictionaryArray.from_arrays(_column(indices), _utf8(list(codes)))


def _column(values: np.ndarray) -> pa.Array:
    """A column over these very bytes. `pa.array` would load pandas, which takes longer than the decode."""
    kind = pa.from_numpy_dtype(values.dtype)
    data = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])


def _numbers(column: pa.Array) -> np.ndarray:
    """The same the other way, for a whole column without nulls."""
    return np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype(), len(column))


def _word(text: str) -> pa.StringScalar:
    return _utf8([text.encode()])[0]


_LEVEL_NAMES = _utf8([name.encode() for name in LEVEL_NAMES])
_SPECIAL = _utf8([special.value.encode() for special in Special])
_SPACE, _SIGN = _word(" "), _word("=")


def _entities(entries: Entries) -> dict[str, pa.Array]:
    """The columns of QUOTAS that belong to an entity, one value an entity."""
    count = len(entries.parts)
    types = np.fromiter(map(_KNOWN.get, entries.types, repeat(_OTHER_TYPE)), np.int8, len(entries.types))
    names = pa.concat_arrays([_utf8(entries.names), pa.nulls(1, pa.string())])
    kind_of = np.full(len(entries.names) + 1, _NAMED)
    kind_of[:-1][_nulls(entries.names)] = _DEFAULT
    kind_of[-1] = _ABSENT
    whose = np.repeat(np.arange(count), entries.parts)
    strange = np.zeros(count, bool)
    strange[whose[types == _OTHER_TYPE]] = True
    columns, kinds = [], np.zeros(count, np.int64)
    for code, weight in enumerate((9, 3, 1)):
        place = np.full(count, len(entries.names))
        place[whose[types == code]] = np.flatnonzero(types == code)
        columns.append(names.take(_column(place)))
        kinds += weight * kind_of[place]
    level = np.where(strange, len(LEVELS) + 2, _LEVEL_OF[kinds])
    text = _texts(columns, kinds)
    if strange.any():
        text = _with_strangers(text, strange, entries, whose)
    level_column = pa.DictionaryArray.from_arrays(_column(level.astype(np.int32)), _LEVEL_NAMES)
    return dict(zip(("entity", "level", "user", "client_id", "ip"), (text, level_column, *columns), strict=True))


def _texts(columns: list[pa.Array], kinds: np.ndarray) -> pa.Array:
    """Each entity in the grammar's words."""
    words = []
    for name, column, weight in zip(("user", "client-id", "ip"), columns, (9, 3, 1), strict=True):
        is_default = _column(kinds // weight % 3 == _DEFAULT)
        words.append(pc.if_else(is_default, _word(write(name, DEFAULT)), _named(name, column)))
    nameless = kinds == _ABSENT
    if nameless.any():  # Arrow's join leaves out a row whose words are all null (seen with 26.0)
        words[0] = pc.if_else(_column(nameless), _word(""), words[0])
    return pc.binary_join_element_wise(*words, _SPACE, null_handling="skip")


_PLAIN = r"^[!#$%&()*+,./0-9:<>?@A-Z\[\\\]^_`a-z|}~-]+$"
"""Names that stand as they are: no space, quote, `;`, `=`, `{`, nothing outside ASCII."""


def _named(kind: str, column: pa.Array) -> pa.Array:
    """`kind=name` for a column of names; the few that need quotes are written one by one."""
    words = pc.binary_join_element_wise(_word(kind), column, _SIGN)
    plain = pc.and_not(pc.match_substring_regex(column, _PLAIN), pc.is_in(column, _SPECIAL))
    misread = pc.and_kleene(column.is_valid(), pc.invert(plain))
    if not pc.any(misread).as_py():
        return words
    written = [write(kind, name) for name in column.filter(misread).to_pylist()]
    return pc.replace_with_mask(words, misread, pa.array(written, pa.string()))


def _with_strangers(text: pa.Array, strange: np.ndarray, entries: Entries, whose: np.ndarray) -> pa.Array:
    """Entities with a type that this version does not know, written one by one: shown, never dropped."""
    starts = np.searchsorted(whose, np.flatnonzero(strange))
    written = [str(_entity(entries, start, whose)) for start in starts]
    return pc.replace_with_mask(text, pa.array(strange), pa.array(written, pa.string()))


def _entity(entries: Entries, start: int, whose: np.ndarray) -> Entity:
    end = int(np.searchsorted(whose, whose[start], side="right"))
    parts = zip(entries.types[start:end], entries.names[start:end], strict=True)
    return Entity.from_wire((kind.decode(), None if name is None else name.decode()) for kind, name in parts)
