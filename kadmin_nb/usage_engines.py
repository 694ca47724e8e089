"""The engine that reads usage and adds it up, Arrow in this process or Spark: by the size of what is to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from . import traffic
from .errors import UsageError
from .frames import schemas
from .frames import spark as sparks
from .frames.answer import Answer
from .frames.engines import ARROW, SPARK, refuse_unknown
from .frames.given_frames import table_of
from .frames.lazy_answer import SparkAnswer
from .frames.schema_metadata import CLUSTER_ID, ENGINE, TAKEN_AT, now
from .resolution.input_columns import CLUSTER
from .traffic import log_files
from .traffic.log_files import ReadSoFar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from . import analytics

ARROW_LOG_BYTES = 200_000_000
"""Bytes of request log that this process reads, in some ten seconds and half a GB; Spark's are more."""

ARROW_ROWS = 2_000_000
"""Rows of USAGE that this process takes."""


_SPAN_COLUMNS = {
    **dict.fromkeys(("window_start_min", "min(window_start)"), "first_used"),
    **dict.fromkeys(("window_end_max", "max(window_end)"), "last_used"),
}
"""Arrow's and Spark's names of the two ends of a span."""


@dataclass(frozen=True)
class LogEngine:
    """The engine that reads a request log, and the reason."""

    paths: Sequence[str]
    names: str | None
    is_spark: bool
    why: str

    @classmethod
    def of(cls, paths: Sequence[str], names: str | None = None, engine: str | None = None) -> LogEngine:
        """The engine that is asked for, else by the size of the files.

        Raises
        ------
        UsageError
            There is no such engine.
        NotFound
            There is no such path, or no file below it.
        """
        refuse_unknown(engine)
        if engine == SPARK or (engine is None and any(map(_is_elsewhere, paths))):
            return cls(
                paths, names, True, "added up on Spark" + (", as asked" if engine else ": not files of this machine")
            )
        files = log_files.local_files(paths, names)
        size = log_files.size_of(files)
        if engine is None and (size > ARROW_LOG_BYTES or not all(map(log_files.is_readable, files))):
            return cls(paths, names, True, f"added up on Spark: {size_text(size)} of log")
        return cls(paths, names, False, _here(f"{size_text(size)} of log", size_text(ARROW_LOG_BYTES), engine))

    def requests(self, progress: ReadSoFar | None = None, **how: Any) -> traffic.Requests | analytics.Requests:
        """The requests of the log, its first lines looked at; options as of `analytics.requests`.

        `progress` is told of what this process reads.
        """
        if not self.is_spark:
            return traffic.requests(self.paths, names=self.names, progress=progress, **how)
        from .analytics import requests as on_spark

        places = [str(Path(path).absolute()) if Path(path).exists() else path for path in self.paths]
        return on_spark(sparks.spark_session(), places, names=self.names, **how)


