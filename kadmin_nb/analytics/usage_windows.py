"""USAGE out of requests: what each client used on each broker, window by window."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..frames import schemas
from ..resolution.input_columns import CLUSTER
from ..traffic.usage_rules import (
    RATES,
    REQUEST_TOTALS,
    SHARE_FETCH,
    Aggregate,
    Rate,
    rate,
    throttle_conditions,
    window_start,
)
from ..traffic.usage_windows import USAGE_COLUMNS, length_of
from .request_log import Requests

SHORT = 60_000_000
"""The longest window, in microseconds, of which the requests of a client on a broker are brought to one place unsummed.
Those of an hour may be too many for it."""
_BY = ("broker", "user", "client_id", "start")


def usage(requests: Requests | DataFrame, every: str = "1 second") -> DataFrame:
    """USAGE: a row a broker, user, client-id, key and window in which the client asked for something of that key.

    Parameters
    ----------
    requests
        What `requests(…)` read, or any frame with the columns of REQUESTS.
    every
        The windows' length, as Spark writes it: `1 second`, `5 minutes`. A quota's own is 1 second.

    Returns
    -------
    DataFrame
        `producer_byte_rate` and `consumer_byte_rate`: bytes of records a second, a lower bound of what the quota
        charges. `request_percentage`: the time on I/O threads in percent of one thread, an estimate. `source` says
        which. `throttle_ms` is the longest throttle that an answer of the window told: of PRODUCE for the first, of
        FETCH for the second (a request quota throttles them just so), of all other requests for the third, null where
        there was none. SHARE_FETCH counts for `consumer_byte_rate` in a row of its own, whose value is null: the log
        does not tell how many bytes it was. `cluster_id` leads where the requests have one.

    Raises
    ------
    UsageError
        A column is missing, or `every` is not a length.
    """
    length = length_of(every)
    if not isinstance(requests, Requests):
        schemas.require_columns("the requests", USAGE_COLUMNS, requests.columns)
        return usage_rows(in_windows(requests.withColumns(start_column(length))), length)
    together = _BY if length <= SHORT else ()
    return usage_rows(in_windows(requests.only(USAGE_COLUMNS, start_column(length), together)), length)


def start_column(length: int) -> dict[str, Column]:
    """The `start` of the window of a `time`, in microseconds, as `length` is."""
    return {"start": window_start(F.unix_micros("time"), length)}


def in_windows(frame: DataFrame, by: Sequence[str] = (), measures: Sequence[Column] = ()) -> DataFrame:
    """Requests added up: a row a broker, client and `start`, apart by some columns more, with some measures more."""
    names = [name for name in (CLUSTER, *_BY) if name in frame.columns]
    throttles = throttle_conditions(F.col("api")).items()
    columns = {name: F.when(is_it, F.col("throttle_ms")) for name, is_it in throttles}
    rows = frame.withColumns({**columns, "share_fetches": F.when(F.col("api") == SHARE_FETCH, 1)})
    return rows.groupBy(*by, *names).agg(*measures, *totals(REQUEST_TOTALS))


def totals(aggregates: Sequence[Aggregate]) -> list[Column]:
    """The aggregates as columns of Spark."""
    return [getattr(F, function)(column).alias(name) for function, column, name in aggregates]


def usage_rows(windows: DataFrame, length: int) -> DataFrame:
    """USAGE out of what `in_windows` has added up."""
    start, end = F.timestamp_micros("start"), F.timestamp_micros(F.col("start") + length)
    ours = [name for name in (CLUSTER, *schemas.USAGE.names) if name != CLUSTER or CLUSTER in windows.columns]
    used = F.array_compact(F.array(*(F.when(F.isnotnull(of.total), _of_key(of, length)) for of in RATES)))
    spread = windows.select("*", start.alias("window_start"), end.alias("window_end"), F.inline(used))
    return spread.select(*ours)


def _of_key(of: Rate, length: int) -> Column:
    """USAGE of one key; without a value where the log does not tell how much."""
    value = F.lit(None) if of.per_unit is None else rate(F.col(of.total), length, of.per_unit)
    return F.struct(
        F.lit(of.key).alias("key"),
        value.cast("double").alias("value"),
        F.col(of.throttle_ms).cast("double").alias("throttle_ms"),
        F.lit(of.source).alias("source"),
    )
