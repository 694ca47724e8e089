"""Pages: the part of an answer that is shown at once, and the place of the rest; both depend on who looks."""

from __future__ import annotations

from dataclasses import dataclass

from ..hints import Syntax, terminal

ROWS = 60
"""Rows of a table that a notebook or a window shows."""


@dataclass(frozen=True, slots=True)
class Page:
    """A bound on what is shown; None is not a bound.

    `rows` are those of a table, `width` is the width of a line, `longest` the length of a cell. `rest` says where all
    of it is, `lazy_rest` the same of a frame that was not read whole, `rest_of_lines` of a list of lines, where that is
    no attribute of the value. `syntax` spells what could be typed next; where it is None, the value knows who looks.
    `has_errors_apart` is a page beside which errors are shown, as a terminal's.
    """

    rows: int | None = None
    width: int | None = None
    longest: int | None = None
    rest: str = ""
    lazy_rest: str = ""
    rest_of_lines: str = ""
    syntax: Syntax | None = None
    has_errors_apart: bool = False


WHOLE = Page(syntax=terminal, has_errors_apart=True)
"""A file, or a pipe: every row, every cell."""

NOTEBOOK = Page(
    ROWS,
    longest=80,
    rest=".to_pandas() has all of it",
    lazy_rest=".to_spark() has all of it, len() counts the rows",
)
"""A notebook's output, or a Python prompt."""


def window(width: int, rest: str, rows: int = ROWS) -> Page:
    """A terminal of that width."""
    return Page(rows, width, rest=rest, lazy_rest=rest, rest_of_lines="a pipe", syntax=terminal, has_errors_apart=True)
