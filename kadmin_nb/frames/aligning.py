"""Cells as lines of aligned text, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

GAP = "  "
"""The gap between two columns."""

TEXT, NUMBER, NAME, KEY, BADGE, PROSE, BRANCH = "text", "number", "name", "key", "badge", "prose", "branch"
"""The looks of columns. Numbers stand to the right; a name may stand in a title instead; a badge is a word of few;
prose is sentences and lines to type; a branch begins with its indent in a tree."""

PADDED = 80
"""The width up to which a column is aligned: one cell of a megabyte must not make every row as long."""


CUT = "cells that end in … are cut"
"""The remark on shortened cells."""


@dataclass(frozen=True, slots=True)
class Column:
    """The texts of one column, and how they are set."""

    name: str
    cells: Sequence[str]
    look: str = TEXT

    @property
    def is_number(self) -> bool:
        """True if it stands to the right, and no cell of it is broken."""
        return self.look == NUMBER

    @property
    def is_prose(self) -> bool:
        """True if nothing of it is ever cut."""
        return self.look == PROSE

    @property
    def widest(self) -> int:
        """The width of its widest cell."""
        return max(map(self._width_of, self.cells), default=0)

    @property
    def natural(self) -> int:
        """The width that shows it whole, its name too."""
        return max(width_of(self.name), self.widest)

    @property
    def _width_of(self) -> Callable[[str], int]:
        """`width_of`, or what is the same for these cells and faster: a million of them are asked one by one."""
        return len if "".join(self.cells).isascii() else width_of

    def padded(self, width: int) -> Iterable[str]:
        """The cells with blanks up to a width."""
        if self._width_of is len:
            return (text.rjust(width) if self.is_number else text.ljust(width) for text in self.cells)
        return (padded(text, width, right=self.is_number) for text in self.cells)

    def shortened(self, longest: int) -> Column:
        """With no cell longer than that; sentences stay whole."""
        if self.is_prose or all(len(text) <= longest for text in self.cells):
            return self
        return replace(self, cells=[t if len(t) <= longest else f"{t[: longest - 1]}…" for t in self.cells])


Chunk = Sequence[Column]


def aligned(chunks: Callable[[], Iterable[Chunk]]) -> Iterator[str]:
    """A line of names, then a line a row.

    Parameters
    ----------
    chunks
        Gives the rows, some at a time. It is called twice: the widths have to be known before the first line.
    """
    widths: list[int] = []
    for columns in chunks():
        found = [min(PADDED, column.natural) for column in columns]
        widths = [max(pair) for pair in zip(widths or found, found, strict=True)]
    for number, columns in enumerate(chunks()):
        if not number:
            yield _line([padded(c.name, w, right=c.is_number) for c, w in zip(columns, widths, strict=True)])
        cells = [column.padded(width) for column, width in zip(columns, widths, strict=True)]
        yield from map(_line, zip(*cells, strict=True))


def _line(cells: Iterable[str]) -> str:
    return GAP.join(cells).rstrip()


def padded(text: str, width: int, *, right: bool) -> str:
    """The text with blanks up to a width."""
    blanks = width - width_of(text)
    return f"{' ' * blanks}{text}" if right else f"{text}{' ' * blanks}"


def width_of(text: str) -> int:
    """The columns of a terminal that a text takes; wcwidth is loaded only for texts that need it."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    width = wcswidth(text)
    return width if width >= 0 else len(text)
