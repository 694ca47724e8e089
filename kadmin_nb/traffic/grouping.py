"""Rows of a table in groups, one below the other, for what goes from row to row within a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..resolution.arrays import Flags, Longs


@dataclass(frozen=True)
class Groups:
    """Rows sorted by their group: `firsts` are the first rows of the groups, `of_row` is the group of each row."""

    firsts: Longs
    of_row: Longs

    @classmethod
    def sorted(cls, table: pa.Table, names: Sequence[str], then: Sequence[Any]) -> tuple[pa.Table, Groups]:
        """The table, sorted by groups of the same values in these columns, nulls being the same, and then by arrays."""
        codes = codes_of(table, names)
        order = np.lexsort([*reversed([np.asarray(key) for key in then]), codes])
        codes = codes[order]
        firsts = np.flatnonzero(np.diff(codes, prepend=-1))
        return table.take(order), cls(firsts, np.cumsum(np.isin(np.arange(len(codes)), firsts)) - 1)

    @property
    def begins(self) -> Flags:
        """Is the row the first of its group?"""
        flags = np.zeros(len(self.of_row), np.bool_)
        flags[self.firsts] = True
        return flags

    @property
    def sizes(self) -> Longs:
        """The number of rows of each group."""
        return np.diff(self.firsts, append=len(self.of_row))

    @property
    def places(self) -> Longs:
        """The place of each row within its group, from 0."""
        return np.arange(len(self.of_row)) - self.firsts[self.of_row]

    def reduced(self, ufunc: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of each group, put together by `ufunc`."""
        return ufunc.reduceat(values, self.firsts) if len(self.firsts) else values[:0]


def codes_of(table: pa.Table, names: Sequence[str]) -> Longs:
    """A number for each row: the same where the values of these columns are, and nulls are the same."""
    codes = np.zeros(len(table), np.int64)
    for name in names:
        column = table[name].combine_chunks()
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        each = pc.dictionary_encode(plain, "encode")
        codes = codes * max(1, len(each.dictionary)) + np.asarray(each.indices, dtype=np.int64)
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return codes
