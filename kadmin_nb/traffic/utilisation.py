"""The use of each bucket's limit, on each broker: USAGE beside the quotas. In this process, on Arrow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError, printable
from ..frames import schemas
from ..resolution.arrays import Doubles, Flags, Longs
from ..resolution.input_columns import CLUSTER, arrow_table, check_clusters, text_column
from ..resolution.kernel import Index
from .grouping import Groups, codes_of
from .log_times import INSTANT
from .request_log import each_once

USAGE_LABEL = "the usage's rows"
"""The word for USAGE in messages."""

UNWATCHED_AFTER = 60.0
"""A consumer that waits for records asks twice a second, so a minute without any request is one that nobody logged."""

MEASURED_COLUMNS = (
    "broker", "user", "client_id", "key", "window_start", "window_end", "value", "throttle_ms", "source",
)  # fmt: skip
"""The columns of USAGE that are read."""

GIVEN = (CLUSTER, "broker", "user", "window_start", "window_end")
"""The columns that may not be null."""

BUCKET = ("key", "bucket_user", "bucket_client_id", "user", "client_id", "level")
_BINDING = ("level", "bucket_user", "bucket_client_id")
_BROKER = (CLUSTER, "broker", "measured")
"""The columns of whose windows are compared: a broker's own measure is apart from the sum of its clients."""


def known_clients(usage: Any) -> pa.Table:
    """PAIRS: each user and client-id of the usage once, with `cluster_id` where the usage has one.

    Of usage from metrics, a row that names both a user and a client-id is of one client. The others are of buckets that
    many clients share; they name none of them and are left out.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    table = _typed_columns(usage, ("user", "client_id", "source"))
    names_both = pc.and_(pc.not_equal(table["user"], ""), pc.not_equal(table["client_id"], ""))
    clients = table.filter(pc.or_(pc.invert(table["measured"]), names_both))
    _refuse_null(clients, [name for name in (CLUSTER, "user") if name in clients.column_names])
    return each_once(clients, [name for name in (CLUSTER, "user", "client_id") if name in clients.column_names])


def utilisation(
    usage: Any, quotas: Any, *, keys: str | Iterable[str] | None = None, unwatched_after: float = UNWATCHED_AFTER
) -> pa.Table:
    """UTILISATION: what was used of each limit, a row a broker, bucket and key, in the unit of the key.

    Parameters
    ----------
    usage, quotas
        USAGE and QUOTAS, as anything with `__arrow_c_stream__`.
    keys, unwatched_after
        As of `analytics.utilisation`, where the columns of the answer are told too.

    Raises
    ------
    UsageError
        Not a frame, a column is missing or of another type, `cluster_id` on one side only.
    Invalid
        As `resolve`; a null in a row's names or times; windows of several lengths, or of none, on one broker.
    """
    index = Index.of(quotas, keys)
    rows = measured_rows(usage)
    check_clusters(rows, USAGE_LABEL, index.tables.clusters is not None)
    rows = _in_buckets(_with_limits(_of_keys(rows, index.tables.keys), index))
    windows, by = _bucket_windows(rows), broker_columns(rows)
    spans = watched_windows(rows, unwatched_after)
    return _utilisation_of(windows.filter(windows["key"].is_valid()), _sharing(rows), spans, by)


def _typed_columns(usage: Any, names: Sequence[str]) -> pa.Table:
    """These columns of a usage in their types, with `measured`: by the broker, of a bucket."""
    table = arrow_table(usage, (CLUSTER, *names), USAGE_LABEL)
    schemas.require_columns(USAGE_LABEL, names, table.column_names)
    columns = {name: _usage_column(table, name) for name in (CLUSTER, *names) if name in table.column_names}
    if "client_id" in columns:
        columns["client_id"] = pc.fill_null(columns["client_id"], "")
    return pa.table({**columns, "measured": pc.fill_null(pc.equal(columns["source"], schemas.OF_BUCKETS), False)})


def _usage_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    column = table[name]
    if name in (CLUSTER, "user", "client_id", "key", "source"):
        return text_column(table, name, USAGE_LABEL)
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)
    kinds = {
        "broker": (pa.types.is_integer(column.type), pa.int32(), "a whole number"),
        "window_start": (pa.types.is_timestamp(column.type), INSTANT, "a timestamp"),
        "window_end": (pa.types.is_timestamp(column.type), INSTANT, "a timestamp"),
    }
    is_it, kind, description = kinds.get(name, (is_number, pa.float64(), "a number"))
    if not is_it:
        raise UsageError(f"{name} of {USAGE_LABEL} is {column.type}, not {description}")
    return column.cast(kind, safe=False)


def _refuse_null(rows: pa.Table, names: Sequence[str]) -> None:
    for name in names:
        if rows[name].null_count:
            (row,) = rows.filter(rows[name].is_null()).slice(0, 1).to_pylist()
            text = json.dumps(row, default=str, ensure_ascii=False, separators=(",", ":"))
            raise Invalid(f"{name} is null in a row of {USAGE_LABEL}: {printable(text)}")


def measured_rows(usage: Any) -> pa.Table:
    """The rows of USAGE that measure something, with `start` and `end` of the window, and `measured`: by the broker."""
    table = _typed_columns(usage, MEASURED_COLUMNS)
    rows = table.filter(pc.and_(pc.greater_equal(table["value"], 0), pc.less(table["value"], float("inf"))))
    _refuse_null(rows, [name for name in GIVEN if name in rows.column_names])
    number = rows.schema.get_field_index("throttle_ms")
    rows = rows.set_column(number, "throttle_ms", pc.if_else(pc.is_nan(rows["throttle_ms"]), None, rows["throttle_ms"]))
    return rows.rename_columns([name.removeprefix("window_") for name in rows.column_names])


def _of_keys(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """`key` is null of other keys: they only tell which windows a broker has."""
    is_asked = pc.is_in(rows["key"], value_set=pa.array(keys, pa.string()))
    return rows.set_column(rows.schema.get_field_index("key"), "key", pc.if_else(is_asked, rows["key"], None))


def broker_columns(rows: pa.Table) -> list[str]:
    """The columns of rows that say whose windows are compared."""
    return [name for name in _BROKER if name in rows.column_names]


def _with_limits(rows: pa.Table, index: Index) -> pa.Table:
    """With `limit`, `level`, `bucket_user` and `bucket_client_id` of each row's key."""
    names = [name for name in (CLUSTER, "user", "client_id") if name in rows.column_names]
    bound = index.resolve(each_once(rows, names))
    texts = {name: bound[name].cast(pa.string()) for name in (*names, "key", *_BINDING)}
    limits = pa.table({**texts, "limit": bound["value"]})
    return rows.join(limits, [*names, "key"], join_type="left outer")


