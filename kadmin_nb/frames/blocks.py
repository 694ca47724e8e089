"""Blocks: the pieces that a value shows, before they are text or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa


class Title(str):
    """The lines that a value begins with. The first is its finding; columns that would repeat one are left out."""

    __slots__ = ()


@dataclass(frozen=True)
class Head:
    """The first rows of a frame that nobody has counted: one more than a page shows where there are more."""

    table: pa.Table


@dataclass(frozen=True)
class Listing:
    """Lines of text. A page with a bound shows the first `shown`, and how many more `things` there are.

    `attribute` of the value has the rest in Python. Lines that somebody `types` are never broken.
    """

    lines: Sequence[str]
    shown: int
    things: str
    attribute: str = ".to_pandas()"
    types: bool = False


Block: TypeAlias = str | pa.Table | Head | Listing
"""A piece of what a value shows. A `str` is sentences that are safe to print, which a window wraps."""
