"""Kafka's request log as a frame: what `kafka.request.logger` writes at DEBUG, one line per request.

A line is a prefix of log4j's, which has the time, `Completed request:`, and one JSON document; what follows it is
passed over. `request_rows` reads the lines, here and on Spark's workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from itertools import starmap
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..frames.display import Display
from ..frames.relational import Frame, Measure, added_up, each_once, select, with_columns, words_of
from ..frames.spark import is_spark, is_stream
from ..model.findings import Row
from ..resolution.input_columns import CLUSTER
from .log_files import line_batches, local_files
from .request_rows import (
    ALL,
    CUT,
    FAULTY,
    IDENTITY,
    INTER_BROKER,
    NOT_KAFKA,
    OF_CLIENTS,
    REMARKS,
    SAMPLE,
    SCHEMA,
    LogReader,
    check_paths,
    is_chosen,
    refuse_sample,
    refuse_without_requests,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATE = "10 minutes"
"""How late a request of a stream may come, unless somebody says otherwise."""

TALLY: dict[str, Measure] = {
    "lines": ("sum", "lines"),
    "requests": ("count_rows", ""),
    **{name: ("count_true", name) for name in REMARKS},
}
"""Of `tallied` rows: how many lines and requests they are, and how many of these are unsized, or ambiguous."""


@dataclass(frozen=True)
class Counts:
    """The counts of a request log's lines, by their fate.

    `lines` = `requests` + `duplicates` + those `left_out` + those `quarantined`, both by reason. `ambiguous` are the
    requests in the hour that a clock put back passes twice, `unsized` those PRODUCE, FETCH and SHARE_FETCH whose bytes
    the log does not tell; of SHARE_FETCH it never does.
    `days`: of usage that was stored, the first and the last day in UTC.
    """

    lines: int
    requests: int
    duplicates: int
    left_out: Mapping[str, int]
    quarantined: Mapping[str, int]
    ambiguous: int
    unsized: int
    tz: str | None = field(default=None, repr=False)
    days: tuple[date, date] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], tz: str | None) -> Counts:
        """Out of rows with a `fault`, a `reason`, and the measures of TALLY."""
        rows = [row for row in rows if row["lines"]]
        good = [row for row in rows if row["fault"] is None]
        of_clients = [row for row in good if row["reason"] is None]
        quarantined = Counter[str]()
        for row in (row for row in rows if row["fault"] is not None):
            quarantined[row["fault"]] += row["lines"]
        return cls(
            lines=_total(rows, "lines"),
            requests=_total(of_clients, "requests"),
            duplicates=_total(good, "lines") - _total(good, "requests"),
            left_out={row["reason"]: row["requests"] for row in good if row["reason"] is not None},
            quarantined=quarantined,
            ambiguous=_total(of_clients, "ambiguous"),
            unsized=_total(of_clients, "unsized"),
            tz=tz,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the figures."""
        counts = sum(self.quarantined.values()), self.ambiguous, self.unsized
        reasons = ", ".join(f"{fault} ({count:,})" for fault, count in sorted(self.quarantined.items()))
        reasons += "; what was cut is missing, so that figures are a lower bound" * (CUT in self.quarantined)
        texts = (
            f"of {self.lines:,} lines are not requests, `.quarantine` has them: {reasons}",
            f"requests are in the hour that {self.tz} has twice: the first is assumed",
            "PRODUCE, FETCH or SHARE_FETCH do not report their bytes, so these are not counted",
        )
        return tuple(f"WARNING: {count:,} {text}" for count, text in zip(counts, texts, strict=True) if count)


