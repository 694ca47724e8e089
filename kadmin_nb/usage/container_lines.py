"""Kafka's lines out of what containers and collectors of logs make of them: JSON objects, and parts of lines.

Docker's json-file, log4j2's JSON layouts, Fluent Bit, logstash, GELF, Loki and their like differ in names only: a line
is an object, and one of its strings, at whatever depth, is Kafka's line. Arrow reads the objects of a batch at once by
the layout of the first, then by that of the first that is left.

Parts of a line follow each other in a file. containerd and CRI-O write `TIME stdout P …` for a part and
`TIME stdout F …` for the last one; Docker's json-file ends only the last part with a line break; Fluent Bit and fluentd
keep the letter in a field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from .log_files import LONGEST_LINE
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
    inner, when = _contents(list(map(bytes, marked.slices(begins, marked.stops[rows]))))
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


_CONTENT = pa.struct([("line", pa.string()), ("time", pa.string())])


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
    contents = pa.concat_arrays([*parts, _one_by_one(objects[row] for row in left.tolist())])
    if len(parts) != 1 or len(left):
        contents = contents.take(pa.array(np.argsort(np.concatenate([*places, left]))))
    lines, times = (pc.struct_field(contents, name) for name in ("line", "time"))
    inner = pc.utf8_rtrim(lines, "\r\n")
    if (np.frombuffer(inner.buffers()[2] or b"", np.uint8) == ord("\n")).any():
        of_several = pc.fill_null(pc.match_substring_regex(inner, _SEVERAL), False)
        inner = pc.if_else(of_several, None, inner)
    return inner, times


@dataclass(frozen=True)
class _Layout:
    """The place of the line in an object, and the places of its time, of which two are parts of one number."""

    line: _Path
    times: tuple[_Path, ...]
    is_number: bool

    def read(self, objects: Sequence[bytes]) -> pa.Array:
        """The content of each object; nulls where it has another layout."""
        kind = pa.float64() if self.is_number else pa.string()
        schema = pa.schema(_fields({self.line: pa.string(), **dict.fromkeys(self.times, kind)}))
        table = json_rows(bytearray(b"\n").join(objects), schema)
        if table is None or table.num_rows != len(objects):
            return _one_by_one(objects)
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
    """The times as text: numbers as instants."""
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
    """The object that a text begins with, if any."""
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


def _one_by_one(objects: Iterable[bytes]) -> pa.Array:
    """The content of each object, each by a layout of its own."""
    return pa.array([_content(_document_of(one)) for one in objects], _CONTENT)


def _content(document: Any) -> dict[str, str | None] | None:
    layout = _layout_of(document)
    if layout is None:
        return None
    kind, read = (pa.float64(), _number) if layout.is_number else (pa.string(), _text)
    parts = [pa.array([read(_at(document, path))], kind) for path in layout.times]
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


# --- lines that a container runtime has cut ---

_CRI_PART = r"^\S+ (?:stdout|stderr) P[: ]"
_TAGS = ("_p", "logtag")
_TAGGED = r'"(?:_p|logtag)"\s*:\s*"'
_DOCKER = r'^\{\s*"log"\s*:\s*"'
_DOCKER_WHOLE = r'\\n"\s*,\s*"stream"\s*:'
"""The end of a line that is not cut, as Docker writes it."""
_EDGE = 256
"""Bytes at the beginning and the end of an object that are searched, as the line between them is long."""

_CRI = re.compile(rb"(\S+ (stdout|stderr) )([PF])((?::\S*)? )", re.S)
_REQUEST = re.compile(rb'Completed request:\{\\*"')
_TEXTS = ("log", "message", "MESSAGE")

PathsAndLines = tuple[pa.Array, pa.Array]
"""Lines as bytes, and the file that each is of."""


def is_part(lines: pa.Array) -> pa.Array:
    """Is it a part of a line, and not the last?"""
    head, tail = _edges(lines)
    is_docker = pc.and_not(pc.match_substring_regex(head, _DOCKER), _has_tag(head, tail))
    is_cut = pc.and_not(is_docker, pc.match_substring_regex(tail, _DOCKER_WHOLE))
    return pc.or_(pc.or_(pc.match_substring_regex(lines, _CRI_PART), _has_tag(head, tail, "P")), is_cut)


def _edges(lines: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Their beginnings and ends."""
    text = lines.cast(pa.binary())
    return pc.binary_slice(text, 0, _EDGE), pc.binary_slice(text, -_EDGE)


