"""The use of each bucket's limit, on each broker: USAGE beside the quotas.

The usage is shuffled once, to add up the clients that share a bucket window by window; what comes out, a row a bucket
and window however many clients share it, once more, to bring the windows of a bucket together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, NullType, NumericType, StringType, StructType, TimestampType

from ..errors import UsageError
from ..frames import schemas
from ..resolution.input_columns import CLUSTER
from ..resolution.kernel import asked_keys
from ..traffic import bucket_figures
from ..traffic.usage_rules import BUCKET_TOTALS, draws, is_measured, is_shared, names_one_client
from ..traffic.utilisation import BINDING, CLIENT, GIVEN, UNWATCHED_AFTER, USAGE_LABEL
from .input_columns import check_clusters, given, names_of, of_types, row_as_json
from .output_columns import plain_schema, spark_schema
from .quota_tables import has_clusters, read_columns
from .resolving import bound
from .usage_windows import totals
from .whole_groups import of_whole_groups

_TEXT, _NUMBER, _TIME = (StringType, NullType), (NumericType, NullType), (TimestampType,)
_COLUMN_TYPES: dict[str, tuple[tuple[type[DataType], ...], str]] = {
    CLUSTER: (_TEXT, "text"),
    "broker": ((IntegralType,), "a whole number"),
    "user": (_TEXT, "text"),
    "client_id": (_TEXT, "text"),
    "key": (_TEXT, "text"),
    "window_start": (_TIME, "a timestamp"),
    "window_end": (_TIME, "a timestamp"),
    "value": (_NUMBER, "a number"),
    "throttle_ms": (_NUMBER, "a number"),
    "source": (_TEXT, "text"),
}
_USAGE_COLUMNS = tuple(name for name in _COLUMN_TYPES if name != CLUSTER)


def known_clients(usage: DataFrame) -> DataFrame:
    """PAIRS: each user and client-id of the usage once, with `cluster_id` where the usage has one.

    Of what `usage_from_metrics` gives, a row that names both a user and a client-id is of one client. The others are
    of buckets that many clients share; they name none of them and are left out.

    Raises
    ------
    UsageError
        No Spark DataFrame, or a column is missing or of another type.
    """
    _check_types(usage, ("user", "client_id", "source"))
    clients = usage.where(names_one_client(_is_bucket(), F.col("user"), F.col("client_id")))
    return names_of(clients, USAGE_LABEL, CLUSTER in usage.columns).distinct()


def utilisation(
    usage: DataFrame, quotas: Any, *, keys: str | Iterable[str] | None = None, unwatched_after: float = UNWATCHED_AFTER
) -> DataFrame:
    """UTILISATION: what was used of each limit, a row a broker, bucket and key, in the unit of the key.

    Parameters
    ----------
    usage
        USAGE, of clients or of buckets, with windows of one length on each broker. A row whose value is NaN, infinite
        or negative measures nothing and is passed over; the use of one whose value is null is unknown.
    quotas
        QUOTAS, as anything that `resolve` takes; a cluster's `quotas.describe()` too.
    keys
        The keys to look at, any name; the four of users and clients unless said.
    unwatched_after
        Seconds. Where no client of a broker has a row for longer, nobody watched, as between two observations: that
        time is not idle time, and none of it counts. Infinity takes all of it for idle.

    Returns
    -------
    DataFrame
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
        No Spark DataFrame, a column is missing or of another type, `cluster_id` on one side only.
    Invalid
        As `resolve`.
    pyspark.errors.SparkRuntimeException
        When the result is read: a null in a row's names or times, with the row; windows of several lengths, or of
        none, on one broker.

    Examples
    --------
    >>> utilisation(usage, cluster.quotas.describe()).where("utilisation > 80")  # doctest: +SKIP
    """
    chosen, stored = asked_keys(keys), read_columns(quotas)
    rows = _measured_rows(usage, chosen, has_clusters(stored))
    windows = _windows(_in_buckets(bound(rows, stored, chosen).of_key()))
    by = _broker(windows)
    spans = F.broadcast(_spans(windows, by, unwatched_after))
    return _figures(windows.where("key is not null").join(spans, by), by)


def _check_types(usage: Any, names: Sequence[str]) -> None:
    if not isinstance(usage, DataFrame):
        raise UsageError(f"the usage is a {type(usage).__name__}, not a Spark DataFrame", hint="frame.to_spark(spark)")
    for name, kind in of_types(usage, names, USAGE_LABEL).items():
        fitting, description = _COLUMN_TYPES[name]
        if not isinstance(kind, fitting):
            raise UsageError(f"{name} of {USAGE_LABEL} is {kind.simpleString()}, not {description}")


def _is_bucket() -> Column:
    return F.col("source").eqNullSafe(schemas.OF_BUCKETS)


def _measured_rows(usage: DataFrame, keys: Sequence[str], by_cluster: bool) -> DataFrame:
    """The rows that measure something. `key` is null of other keys: they only tell which windows a broker has.

    `measured`: by the broker, of a bucket.
    """
    _check_types(usage, _USAGE_COLUMNS)
    check_clusters(usage.columns, USAGE_LABEL, by_cluster)
    names = [name for name in (CLUSTER, *_USAGE_COLUMNS) if name in usage.columns]
    row, value, throttle_ms = row_as_json(names), F.col("value").cast("double"), F.col("throttle_ms").cast("double")
    present = {name: given(F.col(name), name, row, USAGE_LABEL) for name in GIVEN if name in names}
    return usage.where(F.coalesce(is_measured(value), F.lit(True))).select(
        *([present[CLUSTER].cast("string").alias(CLUSTER)] if by_cluster else []),
        present["broker"].cast("int").alias("broker"),
        present["user"].cast("string").alias("user"),
        F.coalesce(F.col("client_id").cast("string"), F.lit("")).alias("client_id"),
        F.when(F.col("key").isin(*keys), F.col("key").cast("string")).alias("key"),
        present["window_start"].alias("start"),
        present["window_end"].alias("end"),
        value.alias("value"),
        F.nanvl(throttle_ms, F.lit(None).cast("double")).alias("throttle_ms"),
        F.isnull(value).alias("unknown"),
        _is_bucket().alias("measured"),
    )


def _in_buckets(rows: DataFrame) -> DataFrame:
    """With the names of the client only where nothing binds it, and `client`, of buckets that several may share."""
    measured, names = F.col("measured"), (F.col("user"), F.col("client_id"))
    bucket = F.col("bucket_user"), F.col("bucket_client_id")
    binds = F.col("level").isNotNull() & draws(measured, names, bucket)
    bucket_columns = {name: F.when(binds, F.col(name)) for name in (*BINDING, "limit")}
    client_columns = {name: F.when(~binds & F.col("key").isNotNull(), F.col(name)) for name in CLIENT}
    client = F.when(~measured & is_shared(*bucket), F.xxhash64(*names))
    whole = reduce(and_, (F.col(name).isNotNull() for name in _broker(rows)))  # else the join asks it, of one side only
    return rows.where(whole).withColumn("client", client).withColumns({**bucket_columns, **client_columns})


def _broker(frame: DataFrame) -> list[str]:
    """The columns by which windows are compared: what a broker measured itself is apart from its clients' sums."""
    return [name for name in (CLUSTER, "broker", "measured") if name in frame.columns]


