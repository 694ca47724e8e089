"""The use of each bucket's limit, on each broker: USAGE beside the quotas.

On Spark the usage is shuffled once, to bring the windows of a bucket together: the worker that has them adds up the
clients that share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..fleets.workers import of_rows, of_whole_groups
from ..frames import frame as types
from ..frames import relational, schemas
from ..frames import spark as sparks
from ..frames.relational import (
    TEXT,
    Frame,
    appended,
    beside,
    brought_together,
    cluster_of,
    each_once,
    framed,
    having,
    kinds_of,
    names_of,
    of_kinds,
    read_columns,
    select,
    stacked,
    taken,
    where,
    with_columns,
    with_number_of,
    without_faults,
    without_null,
    words_of,
)
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters, led
from ..resolution.kernel import asked_keys
from .arithmetic import (
    BUCKET_SUMS,
    draws,
    is_measured,
    is_shared,
    names_one_client,
    ratios,
    window_start,
)
from .bucket_figures import (
    BUCKET,
    DAY,
    Watched,
    bucket_days,
    bucket_figures,
    micros_of,
    watched_windows,
    windows_together,
)
from .limits_over_time import (
    NEVER,
    UNKNOWN,
    VALID_FROM,
    VALID_TO,
    LimitsOverTime,
    limits_at,
    limits_over_time,
    times_in_force,
)

USAGE_LABEL = "the usage's rows"
"""The word for USAGE in messages."""

UNWATCHED_AFTER = 60.0
"""A consumer that waits for records asks twice a second, so a minute without any request is one that nobody logged."""

KINDS = {CLUSTER: TEXT, **kinds_of(schemas.USAGE.schema)}
"""The columns of USAGE that are read."""

_GIVEN = ("broker", "user", "window_start", "window_end")
"""The columns that may not be null."""

_CLIENT = ("user", "client_id")
_WINDOW = ("key", "start", "end", "value", "unknown", "throttle_ms")
_BINDING = ("level", "bucket_user", "bucket_client_id")
_TYPES: dict[str, pa.DataType] = {
    CLUSTER: types.TEXT,
    "broker": types.WHOLE,
    "measured": types.FLAG,
    "day": types.COUNT,
    **dict.fromkeys(("user", "client_id", "key", *_BINDING), types.TEXT),
    **dict.fromkeys(("start", "end"), types.MOMENT),
    **dict.fromkeys(("value", "throttle_ms", "limit"), types.NUMBER),
    "unknown": types.FLAG,
    **dict.fromkeys(("first", "last"), types.COUNT),
}
"""The types of columns on the way."""

ALL_DAYS = (date.min, date.max)

_COUNTS = {"windows": types.COUNT, "brokers": types.WHOLE, "clients": types.COUNT}
_FIGURES = {name: types.COUNT if name.startswith("windows") else types.NUMBER for name in BUCKET_SUMS}
_SEEN = {"since": types.MOMENT, "until": types.MOMENT, "watched_s": types.NUMBER}
"""What a usage has of a broker: from when to when, and how long it was watched."""


def known_clients(usage: Any) -> Frame:
    """PAIRS: each user and client-id of the usage once, with `cluster_id` if the usage has one.

    Of usage from metrics, a row that names both a user and a client-id is of one client. The others are of buckets that
    many clients share; they name none of them and are left out.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    rows, cluster = usage_columns(usage, ("user", "client_id", "source"))
    names = [*cluster, *_CLIENT]
    clients = where(rows, names_one_client(*map(words_of(rows).column, ("measured", *_CLIENT))))
    return each_once(without_null(clients, names[:-1], USAGE_LABEL, names), names)


