"""The groups of a frame that a chart has room for: added up where the frame is, in this process or on Spark.

Whatever the size of a frame, what comes out has as many rows as were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas, spark
from ..frames.given_frames import fitted
from ..frames.lazy_answer import SparkAnswer
from ..frames.tabular import Tabular
from ..frames.to_pandas import plain
from ..resolution.input_columns import arrow_table

Measure = tuple[str, str]
"""A function of FUNCTIONS and the column that it is of."""

FUNCTIONS: Mapping[str, str] = {
    "max": "max({})",
    "min": "min({})",
    "sum": "sum({})",
    "count": "count({})",
    "count_distinct": "count(DISTINCT {})",
}
"""Arrow's functions, in the words of Spark's SQL."""

Frame = Any
"""Arrow, pandas, Polars, Spark, or an answer."""


def checked(frame: Any, schema: pa.Schema, columns: Sequence[str], label: str) -> Frame:
    """These columns of a frame: a Spark DataFrame, or an Arrow table with the types of its schema.

    Raises
    ------
    UsageError
        It is not a frame, a column is missing, or a cell is not what its column holds; `label`, a plural, is how the
        message calls it.
    """
    source = _chart_source(frame)
    if spark.is_spark(source):
        schemas.require_columns(label, columns, source.columns)
        return source.select(*columns)
    table = arrow_table(source, columns, label)
    schemas.require_columns(label, columns, table.column_names)
    return _typed(fitted(plain(table.select(columns)), schema, label), schema)


def _chart_source(frame: Any) -> Any:
    """A Spark DataFrame, or what has rows here: of an answer of Spark's its DataFrame."""
    if isinstance(frame, SparkAnswer):
        return frame.to_spark()
    return frame.to_arrow() if isinstance(frame, Tabular) else frame


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The types of the schema, texts as plain strings: pandas writes a column of nulls as it likes."""
    return pa.table({name: table[name].cast(_plain_kind(schema.field(name).type)) for name in table.column_names})


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def added_up(frame: Frame, by: Sequence[str], measures: Mapping[str, Measure]) -> Frame:
    """The groups of a frame, a row each, with the measures of each."""
    if spark.is_spark(frame):
        texts = {name: FUNCTIONS[function].format(column) for name, (function, column) in measures.items()}
        return spark.added_up(frame, by, texts)
    groups = frame.group_by([*by]).aggregate([(column, function) for function, column in measures.values()])
    return groups.rename_columns(_names_of_groups(groups, by, measures))


def _names_of_groups(groups: pa.Table, by: Sequence[str], measures: Mapping[str, Measure]) -> list[str]:
    """Keys stand before or behind what is added up, by Arrow's version."""
    of_arrow = {f"{column}_{function}": name for name, (function, column) in measures.items()}
    return [name if name in by else of_arrow[name] for name in groups.column_names]


def largest(frame: Frame, by: Sequence[str], measures: Mapping[str, Measure], most: int) -> tuple[pa.Table, int]:
    """The groups with the most of the first measure, a row each, the most first; and how many groups there are.

    Nulls count as nothing; a group of nulls has null for its `max`, and is last.
    """
    groups, order = added_up(frame, by, measures), next(iter(measures))
    if spark.is_spark(groups):
        return spark.first_groups(groups, order, by, most), groups.count()
    sort_keys = [(order, "descending"), *((name, "ascending") for name in by)]
    return groups.sort_by(sort_keys).slice(0, most), len(groups)


def members(frame: Frame, groups: pa.Table) -> Frame:
    """The rows of a frame that are in one of these groups, by the columns that both have."""
    if spark.is_spark(frame):
        return spark.rows_of_groups(frame, groups)
    by = [name for name in groups.column_names if name in frame.column_names]
    return frame.join(groups, by, join_type="inner")


def others(frame: Frame, known: Frame, by: Sequence[str]) -> Frame:
    """The rows of a frame whose values in these columns stand in no row of another one."""
    if spark.is_spark(frame):
        return frame.join(known.select(*by).distinct(), [*by], "left_anti")
    return frame.join(known.select(by), [*by], join_type="left anti")


