"""USAGE out of requests: what each client used on each broker, window by window."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..frames import schemas
from ..resolution.input_columns import CLUSTER
from ..traffic.usage_windows import IO_THREADS, MUTATIONS, RECORD_BYTES, USAGE_COLUMNS, length_of
from .request_log import Requests


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
        there was none. `cluster_id` leads where the requests have one.

    Raises
    ------
    UsageError
        A column is missing, or `every` is not a length.
    """
    length_of(every)
    frame = requests.only(USAGE_COLUMNS) if isinstance(requests, Requests) else requests
    schemas.require_columns("the requests", USAGE_COLUMNS, frame.columns)
    return usage_rows(in_windows(frame, every))


def in_windows(frame: DataFrame, every: str, by: Sequence[str] = (), measures: Sequence[Column] = ()) -> DataFrame:
    """Requests added up: a row a broker, client and `window`, apart by some columns more, with some measures more."""
    names = [name for name in (CLUSTER, "broker", "user", "client_id") if name in frame.columns]
    api = F.col("api")
    others = ~api.isin("PRODUCE", "FETCH", *MUTATIONS)
    totals = (
        F.sum("bytes_in").alias("bytes_in"),
        F.sum("bytes_out").alias("bytes_out"),
        F.sum("io_ms").alias("io_ms"),
        F.max(F.when(api == "PRODUCE", F.col("throttle_ms"))).alias("produce_ms"),
        F.max(F.when(api == "FETCH", F.col("throttle_ms"))).alias("fetch_ms"),
        F.max(F.when(others, F.col("throttle_ms"))).alias("other_ms"),
    )
    return frame.groupBy(*by, *names, F.window("time", every).alias("window")).agg(*measures, *totals)


def usage_rows(windows: DataFrame) -> DataFrame:
    """USAGE out of what `in_windows` has added up."""
    start, end = F.col("window.start"), F.col("window.end")
    seconds = (F.unix_micros(end) - F.unix_micros(start)) / 1e6
    keys = F.array(
        _key_struct("producer_byte_rate", F.col("bytes_in") / seconds, "produce_ms", RECORD_BYTES),
        _key_struct("consumer_byte_rate", F.col("bytes_out") / seconds, "fetch_ms", RECORD_BYTES),
        _key_struct("request_percentage", F.col("io_ms") / seconds / 10, "other_ms", IO_THREADS),
    )
    ours = [name for name in (CLUSTER, *schemas.USAGE.names) if name != CLUSTER or CLUSTER in windows.columns]
    found = F.filter(keys, lambda row: row["value"].isNotNull())
    spread = windows.select("*", start.alias("window_start"), end.alias("window_end"), F.inline(found))
    return spread.select(*ours)


def _key_struct(key: str, value: Column, throttle_ms: str, source: str) -> Column:
    return F.struct(
        F.lit(key).alias("key"),
        value.cast("double").alias("value"),
        F.col(throttle_ms).cast("double").alias("throttle_ms"),
        F.lit(source).alias("source"),
    )