def utilisation(
    usage: Any,
    quotas: Any,
    *,
    keys: str | Iterable[str] | None = None,
    unwatched_after: float = UNWATCHED_AFTER,
    watched: bool | datetime = False,
    cluster_id: str | None = None,
) -> Frame:
    """UTILISATION: how much of each limit was used, a row for each broker, bucket, key and limit, in the unit of the
    key.

    Parameters
    ----------
    usage
        USAGE, of clients or of buckets, with windows of one length on each broker: a Spark DataFrame, or anything with
        `__arrow_c_stream__`. Rows whose value is NaN, infinite or negative are ignored; a null value means unknown use.
    quotas
        QUOTAS, as anything that `resolve` takes, such as a cluster's `quotas.describe()`: the current limits. Or
        QUOTAS_HISTORY, or the result of `open_history`: the limits as they were; each window is compared with the one
        in force at its `window_start`.
    keys
        The keys, any name; default: the four of users and clients.
    unwatched_after
        Seconds. If no client of a broker has a row for longer, the broker was not observed in that time, and it does
        not count. Infinity counts all such time as idle.
    watched
        True if the log is always on: then each day in UTC on which the broker has usage counts whole, idle hours too.
        A time: the same up to it, such as the end of the last day whose log was read, `log_day().until`.
    cluster_id
        Only this cluster; default: all. Of a history no other is read.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        `level`, `limit`, `bucket_user` and `bucket_client_id` name the quota that applies, as in EFFECTIVE; the use of
        all clients that share the bucket is added up, window by window. A client without a limit has its own row: its
        names are in `user` and `client_id`, which are null otherwise; its limit and the columns that need one are null.
        Limits hold on each broker; `brokers` are those that the usage (of the cluster) has.
        `clients`: how many shared the bucket; null where the broker measured the bucket itself (the usage is from
        metrics). Such a row is not added to those of clients. It is matched with the quota by which a client of these
        names would draw from this very bucket, and has no limit where there is none. `windows`: all from the first to
        the last that the broker has in the usage, idle ones too, but not those that nobody watched; of metrics all
        times that it has a sample of. `windows_seen` are those with a row of this bucket; in the others it used
        nothing. `windows_unknown` are those of which a part of the use is unknown, as of share consumers: the figures
        below are the least that it can be, and null where nothing is known. `peak`: the most in a window; `p95`: what
        95 % of the windows do not exceed; `mean`: of all windows. `utilisation` is the peak in percent of the limit.
        `share_above_80`, `share_above_100` and `share_throttled` are fractions of
        `windows`. `longest_above_100_s`: seconds of the longest run of windows above the limit that follow each other
        without a gap. `throttle_ms`: the longest throttle that was told, null where nothing tells. A broker judges the
        average of 11 s: a second above 100 % need not be throttled.

        With a history a bucket whose limit moved has a row for each limit, and `windows` are those in which this limit
        bound one of the clients that the broker's usage has. What was used before the history of a cluster begins has
        the level `UNKNOWN`, and no limit: nobody knows whether there was one.

    Raises
    ------
    UsageError
        Not a frame, a column is missing or of another type, `cluster_id` on one side only.
    Invalid
        As `resolve`; two intervals of an entity and key overlap; a null in a row's names or times, with the row;
        windows of several lengths, or without length, on one broker. For a Spark DataFrame the last two are raised when
        the result is read, as `pyspark.errors.SparkRuntimeException`.

    Examples
    --------
    >>> utilisation(usage, cluster.quotas.describe()).where("utilisation > 80")  # doctest: +SKIP
    """
    windows, by, spans = _windows_of(usage, quotas, keys, unwatched_after, watched, cluster_id)
    sums = _figures(windows, by, bucket_figures, {"p95": types.NUMBER})
    seen = beside(sums, select(spans, [*by, *_SEEN]), by)
    return framed(with_columns(seen, ratios(words_of(seen))), led(schemas.UTILISATION.schema, by))


def utilisation_daily(
    usage: Any,
    quotas: Any,
    *,
    keys: str | Iterable[str] | None = None,
    unwatched_after: float = UNWATCHED_AFTER,
    watched: bool | datetime = False,
    cluster_id: str | None = None,
    days: tuple[date, date] | None = None,
) -> Frame:
    """UTILISATION_DAILY: the same for each day in UTC, as figures that add up.

    Parameters
    ----------
    usage, quotas, keys, unwatched_after, watched, cluster_id
        As for `utilisation`. Usage of several days is split at midnight.
    days
        The first and the last day to work out, such as `(date(2026, 11, 21), date(2026, 11, 21))`; all days of the
        usage unless said. Their rows are those of a longer run: the usage of other days tells which clients there are.
        Of a history only the limits of these days travel to Spark's workers.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        The columns say how they add up. A run above the limit across midnight counts in each day with its part. A
        bucket that was idle on a day has a row, too, if the usage has its clients: usage of one day has only clients
        that were active.

    Raises
    ------
    UsageError, Invalid
        As `utilisation`.
    """
    windows, by, _ = _windows_of(usage, quotas, keys, unwatched_after, watched, cluster_id, days or ALL_DAYS)
    of_days = {"day": types.DAY, "window_s": types.NUMBER, "histogram": schemas.HISTOGRAM}
    return framed(_figures(windows, by, bucket_days, of_days), led(schemas.UTILISATION_DAILY.schema, by))


