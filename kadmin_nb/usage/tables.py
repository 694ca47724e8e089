"""USAGE and UTILISATION_DAILY in Delta tables: a log is read once, and storing it twice is storing it once.

All tables are partitioned by cluster and day: a run rewrites files of its own cluster and days only, and runs of
different clusters never meet. Runs that do meet try again.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import Invalid, TimedOut, Unsupported, UsageError
from ..frames import schemas
from ..frames.frame import Frame
from ..frames.relational import added_up, read_columns, with_columns
from ..frames.spark import errors_in_one_line, new_table
from ..model.config_units import length_text
from ..resolution.input_columns import CLUSTER
from .bucket_figures import DAY
from .request_log import TALLY, Counts, Requests
from .usage_windows import USAGE_COLUMNS, client_columns, in_windows, length_of, usage_rows, window_totals

INCOMING = "_incoming_"
"""The suffix of a run's own table, which holds the windows of a log until they are all read; a time in UTC follows."""

_TIME = "%Y%m%d%H%M%S"
_LEFT_BEHIND = timedelta(days=1)
"""The age of such a table from which on the run that made it counts as killed."""

_NO_DELTA = "kn.spark_session(delta=True) starts one, if none is active."
_HALF_MADE = "A run that was killed while it made the table leaves such a folder: if no run is making it, remove it."

CREATIONS = 6
"""How often a run tries to make a table that another seems to be making; in all it waits for some ten seconds."""

TRIES = 10
"""How often a run tries to write what others are writing, too."""

_CONFLICT = re.compile(r"DELTA_CONCURRENT|Concurrent\w*Exception|DELTA_(?:METADATA|PROTOCOL)_CHANGED|ProtocolChanged")

_WINDOW_PART = (CLUSTER, "day", "broker", "window_start", "read_from", "read_to")
"""The columns that tell a part of a window from others."""

_SAME_TIME = """
    stored.read_from <= new.of_read_to AND new.of_read_from <= stored.read_to
    AND NOT (stored.read_from < stored.read_to AND new.of_read_from < new.of_read_to
        AND (stored.read_to = new.of_read_from OR new.of_read_to = stored.read_from))"""
"""Both were read of the same time. Where one begins with the millisecond that the other ends with, a file ended within
it: they were not."""

_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_PARTS = re.compile(_PART, re.ASCII)
_TABLE = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}", re.ASCII)


def store_usage(requests: Requests, table: str, every: str = "1 second") -> Counts:
    """Write the USAGE of a log into a Delta table; returns the counts of lines, and the first and last day of the
    windows.

    The windows that the log has, by cluster, broker and start, replace those that the table has, in one commit; all
    others stay. So a run that was killed, or that meets another one, is simply run again. A window of which two logs
    have a part each, as where a file ends within it, keeps both, as rows that add up: `read_from` and `read_to` say
    which part a row is of, and a part is replaced by what was read of the same time.

    The log is read once, into a table of this run's own beside the other, `TABLE_incoming_…`, which is dropped at the
    end; that of a run that was killed is dropped by one a day later.

    Parameters
    ----------
    requests
        The result of `requests(…)`.
    table
        The name of the table, `catalog.schema.table`. It is created if it does not exist, with the columns of
        USAGE_TABLE, partitioned by `cluster_id`, if the requests have one, and `day`. Columns that you add to it are
        null in what is written.
    every
        As for `usage`; the same each time, since windows of another length would count the same requests twice.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        It is not the name of a table; the table has other columns, another format, or windows of another length for
        this cluster; `every` is not a length. Nothing was written.
    Invalid
        Spark cannot write it, or a file of the log cannot be read to its end.
    TimedOut
        Other runs changed the same days at each attempt. Nothing was written.
    """
    length = length_of(every)
    spark, windows = requests.frame.sparkSession, _windows(requests, length)
    with errors_in_one_line(f"{table} cannot be written"):
        make(spark, table, _of_clients(requests, windows, length), schemas.USAGE_TABLE)
        _refuse_other_length(requests, table, every)
        with _stored(windows, table) as read:
            sums = added_up(read, ["fault", "reason"], {name: ("sum", name) for name in TALLY})
            counts = requests.counted(sums)
            days = _replace(spark, table, _of_clients(requests, read, length), requests.cluster_id)
    return replace(counts, days=days)


