"""The class-data archive that halves the start of the tests' Sparks. As a script it makes one where there is none.

`python -m tests.spark_archive` is part of `make test`. It never fails: without an archive a Spark starts more slowly.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from importlib import metadata
from pathlib import Path

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb import files
from kadmin_nb.java import find_java
from kadmin_nb.paths import cache_dir

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:cds=off -Xlog:cds+dynamic=off"
"""The flags of a JVM that lives for seconds: C2 took a third of the time."""

LONGEST_END = 120
"""Seconds that a JVM may take to write the archive."""


def submit_options() -> str:
    """SPARK_SUBMIT_OPTS of the tests, with the archive where there is one; another Java passes it over."""
    try:
        file = archive()
    except kn.KadminError:
        return QUICK
    return f'{QUICK} -XX:SharedArchiveFile="{file}"' if file.exists() else QUICK


def archive() -> Path:
    """An archive is good for exactly this Java and these jars at these paths."""
    java, jars = find_java(), Path(str(metadata.distribution("pyspark").locate_file("pyspark/jars"))).resolve()
    key = hashlib.sha256(f"{java.command}\n{java.version}\n{jars}".encode()).hexdigest()[:12]
    return cache_dir() / "archives" / f"spark-{metadata.version('pyspark')}-java-{java.version}-{key}"


def make(file: Path) -> None:
    """Let a Spark do a little of everything; its JVM writes the archive when it ends."""
    files.make_folder(file.parent)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".making-") as place:
        half = Path(place) / file.name
        os.environ["SPARK_SUBMIT_OPTS"] = f'{QUICK} -XX:ArchiveClassesAtExit="{half}"'
        _train(Path(place) / "rows.parquet")
        half.rename(file)


def _train(rows: Path) -> None:
    spark = kn.spark_session()
    gateway = spark.sparkContext._gateway
    numbers = spark.range(1000).selectExpr("id", "id % 7 AS rest", "cast(id AS string) AS name")
    numbers.write.parquet(str(rows))
    read = spark.read.parquet(str(rows)).mapInArrow(lambda batches: batches, numbers.schema)
    read.join(numbers.distinct(), "id").groupBy("id").count().orderBy("id").toArrow()
    spark.createDataFrame(pa.table({"name": ["a"]})).createOrReplaceTempView("names")
    spark.sql("SELECT name, row_number() OVER (ORDER BY name) AS place FROM names").collect()
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=LONGEST_END)


if __name__ == "__main__":
    try:
        if not (file := archive()).exists():
            print("== a class archive that halves the start of the tests' Sparks", flush=True)
            make(file)
    except Exception as error:
        print(f"no class archive for Spark: {error}")
