"""The engine that works on a frame, Arrow in this process or Spark: where the frame is, else by its size.

An answer of Spark's stays there until somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from ..errors import printable
from . import ARROW, SPARK, refuse_unknown, spark
from .answer import Answer
from .blocks import NOTEBOOK, ROWS, Page
from .schemas import ENGINE, marked

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyspark.sql

    from .blocks import Block


class SparkAnswer(Answer):
    """A frame in Spark. It shows its first rows; `to_spark()` is all of it, and runs nothing.

    Only `to_arrow()`, `to_pandas()` and `len()` read it whole, once.
    """

    _is_frame = False

    def __init__(self, frame: pyspark.sql.DataFrame, marks: Mapping[str, str] | None = None) -> None:
        self._frame, self.marks = frame, marks or {}

    @cached_property
    def _table(self) -> pa.Table:
        with spark.errors_in_one_line():
            return self._marked(self._frame.toArrow())

    @cached_property
    def _head(self) -> pa.Table:
        """The rows to show, and one more where there are more."""
        with spark.errors_in_one_line():
            return self._marked(self._frame.limit(ROWS + 1).toArrow())

    def to_spark(self, spark: pyspark.sql.SparkSession | None = None) -> pyspark.sql.DataFrame:
        """The frame itself: lazy, in the session that it was made in."""
        return self._frame

    @property
    def ok(self) -> bool:
        """True: what Spark cannot read is an error when it is read, no row."""
        return True

    def raise_for_errors(self) -> Self:
        """Itself: no row of it fails."""
        return self

    def _title(self) -> str:
        """Without one: nobody has counted the rows."""
        return ""

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The first rows, or, where the page has no bound, all of them."""
        from .blocks import Head

        return [self._table if page.rows is None else Head(self._head)]

    @property
    def columns(self) -> list[str]:
        """The names of its columns; nothing is run."""
        return [*self._frame.columns]

    def head(self, rows: int = 5) -> Answer:
        """The first rows: they alone are read."""
        return Answer(SparkAnswer(self._frame.limit(rows), self.marks).to_arrow())

    def _short_form(self) -> str:
        """Without a count: nobody asked Spark for one."""
        return f"rows in Spark: {', '.join(map(printable, self._frame.columns))}"

    def __len__(self) -> int:
        with spark.errors_in_one_line():
            return self._frame.count() if "_table" not in self.__dict__ else super().__len__()

    def _marked(self, table: pa.Table) -> pa.Table:
        return marked(table, self.marks)


_WAY = "kn.spark_session() first, or --engine spark, uses Spark"


@dataclass(frozen=True)
class Placed:
    """A frame where its engine wants it, an Arrow table or a Spark DataFrame; and why it is that one."""

    frame: pa.Table | pyspark.sql.DataFrame
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
    stays: str = ""
    starts: bool = False

    def placed(self, frame: pa.Table | pyspark.sql.DataFrame, engine: str | None, most: int) -> Placed:
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
        with spark.errors_in_one_line():
            return Placed(spark.to_spark(frame, session), self.on_spark(len(frame), engine))

    def _of_spark(self, frame: pyspark.sql.DataFrame, engine: str | None, most: int) -> Placed:
        if engine == SPARK or (engine is None and self.stays):
            return Placed(frame, self.there + (", as asked" if engine else self.stays))
        with spark.errors_in_one_line():
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
