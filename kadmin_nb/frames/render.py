"""Text, and HTML by `markup`, out of what a value shows. Every name in it is hostile.

A client-id is chosen by whoever connects. Controls and bidi marks are shown as escapes in both forms, and every text
and name is escaped in HTML.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import pyarrow as pa

from ..errors import printable
from .blocks import (
    BADGE,
    BINDS,
    BRANCH,
    IDENTIFYING,
    KEY,
    LONGEST_NAME,
    NAME,
    NOTEBOOK,
    NUMBER,
    PROSE,
    TEXT,
    Aside,
    Block,
    Folded,
    Head,
    Listing,
    Page,
    Title,
)
from .colours import BOLD, DIM, ink, inked
from .meanings import Part
from .schema_metadata import ENGINE
from .views import ROWS_AT_ONCE, view_of

GAP = "  "
"""The gap between two columns."""

PADDED = 80
"""The width up to which a column is aligned: one cell of a megabyte must not make every row as long."""


CUT = "shortened"
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
        return self.look in (NUMBER, BINDS)

    @property
    def is_prose(self) -> bool:
        """True if nothing of it is ever cut."""
        return self.look == PROSE

    @property
    def identifies(self) -> bool:
        """True if it says which row it is."""
        return self.look in IDENTIFYING

    @property
    def is_of_few(self) -> bool:
        """True if most of its cells are empty. A tree has a name once, for all rows of it."""
        return self.look != BRANCH and sum(map(bool, self.cells)) * 2 < len(self.cells)

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
        """With no cell longer than that; sentences stay whole, as do names of any ordinary length."""
        longest = max(longest, LONGEST_NAME) if self.identifies else longest
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


LINES = 3
"""Lines of its column that a text may fill, more or less: words do not break where they need not."""

BESIDE = 30
"""The width that a sentence needs beside other columns."""

NARROW, LONGEST_WORD = 18, 40
"""The width down to which texts are wrapped, and that of a word that is not broken where anything else can give way."""

GIVING_WAY = ((TEXT, PROSE), (BADGE,), (NAME, BRANCH))
"""The looks of columns that wrap where a row is too wide, in the order in which they do."""

INDENT = " " * 4


def fitted(columns: Sequence[Column], width: int, *, colour: bool = False) -> tuple[list[str], list[str]]:
    """The lines of a table for a window of that width, and remarks on what of it they do not show.

    What identifies a row gets room first; numbers and keys are never broken. Texts wrap, and end in … after some lines.
    Sentences and errors are never cut: they wrap whole beside the other columns, or stand below their row, as do
    columns that find no room.
    """
    shown = [by_width(column) for column in columns]
    beside, below = _parted(shown, width)
    widths = _shared(beside, width - len(GAP) * (len(beside) - 1))
    table = [column.shortened(LINES * w) for column, w in zip(beside, widths, strict=True)]
    under = [column.shortened(LINES * width) for column in below]
    names = [wrapped(column.name, w, _Names) for column, w in zip(beside, widths, strict=True)]
    lines = [*_row(names, beside, widths, [DIM if colour else ""] * len(beside))]
    for number in range(len(columns[0].cells)):
        cells = [_cell(column, number, w) for column, w in zip(table, widths, strict=True)]
        inks = [ink(column.cells[number]) if colour and column.look == BADGE else "" for column in beside]
        lines += [*_row(cells, beside, widths, inks), *_details_below(under, number, width)]
    return lines, [CUT] if [*table, *under] != [*beside, *below] else []


def by_width(column: Column) -> Column:
    """The column; short sentences, and badges that are sentences, are texts as others are."""
    is_text = (column.is_prose and column.widest <= NARROW) or (column.look == BADGE and column.widest > BESIDE)
    return replace(column, look=TEXT) if is_text else column


def _parted(columns: Sequence[Column], width: int) -> tuple[Sequence[Column], Sequence[Column]]:
    """The columns of the table, and those that stand below each row."""
    if _total(column.natural for column in columns) <= width:
        return columns, []
    of_few = [column for column in columns if column.is_prose and column.is_of_few]
    of_most = [column for column in columns if column not in of_few]
    if of_few and of_most and _total(column.natural for column in of_most) <= width:
        return of_most, of_few
    prose = [column for column in columns if column.is_prose]
    others = [column for column in columns if not column.is_prose]
    room = width - _total(column.natural for column in others)
    if others and room >= len(prose) * (BESIDE + len(GAP)):
        return columns, []
    table, below = (others, prose) if others else (prose, [])
    kept = _fitting(table, width)
    return [c for c in table if c in kept], [*(c for c in table if c not in kept), *below]


def _fitting(columns: Sequence[Column], width: int) -> Sequence[Column]:
    """The first columns that fit, those that identify a row before the others; one does in any case.

    What few rows have is the last: below the others it takes no line.
    """
    by_rank = sorted(columns, key=lambda column: (column.is_of_few, not column.identifies))
    fit = (n for n in range(len(by_rank), 1, -1) if _total(map(least, by_rank[:n])) <= width)
    return by_rank[: next(fit, 1)]


def _total(widths: Iterable[int]) -> int:
    """The width of columns and the gaps between them."""
    return sum(width + len(GAP) for width in widths) - len(GAP)


def least(column: Column) -> int:
    """The width below which a column is not worth showing: numbers, keys and words are not broken."""
    if column.look in (NUMBER, KEY):
        return max(column.widest, _longest_word([column.name]))
    words = min(_longest_word(column.cells), BESIDE) if column.is_prose else _longest_word(column.cells)
    return max(words, min(column.widest, NARROW), _longest_word([column.name]))


def _longest_word(texts: Iterable[str]) -> int:
    """The width of the longest word that is not too long to be whole, with the indent of its text."""
    words = ((len(text) - len(text.lstrip(" ")), word) for text in texts for word in _glued(text).split())
    widths = (indent + width_of(word) for indent, word in words)
    return max((width for width in widths if width <= LONGEST_WORD), default=0)


def _shared(columns: Sequence[Column], room: int) -> list[int]:
    """The widths of the columns: names break before cells do; texts give way first, and of those the widest."""
    lows = [*map(least, columns)]
    widths = [max(column.widest, _longest_word([column.name])) for column in columns]
    for looks in GIVING_WAY:
        for cap in range(max(widths), 0, -1):
            if sum(widths) <= room:
                return _widened(columns, widths, room)
            both = zip(columns, lows, widths, strict=True)
            widths = [max(low, min(width, cap)) if column.look in looks else width for column, low, width in both]
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _widened(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The widths with what room is left given to names that are broken, the first ones first."""
    wide, left = list(widths), room - sum(widths)
    for number, column in enumerate(columns):
        missing = width_of(column.name) - wide[number]
        if 0 < missing <= left:
            wide[number], left = wide[number] + missing, left - missing
    return wide


