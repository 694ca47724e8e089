"""Sheet: a table that people edit, as a grid in a browser asks for it: a page of rows at a time.

A sheet knows nothing of browsers. Its rows have keys, which stay when rows move; its positions are those of the rows as
they are filtered now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from ..frames.blocks import TEXT

STAGED, REFUSED, DANGER, SHADOWED, APPLIES = "staged", "refused", "danger", "shadowed", "applies"
"""The states of a cell that are not those of every other; the text of one that `applies` is set elsewhere."""

MOST_CELLS = 10_000
"""Cells that one action, and so one message, may change."""

LONGEST_CELL = 300
"""Characters of a cell that a grid shows; its editor begins with the whole text."""

Position = Annotated[int, Meta(ge=0, le=2**31)]
ColumnName = Annotated[str, Meta(max_length=1000)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Its look, one of `frames.blocks`, says how wide it is; one that `is_rare` waits behind *more keys*."""

    name: str
    label: str
    look: str = TEXT
    is_editable: bool = False
    hint: str = ""
    is_rare: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of one cell.

    `old` is the value that stays without the edit, `applies` what applies where the cell is empty, `used` how
    much of that limit was used, in percent.
    """

    state: str
    note: str = ""
    old: str | None = None
    applies: str = ""
    used: int | None = None


@dataclass(frozen=True, slots=True)
class CellEditor:
    """The editor of one cell: a choice of texts, else plain text.

    `text` is what it begins with, where that is not what the cell shows. A cell that `is_locked` has none.
    """

    choices: Sequence[str] = ()
    is_locked: bool = False
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows from position `first` on: a key each, their texts column by column.

    Marks and editors stand behind their cell's row and column in the page.
    `indented` has, for a row that belongs to the one above it, what its first cell shows of its text; else nothing.
    """

    first: int
    keys: Sequence[str]
    cells: Sequence[Sequence[str]]
    marks: Sequence[tuple[int, int, Mark]] = ()
    editors: Sequence[tuple[int, int, CellEditor]] = ()
    indented: Sequence[str] = ()


class CellText(Struct, frozen=True):
    """A text that somebody typed into the cell of a row; `position` is where the row stood for them."""

    position: Position
    key: str
    column: ColumnName
    text: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The choice of rows: words of a filter, and which rows to show."""

    words: str = ""
    show: str = "all"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an action, as one line: `ok`, or what was refused."""

    text: str = ""
    ok: bool = True
