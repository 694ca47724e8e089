"""A table in the width of a window.

Texts wrap, and end in … after some lines. Sentences and errors are never cut: they wrap
whole beside the other columns, or stand below their row, as do columns that find no room.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from .aligning import CUT, GAP, TEXT, Column, padded, width_of

LINES = 3
"""Lines of its column that a text may fill, more or less: words do not break where they need not."""

BESIDE = 30
"""The width that a sentence needs beside other columns."""

NARROW, NAME = 18, 9
"""The widths down to which texts, and the names of columns, are wrapped."""

INDENT = " " * 4


def fitted(columns: Sequence[Column], width: int) -> tuple[list[str], list[str]]:
    """The lines of a table for a window of that width, and remarks on what of it they do not show."""
    shown = [_by_width(column) for column in columns]
    beside, below = _parted(shown, width)
    widths = _shared(beside, width - len(GAP) * (len(beside) - 1))
    table = [column.shortened(LINES * w) for column, w in zip(beside, widths, strict=True)]
    under = [column.shortened(LINES * width) for column in below]
    lines = [*_row([wrapped(column.name, w, _Names) for column, w in zip(beside, widths, strict=True)], beside, widths)]
    for number in range(len(columns[0].cells)):
        cells = [_cell(column, number, w) for column, w in zip(table, widths, strict=True)]
        lines += [*_row(cells, beside, widths), *_details_below(under, number, width)]
    return lines, [CUT] if [*table, *under] != [*beside, *below] else []


def _by_width(column: Column) -> Column:
    """The column; short sentences are texts as others are."""
    return replace(column, look=TEXT) if column.is_prose and column.widest <= NARROW else column


def _parted(columns: Sequence[Column], width: int) -> tuple[Sequence[Column], Sequence[Column]]:
    """The columns of the table, and those that stand below each row."""
    if _total(column.natural for column in columns) <= width:
        return columns, []
    prose = [column for column in columns if column.is_prose]
    others = [column for column in columns if not column.is_prose]
    room = width - _total(column.natural for column in others)
    if others and room >= len(prose) * (BESIDE + len(GAP)):
        return columns, []
    table, below = (others, prose) if others else (prose, [])
    fit = next((n for n in range(len(table), 1, -1) if _total(map(_least, table[:n])) <= width), 1)
    return table[:fit], [*table[fit:], *below]


def _total(widths: Iterable[int]) -> int:
    """The width of columns and the gaps between them."""
    return sum(width + len(GAP) for width in widths) - len(GAP)


def _least(column: Column) -> int:
    """The width below which a column is not worth showing; a number is never broken."""
    cells = column.widest if column.is_number else min(column.widest, BESIDE if column.is_prose else NARROW)
    return max(cells, min(width_of(column.name), NAME))


def _shared(columns: Sequence[Column], room: int) -> list[int]:
    """The widths of the columns: names break before cells do, and of those the widest give way first."""
    for cap in range(room, 0, -1):
        widths = [max(_least(column), min(_content(column), cap)) for column in columns]
        if sum(widths) <= room:
            return _widened(columns, widths, room)
    return [max(1, min(_least(column), room)) for column in columns]


def _content(column: Column) -> int:
    """The width that shows its cells whole."""
    return max(column.widest, min(width_of(column.name), NAME))


def _widened(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The widths with what room is left given to names that are broken, the first ones first."""
    wide, left = list(widths), room - sum(widths)
    for number, column in enumerate(columns):
        missing = width_of(column.name) - wide[number]
        if 0 < missing <= left:
            wide[number], left = wide[number] + missing, left - missing
    return wide


def _row(cells: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int]) -> Iterator[str]:
    """The lines of one row, as many as its tallest cell has."""
    for texts in zip_longest(*cells, fillvalue=""):
        line = [padded(t, w, right=c.is_number) for t, c, w in zip(texts, columns, widths, strict=True)]
        yield GAP.join(line).rstrip()


def _cell(column: Column, number: int, width: int) -> list[str]:
    return wrapped(column.cells[number], width, textwrap.TextWrapper if column.is_prose else _Names)


def _details_below(columns: Sequence[Column], number: int, width: int) -> Iterator[str]:
    """The lines below a row: its other values in a paragraph, each sentence in one of its own."""
    texts = [(column.is_prose, f"{column.name}: {column.cells[number]}") for column in columns if column.cells[number]]
    values = GAP.join(text for is_prose, text in texts if not is_prose)
    for paragraph in filter(None, [values, *(text for is_prose, text in texts if is_prose)]):
        yield from (f"{INDENT}{line}" for line in wrapped(paragraph, width - len(INDENT)))


def paragraph(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of text in lines of that width, each going on below itself with this indent more than its own.

    What has no blank in it, such as a path, stays whole.
    """
    return [part for line in text.split("\n") for part in _words(line, width, indent)]


def _words(line: str, width: int, indent: str) -> list[str]:
    if width_of(line) <= width:
        return [line]
    own, words = _indent_and_words(line, width)
    later = own + indent if indent else ""
    return textwrap.wrap(
        words, width, initial_indent=own, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )


def _indent_and_words(text: str, width: int) -> tuple[str, str]:
    """The indent of a text, at most half of that width, and the text: textwrap drops an indent before a long word."""
    words = text.lstrip(" ")
    return " " * min(len(text) - len(words), width // 2), words


class _Names(textwrap.TextWrapper):
    """Breaks at blanks, and after the signs that part the words of keys, entities and addresses."""

    wordsep_simple_re = re.compile(r"(\s+)|(?<=[._,/:])(?=\w)")


def wrapped(text: str, width: int, wrapper: type[textwrap.TextWrapper] = textwrap.TextWrapper) -> list[str]:
    """The text in lines of that width, all with its indent, broken between words where that is possible."""
    width = max(1, width)
    if width_of(text) <= width:
        return [text]
    indent, words = _indent_and_words(text, width)
    if words.isascii() or all(width_of(character) == 1 for character in words):
        return wrapper(width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False).wrap(words)
    return [f"{indent}{line}" for line in _folded(words, width - len(indent))]


def _folded(text: str, width: int) -> Iterator[str]:
    """The same for texts with characters of two columns, or of none, which textwrap counts as one."""
    line = ""
    for character in text:
        if line and width_of(line + character) > width:
            yield line
            line = ""
        line += character
    yield line
