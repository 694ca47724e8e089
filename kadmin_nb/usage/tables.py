"""USAGE and UTILISATION in Delta tables: a log is read once, and storing it twice is storing it once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import Invalid, Unsupported, UsageError
from ..frames import schemas
from ..frames.frame import Frame
from ..frames.relational import added_up, with_columns
from ..frames.spark import errors_in_one_line, new_table
from ..resolution.input_columns import CLUSTER
from .request_log import TALLY, Counts, Requests
from .spark_lines import in_one_line
from .windows import USAGE_COLUMNS, client_columns, every_of, in_windows, length_of, usage_rows, window_totals

INCOMING = "_incoming_"
"""The suffix of a run's own table, which holds the windows of a log until they are all read; a time in UTC follows."""

_TIME = "%Y%m%d%H%M%S"
_LEFT_BEHIND = timedelta(days=1)
"""The age of such a table from which on the run that made it counts as killed."""

_NO_DELTA = "kn.spark_session(delta=True) starts one."
_HALF_MADE = "A run that was killed while it made the table leaves such a folder: remove it, and run again."

_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_PARTS = re.compile(_PART, re.ASCII)
_TABLE = re.compile(rf"{_PART}(?:\.{_PART}){{0,2}}", re.ASCII)


def check_tables(spark: SparkSession, **tables: str) -> None:
    """Refuse tables that cannot all be written, before any work is done; nothing is read or made.

    Parameters
    ----------
    tables
        The name of each, `catalog.schema.table`, by what it is for: `usage="lake.usage"`. A blank one is passed over.

    Raises
    ------
    UsageError
        One is not a name of a table, or two are the same table.
    """
    purposes: dict[tuple[str, ...], str] = {}
    for purpose, table in tables.items():
        if table and (other := purposes.setdefault(_full_name(spark, table), purpose)) != purpose:
            raise UsageError(f"{other} and {purpose} are both {table}", hint="Give each a table of its own.")


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
        make(spark, table, _of_clients(requests, windows, length), schemas.USAGE)
        _refuse_other_length(requests, table, every)
        with _stored(windows, table) as read:
            sums = added_up(read, ["fault", "reason"], {name: ("sum", name) for name in TALLY})
            counts = requests.counted(sums)
            _replace(spark, table, _of_clients(requests, read, length))
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


def _of_clients(requests: Requests, windows: DataFrame, length: int) -> DataFrame:
    of_clients = windows.where("fault IS NULL AND reason IS NULL")
    rows: DataFrame = usage_rows(of_clients, length, requests.cluster_id is not None)
    return rows


def _windows(requests: Requests, length: int) -> DataFrame:
    """A row a client and window; and a row for all lines of one fault, which have no time of their own."""
    lines = requests.tallied(USAGE_COLUMNS)
    timed = with_columns(lines, {"time": F.coalesce("time", F.timestamp_micros(F.lit(0)))})
    by = ["fault", "reason", *client_columns(requests.cluster_id is not None)]
    totals: DataFrame = window_totals(in_windows(timed, length), by, TALLY)
    return totals


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


def beside(table: str, suffix: str) -> str:
    """The name of the table beside another that is called like it, with a suffix.

    Raises
    ------
    UsageError
        It is not the name of a table.
    """
    *schema, name = _name_parts(table)
    return ".".join(map(_quoted, (*schema, f"{name}{suffix}")))


def suffixes(spark: SparkSession, table: str, pattern: str) -> list[str]:
    """The suffixes of this pattern that tables beside another have, in small letters."""
    *schema, name = _name_parts(table)
    place = f" IN {'.'.join(map(_quoted, schema))}" if schema else ""
    names = [row.tableName.lower() for row in spark.sql(f"SHOW TABLES{place}").collect()]
    found = (re.fullmatch(f"{re.escape(name.lower())}({pattern})", other) for other in names)
    return [match[1] for match in found if match]


@contextmanager
def writing(table: str) -> Iterator[None]:
    """Around what reads files and writes a table: what Spark cannot do is said in one line that names the table.

    Raises
    ------
    Invalid
        Spark cannot write it, or a file ends before its time.
    NotFound
        There is no such path.
    """
    with errors_in_one_line(f"{table} cannot be written"), in_one_line():
        yield


def make(spark: SparkSession, table: str, rows: DataFrame, frame: type[Frame]) -> None:
    """An empty Delta table for these rows of a frame, unless it is there; one that is there is checked.

    Raises
    ------
    Unsupported
        The session has no Delta.
    UsageError
        What is there is not a Delta table, or has other columns.
    Invalid
        Its folder is there, and is not a Delta table.
    """
    _name_parts(table)  # refuses what is not a name
    _create(spark, table, rows, frame)
    _check_columns(table, spark.table(table), rows)
    _check_provider(spark, table)


def _create(spark: SparkSession, table: str, rows: DataFrame, frame: type[Frame]) -> None:
    try:
        spark.sql(new_table(table, rows, frame, "USING delta"))
    except Exception as error:
        if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
            raise Unsupported("this Spark session has no Delta", hint=_NO_DELTA) from None
        if "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION" in str(error):
            raise Invalid(
                f"{table} cannot be made: its folder is there, and is not a Delta table", hint=_HALF_MADE
            ) from None
        raise


def _check_columns(table: str, stored: DataFrame, rows: DataFrame) -> None:
    if stored.columns != rows.columns:
        stored_names, names = ", ".join(stored.columns), ", ".join(rows.columns)
        raise UsageError(f"{table} has the columns {stored_names}", hint=f"Name a table that has {names}.")
    for (name, stored_type), (_, kind) in zip(stored.dtypes, rows.dtypes, strict=True):
        if stored_type != kind:
            raise UsageError(f"{name} of {table} is {stored_type}, not {kind}", hint="Name another table.")


def _check_provider(spark: SparkSession, table: str) -> None:
    described = {row[0]: str(row[1]) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    if described.get("Provider", "").lower() != "delta":
        raise UsageError(f"{table} is not a Delta table", hint="Name another; it is made where there is none.")


def _quoted(part: str) -> str:
    return "`{}`".format(part.replace("`", "``"))


def _full_name(spark: SparkSession, table: str) -> tuple[str, ...]:
    """Catalog, schema and table, in small letters: Spark takes large ones for the same."""
    parts = _name_parts(table)
    here = (spark.catalog.currentCatalog(), spark.catalog.currentDatabase()) if len(parts) < 3 else ()
    return tuple(part.casefold() for part in (*here[: 3 - len(parts)], *parts))


def _name_parts(table: str) -> list[str]:
    if not _TABLE.fullmatch(table):
        raise UsageError(
            f"{table!r} is not the name of a table",
            hint="Give catalog.schema.table; a part with more than letters, digits and _ goes between backquotes,"
            " as `my-lake`.kafka.usage.",
        )
    return [re.sub("``", "`", part[1:-1]) if part[0] == "`" else part for part in _PARTS.findall(table)]