@dataclass(frozen=True)
class Usage:
    """USAGE where its engine wants it, an Arrow table or a Spark DataFrame; and why it is that one."""

    frame: pa.Table | DataFrame
    why: str

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
        in_spark = frame.to_spark() if isinstance(frame, SparkAnswer) else frame
        if sparks.is_spark(in_spark):
            return _from_spark(in_spark, engine)
        if not hasattr(frame, "__arrow_c_stream__"):
            raise UsageError(
                f"the usage is a {type(frame).__name__}, not a frame", hint="Arrow, pandas, Polars or Spark."
            )
        table = table_of(frame, "the usage")
        if engine == SPARK or (engine is None and len(table) > ARROW_ROWS):
            return cls(sparks.to_spark(table), f"on Spark: {len(table):,} rows of usage{', as asked' * bool(engine)}")
        return cls(table, _here(f"{len(table):,} rows of usage", f"{ARROW_ROWS:,}", engine))

    @classmethod
    def of_log(cls, requests: traffic.Requests | analytics.Requests, every: str, why: str) -> Usage:
        """USAGE of requests, where these are."""
        if isinstance(requests, traffic.Requests):
            return cls(traffic.usage(requests, every), why)
        from . import analytics

        return cls(analytics.usage(requests, every), why)

    @classmethod
    def of_metrics(cls, metrics: Answer, engine: str | None = None) -> Usage:
        """USAGE of the buckets that METRICS tell of."""
        if engine != SPARK:
            why = _here(f"{len(metrics):,} samples", f"{ARROW_ROWS:,} rows of usage", engine)
            return cls(traffic.usage_from_metrics(metrics), why)
        from .analytics import usage_from_metrics as on_spark

        return cls(on_spark(metrics.to_spark()), "added up on Spark, as asked")

    @property
    def is_on_spark(self) -> bool:
        """Is it in Spark?"""
        return sparks.is_spark(self.frame)

    def answer(self) -> Answer:
        """USAGE as it is."""
        return self._answered(self.frame, {})

    def clients(self) -> Answer:
        """PAIRS of the clients that it names."""
        if not self.is_on_spark:
            return self._answered(traffic.known_clients(self.frame), {})
        from . import analytics

        return self._answered(analytics.known_clients(self.frame), {})

    def users(self) -> pa.Table:
        """Each user that it names: `user`, `first_used` and `last_used`, from the first window to the last."""
        frame: Any = self.frame
        names = frame.columns if self.is_on_spark else frame.column_names
        schemas.require_columns("the usage", ("user", "window_start", "window_end"), names)
        if self.is_on_spark:
            spans = frame.groupBy("user").agg({"window_start": "min", "window_end": "max"}).toArrow()
        else:
            spans = frame.group_by("user").aggregate([("window_start", "min"), ("window_end", "max")])
        spans = pa.table(spans.columns, [_SPAN_COLUMNS.get(name, name) for name in spans.column_names])
        schema = pa.schema([schemas.USERS.schema.field(name) for name in ("user", "first_used", "last_used")])
        return spans.filter(pc.not_equal(spans["user"], "")).select(schema.names).cast(schema)

    def utilisation(
        self, quotas: Answer | pa.Table, cluster_id: str, keys: Sequence[str] | None, marks: dict[str, str]
    ) -> Answer:
        """UTILISATION beside the quotas of a cluster; of several clusters' usage only its own counts."""
        marks = {CLUSTER_ID: cluster_id, TAKEN_AT: now(), **marks}
        rows: Any = self.of_cluster(cluster_id).frame
        if not self.is_on_spark:
            return self._answered(traffic.utilisation(rows, quotas, keys=keys), marks)
        from . import analytics

        return self._answered(analytics.utilisation(rows, quotas, keys=keys), marks)

    def of_cluster(self, cluster_id: str) -> Usage:
        """The rows of one cluster, without the column that names it; all of them where none does."""
        rows: Any = self.frame
        if not self.is_on_spark:
            from .plans.impact import of_cluster

            return replace(self, frame=of_cluster(rows, cluster_id))
        if CLUSTER not in rows.columns:
            return self
        return replace(self, frame=rows.where(rows[CLUSTER] == cluster_id).drop(CLUSTER))

    def _answered(self, frame: Any, marks: dict[str, str]) -> Answer:
        marks = {**marks, ENGINE: self.why}
        return SparkAnswer(frame, marks) if self.is_on_spark else Answer(schemas.marked(frame, marks))


def _from_spark(frame: Any, engine: str | None) -> Usage:
    if engine != ARROW:
        return Usage(frame, "on Spark" + (", as asked" if engine else ", where the usage is"))
    with sparks.at_work("Spark hands the usage over"):
        table = frame.toArrow()
    return Usage(table, _here(f"{len(table):,} rows of usage", f"{ARROW_ROWS:,}", engine))


def _here(size: str, most: str, engine: str | None) -> str:
    why = "as asked" if engine == ARROW else f"Spark takes over from {most}"
    return f"added up on Arrow, in this process: {size}; {why}"


def _is_elsewhere(path: str) -> bool:
    """Does only Spark know such a path? It is an address, or a pattern with alternatives."""
    return not Path(path).exists() and (":/" in path or "{" in path)


def size_text(size: int) -> str:
    """Bytes of a log, short."""
    unit, divisor = ("MB", 1e6) if size >= 1e6 else ("kB", 1e3)
    return f"{size / divisor:,.3g} {unit}" if size < 1e9 else f"{size / 1e9:,.3g} GB"
