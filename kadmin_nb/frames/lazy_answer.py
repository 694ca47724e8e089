"""The engine that works on a frame, Arrow in this process or Spark: where the frame is, else by its size.

An answer of Spark's stays there until somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Self

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
        self._frame, self.marks = frame, {ENGINE: SPARK, **(marks or {})}

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


def answered(frame: pa.Table | pyspark.sql.DataFrame, marks: Mapping[str, str]) -> Answer:
    """The answer for a frame, with these marks; a Spark DataFrame is read when it is shown."""
    return SparkAnswer(frame, marks) if spark.is_spark(frame) else Answer(marked(frame, marks))


def placed(
    frame: pa.Table | pyspark.sql.DataFrame, engine: str | None, most: int, *, prefers_spark: bool = False
) -> pa.Table | pyspark.sql.DataFrame:
    """A frame where the engine that is asked for wants it; else by its rows, of which Arrow takes so many.

    Few rows that are in Spark come to this process, and many go to Spark if there is a session. Work that
    `prefers_spark` leaves rows that are there where they are, and starts a session for many.

    Raises
    ------
    UsageError
        There is no such engine.
    """
    refuse_unknown(engine)
    if not isinstance(frame, pa.Table):
        if engine == SPARK or (engine is None and prefers_spark):
            return frame
        with spark.errors_in_one_line():
            table = (frame if engine == ARROW else frame.limit(most + 1)).toArrow()
        return table if engine == ARROW or len(table) <= most else frame
    if engine == ARROW or (engine is None and len(frame) <= most):
        return frame
    session = spark.spark_session() if engine == SPARK or prefers_spark else spark.active_session()
    if session is None:
        return frame
    with spark.errors_in_one_line():
        return spark.to_spark(frame, session)
