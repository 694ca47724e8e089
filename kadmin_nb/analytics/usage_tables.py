"""USAGE and UTILISATION in Delta tables: a log is read once, and storing it twice is storing it once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import UsageError
from ..frames import schemas
from ..resolution.input_columns import CLUSTER
from ..traffic.line_counts import TALLY, Counts
from ..traffic.usage_windows import USAGE_COLUMNS, every_of, length_of
from .delta_tables import beside, check_tables, make, suffixes, writing
from .request_log import Requests, tally
from .usage_windows import in_windows, start_column, usage_rows

INCOMING = "_incoming_"
"""The suffix of a run's own table, which holds the windows of a log until they are all read; a time in UTC follows."""

_TIME = "%Y%m%d%H%M%S"
_LEFT_BEHIND = timedelta(days=1)
"""The age of such a table from which on the run that made it counts as killed."""


def store_usage(requests: Requests, table: str, every: str = "1 second") -> Counts:
    """Write the USAGE of a log into a Delta table, and say what became of the lines.

    The windows that the log has, by cluster, broker and start, replace those that the table has, in one commit; all
    others stay. So a run that was killed is simply run again. The log is read once, into a table of this run's own
    beside the other, `TABLE_incoming_…`, which is dropped at the end; that of a run that was killed is dropped by
    one a day later.

    Parameters
    ----------
    requests
        What `requests(…)` read.
    table
        The name of the table, `catalog.schema.table`. It is made where there is none.
    every
        As of `usage`; the same each time: windows of another length would tell the same requests twice.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        It is not the name of a table; the table is another one, of another kind, or has windows of another length of
        this cluster; `every` is not a length. Nothing was written.
    Invalid
        Spark cannot write it, or a file of the log cannot be read to its end.
    """
    length = length_of(every)
    spark, windows = requests.frame.sparkSession, _windows(requests, length)
    with writing(table):
        make(spark, table, _of_clients(windows, length), schemas.USAGE)
        _refuse_other_length(requests, table, every)
        with _stored(windows, table) as read:
            counts = requests.counted(read.groupBy("fault", "reason").agg(*(F.sum(name).alias(name) for name in TALLY)))
            _replace(spark, table, _of_clients(read, length))
    return counts


def store_utilisation(utilisation: DataFrame, table: str) -> None:
    """Write UTILISATION into a Delta table, in place of all that it has, in one commit.

    Parameters
    ----------
    utilisation
        What `utilisation(…)` gives.
    table
        The name of the table, `catalog.schema.table`. It is made where there is none.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        It is not the name of a table, or the table is another one, or of another kind.
    Invalid
        Spark cannot work it out, or cannot write it.
    """
    spark = utilisation.sparkSession
    check_tables(spark, utilisation=table)
    with writing(table):
        make(spark, table, utilisation, schemas.UTILISATION)
        utilisation.write.format("delta").mode("overwrite").saveAsTable(table)


@contextmanager
def _stored(windows: DataFrame, table: str) -> Iterator[DataFrame]:
    """The windows in a table of this run's own, for as long as it takes; those of runs that were killed are dropped."""
    spark, now = windows.sparkSession, datetime.now(UTC)
    for suffix in suffixes(spark, table, rf"{INCOMING}\d{{14}}_[0-9a-f]{{12}}"):
        if suffix < f"{INCOMING}{now - _LEFT_BEHIND:{_TIME}}":
            spark.sql(f"DROP TABLE IF EXISTS {beside(table, suffix)}")
    incoming = beside(table, f"{INCOMING}{now:{_TIME}}_{uuid4().hex[:12]}")
    try:
        windows.writeTo(incoming).using("delta").create()
        yield spark.table(incoming)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {incoming}")


def _of_clients(windows: DataFrame, length: int) -> DataFrame:
    return usage_rows(windows.where("fault IS NULL AND reason IS NULL"), length)


def _windows(requests: Requests, length: int) -> DataFrame:
    """A row a client and window; and a row for all lines of one fault, which have no time of their own."""
    rows = requests.tallied(USAGE_COLUMNS).withColumn("time", F.coalesce("time", F.timestamp_micros(F.lit(0))))
    return in_windows(rows.withColumns(start_column(length)), ("fault", "reason"), tally())


def _refuse_other_length(requests: Requests, table: str, every: str) -> None:
    """Windows of two lengths would tell the same requests twice. One row tells the length of all of a cluster."""
    rows, cluster = requests.frame.sparkSession.table(table), requests.cluster_id
    of_cluster = rows if cluster is None else rows.where(F.col(CLUSTER) == cluster)
    length = (F.unix_micros("window_end") - F.unix_micros("window_start")).alias("length")
    stored = of_cluster.select(length).where("length IS NOT NULL").first()
    if stored and stored.length != length_of(every):
        whose, stored_every = "" if cluster is None else f" of cluster {cluster}", every_of(stored.length)
        raise UsageError(
            f"{table} has windows of {stored_every}{whose}, and these would be of {every}",
            hint=f"Use every={stored_every!r}, or another table; nothing was written.",
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
