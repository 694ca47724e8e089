"""Kafka's request log lines, parsed: in this process, and by Spark's workers.

Arrow's JSON reader takes all documents of a batch at once, or none of them, for a fifth of the work of Spark's
`from_json`. So the documents are cut out of the lines, and read; where the reader stumbles over one, in halves.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from .written_times import instants_text, written_times

OLD = (b"RequestHeader(", b"{api_key=", b"Name:")
"""How the text of a request begins that Kafka before 2.8 wrote; of 1.0 to 2.7, of 0.10 and 0.11, and of 0.8."""
SAMPLE = 200
"""Lines that tell what the brokers' pattern writes behind a document."""
BLOCK = 1 << 18
"""Bytes that are searched at once."""

_REPLICA = ("replicaId", pa.int32())
_SIZE, _OLD_SIZE = ("recordsSizeInBytes", pa.int64()), ("recordSetSizeInBytes", pa.int64())
_SIZES, _OLD_SIZES = (pa.list_(pa.struct([size])) for size in (_SIZE, _OLD_SIZE))
_HEADER = pa.struct(
    [
        ("correlationId", pa.int32()),
        ("clientId", pa.string()),
        ("requestApiKeyName", pa.string()),
        ("requestApiVersion", pa.int32()),
        ("requestApiVersionDeprecated", pa.bool_()),
    ]
)
_REQUEST = pa.struct(
    [
        _REPLICA,
        ("replicaState", pa.struct([_REPLICA])),
        ("topicData", pa.list_(pa.struct([("partitionData", _SIZES)]))),
    ]
)
_ANSWERED = pa.struct([("partitions", _SIZES), ("partitionResponses", _OLD_SIZES)])
_DOCUMENT = pa.schema(
    [
        ("isForwarded", pa.bool_()),
        ("requestHeader", _HEADER),
        ("request", _REQUEST),
        ("response", pa.struct([("responses", pa.list_(_ANSWERED))])),
        ("connection", pa.string()),
        ("localTimeMs", pa.float64()),
        ("throttleTimeMs", pa.float64()),
        ("principal", pa.string()),
        ("listener", pa.string()),
        ("clientInformation", pa.struct([("softwareName", pa.string()), ("softwareVersion", pa.string())])),
    ]
)
"""The fields that are read of a document."""


_UNTOLD = (b'"request":', b'"response":')
"""The fields for which Kafka writes "" where their value is unknown, such as of a request that came before the logger
was switched on, or where there is none, such as the answer to a request with `acks=0`."""

_FIELDS = {
    "forwarded": ("isForwarded",),
    "correlation_id": ("requestHeader", "correlationId"),
    "client_id": ("requestHeader", "clientId"),
    "api": ("requestHeader", "requestApiKeyName"),
    "api_version": ("requestHeader", "requestApiVersion"),
    "deprecated": ("requestHeader", "requestApiVersionDeprecated"),
    "old_replica": ("request", "replicaId"),
    "replica": ("request", "replicaState", "replicaId"),
    "connection": ("connection",),
    "io_ms": ("localTimeMs",),
    "throttle_ms": ("throttleTimeMs",),
    "principal": ("principal",),
    "listener": ("listener",),
    "software_name": ("clientInformation", "softwareName"),
    "software_version": ("clientInformation", "softwareVersion"),
}
_SUMS = {
    "produced": (("request", "topicData", "partitionData", "recordsSizeInBytes"),),
    "fetched": (
        ("response", "responses", "partitions", "recordsSizeInBytes"),
        ("response", "responses", "partitionResponses", "recordSetSizeInBytes"),
    ),
}
"""Bytes of records, over all partitions of all topics: as brokers name them, and as those of 2.8 do."""


def parsed_columns(lines: pa.Array) -> tuple[pa.Array, dict[str, pa.Array]]:
    """The lines as text, and the columns parsed from them; null where a line is not a request, or its document broken.

    `written` is the time in front of the mark, "" for none; `is_old`: an old Kafka wrote it, which wrote no JSON.
    """
    try:
        texts = lines.cast(pa.binary()).cast(pa.string()).fill_null("")
    except pa.ArrowInvalid:  # bytes that are not UTF-8, which a file may have and no string: with a sign instead
        each = lines.cast(pa.binary()).fill_null(b"").to_pylist()
        texts = pa.array([line.decode(errors="replace") for line in each], pa.string())
    marked = unwrapped(texts)
    some = marked.line.take(pa.array(marked.requests[:SAMPLE])).to_pylist()
    ends = Counter(line.rpartition("}")[2] for line in some)
    end = max(ends.items(), key=itemgetter(1), default=("", 0))[0]  # by the brokers' pattern; a cut line ends otherwise
    is_usual = np.asarray(pc.ends_with(marked.line, "}" + end))[marked.requests]
    usual, odd = marked.requests[is_usual], marked.requests[~is_usual]
    rows = np.concatenate([usual, odd])
    each = [*marked.slices(marked.begins[usual], marked.stops[usual] - len(end.encode()))]
    each += map(_first_document, marked.slices(marked.begins[odd], marked.stops[odd]))
    documents = pa.concat_tables([_DOCUMENT.empty_table(), *_together(each)])
    columns = {"written": written_times(marked.fronts(rows)), **_columns(documents)}
    others, is_old = marked.without_document(), np.zeros(len(texts), bool)
    begins = marked.slices(marked.begins[others], marked.stops[others])
    is_old[others] = [bytes(text[:20]).startswith(OLD) for text in begins]
    return texts, {"is_old": pa.array(is_old), **_spread(columns, rows, len(texts))}


