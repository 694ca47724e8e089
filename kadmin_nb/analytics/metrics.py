"""USAGE out of the brokers' own metrics: what each bucket used, as Kafka measures it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ..errors import UsageError
from ..frames import schemas
from ..frames.given_frames import table_of
from ..frames.spark import to_spark
from ..resolution.input_columns import CLUSTER
from ..traffic.metrics import (
    CLIENT_ID,
    METRIC_COLUMNS,
    SAMPLES,
    WINDOW,
    bucket_rates,
    quota_samples,
    usage_schema,
)
from . import worker_code
from .output_columns import plain_schema, spark_schema
from .whole_groups import of_whole_groups

_BY = (CLUSTER, "broker", "time", "type", "user", "client_id")
_KINDS = {"time": "timestamp", "broker": "int", "value": "double"}


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
    samples = _samples(_spark_frame(metrics))
    schema = plain_schema(usage_schema(CLUSTER in samples.columns))
    by = [name for name in _BY if name in samples.columns]
    return of_whole_groups(samples, by, bucket_rates, (window, schema), spark_schema(schema))


def _spark_frame(metrics: Any) -> DataFrame:
    if not isinstance(metrics, DataFrame) and hasattr(metrics, "__arrow_c_stream__"):
        session = SparkSession.getActiveSession()
        if session is None:
            raise UsageError("the metrics need an active Spark session", hint="frame.to_spark(spark)")
        metrics = to_spark(table_of(metrics, "the metrics"), session)
    if not isinstance(metrics, DataFrame):
        raise UsageError(f"the metrics are a {type(metrics).__name__}, not a frame")
    schemas.require_columns("the metrics", METRIC_COLUMNS, metrics.columns)
    return metrics


def _samples(metrics: DataFrame) -> DataFrame:
    """SAMPLES out of METRICS, on the workers."""
    names = [name for name in (CLUSTER, *METRIC_COLUMNS, "user", *CLIENT_ID) if name in metrics.columns]
    columns = [F.col(name).cast(_KINDS.get(name, "string")).alias(name) for name in names]
    cluster = [pa.field(CLUSTER, pa.string())] if CLUSTER in names else []
    schema = spark_schema(pa.schema([*cluster, *SAMPLES]))
    return metrics.select(*columns).mapInArrow(worker_code.by_value(_samples_of_batches, None), schema)


def _samples_of_batches(_nothing: None, batches: worker_code.Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from quota_samples(pa.Table.from_batches([batch])).combine_chunks().to_batches()
