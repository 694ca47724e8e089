"""Work on a frame where it is, in the same words: an Arrow table in this process, or a Spark DataFrame.

What is handed in lazily stays lazy: on Spark nothing here runs but what says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError, printable
from . import schemas, spark
from .answer import Tabular
from .frame import MOMENT, WORD
from .given_frames import arrow_table, is_text, plain, text_column
from .lazy_answer import SparkAnswer

if TYPE_CHECKING:
    from pyspark.sql import Column

Frame = Any
"""Arrow, pandas, Polars, Spark, or an answer; once it was `taken`, an Arrow table or a Spark DataFrame."""

Expression = Any
"""A value worked out of a row: an expression of Arrow's, or a column of Spark's. Both know Python's operators."""

Measure = tuple[str, str]
"""A function of FUNCTIONS and the column that it is of."""

_DAY = 86_400_000_000
_IN_FULL = pc.ScalarAggregateOptions(skip_nulls=False)
_FROM_NOTHING = pc.ScalarAggregateOptions(min_count=0)

FUNCTIONS: Mapping[str, tuple[str, Any, str]] = {
    "max": ("max", None, "max({})"),
    "min": ("min", None, "min({})"),
    "sum": ("sum", None, "sum({})"),
    "full_sum": ("sum", _IN_FULL, "if(count({0}) = count(*), sum({0}), null)"),
    "full_max": ("max", _IN_FULL, "if(count({0}) = count(*), max({0}), null)"),
    "count": ("count", None, "count({})"),
    "count_rows": ("count_all", None, "count(*)"),
    "count_true": ("sum", _FROM_NOTHING, "count_if({})"),
    "count_distinct": ("count_distinct", None, "count(DISTINCT {})"),
}
"""What is added up: Arrow's function and its options, and the same in Spark's SQL. A `full` one of a part that is
unknown is unknown."""


def taken(frame: Frame, names: Sequence[str], label: str) -> Frame:
    """A Spark DataFrame, or anything with `__arrow_c_stream__` as a table, of pandas with these columns alone.

    Raises
    ------
    UsageError
        It is not a frame; `label`, a plural, is how the message calls it.
    """
    if isinstance(frame, SparkAnswer):
        return frame.to_spark()
    if spark.is_spark(frame):
        return frame
    return arrow_table(frame.to_arrow() if isinstance(frame, Tabular) else frame, names, label)


def cluster_of(frame: Frame) -> list[str]:
    """The column of clusters, first of all columns, or nothing if the frame has none."""
    return [name for name in names_of(frame) if name == "cluster_id"]


def read_columns(frame: Frame, names: Sequence[str], label: str) -> Frame:
    """These columns of a frame, and `cluster_id` where it has one.

    Raises
    ------
    UsageError
        It is not a frame, or a column is missing.
    """
    table = taken(frame, ("cluster_id", *names), label)
    schemas.require_columns(label, names, names_of(table))
    return select(table, [*cluster_of(table), *names])


class Kind(NamedTuple):
    """The types that a column may have, the one that it is given, and how a message calls it."""

    fits: Callable[[pa.DataType], bool]
    type: pa.DataType
    text: str


def _is_number(kind: pa.DataType) -> bool:
    return any(is_it(kind) for is_it in (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal))


TEXT = Kind(is_text, pa.string(), "text")
WHOLE = Kind(pa.types.is_integer, pa.int32(), "a whole number")
TIME = Kind(pa.types.is_timestamp, MOMENT, "a timestamp")
NUMBER = Kind(lambda kind: _is_number(kind) or pa.types.is_null(kind), pa.float64(), "a number")


_BY_TYPE = {WORD: TEXT, pa.string(): TEXT, pa.int32(): WHOLE, MOMENT: TIME, pa.int64(): NUMBER, pa.float64(): NUMBER}


def kinds_of(schema: pa.Schema) -> dict[str, Kind]:
    """The kinds of the columns that are texts, numbers or times."""
    return {field.name: _BY_TYPE[field.type] for field in schema if field.type in _BY_TYPE}


def checked(frame: Frame, schema: pa.Schema, columns: Sequence[str], label: str) -> Frame:
    """These columns of a frame, in the types of their schema, words as strings; as of `of_kinds`."""
    kinds = kinds_of(schema)
    return of_kinds(frame, {name: kinds[name] for name in columns}, label)


