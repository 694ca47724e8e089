"""The groups of a frame that a chart has room for: added up where the frame is, in this process or on Spark.

Whatever the size of a frame, what comes out has as many rows as were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import schemas, spark
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
        It is not a frame, or a column is missing; `label`, a plural, is how the message calls it.
    """
    lazy = frame.to_spark() if hasattr(frame, "to_spark") and not hasattr(frame, "__arrow_c_stream__") else frame
    source = getattr(frame, "_frame", lazy)
    if spark.is_spark(source):
        schemas.require_columns(label, columns, source.columns)
        return source.select(*columns)
    table = arrow_table(source, columns, label)
    schemas.require_columns(label, columns, table.column_names)
    return _typed(plain(table.select(columns)), schema)


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The types of the schema, texts as plain strings: pandas writes a column of nulls as it likes."""
    return pa.table({name: table[name].cast(_plain_kind(schema.field(name).type)) for name in table.column_names})


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def largest(frame: Frame, by: Sequence[str], measures: Mapping[str, Measure], most: int) -> tuple[pa.Table, int]:
    """The groups with the most of the first measure, a row each, the most first; and how many groups there are.

    Nulls count as nothing; a group of nulls has null for its `max`, and is last.
    """
    if spark.is_spark(frame):
        texts = {name: FUNCTIONS[function].format(column) for name, (function, column) in measures.items()}
        return spark.largest_groups(frame, by, texts, most)
    groups = frame.group_by([*by]).aggregate([(column, function) for function, column in measures.values()])
    groups = groups.rename_columns(_names_of(groups, by, measures))
    order = [(next(iter(measures)), "descending"), *((name, "ascending") for name in by)]
    return groups.sort_by(order).slice(0, most), len(groups)


def _names_of(groups: pa.Table, by: Sequence[str], measures: Mapping[str, Measure]) -> list[str]:
    """Keys stand before or behind what is added up, by Arrow's version."""
    of_arrow = {f"{column}_{function}": name for name, (function, column) in measures.items()}
    return [name if name in by else of_arrow[name] for name in groups.column_names]


def members(frame: Frame, groups: pa.Table) -> Frame:
    """The rows of a frame that are in one of these groups, by the columns that both have."""
    if spark.is_spark(frame):
        return spark.rows_of_groups(frame, groups)
    by = [name for name in groups.column_names if name in frame.column_names]
    return frame.join(groups, by, join_type="inner")


def in_arrow(frame: Frame, most: int) -> pa.Table:
    """The first rows of a frame, here."""
    if spark.is_spark(frame):
        with spark.at_work("Spark reads the rows of a chart"):
            return frame.limit(most).toArrow()
    return frame.slice(0, most)


def flag_count(flags: pa.ChunkedArray) -> int:
    """The number of flags that are set."""
    return int(pc.sum(flags).as_py() or 0)
