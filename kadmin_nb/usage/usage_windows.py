"""USAGE out of requests: what each client used on each broker, window by window; and USAGE_TOTALS out of USAGE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..frames import schemas, spark
from ..frames.frame import COUNT, NUMBER
from ..frames.relational import (
    Frame,
    Measure,
    added_up,
    cluster_of,
    framed,
    read_columns,
    stacked,
    with_columns,
    with_further,
    without_null,
    words_of,
)
from ..hints import did_you_mean
from ..model.config_units import length_of_time
from ..resolution.input_columns import CLUSTER, led
from .arithmetic import RATES, REQUEST_TOTALS, SHARE_FETCH, Rate, amount, rate, throttle_conditions, whole, window_start
from .limits_used import KINDS, USAGE_LABEL, usage_columns
from .request_log import LATE, Requests, in_time

USAGE_COLUMNS = ("time", "broker", "user", "client_id", "api", "bytes_in", "bytes_out", "io_ms", "throttle_ms")
"""The columns of REQUESTS that are read."""

SHORT = 60_000_000
"""The longest window, in microseconds, of which the requests of a client on a broker are brought to one place unsummed.
Those of an hour may be too many for it."""

_CLIENT = ("broker", "user", "client_id")
_LABEL = "the requests"


def usage(requests: Requests | Any, every: str = "1 second", *, late: str = LATE) -> Frame:
    """USAGE: a row for each broker, user, client-id, key and window with requests.

    Parameters
    ----------
    requests
        The result of `requests(…)`, or any frame with the columns of REQUESTS.
    every
        The length of the windows: `1 second`, `5 minutes`. A quota's own is 1 second.
    late
        For a stream: how much later than the latest request one may come and still count. Each window is written once,
        when this time has passed. Later requests are dropped, and counted in Spark's progress as
        `numRowsDroppedByWatermark`.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        In Spark if the requests are. `producer_byte_rate` and `consumer_byte_rate`: bytes of records per second, a
        lower bound of what the quota charges. `request_percentage`: the time on I/O threads in percent of a thread, an
        estimate. `source` says which. `throttle_ms` is the longest throttle that an answer in the window reported: of
        PRODUCE for the first, of FETCH for the second (a request quota throttles them, too), of all other requests for
        the third; null if there was none. SHARE_FETCH counts for `consumer_byte_rate` in a separate row, whose value is
        null: the log does not report its bytes. `cluster_id` is the first column if the requests have one.

    Raises
    ------
    UsageError
        A column is missing, or `every` or `late` is not a length.
    """
    length = length_of(every)
    if isinstance(requests, Requests):
        by_cluster = requests.cluster_id is not None
        timed = in_time(requests.of_clients(USAGE_COLUMNS), late)
        if spark.is_stream(timed):  # which may have one column of time only
            rows = in_windows(requests.once(timed), length)
        else:
            together = (*_CLIENT, "start") if length <= SHORT else ()
            rows = requests.once(in_windows(timed, length), together)
    else:
        frame = read_columns(requests, USAGE_COLUMNS, _LABEL)
        by_cluster, rows = bool(cluster_of(frame)), in_windows(in_time(frame, late), length)
    return usage_rows(window_totals(rows, client_columns(by_cluster)), length, by_cluster)


def length_of(every: str) -> int:
    """The length of a window, in microseconds.

    Raises
    ------
    UsageError
        It is none.
    """
    length = length_of_time(every)
    if not length or length % timedelta(milliseconds=1):
        raise UsageError(f"{every} is not the length of a window", hint="For example '1 second', or '5 minutes'.")
    return length // timedelta(microseconds=1)


def client_columns(by_cluster: bool) -> list[str]:
    """The columns that identify a client of a broker."""
    return [*([CLUSTER] if by_cluster else []), *_CLIENT]


def in_windows(rows: Frame, length: int) -> Frame:
    """Requests with the `start` of their window, in microseconds, as `length` is; a stream's with the window."""
    if spark.is_stream(rows):
        from pyspark.sql import functions as F

        return with_further(rows, {"start": F.window("time", f"{length} microseconds")})
    words = words_of(rows)
    return with_columns(rows, {"start": window_start(words, words.column("time"), length)})


def window_totals(rows: Frame, by: Sequence[str], more: Mapping[str, Measure] | None = None) -> Frame:
    """Requests of windows added up: one row per client, which the columns `by` identify, and `start`."""
    words = words_of(rows)
    api, throttle_ms = words.column("api"), words.column("throttle_ms")
    columns = {name: words.when(is_it, throttle_ms) for name, is_it in throttle_conditions(api).items()}
    io_us, is_known = whole(words, words.column("io_ms") * 1000.0)
    columns["io_us"] = words.when(is_known, io_us)
    columns["shares"] = words.when(api == SHARE_FETCH, words.literal(1, pa.int64()))
    measures = {**(more or {}), **REQUEST_TOTALS}
    return added_up(with_further(rows, columns), [*by, "start"], measures, in_order=True)