def of_kinds(frame: Frame, kinds: Mapping[str, Kind], label: str, or_without: Collection[str] = ()) -> Frame:
    """These columns of a frame, each of its kind; optional ones if the frame has them.

    Raises
    ------
    UsageError
        It is not a frame, or a column is missing or of another kind.
    """
    table = taken(frame, [*kinds], label)
    schemas.require_columns(label, [name for name in kinds if name not in or_without], names_of(table))
    types: Mapping[str, tuple[Any, pa.DataType]] = (
        spark.types_of(table)
        if spark.is_spark(table)
        else {field.name: (field.type, field.type) for field in table.schema}
    )
    present = {name: kind for name, kind in kinds.items() if name in types}
    for name, kind in present.items():
        word, its_type = types[name]
        if not kind.fits(its_type) and not _is_nothing(table, name, kind):
            raise UsageError(f"{name} of {label} is {word}, not {kind.text}")
    if spark.is_spark(table):
        columns = {name: table[name].cast(spark.spark_type(kind.type)) for name, kind in present.items()}
        return table.select(*_named(columns))
    return pa.table({name: _in_kind(table, name, kind, label) for name, kind in present.items()})


def _is_nothing(table: Frame, name: str, kind: Kind) -> bool:
    """True of a column of texts without any text, for which pandas has numbers."""
    return kind is TEXT and isinstance(table, pa.Table) and table[name].null_count == len(table)


def _in_kind(table: pa.Table, name: str, kind: Kind, label: str) -> pa.ChunkedArray:
    return text_column(table, name, label) if kind is TEXT else table[name].cast(kind.type, safe=False)


def names_of(frame: Frame) -> list[str]:
    """The names of its columns."""
    return list(frame.columns if spark.is_spark(frame) else frame.column_names)


class ArrowWords:
    """The words of expressions that have no operator, as Arrow has them."""

    column = staticmethod(pc.field)
    is_nan = staticmethod(pc.is_nan)
    either = staticmethod(pc.coalesce)

    @staticmethod
    def when(condition: Expression, value: Expression, otherwise: Expression = None) -> Expression:
        """The value where a condition holds, and not where it is unknown; else the other one, or null."""
        return pc.if_else(pc.coalesce(condition, False), value, otherwise)

    @staticmethod
    def is_null(value: Expression) -> Expression:
        """True where it is."""
        return value.is_null()

    @staticmethod
    def literal(value: object, kind: pa.DataType) -> Expression:
        """A value, or null, of this type."""
        return pc.scalar(pa.scalar(value, kind))

    @staticmethod
    def number(value: Expression) -> Expression:
        """As a double, of a whole number beyond 2⁵³ the nearest."""
        return value.cast(pa.float64(), safe=False)

    @staticmethod
    def micros(time: Expression) -> Expression:
        """A time as microseconds since 1970."""
        return time.cast(MOMENT).cast(pa.int64())

    @staticmethod
    def moment(micros: Expression) -> Expression:
        """Microseconds since 1970 as a time."""
        return micros.cast(MOMENT)

    @staticmethod
    def remainder(number: Expression, divisor: int) -> Expression:
        """The remainder of a division of whole numbers, with the sign of the number."""
        return number - pc.divide(number, divisor) * divisor

    @staticmethod
    def rounded(number: Expression) -> Expression:
        """The nearest whole number, of two the higher one."""
        below = pc.floor(number)  # above 2⁵², number + 0.5 is another whole number
        return below.cast(pa.int64()) + (number - below >= 0.5).cast(pa.int64())

    @staticmethod
    def first_day(time: Expression, every: str) -> Expression:
        """The date of a time in UTC, of a month its first."""
        return pc.floor_temporal(time.cast(MOMENT), unit=every).cast(pa.date32())


