"""USAGE of a request log in a Delta table: the log is read once, and storing it twice is storing it once."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import Unsupported, UsageError
from ..resolution.input_columns import CLUSTER
from ..traffic.line_counts import TALLY, Counts
from ..traffic.usage_windows import USAGE_COLUMNS, length_of
from .request_log import Requests, tally
from .spark_errors import in_one_line
from .usage_windows import in_windows, start_column, usage_rows

INCOMING = "_incoming"
"""The suffix of the table that holds the windows of a log until they are all read."""


def store_usage(requests: Requests, table: str, every: str = "1 second") -> Counts:
    """Write the USAGE of a log into a Delta table, and say what became of the lines.

    The windows that the log has, by cluster, broker and start, replace those that the table has, in one commit; all
    others stay. So a run that was killed is simply run again. The log is read once, into a table of its own beside
    the other, `TABLE_incoming`, which is dropped at the end.

    Parameters
    ----------
    requests
        What `requests(…)` read.
    table
        The name of the table, `catalog.schema.table`. It is made where there is none.
    every
        As of `usage`; the same each time.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        The table is another one, or of another kind; `every` is not a length.
    """
    length = length_of(every)
    spark, incoming = requests.frame.sparkSession, f"{table}{INCOMING}"
    windows = _windows(requests, length)
    with in_one_line():
        _make(spark, table, _of_clients(windows, length))
        windows.writeTo(incoming).using("delta").createOrReplace()
        read = spark.table(incoming)
        counts = requests.counted(read.groupBy("fault", "reason").agg(*(F.sum(name).alias(name) for name in TALLY)))
        _replace(spark, table, _of_clients(read, length))
        spark.sql(f"DROP TABLE IF EXISTS {incoming}")
    return counts


def _of_clients(windows: DataFrame, length: int) -> DataFrame:
    return usage_rows(windows.where("fault IS NULL AND reason IS NULL"), length)


def _windows(requests: Requests, length: int) -> DataFrame:
    """A row a client and window; and a row for all lines of one fault, which have no time of their own."""
    rows = requests.tallied(USAGE_COLUMNS).withColumn("time", F.coalesce("time", F.timestamp_micros(F.lit(0))))
    return in_windows(rows.withColumns(start_column(length)), ("fault", "reason"), tally())


def _make(spark: SparkSession, table: str, usage: DataFrame) -> None:
    """An empty Delta table for this usage, unless the table is there; the columns of one that is there are checked."""
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in usage.schema)
    try:
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING delta")
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" not in str(error) and "ClassNotFound" not in str(error):
            raise
        raise Unsupported("this Spark session has no Delta", hint="kn.spark_session(delta=True) starts one.") from None
    found = spark.table(table).columns
    if found != usage.columns:
        raise UsageError(
            f"{table} has the columns {', '.join(found)}", hint=f"The usage has {', '.join(usage.columns)}."
        )


def _replace(spark: SparkSession, table: str, usage: DataFrame) -> None:
    """In one commit, which rewrites the time between the first and the last of the new windows."""
    [(first, last)] = usage.agg(*(F.unix_micros(edge("window_start")) for edge in (F.min, F.max))).collect()
    if first is None:
        return
    by = [name for name in (CLUSTER, "broker", "window_start") if name in usage.columns]
    others = spark.table(table).where(_between(first, last)).join(usage.select(*by).distinct(), by, "left_anti")
    usage.unionByName(others).writeTo(table).overwrite(_between(first, last))


def _between(first: int, last: int) -> Column:
    start = F.col("window_start")
    return (start >= F.timestamp_micros(F.lit(first))) & (start <= F.timestamp_micros(F.lit(last)))
