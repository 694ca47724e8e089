"""Kafka's request log as a frame: what `kafka.request.logger` writes at DEBUG, a line a request.

A line is a prefix of log4j's, which has the time, `Completed request:`, and one JSON document; what follows it is
passed over. Workers of Python read the lines, with Arrow; what they mean is said in Spark's own functions.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ..errors import Invalid, NotFound, UsageError, printable
from ..frames import schemas
from ..frames.display import Display
from ..resolution import input_columns
from ..resolution.input_columns import CLUSTER
from . import log_lines, worker_code
from .input_columns import check_text
from .log_files import LogFiles
from .spark_errors import TORN, in_one_line

INTER_BROKER = r"(?i)^(CONTROLLER|CONTROLPLANE|REPLICATION|INTER[-_]?BROKER)"
"""The listeners that are not for clients, unless somebody says which: a regular expression of their names."""

BROKERS_ONLY = (
    "ALLOCATE_PRODUCER_IDS", "ALTER_PARTITION", "ASSIGN_REPLICAS_TO_DIRS", "BEGIN_QUORUM_EPOCH", "BROKER_HEARTBEAT",
    "BROKER_REGISTRATION", "CONTROLLED_SHUTDOWN", "CONTROLLER_REGISTRATION", "DELETE_SHARE_GROUP_STATE",
    "END_QUORUM_EPOCH", "FETCH_SNAPSHOT", "INITIALIZE_SHARE_GROUP_STATE", "LEADER_AND_ISR", "READ_SHARE_GROUP_STATE",
    "READ_SHARE_GROUP_STATE_SUMMARY", "STOP_REPLICA", "UPDATE_METADATA", "UPDATE_RAFT_VOTER", "VOTE",
    "WRITE_SHARE_GROUP_STATE", "WRITE_TXN_MARKERS",
)  # fmt: skip
"""Requests that only brokers and controllers send, on any listener."""

NOT_KAFKA = "not a line of Kafka's request log"
OLD_KAFKA = "not JSON: an old Kafka wrote it"
BROKEN = "the JSON is broken, or not Kafka's"
NO_TIME = "no time in front that can be read"
NO_ZONE = "the time has no offset, and no tz was given"
NO_SUCH_TIME = "the time does not exist in this tz: the clocks skipped it"
NO_BROKER = "no broker has the local address of its connection"
DAMAGED = "the rest of the file cannot be read"

FORWARDED, OF_BROKERS, OF_FOLLOWERS = "forwarded", "inter-broker", "follower"
"""Why a request is none of a client's."""

_GOOD, _BAD = "fault IS NULL", "fault IS NOT NULL"
_OF_CLIENT, _OF_OTHERS = "reason IS NULL", "reason IS NOT NULL"

_LOCAL = r"^(.*):(\d+)-.*:\d+-\d+(?:-\d+)?$"
_FIXED = re.compile(r"Z|(Etc/)?(UTC|GMT)|[+-]\d\d:\d\d")
_FETCHER = r"^broker-\d+-fetcher-\d+$"
_SAMPLE = 20
_IDENTITY = ("broker", "time", "connection", "correlation_id", "api")
"""The columns that identify a request; a line that is read twice is one request."""


