"""Kafka's request log as a frame in Spark: what `kafka.request.logger` writes at DEBUG, a line a request.

A line is a prefix of log4j's, which has the time, `Completed request:`, and one JSON document; what follows it is
passed over. Workers of Python read the lines, by the code of `traffic.request_rows`; Spark drops what is there twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ..errors import Invalid
from ..frames import schemas
from ..frames.display import Display
from ..resolution.input_columns import CLUSTER
from ..traffic.broker_names import BrokerInPath, broker_names
from ..traffic.line_counts import SAMPLE, TALLY, Counts, damage_warnings, no_request, refuse_sample
from ..traffic.log_files import TORN
from ..traffic.log_lines import MARK
from ..traffic.log_times import check_zone
from ..traffic.request_rows import DAMAGED, IDENTITY, INTER_BROKER, REMARKS, SCHEMA, LogReader, listeners_pattern
from . import worker_code
from .input_columns import check_text
from .log_files import LogFiles
from .output_columns import spark_schema
from .spark_errors import in_one_line

_GOOD = "fault IS NULL"
ALL, OF_CLIENTS, OF_OTHERS, FAULTY = "all", "of clients", "of others", "faulty"
"""The lines that workers hand out."""


@dataclass(frozen=True, repr=False)
class Requests(Display):
    """A request log, read when it is asked for.

    `frame` is REQUESTS: what clients asked, each request once. `left_out` has the same columns and a `reason`:
    `inter-broker`, `follower` or `forwarded`.
    """

    frame: DataFrame
    left_out: DataFrame
    _rejected: DataFrame = field(repr=False)
    _text: DataFrame = field(repr=False)
    _reader: LogReader = field(repr=False)
    _files: LogFiles | None = field(repr=False)
    _dedupe: bool = field(repr=False)

    @property
    def cluster_id(self) -> str | None:
        """The cluster that the log was said to be of."""
        return self._reader.cluster_id

    @cached_property
    def quarantine(self) -> DataFrame:
        """`path`, `line` and `reason` of every line that is not a request, and without a `line` of every damaged file.

        Compressed files are unpacked here, to find those that are damaged.
        """
        damaged = self._damaged
        if not damaged:
            return self._rejected
        table = pa.table({"path": pa.array(damaged), "line": pa.nulls(len(damaged), pa.string())})
        files = self._text.sparkSession.createDataFrame(table).withColumn("reason", F.lit(DAMAGED))
        return self._rejected.unionByName(files)

    @cached_property
    def counts(self) -> Counts:
        """The lines, counted by their fate. The log is read for it once, and compressed files are unpacked once more.

        Raises
        ------
        Invalid
            A file cannot be read to its end, as a gzip that was cut short, and the log is read strictly.
        """
        with in_one_line():
            return self.counted(self.tallied(()).groupBy("fault", "reason").agg(*tally()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each damaged file, for which compressed files are unpacked; `counts.warnings` has more."""
        return damage_warnings(self._damaged)

    @property
    def _damaged(self) -> tuple[str, ...]:
        return self._files.damaged if self._files else ()

    def only(
        self, names: Sequence[str], more: dict[str, Column] | None = None, together: Sequence[str] = ()
    ) -> DataFrame:
        """These columns, `cluster_id` where there is one, and `more` made of them, of each request once.

        It is less to carry than `frame`. Rows that agree in `together` are brought to one place for it: to group by
        these columns, with or without others, takes no second shuffle.
        """
        wanted = {CLUSTER, *names, *(IDENTITY if self._dedupe else ())}
        chosen = [name for name in self._reader.columns if name in wanted]
        rows = _read(self._text, self._reader, chosen, OF_CLIENTS).withColumns(more or {})
        if not self._dedupe:
            return rows
        return (rows.repartition(*together) if together else rows).distinct()

    def tallied(self, names: Sequence[str]) -> DataFrame:
        """Every line, good or bad: these columns, of a request once with its number of `lines`; of others nothing.

        `fault` and `reason` say what they are, `unsized` and `ambiguous` what is to be known of a request.
        """
        chosen = [name for name in self._reader.columns if name in {CLUSTER, *names, *IDENTITY, *REMARKS}]
        rows = _read(self._text, self._reader, ["fault", "reason", *chosen])
        rows = rows.select("fault", "reason", *(F.when(F.expr(_GOOD), F.col(name)).alias(name) for name in chosen))
        if self._dedupe:
            return rows.groupBy(*rows.columns).agg(F.count("*").alias("lines"))
        return rows.withColumn("lines", F.lit(1).cast("bigint"))

    def counted(self, tally: DataFrame) -> Counts:
        """The counts, out of a frame with a row a `fault` and `reason` and the columns of `tally`."""
        return Counts.of((row.asDict() for row in tally.collect()), self._damaged, self._reader.tz)

    def title(self) -> str:
        return "<Requests: .frame, .left_out, .quarantine, .counts>"


