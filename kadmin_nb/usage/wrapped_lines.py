"""Kafka's lines out of the JSON objects that containers and collectors of logs put them into.

Docker's json-file, log4j2's JSON layouts, Fluent Bit, logstash, GELF, Loki and their like differ in names only: a line
is an object, and one of its strings, at whatever depth, is Kafka's line. Arrow reads the objects of a batch at once by
the layout of the first, then by that of the first that is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from .written_times import instants_text, is_dated, written_times

MARK = b"Completed request:"
OBJECTS_DEEP = 3
"""Objects in strings of objects that are opened: a collector wraps what a container wrapped."""
LAYOUTS = 4
"""Layouts of objects in a batch that Arrow reads; objects of more are read one by one."""
FIELDS_DEEP = 8

Rows = npt.NDArray[np.intp]
_Path = tuple[str, ...]

_TIMES = ("@timestamp", "time", "timestamp", "ts", "timeMillis", "__REALTIME_TIMESTAMP")
_INSTANT = ("epochSecond", "nanoOfSecond")
"""The parts of `instant` in log4j2's JsonLayout."""
_SEVERAL = r"(?s)Completed request:.*\n.*Completed request:"


class MarkedLines:
    """Lines, where each begins and ends, and where the mark of a request is; `requests` are the rows that have one."""

    def __init__(self, line: pa.Array) -> None:
        offsets = np.frombuffer(line.buffers()[1], np.int32)[line.offset : line.offset + len(line) + 1]
        self.line, self.bytes = line, memoryview(line.buffers()[2] or b"")
        self.starts, self.stops = offsets[:-1], offsets[1:]
        marks = np.asarray(pc.find_substring(line, MARK))
        self.marks, self.begins = self.starts + marks, self.starts + marks + len(MARK)
        self.requests = np.flatnonzero(marks >= 0)

    def without_document(self) -> Rows:
        """The requests whose mark is not followed by `{"`: their document is escaped, or of an old Kafka, or cut."""
        if not len(self.requests):
            return self.requests
        letters = np.frombuffer(self.bytes, np.uint8)
        begins = self.begins[self.requests]
        first, second = (letters[np.minimum(begins + place, len(letters) - 1)] for place in (0, 1))
        rows: Rows = self.requests[(first != ord("{")) | (second != ord('"'))]
        return rows

    def fronts(self, rows: Rows) -> pa.Array:
        """What stands in front of the mark."""
        return pa.array(map(bytes, self.slices(self.starts[rows], self.marks[rows])), pa.string())

    def slices(self, starts: Any, stops: Any) -> Iterator[memoryview]:
        """The bytes between these places."""
        return (self.bytes[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True))


def unwrapped(line: pa.Array, deep: int = OBJECTS_DEEP) -> MarkedLines:
    """The lines as Kafka wrote them; those that are in no object, or in a broken one, as they are.

    In front stands what stood in front of the object, and the object's time where the line has no date of its own.
    """
    marked = MarkedLines(line)
    candidates = marked.without_document()
    if not len(candidates) or not deep:
        return marked
    begins = np.asarray(pc.find_substring(marked.fronts(candidates), "{"))
    rows, begins = candidates[begins >= 0], begins[begins >= 0]
    begins = marked.starts[rows] + begins
    objects = list(map(bytes, marked.slices(begins, marked.stops[rows])))
    inner, when = _contents(objects)
    if inner.null_count == len(inner):
        return marked
    kafkas = unwrapped(inner.fill_null(""), deep - 1)
    prefix = pa.array(map(bytes, marked.slices(marked.starts[rows], begins)), pa.string())
    text = pc.binary_join_element_wise(prefix, _time_in_front(kafkas, when), kafkas.line, "")
    whole = pc.if_else(inner.is_valid(), text, line.take(pa.array(rows)))
    return MarkedLines(pc.replace_with_mask(line, _mask(rows, len(line)), whole))


def _mask(rows: Rows, count: int) -> pa.Array:
    mask = np.zeros(count, bool)
    mask[rows] = True
    return pa.array(mask)


def _time_in_front(kafkas: MarkedLines, when: pa.Array) -> pa.Array:
    """The time and a blank, where the line has no date itself."""
    dated = np.zeros(len(when), bool)
    dated[kafkas.requests] = is_dated(written_times(kafkas.fronts(kafkas.requests)))
    with_blank = pc.fill_null(pc.binary_join_element_wise(when, "", " "), "")
    return pc.if_else(pa.array(dated), "", with_blank)


def _contents(objects: list[bytes]) -> tuple[pa.Array, pa.Array]:
    """The line in each object, null where it has none, and the object's time."""
    left, places, parts = np.arange(len(objects)), list[Rows](), list[pa.Array]()
    for _ in range(LAYOUTS):
        first = (_layout_of(_document_of(objects[row])) for row in left[:LAYOUTS].tolist())
        layout = next(filter(None, first), None)
        if layout is None:
            break
        found = layout.read([objects[row] for row in left.tolist()])
        is_found = pc.fill_null(pc.match_substring(pc.struct_field(found, "line"), MARK.decode()), False)
        places.append(left[np.asarray(is_found)])
        parts.append(found.filter(is_found))
        left = left[~np.asarray(is_found)]
    alone = pa.array([_content(_document_of(objects[row])) for row in left.tolist()], _CONTENT)
    contents = pa.concat_arrays([*parts, alone])
    if len(parts) != 1 or len(left):
        contents = contents.take(pa.array(np.argsort(np.concatenate([*places, left]))))
    lines, times = (pc.struct_field(contents, name) for name in ("line", "time"))
    inner = pc.utf8_rtrim(lines, "\r\n")
    if (np.frombuffer(inner.buffers()[2] or b"", np.uint8) == ord("\n")).any():
        of_several = pc.fill_null(pc.match_substring_regex(inner, _SEVERAL), False)
        inner = pc.if_else(of_several, None, inner)
    return inner, times


