"""Kafka's request log as a frame, read in this process: what `kafka.request.logger` writes at DEBUG, a line a request.

The same rows as `analytics.requests` gives over Spark, by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid
from ..frames import schemas
from ..frames.display import Display
from ..resolution.input_columns import CLUSTER
from .broker_names import broker_names
from .line_counts import SAMPLE, TALLY, Counts, damage_warnings, no_request, refuse_sample
from .log_files import TORN, LogLines, ReadSoFar, address, local_files
from .log_times import check_zone
from .request_rows import (
    DAMAGED,
    IDENTITY,
    INTER_BROKER,
    NOT_KAFKA,
    REMARKS,
    SCHEMA,
    LogReader,
    listeners_pattern,
)

QUARANTINE = pa.schema([("path", pa.string()), ("line", pa.string()), ("reason", pa.string())])


@dataclass(frozen=True, repr=False)
class Requests(Display):
    """A request log that was read in this process.

    `frame` is REQUESTS: what clients asked, each request once. `left_out` has the same columns and a `reason`:
    `inter-broker`, `follower` or `forwarded`. `quarantine` has `path`, `line` and `reason` of every line that is not a
    request, and without a `line` of every damaged file.
    """

    quarantine: pa.Table
    damaged: tuple[str, ...]
    _rows: pa.Table = field(repr=False)
    _dedupe: bool = field(repr=False)
    _tz: str | None = field(default=None, repr=False)

    @cached_property
    def frame(self) -> pa.Table:
        """The requests of clients, each once."""
        return self._each(self._of_clients, self._request_columns)

    @cached_property
    def left_out(self) -> pa.Table:
        """The requests of brokers and forwarded ones, each once, with the `reason`."""
        return self._each(self._rows.filter(self._rows["reason"].is_valid()), [*self._request_columns, "reason"])

    @cached_property
    def counts(self) -> Counts:
        """The lines, counted by their fate."""
        return Counts.of([*self._counted_requests(), *self._counted_faults()], self.damaged, self._tz)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each damaged file; `counts.warnings` has more."""
        return damage_warnings(self.damaged)

    def only(self, names: Sequence[str]) -> pa.Table:
        """These columns, and `cluster_id` where there is one, of each request once."""
        wanted = {CLUSTER, *names, *(IDENTITY if self._dedupe else ())}
        return self._each(self._of_clients, [name for name in self._request_columns if name in wanted])

    @property
    def _of_clients(self) -> pa.Table:
        return self._rows.filter(self._rows["reason"].is_null())

    @property
    def _request_columns(self) -> list[str]:
        return [name for name in (CLUSTER, *schemas.REQUESTS.names) if name in self._rows.column_names]

    def _each(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        return each_once(rows, names) if self._dedupe else rows.select(names)

    def _counted_requests(self) -> list[dict[str, Any]]:
        names = [name for name in (CLUSTER, "reason", *REMARKS, *IDENTITY) if name in self._rows.column_names]
        rows = self._rows.select(names)
        once = rows.group_by(names).aggregate([([], "count_all")]) if self._dedupe else _one_line_each(rows)
        sums = [("count_all", "sum"), ([], "count_all"), *((name, "sum") for name in REMARKS)]
        counted = once.group_by("reason").aggregate(sums).rename_columns(["reason", *TALLY])
        return [{**row, "fault": None} for row in counted.to_pylist()]

    def _counted_faults(self) -> list[dict[str, Any]]:
        lines = self.quarantine.filter(self.quarantine["line"].is_valid())
        counted = lines.group_by("reason").aggregate([([], "count_all")])
        return [{"fault": row["reason"], "reason": None, "lines": row["count_all"]} for row in counted.to_pylist()]

    def title(self) -> str:
        return "<Requests: .frame, .left_out, .quarantine, .counts>"


def each_once(rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """These columns, without the rows that are there before."""
    return rows.select(names).group_by(names, use_threads=False).aggregate([])


def _one_line_each(rows: pa.Table) -> pa.Table:
    return rows.append_column("count_all", pa.array([1] * len(rows), pa.int64()))


def requests(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    broker: int | str | Any = None,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
    names: str | None = None,
    dedupe: bool = True,
    strict: bool = False,
    progress: ReadSoFar | None = None,
) -> Requests:
    """The requests that clients made, out of local files of Kafka's request log; all is read at once.

    Parameters
    ----------
    path
        Files and folders, with all that is below them, plain, gzip or bzip2; `*` and `?` in them are patterns.
    broker, tz, cluster_id, inter_broker, names, dedupe, strict
        As of `analytics.requests`.
    progress
        Called now and then with the bytes that are read so far, and with those of all files, as they are on the disk.

    Raises
    ------
    NotFound, Invalid, UsageError
        As `analytics.requests`.
    """
    check_zone(tz)
    reader = LogReader(broker_names(broker), tz, listeners_pattern(inter_broker), cluster_id)
    paths = [str(one) for one in ([path] if isinstance(path, str | PathLike) else path)]
    lines = LogLines(local_files(paths, names), strict, progress)
    reader.broker.check(map(address, lines.files))
    reading = _Reading(reader)
    for file, texts in lines.batches():
        reading.add(file, texts)
    reading.refuse_without_requests(lines, ", ".join(paths))
    quarantine = pa.Table.from_batches([*reading.bad, _of_damaged(lines.damaged)], QUARANTINE)
    return Requests(quarantine, tuple(lines.damaged), reading.rows(), dedupe, tz)


class _Reading:
    """Lines that were read: `good` ones are requests, `bad` ones are as QUARANTINE."""

    def __init__(self, reader: LogReader) -> None:
        self.good: list[pa.RecordBatch] = []
        self.bad: list[pa.RecordBatch] = []
        self._reader, self._sample = reader, list[dict[str, Any]]()
        self._first: tuple[str, str] | None = None

    def add(self, file: str, texts: pa.Array) -> None:
        """The lines of a file."""
        rows = self._reader.rows(pa.repeat(file, len(texts)), texts)
        if len(self._sample) < SAMPLE:
            self._look_at(rows)
        is_bad = rows["fault"].is_valid()
        self.good.append(rows.select(self._kept).filter(pc.invert(is_bad)))
        bad = rows.select(_REJECTED).filter(is_bad)
        self.bad.append(pa.RecordBatch.from_arrays(bad.columns, schema=QUARANTINE))

    def rows(self) -> pa.Table:
        """The requests, those of brokers too."""
        return pa.Table.from_batches(self.good, pa.schema([SCHEMA.field(name) for name in self._kept]))

    def refuse_without_requests(self, lines: LogLines, source: str) -> None:
        """Refuse a log of which no request could be read."""
        if self._sample:
            refuse_sample(self._sample)
        elif self._first is None and lines.damaged:
            raise Invalid(f"{lines.damaged[0]} cannot be read", hint=TORN)
        else:
            raise no_request(self._first, source)

    @property
    def _kept(self) -> list[str]:
        return [name for name in self._reader.columns if name not in _REJECTED]

    def _look_at(self, rows: pa.RecordBatch) -> None:
        """The first requests, read well or not; as soon as there are enough of them they are judged."""
        is_request = pc.fill_null(pc.not_equal(rows["fault"], NOT_KAFKA), True)
        requests = rows.filter(is_request).slice(0, SAMPLE - len(self._sample))
        self._sample += requests.select(["path", "connection", "fault"]).to_pylist()
        if len(self._sample) == SAMPLE:
            refuse_sample(self._sample)
        texts = rows.filter(pc.not_equal(pc.utf8_trim_whitespace(rows["line"]), "")).slice(0, 1)
        self._first = self._first or next(((row["path"], row["line"]) for row in texts.to_pylist()), None)


_REJECTED = ["path", "line", "fault"]


def _of_damaged(files: Sequence[str]) -> pa.RecordBatch:
    columns = [pa.array(files, pa.string()), pa.nulls(len(files), pa.string()), pa.array([DAMAGED] * len(files))]
    return pa.RecordBatch.from_arrays([column.cast(pa.string()) for column in columns], schema=QUARANTINE)
