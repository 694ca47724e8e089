"""Sheet: a table that people edit, as a grid in a browser asks for it: a page of rows at a time.

A sheet knows nothing of browsers. Its rows have keys, which stay when rows move; its positions are those of the rows as
they are sorted and filtered now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

from msgspec import Meta, Struct

from ..frames.blocks import TEXT
from ..plans.stage import Listener

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
    is_sortable: bool = True
    hint: str = ""
    is_rare: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """The state of one cell, `row` of its page.

    `old` is the value that stays without the edit, `applies` what applies where the cell is empty, `used` how
    much of that limit was used, in percent.
    """

    row: int
    column: int
    state: str
    note: str = ""
    old: str | None = None
    applies: str = ""
    used: int | None = None


@dataclass(frozen=True, slots=True)
class CellEditor:
    """The editor of one cell: a choice of texts, or a list that items are added to and taken from; else plain text.

    `text` is what it begins with, where that is not what the cell shows. A cell that `is_locked` has none.
    """

    row: int
    column: int
    choices: Sequence[str] = ()
    is_list: bool = False
    is_locked: bool = False
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows from position `first` on: a key each, their texts column by column, and the marks among them.

    `indented` has, for a row that belongs to the one above it, what its first cell shows of its text; else nothing.
    """

    first: int
    keys: Sequence[str]
    cells: Sequence[Sequence[str]]
    marks: Sequence[Mark] = ()
    editors: Sequence[CellEditor] = ()
    indented: Sequence[str] = ()


class CellText(Struct, frozen=True):
    """A text that somebody typed into the cell of a row; `position` is where the row stood for them."""

    position: Position
    key: str
    column: ColumnName
    text: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The order and the choice of rows: a column, or none for the sheet's own order; words; and which rows to show."""

    column: str | None = None
    descending: bool = False
    words: str = ""
    show: str = "all"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an action, as one line: `ok`, or what was refused."""

    text: str = ""
    ok: bool = True


class Sheet(Protocol):
    """The sheet behind a grid. Its methods may be called from several threads."""

    columns: Sequence[Column]
    """The columns, in their order."""

    label: str
    """The name of the table, for people who cannot see it."""

    arrangement: Arrangement = Arrangement()
    """The order and the choice of rows as they are now."""

    legend: ClassVar[str] = ""
    """The meaning of signs and colours, in a line below the table."""

    def __len__(self) -> int:
        """The rows as they are filtered now."""

    def page(self, first: int, count: int) -> Page:
        """Some of them."""

    def arrange(self, arrangement: Arrangement) -> None:
        """Sort and filter.

        Raises
        ------
        UsageError
            Words that say nothing, a column that there is not; the arrangement stays.
        """

    def edit(self, cells: Sequence[CellText]) -> Result:
        """Take texts into cells, all of them; a text that does not fit is refused in its cell.

        Raises
        ------
        UsageError
            A row or a column that there is not; then nothing is taken.
        """

    def keys(self, first: int, count: int) -> Sequence[str]:
        """The keys of some rows."""

    def discard(self, cells: Sequence[CellText] | None = None) -> Result:
        """Take back the edits of these cells, or of all."""

    def undo(self) -> Result:
        """Take back the last action."""

    def redo(self) -> Result:
        """Do it again."""

    def watch(self, listener: Listener) -> None:
        """Call a method after each change of what the sheet shows, while its object is alive."""
