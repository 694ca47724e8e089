"""The lines of a request log in Spark: of files wherever Spark reads, or of a frame; lazy but for a look at the first.

Workers of Python read the lines. A compressed file that ends before its time is found by unpacking it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import Invalid, KadminError, NotFound, UsageError
from ..fleets.workers import Batches, by_value
from ..frames.relational import TEXT, of_kinds
from ..frames.spark import missing_package_named, spark_schema
from .cut_lines import CutLines
from .log_files import LONGEST_LINE, TORN
from .request_rows import (
    ALL,
    BROKER_HINT,
    CUT,
    NOT_KAFKA,
    OF_CLIENTS,
    SAMPLE,
    SCHEMA,
    BrokerInPath,
    LogReader,
    is_chosen,
    no_request,
    refuse_sample,
)
from .streams import with_counts
from .wrapped_lines import MARK

_LABEL = "the lines"
FIRST_LINES = 1_000
"""Lines that are looked at where all of the first requests are cut."""


@dataclass(frozen=True)
class SparkLines:
    """The lines of a log in Spark: `path` and `line`, and the files that they are of."""

    text: DataFrame
    reader: LogReader
    files: LogFiles | None

    @property
    def damaged(self) -> tuple[str, ...]:
        """The compressed files that cannot be read to their end; all compressed ones are unpacked for it."""
        return self.files.damaged if self.files else ()

    def rows(self, names: Sequence[str], which: str = ALL) -> DataFrame:
        """These columns, of the lines that are meant; workers hand out nothing else, as that takes time too.

        Of a stream they hand out all lines of which clients' are meant, as its query counts them.
        """
        if which == OF_CLIENTS and self.text.isStreaming:
            counted = with_counts(_read(self.text, self.reader, [*names, "fault", "reason"], ALL, self.is_in_order))
            return counted.where(F.isnull("fault") & F.isnull("reason")).select(*names)
        return _read(self.text, self.reader, names, which, self.is_in_order)

    def listed(self, frame: DataFrame) -> list[dict[str, Any]]:
        """A small frame that was made of them; Spark works for it.

        Raises
        ------
        Invalid
            A file cannot be read to its end.
        """
        with in_one_line():
            return [row.asDict() for row in frame.collect()]

    def look(self, source: str) -> None:
        """Read the first requests, and no line more; complain where there are none, or none can be read."""
        sampled = self._sampled(self.text.where(F.contains("line", F.lit(MARK.decode()))).limit(SAMPLE))
        if sampled and all(row["fault"] == CUT for row in sampled):  # the other parts have no mark
            sampled = self._sampled(self.text.limit(FIRST_LINES)) or sampled
        first = [] if sampled else self.listed(self.text.where(F.trim("line") != "").limit(1))
        if sampled:
            refuse_sample(sampled)
        elif not first and self.damaged:
            raise Invalid(f"{self.damaged[0]} cannot be read", hint=TORN)
        else:
            raise no_request((first[0]["path"], first[0]["line"]) if first else None, source)

    def _sampled(self, text: DataFrame) -> list[dict[str, Any]]:
        """The requests among these lines, read well or not."""
        read = _read(text, self.reader, ["path", "connection", "fault"], ALL, self.is_in_order)
        return [row for row in self.listed(read) if row["fault"] != NOT_KAFKA][:SAMPLE]

    @property
    def is_in_order(self) -> bool:
        """Do the lines follow each other as they were written? Those of files do, within a partition."""
        return self.files is not None


def spark_lines(
    lines: Sequence[str] | DataFrame, spark: SparkSession, reader: LogReader, names: str | None, strict: bool
) -> SparkLines:
    """The lines of these paths, or of a frame that has them; their first requests were looked at.

    Raises
    ------
    NotFound, Invalid, UsageError
        As `requests`.
    """
    if isinstance(lines, DataFrame):
        read = SparkLines(_of_frame(lines), reader, None)
        if lines.isStreaming:
            _refuse_untold_broker(lines, reader)
            return read
    else:
        files = LogFiles(spark, lines, names, strict)
        read = SparkLines(files.lines(), reader, files)
    reader.broker.check(read.files.paths if read.files else _paths_in(read.text, reader))
    read.look(_LABEL if isinstance(lines, DataFrame) else ", ".join(lines))
    return read


def _paths_in(text: DataFrame, reader: LogReader) -> Iterable[str]:
    """The paths of lines, where the broker is told by them."""
    if not isinstance(reader.broker, BrokerInPath):
        return ()
    return [row.path for row in text.select("path").distinct().collect()]


def _refuse_untold_broker(lines: DataFrame, reader: LogReader) -> None:
    if isinstance(reader.broker, BrokerInPath) and "path" not in lines.columns:
        raise UsageError("the lines have no column path, which should name the broker", hint=BROKER_HINT)


def _of_frame(lines: DataFrame) -> DataFrame:
    """The lines of a table, where somebody has put them, or of a source of Spark's: a topic of Kafka has bytes."""
    if "line" not in lines.columns:
        lines = lines.withColumnRenamed("value", "line")
    if dict(lines.dtypes).get("line") == "binary":
        lines = lines.withColumn("line", F.col("line").cast("string"))
    texts: DataFrame = of_kinds(lines, {"path": TEXT, "line": TEXT}, _LABEL, or_without=("path",))
    path = F.col("path") if "path" in texts.columns else F.lit(None)
    return texts.select(F.coalesce(path.cast("string"), F.lit(_LABEL)).alias("path"), "line")