def _windows(rows: DataFrame) -> DataFrame:
    """The use of each bucket in each window: `start`, `end`, `limit`, `used`, `unknown`, `throttle_ms`.

    For each client of a bucket that several share there is one row more, without a window, so that both are counted
    in one go. The rows go through a generator, which neither pruning nor a filter of `key` passes: both readers want
    the very same shuffle then, and the usage is read once.
    """
    names = [*_broker(rows), *bucket_figures.BUCKET]
    windows = (
        rows.select(*names, F.inline(_with_client()))
        .groupBy(*names, "start", "end", "client")
        .agg(*totals(BUCKET_TOTALS))
    )
    each = F.struct("key", "start", "end", *(total.name for total in BUCKET_TOTALS))
    return windows.select(*(name for name in names if name != "key"), F.inline(F.array(each)))


def _with_client() -> Column:
    """The row of a window, and that of a client."""
    measures = ("start", "end", "limit", "value", "unknown", "throttle_ms")
    kinds = ("timestamp", "timestamp", "double", "double", "boolean", "double")
    window = F.struct(*measures, F.lit(None).cast("bigint").alias("client"))
    nothing = (F.lit(None).cast(kind).alias(name) for name, kind in zip(measures, kinds, strict=True))
    client = F.struct(*nothing, "client")
    return F.when(F.col("client").isNull(), F.array(window)).otherwise(F.array(window, client))


def _spans(windows: DataFrame, by: Sequence[str], unwatched_after: float) -> DataFrame:
    """The number of `windows` of each broker, and of `brokers`."""
    times = windows.where("start is not null").select(*by, "start", "end").distinct()
    counts = pa.schema([("windows", pa.int64()), ("fault", pa.string())])
    schema = StructType([*times.select(*by).schema, *spark_schema(counts)])
    spans = of_whole_groups(times, by, bucket_figures.watched_windows, (by, unwatched_after), schema)
    cluster = Window.partitionBy(F.col(CLUSTER) if CLUSTER in by else F.lit(0))
    return spans.select(
        *by,
        F.when(F.isnull("fault"), F.col("windows")).otherwise(F.raise_error(F.col("fault"))).alias("windows"),
        F.size(F.collect_set("broker").over(cluster)).alias("brokers"),
    )


def _figures(windows: DataFrame, by: Sequence[str]) -> DataFrame:
    """UTILISATION out of the windows of each bucket, on the workers."""
    cluster = [pa.field(CLUSTER, pa.string())] if CLUSTER in by else []
    schema = plain_schema(pa.schema([*cluster, *schemas.UTILISATION.schema]))
    names = [*by, *bucket_figures.BUCKET]
    return of_whole_groups(windows, names, bucket_figures.bucket_figures, (by, schema), spark_schema(schema))