def requests(
    spark: SparkSession,
    path: str | PathLike[str] | Sequence[str | PathLike[str]] | DataFrame,
    *,
    broker: int | str | Any = None,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
    names: str | None = None,
    dedupe: bool = True,
    strict: bool = False,
) -> Requests:
    """The requests that clients made, out of Kafka's request log.

    Parameters
    ----------
    path
        Files and folders, with all that is below them, plain or gzip, wherever Spark reads; or a frame of lines, with
        a column `line`, and `path` where the broker is told by it.
    broker
        The broker that wrote it: an id; a regular expression whose group is the id within a file's path
        (`r"broker-(\\d+)/"`, as Java spells them); or a frame with `id`, `host` and `port`, such as BROKERS, matched
        with the local address of each connection. Such a `host` is an address as the broker sees it; `port` decides
        where hosts have several brokers. It is required.
    tz
        The brokers' time zone, `Europe/Berlin`: log4j writes their local time. Not needed where the pattern has an
        offset. Of an hour that the clock passes twice the first is taken, and `counts` says how many requests it has.
    cluster_id
        Becomes the first column.
    inter_broker
        Names of the listeners that brokers use among themselves, or one regular expression of them.
    names
        A pattern of file names to read below a folder, such as `*request*`.
    dedupe
        Whether a request whose line is read twice counts once. False takes the log's word for it, and 10 to 25 % less
        time: for logs of which no file is there under two names, and none is read that log4j may be rolling.
    strict
        Whether a compressed file that is damaged stops the query. Else it is read as far as it goes, and is named in
        `counts` and `quarantine`.

    Raises
    ------
    NotFound
        No such path, no file below it, or no line in them.
    Invalid
        None of the lines is of Kafka's request log, or no sample of them can be read.
    UsageError
        No `tz` where the times need one, a broker that cannot be told: of the first lines, or by a file's path; a
        frame without lines.

    Notes
    -----
    The first lines are looked at here; all else is found when the frame is used, and stands in `.quarantine`.
    """
    check_zone(tz)
    reader = LogReader(broker_names(broker), tz, listeners_pattern(inter_broker), cluster_id)
    files = None if isinstance(path, DataFrame) else LogFiles(spark, _strings(path), names, strict)
    text = files.lines() if files else _of_frame(path)
    reader.broker.check(files.paths if files else _paths_in(text, reader))
    _look(text, path, reader, files)
    rejected = _read(text, reader, ["path", "line", "fault"], FAULTY).withColumnRenamed("fault", "reason")
    ours = [name for name in (CLUSTER, *schemas.REQUESTS.names) if name in reader.columns]
    frame, left_out = _read(text, reader, ours, OF_CLIENTS), _read(text, reader, [*ours, "reason"], OF_OTHERS)
    if dedupe:
        frame, left_out = frame.distinct(), left_out.distinct()
    return Requests(frame, left_out, rejected, text, reader, files, dedupe)


def _strings(path: Any) -> list[str]:
    paths = [path] if isinstance(path, str | PathLike) else path
    return [str(one) for one in paths]


def _paths_in(text: DataFrame, reader: LogReader) -> Iterable[str]:
    """The paths of lines, where the broker is told by them."""
    if not isinstance(reader.broker, BrokerInPath):
        return ()
    return [row.path for row in text.select("path").distinct().collect()]


def _of_frame(lines: Any) -> Any:
    """The lines of a table, where somebody has put them."""
    types = {field.name: field.dataType for field in lines.schema}
    schemas.require_columns("the lines", ["line"], types)
    for name in ("path", "line"):
        check_text(name, types.get(name, StringType()), "the lines")
    path = F.col("path") if "path" in types else F.lit(None)
    return lines.select(F.coalesce(path.cast("string"), F.lit(_source_text(lines))).alias("path"), "line")


def _source_text(path: Any) -> str:
    if isinstance(path, DataFrame):
        return "the lines"
    return str(path) if isinstance(path, str | PathLike) else ", ".join(map(str, path))


def _read(text: DataFrame, reader: LogReader, names: Sequence[str], which: str = ALL) -> DataFrame:
    """These columns of `traffic.request_rows.SCHEMA`; workers hand out nothing else, as that takes time too."""
    work = worker_code.by_value(_rows_of_batches, (reader, tuple(names), which))
    schema = pa.schema([SCHEMA.field(name) for name in names])
    return text.select("path", "line").mapInArrow(work, spark_schema(schema))


def _rows_of_batches(
    job: tuple[LogReader, tuple[str, ...], str], batches: worker_code.Batches
) -> Iterator[pa.RecordBatch]:
    reader, names, which = job
    for batch in batches:
        rows = reader.rows(batch.column("path"), batch.column("line"))
        chosen = rows.select(list(names))
        yield chosen if which == ALL else chosen.filter(_is_chosen(rows["fault"], rows["reason"], which))


def _is_chosen(fault: pa.Array, reason: pa.Array, which: str) -> pa.Array:
    if which == FAULTY:
        return fault.is_valid()
    return pc.and_(fault.is_null(), reason.is_null() if which == OF_CLIENTS else reason.is_valid())


def _look(text: DataFrame, path: Any, reader: LogReader, files: LogFiles | None) -> None:
    """Read the first requests, and no line more; complain where there are none, or none can be read."""
    first_requests = text.where(F.contains("line", F.lit(MARK.decode()))).limit(SAMPLE)
    with in_one_line():
        sampled = _read(first_requests, reader, ["path", "connection", "fault"]).collect()
        first = [] if sampled else text.where(F.trim("line") != "").limit(1).collect()
    if sampled:
        refuse_sample([row.asDict() for row in sampled])
    elif not first and files and files.damaged:
        raise Invalid(f"{files.damaged[0]} cannot be read", hint=TORN)
    else:
        raise no_request((first[0].path, first[0].line) if first else None, _source_text(path))


def tally() -> list[Column]:
    """Of `tallied` rows: how many lines and requests they are, and how many of these are unsized, or ambiguous."""
    measures = (F.sum("lines"), F.count("*"), *map(F.count_if, REMARKS))
    return [measure.alias(name) for measure, name in zip(measures, TALLY, strict=True)]
