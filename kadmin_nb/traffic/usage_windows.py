"""USAGE out of requests: what each client used on each broker, window by window. In this process, on Arrow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames import schemas
from ..resolution.arrays import Longs
from ..resolution.input_columns import CLUSTER, arrow_table
from .log_times import INSTANT
from .request_log import Requests

RECORD_BYTES = "request log: record bytes, less than the quota charges"
"""The quota charges whole requests and answers: a header and some bytes a partition more than the records in them."""

IO_THREADS = "request log: I/O-thread time, an estimate"
"""The quota charges the time of network threads too, which the log does not tell: 1.5 to 1.8 times as much in all was
measured for small requests (`tests/plans/test_backtest_on_a_broker.py`)."""

USAGE_COLUMNS = ("time", "broker", "user", "client_id", "api", "bytes_in", "bytes_out", "io_ms", "throttle_ms")
"""The columns of REQUESTS that are read."""

MUTATIONS = ("CREATE_TOPICS", "CREATE_PARTITIONS", "DELETE_TOPICS")
"""Requests whose throttles are those of another quota than the request quota."""

_EVERY = re.compile(r"0*([1-9]\d{0,8}) (millisecond|second|minute|hour|day|week)s?")
_MICROSECONDS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_AMOUNTS = ("bytes_in", "bytes_out", "io_ms")
_CLIENT_COLUMNS = (CLUSTER, "broker", "user", "client_id")
_RATES = (
    ("producer_byte_rate", "bytes_in_sum", 1.0, "produce_ms_max", RECORD_BYTES),
    ("consumer_byte_rate", "bytes_out_sum", 1.0, "fetch_ms_max", RECORD_BYTES),
    ("request_percentage", "io_ms_sum", 10.0, "other_ms_max", IO_THREADS),
)
"""The keys, the sum that each is of, its unit in a second of that, its throttles, and where it is from."""


def usage(requests: Requests | Any, every: str = "1 second") -> pa.Table:
    """USAGE: a row a broker, user, client-id, key and window in which the client asked for something of that key.

    Parameters
    ----------
    requests
        What `requests(…)` read, or any frame with the columns of REQUESTS.
    every
        The windows' length, as of `analytics.usage`.

    Raises
    ------
    UsageError
        A column is missing, or `every` is not a length.
    """
    length = length_of(every)
    rows = requests.only(USAGE_COLUMNS) if isinstance(requests, Requests) else _columns_of(requests)
    sums = _window_sums(rows, length)
    rates = [_usage_of_key(sums, length, *rate) for rate in _RATES]
    return pa.concat_tables(rates).sort_by([(name, "ascending") for name in ("window_start", *_client_columns(rows))])


def length_of(every: str) -> int:
    """The length of a window, in microseconds.

    Raises
    ------
    UsageError
        It is none.
    """
    match = _EVERY.fullmatch(every)
    if match is None:
        raise UsageError(f"{every} is not the length of a window", hint="Such as '1 second', or '5 minutes'.")
    return int(match[1]) * _MICROSECONDS[match[2]]


def _columns_of(frame: Any) -> pa.Table:
    table = arrow_table(frame, (*USAGE_COLUMNS, CLUSTER), "the requests")
    schemas.require_columns("the requests", USAGE_COLUMNS, table.column_names)
    return table


def _client_columns(rows: pa.Table) -> list[str]:
    return [name for name in _CLIENT_COLUMNS if name in rows.column_names]


def _window_sums(rows: pa.Table, length: int) -> pa.Table:
    """A row a client and window: what was used in all, and the longest throttles."""
    api, throttle_ms, names = rows["api"], rows["throttle_ms"], _client_columns(rows)
    is_other = pc.invert(pc.is_in(api, value_set=pa.array(["PRODUCE", "FETCH", *MUTATIONS])))
    conditions = (
        ("produce_ms", pc.equal(api, "PRODUCE")),
        ("fetch_ms", pc.equal(api, "FETCH")),
        ("other_ms", is_other),
    )
    columns = {name: rows[name] for name in (*names, *_AMOUNTS)}
    columns |= {name: pc.if_else(condition, throttle_ms, None) for name, condition in conditions}
    measures = [(name, "sum") for name in _AMOUNTS] + [(name, "max") for name, _ in conditions]
    table = pa.table({**columns, "start": _starts(rows["time"], length)})
    return table.group_by([*names, "start"], use_threads=False).aggregate(measures)


def _starts(times: pa.ChunkedArray, length: int) -> Longs:
    """The beginnings of the windows, which lie on multiples of their length since 1970."""
    micros: Longs = np.asarray(times.cast(INSTANT).cast(pa.int64()))
    return micros - micros % length


def _usage_of_key(
    sums: pa.Table, length: int, key: str, total: str, per_unit: float, throttle: str, source: str
) -> pa.Table:
    """USAGE of one key, of the clients that used it."""
    rows = sums.filter(sums[total].is_valid())
    value = pc.divide(pc.divide(rows[total].cast(pa.float64()), length / 1e6), per_unit)
    columns = {
        **{name: rows[name] for name in _client_columns(rows)},
        "key": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(rows), np.int32)), pa.array([key])),
        "window_start": rows["start"].cast(INSTANT),
        "window_end": pc.add(rows["start"], length).cast(INSTANT),
        "value": value,
        "throttle_ms": rows[throttle].cast(pa.float64()),
        "source": pa.repeat(source, len(rows)),
    }
    cluster = [pa.field(CLUSTER, pa.string(), False)] if CLUSTER in columns else []
    return (
        pa.table(columns)
        .select([*(field.name for field in cluster), *schemas.USAGE.names])
        .cast(pa.schema([*cluster, *schemas.USAGE]))
    )