@dataclass(frozen=True, repr=False)
class Requests(Display):
    """A request log: already read, in this process, or lazy, on Spark.

    `frame` is REQUESTS: what clients asked, each request once. `quarantine` has `path`, `line` and `reason` of every
    line that is not a request.
    """

    _lines: Any = field(repr=False)
    _reader: LogReader = field(repr=False)
    _dedupe: bool = field(repr=False)

    @property
    def cluster_id(self) -> str | None:
        """The cluster of the log, as it was given."""
        return self._reader.cluster_id

    @cached_property
    def frame(self) -> Frame:
        """The requests of clients, each once."""
        return self.once(in_time(self._lines.rows(self._request_columns, OF_CLIENTS)))

    @cached_property
    def quarantine(self) -> Frame:
        """`path`, `line` and `reason` of every line that is not a request."""
        rows = self._lines.rows(["path", "line", "fault"], FAULTY)
        return select(with_columns(rows, {"reason": words_of(rows).column("fault")}), ["path", "line", "reason"])

    @cached_property
    def counts(self) -> Counts:
        """The numbers of lines by what they became. Spark reads the log once for it.

        Raises
        ------
        Invalid
            A file cannot be read to its end, such as a truncated gzip.
        UsageError
            It is a stream, which has no end.
        """
        return self.counted(added_up(self.tallied(()), ["fault", "reason"], TALLY))

    def of_clients(self, names: Sequence[str]) -> Frame:
        """These columns of clients' requests, and the columns that `once` needs; `cluster_id` if the log has one."""
        wanted = {CLUSTER, *names, *(IDENTITY if self._dedupe else ())}
        return self._lines.rows([name for name in self._request_columns if name in wanted], OF_CLIENTS)

    def once(self, rows: Frame, together: Sequence[str] = ()) -> Frame:
        """Each request once, though its line may occur twice; `together` as of `frames.relational.each_once`.

        Of a stream, whose rows are `in_time`: that is twice within the time by which a request may be late.
        """
        if not self._dedupe:
            return rows
        if is_stream(rows):
            return rows.dropDuplicatesWithinWatermark([*IDENTITY])
        return each_once(rows, together=together)

    def tallied(self, names: Sequence[str]) -> Frame:
        """Every line, good or bad: these columns, of a request once with its number of `lines`; of others nothing.

        `fault` and `reason` say what they are, `unsized` and `ambiguous` what is to be known of a request.
        """
        chosen = [name for name in self._reader.columns if name in {CLUSTER, *names, *IDENTITY, *REMARKS}]
        rows = self._lines.rows(["fault", "reason", *chosen], ALL)
        if is_stream(rows):
            raise UsageError("a stream has no end to count its lines at", hint=_PROGRESS)
        words = words_of(rows)
        is_request = words.is_null(words.column("fault"))
        rows = with_columns(rows, {name: words.when(is_request, words.column(name)) for name in chosen})
        if self._dedupe:
            return added_up(rows, ["fault", "reason", *chosen], {"lines": ("count_rows", "")}, in_order=True)
        return with_columns(rows, {"lines": words.literal(1, pa.int64())})

    def counted(self, tally: Frame) -> Counts:
        """The counts, out of a frame with a row a `fault` and `reason` and the columns of TALLY."""
        return Counts.of(self._lines.listed(tally), self._reader.tz)

    @property
    def _request_columns(self) -> list[str]:
        return [name for name in (CLUSTER, *schemas.REQUESTS.names) if name in self._reader.columns]

    def _title(self) -> str:
        return "<Requests: .frame, .quarantine, .counts>"


_PROGRESS = "The progress of its query has them, as observedMetrics['request_log']."


def in_time(rows: Frame, late: str = LATE) -> Frame:
    """Requests; a stream's may be so late."""
    if not is_stream(rows):
        return rows
    from .spark_lines import watermarked

    return watermarked(rows, "time", late)