def _figures(rows: Frame, by: Sequence[str], kernel: Any, more: dict[str, pa.DataType]) -> Frame:
    schema = _kinds_of([*by, *BUCKET], {**_COUNTS, **_FIGURES, **more})
    return of_whole_groups(rows, [*by, *BUCKET], kernel, (by,), schema, windows_together)


def _kinds_of(names: Sequence[str], figures: dict[str, pa.DataType]) -> pa.Schema:
    return pa.schema([*((name, _TYPES[name]) for name in names if name not in figures), *figures.items()])


def _windows_of(
    usage: Any,
    quotas: Any,
    keys: str | Iterable[str] | None,
    unwatched_after: float,
    watched: bool | datetime,
    cluster_id: str | None,
    days: tuple[date, date] | None = None,
) -> tuple[Frame, list[str], Frame]:
    """The windows of each client in its buckets, beside the windows of its broker, of some days; the columns that
    identify a broker, and its day where days are given; and what `watched_spans` says of the brokers."""
    rows, cluster = measured_rows(usage)
    rows = _of_one(rows, cluster_id)
    limits = Limits.of(quotas, keys, cluster, cluster_id, days)
    by, seen = [*cluster, "broker", "measured"], _watched_until(watched)
    words = words_of(rows)
    key = words.column("key")  # null of other keys: they only tell which windows a broker has
    asked_for = with_columns(rows, {"key": words.when(key.isin(list(limits.keys)), key)})
    asked_for = select(asked_for, [*by, *_CLIENT, *_WINDOW])  # workers are sent no more
    if limits.over_time is None:
        limited, of_windows = limits.beside(asked_for), by
    else:
        every = _with_times_in_force(asked_for, by, limits.over_time, unwatched_after, seen, days)
        limited, of_windows = limits.beside(every), by
        if days:
            day = window_start(words_of(limited), words_of(limited).column("start"), DAY)
            limited, of_windows = with_columns(limited, {"day": day}), [*by, "day"]
    windows = _together(in_buckets(limited, by), of_windows)
    times = having(windows, "end") if days in (None, ALL_DAYS) else asked_for
    spans = watched_spans(times, cluster, unwatched_after, seen)
    counts = select(spans, [*by, "windows", "length", "brokers"])  # the rows are many: no more is put beside them
    return beside(having(windows, "key"), counts, by), of_windows, spans


def _of_one(frame: Frame, cluster_id: str | None) -> Frame:
    """The rows of one cluster, or all; all of them where the frame names none."""
    return frame if cluster_id is None or not cluster_of(frame) else relational.equal(frame, CLUSTER, cluster_id)


@dataclass(frozen=True)
class Limits:
    """The limits of some keys: `stored` as QUOTAS, or `over_time`, as they were."""

    keys: tuple[str, ...]
    stored: Frame
    over_time: LimitsOverTime | None = None

    @classmethod
    def of(
        cls,
        quotas: Any,
        keys: str | Iterable[str] | None,
        cluster: Sequence[str],
        cluster_id: str | None = None,
        days: tuple[date, date] | None = None,
    ) -> Limits:
        """The limits that `quotas` of `utilisation` has for a usage with this column of clusters, or with none.

        Of a history only the intervals of the cluster and of the days, which ask for limits over time, are kept. From
        when on limits are known is told by all that was recorded.

        Raises
        ------
        UsageError, Invalid
            As `utilisation`.
        """
        chosen, interval, since = asked_keys(keys), (VALID_FROM, VALID_TO), None
        if not sparks.is_spark(quotas) and callable(getattr(quotas, "intervals", None)):  # Connect has any attribute
            snapshots = quotas.snapshots(cluster_id).to_arrow()
            since = snapshots.filter(pc.equal(snapshots["kind"].cast(pa.string()), "quotas"))
            quotas = quotas.intervals("quotas", cluster_id)
        frame = taken(quotas, (CLUSTER, *QUOTA_COLUMNS, *interval), QUOTAS_LABEL)
        is_history = not set(interval).isdisjoint(names_of(frame))
        stored = read_columns(frame, (*QUOTA_COLUMNS, *(interval if is_history else ())), QUOTAS_LABEL)
        check_clusters(cluster, USAGE_LABEL, bool(cluster_of(stored)))
        stored = _of_one(stored, cluster_id)
        if not is_history and days is None:
            return cls(chosen, stored)
        history = relational.in_arrow(stored)
        return cls(chosen, stored, limits_over_time(history, chosen, since, _ends_of(days or ALL_DAYS)))

    def beside(self, rows: Frame) -> Frame:
        """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own client and `key`, at their
        `start` where limits are known over time."""
        if self.over_time is None:
            return with_limits(rows, self.stored, self.keys)
        return of_rows(rows, limits_at, (self.over_time,), _kinds_of([*names_of(rows), "limit", *_BINDING], {}))