class SparkWords:
    """The same, as Spark has them."""

    def __init__(self) -> None:
        from pyspark.sql import functions as F

        self._f, self.column, self.either = F, F.col, F.coalesce
        self.is_nan, self.is_null, self.micros, self.moment = F.isnan, F.isnull, F.unix_micros, F.timestamp_micros

    def when(self, condition: Expression, value: Expression, otherwise: Expression = None) -> Expression:
        """The value where a condition holds, and not where it is unknown; else the other one, or null."""
        return self._f.when(condition, value).otherwise(otherwise)

    def literal(self, value: object, kind: pa.DataType) -> Expression:
        """A value, or null, of this type."""
        return self._f.lit(value).cast(spark.spark_type(kind))

    def number(self, value: Expression) -> Expression:
        """As a double."""
        return value.cast("double")

    def remainder(self, number: Expression, divisor: int) -> Expression:
        """The remainder of a division of whole numbers, with the sign of the number."""
        return number % divisor

    def rounded(self, number: Expression) -> Expression:
        """The nearest whole number, of two the higher one."""
        below = self._f.floor(number)
        return below.cast("bigint") + (number - below >= 0.5).cast("bigint")

    def first_day(self, time: Expression, every: str) -> Expression:
        """The date of a time in UTC, of a month its first; the session's time zone does not matter."""
        day = self._f.date_from_unix_date(self._f.floor(self._f.unix_micros(time) / _DAY).cast("int"))
        return day if every == "day" else self._f.trunc(day, every)


def words_of(frame: Frame) -> ArrowWords | SparkWords:
    """The words for expressions over a frame."""
    return SparkWords() if spark.is_spark(frame) else ArrowWords()


def with_columns(frame: Frame, columns: Mapping[str, Expression]) -> Frame:
    """The frame with these columns; one of the same name is replaced, a new one is last."""
    if spark.is_spark(frame):
        return frame.withColumns(dict(columns))
    return _projected(frame, {name: pc.field(name) for name in frame.column_names} | dict(columns))


def with_further(frame: Frame, columns: Mapping[str, Expression]) -> Frame:
    """The frame with columns of names that it does not have.

    Spark does not look at the frame for it, and a stream keeps its watermark, which `withColumns` of Connect forgets.
    """
    if spark.is_spark(frame):
        return frame.select("*", *_named(columns))
    return with_columns(frame, columns)


def _projected(table: pa.Table, columns: Mapping[str, Expression]) -> pa.Table:
    from pyarrow import acero

    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    project = acero.ProjectNodeOptions(list(columns.values()), list(columns))
    return acero.Declaration("project", project, [source]).to_table(use_threads=False)


def stacked(
    frame: Frame, columns: Sequence[str], rows: Sequence[tuple[Expression | None, Mapping[str, Expression]]]
) -> Frame:
    """These columns of a frame beside several rows of others, each of them where its condition holds, if it has one."""
    if not spark.is_spark(frame):
        same = {name: pc.field(name) for name in columns}
        parts = ((frame if holds is None else frame.filter(holds), others) for holds, others in rows)
        return pa.concat_tables([_projected(part, {**same, **others}) for part, others in parts])
    from pyspark.sql import functions as F

    structs = [F.struct(*_named(others)) for _, others in rows]
    *_, (last, _) = rows
    if all(holds is None for holds, _ in rows[:-1]) and last is not None:  # compacting takes longer
        items = F.when(last, F.array(*structs)).otherwise(F.array(*structs[:-1]))
    else:
        whole = (
            struct if holds is None else F.when(holds, struct) for (holds, _), struct in zip(rows, structs, strict=True)
        )
        items = F.array_compact(F.array(*whole))
    return frame.select(*columns, F.inline(items))


def _named(columns: Mapping[str, Column]) -> list[Column]:
    return [column.alias(name) for name, column in columns.items()]


def where(frame: Frame, condition: Expression) -> Frame:
    """The rows of which a condition holds."""
    return frame.where(condition) if spark.is_spark(frame) else frame.filter(condition)


def select(frame: Frame, columns: Sequence[str]) -> Frame:
    """These columns of a frame."""
    return frame.select(*columns) if spark.is_spark(frame) else frame.select(list(columns))


def framed(frame: Frame, schema: pa.Schema, order: Sequence[tuple[str, str]] = ()) -> Frame:
    """The columns of a schema. In Arrow they have its types, and the rows are in order; Spark's are in none."""
    chosen = select(frame, schema.names)
    if spark.is_spark(frame):
        return chosen
    table = chosen.cast(schema)
    return table.take(pc.sort_indices(plain(chosen), [*order])) if order else table


def appended(frame: Frame, rows: Frame) -> Frame:
    """The frame with more rows of the same columns."""
    if spark.is_spark(frame):
        return frame.unionByName(rows if spark.is_spark(rows) else spark.to_spark(rows, frame.sparkSession))
    return pa.concat_tables([frame, rows.select(frame.column_names).cast(frame.schema)])