def _in_buckets(rows: pa.Table) -> pa.Table:
    """With the names of the client only where nothing binds it; `its_user` and `its_client_id` are always there."""
    is_own = pc.and_(pc.equal(rows["bucket_user"], rows["user"]), pc.equal(rows["bucket_client_id"], rows["client_id"]))
    binds = pc.and_(rows["level"].is_valid(), pc.or_(pc.invert(rows["measured"]), pc.fill_null(is_own, False)))
    is_free = pc.and_(pc.invert(binds), rows["key"].is_valid())
    columns = {name: rows[name] for name in rows.column_names}
    columns |= {f"its_{name}": rows[name] for name in ("user", "client_id")}
    columns |= {name: pc.if_else(binds, rows[name], None) for name in (*_BINDING, "limit")}
    columns |= {name: pc.if_else(is_free, rows[name], None) for name in ("user", "client_id")}
    return pa.table(columns)


def _bucket_windows(rows: pa.Table) -> pa.Table:
    """The use of each bucket in each window: `start`, `end`, `limit`, `used`, `throttle_ms`."""
    names = [*broker_columns(rows), *BUCKET, "start", "end"]
    sums = rows.group_by(names, use_threads=False).aggregate(
        [("limit", "first"), ("value", "sum"), ("throttle_ms", "max")]
    )
    return sums.rename_columns([*names, "limit", "used", "throttle_ms"])


def _sharing(rows: pa.Table) -> pa.Table:
    """The number of clients of each bucket that several may share, as `sharing`."""
    names = [*broker_columns(rows), *BUCKET]
    is_shared = pc.or_(pc.equal(rows["bucket_user"], ""), pc.equal(rows["bucket_client_id"], ""))
    clients = each_once(rows.filter(pc.fill_null(is_shared, False)), [*names, "its_user", "its_client_id"])
    return clients.group_by(names).aggregate([([], "count_all")]).rename_columns([*names, "sharing"])


def watched_windows(rows: pa.Table, unwatched_after: float) -> pa.Table:
    """The number of `windows` that each broker was watched for, and of the `brokers` of its cluster."""
    by = broker_columns(rows)
    times = each_once(rows, [*by, "start", "end"])
    times, groups = Groups.sorted(times, by, [_micros(times["start"])])
    brokers = times.select(by).take(groups.firsts).to_pylist()
    starts, ends = (np.split(_micros(times[name]), groups.firsts[1:]) for name in ("start", "end"))
    clusters = Counter(row.get(CLUSTER) for row in {(row.get(CLUSTER), row["broker"]): row for row in brokers}.values())
    counted = [
        {**row, "windows": _window_count(row, start, end, unwatched_after), "brokers": clusters[row.get(CLUSTER)]}
        for row, start, end in zip(brokers, starts, ends, strict=False)  # of no rows there is one part, an empty one
    ]
    counts = [pa.field("windows", pa.int64()), pa.field("brokers", pa.int32())]
    return pa.Table.from_pylist(counted, pa.schema([*(rows.schema.field(name) for name in by), *counts]))


