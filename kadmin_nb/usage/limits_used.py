"""The use of each bucket's limit, on each broker: USAGE beside the quotas.

On Spark the usage is shuffled once, to add up the clients that share a bucket window by window; what comes out, a row a
bucket and window however many clients share it, once more, to bring the windows of a bucket together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa

from ..fleets.workers import of_whole_groups
from ..frames import frame as types
from ..frames import schemas
from ..frames import spark as sparks
from ..frames.relational import (
    NUMBER,
    TEXT,
    TIME,
    WHOLE,
    Frame,
    Kind,
    added_up,
    each_once,
    members,
    names_of,
    of_kinds,
    read_once,
    select,
    stacked,
    where,
    with_columns,
    with_number_of,
    without_faults,
    without_null,
    words_of,
)
from ..resolution import input_columns
from ..resolution.impact import led
from ..resolution.input_columns import CLUSTER, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import Index, asked_keys
from .bucket_figures import BUCKET, bucket_figures, watched_windows
from .rules import BUCKET_TOTALS, draws, is_measured, is_shared, names_one_client

USAGE_LABEL = "the usage's rows"
"""The word for USAGE in messages."""

UNWATCHED_AFTER = 60.0
"""A consumer that waits for records asks twice a second, so a minute without any request is one that nobody logged."""

KINDS: dict[str, Kind] = {
    CLUSTER: TEXT,
    "broker": WHOLE,
    "user": TEXT,
    "client_id": TEXT,
    "key": TEXT,
    "window_start": TIME,
    "window_end": TIME,
    "value": NUMBER,
    "throttle_ms": NUMBER,
    "source": TEXT,
}
"""The columns of USAGE that are read."""

_GIVEN = ("broker", "user", "window_start", "window_end")
"""The columns that may not be null."""

_CLIENT = ("user", "client_id")
_WINDOW = ("key", "start", "end", "value", "unknown", "throttle_ms")
_BINDING = ("level", "bucket_user", "bucket_client_id")
_QUOTA_COLUMNS = ("level", "user", "client_id", "key", "value")


def known_clients(usage: Any) -> Frame:
    """PAIRS: each user and client-id of the usage once, with `cluster_id` where the usage has one.

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
    usage: Any, quotas: Any, *, keys: str | Iterable[str] | None = None, unwatched_after: float = UNWATCHED_AFTER
) -> Frame:
    """UTILISATION: what was used of each limit, a row a broker, bucket and key, in the unit of the key.

    Parameters
    ----------
    usage
        USAGE, of clients or of buckets, with windows of one length on each broker: a Spark DataFrame, or anything with
        `__arrow_c_stream__`. A row whose value is NaN, infinite or negative measures nothing and is passed over; the
        use of one whose value is null is unknown.
    quotas
        QUOTAS, as anything that `resolve` takes; a cluster's `quotas.describe()` too.
    keys
        The keys to look at, any name; the four of users and clients unless said.
    unwatched_after
        Seconds. Where no client of a broker has a row for longer, nobody watched, as between two observations: that
        time is not idle time, and none of it counts. Infinity takes all of it for idle.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        `level`, `limit`, `bucket_user` and `bucket_client_id` say what binds, as in EFFECTIVE; the use of all clients
        that share the bucket is added up, window by window. A client that nothing binds has a row of its own: its
        names are in `user` and `client_id`, which are null otherwise; its limit and all that needs one are null.
        `limit_x_brokers`: limits hold on each broker; `brokers` are those that the usage (of the cluster) has.
        `clients`: how many shared the bucket; null where the broker measured the bucket itself (the usage is from
        metrics). Such a row is not added to those of clients. It is matched with the quota by which a client of these
        names would draw from this very bucket, and has no limit where there is none.
        `windows`: all from the first to the last that the broker has in the usage, idle ones too, but not those that
        nobody watched; of metrics all times that it has a sample of. `windows_seen` are those with a row of this
        bucket; in the others it used nothing. `windows_unknown` are those of which a part of the use is unknown, as of
        share consumers: the figures below are the least that it can be, and null where nothing is known.
        `peak`: the most in a window; `p95`: what 95 % of the windows do not exceed; `mean`: of all windows.
        `utilisation` is the peak in percent of the limit, `headroom` the limit less the peak. `share_above_80`,
        `share_above_100` and `share_throttled` are fractions of `windows`. `longest_above_100_s`: seconds of the
        longest run of windows above the limit that follow each other without a gap. `throttle_ms`: the longest throttle
        that was told, null where nothing tells. A broker judges the average of 11 s: a second above 100 % need not be
        throttled.

    Raises
    ------
    UsageError
        Not a frame, a column is missing or of another type, `cluster_id` on one side only.
    Invalid
        As `resolve`; a null in a row's names or times, with the row; windows of several lengths, or of none, on one
        broker. Of a Spark DataFrame who reads the result hears of these two: `pyspark.errors.SparkRuntimeException`.

    Examples
    --------
    >>> utilisation(usage, cluster.quotas.describe()).where("utilisation > 80")  # doctest: +SKIP
    """
    chosen, stored = asked_keys(keys), quota_columns(quotas)
    rows, cluster = measured_rows(usage)
    check_clusters(cluster, USAGE_LABEL, CLUSTER in names_of(stored))
    by = [*cluster, "broker", "measured"]
    asked_for = select(_of_keys(rows, chosen), [*by, *_CLIENT, *_WINDOW])  # workers are sent no more
    limited = with_limits(asked_for, [*cluster, *_CLIENT], stored, chosen)
    windows = _bucket_windows(in_buckets(limited, by), by)
    spans = watched_spans(_where_known(windows, "start"), cluster, unwatched_after)
    schema = led(schemas.UTILISATION.schema) if cluster else schemas.UTILISATION.schema
    asked = members(_where_known(windows, "key"), spans, by)
    return of_whole_groups(asked, [*by, *BUCKET], bucket_figures, (by,), schema)