_CONTENT = pa.struct([("line", pa.string()), ("time", pa.string())])


@dataclass(frozen=True)
class _Layout:
    """The place of the line in an object, and those of its time, which are parts of one number if there are two."""

    line: _Path
    times: tuple[_Path, ...]
    is_number: bool

    def read(self, objects: Sequence[bytes]) -> pa.Array:
        """The content of each object; nulls where it has another layout."""
        kind = pa.float64() if self.is_number else pa.string()
        schema = pa.schema(_fields({self.line: pa.string(), **dict.fromkeys(self.times, kind)}))
        table = json_rows(bytearray(b"\n").join(objects), schema)
        if table is None or table.num_rows != len(objects):
            return pa.array([_content(_document_of(one)) for one in objects], _CONTENT)
        rows = table.to_struct_array().combine_chunks()
        times = _time_texts([pc.struct_field(rows, path) for path in self.times], len(objects))
        return pa.StructArray.from_arrays([pc.struct_field(rows, self.line), times], fields=list(_CONTENT))


def json_rows(text: bytearray, schema: pa.Schema) -> pa.Table | None:
    """The documents, a line each; None where Arrow cannot read them all."""
    how = arrow_json.ReadOptions(use_threads=False, block_size=max(len(text), 1))
    parse_options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        return arrow_json.read_json(pa.BufferReader(text), how, parse_options)
    except pa.ArrowInvalid:
        return None


def _fields(kinds: dict[_Path, pa.DataType]) -> list[pa.Field]:
    """Fields, and within them their own, that have these paths."""
    below: dict[str, dict[_Path, pa.DataType]] = {}
    for (name, *rest), kind in kinds.items():
        below.setdefault(name, {})[tuple(rest)] = kind
    return [pa.field(name, own[()] if () in own else pa.struct(_fields(own))) for name, own in below.items()]


def _time_texts(parts: Sequence[pa.Array], count: int) -> pa.Array:
    """The times as text: those that are numbers as instants."""
    if not parts:
        return pa.nulls(count, pa.string())
    if pa.types.is_string(parts[0].type):
        is_number = pc.match_substring_regex(parts[0], r"^\d{1,25}(?:\.\d{1,25})?$")
        if not pc.any(is_number).as_py():
            return parts[0]
        numbers = pc.if_else(is_number, parts[0], None).cast(pa.float64())
        return pc.if_else(pc.fill_null(is_number, False), instants_text(numbers), parts[0])
    seconds = parts[0] if len(parts) == 1 else pc.add(parts[0], pc.divide(parts[1], 1e9))
    texts = instants_text(seconds)
    return pc.if_else(pc.equal(texts, ""), None, texts)


def _document_of(text: bytes) -> Any:
    """The object that a text begins with; None where there is none."""
    try:
        return json.JSONDecoder().raw_decode(text.decode(errors="replace"))[0]
    except (ValueError, RecursionError):
        return None


def _layout_of(document: Any) -> _Layout | None:
    """The layout of an object that has a request in a string; of several in the longest, as GELF has it shortened."""
    lines = [(len(text), path) for path, text in _strings(document, FIELDS_DEEP) if MARK.decode() in text]
    if not lines:
        return None
    path = max(lines, key=lambda line: line[0])[1]
    for place in dict.fromkeys([path[:-1], ()]):
        fields = _at(document, place)
        if isinstance(fields.get("instant"), dict) and fields["instant"].keys() >= {*_INSTANT}:
            return _Layout(path, tuple((*place, "instant", part) for part in _INSTANT), True)
        for name in _TIMES:
            if isinstance(fields.get(name), str | int | float):
                return _Layout(path, ((*place, name),), not isinstance(fields[name], str))
    return _Layout(path, (), False)


def _strings(document: Any, deep: int) -> Iterator[tuple[_Path, str]]:
    """The strings within an object, and where they are."""
    for name, value in document.items() if isinstance(document, dict) else ():
        if isinstance(value, str):
            yield (name,), value
        elif deep:
            yield from (((name, *path), text) for path, text in _strings(value, deep - 1))


def _content(document: Any) -> dict[str, str | None] | None:
    """The line and the time of one object."""
    layout = _layout_of(document)
    if layout is None:
        return None
    values = [_at(document, path) for path in layout.times]
    kind = pa.float64() if layout.is_number else pa.string()
    parts = [pa.array([_number(value) if layout.is_number else _text(value)], kind) for value in values]
    return {"line": _text(_at(document, layout.line)), "time": _time_texts(parts, 1)[0].as_py()}


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None


def _text(value: str) -> str:
    """With a sign for half a character, which JSON can have and no string."""
    return value.encode(errors="replace").decode()


def _at(document: Any, path: _Path) -> Any:
    for name in path:
        document = document[name]
    return document
