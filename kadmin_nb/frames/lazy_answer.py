"""An answer that stays in Spark until somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from ..errors import printable
from .answer import Answer
from .blocks import NOTEBOOK, ROWS, Page
from .schemas import marked
from .spark import at_work

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyspark.sql

    from .blocks import Block

Around = Callable[[str], AbstractContextManager[None]]
"""A context manager around each piece of Spark's work: `frames.spark.at_work`, or one that tells how far it is."""


class SparkAnswer(Answer):
    """A frame in Spark. It shows its first rows; `to_spark()` is all of it, and runs nothing.

    Only `to_arrow()`, `to_pandas()` and `len()` read it whole, once. `around` is what its work is done in.
    """

    _is_frame = False

    def __init__(
        self, frame: pyspark.sql.DataFrame, marks: Mapping[str, str] | None = None, around: Around = at_work
    ) -> None:
        self._frame, self.marks, self.around = frame, marks or {}, around

    @cached_property
    def _table(self) -> pa.Table:
        with self.around("Spark reads the answer"):
            return self._marked(self._frame.toArrow())

    @cached_property
    def _head(self) -> pa.Table:
        """The rows to show, and one more where there are more."""
        with self.around("Spark reads the first rows"):
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

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        """The Arrow column of that name: it alone is read."""
        if column in self.columns and "_table" not in self.__dict__:
            return SparkAnswer(self._frame.select(f"`{column}`"), self.marks, self.around).to_arrow()[column]
        return super().__getitem__(column)

    def head(self, rows: int = 5) -> Answer:
        """The first rows: they alone are read."""
        return Answer(SparkAnswer(self._frame.limit(rows), self.marks, self.around).to_arrow())

    def _short_form(self) -> str:
        """Without a count: nobody asked Spark for one."""
        return f"rows in Spark: {', '.join(map(printable, self._frame.columns))}"

    def __len__(self) -> int:
        with self.around("Spark counts the rows"):
            return self._frame.count() if "_table" not in self.__dict__ else super().__len__()

    def _marked(self, table: pa.Table) -> pa.Table:
        return marked(table, self.marks)