def quota_columns(quotas: Any) -> Frame:
    """The columns of QUOTAS that are read, of a Spark DataFrame, or of anything with `__arrow_c_stream__`."""
    if sparks.is_spark(quotas):
        from ..fleets import resolving

        return resolving.read_columns(quotas)
    return input_columns.read_columns(quotas, _QUOTA_COLUMNS, QUOTAS_LABEL)


def usage_columns(usage: Any, names: Sequence[str], label: str = USAGE_LABEL) -> tuple[Frame, list[str]]:
    """These columns of a usage in their types, with `measured`: by the broker, of a bucket; and the cluster's, if any.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    rows = of_kinds(usage, {name: KINDS[name] for name in (CLUSTER, *names)}, label, or_without=(CLUSTER,))
    words, cluster = words_of(rows), [CLUSTER] if CLUSTER in names_of(rows) else []
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


def _of_keys(rows: Frame, keys: Sequence[str]) -> Frame:
    """`key` is null of other keys: they only tell which windows a broker has."""
    words = words_of(rows)
    key = words.column("key")
    return with_columns(rows, {"key": words.when(key.isin(list(keys)), key)})


def with_limits(rows: Frame, names: Sequence[str], quotas: Frame, keys: Sequence[str]) -> Frame:
    """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own `key`, of who `names` name."""
    if sparks.is_spark(rows):
        from ..fleets import resolving

        return resolving.bound(rows, quotas, keys).of_key()
    bound = Index.of(quotas, keys).resolve(each_once(rows, names))
    texts = {name: bound[name].cast(pa.string()) for name in (*names, "key", *_BINDING)}
    limits = pa.table({**texts, "limit": bound["value"]})
    return rows.join(limits, [*names, "key"], join_type="left outer")


def in_buckets(rows: Frame, by: Sequence[str]) -> Frame:
    """With the names of the client only where nothing binds it; those who share a bucket are `its_user` and so on."""
    words = words_of(rows)
    column = words.column
    measured, names = column("measured"), (column("user"), column("client_id"))
    bucket = column("bucket_user"), column("bucket_client_id")
    nobody = words.literal(False, pa.bool_())
    binds = words.either(~words.is_null(column("level")) & draws(measured, names, bucket), nobody)
    shares = ~measured & binds & is_shared(*bucket)
    columns = {name: words.when(binds, column(name)) for name in (*_BINDING, "limit")}
    columns |= {f"its_{name}": words.when(shares, column(name)) for name in _CLIENT}
    columns |= {name: words.when(~binds & ~words.is_null(column("key")), column(name)) for name in _CLIENT}
    whole = reduce(and_, (~words.is_null(column(name)) for name in by))  # else Spark's join asks it, of one side only
    return with_columns(where(rows, whole), columns)


def _bucket_windows(rows: Frame, by: Sequence[str]) -> Frame:
    """The use of each bucket in each window: `start`, `end`, `limit`, `used`, `unknown`, `throttle_ms`.

    For each client of a bucket that several share there is one row more, without a window, so that both are counted in
    one go.
    """
    words, names = words_of(rows), [*by, *BUCKET]
    window = {name: words.column(name) for name in ("start", "end", "limit", "value", "unknown", "throttle_ms")}
    client = {f"its_{name}": words.column(f"its_{name}") for name in _CLIENT}
    kinds = {
        "start": types.MOMENT,
        "end": types.MOMENT,
        "limit": types.NUMBER,
        "value": types.NUMBER,
        "unknown": types.FLAG,
        "throttle_ms": types.NUMBER,
    }
    nothing = {name: words.literal(None, kind) for name, kind in kinds.items()}
    nobody = {name: words.literal(None, types.TEXT) for name in client}
    is_shared_by = ~words.is_null(words.column("its_user"))
    both = stacked(rows, names, [(None, {**window, **nobody}), (is_shared_by, {**nothing, **client})])
    totals = added_up(both, [*names, "start", "end", *client], BUCKET_TOTALS, in_order=True)
    return read_once(totals, [name for name in names if name != "key"], ["key", "start", "end", *BUCKET_TOTALS])


def watched_spans(times: Frame, cluster: Sequence[str], unwatched_after: float) -> Frame:
    """The number of `windows` that each broker was watched for, and of the `brokers` of its cluster.

    Raises
    ------
    Invalid
        A broker has windows of several lengths, or of none.
    """
    by = [*cluster, "broker", "measured"]
    broker = pa.schema([(CLUSTER, types.TEXT), ("broker", types.WHOLE), ("measured", types.FLAG)])
    schema = pa.schema([*map(broker.field, by), ("windows", types.COUNT), ("fault", types.TEXT)])
    spans = of_whole_groups(each_once(times, [*by, "start", "end"]), by, watched_windows, (by, unwatched_after), schema)
    return with_number_of(without_faults(spans, "windows", "fault"), "brokers", "broker", cluster)


def _where_known(rows: Frame, name: str) -> Frame:
    words = words_of(rows)
    return where(rows, ~words.is_null(words.column(name)))
