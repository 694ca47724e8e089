"""USAGE by the engine that fits: of a request log by its size, of a frame where it is or by its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..frames import ARROW, refuse_unknown, relational
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.given_frames import table_of
from ..frames.lazy_answer import SparkAnswer, answered, placed
from ..frames.schemas import CLUSTER_ID, TAKEN_AT, now
from ..resolution.input_columns import CLUSTER
from . import log_files
from .limits_used import utilisation
from .request_log import Requests, requests

ARROW_LOG_BYTES = 200_000_000
"""Bytes of request log that this process reads, in some ten seconds and half a GB; Spark's are more."""

ARROW_ROWS = 2_000_000
"""Rows of USAGE that this process takes."""


def reads_on_spark(paths: Sequence[str], engine: str | None = None) -> bool:
    """True if Spark reads this request log: as was asked for, else by the size of the files.

    Raises
    ------
    UsageError
        There is no such engine.
    NotFound
        There is no such path, or no file below it.
    """
    refuse_unknown(engine)
    if engine is not None or any(map(_is_address, paths)):
        return engine != ARROW
    return log_files.size_of(log_files.local_files(paths)) > ARROW_LOG_BYTES


def log_requests(paths: Sequence[str], on_spark: bool, **how: Any) -> Requests:
    """The requests of a log, its first lines looked at; options as of `requests`."""
    if not on_spark:
        return requests(paths, **how)
    # Spark may have been started in another folder: what is no address is a path from here, patterns too.
    places = [path if _is_address(path) else str(Path(path).absolute()) for path in paths]
    return requests(places, spark=sparks.spark_session(), **how)


def placed_usage(usage: object, engine: str | None = None) -> relational.Frame:
    """USAGE in the engine that is asked for.

    By default usage in Spark is not moved, and more rows than this process takes are sent to Spark.

    Raises
    ------
    UsageError
        There is no such engine, or it is not a frame.
    """
    given: Any = usage.to_spark() if isinstance(usage, SparkAnswer) else usage
    if not sparks.is_spark(given):
        if not hasattr(given, "__arrow_c_stream__"):
            kind = type(usage).__name__
            raise UsageError(f"the usage is a {kind}, not a frame", hint="Arrow, pandas, Polars or Spark.")
        given = table_of(given, "the usage")
    return placed(given, engine, ARROW_ROWS, prefers_spark=True)


def utilisation_answer(
    used: relational.Frame, limits: Any, cluster_id: str, keys: Sequence[str] | None, marks: Mapping[str, str]
) -> Answer:
    """UTILISATION beside the limits of a cluster, its QUOTAS or a history; of several clusters' usage only its own
    counts."""
    used = relational.of_cluster(used, cluster_id)
    if not isinstance(limits, Answer | pa.Table):  # a history, which may be of several clusters
        named = {CLUSTER: relational.words_of(used).literal(cluster_id, pa.string())}
        used = relational.with_columns(used, named)
    found = utilisation(used, limits, keys=keys, cluster_id=cluster_id)
    return answered(relational.of_cluster(found, cluster_id), {CLUSTER_ID: cluster_id, TAKEN_AT: now(), **marks})


def _is_address(path: str) -> bool:
    return ":/" in path and not Path(path).exists()