def _together(texts: Sequence[bytes | memoryview]) -> Iterator[pa.Table]:
    """These documents, read at once; where Arrow stumbles over one, in smaller parts. A broken one has nulls."""
    if not len(texts):
        return
    text = bytearray(b"\n").join(texts)
    for value in _empty_strings(text):
        if text.endswith(_UNTOLD, 0, value):
            text[value - len('t":')] = ord("-")  # nobody asks for fields that are called `reques-` and `respons-`
    documents = json_rows(text, _DOCUMENT)
    if documents is not None and documents.num_rows == len(texts):
        yield documents
    elif len(texts) == 1:
        first = json_rows(bytearray(_first_document(memoryview(text))), _DOCUMENT)  # as of a line with another end
        yield pa.Table.from_pylist([{}], _DOCUMENT) if first is None else first
    else:
        yield from _together(texts[: len(texts) // 2])
        yield from _together(texts[len(texts) // 2 :])


def _empty_strings(text: bytearray) -> Iterator[int]:
    """The places of `""`. A block fits into a processor's cache, which halves the time."""
    for start in range(0, len(text), BLOCK):
        is_quote = np.frombuffer(text, np.uint8)[start : start + BLOCK + 1] == ord('"')
        yield from (start + np.flatnonzero(is_quote[:-1] & is_quote[1:])).tolist()


def _first_document(text: memoryview) -> bytes:
    """The document that a text begins with, as what follows it is passed over; an empty one where it has none."""
    try:
        words = bytes(text).decode()
        return words[: json.JSONDecoder().raw_decode(words)[1]].encode()
    except (ValueError, RecursionError):
        return b"{}"


def _columns(documents: pa.Table) -> dict[str, pa.Array]:
    rows = pa.StructArray.from_arrays([column.combine_chunks() for column in documents.columns], fields=list(_DOCUMENT))
    fields = {name: pc.struct_field(rows, path) for name, path in _FIELDS.items()}
    sums = {name: pc.coalesce(*(_sum(rows, path) for path in paths)) for name, paths in _SUMS.items()}
    return {**fields, **sums}


def _sum(documents: pa.Array, path: tuple[str, ...]) -> pa.Array:
    """The sums of the sizes in lists of lists, row by row; null where one of the lists is."""
    (*place, partitions, size) = path
    topics = pc.struct_field(documents, place)
    of_topic, of_row = pc.struct_field(topics.flatten(), partitions), pc.list_parent_indices(topics)
    sizes = pc.fill_null(pc.struct_field(of_topic.flatten(), size), 0)
    rows = np.asarray(of_row)[np.asarray(pc.list_parent_indices(of_topic))]
    sums = np.zeros(len(topics), np.int64)
    np.add.at(sums, rows, np.asarray(sizes))
    untold = np.asarray(topics.is_null()).copy()
    untold[np.asarray(of_row)[np.asarray(of_topic.is_null())]] = True
    return pa.array(sums, mask=untold)


def _spread(columns: dict[str, pa.Array], rows: Rows, count: int) -> dict[str, pa.Array]:
    """The found ones at these rows, out of so many; null elsewhere."""
    if np.array_equal(rows, np.arange(count)):
        return columns
    places, mask = np.zeros(count, np.int64), np.ones(count, bool)
    places[rows], mask[rows] = np.arange(len(rows)), False
    positions = pa.array(places, mask=mask)
    return {name: column.take(positions) for name, column in columns.items()}


# --- Kafka's lines out of what containers and collectors of logs make of them: JSON objects ---

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

    Docker's json-file, log4j2's JSON layouts, Fluent Bit, logstash, GELF, Loki and their like differ in names only: a
    line is an object, and one of its strings, at whatever depth, is Kafka's line.

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
    dated[kafkas.requests] = pc.not_equal(written_times(kafkas.fronts(kafkas.requests)), "")
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
