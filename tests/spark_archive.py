"""The class-data archive that halves the start of the tests' Sparks. As a script it makes one where there is none.

`python -m tests.spark_archive` is part of `make test`. It never fails: without an archive a Spark starts more slowly.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.java import find_java
from kadmin_nb.local.node import archive_flags, ready_flags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds=off -Xlog:cds+dynamic=off"
"""The flags of a JVM that lives for seconds: C2 took a third of the time."""

LONGEST_END = 120
"""Seconds that a JVM may take to write the archive."""

NAME = f"spark-{metadata.version('pyspark')}"
JARS = str(Path(str(metadata.distribution("pyspark").locate_file("pyspark/jars"))).resolve())


def submit_options() -> str:
    """SPARK_SUBMIT_OPTS of the tests, with the archive where there is one; another Java passes it over."""
    try:
        return _quick(ready_flags(NAME, JARS, find_java()))
    except kn.KadminError:
        return QUICK


def _quick(flags: Sequence[str]) -> str:
    return " ".join([QUICK, *(f'"{flag}"' for flag in flags)])


def _train(flags: Sequence[str]) -> None:
    """Let a Spark do a little of everything, unheard: workers that outlive their JVM print tracebacks."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    os.environ["SPARK_SUBMIT_OPTS"] = _quick(flags)
    spark = kn.spark_session()
    gateway = spark.sparkContext._gateway
    with tempfile.TemporaryDirectory() as folder:
        _exercise(spark, str(Path(folder) / "rows.parquet"))
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=LONGEST_END)


def _exercise(spark: SparkSession, rows: str) -> None:
    numbers = spark.range(1000).selectExpr("id", "id % 7 AS rest", "cast(id AS string) AS name")
    numbers.write.parquet(rows)
    read = spark.read.parquet(rows).mapInArrow(lambda batches: batches, numbers.schema)
    read.join(numbers.distinct(), "id").groupBy("id").count().orderBy("id").toArrow()
    spark.createDataFrame(pa.table({"name": ["a"]})).createOrReplaceTempView("names")
    spark.sql("SELECT name, row_number() OVER (ORDER BY name) AS place FROM names").collect()


def _tell(message: str) -> None:
    print(f"== {message}", flush=True)


if __name__ == "__main__":
    try:
        archive_flags(NAME, JARS, find_java(), _train, _tell)
    except Exception as error:
        print(f"no class archive for Spark: {error}")
