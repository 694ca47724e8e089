"""The use of each bucket's limit, on each broker: USAGE beside the quotas. In this process, on Arrow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError, printable
from ..frames import schemas
from ..resolution.input_columns import CLUSTER, arrow_table, check_clusters, text_column
from ..resolution.kernel import Index
from .bucket_figures import BUCKET, bucket_figures, watched_windows
from .log_times import INSTANT
from .projection import added_up, projected
from .request_log import each_once
from .usage_rules import BUCKET_TOTALS, draws, is_measured, is_shared, names_one_client

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

CLIENT = ("user", "client_id")
"""The columns that name a client; of UTILISATION only where nothing binds it."""

BINDING = ("level", "bucket_user", "bucket_client_id")
"""The columns that name what binds it."""

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
    clients = table.filter(names_one_client(*map(pc.field, ("measured", "user", "client_id"))))
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
    by = broker_columns(rows)
    spans = watched_spans(rows, unwatched_after)
    windows = _bucket_windows(_in_buckets(_with_limits(_of_keys(rows, index.tables.keys), index)), by)
    cluster = [pa.field(CLUSTER, pa.string(), False)] if CLUSTER in by else []
    return bucket_figures(windows.join(spans, by), by, pa.schema([*cluster, *schemas.UTILISATION.schema]))


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
    """The rows of USAGE that tell of a use, with `start` and `end`, `measured` by the broker, and `unknown`."""
    table = _typed_columns(usage, MEASURED_COLUMNS)
    rows = table.filter(pc.coalesce(is_measured(pc.field("value")), True))
    _refuse_null(rows, [name for name in GIVEN if name in rows.column_names])
    number = rows.schema.get_field_index("throttle_ms")
    rows = rows.set_column(number, "throttle_ms", pc.if_else(pc.is_nan(rows["throttle_ms"]), None, rows["throttle_ms"]))
    rows = rows.append_column("unknown", rows["value"].is_null())
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
    texts = {name: bound[name].cast(pa.string()) for name in (*names, "key", *BINDING)}
    limits = pa.table({**texts, "limit": bound["value"]})
    return rows.join(limits, [*names, "key"], join_type="left outer")


def _in_buckets(rows: pa.Table) -> pa.Table:
    """With the names of the client only where nothing binds it; those who share a bucket are `its_user` and so on."""
    measured, level, names = pc.field("measured"), pc.field("level"), (pc.field("user"), pc.field("client_id"))
    bucket = pc.field("bucket_user"), pc.field("bucket_client_id")
    binds = level.is_valid() & pc.coalesce(draws(measured, names, bucket), False)
    shares = ~measured & binds & is_shared(*bucket)
    columns = {name: pc.field(name) for name in rows.column_names}
    columns |= {name: pc.if_else(binds, pc.field(name), None) for name in (*BINDING, "limit")}
    columns |= {name: pc.if_else(~binds & pc.field("key").is_valid(), pc.field(name), None) for name in CLIENT}
    columns |= {f"its_{name}": pc.if_else(shares, pc.field(name), None) for name in CLIENT}
    return projected(rows, columns)


def _bucket_windows(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The use of each bucket in each window, and a row without a window for each client that shares one."""
    names = [*by, *BUCKET]
    asked = rows.filter(rows["key"].is_valid())
    clients = each_once(asked.filter(asked["its_user"].is_valid()), [*names, "its_user", "its_client_id"])
    windows = added_up(asked, [*names, "start", "end"], BUCKET_TOTALS)
    return pa.concat_tables([windows, clients.select(names)], promote_options="default")


def watched_spans(rows: pa.Table, unwatched_after: float) -> pa.Table:
    """The number of `windows` that each broker was watched for, and of the `brokers` of its cluster.

    Raises
    ------
    Invalid
        A broker has windows of several lengths, or of none.
    """
    by = broker_columns(rows)
    spans = watched_windows(each_once(rows, [*by, "start", "end"]), by, unwatched_after)
    for fault in spans["fault"].drop_null().to_pylist():
        raise Invalid(fault)
    clusters = spans[CLUSTER].to_pylist() if CLUSTER in by else [None] * len(spans)
    brokers = Counter(cluster for cluster, _ in {*zip(clusters, spans["broker"].to_pylist(), strict=True)})
    numbers = pa.array([brokers[cluster] for cluster in clusters], pa.int64())
    return spans.drop_columns(["fault"]).append_column("brokers", numbers)