def usage_rows(totals: Frame, length: int, by_cluster: bool, ends: Mapping[str, Any] | None = None) -> Frame:
    """USAGE out of what `window_totals` has added up. `ends` of a batch are given where Spark may be asked nothing."""
    words, clients = words_of(totals), client_columns(by_cluster)
    if ends is None and spark.is_stream(totals):
        from .spark_lines import window_ends

        ends = window_ends(totals, "start")
    ends = ends or batch_ends(words, length)
    rows = [(~words.is_null(words.column(of.total)), _of_key(words, of, length)) for of in RATES]
    spread = stacked(with_further(totals, ends), [*clients, *ends], rows)
    order = [(name, "ascending") for name in ("window_start", *clients)]
    return framed(spread, led(schemas.USAGE.schema, clients), order)


def batch_ends(words: Any, length: int) -> dict[str, Any]:
    """`window_start` and `window_end` of a batch, out of the `start` of `in_windows`."""
    start = words.column("start")
    return {"window_start": words.moment(start), "window_end": words.moment(start + length)}


def _of_key(words: Any, of: Rate, length: int) -> dict[str, Any]:
    """USAGE of one key; without a value where the log does not tell how much."""
    total = words.number(words.column(of.total))
    return {
        "key": words.literal(of.key, pa.string()),
        "value": words.literal(None, pa.float64()) if of.per_unit is None else rate(total, length, of.per_unit),
        "throttle_ms": words.number(words.column(of.throttle_ms)),
        "source": words.literal(of.source, pa.string()),
    }


# --- usage added up; amounts are whole before it is, so sums are the same in any order and in both engines ---

EVERY = ("month", "day")
BY = ("broker", "user", "client_id", "key", "window_start", "window_end", "source")
"""The columns of USAGE that usage is added up by, besides the cluster and the day."""

_AMOUNTS = ("bytes_in", "bytes_out", "io_us")
_KEYS = [of for of in RATES if of.total in _AMOUNTS]
"""The total that each key counts for, whatever it was measured by."""

_SUMS: dict[str, Measure] = {
    **{name: ("sum", name) for name in (*_AMOUNTS, "throttled")},
    "windows": ("count_rows", "unknown"),
    "windows_unknown": ("count_true", "unknown"),
}


def totals(usage: Any, by: Sequence[str] = (), every: str = "month") -> Frame:
    """USAGE_TOTALS: bytes, request time and throttled time, added up by columns of USAGE and by month or day.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`. A `cluster_id` is always one of the columns.
    by
        Some of `broker`, `user`, `client_id`, `key`, `window_start`, `window_end` and `source`.
    every
        "month" or "day", in UTC; a window counts where it begins.

    Returns
    -------
    pyarrow.Table or pyspark.sql.DataFrame
        Where the usage is; on Spark it is lazy. The columns of `by` come first. Bytes are whole numbers, so the sums
        over all rows are exactly what was used. Values that are null, NaN, infinite, negative, or of more than 2⁵³
        bytes in a window are counted in `windows_unknown`: the figures of such a row are a lower bound.

    Raises
    ------
    UsageError
        Not a frame, a column is missing; `by` or `every` has another word.
    Invalid
        A name or a time of a row is null. Of a Spark DataFrame, reading the result raises it.

    Examples
    --------
    >>> totals(usage, ["user"], "day").to_pandas()  # doctest: +SKIP
    """
    if every not in EVERY:
        raise UsageError(f"every cannot be {every}", hint=did_you_mean(every, EVERY, f"One of {', '.join(EVERY)}."))
    if strange := next((name for name in by if name not in BY), None):
        raise UsageError(f"by cannot be {strange}", hint=did_you_mean(strange, BY, f"Some of {', '.join(BY)}."))
    names = [name for name in KINDS if name != CLUSTER]
    rows, cluster = usage_columns(usage, names)
    rows = without_null(rows, [*cluster, "user", "window_start", "window_end"], USAGE_LABEL, [*cluster, *names])
    kept, words = [*cluster, *by], words_of(rows)
    sums = added_up(with_columns(rows, _amounts(words, every)), [*kept, "day"], _SUMS)
    seconds = {"request_s": words.number(words.column("io_us")) / 1e6,
               "throttled_s": words.number(words.column("throttled")) / 1e6}  # fmt: skip
    leading = [(name, KINDS[name].type) for name in kept]
    schema = pa.schema([*pa.schema(leading), *schemas.USAGE_TOTALS.schema], schemas.USAGE_TOTALS.schema.metadata)
    return framed(with_columns(sums, seconds), schema, [(name, "ascending") for name in (*cluster, "day", *by)])


def _amounts(words: Any, every: str) -> dict[str, Any]:
    """The columns of a row's window that are added up, amounts as whole numbers of their least unit."""
    key, value, throttle_ms = (words.column(name) for name in ("key", "value", "throttle_ms"))
    length = words.number(words.micros(words.column("window_end")) - words.micros(words.column("window_start")))
    per_unit = words.literal(None, NUMBER)
    for of in _KEYS:
        per_unit = words.when(key == of.key, of.per_unit, per_unit)
    exact, is_known = whole(words, amount(value, length, per_unit))
    throttled, _ = whole(words, throttle_ms * 1000.0)
    return {
        "day": words.first_day(words.column("window_start"), every),
        **{of.total: words.when(key == of.key, exact, words.literal(0, COUNT)) for of in _KEYS},
        "throttled": throttled,
        "unknown": key.isin([of.key for of in _KEYS]) & ~is_known,
    }