def _row(
    cells: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int], inks: Sequence[str]
) -> Iterator[str]:
    """The lines of one row, as many as its tallest cell has."""
    for texts in zip_longest(*cells, fillvalue=""):
        line = [padded(t, w, right=c.is_number) for t, c, w in zip(texts, columns, widths, strict=True)]
        line[-1] = line[-1].rstrip()
        yield GAP.join(map(inked, line, inks)).rstrip()


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


END_OF_WORD = re.compile(r"(?<=_)(?=\w)|(?<=\w\w/)(?=\w)|(?<=\D:)(?=\w)|(?<=[.,])(?=[^\W\d])|(?<=\D[.,])(?=\d)")
"""The places where a key, an entity, an address or a list may be broken; a number and a time are not."""

AMOUNT = re.compile(r"(?:(?<=\d) (?=(?:[kKMGTP]i?)?B\b|%|(?:ms|s|min|h|d)\b)|(?<=-\d\d) (?=\d\d:))")
"""The blank between a number and its unit, and between a day and its time."""

_GLUE = "\x01"


def _glued(text: str) -> str:
    """The text with numbers and their units as one word: by a control, which no text that is shown has."""
    return AMOUNT.sub(_GLUE, text)


class _Names(textwrap.TextWrapper):
    """Breaks at blanks, and after the signs that part the words of keys, entities and addresses."""

    wordsep_simple_re = re.compile(rf"([ \t]+)|{END_OF_WORD.pattern}")


