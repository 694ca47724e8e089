"""Tabular: a value that is a table, in the forms that a table is taken in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import FORMS
from .display import Display

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa
    import pyspark.sql


class Tabular(Display, ABC):
    """A value with rows: as Arrow, pandas or Spark, with the same columns and types."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The Arrow table; its schema metadata says of which cluster and when, where it came from one."""

    def to_pandas(self) -> pandas.DataFrame:
        """A plain DataFrame with the same columns."""
        from .to_pandas import to_pandas

        return to_pandas(self.to_arrow())

    def to_spark(self, spark: pyspark.sql.SparkSession | None = None) -> pyspark.sql.DataFrame:
        """A Spark DataFrame in `spark`, the active session, or a local one.

        Raises
        ------
        Unsupported
            pyspark is not installed.
        """
        from .spark import to_spark

        return to_spark(self.to_arrow(), spark)

    def as_(self, form: str) -> Any:
        """The plain frame of that type: pandas, arrow or spark.

        Raises
        ------
        UsageError
            There is no such type.
        """
        if form not in FORMS:
            raise UsageError(f"unknown frame type {form}", hint=f"It is one of {', '.join(FORMS)}.")
        return getattr(self, f"to_{form}")()