def _has_tag(head: pa.Array, tail: pa.Array, tag: str = "") -> pa.Array:
    """Has the object a field with this letter?"""
    either = pc.or_(pc.match_substring_regex(head, _TAGGED + tag), pc.match_substring_regex(tail, _TAGGED + tag))
    return pc.and_(pc.starts_with(head, "{"), either)


def whole_lines(batches: Iterable[PathsAndLines]) -> Iterator[PathsAndLines]:
    """The lines, each that was cut whole where its last part was, maybe in a later batch; parts without a last one at
    the end, as they were."""
    cut = _CutLines()
    for paths, lines in batches:
        if cut.open or cut.has_parts(paths, lines):
            texts = (line or b"" for line in lines.cast(pa.binary()).to_pylist())
            pairs = zip(paths.to_pylist(), texts, strict=True)
            yield _columns([(path, one) for path, line in pairs for one in cut.ended_by(path, line)])
        else:
            yield paths, lines
    yield _columns([(path, piece.line) for (path, _), (pieces, _) in cut.open.items() for piece in pieces])


def _columns(rows: list[tuple[str, bytes]]) -> PathsAndLines:
    return pa.array([path for path, _ in rows], pa.string()), pa.array([line for _, line in rows], pa.binary())


@dataclass(frozen=True)
class _Piece:
    """A line of a container's file: what it holds of Kafka's line, and all else."""

    line: bytes
    stream: bytes
    text: bytes
    is_last: bool
    around: tuple[bytes, bytes] | dict[str, Any]

    def holding(self, text: bytes) -> bytes:
        """The line that would hold this text whole, as the runtime would have written it."""
        if isinstance(self.around, tuple):
            return b"F".join(self.around) + text
        name = _text_name(self.around)
        tags = {tag: "F" for tag in _TAGS if tag in self.around}
        return json.dumps({**self.around, **tags, name: text.decode(errors="replace")}).encode()


class _CutLines:
    """The parts so far, and their bytes, by file and stream.

    `ending` are the files of Docker's in which a line break ends a line; other collectors leave it out of all lines.
    """

    def __init__(self) -> None:
        self.open: dict[tuple[str, bytes], tuple[list[_Piece], int]] = {}
        self.ending: set[str] = set()

    def has_parts(self, paths: pa.Array, lines: pa.Array) -> bool:
        """True where one of the lines is cut."""
        if pc.any(pc.match_substring_regex(lines, _CRI_PART)).as_py():
            return True
        is_object = pc.starts_with(lines, "{")
        if not pc.any(is_object).as_py():
            return False
        head, tail = _edges(lines.filter(is_object))
        is_docker = pc.match_substring_regex(head, _DOCKER)
        has_end = pc.match_substring_regex(tail.filter(is_docker), _DOCKER_WHOLE)
        files = paths.filter(is_object).filter(is_docker)
        self.ending.update(files.filter(has_end).unique().to_pylist())
        untold = set(files.filter(pc.invert(has_end)).unique().to_pylist())
        return bool(untold & self.ending or pc.any(_has_tag(head, tail, "P")).as_py())

    def ended_by(self, path: str, line: bytes) -> list[bytes]:
        """The lines that this one ends; none if it is a part."""
        piece = _piece_of(line, path in self.ending)
        if piece is None:
            return [line]
        pieces, size = self.open.pop((path, piece.stream), ([], 0))
        ended: list[bytes] = []
        if pieces and (_REQUEST.search(line) or size > LONGEST_LINE):
            ended, pieces, size = [part.line for part in pieces], [], 0
        if piece.is_last and not pieces:
            return [*ended, line]
        pieces.append(piece)
        if piece.is_last:
            return [pieces[0].holding(b"".join(part.text for part in pieces))]
        self.open[path, piece.stream] = pieces, size + len(line)
        return ended


def _piece_of(line: bytes, has_ends: bool) -> _Piece | None:
    """What a line of a container's file holds; None for others. `has_ends`: a line break ends whole lines."""
    if found := _CRI.match(line):
        return _Piece(line, found[2], line[found.end() :], found[3] == b"F", (found[1], found[4]))
    try:
        document = json.loads(line) if line.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not (name := _text_name(document)):
        return None
    tag = next((document[tag] for tag in _TAGS if tag in document), None)
    is_last = not has_ends or document[name].endswith("\n") if tag is None else tag != "P"
    return _Piece(
        line, str(document.get("stream")).encode(), document[name].encode(errors="replace"), is_last, document
    )


def _text_name(document: dict[str, Any]) -> str | None:
    return next((name for name in _TEXTS if isinstance(document.get(name), str)), None)