def wrapped(text: str, width: int, wrapper: type[textwrap.TextWrapper] = textwrap.TextWrapper) -> list[str]:
    """The text in lines of that width, all with its indent, broken between words where that is possible."""
    width = max(1, width)
    if width_of(text) <= width:
        return [text]
    indent, words = _indent_and_words(text, width)
    if all(width_of(word) <= width - len(indent) for word in _glued(words).split(" ")):
        wrapper = textwrap.TextWrapper  # no word needs to be broken
    if words.isascii() or all(width_of(character) == 1 for character in words):
        made = wrapper(width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
        return [line.replace(_GLUE, " ") for line in made.wrap(_glued(words))]
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


def text_of_blocks(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as text."""
    return "\n".join(lines(blocks, page))


def lines(blocks: Iterable[Block], page: Page) -> Iterator[str]:
    """The same, line by line: a long table is never text as a whole."""
    title = ""
    for block in blocks:
        if isinstance(block, str):
            title = block if isinstance(block, Title) else title
            yield from _titled(block, page) if isinstance(block, Title) else _remarks(block, page)
        elif isinstance(block, Listing):
            yield from _listed(block, page)
        elif isinstance(block, Folded):
            yield from _sentences(block.title, page) if page.rows is not None else lines(block.blocks, page)
        else:
            yield from _tabled(block, page, title)


def _titled(title: Title, page: Page) -> Iterator[str]:
    """The lines of a title: its first sentence stands out, the others stand back."""
    first, _, more = title.partition("\n")
    for text, colour in ((first, BOLD), (more, DIM)):
        yield from (inked(line, colour if page.has_colour else "") for line in _sentences(text, page) if text)


def _remarks(text: str, page: Page) -> Iterator[str]:
    """Sentences; a word such as `danger:` that a line begins with is in its colour."""
    if isinstance(text, Aside):
        yield from _dim(text, page)
        return
    for line in _sentences(text, page):
        word, colon, _ = line.partition(":")
        colour = ink(word) if page.has_colour and colon else ""
        yield f"{inked(word, colour)}{line[len(word) :]}" if colour else line


def _dim(text: str, page: Page) -> Iterator[str]:
    return (inked(line, DIM if page.has_colour else "") for line in _sentences(text, page))


def _sentences(text: str, page: Page, indent: str = "") -> Iterable[str]:
    if page.width is None:
        return [text]

    return paragraph(text, page.width, indent)


def _listed(listing: Listing, page: Page) -> Iterator[str]:
    """The lines that a page has room for."""
    shown = len(listing.lines) if page.rows is None else listing.shown
    for line in listing.lines[:shown]:
        yield from [line] if listing.types else _sentences(line, page, indent=" " * 4)
    if left := len(listing.lines[shown:]):
        yield f"… and {left:,} more {listing.things}; {page.rest_of_lines or listing.attribute} has all of it"


def _tabled(block: pa.Table | Head, page: Page, title: str) -> Iterator[str]:
    """A table, its count, and how to get the rest."""
    table = rows_of(block)
    if not table.num_rows:
        yield from filter(None, nothing(table, title).split("\n"))
        return
    view = view_of(table)
    parts, in_order = view.parts(table), view.ordered(table)
    if page.rows is None:
        yield from aligned(lambda: _chunks(in_order, parts))
        remarks: Sequence[str] = ()
    else:
        shown, remarks = _head(columns(in_order.slice(0, page.rows), parts), page)
        yield from shown
    for remark in filter(None, [count(block, page, remarks, title), engine_line(table)]):
        yield from _dim(remark, page)


def nothing(table: pa.Table, title: str) -> str:
    """That there are no rows, of which columns, where no title says so; and which engine says so."""
    names = "" if title else f"no rows ({', '.join(map(printable, table.column_names))})"
    return "\n".join(filter(None, [names, engine_line(table)]))


def _head(shown: list[Column], page: Page) -> tuple[Iterable[str], Sequence[str]]:
    """The first rows of a table as lines, and remarks on what of them is not shown."""
    if page.width is not None:
        return fitted(shown, page.width, colour=page.has_colour)
    cut = shortened(shown, page)
    return aligned(lambda: [cut]), [CUT] if cut != shown else []


def rows_of(block: pa.Table | Head) -> pa.Table:
    """The rows of a block."""
    return block.table if isinstance(block, Head) else block


def _chunks(table: pa.Table, parts: Sequence[Part]) -> Iterator[Chunk]:
    """All rows of a table, some at a time."""
    return (columns(pa.Table.from_batches([batch]), parts) for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE))


def columns(table: pa.Table, parts: Sequence[Part]) -> list[Column]:
    """The parts of a table as texts; pandas, which a terminal would wait for, is not needed for them."""
    return [Column(part.heading, _safe(part.texts(table)), part.look) for part in parts]


def _safe(texts: Sequence[str | None]) -> list[str]:
    """The texts with escapes made visible; names that are harmless, nearly all, are looked at together."""
    there = [text or "" for text in texts]
    return there if "".join(there).isprintable() else list(map(printable, there))


def shortened(shown: list[Column], page: Page) -> list[Column]:
    """The columns with no cell longer than the page has them."""
    longest = page.longest
    return shown if longest is None else [column.shortened(longest) for column in shown]


def engine_line(table: pa.Table) -> str:
    """The engine that answered, where there was a choice."""
    engine = (table.schema.metadata or {}).get(ENGINE.encode())
    return printable(engine.decode()) if engine else ""


def counted(rows: int) -> str:
    """So many rows, in words."""
    return f"{rows:,} rows" if rows != 1 else "1 row"


def count(block: pa.Table | Head, page: Page, remarks: Sequence[str], title: str = "") -> str:
    """The number of rows, where no title says so, and where the rest of them is."""
    total = rows_of(block).num_rows
    is_head = page.rows is not None and total > page.rows
    if is_head and isinstance(block, Head):
        return f"the first {page.rows} rows shown, in Spark; {page.lazy_rest}"
    missing = [*([f"the first {page.rows} shown"] if is_head else []), *remarks]
    if title and not missing:
        return ""
    return ", ".join([counted(total), *missing]) + (f"; {page.rest}" if missing else "")
