"""Text, and HTML by `markup`, out of what a value shows. Every name in it is hostile.

A table is a table at every width: one line per row, columns aligned. In a window the columns that give way are named
below it. Controls and bidi marks are shown as escapes in both forms, and every text and name is escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap

import pyarrow as pa

from ..errors import between_words, printable
from . import SPARK
from .blocks import (
    BADGE,
    BAR,
    BELOW,
    BOLD,
    BRANCH,
    DIM,
    IDENTIFYING,
    KEY,
    NAME,
    NOTEBOOK,
    NUMBER,
    PROSE,
    SIGN,
    STANDING,
    VALUE,
    Aside,
    Block,
    Folded,
    Gauge,
    Head,
    Listing,
    Page,
    Title,
    bar,
    ink,
    inked,
    percent_in,
    signed,
    word_of_use,
)
from .meanings import Part
from .schemas import ENGINE, mark
from .views import ROWS_AT_ONCE, across, counted_nouns, view_of

GAP = "  "
"""The gap between two columns."""

PADDED = 80
"""The width up to which a column is aligned: one cell of a megabyte must not make every row as long."""

CUT = "shortened"
"""The remark on shortened cells."""


@dataclass(frozen=True, slots=True)
class Column:
    """A part of a table and its texts; `words` are the words that its signs replace."""

    part: Part
    cells: Sequence[str]
    words: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Its heading."""
        return self.part.heading

    @property
    def look(self) -> str:
        """How it is set."""
        return self.part.look

    @property
    def is_number(self) -> bool:
        """True if it is right-aligned and no cell of it is broken."""
        return self.look in (NUMBER, STANDING)

    @property
    def identifies(self) -> bool:
        """True if it says which row it is."""
        return self.look in IDENTIFYING

    @property
    def is_said(self) -> bool:
        """True of sentences that are never cut."""
        return self.look == PROSE and self.part.stays

    @property
    def natural(self) -> int:
        """The width that shows it whole, its name too."""
        return max(width_of(self.name), max(map(self._width_of, self.cells), default=0))

    @property
    def _width_of(self) -> Callable[[str], int]:
        """`width_of`, or what is the same for these cells and faster: a million of them are asked one by one."""
        return len if "".join(self.cells).isascii() else width_of

    def padded(self, width: int) -> Iterable[str]:
        """The cells with blanks up to a width."""
        if self._width_of is len:
            return (text.rjust(width) if self.is_number else text.ljust(width) for text in self.cells)
        return (padded(text, width, right=self.is_number) for text in self.cells)

    def shortened(self, width: int) -> Column:
        """With no cell wider than that: a name without its middle, any other text without its end."""
        shorter = middle if self.identifies else beginning
        return replace(self, cells=[shorter(text, width) for text in self.cells])


Chunk = Sequence[Column]


def aligned(chunks: Callable[[], Iterable[Chunk]]) -> Iterator[str]:
    """A line of names, then one line per row.

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
            yield _line(padded(c.name, w, right=c.is_number) for c, w in zip(columns, widths, strict=True))
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


def beginning(text: str, width: int) -> str:
    """A text, or of one that is wider than that its beginning and an ellipsis."""
    if width_of(text) <= width:
        return text
    return f"{_start(text, width - 1)}…"


def _start(text: str, width: int) -> str:
    """The longest beginning of a text that fits into that width."""
    start = text[: max(0, width)]
    while width_of(start) > width:
        start = start[:-1]
    return start


def middle(text: str, width: int) -> str:
    """A name, or of one that is wider than that what it begins and ends with: the one tells it from others as often."""
    if width_of(text) <= width:
        return text
    room = (width - 1) // 2
    end = text[len(text) - room :]
    while width_of(end) > room:
        end = end[1:]
    return beginning(text, width - width_of(end)) + end


ROOM = {PROSE: 30, KEY: 48, NUMBER: PADDED, STANDING: PADDED, BAR: PADDED}
"""The width that a column of a look needs where it would be wider: less is not worth showing. A number is never cut."""

ROOM_OF_TEXT, ROOM_OF_SAID = 32, 20
"""The same of other looks, and of sentences that are never cut, which go on below themselves."""


def fitted(every: Sequence[Column], width: int, *, colour: bool = False) -> tuple[list[str], list[str]]:
    """The lines of a table for a window of that width, and remarks on what of it they do not show.

    Columns give way from the right: those that `stay` after the others, and after names have a third of the window. A
    sentence that stays, such as a broker's refusal, goes on below itself in its column; any other row is one line, with
    what goes below it.
    """
    columns, below = apart(every)
    ranked = sorted(range(len(columns)), key=lambda number: not columns[number].part.stays)
    names = width // 2
    while len(ranked) > 1 and _total(least(columns[number], names) for number in ranked) > width:
        if columns[ranked[-1]].part.stays and names == width // 2:
            names = width // 3
        else:
            ranked.pop()
    whole = [columns[number] for number in sorted(ranked)]
    widths = _widths(whole, width, names)
    shown = [c if c.is_said else c.shortened(w) for c, w in zip(whole, widths, strict=True)]
    heads = (padded(beginning(c.name, w), w, right=c.is_number) for c, w in zip(shown, widths, strict=True))
    gone = ", ".join(column.name for number, column in enumerate(columns) if number not in ranked)
    lines = [_line(inked(name, DIM if colour else "") for name in heads)]
    before = [w + len(GAP) for c, w in zip(shown, widths, strict=True) if c.look != PROSE]
    for number in range(len(shown[0].cells)):
        tones = [ink((c.words or c.cells)[number]) if colour and c.look in TONED else "" for c in shown]
        lines += _row([column.cells[number] for column in shown], shown, widths, tones)
        lines += below_row([column.cells[number] for column in below], sum(before), width)
    return lines, [*[CUT] * (shown != whole), *[f"not shown: {gone}"] * bool(gone)]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of that width, broken between words where that is possible."""
    for line in wrap(text, width, break_on_hyphens=False):
        while width_of(line) > width:  # characters of two columns
            start = _start(line, width) or line[0]
            yield start
            line = line[len(start) :]
        yield line


