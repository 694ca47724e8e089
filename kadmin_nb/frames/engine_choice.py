"""The engine that works on a frame, Arrow in this process or Spark: where the frame is, else by its size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import ARROW, SPARK, refuse_unknown, spark
from .answer import Answer
from .lazy_answer import SparkAnswer
from .schema_metadata import ENGINE
from .schemas import marked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WAY = "kn.spark_session() first, or --engine spark, uses Spark"


@dataclass(frozen=True)
class Placed:
    """A frame where its engine wants it, an Arrow table or a Spark DataFrame; and why it is that one."""

    frame: pa.Table | DataFrame
    why: str

    @property
    def is_on_spark(self) -> bool:
        """Is it in Spark?"""
        return spark.is_spark(self.frame)

    def answered(self, frame: Any, marks: Mapping[str, str]) -> Answer:
        """What was made of it, as an answer that says by which engine; Spark's is lazy."""
        marks = {**marks, ENGINE: self.why}
        return SparkAnswer(frame, marks) if self.is_on_spark else Answer(marked(frame, marks))


@dataclass(frozen=True)
class Work:
    """Work on rows, for which an engine is chosen. Its words are the message's.

    `stays` says why rows that are in Spark stay there; without it they are asked for, and few come to this process.
    Spark is started for many rows if it `starts` it.
    """

    done: str
    rows: str
    there: str
    task: str
    stays: str = ""
    starts: bool = False

    def placed(self, frame: pa.Table | DataFrame, engine: str | None, most: int) -> Placed:
        """The frame where the engine that is asked for wants it; else by its rows, of which Arrow takes so many.

        Raises
        ------
        UsageError
            There is no such engine.
        """
        refuse_unknown(engine)
        if not isinstance(frame, pa.Table):
            return self._of_spark(frame, engine, most)
        if engine == ARROW or (engine is None and len(frame) <= most):
            return Placed(frame, self.here(f"{len(frame):,} {self.rows}", engine))
        session = spark.spark_session() if engine == SPARK or self.starts else spark.active_session()
        if session is None:
            here = f"{self.done} on Arrow, in this process: {len(frame):,} {self.rows}, and no Spark session; {_WAY}"
            return Placed(frame, here)
        with spark.at_work(self.task):
            return Placed(spark.to_spark(frame, session), self.on_spark(len(frame), engine))

    def _of_spark(self, frame: DataFrame, engine: str | None, most: int) -> Placed:
        if engine == SPARK or (engine is None and self.stays):
            return Placed(frame, self.there + (", as asked" if engine else self.stays))
        with spark.at_work(self.task):
            table = (frame if engine == ARROW else frame.limit(most + 1)).toArrow()
        if engine == ARROW or len(table) <= most:
            return Placed(table, self.here(f"{len(table):,} {self.rows}", engine))
        return Placed(frame, f"{self.there}: more than {most:,} {self.rows}")

    def here(self, size: str, engine: str | None) -> str:
        """That Arrow was asked for; of what is small enough for it the name alone, which is not shown."""
        return f"{self.done} on Arrow, in this process: {size}; as asked" if engine == ARROW else ARROW

    def on_spark(self, rows: int, engine: str | None) -> str:
        """The reason for Spark: so many rows."""
        return f"{self.there}: {rows:,} {self.rows}{', as asked' if engine == SPARK else ''}"
