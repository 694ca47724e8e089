"""Kafka's lines out of what containers and collectors of logs make of them: JSON objects.

Docker's json-file, log4j2's JSON layouts, Fluent Bit, logstash, GELF, Loki and their like differ in names only: a line
is an object, and one of its strings, at whatever depth, is Kafka's line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
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
FIELDS_DEEP = 8

Rows = npt.NDArray[np.intp]

_TIMES = ("@timestamp", "time", "timestamp", "ts", "timeMillis", "__REALTIME_TIMESTAMP")
_INSTANT = ("epochSecond", "nanoOfSecond")
"""The parts of `instant` in log4j2's JsonLayout."""
_DIGITS = re.compile(r"\d{1,25}(?:\.\d{1,25})?")


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
        """The text in front of the mark."""
        return pa.array(map(bytes, self.slices(self.starts[rows], self.marks[rows])), pa.string())

    def slices(self, starts: Any, stops: Any) -> Iterator[memoryview]:
        """The bytes between these places."""
        return (self.bytes[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True))


def unwrapped(line: pa.Array, deep: int = OBJECTS_DEEP) -> MarkedLines:
    """The lines as Kafka wrote them; lines in no object, or in a broken one, as they are.

    In front stands what stood in front of the object, and the object's time where the line has no date of its own.
    """
    marked = MarkedLines(line)
    candidates = marked.without_document()
    if not len(candidates) or not deep:
        return marked
    begins = np.asarray(pc.find_substring(marked.fronts(candidates), "{"))
    rows, begins = candidates[begins >= 0], begins[begins >= 0]
    begins = marked.starts[rows] + begins
    inner, when = _contents(map(bytes, marked.slices(begins, marked.stops[rows])))
    if inner.null_count == len(inner):
        return marked
    kafkas = unwrapped(inner.fill_null(""), deep - 1)
    dated, is_object = np.zeros(len(rows), bool), np.zeros(len(line), bool)
    dated[kafkas.requests] = is_dated(written_times(kafkas.fronts(kafkas.requests)))
    is_object[rows] = True
    time_and_blank = pc.fill_null(pc.binary_join_element_wise(when, "", " "), "")
    prefix = pa.array(map(bytes, marked.slices(marked.starts[rows], begins)), pa.string())
    text = pc.binary_join_element_wise(prefix, pc.if_else(pa.array(dated), "", time_and_blank), kafkas.line, "")
    whole = pc.if_else(inner.is_valid(), text, line.take(pa.array(rows)))
    return MarkedLines(pc.replace_with_mask(line, pa.array(is_object), whole))


def _contents(objects: Iterable[bytes]) -> tuple[pa.Array, pa.Array]:
    """The line in each object, null where it has none, and the object's time."""
    lines, times = list[str | None](), list[str | float | None]()
    for text in objects:
        line, time = _content(_document_of(text))
        lines.append(line)
        times.append(time)
    texts, numbers = ([time if isinstance(time, kind) else None for time in times] for kind in (str, float))
    instants = instants_text(pa.array(numbers, pa.float64()))
    instants = pc.if_else(pc.equal(instants, ""), None, instants)
    return pa.array(lines, pa.string()), pc.coalesce(pa.array(texts, pa.string()), instants)


def _document_of(text: bytes) -> Any:
    """The object that a text is, if any."""
    try:
        return json.loads(text.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _content(document: Any) -> tuple[str | None, str | float | None]:
    """The request in a string of an object, and the object's time; of several strings the longest has the line whole,
    as GELF has it shortened too."""
    found = [(text, fields) for text, fields in _strings(document, FIELDS_DEEP) if MARK.decode() in text]
    if not found:
        return None, None
    text, around = max(found, key=lambda one: len(one[0]))
    line = text.rstrip("\r\n")
    if "\n" in line and line.count(MARK.decode()) > 1:  # lines that a collector has joined
        return None, None
    time = next((time for fields in (around, document) if (time := _time_of(fields)) is not None), None)
    return _whole(line), time


def _strings(document: Any, deep: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The strings within an object, and the objects that have them."""
    for value in document.values() if isinstance(document, dict) else ():
        if isinstance(value, str):
            yield value, document
        elif deep:
            yield from _strings(value, deep - 1)


def _time_of(fields: dict[str, Any]) -> str | float | None:
    """The time of an object: a text, or a number of seconds or parts of them since 1970."""
    instant = fields.get("instant")
    if isinstance(instant, dict) and (parts := [_number(instant.get(name)) for name in _INSTANT]) and None not in parts:
        return parts[0] + parts[1] / 1e9  # type: ignore[operator]
    value = next((fields[name] for name in _TIMES if isinstance(fields.get(name), str | int | float)), None)
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        return _whole(value)
    return _number(value)


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def _whole(text: str) -> str:
    """With a sign for half a character, which JSON can have and no string."""
    return text.encode(errors="replace").decode()


def json_rows(text: bytearray, schema: pa.Schema) -> pa.Table | None:
    """The documents, a line each; None where Arrow cannot read them all."""
    how = arrow_json.ReadOptions(use_threads=False, block_size=max(len(text), 1))
    parse_options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        return arrow_json.read_json(pa.BufferReader(text), how, parse_options)
    except pa.ArrowInvalid:
        return None


_CUT = r'^\S+ (?:stdout|stderr) P[: ]|"(?:_p|logtag)"\s*:\s*"P"'


def is_part(lines: pa.Array) -> pa.Array:
    """Is it a part of a line, and not the last, as containerd, CRI-O and Fluent Bit mark it?"""
    return pc.match_substring_regex(lines, _CUT)