def _ends_of(days: tuple[date, date]) -> tuple[int, int]:
    """From when to when days are, in microseconds."""
    first, last = ((day - date(1970, 1, 1)).days * DAY for day in days)
    return first, last + DAY


def _watched_until(watched: bool | datetime) -> Watched:
    """The time up to which days with usage were watched whole."""
    if isinstance(watched, datetime):
        return micros_of(watched)
    return NEVER if watched else None


def _with_times_in_force(
    rows: Frame,
    by: Sequence[str],
    limits: LimitsOverTime,
    unwatched_after: float,
    watched: Watched,
    days: tuple[date, date] | None,
) -> Frame:
    """The rows, of some days, and rows without use, which tell when limits were in force."""
    words = words_of(rows)
    columns = {name: words.column(name) for name in ("start", "end", *_CLIENT, "key")}
    nothing = {name: words.literal(None, _TYPES[name]) for name in columns}
    times = {**nothing, **{name: columns[name] for name in ("start", "end")}}
    client = {**nothing, **{name: columns[name] for name in (*_CLIENT, "key")}}
    both = each_once(stacked(rows, by, [(None, times), (~words.is_null(columns["key"]), client)]))
    marked = ("start", *_CLIENT, "key", "first", "last")
    in_force = of_whole_groups(
        both, by, times_in_force, (by, unwatched_after, watched, limits, bool(days)), _kinds_of([*by, *marked], {})
    )
    missing = [name for name in _WINDOW if name not in marked]
    in_force = with_columns(in_force, {name: words.literal(None, _TYPES[name]) for name in missing})
    rows = with_columns(rows, {name: words.literal(None, types.COUNT) for name in ("first", "last")})
    names = [*by, *_CLIENT, *_WINDOW, "first", "last"]
    every = appended(select(rows, names), select(in_force, names))
    if not days:
        return every
    (since, until), start = _ends_of(days), words_of(every).micros(words_of(every).column("start"))
    return where(every, (start >= since) & (start < until))


def used_of_buckets(usage: Any, quotas: Any = None) -> Frame:
    """The rows of USAGE, each with the `limit` at its `start` and the bucket that it draws from.

    Its names are in `bucket_user` and `bucket_client_id`; those of the client where nothing binds it, or no quotas are
    given. `quotas` are as those of `utilisation`.

    Raises
    ------
    UsageError, Invalid
        As `utilisation`.
    """
    rows, cluster = measured_rows(usage)
    by = [*cluster, "broker", "measured"]
    rows, words = select(rows, [*by, *_CLIENT, *_WINDOW]), words_of(rows)
    if quotas is None:
        limited = with_columns(rows, {name: words.literal(None, _TYPES[name]) for name in ("limit", *_BINDING)})
    else:
        limited = Limits.of(quotas, None, cluster).beside(rows)
    bound = in_buckets(limited, by)
    words = words_of(bound)
    whose = {f"bucket_{name}": words.either(words.column(f"bucket_{name}"), words.column(name)) for name in _CLIENT}
    return with_columns(bound, whose)