def _read(text: DataFrame, reader: LogReader, names: Sequence[str], which: str, is_in_order: bool) -> DataFrame:
    work = by_value(rows_of_batches, (reader, tuple(names), which, is_in_order))
    schema = pa.schema([SCHEMA.field(name) for name in names])
    return text.select("path", "line").mapInArrow(work, spark_schema(schema))


def rows_of_batches(job: tuple[LogReader, tuple[str, ...], str, bool], batches: Batches) -> Iterator[pa.RecordBatch]:
    """These columns of the lines that are meant; Spark's workers run it."""
    reader, names, which, is_in_order = job
    for paths, lines in _whole_lines(batches) if is_in_order else map(_columns_of, batches):
        rows = reader.rows(paths, lines)
        chosen = rows.select(list(names))
        yield chosen if which == ALL else chosen.filter(is_chosen(rows["fault"], rows["reason"], which))


def _whole_lines(batches: Batches) -> Iterator[tuple[pa.Array, pa.Array]]:
    """The lines of a partition, of which a container runtime may have cut some."""
    cut = CutLines()
    for batch in batches:
        yield cut.joined(*_columns_of(batch))
    yield cut.rest()


def _columns_of(batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    return batch.column("path"), batch.column("line")


COMPRESSED = (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst")
"""The endings of the names of files that Spark unpacks."""

_PATH = "_metadata.file_path"


class LogFiles:
    """Files and folders, with all that is below them, whose names fit the pattern.

    A compressed file that is damaged is read as far as it goes, unless `strict`. Any other file that cannot be read
    stops the query. Lines that are too long to be Kafka's are passed over.
    """

    def __init__(self, spark: SparkSession, paths: Sequence[str], names: str | None, strict: bool) -> None:
        self._spark, self._paths, self._names, self._strict = spark, list(dict.fromkeys(paths)), names, strict

    @cached_property
    def paths(self) -> list[str]:
        """As Spark writes them.

        Raises
        ------
        NotFound
            There is no such path, or no file.
        """
        with in_one_line():
            files = list(self._text().inputFiles())
        if not files:
            named = f" is called {self._names}" if self._names else ""
            raise NotFound(f"no file below {', '.join(self._paths)}{named}")
        return files

    def lines(self) -> DataFrame:
        """`path` and `line`."""
        if self._strict or not self._compressed:
            return _lines(self._text())
        packed = _lines(self._text(ignoreCorruptFiles="true").where(_is_compressed()))
        if len(self._compressed) == len(self.paths):
            return packed
        return packed.unionAll(_lines(self._text().where(~_is_compressed())))

    @cached_property
    def damaged(self) -> tuple[str, ...]:
        """The compressed files that cannot be read to their end; all compressed ones are unpacked for it."""
        found: list[str] = []
        while not self._strict and (file := self._first_damaged(found)):
            found.append(file)
        return tuple(found)

    def _first_damaged(self, known: Sequence[str]) -> str | None:
        """One more than those that are known. Spark tells by the error that it fails with."""
        others = [_literal(file) for file in self._compressed if file not in known]
        if not others:
            return None
        try:
            self._spark.read.options(**_bounded()).text(others).agg(F.count("value")).collect()
        except Exception as error:  # py4j's in classic mode, pyspark's over Connect
            file = unreadable_file(error)
            if file not in self._compressed or file in known:
                raise
            return file
        return None

    @cached_property
    def _compressed(self) -> list[str]:
        return [file for file in self.paths if file.endswith(COMPRESSED)]

    def _text(self, **options: Any) -> DataFrame:
        reader = self._spark.read.options(recursiveFileLookup="true", **_bounded(), **options)
        if self._names is not None:
            reader = reader.option("pathGlobFilter", self._names)
        return reader.text(self._paths)


def _bounded() -> dict[str, str]:
    """The option of Hadoop's reader of lines."""
    return {"mapreduce.input.linerecordreader.line.maxlength": str(LONGEST_LINE)}


def _lines(text: DataFrame) -> DataFrame:
    return text.select(F.col(_PATH).alias("path"), F.col("value").alias("line"))


def _literal(path: str) -> str:
    """A path as Spark writes it, so that it reads this file: without its encoding, nothing in it a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", unquote(path))


def _is_compressed() -> Column:
    return F.col(_PATH).rlike(r"\.(" + "|".join(name[1:] for name in COMPRESSED) + ")$")


_READING = re.compile(r"FAILED_READ_FILE(\.FILE_NOT_EXIST)?[^\n]*?reading file ['\"`]?(\S+?)['\"`]?\.?(?:\s|$)")
_NO_PATH = re.compile(r"PATH_NOT_FOUND[^\n]*?exist: (\S+?)\.?(?:\s|$)")


@contextmanager
def in_one_line() -> Iterator[None]:
    """Around an action of Spark's that reads files: the file that cannot be read is named, and said once.

    Raises
    ------
    NotFound
        There is no such path.
    Invalid
        A file ends before its time, as a gzip that was cut short does.
    Unsupported
        A package is missing on the workers.
    """
    try:
        with missing_package_named():
            yield
    except KadminError:
        raise
    except Exception as error:  # py4j's in classic mode, pyspark's over Connect
        translated = _translated(str(error))
        if translated is None:
            raise
        raise translated from None


def unreadable_file(error: Exception) -> str | None:
    """The file that an action of Spark's could not read to its end, if that is what it failed with."""
    reading = _READING.search(str(error))
    return reading[2] if reading and not reading[1] else None


def _translated(text: str) -> KadminError | None:
    if missing := _NO_PATH.search(text):
        below_here = f"file:{Path.cwd()}/"  # what Spark makes of a relative path
        return NotFound(f"no such path: {missing[1].removeprefix(below_here)}")
    reading = _READING.search(text)
    if reading and reading[1]:
        return NotFound(f"Spark's workers do not see {reading[2]}", hint=_ELSEWHERE)
    return Invalid(f"{reading[2]} cannot be read to its end", hint=TORN) if reading else None


_ELSEWHERE = "Logs are on storage that all machines of this Spark see, under one path. Or was the file just removed?"
