"""Requests and usage that keep coming, in Structured Streaming: a window closes once the watermark is past it."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..errors import UsageError
from ..model.times import length_of_time

OBSERVED = "request_log"
"""The name of the lines' counts among the `observedMetrics` of a query's progress."""

_MARK = "spark.watermarkDelayMs"
"""The metadata by which Spark knows the time of an event."""


def watermarked(rows: DataFrame, time: str, late: str) -> DataFrame:
    """The rows, whose `time` tells how late they are.

    Raises
    ------
    UsageError
        `late` is not a length.
    """
    length = length_of_time(late)
    if length is None:
        raise UsageError(f"late={late} is not a length of time", hint="For example '10 minutes'.")
    return rows.withWatermark(time, f"{length // timedelta(milliseconds=1)} milliseconds")


def window_of(time: str, length: int) -> Column:
    """The window of a time, of so many microseconds; `start` and `end` are in it."""
    return F.window(time, f"{length} microseconds")


def window_ends(totals: DataFrame, window: str) -> dict[str, Column]:
    """`window_start` and `window_end` of a window, by whose end Spark goes on to tell how late a row is."""
    mark = {_MARK: totals.schema[window].metadata[_MARK]}
    start, end = (F.col(window).getField(name) for name in ("start", "end"))
    return {"window_start": start, "window_end": end.alias("window_end", metadata=mark)}


def timed_as(rows: DataFrame, end: str, usage: DataFrame, late: str) -> DataFrame:
    """The rows of a usage, late by their `end`: as the usage is, and where it comes out of a table, by so much."""
    mark = usage.schema["window_end"].metadata.get(_MARK)
    if mark is None:
        return watermarked(rows, end, late)
    others = [name for name in rows.columns if name != end]
    return rows.select(*others, F.col(end).alias(end, metadata={_MARK: mark}))  # withColumn of Connect would forget it


def with_counts(rows: DataFrame) -> DataFrame:
    """The rows, which Spark counts as they pass: `lines`, and of these the `quarantined` and those `left_out`."""
    return rows.observe(
        OBSERVED,
        F.count("*").alias("lines"),
        F.count_if(F.isnotnull("fault")).alias("quarantined"),
        F.count_if(F.isnull("fault") & F.isnotnull("reason")).alias("left_out"),
    )
