"""Conditions of a rule on one column: a few comparisons, over Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import pyarrow as pa
import pyarrow.compute as pc

Wanted = str | float | bool
NOTHING, UNLIMITED, UNKNOWN = "nothing", "unlimited", "unknown"
"""The meaning of a null in a column: that there is nothing, that there is no limit, or that nobody could see it."""


def number(value: object) -> float:
    """A cell as a number; NaN, which no comparison fits, where it is none."""
    try:
        return float(value)  # type: ignore[arg-type]  # what is not a number says so
    except (TypeError, ValueError):
        return math.nan


def said(value: object) -> str:
    """A cell as the text that a broker would take."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _same(value: object, expected: Wanted) -> bool:
    return number(value) == expected if isinstance(expected, float) else said(value) == said(expected)


_COMPARISONS: Mapping[str, Callable[[object, Wanted], bool]] = {
    "is": _same,
    "one_of": _same,
    "like": lambda value, pattern: fnmatchcase(said(value), str(pattern)),
    "at_least": lambda value, wanted: number(value) >= float(wanted),
    "at_most": lambda value, wanted: number(value) <= float(wanted),
}
OPERATORS = (*_COMPARISONS, "set")
BOUNDS = ("at_least", "at_most")
"""The operators that compare numbers."""


@dataclass(frozen=True)
class Condition:
    """One column, an operator, and what it compares with: `value` `at_least` 2. Any of several `wanted` will do.

    `null` is what an empty cell of this column says, `text` how the policy spells what is wanted.
    """

    column: str
    operator: str
    wanted: tuple[Wanted, ...]
    text: str
    null: str = NOTHING

    def fits(self, table: pa.Table) -> pa.ChunkedArray:
        """Of each row whether it fits; null where nobody can tell. Each distinct value is compared once."""
        column = table[self.column]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        distinct = pc.unique(column)
        verdicts = pa.array(map(self.holds, distinct.to_pylist()), pa.bool_())
        return pc.take(verdicts, pc.index_in(column, value_set=distinct))

    def holds(self, value: object) -> bool | None:
        """True if this cell fits; None where nobody can tell."""
        if self.operator == "set":
            return (value is not None) == self.wanted[0]
        if value is None and self.null == UNLIMITED and self.operator in BOUNDS:
            value = math.inf
        if value is None:
            return None if self.null == UNKNOWN else False
        return any(_COMPARISONS[self.operator](value, wanted) for wanted in self.wanted)

    def excess(self, value: object) -> float | None:
        """The distance of this cell beyond a bound; None where it is not compared with a number."""
        if self.operator not in BOUNDS:
            return None
        have = math.inf if value is None and self.null == UNLIMITED else number(value)
        beyond = have - float(self.wanted[0])
        return beyond if self.operator == "at_most" else -beyond

    def __str__(self) -> str:
        return self.text


def fitting(conditions: tuple[Condition, ...], table: pa.Table) -> pa.Table:
    """The rows that certainly fit all of them."""
    for condition in conditions:
        table = table.filter(pc.fill_null(condition.fits(table), False))
    return table


def not_fitting(conditions: tuple[Condition, ...], table: pa.Table) -> pa.Table:
    """The rows that do not certainly fit all of them."""
    if not conditions or not len(table):
        return table
    together = conditions[0].fits(table)
    for condition in conditions[1:]:
        together = pc.and_kleene(together, condition.fits(table))
    return table.filter(pc.invert(pc.fill_null(together, False)))