def positive(frame: Frame, column: str) -> Frame:
    """The rows in which a column is above 0."""
    if spark.is_spark(frame):
        return frame.where(f"{column} > 0")
    return frame.filter(pc.fill_null(pc.greater(frame[column], 0), False))


def each_once(frame: Frame, columns: Sequence[str]) -> Frame:
    """These columns of a frame, each combination of values once."""
    if spark.is_spark(frame):
        return frame.select(*columns).distinct()
    return frame.group_by([*columns]).aggregate([])


def split_by_null(frame: Frame, column: str) -> tuple[Frame, Frame]:
    """The rows that have a value in a column, and those that have none."""
    if spark.is_spark(frame):
        return frame.where(f"{column} IS NOT NULL"), frame.where(f"{column} IS NULL")
    return frame.filter(frame[column].is_valid()), frame.filter(frame[column].is_null())


def equal(frame: Frame, column: str, value: str) -> Frame:
    """The rows that have this value."""
    return (
        frame.where(frame[column] == value) if spark.is_spark(frame) else frame.filter(pc.equal(frame[column], value))
    )


def in_arrow(frame: Frame, most: int) -> pa.Table:
    """The first rows of a frame, here."""
    if spark.is_spark(frame):
        with spark.at_work("Spark reads the rows of a chart"):
            return plain(frame.limit(most).toArrow())
    return frame.slice(0, most)


def flag_count(flags: pa.ChunkedArray) -> int:
    """The number of flags that are set."""
    return int(pc.sum(flags).as_py() or 0)


@dataclass(frozen=True)
class Bins:
    """The equal parts of a span of time that a chart has room for, in microseconds of UTC."""

    start: int
    step: int
    end: int

    @classmethod
    def of(cls, frame: Frame, first: str, last: str, most: int) -> Bins | None:
        """Those of a frame from its first time to its last; None of no rows."""
        ends, _ = largest(frame, (), {"end": ("max", last), "start": ("min", first)}, 1)
        start, end = (ends[name].cast(pa.int64())[0].as_py() if len(ends) else None for name in ("start", "end"))
        if start is None or end is None:
            return None
        step = next(
            (step * SECOND for step in STEPS if (end - start) // (step * SECOND) < most), (end - start) // most + 1
        )
        return cls(start // step * step, step, end)

    @property
    def is_of_days(self) -> bool:
        """True if a bin is a day or longer."""
        return self.step >= 86400 * SECOND

    @property
    def tick_format(self) -> str:
        """The times of an axis: by the clock within a day or two, by the calendar beyond."""
        days = (self.end - self.start) / (86400 * SECOND)
        return "%H:%M" if days <= 1 else "%d %b %H:%M" if days <= 4 else "%d %b"

    @property
    def span(self) -> list[int]:
        """The first and the last time, in milliseconds as Vega takes them."""
        return [self.start // 1000, (self.start + self.count * self.step) // 1000]

    def added_to(self, frame: Frame, column: str) -> Frame:
        """The frame with the number of each row's bin, by a time of it."""
        if spark.is_spark(frame):
            since = f"(unix_micros({column}) - {self.start})"
            return spark.with_column(frame, "bin", f"CAST(floor({since} / {self.step}) AS BIGINT)")
        since = pc.subtract(frame[column].cast(pa.int64()), self.start)
        return frame.append_column("bin", pc.divide(since, self.step))

    @property
    def count(self) -> int:
        """The number of bins, the last one included."""
        return (max(self.end - 1, self.start) - self.start) // self.step + 1

    def times(self, number: int) -> dict[str, int]:
        """The beginning and the end of a bin, in milliseconds as Vega takes them."""
        start = self.start + number * self.step
        return {"from": start // 1000, "to": (start + self.step) // 1000}


SECOND = 1_000_000
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
"""The lengths of a bin in seconds, such as a clock has."""
