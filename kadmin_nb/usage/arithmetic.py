"""The arithmetic of usage, stated once, for Arrow in this process and for Spark.

The tables say which sums there are. The functions are of operators alone, which mean the same for Arrow's expressions
and for Spark's columns. What goes from window to window is in `bucket_figures`, which Spark's workers run.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from ..frames.frame import FLAG
from ..frames.relational import Measure

RECORD_BYTES = "request log: record bytes, less than the quota charges"
"""The quota charges whole requests and answers: a header and some bytes a partition more than the records in them."""

SHARE_BYTES = "request log: SHARE_FETCH, whose bytes it does not tell"
"""The quota of a consumer charges a share consumer's answers too; the log tells their throttles, and no bytes."""

LARGEST = 2.0**53
"""Up to here doubles are whole numbers; a larger amount of one window is a mistake, and unknown."""

WHY_UNKNOWN = "A request log does not report the bytes of SHARE_FETCH; the brokers' metrics have them."

IO_THREADS = "request log: I/O-thread time, an estimate"
"""The quota charges the time of network threads too, which the log does not tell: 1.5 to 1.8 times as much in all was
measured for small requests (`tests/plans/test_backtest_on_a_broker.py`)."""

MUTATIONS = ("CREATE_TOPICS", "CREATE_PARTITIONS", "DELETE_TOPICS")
"""Requests whose throttles are those of another quota than the request quota."""

SHARE_FETCH = "SHARE_FETCH"
"""The request by which a share consumer asks for records."""


class Rate(NamedTuple):
    """The use of a key: the sum that it is of, how much of that is a unit, its throttles, and where it is from.

    Without a unit the use is unknown: the sum tells only that there was some.
    """

    key: str
    total: str
    per_unit: float | None
    throttle_ms: str
    source: str


REQUEST_TOTALS: dict[str, Measure] = {
    **{name: ("sum", name) for name in ("bytes_in", "bytes_out", "io_us", "shares")},
    **{name: ("max", name) for name in ("produce_ms", "fetch_ms", "share_ms", "other_ms")},
}
"""The requests of a client in a window. All that is added up is whole, bytes and microseconds: doubles differ in their
last digit by the order of the rows, which on Spark is another in each run."""

RATES = (
    Rate("producer_byte_rate", "bytes_in", 1.0, "produce_ms", RECORD_BYTES),
    Rate("consumer_byte_rate", "bytes_out", 1.0, "fetch_ms", RECORD_BYTES),
    Rate("consumer_byte_rate", "shares", None, "share_ms", SHARE_BYTES),
    Rate("request_percentage", "io_us", 10_000.0, "other_ms", IO_THREADS),
)
"""USAGE out of REQUEST_TOTALS."""

BUCKET_TOTALS: dict[str, Measure] = {
    "used": ("sum", "value"),
    "unknown": ("max", "unknown"),
    "throttle_ms": ("max", "throttle_ms"),
}
"""The clients of a bucket in a window."""

SUM, MAX = "sum", "max"

_COUNTED = ("windows_seen", "windows_unknown", "windows_above_80", "windows_above_100", "windows_throttled")
BUCKET_SUMS: dict[str, str] = {
    **dict.fromkeys((*_COUNTED, "used_sum"), SUM),
    **dict.fromkeys(("peak", "longest_above_100_s", "throttle_ms"), MAX),
}
"""The windows of a bucket put together: null counts as nothing, and nothing at all is null."""

BINS = 32
"""Bins of a histogram for each doubling of the use. Of a bin its geometric middle is taken, which is 2^(1/64) from its
ends, or 1.1 %."""


def window_start(words: Any, time: Any, length: int) -> Any:
    """The beginning of the window of a time, in microseconds: windows lie on multiples of their length since 1970."""
    micros = words.micros(time)
    return micros - words.remainder(words.remainder(micros, length) + length, length)  # before 1970 it is negative


def throttle_conditions(api: Any) -> dict[str, Any]:
    """Conditions on a request's API: its throttle counts as `produce_ms`, `fetch_ms`, `share_ms` or `other_ms`."""
    is_other = reduce(and_, (api != name for name in (*_BYTES_OF.values(), *MUTATIONS)))
    return {**{name: api == of for name, of in _BYTES_OF.items()}, "other_ms": is_other}


_BYTES_OF = {"produce_ms": "PRODUCE", "fetch_ms": "FETCH", "share_ms": SHARE_FETCH}
"""The requests whose throttles are those of a byte rate."""


def rate(total: Any, length: int, per_unit: float) -> Any:
    """A sum as a rate per second, of windows of so many microseconds."""
    return total / (length / 1e6) / per_unit


def amount(value: Any, length: Any, per_unit: float) -> Any:
    """The sum that a rate is of, of a window of so many microseconds."""
    return value * (length / 1e6) * per_unit


def whole(words: Any, number: Any) -> tuple[Any, Any]:
    """The nearest whole number of an amount, 0 of one that is not known; and whether it is known."""
    is_known = words.either(is_measured(number) & (number < LARGEST), words.literal(False, FLAG))
    return words.rounded(words.when(is_known, number, 0.0)), is_known


def is_measured(value: Any) -> Any:
    """Is it an amount? NaN, infinite and negative ones are not; of null, which is an unknown amount, null."""
    return (value >= 0) & (value < float("inf"))


def names_one_client(is_bucket: Any, user: Any, client_id: Any) -> Any:
    """Is a row of USAGE of one client? A broker's measure is of many, unless it names both."""
    return ~is_bucket | ((user != "") & (client_id != ""))


def draws(is_bucket: Any, names: tuple[Any, Any], bucket: tuple[Any, Any]) -> Any:
    """Is a row of USAGE of the bucket that binds its names? A broker's measure is, if these are the bucket's own."""
    return ~is_bucket | ((names[0] == bucket[0]) & (names[1] == bucket[1]))


def ratios(words: Any) -> dict[str, Any]:
    """The columns of UTILISATION that are worked out of its sums; null where the limit is none, or the use unknown."""
    column, number = words.column, words.number
    limit, peak, windows = column("limit"), column("peak"), number(column("windows"))
    percent = words.when((limit != 0) & ~words.is_nan(limit), peak * 100.0 / limit)
    return {
        "mean": column("used_sum") / windows,
        "utilisation": percent,
        "share_above_80": number(column("windows_above_80")) / windows,
        "share_above_100": number(column("windows_above_100")) / windows,
        "share_throttled": number(column("windows_throttled")) / windows,
    }


def is_shared(bucket_user: Any, bucket_client_id: Any) -> Any:
    """Can several clients share the bucket?"""
    return (bucket_user == "") | (bucket_client_id == "")