def _window_count(broker: dict[str, Any], starts: Longs, ends: Longs, unwatched_after: float) -> int:
    """The windows from the first to the last, less those that nobody watched; of metrics those that there are."""
    shortest, longest = int((ends - starts).min()), int((ends - starts).max())
    if shortest != longest or shortest <= 0:
        lengths = f"{shortest / 1e6} s and of {longest / 1e6} s"
        raise Invalid(f"broker {broker['broker']} has windows of {lengths}: they must have one length")
    if broker["measured"]:
        return len(starts)
    gaps = starts[1:] - ends[:-1]
    span = ends.max() - starts.min() - gaps[gaps > unwatched_after * 1e6].sum()
    return int(-(-span // longest))


def _micros(times: pa.ChunkedArray) -> Longs:
    return np.asarray(times.cast(pa.int64()))


def _utilisation_of(windows: pa.Table, sharing: pa.Table, spans: pa.Table, by: Sequence[str]) -> pa.Table:
    """UTILISATION out of the windows of each bucket."""
    names = [*by, *BUCKET]
    windows = windows.join(spans, list(by))
    windows, groups = Groups.sorted(windows, names, [_micros(windows["start"])])
    buckets = windows.select([*names, "limit", "windows", "brokers"]).take(groups.firsts)
    figures = {**{name: buckets[name] for name in buckets.column_names}, **_figures(windows, groups)}
    figures["clients"] = _client_counts(buckets, sharing, names)
    schema = pa.schema([*([pa.field(CLUSTER, pa.string(), False)] if CLUSTER in by else []), *schemas.UTILISATION])
    return pa.table({name: figures[name] for name in schema.names}).cast(schema)


def _figures(windows: pa.Table, groups: Groups) -> dict[str, Any]:
    """The figures of each bucket, out of its windows in the order of time."""
    used, limits = np.asarray(windows["used"]), _doubles(windows["limit"])
    count, limit = (np.asarray(column)[groups.firsts] for column in (windows["windows"], limits))
    peak = groups.reduced(np.maximum, used)
    throttle_ms = _doubles(windows["throttle_ms"])
    longest_throttle = groups.reduced(np.fmax, throttle_ms)
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.where(limit == 0, np.nan, 100 * peak / limit)
    shares = {
        "share_above_80": groups.reduced(np.add, (used > 0.8 * limits).astype(np.int64)) / count,
        "share_above_100": groups.reduced(np.add, (used > limits).astype(np.int64)) / count,
        "longest_above_100_s": groups.reduced(np.maximum, _run_seconds(windows, groups, used > limits)),
    }
    is_limited = np.asarray(windows["limit"].is_valid())[groups.firsts]
    throttled = groups.reduced(np.add, (throttle_ms > 0).astype(np.int64)) / count
    return {
        "limit_x_brokers": pc.multiply(windows["limit"].take(groups.firsts), windows["brokers"].take(groups.firsts)),
        "windows_seen": groups.sizes,
        "peak": peak,
        "p95": _p95(used, count, groups),
        "mean": groups.reduced(np.add, used) / count,
        "utilisation": _null_for_nan(percent),
        "headroom": _null_for_nan(limit - peak),
        "headroom_percent": _null_for_nan(100 - percent),
        **{name: pa.array(figure, mask=~is_limited) for name, figure in shares.items()},
        "throttle_ms": _null_for_nan(longest_throttle),
        "share_throttled": pa.array(throttled, mask=np.isnan(longest_throttle)),
    }


def _run_seconds(windows: pa.Table, groups: Groups, is_above: Flags) -> Doubles:
    """Seconds that the bucket has been above its limit at the end of each window, 0 where it is not."""
    start, end = _micros(windows["start"]), _micros(windows["end"])
    goes_on = np.zeros(len(start), np.bool_)
    goes_on[1:] = is_above[:-1] & (start[1:] <= end[:-1])
    begins = is_above & ~(goes_on & ~groups.begins)
    began = np.maximum.accumulate(np.where(begins, np.arange(len(start)), 0)) if len(start) else start
    return np.where(is_above, (end - start[began]) / 1e6, 0.0)


def _p95(used: Doubles, count: Longs, groups: Groups) -> Doubles:
    """The use that 95 % of all windows, those without use included, do not exceed."""
    in_order = used[np.lexsort([-used, groups.of_row])]
    at = count // 20
    return np.where(at < groups.sizes, in_order[groups.firsts + np.minimum(at, groups.sizes - 1)], 0.0)


def _client_counts(buckets: pa.Table, sharing: pa.Table, names: Sequence[str]) -> pa.Array:
    """The number of clients that share each bucket; null where the broker measured it."""
    both = pa.concat_tables([buckets.select(names), sharing.select(names)])
    codes = codes_of(both, names)
    counts = dict(zip(codes[len(buckets) :].tolist(), sharing["sharing"].to_pylist(), strict=True))
    clients = [counts.get(code, 1) for code in codes[: len(buckets)].tolist()]
    return pa.array(clients, pa.int64(), mask=np.asarray(buckets["measured"]))


def _doubles(column: pa.ChunkedArray) -> Doubles:
    """NaN for null."""
    return np.asarray(column.fill_null(np.nan))


def _null_for_nan(numbers: Doubles) -> pa.Array:
    """Null for NaN, which brokers take for a limit and which binds nobody."""
    return pa.array(numbers, from_pandas=True)
