"""The lines of a request log in Spark: of files wherever Spark reads, or of a frame; lazy but for a look at the first.

Workers of Python read the lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import NotFound, UsageError
from ..fleets.workers import Batches, by_value
from ..frames.relational import TEXT, of_kinds
from ..frames.spark import errors_in_one_line, spark_schema
from ..model.config_units import length_of_time
from .log_files import LONGEST_LINE
from .log_lines import MARK
from .request_rows import (
    ALL,
    BROKER_HINT,
    NOT_KAFKA,
    OF_CLIENTS,
    SAMPLE,
    SCHEMA,
    LogReader,
    check_paths,
    is_chosen,
    refuse_without_requests,
)

_LABEL = "the lines"
OBSERVED = "request_log"
"""The name of the lines' counts among the `observedMetrics` of a query's progress."""


@dataclass(frozen=True)
class SparkLines:
    """The lines of a log in Spark: `path` and `line`."""

    text: DataFrame
    reader: LogReader

    def rows(self, names: Sequence[str], which: str = ALL) -> DataFrame:
        """These columns, of the lines that are meant; workers hand out nothing else, as that takes time too.

        Of a stream they hand out all lines of which clients' are meant, as its query counts them.
        """
        if which == OF_CLIENTS and self.text.isStreaming:
            read = _read(self.text, self.reader, [*names, "fault", "reason"], ALL)
            counted = read.observe(
                OBSERVED,
                F.count("*").alias("lines"),
                F.count_if(F.isnotnull("fault")).alias("quarantined"),
                F.count_if(F.isnull("fault") & F.isnotnull("reason")).alias("left_out"),
            )
            return counted.where(F.isnull("fault") & F.isnull("reason")).select(*names)
        return _read(self.text, self.reader, names, which)

    def listed(self, frame: DataFrame) -> list[dict[str, Any]]:
        """A small frame that was made of them; Spark works for it.

        Raises
        ------
        Invalid
            A file cannot be read to its end.
        """
        with errors_in_one_line():
            return [row.asDict() for row in frame.collect()]

    def look(self, source: str) -> None:
        """Read the first requests, and no line more; refuse a log without any, or of which none can be read."""
        sampled = self._sampled(self.text.where(F.contains("line", F.lit(MARK.decode()))).limit(SAMPLE))
        first = [] if sampled else self.listed(self.text.where(F.trim("line") != "").limit(1))
        refuse_without_requests(sampled, first[0] if first else None, source)

    def _sampled(self, text: DataFrame) -> list[dict[str, Any]]:
        """The requests among these lines, read well or not."""
        read = _read(text, self.reader, ["path", "fault"], ALL)
        return [row for row in self.listed(read) if row["fault"] != NOT_KAFKA][:SAMPLE]


def spark_lines(lines: Sequence[str] | DataFrame, spark: SparkSession, reader: LogReader) -> SparkLines:
    """The lines of these paths, or of a frame that has them; their first requests were looked at.

    Raises
    ------
    NotFound, Invalid, UsageError
        As `requests`.
    """
    if isinstance(lines, DataFrame):
        read = SparkLines(_of_frame(lines), reader)
        is_told_by_path = isinstance(reader.broker, str)
        if lines.isStreaming:
            if is_told_by_path and "path" not in lines.columns:
                raise UsageError("the lines have no column path, which should name the broker", hint=BROKER_HINT)
            return read
        if is_told_by_path:
            check_paths(reader.broker, (row.path for row in read.text.select("path").distinct().collect()))
        read.look(_LABEL)
        return read
    text = _text_of(spark, lines)
    check_paths(reader.broker, _files_of(text, lines))
    read = SparkLines(text.select(F.col("_metadata.file_path").alias("path"), F.col("value").alias("line")), reader)
    read.look(", ".join(lines))
    return read


def _of_frame(lines: DataFrame) -> DataFrame:
    """The lines of a table that has them, or of a source of Spark's: a topic of Kafka has bytes."""
    if "line" not in lines.columns:
        lines = lines.withColumnRenamed("value", "line")
    if dict(lines.dtypes).get("line") == "binary":
        lines = lines.withColumn("line", F.col("line").cast("string"))
    texts: DataFrame = of_kinds(lines, {"path": TEXT, "line": TEXT}, _LABEL, or_without=("path",))
    path = F.col("path") if "path" in texts.columns else F.lit(None)
    return texts.select(F.coalesce(path.cast("string"), F.lit(_LABEL)).alias("path"), "line")


def _read(text: DataFrame, reader: LogReader, names: Sequence[str], which: str) -> DataFrame:
    work = by_value(rows_of_batches, (reader, tuple(names), which))
    schema = pa.schema([SCHEMA.field(name) for name in names])
    return text.select("path", "line").mapInArrow(work, spark_schema(schema))


def rows_of_batches(job: tuple[LogReader, tuple[str, ...], str], batches: Batches) -> Iterator[pa.RecordBatch]:
    """These columns of the lines that are meant; Spark's workers run it."""
    reader, names, which = job
    for batch in batches:
        rows = reader.rows(batch.column("path"), batch.column("line"))
        chosen = rows.select(list(names))
        yield chosen if which == ALL else chosen.filter(is_chosen(rows["fault"], rows["reason"], which))


def _text_of(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The lines of files, and of all below folders; those too long to be Kafka's are passed over by Hadoop's reader."""
    longest = {"mapreduce.input.linerecordreader.line.maxlength": str(LONGEST_LINE)}
    reader = spark.read.options(recursiveFileLookup="true", **longest)
    with errors_in_one_line():
        return reader.text(list(dict.fromkeys(paths)))


def _files_of(text: DataFrame, paths: Sequence[str]) -> list[str]:
    """The files, as Spark writes them.

    Raises
    ------
    NotFound
        There is none.
    """
    with errors_in_one_line():
        files = list(text.inputFiles())
    if not files:
        raise NotFound(f"no file below {', '.join(paths)}")
    return files


# --- requests and usage that keep coming, in Structured Streaming: a window closes once the watermark is past it ---

_MARK = "spark.watermarkDelayMs"
"""The metadata by which Spark knows the time of an event."""


def watermarked(rows: DataFrame, time: str, late: str) -> DataFrame:
    """The rows, whose `time` tells how late they are.

    Raises
    ------
    UsageError
        `late` is not a length.
    """
    length = length_of_time(late)
    if length is None:
        raise UsageError(f"late={late} is not a length of time", hint="For example '10 minutes'.")
    return rows.withWatermark(time, f"{length // timedelta(milliseconds=1)} milliseconds")


def window_ends(totals: DataFrame, window: str) -> dict[str, Column]:
    """`window_start` and `window_end` of a window, by whose end Spark goes on to tell how late a row is."""
    mark = {_MARK: totals.schema[window].metadata[_MARK]}
    start, end = (F.col(window).getField(name) for name in ("start", "end"))
    return {"window_start": start, "window_end": end.alias("window_end", metadata=mark)}


def timed_as(rows: DataFrame, end: str, usage: DataFrame, late: str) -> DataFrame:
    """The rows of a usage, late by their `end`: as the usage is, and where it comes out of a table, by so much."""
    mark = usage.schema["window_end"].metadata.get(_MARK)
    if mark is None:
        return watermarked(rows, end, late)
    others = [name for name in rows.columns if name != end]
    return rows.select(*others, F.col(end).alias(end, metadata={_MARK: mark}))  # withColumn of Connect would forget it