def usage_columns(usage: Any, names: Sequence[str]) -> tuple[Frame, list[str]]:
    """These columns of a usage in their types, with `measured`: by the broker, of a bucket; and the cluster's, if any.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    rows = of_kinds(usage, {name: KINDS[name] for name in (CLUSTER, *names)}, USAGE_LABEL, or_without=(CLUSTER,))
    words, cluster = words_of(rows), cluster_of(rows)
    columns = {"client_id": words.either(words.column("client_id"), words.literal("", pa.string()))}
    if "source" in names:
        is_bucket = words.column("source") == schemas.OF_BUCKETS
        columns["measured"] = words.either(is_bucket, words.literal(False, pa.bool_()))
    return with_columns(rows, columns), cluster


def measured_rows(usage: Any) -> tuple[Frame, list[str]]:
    """The rows of USAGE that tell of a use, and the cluster's column, if any.

    They have `start` and `end`, `measured` by the broker, and `unknown`.
    """
    names = [name for name in KINDS if name != CLUSTER]
    rows, cluster = usage_columns(usage, names)
    words = words_of(rows)
    value, throttle_ms = words.column("value"), words.column("throttle_ms")
    told = where(rows, words.either(is_measured(value), words.literal(True, pa.bool_())))
    told = without_null(told, [*cluster, *_GIVEN], USAGE_LABEL, [*cluster, *names])
    columns = {
        "throttle_ms": words.when(~words.is_nan(throttle_ms), throttle_ms),
        "unknown": words.is_null(value),
        "start": words.column("window_start"),
        "end": words.column("window_end"),
    }
    kept = [name for name in (*cluster, *names, "measured") if not name.startswith("window_")]
    return select(with_columns(told, columns), [*kept, "unknown", "start", "end"]), cluster


def with_limits(rows: Frame, quotas: Frame, keys: Sequence[str]) -> Frame:
    """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own client and `key`."""
    if sparks.is_spark(rows):
        from ..fleets import fleet_resolving

        return fleet_resolving.bound(rows, quotas, keys).of_key()
    return limits_at(rows, limits_over_time(relational.in_arrow(quotas), tuple(keys)))


def in_buckets(rows: Frame, by: Sequence[str]) -> Frame:
    """The rows, with names of the client only where nothing binds it; who shares a bucket is `its_user` and so on."""
    words = words_of(rows)
    column = words.column
    measured, names = column("measured"), (column("user"), column("client_id"))
    bucket = column("bucket_user"), column("bucket_client_id")
    nobody = words.literal(False, pa.bool_())
    binds = words.either(~words.is_null(bucket[0]) & draws(measured, names, bucket), nobody)
    shares = ~measured & binds & is_shared(*bucket)
    columns = {name: words.when(binds, column(name)) for name in ("bucket_user", "bucket_client_id", "limit")}
    columns["level"] = words.when(binds | (column("level") == UNKNOWN), column("level"))
    columns |= {f"its_{name}": words.when(shares, column(name)) for name in _CLIENT}
    columns |= {name: words.when(~binds & ~words.is_null(column("key")), column(name)) for name in _CLIENT}
    whole = reduce(and_, (~words.is_null(column(name)) for name in by))  # else Spark's join asks it, of one side only
    return with_columns(where(rows, whole), columns)


def _together(rows: Frame, by: Sequence[str]) -> Frame:
    """The rows of each bucket, in one place: what a client used in a window, and when a limit was in force."""
    marks = [name for name in ("first", "last") if name in names_of(rows)]
    inside = ("key", "start", "end", *marks, "value", "unknown", "throttle_ms", "its_user", "its_client_id")
    return brought_together(rows, [*by, *BUCKET], inside)


def watched_spans(times: Frame, cluster: Sequence[str], unwatched_after: float, watched: Watched = None) -> Frame:
    """The number of `windows` that each broker was watched for, their `length`, from when to when and how long that
    was, and the `brokers` of its cluster.

    Raises
    ------
    Invalid
        A broker has windows of several lengths, or of none.
    """
    by = [*cluster, "broker", "measured"]
    figures = {"windows": types.COUNT, "length": types.COUNT, **_SEEN, "fault": types.TEXT}
    each = each_once(times, [*by, "start", "end"])
    spans = of_whole_groups(each, by, watched_windows, (by, unwatched_after, watched), _kinds_of(by, figures))
    return with_number_of(without_faults(spans, "windows", "fault"), "brokers", "broker", cluster)
