"""USAGE out of the brokers' own metrics: what each bucket used, as Kafka measures it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import UsageError
from ..frames import schemas
from ..frames.spark import to_spark
from ..resolution.input_columns import CLUSTER
from ..traffic.metrics import METRIC_COLUMNS, RATES, WINDOW

_BY = ("broker", "time", "type", "user", "client_id")


def usage_from_metrics(metrics: Any, *, window: float = WINDOW) -> DataFrame:
    """USAGE, of buckets instead of clients: the rates that the brokers compare with the limits.

    Parameters
    ----------
    metrics
        METRICS, as a Spark frame, or as anything with `__arrow_c_stream__` where a session is active. The tags may be
        called `client-id` and `client_id`, the metrics `byte-rate` and `byte_rate`.
    window
        Seconds that a rate looks back from the time of its sample.

    Returns
    -------
    DataFrame
        A row a sample of byte-rate or request-time; `throttle_ms` is the throttle-time of the same bucket and sample,
        null where there is none. `user` is percent-decoded and, like `client_id`, "" where it is not in the bucket.

    Raises
    ------
    UsageError
        A column is missing, or it is not a frame.
    """
    normalised = _with_one_spelling(_spark_frame(metrics))
    ours = [name for name in (CLUSTER, *_BY) if name in normalised.columns]
    value, is_throttle = F.col("value"), F.col("name") == "throttle-time"
    samples = normalised.groupBy(*ours).agg(
        F.max(F.when(~is_throttle, F.struct("key", "value"))).alias("rate"),
        F.max(F.when(is_throttle & ~F.isnan(value), value)).alias("throttle_ms"),
    )
    back = F.make_dt_interval(secs=F.lit(window))
    spread = samples.where(F.col("rate").isNotNull()).select(
        "*",
        "rate.key",
        "rate.value",
        (F.col("time") - back).alias("window_start"),
        F.col("time").alias("window_end"),
        F.lit(schemas.OF_BUCKETS).alias("source"),
    )
    return spread.select(*(name for name in (CLUSTER, *schemas.USAGE.names) if name in spread.columns))


def _spark_frame(metrics: Any) -> DataFrame:
    if not isinstance(metrics, DataFrame) and hasattr(metrics, "__arrow_c_stream__"):
        session = SparkSession.getActiveSession()
        if session is None:
            raise UsageError("the metrics need an active Spark session", hint="frame.to_spark(spark)")
        metrics = to_spark(pa.table(metrics), session)
    if not isinstance(metrics, DataFrame):
        raise UsageError(f"the metrics are a {type(metrics).__name__}, not a frame")
    schemas.require_columns("the metrics", METRIC_COLUMNS, metrics.columns)
    return metrics


def _with_one_spelling(metrics: DataFrame) -> DataFrame:
    """One spelling of all; other metrics than those of quotas are dropped."""
    client_id = next((name for name in ("client_id", "client-id") if name in metrics.columns), None)
    user = "user" if "user" in metrics.columns else None
    kind, name = F.lower("type"), F.lower(F.replace(F.col("name"), F.lit("_"), F.lit("-")))
    key = F.lit(None).cast("string")
    for (of, called), quota_key in RATES.items():
        key = F.when((kind == of) & (name == called), quota_key).otherwise(key)
    lead = [CLUSTER] if CLUSTER in metrics.columns else []
    return metrics.select(
        *lead,
        F.col("time").cast("timestamp").alias("time"),
        F.col("broker").cast("int").alias("broker"),
        kind.alias("type"),
        name.alias("name"),
        _decoded(_tag(metrics, user)).alias("user"),
        _tag(metrics, client_id).alias("client_id"),
        key.alias("key"),
        F.col("value").cast("double").alias("value"),
    ).where(F.col("key").isNotNull() & ~F.isnan("value") | (F.col("name") == "throttle-time"))


def _tag(metrics: DataFrame, name: str | None) -> Column:
    """A tag's text; JMX puts one with unusual characters in quotes, with backslashes before some."""
    if name is None:
        return F.lit("")
    text = F.coalesce(metrics[name], F.lit(""))
    inner = F.substring(text, F.lit(2), F.length(text) - 2)
    plain = F.regexp_replace(F.replace(inner, F.lit(r"\n"), F.lit("\n")), r'\\(["*?\\])', "$1")
    return F.when(text.rlike(r'(?s)^".*"$'), plain).otherwise(text)


def _decoded(user: Column) -> Column:
    """Kafka percent-encodes it; a text that no decoder takes stays as it is."""
    return F.coalesce(F.try_url_decode(user), user)