def _row(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], tones: Sequence[str]) -> Iterator[str]:
    """The lines of a row: one, or as many as its longest sentence that stays takes."""
    whole = zip(cells, columns, widths, strict=True)
    texts = [_wrapped(text, w) if c.is_said else [text] for text, c, w in whole]
    for line in zip_longest(*texts, fillvalue=""):
        parts = (padded(t, w, right=c.is_number) for t, c, w in zip(line, columns, widths, strict=True))
        yield _line(map(inked, parts, tones))


TONED = (BADGE, SIGN, NUMBER, STANDING, BAR, VALUE)
"""The looks of columns whose cells have a tone."""


def apart(columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """The columns beside each other, and the columns below their rows."""
    return [c for c in columns if c.look != BELOW], [c for c in columns if c.look == BELOW]


def below_row(texts: Iterable[str], indent: int, width: int) -> Iterator[str]:
    """The lines below a row; one to type, which begins with a small letter, is not broken."""
    for text in filter(None, texts):
        parts = [text] if is_typed(text) else between_words(text, width - indent)
        yield from (" " * indent + part for part in parts)


def is_typed(text: str) -> bool:
    """True of a line to type, in place of a sentence."""
    return text[:1].islower()


def least(column: Column, names: int) -> int:
    """The width below which a column is not worth showing, of names at most that width."""
    if column.look in (NAME, BRANCH):
        return min(column.natural, names)
    return min(column.natural, ROOM_OF_SAID if column.is_said else ROOM.get(column.look, ROOM_OF_TEXT))


def _total(widths: Iterable[int]) -> int:
    """The width of columns and the gaps between them."""
    return sum(width + len(GAP) for width in widths) - len(GAP)


def _widths(columns: Sequence[Column], width: int, names: int) -> list[int]:
    """The width of each column: what it needs, and its share of what is left; names, and what is never cut, before
    others."""
    widths = [min(width, least(column, names)) for column in columns]
    left = width - _total(widths)
    for rank in range(3):
        wanting = [n for n, column in enumerate(columns) if _rank(column) == rank]
        while left and (wanting := [n for n in wanting if widths[n] < columns[n].natural]):
            for number in wanting:
                more = min(left, max(1, left // len(wanting)), columns[number].natural - widths[number])
                widths[number], left = widths[number] + more, left - more
    return widths


def _rank(column: Column) -> int:
    return 0 if column.identifies else 1 if column.is_said else 2


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
            yield from block.lines
        elif isinstance(block, Folded):
            is_shut = page.rows is not None
            opened = [f"{block.title}:", *block.blocks] if block.how else block.blocks
            yield from _sentences(block.how or block.title, page) if is_shut else lines(opened, page)
        elif isinstance(block, Gauge):
            yield from _gauged(block, page)
        else:
            yield from _tabled(block, page, title)


def _titled(title: Title, page: Page) -> Iterator[str]:
    """The lines of a title: its first sentence stands out, the others stand back."""
    first, _, more = title.partition("\n")
    for text, colour in ((first, BOLD), (more, DIM)):
        yield from (inked(line, colour if page.has_colour else "") for line in _sentences(text, page) if text)


def _gauged(gauge: Gauge, page: Page) -> Iterator[str]:
    """A bar before the words, which go on below themselves."""
    drawn = "" if gauge.percent is None else bar(gauge.percent, GAUGE)
    colour = ink("throttled" if gauge.is_bad else word_of_use(gauge.percent or 0.0))
    start = "".join(f"{part}{GAP}" for part in (gauge.head, drawn) if part)
    first, *more = [gauge.words] if page.width is None else _wrapped(gauge.words, max(page.width - len(start), 20))
    yield f"{start.replace(drawn, inked(drawn, colour)) if drawn and page.has_colour else start}{first}"
    yield from (" " * len(start) + line for line in more)


GAUGE, BAR_WIDTH = 20, 16
"""Characters of a bar of its own, and of one in a column."""


def _remarks(text: str, page: Page) -> Iterator[str]:
    """Sentences; a sign, or a word such as `danger:`, that a line begins with is in its colour."""
    if isinstance(text, Aside):
        yield from _dim(text, page)
        return
    for line in _sentences(text, page):
        word = line[: 1 if line[1:2] == " " else line.find(":")]
        colour = ink(word) if page.has_colour else ""
        yield f"{inked(word, colour)}{line[len(word) :]}" if colour else line


def _dim(text: str, page: Page) -> Iterator[str]:
    return (inked(line, DIM if page.has_colour else "") for line in _sentences(text, page))


def _sentences(text: str, page: Page) -> Iterable[str]:
    return [text] if page.width is None else between_words(text, page.width)


def _tabled(block: pa.Table | Head, page: Page, title: str) -> Iterator[str]:
    """A table, its count, and how to get the rest."""
    table = rows_of(block)
    if not table.num_rows:
        yield from filter(None, nothing(table, title).split("\n"))
        return
    view = view_of(table)
    parts, in_order = view.parts(table), view.ordered(table)
    if page.rows is None:
        yield from aligned(lambda: map(_with_bars, _chunks(in_order, parts)))
        remarks: Sequence[str] = ()
    else:
        shown, remarks = _head(_with_bars(columns(in_order.slice(0, page.rows), parts)), page)
        yield from shown
    for remark in filter(None, [count(block, page, remarks, title), engine_line(table)]):
        yield from _dim(remark, page)


def nothing(table: pa.Table, title: str) -> str:
    """The sentence about a table without rows, its columns where no title names them, and its engine."""
    names = "" if title else f"no rows ({', '.join(map(printable, table.column_names))})"
    return "\n".join(filter(None, [names, engine_line(table)]))


def _head(shown: list[Column], page: Page) -> tuple[Iterable[str], Sequence[str]]:
    """The first rows of a table as lines, and remarks on what of them is not shown."""
    if page.width is not None:
        return fitted([with_signs(c, page) for c in shown], page.width, colour=page.has_colour)
    cut = shortened(shown, page)
    return aligned(lambda: [cut]), [CUT] if cut != shown else []


def with_signs(column: Column, page: Page) -> Column:
    """The column with the signs of its words, where it is one of signs."""
    if column.look != SIGN:
        return column
    signs = [signed(word, ascii_only=page.is_ascii) for word in column.cells]
    return replace(column, cells=signs, words=column.cells)


def rows_of(block: pa.Table | Head) -> pa.Table:
    """The rows of a block, as they are shown."""
    return block.table if isinstance(block, Head) else across(block)


def _chunks(table: pa.Table, parts: Sequence[Part]) -> Iterator[Chunk]:
    """All rows of a table, some at a time."""
    return (columns(pa.Table.from_batches([batch]), parts) for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE))


def columns(table: pa.Table, parts: Sequence[Part]) -> list[Column]:
    """The parts of a table as texts; pandas, which a terminal would wait for, is not needed for them."""
    return [Column(part, _safe(part.texts(table))) for part in parts]


def _with_bars(shown: Iterable[Column]) -> list[Column]:
    """The columns, those of bars drawn in characters."""
    return [_with_bar(c) if c.look == BAR else c for c in shown]


def _with_bar(column: Column) -> Column:
    words = [word_of_use(percent_in(text) or 0.0) for text in column.cells]
    return replace(column, cells=[*map(_drawn, column.cells)], words=words)


def _drawn(text: str) -> str:
    percent = percent_in(text)
    return text if percent is None else f"{bar(percent, BAR_WIDTH)} {text:>6}"


def _safe(texts: Sequence[str | None]) -> list[str]:
    """The texts with escapes made visible; names that are harmless, nearly all, are looked at together."""
    there = [text or "" for text in texts]
    return there if "".join(there).isprintable() else list(map(printable, there))


def shortened(shown: list[Column], page: Page) -> list[Column]:
    """The columns with no cell longer than the page has them; names and sentences stay whole."""
    longest = page.longest
    return [c if longest is None or c.identifies or c.look in (PROSE, BELOW) else c.shortened(longest) for c in shown]


def engine_line(table: pa.Table) -> str:
    """The engine that answered, if that was Spark."""
    return "worked out on Spark" if mark(table, ENGINE) == SPARK else ""


def count(block: pa.Table | Head, page: Page, remarks: Sequence[str], title: str = "") -> str:
    """The number of rows, where no title says so, and where the rest of them is."""
    total = rows_of(block).num_rows
    is_head = page.rows is not None and total > page.rows
    if is_head and isinstance(block, Head):
        return f"the first {page.rows} rows shown, in Spark; {page.lazy_rest}"
    missing = [*([f"the first {page.rows} shown"] if is_head else []), *remarks]
    if title and not is_head:
        return "; ".join([*missing, page.rest]) if missing else ""
    return "; ".join([", ".join([counted_nouns(total, "row", "rows"), *missing]), *[page.rest] * bool(missing)])