def store_utilisation(daily: DataFrame, table: str) -> None:
    """Write UTILISATION_DAILY into a Delta table, in place of the same days of the same clusters, in one commit.

    Parameters
    ----------
    daily
        The result of `utilisation_daily(…)`. Other days and clusters stay as they are.
    table
        The name of the table, `catalog.schema.table`. It is created if it does not exist, partitioned by `cluster_id`,
        if the days have one, and `day`.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        It is not UTILISATION_DAILY, or not the name of a table; the table has other columns or another format.
    Invalid
        Spark cannot compute it, or cannot write it.
    TimedOut
        Other runs changed the same days at each attempt. Nothing was written.
    """
    spark, frame = daily.sparkSession, schemas.UTILISATION_DAILY
    rows = read_columns(daily, frame.names, "the rows of the utilisation of days")
    with errors_in_one_line(f"{table} cannot be written"):
        make(spark, table, rows, frame)
        _alone(table, lambda: rows.writeTo(table).overwritePartitions())


@contextmanager
def _stored(windows: DataFrame, table: str) -> Iterator[DataFrame]:
    """The windows in a table of this run's own, for as long as it takes; what killed runs left is dropped."""
    spark, now = windows.sparkSession, datetime.now(UTC)
    *schema, name = _name_parts(table)
    place = f" IN {'.'.join(map(_quoted, schema))}" if schema else ""
    of_a_run = re.compile(rf"{re.escape(name.lower())}({INCOMING}\d{{14}}_[0-9a-f]{{12}})")
    for row in spark.sql(f"SHOW TABLES{place}").collect():
        found = of_a_run.fullmatch(row.tableName.lower())
        if found and found[1] < f"{INCOMING}{now - _LEFT_BEHIND:{_TIME}}":
            spark.sql(f"DROP TABLE IF EXISTS {beside(table, found[1])}")
    incoming = beside(table, f"{INCOMING}{now:{_TIME}}_{uuid4().hex[:12]}")
    try:
        windows.writeTo(incoming).using("delta").create()
        yield spark.table(incoming)
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {incoming}")


def _of_clients(requests: Requests, windows: DataFrame, length: int) -> DataFrame:
    """USAGE_TABLE of the windows that clients have."""
    of_clients, by_cluster = windows.where("fault IS NULL AND reason IS NULL"), requests.cluster_id is not None
    usage: DataFrame = usage_rows(of_clients, length, by_cluster)
    whole = of_clients.withColumn("window_start", F.timestamp_micros("start"))
    by = [*([CLUSTER] if by_cluster else []), "broker", "window_start"]
    read = whole.groupBy(*by).agg(F.min("read_from").alias("read_from"), F.max("read_to").alias("read_to"))
    day = F.date_from_unix_date(F.floor(F.unix_micros("window_start") / F.lit(DAY)).cast("int"))
    return usage.join(read, by).select(*usage.columns, day.alias("day"), "read_from", "read_to")


def _windows(requests: Requests, length: int) -> DataFrame:
    """One row per client and window; and one for all lines of one fault, which have no time of their own."""
    lines = requests.tallied(USAGE_COLUMNS)
    timed = with_columns(lines, {"time": F.coalesce("time", F.timestamp_micros(F.lit(0)))})
    by = ["fault", "reason", *client_columns(requests.cluster_id is not None)]
    measures = {**TALLY, "read_from": ("min", "time"), "read_to": ("max", "time")}
    totals: DataFrame = window_totals(in_windows(timed, length), by, measures)
    return totals


def _refuse_other_length(requests: Requests, table: str, every: str) -> None:
    """Windows of two lengths would tell the same requests twice. One row tells the length of all of a cluster."""
    rows, cluster = requests.frame.sparkSession.table(table), requests.cluster_id
    of_cluster = rows if cluster is None else rows.where(F.col(CLUSTER) == cluster)
    length = (F.unix_micros("window_end") - F.unix_micros("window_start")).alias("length")
    stored = of_cluster.select(length).where("length IS NOT NULL").first()
    if stored and stored.length != length_of(every):
        whose = "" if cluster is None else f" of cluster {cluster}"
        stored_every = length_text(timedelta(microseconds=stored.length))
        raise UsageError(
            f"{table} has windows of {stored_every}{whose}, and these would be of {every}",
            hint=f"Use every={stored_every!r}, or another table; nothing was written.",
        )


def _replace(spark: SparkSession, table: str, usage: DataFrame, cluster_id: str | None) -> tuple[date, date] | None:
    """The windows of a cluster in place of what was stored of the same time, in one commit; the first and last day.

    One MERGE does both: rows that only name a part of a window delete what is stored of it, and the others match
    nothing and are inserted. It reads and writes in one transaction: nothing that another run stores is lost.
    """
    [(first, last)] = usage.agg(F.min("day"), F.max("day")).collect()
    if first is None:
        return None
    part = [name for name in _WINDOW_PART if name in usage.columns]
    parts = usage.select(*(F.col(name).alias(f"of_{name}") for name in part)).distinct()
    view = f"kadmin_nb_{uuid4().hex}"
    usage.unionByName(parts, allowMissingColumns=True).createOrReplaceTempView(view)
    names, values = (", ".join(f"{of}{_quoted(name)}" for name in usage.columns) for of in ("", "new."))
    of_cluster = "" if cluster_id is None else f"AND stored.cluster_id = {_text(cluster_id)}"
    merge = f"""
        MERGE INTO {table} AS stored USING {view} AS new
        ON stored.day BETWEEN DATE'{first}' AND DATE'{last}' {of_cluster}
            AND {" AND ".join(f"stored.{name} = new.of_{name}" for name in part if not name.startswith("read_"))}
            AND {_SAME_TIME}
        WHEN MATCHED THEN DELETE
        WHEN NOT MATCHED AND new.broker IS NOT NULL THEN INSERT ({names}) VALUES ({values})"""
    try:
        _alone(table, lambda: spark.sql(merge))
    finally:
        spark.catalog.dropTempView(view)
    return first, last