def guarded(frame: Frame, right: Mapping[str, Expression], problem: str, label: str, shown: Sequence[str]) -> Frame:
    """The frame, whose rows have to be right: else the `problem` with a column is said, and the first row that is not.

    Arrow looks at once. On Spark who reads a column of `right` finds out; all of them are looked at side by side, as a
    message about one would have those before it in it.

    Raises
    ------
    Invalid
        A row is not right; these columns of it are shown.
    """
    if spark.is_spark(frame):
        from pyspark.sql import functions as F

        row = F.to_json(F.struct(*shown), {"ignoreNullFields": "false"})
        safe = F.regexp_replace(row, r"\p{C}", "\ufffd")  # a terminal would obey it
        starts = {name: F.lit(f"{problem.format(name)} in a row of {label}: ") for name in right}
        stops = {name: F.raise_error(F.concat(start, safe)) for name, start in starts.items()}
        return frame.withColumns({n: F.when(is_right, F.col(n)).otherwise(stops[n]) for n, is_right in right.items()})
    for name, is_right in right.items():
        wrong = frame.filter(pc.invert(pc.coalesce(is_right, False))).slice(0, 1).select(list(shown)).to_pylist()
        if wrong:
            text = json.dumps(wrong[0], default=str, ensure_ascii=False, separators=(",", ":"))
            raise Invalid(f"{problem.format(name)} in a row of {label}: {printable(text)}")
    return frame


def without_null(frame: Frame, names: Sequence[str], label: str, shown: Sequence[str]) -> Frame:
    """The frame, in which these columns may not be null.

    Raises
    ------
    Invalid
        One is; as of `guarded`.
    """
    words = words_of(frame)
    right = {name: ~words.is_null(words.column(name)) for name in names}
    return guarded(frame, right, "{} is null", label, shown)


def without_faults(frame: Frame, name: str, fault: str) -> Frame:
    """The frame without the column of faults, none of which may have a text; on Spark who reads `name` finds out.

    Raises
    ------
    Invalid
        The first fault.
    """
    if spark.is_spark(frame):
        from pyspark.sql import functions as F

        sound = F.when(F.isnull(fault), F.col(name)).otherwise(F.raise_error(F.col(fault)))
        return frame.withColumn(name, sound).drop(fault)
    for text in frame[fault].drop_null().slice(0, 1).to_pylist():
        raise Invalid(text)
    return frame.drop_columns([fault])


def added_up(frame: Frame, by: Sequence[str], measures: Mapping[str, Measure], *, in_order: bool = False) -> Frame:
    """The groups of a frame, a row each, nulls being the same, with the measures of each.

    Arrow's are, if it is asked for, in the order of their first rows, and sums always the same to their last digit.
    """
    if spark.is_spark(frame):
        from pyspark.sql import functions as F

        texts = {name: FUNCTIONS[function][2].format(f"`{column}`") for name, (function, column) in measures.items()}
        return frame.groupBy(*by).agg(*(F.expr(text).alias(name) for name, text in texts.items()))
    asked: list[tuple[Any, ...]] = [
        ([], "count_all") if function == "count_rows" else (column, *FUNCTIONS[function][:2])
        for function, column in measures.values()
    ]
    groups = frame.group_by([*by], use_threads=not in_order).aggregate(asked)
    return groups.rename_columns([*by, *measures])


def largest(frame: Frame, by: Sequence[str], measures: Mapping[str, Measure], most: int) -> tuple[pa.Table, int]:
    """The groups with the most of the first measure, one row each, the most first; and the number of all groups.

    Nulls count as nothing; a group of nulls has null for its `max`, and is last. Spark works for it.
    """
    groups, order = added_up(frame, by, measures), next(iter(measures))
    if spark.is_spark(groups):
        from pyspark.sql import functions as F

        with spark.errors_in_one_line():
            first = groups.orderBy(F.desc_nulls_last(order), *map(F.col, by)).limit(most).toArrow()
            return first, groups.count()
    sort_keys = [(order, "descending"), *((name, "ascending") for name in by)]
    return groups.sort_by(sort_keys).slice(0, most), len(groups)