def requests(
    lines: str | PathLike[str] | Sequence[str | PathLike[str]] | Frame,
    *,
    spark: SparkSession | None = None,
    broker: int | str | Any = None,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
    dedupe: bool = True,
) -> Requests:
    """The requests of clients, from Kafka's request log of 2.8 or newer.

    A line may be in a string of a JSON object, as Docker, log4j2's JSON layouts and collectors of logs write it.

    Parameters
    ----------
    lines
        Files and folders, with everything below them, plain, gzip, bzip2, lz4 or zstd; `*` and `?` are patterns:
        `logs/*/*request*`. Or a Spark
        DataFrame of lines, with a column `line` or `value`, and `path` if it names the broker. It may be a stream: of
        files, of Auto Loader, of a Kafka topic.
    spark
        The session that reads the files, from any place that it can read. Default: this process reads local files, all
        at once.
    broker
        The broker that wrote it: an id, or a regular expression whose group is the id within a file's path
        (`r"broker-(\\d+)/"`). Required.
    tz
        The brokers' time zone, `Europe/Berlin`: log4j writes their local time. Not needed if the pattern has an offset
        or a zone's name, which count whatever `tz` is; or if the lines have no time and their JSON objects do.
        For an hour that occurs twice the first is assumed, and `counts` has the number of its requests.
    cluster_id
        Becomes the first column.
    inter_broker
        Names of the listeners that brokers use between themselves, or one regular expression for them.
    dedupe
        Whether a request counts once even if its line is read twice. False takes 10 to 25 % less time: use it for logs
        without copies of files, and without files that log4j may be rolling.

    Raises
    ------
    NotFound
        No such path, no file below it, or no line in them. Of a path that Spark reads `Invalid`, in its own words.
    Invalid
        None of the lines is from Kafka's request log, no request in a sample can be read, or a compressed file ends
        before its time.
    UsageError
        A missing `tz`, if the times need one; an unknown broker, in the first lines or from a file's path; a frame
        without lines.

    Notes
    -----
    Spark looks at the first lines here; all else is found when the frame is used, and stands in `.quarantine`.
    A stream has no first lines: what cannot be read of it is counted by the progress of its query, in
    `observedMetrics["request_log"]`: `lines`, and of these the `quarantined` and those `left_out`.
    """
    reader = LogReader.of(broker, tz, cluster_id, inter_broker)
    places: Any = lines
    if not is_spark(lines):
        places = [str(path) for path in ([lines] if isinstance(lines, str | PathLike) else lines)]
    if is_spark(lines) or spark is not None:
        from .spark_lines import spark_lines

        return Requests(spark_lines(places, spark or places.sparkSession, reader), reader, dedupe)
    files = local_files(places)
    check_paths(reader.broker, (str(file.absolute()) for file in files))
    return Requests(_lines_here(files, reader, ", ".join(places)), reader, dedupe)


@dataclass(frozen=True)
class _LinesHere:
    """Lines that were read in this process: the requests without their text, and the others."""

    good: pa.Table
    bad: pa.Table

    def rows(self, names: Sequence[str], which: str) -> pa.Table:
        """These columns, of the lines that are meant; of faulty lines only the text and fault is known."""
        if which == FAULTY:
            return self.bad.select(names)
        if which == ALL:
            return pa.concat_tables([self.good, self.bad], promote_options="default").select(names)
        return self.good.filter(is_chosen(self.good["fault"], self.good["reason"], which)).select(names)

    def listed(self, frame: pa.Table) -> list[dict[str, Any]]:
        """The rows of a small frame that was made of them."""
        rows: list[dict[str, Any]] = frame.to_pylist()
        return rows


def _lines_here(files: Sequence[Path], reader: LogReader, source: str) -> _LinesHere:
    """The lines of local files; refused where the first requests, or none at all, can be read."""
    kept = [name for name in reader.columns if name not in ("path", "line")]
    good, bad, sampled, first = list[pa.RecordBatch](), list[pa.RecordBatch](), list[Row](), list[Row]()
    for rows in starmap(reader.rows, line_batches(files)):
        if len(sampled) < SAMPLE:
            is_request = pc.fill_null(pc.not_equal(rows["fault"], NOT_KAFKA), True)
            some = rows.filter(is_request).slice(0, SAMPLE - len(sampled))
            sampled += some.select(["path", "fault"]).to_pylist()
            if len(sampled) == SAMPLE:
                refuse_sample(sampled)
        if not first:
            first = rows.filter(pc.not_equal(pc.utf8_trim_whitespace(rows["line"]), "")).slice(0, 1).to_pylist()
        is_bad = rows["fault"].is_valid()
        good.append(rows.select(kept).filter(pc.invert(is_bad)))
        bad.append(rows.select(_REJECTED).filter(is_bad))
    refuse_without_requests(sampled, first[0] if first else None, source)
    schemas_of = (pa.schema([SCHEMA.field(name) for name in names]) for names in (kept, _REJECTED))
    requests, others = map(pa.Table.from_batches, (good, bad), schemas_of)
    return _LinesHere(requests, others)


_REJECTED = ["path", "line", "fault"]


def _total(rows: Iterable[Mapping[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)
