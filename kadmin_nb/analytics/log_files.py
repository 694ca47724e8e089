"""The lines of a request log's files, and the compressed ones that end before their time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import NotFound
from ..traffic.log_files import LONGEST_LINE
from .spark_errors import in_one_line, unreadable_file

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