def _alone(table: str, write: Callable[[], object]) -> None:
    """Write, and try again where another run has written the same meanwhile.

    Raises
    ------
    TimedOut
        That was so each time.
    """
    for number in range(TRIES):
        try:
            write()
            return
        except Exception as error:
            if not _CONFLICT.search(str(error)):
                raise
        time.sleep(random.uniform(0.0, min(2.0**number, 8.0)))
    raise TimedOut(
        f"other runs changed {table} while this one wrote, {TRIES} times in a row; nothing was written",
        hint="Run it again, when fewer runs write the same days of this cluster.",
    )


def beside(table: str, suffix: str) -> str:
    """The name of the table beside another that is called like it, with a suffix.

    Raises
    ------
    UsageError
        It is not the name of a table.
    """
    *schema, name = _name_parts(table)
    return ".".join(map(_quoted, (*schema, f"{name}{suffix}")))


def make(spark: SparkSession, table: str, rows: DataFrame, frame: type[Frame]) -> None:
    """An empty Delta table for these rows of a frame, unless it exists; one that exists is checked.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        What is there is not a Delta table, or has other columns or partitions.
    Invalid
        Its folder is there, and is not a Delta table.
    """
    _name_parts(table)  # refuses what is not a name
    partitions = [name for name in (CLUSTER, "day") if name in rows.columns]
    using = f"USING delta PARTITIONED BY ({', '.join(partitions)})"
    _alone(table, lambda: _create(spark, new_table(table, rows, frame, using), table))
    _check_columns(table, spark.table(table), rows)
    [detail] = spark.sql(f"DESCRIBE DETAIL {table}").collect()
    if detail.format != "delta":
        raise UsageError(f"{table} is not a Delta table", hint="Name another; it is made where there is none.")
    if [*detail.partitionColumns] != partitions:
        had, wanted = (", ".join(names) or "nothing" for names in (detail.partitionColumns, partitions))
        hint = f"Name another; one that is made here is by {wanted}, so that runs do not rewrite each other's."
        raise UsageError(f"{table} is partitioned by {had}", hint=hint)


def _create(spark: SparkSession, statement: str, table: str) -> None:
    """Make the table, unless it exists. A folder that is not a Delta table may be another run's, which makes it."""
    for number in range(CREATIONS):
        try:
            spark.sql(statement)
            return
        except Exception as error:
            if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
                raise Unsupported("this Spark session has no Delta", hint=_NO_DELTA) from None
            if "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION" not in str(error):
                raise
        time.sleep(random.uniform(0.1, 0.2 * 2.0**number))
    raise Invalid(f"{table} cannot be made: its folder is there, and is not a Delta table", hint=_HALF_MADE)


def _check_columns(table: str, stored: DataFrame, rows: DataFrame) -> None:
    """A table may have further columns, which are null in the rows that are written; but one of several clusters takes
    no rows without a cluster."""
    names, types = rows.columns, dict(stored.dtypes)
    if any(name not in types for name in names) or (CLUSTER in types and CLUSTER not in names):
        stored_names = ", ".join(stored.columns)
        raise UsageError(f"{table} has the columns {stored_names}", hint=f"Name a table that has {', '.join(names)}.")
    for name, kind in rows.dtypes:
        if types[name] != kind:
            raise UsageError(f"{name} of {table} is {types[name]}, not {kind}", hint="Name another table.")


def _text(value: str) -> str:
    """A text in SQL; MERGE takes no parameters."""
    return "'{}'".format(value.replace("\\", "\\\\").replace("'", "\\'"))


def _quoted(part: str) -> str:
    return "`{}`".format(part.replace("`", "``"))


def _name_parts(table: str) -> list[str]:
    if not _TABLE.fullmatch(table):
        raise UsageError(
            f"{table!r} is not the name of a table",
            hint="Give catalog.schema.table; a part with more than letters, digits and _ goes between backquotes,"
            " as `my-lake`.kafka.usage.",
        )
    return [re.sub("``", "`", part[1:-1]) if part[0] == "`" else part for part in _PARTS.findall(table)]
