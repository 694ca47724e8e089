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
from .projection import added_up, projected
from .request_log import Requests
from .usage_rules import RATES, REQUEST_TOTALS, SHARE_FETCH, Rate, rate, throttle_conditions, window_start

USAGE_COLUMNS = ("time", "broker", "user", "client_id", "api", "bytes_in", "bytes_out", "io_ms", "throttle_ms")
"""The columns of REQUESTS that are read."""

_EVERY = re.compile(r"0*([1-9]\d{0,8}) (millisecond|second|minute|hour|day|week)s?")
_MICROSECONDS = {
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_CLIENT_COLUMNS = (CLUSTER, "broker", "user", "client_id")


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
    totals = _window_totals(rows, length)
    rates = [_usage_of_key(totals, length, of) for of in RATES]
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


def every_of(length: int) -> str:
    """A length in microseconds as `every` has it, in the largest unit in which it is whole: `5 minutes`."""
    largest_first = reversed(_MICROSECONDS.items())
    unit, size = next(((unit, size) for unit, size in largest_first if length % size == 0), ("microsecond", 1))
    return f"{length // size} {unit}{'' if length == size else 's'}"


def _columns_of(frame: Any) -> pa.Table:
    table = arrow_table(frame, (*USAGE_COLUMNS, CLUSTER), "the requests")
    schemas.require_columns("the requests", USAGE_COLUMNS, table.column_names)
    return table


def _client_columns(rows: pa.Table) -> list[str]:
    return [name for name in _CLIENT_COLUMNS if name in rows.column_names]


def _window_totals(rows: pa.Table, length: int) -> pa.Table:
    """A row a client and window: what was used in all, and the longest throttles."""
    names = _client_columns(rows)
    throttles = throttle_conditions(pc.field("api"))
    columns = {name: pc.field(name) for name in (*names, "bytes_in", "bytes_out", "io_ms")}
    columns |= {name: pc.if_else(is_it, pc.field("throttle_ms"), None) for name, is_it in throttles.items()}
    columns["share_fetches"] = pc.if_else(pc.field("api") == SHARE_FETCH, 1, None)
    micros: Longs = np.asarray(rows["time"].cast(INSTANT).cast(pa.int64()))
    table = projected(rows, columns).append_column("start", pa.array(window_start(micros, length)))
    return added_up(table, [*names, "start"], REQUEST_TOTALS)


def _usage_of_key(totals: pa.Table, length: int, of: Rate) -> pa.Table:
    """USAGE of one key, of the clients that used it; without a value where the log does not tell how much."""
    rows = totals.filter(totals[of.total].is_valid())
    start, number = pc.field("start"), pa.float64()
    unknown = pc.scalar(pa.scalar(None, number))
    columns = {
        **{name: pc.field(name) for name in _client_columns(rows)},
        "window_start": start.cast(INSTANT),
        "window_end": (start + length).cast(INSTANT),
        "value": unknown if of.per_unit is None else rate(pc.field(of.total).cast(number), length, of.per_unit),
        "throttle_ms": pc.field(of.throttle_ms).cast(number),
    }
    table = projected(rows, columns)
    table = table.append_column("key", pa.repeat(of.key, len(rows)).dictionary_encode())
    table = table.append_column("source", pa.repeat(of.source, len(rows)))
    cluster = [pa.field(CLUSTER, pa.string(), False)] if CLUSTER in table.column_names else []
    schema = pa.schema([*cluster, *schemas.USAGE.schema])
    return table.select(schema.names).cast(schema)
