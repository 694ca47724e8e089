"""USAGE by the engine that fits: of a request log by its size, of a frame where it is or by its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..frames import SPARK, refuse_unknown, relational
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.given_frames import table_of
from ..frames.lazy_answer import SparkAnswer, answered, placed
from ..frames.schemas import CLUSTER_ID, TAKEN_AT, now
from ..resolution.input_columns import CLUSTER
from . import log_files
from .broker_metrics import usage_from_metrics
from .limits_used import known_clients, utilisation
from .request_log import Requests, requests
from .usage_windows import usage

ARROW_LOG_BYTES = 200_000_000
"""Bytes of request log that this process reads, in some ten seconds and half a GB; Spark's are more."""

ARROW_ROWS = 2_000_000
"""Rows of USAGE that this process takes."""


@dataclass(frozen=True)
class LogEngine:
    """The engine that reads a request log."""

    paths: Sequence[str]
    is_spark: bool

    @classmethod
    def of(cls, paths: Sequence[str], engine: str | None = None) -> LogEngine:
        """The engine that is asked for, else by the size of the files.

        Raises
        ------
        UsageError
            There is no such engine.
        NotFound
            There is no such path, or no file below it.
        """
        refuse_unknown(engine)
        if engine == SPARK or (engine is None and any(map(_is_address, paths))):
            return cls(paths, True)
        size = log_files.size_of(log_files.local_files(paths))
        return cls(paths, engine is None and size > ARROW_LOG_BYTES)

    def requests(self, **how: Any) -> Requests:
        """The requests of the log, its first lines looked at; options as of `requests`."""
        if not self.is_spark:
            return requests(self.paths, **how)
        # Spark may have been started in another folder: what is no address is a path from here, patterns too.
        places = [path if _is_address(path) else str(Path(path).absolute()) for path in self.paths]
        return requests(places, spark=sparks.spark_session(), **how)


@dataclass(frozen=True)
class Usage:
    """USAGE where its engine wants it: an Arrow table, or a Spark DataFrame."""

    frame: Any

    @property
    def is_on_spark(self) -> bool:
        """True if it is in Spark."""
        return sparks.is_spark(self.frame)

    @classmethod
    def of(cls, frame: object, engine: str | None = None) -> Usage:
        """The engine that is asked for; else Spark for what is in Spark, and for more rows than this process takes.

        Raises
        ------
        UsageError
            There is no such engine, or it is not a frame.
        """
        refuse_unknown(engine)
        if isinstance(frame, cls):
            return frame
        given: Any = frame.to_spark() if isinstance(frame, SparkAnswer) else frame
        if not sparks.is_spark(given):
            if not hasattr(given, "__arrow_c_stream__"):
                kind = type(frame).__name__
                raise UsageError(f"the usage is a {kind}, not a frame", hint="Arrow, pandas, Polars or Spark.")
            given = table_of(given, "the usage")
        return cls(placed(given, engine, ARROW_ROWS, prefers_spark=True))

    @classmethod
    def of_log(cls, requests: Requests, every: str) -> Usage:
        """USAGE of requests, where these are."""
        return cls(usage(requests, every))

    @classmethod
    def of_metrics(cls, metrics: Answer, engine: str | None = None) -> Usage:
        """USAGE of the buckets that METRICS tell of."""
        return cls(usage_from_metrics(metrics.to_spark() if engine == SPARK else metrics))

    def answer(self) -> Answer:
        """USAGE as it is."""
        return answered(self.frame, {})

    def clients(self) -> Answer:
        """PAIRS of the clients that it names."""
        return answered(known_clients(self.frame), {})

    def utilisation(self, limits: Any, cluster_id: str, keys: Sequence[str] | None, marks: dict[str, str]) -> Answer:
        """UTILISATION beside the limits of a cluster, its QUOTAS or a history; of several clusters' usage only its own
        counts."""
        marks = {CLUSTER_ID: cluster_id, TAKEN_AT: now(), **marks}
        used = self.of_cluster(cluster_id).frame
        if not isinstance(limits, Answer | pa.Table):  # a history, which may be of several clusters
            named = {CLUSTER: relational.words_of(used).literal(cluster_id, pa.string())}
            used = relational.with_columns(used, named)
        found = utilisation(used, limits, keys=keys, cluster_id=cluster_id)
        return answered(relational.of_cluster(found, cluster_id), marks)

    def of_cluster(self, cluster_id: str) -> Usage:
        """The rows of one cluster, without the column that names it; all of them where none does."""
        return replace(self, frame=relational.of_cluster(self.frame, cluster_id))


def _is_address(path: str) -> bool:
    return ":/" in path and not Path(path).exists()