def members(frame: Frame, groups: Frame, by: Sequence[str] | None = None) -> Frame:
    """The rows of a frame that are in one of these few groups, with the group's other columns.

    They agree in the columns `by`, or in all that both have.
    """
    if by is None:
        by = [name for name in names_of(groups) if name in names_of(frame)]
    if spark.is_spark(frame):
        return spark.rows_of_groups(frame, groups, by)
    return frame.join(groups, [*by], join_type="inner")


def beside(frame: Frame, groups: Frame, by: Sequence[str]) -> Frame:
    """The rows of a frame, in their order, each with the other columns of its group; each row has a group."""
    if spark.is_spark(frame):
        return spark.rows_of_groups(frame, groups, by)
    return frame.join(groups, [*by], join_type="left outer", use_threads=False)


def others(frame: Frame, known: Frame, by: Sequence[str]) -> Frame:
    """The rows of a frame whose values in these columns no row of another frame has."""
    if spark.is_spark(frame):
        return frame.join(known.select(*by).distinct(), [*by], "left_anti")
    return frame.join(known.select(by), [*by], join_type="left anti")


def of_cluster(frame: Frame, cluster_id: str) -> Frame:
    """The rows of one cluster, without saying so; all of them where the frame does not tell."""
    if "cluster_id" not in names_of(frame):
        return frame
    rows = equal(frame, "cluster_id", cluster_id)
    return rows.drop("cluster_id") if spark.is_spark(rows) else rows.drop_columns(["cluster_id"])


def each_once(frame: Frame, columns: Sequence[str] | None = None, together: Sequence[str] = ()) -> Frame:
    """These columns of a frame, or all, each combination of values once.

    On Spark rows that agree in `together` are brought to one place for it: to group by these columns, with or without
    others, takes no second shuffle.
    """
    if spark.is_spark(frame):
        rows = frame if columns is None else frame.select(*columns)
        return (rows.repartition(*together) if together else rows).distinct()
    return frame.group_by([*(columns or frame.column_names)], use_threads=False).aggregate([])


def with_number_of(frame: Frame, name: str, column: str, by: Sequence[str]) -> Frame:
    """The frame with the number of values that a column has in all rows that agree in the columns `by`."""
    if spark.is_spark(frame):
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        group = Window.partitionBy(*map(F.col, by)) if by else Window.partitionBy(F.lit(0))
        return frame.withColumn(name, F.size(F.collect_set(column).over(group)).cast("bigint"))
    if not by:
        return frame.append_column(name, pa.repeat(pc.count_distinct(frame[column]), len(frame)))
    return frame.join(added_up(frame, by, {name: ("count_distinct", column)}), [*by], join_type="inner")


def brought_together(frame: Frame, by: Sequence[str], inside: Sequence[str]) -> Frame:
    """These columns. On Spark rows that agree in the columns `by` are in one place, and are worked out once for several
    readers, though each of them asks for less.

    Those that are `inside` go through a generator, which neither pruning nor a filter passes: all readers want the very
    same shuffle then.
    """
    beside = [name for name in by if name not in inside]
    if spark.is_spark(frame):
        from pyspark.sql import functions as F

        return frame.repartition(*by).select(*beside, F.inline(F.array(F.struct(*inside))))
    return frame.select([*beside, *inside])


def split_by_null(frame: Frame, column: str) -> tuple[Frame, Frame]:
    """The rows with a value in a column, and the rows without one."""
    is_null = (words := words_of(frame)).is_null(words.column(column))
    return where(frame, ~is_null), where(frame, is_null)


def having(frame: Frame, column: str) -> Frame:
    """The rows that have a value in a column."""
    return where(frame, ~(words := words_of(frame)).is_null(words.column(column)))


def among(frame: Frame, column: str, values: Sequence[str]) -> Frame:
    """The rows that have one of these values."""
    return where(frame, words_of(frame).column(column).isin(list(values)))


def equal(frame: Frame, column: str, value: str) -> Frame:
    """The rows that have this value."""
    return where(frame, words_of(frame).column(column) == value)


def in_arrow(frame: Frame, most: int | None = None) -> pa.Table:
    """The rows of a frame, or the first so many, here; Spark works for it."""
    if spark.is_spark(frame):
        with spark.errors_in_one_line():
            return plain((frame if most is None else frame.limit(most)).toArrow())
    return frame if most is None else frame.slice(0, most)