@dataclass(frozen=True)
class Counts:
    """The counts of a request log's lines, by their fate.

    `lines` = `requests` + `duplicates` + those `left_out` + those `quarantined`, both by reason; the rest of a
    `damaged` file counts as one line. `ambiguous` are the requests in the hour that a clock put back passes twice,
    `unsized` those PRODUCE and FETCH whose bytes the log does not tell.
    """

    lines: int
    requests: int
    duplicates: int
    left_out: Mapping[str, int]
    quarantined: Mapping[str, int]
    ambiguous: int
    unsized: int
    damaged: tuple[str, ...] = ()
    tz: str | None = field(default=None, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the figures."""
        quarantined = sum(self.quarantined.values())
        texts = (
            (quarantined, f"{quarantined:,} of {self.lines:,} lines are not requests: see `.quarantine`"),
            (
                self.ambiguous,
                f"{self.ambiguous:,} requests fell into the hour that {self.tz} passes twice: the first is taken",
            ),
            (self.unsized, f"{self.unsized:,} PRODUCE or FETCH do not tell their bytes, which are not counted"),
        )
        return (*_warnings_of(self.damaged), *(f"WARNING: {text}" for count, text in texts if count))


def _warnings_of(damaged: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"WARNING: {file} is damaged: only what comes before that was read" for file in damaged)


@dataclass(frozen=True, repr=False)
class Requests(Display):
    """A request log, read when it is asked for.

    `frame` is REQUESTS: what clients asked, each request once. `left_out` has the same columns and a `reason`:
    `inter-broker`, `follower` or `forwarded`.
    """

    frame: DataFrame
    left_out: DataFrame
    _lines: DataFrame = field(repr=False)
    _rejected: DataFrame = field(repr=False)
    _files: LogFiles | None = field(repr=False)
    _dedupe: bool = field(repr=False)
    _tz: str | None = field(default=None, repr=False)

    @cached_property
    def quarantine(self) -> DataFrame:
        """`path`, `line` and `reason` of every line that is not a request, and without a `line` of every damaged file.

        Compressed files are unpacked here, to find those that are damaged.
        """
        damaged = self._damaged
        if not damaged:
            return self._rejected
        table = pa.table({"path": pa.array(damaged), "line": pa.nulls(len(damaged), pa.string())})
        files = self._lines.sparkSession.createDataFrame(table).withColumn("reason", F.lit(DAMAGED))
        return self._rejected.unionByName(files)

    @cached_property
    def counts(self) -> Counts:
        """The lines, counted by their fate. The log is read for it once, and compressed files are unpacked once more.

        Raises
        ------
        Invalid
            A file cannot be read to its end, as a gzip that was cut short, and the log is read strictly.
        """
        with in_one_line():
            return self.counted(self.tallied(()).groupBy("fault", "reason").agg(*tally()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line for each damaged file, for which compressed files are unpacked; `counts.warnings` has more."""
        return _warnings_of(self._damaged)

    @property
    def _damaged(self) -> tuple[str, ...]:
        return self._files.damaged if self._files else ()

    def only(self, names: Sequence[str]) -> DataFrame:
        """These columns, and `cluster_id` where there is one, of each request once: less to carry than `frame`."""
        return self._each(self._lines.where(_GOOD).where(_OF_CLIENT), names)

    def tallied(self, names: Sequence[str]) -> DataFrame:
        """Every line, good or bad: these columns, of a request once with its number of `lines`; of others nothing.

        `fault` and `reason` say what they are, `unsized` and `ambiguous` what is to be known of a request.
        """
        chosen = [name for name in self._lines.columns if name in {CLUSTER, *names, *_IDENTITY, *_REMARKS}]
        good = F.expr(_GOOD)
        rows = self._lines.select("fault", "reason", *(F.when(good, F.col(name)).alias(name) for name in chosen))
        if self._dedupe:
            return rows.groupBy(*rows.columns).agg(F.count("*").alias("lines"))
        return rows.withColumn("lines", F.lit(1).cast("bigint"))

    def _each(self, lines: DataFrame, names: Sequence[str]) -> DataFrame:
        wanted = {CLUSTER, *names, *(_IDENTITY if self._dedupe else ())}
        rows = lines.select(*(name for name in lines.columns if name in wanted))
        return rows.distinct() if self._dedupe else rows

    def counted(self, tally: DataFrame) -> Counts:
        """The counts, out of a frame with a row a `fault` and `reason` and the columns of `tally`."""
        rows = [row.asDict() for row in tally.collect()]
        return _counts(rows, self._damaged, self._tz)

    def title(self) -> str:
        return "<Requests: .frame, .left_out, .quarantine, .counts>"


def requests(
    spark: SparkSession,
    path: str | PathLike[str] | Sequence[str | PathLike[str]] | DataFrame,
    *,
    broker: int | str | Any = None,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
    names: str | None = None,
    dedupe: bool = True,
    strict: bool = False,
) -> Requests:
    """The requests that clients made, out of Kafka's request log.

    Parameters
    ----------
    path
        Files and folders, with all that is below them, plain or gzip, wherever Spark reads; or a frame of lines, with
        a column `line`, and `path` where the broker is told by it.
    broker
        The broker that wrote it: an id; a regular expression whose group is the id within a file's path
        (`r"broker-(\\d+)/"`, as Java spells them); or a frame with `id`, `host` and `port`, such as BROKERS, matched
        with the local address of each connection. Such a `host` is an address as the broker sees it; `port` decides
        where hosts have several brokers. It is required.
    tz
        The brokers' time zone, `Europe/Berlin`: log4j writes their local time. Not needed where the pattern has an
        offset. Of an hour that the clock passes twice the first is taken, and `counts` says how many requests it has.
    cluster_id
        Becomes the first column.
    inter_broker
        Names of the listeners that brokers use among themselves, or one regular expression of them.
    names
        A pattern of file names to read below a folder, such as `*request*`.
    dedupe
        Whether a request whose line is read twice counts once. False takes the log's word for it, and 10 to 25 % less
        time: for logs of which no file is there under two names, and none is read that log4j may be rolling.
    strict
        Whether a compressed file that is damaged stops the query. Else it is read as far as it goes, and is named in
        `counts` and `quarantine`.

    Raises
    ------
    NotFound
        No such path, no file below it, or no line in them.
    Invalid
        None of the lines is of Kafka's request log, or no sample of them can be read.
    UsageError
        No `tz` where the times need one, a broker that cannot be told: of the first lines, or by a file's path; a
        frame without lines.

    Notes
    -----
    The first lines are looked at here; all else is found when the frame is used, and stands in `.quarantine`.
    """
    _check_zone(tz)
    if broker is None:
        raise UsageError("nobody said which broker wrote the log", hint=_BROKER_HINT)
    files = None if isinstance(path, DataFrame) else LogFiles(spark, _strings(path), names, strict)
    text = files.lines() if files else _of_frame(path)
    placed = _placing(spark, _paths(spark, files, text), broker)

    def read(text: DataFrame, with_line: bool) -> DataFrame:
        return _with_fault(
            _with_request_columns(placed(_parse_lines(text, with_line)), tz, _listeners(inter_broker)), tz
        )

    def of_cluster(lines: DataFrame) -> DataFrame:
        return lines if cluster_id is None else lines.select(F.lit(cluster_id).alias(CLUSTER), "*")

    _look(text, read(_first_requests(text), with_line=False), path, files)
    rejected = read(text, with_line=True).where(_BAD).select("path", "line", F.col("fault").alias("reason"))
    lines = of_cluster(read(text, with_line=False))
    ours = [name for name in (CLUSTER, *schemas.REQUESTS.names) if name in lines.columns]
    good = lines.where(_GOOD)
    frame, left_out = good.where(_OF_CLIENT).select(*ours), good.where(_OF_OTHERS).select(*ours, "reason")
    if dedupe:
        frame, left_out = frame.distinct(), left_out.distinct()
    return Requests(frame, left_out, lines, rejected, files, dedupe, tz)


def _check_zone(tz: str | None) -> None:
    if tz is None or _FIXED.fullmatch(tz):
        return
    try:
        ZoneInfo(tz)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{tz} is not a time zone", hint="Such as Europe/Berlin, UTC or +02:00.") from None


def _listeners(inter_broker: str | Iterable[str]) -> str:
    if isinstance(inter_broker, str):
        return inter_broker
    return "^(" + "|".join(re.sub(r"(\W)", r"\\\1", name) for name in inter_broker) + ")$"


def _strings(path: Any) -> list[str]:
    paths = [path] if isinstance(path, str | PathLike) else path
    return [str(one) for one in paths]


def _paths(spark: SparkSession, files: LogFiles | None, text: DataFrame) -> DataFrame:
    """The paths that there are."""
    if files is None:
        return text.select("path").distinct()
    return spark.createDataFrame(pa.table({"path": pa.array(files.paths)}))


def _of_frame(lines: Any) -> Any:
    """The lines of a table, where somebody has put them."""
    types = {field.name: field.dataType for field in lines.schema}
    schemas.require_columns("the lines", ["line"], types)
    for name in ("path", "line"):
        check_text(name, types.get(name, StringType()), "the lines")
    path = F.col("path") if "path" in types else F.lit(None)
    return lines.select(F.coalesce(path.cast("string"), F.lit(_source_text(lines))).alias("path"), "line")


def _source_text(path: Any) -> str:
    if isinstance(path, DataFrame):
        return "the lines"
    return str(path) if isinstance(path, str | PathLike) else ", ".join(map(str, path))


def _parse_lines(text: DataFrame, with_line: bool) -> DataFrame:
    """The parsed lines, as `log_lines` has them."""
    work = worker_code.by_value(log_lines.parse_lines, with_line)
    return text.select("path", "line").mapInArrow(work, log_lines.SCHEMA)


def _placing(spark: SparkSession, paths: DataFrame, broker: Any) -> Callable[[DataFrame], DataFrame]:
    """Gives lines their `broker`, null where the connection's address is not a broker's."""
    if isinstance(broker, int):
        return lambda lines: lines.withColumn("broker", F.lit(broker).cast("int"))
    if isinstance(broker, str):
        _check_paths(paths, broker)
        return lambda lines: lines.withColumn("broker", _id_in("path", broker))
    addresses, with_port = _addresses(broker)
    return lambda lines: _by_address(spark, lines, addresses, with_port)


def _id_in(column: str, pattern: str) -> Column:
    return F.regexp_extract(column, pattern, 1).try_cast("int")


def _check_paths(paths: DataFrame, pattern: str) -> None:
    """Spark's own regular expressions judge, on the names alone."""
    try:
        silent = paths.where(_id_in("path", pattern).isNull()).limit(1).collect()
    except Exception as error:
        if "regexp" not in str(error).lower() and "REGEX" not in str(error):
            raise
        raise UsageError(f"{pattern} is not a regular expression with a group", hint=_BROKER_HINT) from None
    if silent:
        raise UsageError(
            f"the path {silent[0].path} does not match {pattern}, which is to say its broker", hint=_BROKER_HINT
        )


_BROKER_HINT = r"Say broker=3, a pattern such as r'broker-(\d+)/', or a frame with id, host, port."


def _addresses(broker: Any) -> tuple[dict[str, int], bool]:
    """Broker ids by `host`, or by `host:port` where a host has several; and which of the two it is."""
    table = input_columns.read_columns(broker, ("id", "host", "port"), "the brokers").select(["id", "host", "port"])
    rows = [(row["id"], _address(row["host"]), row["port"]) for row in table.to_pylist()]
    with_port = len({host for _, host, _ in rows}) < len(rows)
    return {f"{host}:{port}" if with_port else host: id_ for id_, host, port in rows}, with_port


def _address(host: str) -> str:
    """An address as Java writes it: IPv6 in full, without leading zeros."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host
    if ip.version == 4:
        return host
    return ":".join(f"{int(part, 16):x}" for part in ip.exploded.split(":"))


def _by_address(spark: SparkSession, parsed: DataFrame, addresses: dict[str, int], with_port: bool) -> DataFrame:
    table = pa.table({"address": pa.array(addresses, pa.string()), "broker": pa.array(addresses.values(), pa.int32())})
    host, port = (F.regexp_extract("connection", _LOCAL, group) for group in (1, 2))
    address = F.concat(host, F.lit(":"), port) if with_port else host
    brokers = F.broadcast(spark.createDataFrame(table))
    return parsed.withColumn("address", address).join(brokers, "address", "left").drop("address")


def _with_request_columns(placed: DataFrame, tz: str | None, inter_broker: str) -> DataFrame:
    """The columns of REQUESTS, and `reason`: why it is none of a client's, null where it is one."""
    client_id = F.coalesce("client_id", F.lit(""))
    return placed.select(
        "path",
        "line",
        "written",
        "is_old",
        "broker",
        _time(tz).alias("time"),
        "listener",
        F.regexp_replace("principal", "^[^:]*:", "").alias("user"),
        client_id.alias("client_id"),
        "api",
        F.when(F.col("api") == "PRODUCE", F.col("produced")).alias("bytes_in"),
        F.when(F.col("api") == "FETCH", F.col("fetched")).alias("bytes_out"),
        "io_ms",
        "total_ms",
        "throttle_ms",
        "software_name",
        "software_version",
        "connection",
        "correlation_id",
        _exclusion_reason(client_id, inter_broker).alias("reason"),
    )


def _exclusion_reason(client_id: Column, inter_broker: str) -> Column:
    api = F.col("api")
    fetcher = F.coalesce(F.coalesce("replica", "old_replica") >= 0, client_id.rlike(_FETCHER))
    return (
        F.when(F.col("forwarded") | (api == "ENVELOPE"), FORWARDED)
        .when(F.col("listener").rlike(inter_broker) | api.isin(*BROKERS_ONLY), OF_BROKERS)
        .when((api == "FETCH") & fetcher, OF_FOLLOWERS)
    )


def _has_offset(written: Column) -> Column:
    return F.substring(written, 20, 20).rlike("[Z+-]")


def _local() -> Column:
    """The time in front of a request as if the brokers kept UTC."""
    return F.concat("written", F.lit("Z")).try_cast("timestamp")


def _time(tz: str | None) -> Column:
    written = F.col("written")
    here = F.lit(None).cast("timestamp") if tz is None else F.to_utc_timestamp(_local(), tz)
    return F.when(_has_offset(written), written.try_cast("timestamp")).otherwise(here)


def _with_fault(requests: DataFrame, tz: str | None) -> DataFrame:
    """With `fault`: why a line is not a usable request, null where it is one; is it `ambiguous`, `unsized`?"""
    is_broken = F.col("api").isNull() | F.col("user").isNull() | F.col("connection").isNull()
    fault = (
        F.when(F.col("written").isNull(), NOT_KAFKA)
        .when(F.col("is_old"), OLD_KAFKA)
        .when(is_broken | F.col("correlation_id").isNull(), BROKEN)
        .when(F.col("time").isNull(), _untimed(tz))
        .when(_is_skipped(tz), NO_SUCH_TIME)
        .when(F.col("broker").isNull() & F.col("reason").isNull(), NO_BROKER)  # a controller has ports of its own
    )
    is_unsized = F.col("bytes_in").isNull() & F.col("bytes_out").isNull() & F.col("api").isin("PRODUCE", "FETCH")
    return requests.withColumns({"fault": fault, "ambiguous": _is_ambiguous(tz), "unsized": is_unsized})


def _untimed(tz: str | None) -> Column:
    needs_zone = (F.col("written") != "") & ~_has_offset(F.col("written"))
    return F.when(needs_zone & F.lit(tz is None), NO_ZONE).otherwise(NO_TIME)


def _moves(tz: str | None) -> bool:
    return tz is not None and not _FIXED.fullmatch(tz)


def _is_skipped(tz: str | None) -> Column:
    if not _moves(tz):
        return F.lit(False)
    return ~_has_offset(F.col("written")) & (F.from_utc_timestamp("time", str(tz)) != _local())


def _is_ambiguous(tz: str | None) -> Column:
    """Half an hour or an hour later the clock shows the same once more."""
    if not _moves(tz):
        return F.lit(False)
    later = [F.col("time") + F.expr(f"interval {minutes} minutes") for minutes in (30, 60)]
    again = [F.from_utc_timestamp(time, str(tz)) == _local() for time in later]
    return ~_has_offset(F.col("written")) & (again[0] | again[1])


def _first_requests(text: DataFrame) -> DataFrame:
    """The lines of the first requests, so that the workers read no more than these."""
    return text.where(F.contains("line", F.lit(log_lines.MARK.decode()))).limit(_SAMPLE)


def _look(text: DataFrame, sample: DataFrame, path: Any, files: LogFiles | None) -> None:
    """Read the first requests; complain where there are none, or none can be read."""
    with in_one_line():
        sampled = sample.select("path", "connection", "fault").collect()
        first = None if sampled else text.where(F.trim("line") != "").limit(1).collect()
    if first is not None:
        if not first and files and files.damaged:
            raise Invalid(f"{files.damaged[0]} cannot be read", hint=TORN)
        raise _no_request(first, path)
    faults = {row.fault: row for row in reversed(sampled)}
    if NO_ZONE in faults:
        raise UsageError(
            f"the times in {faults[NO_ZONE].path} have no offset", hint="Say tz='Europe/Berlin', or tz='UTC'."
        )
    if NO_BROKER in faults:
        raise _no_broker(faults[NO_BROKER])
    if None not in faults:
        raise Invalid(f"no request in {sampled[0].path} can be read: {sampled[0].fault}")


def _no_request(first: Sequence[Row], path: Any) -> Exception:
    if not first:
        return NotFound(f"no line in {_source_text(path)}", hint="kafka.request.logger writes at DEBUG or TRACE only.")
    line_text = printable(first[0].line[:80])
    return Invalid(
        f"{first[0].path} is not a request log of Kafka: {line_text}", hint="kafka.request.logger writes it."
    )


def _no_broker(row: Row) -> UsageError:
    return UsageError(
        f"no broker has the local address of the connection {row.connection}",
        hint="The brokers' host is to be the address that clients connect to, as the broker sees it.",
    )


_REMARKS = ("unsized", "ambiguous")
TALLY = ("lines", "requests", *_REMARKS)


def tally() -> list[Column]:
    """Of `tallied` rows: how many lines and requests they are, and how many of these are unsized, or ambiguous."""
    measures = (F.sum("lines"), F.count("*"), *map(F.count_if, _REMARKS))
    return [measure.alias(name) for measure, name in zip(measures, TALLY, strict=True)]


def _counts(rows: Iterable[Mapping[str, Any]], damaged: Sequence[str], tz: str | None) -> Counts:
    rows = [row for row in rows if row["lines"]]
    good = [row for row in rows if row["fault"] is None]
    of_clients = [row for row in good if row["reason"] is None]
    return Counts(
        lines=_total(rows, "lines") + len(damaged),
        requests=_total(of_clients, "requests"),
        duplicates=_total(good, "lines") - _total(good, "requests"),
        left_out={row["reason"]: row["requests"] for row in good if row["reason"] is not None},
        quarantined=_quarantined(rows, damaged),
        ambiguous=_total(of_clients, "ambiguous"),
        unsized=_total(of_clients, "unsized"),
        damaged=tuple(damaged),
        tz=tz,
    )


def _total(rows: Iterable[Mapping[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)


def _quarantined(rows: Iterable[Mapping[str, Any]], damaged: Sequence[str]) -> Counter[str]:
    """The lines that could not be read, by what is wrong with them."""
    quarantined = Counter({DAMAGED: len(damaged)} if damaged else {})
    for row in rows:
        if row["fault"] is not None:
            quarantined[row["fault"]] += row["lines"]
    return quarantined
