"""Text, and HTML by `markup`, out of what a value shows. Every name in it is hostile.

A client-id is chosen by whoever connects. Controls and bidi marks are shown as escapes in both forms, and every text
and name is escaped in HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from ..errors import printable
from .aligning import CUT, Chunk, Column, aligned
from .blocks import Block, Head, Listing, Title
from .meanings import Part
from .pages import NOTEBOOK, Page
from .schema_metadata import ENGINE
from .views import view_of

ROWS_AT_ONCE = 4096
"""Rows that are text at the same time."""


def text_of_blocks(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as text."""
    return "\n".join(lines(blocks, page))


def lines(blocks: Iterable[Block], page: Page) -> Iterator[str]:
    """The same, line by line: a long table is never text as a whole."""
    title = ""
    for block in blocks:
        if isinstance(block, str):
            title = block if isinstance(block, Title) else title
            yield from _sentences(block, page)
        elif isinstance(block, Listing):
            yield from _listed(block, page)
        else:
            yield from _tabled(block, page, title)


def _sentences(text: str, page: Page, indent: str = "") -> Iterable[str]:
    if page.width is None:
        return [text]
    from .fitting import paragraph

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
    parts, in_order = view.parts(table, title), view.ordered(table)
    if page.rows is None:
        yield from aligned(lambda: _chunks(in_order, parts))
        remarks: Sequence[str] = ()
    else:
        shown, remarks = _head(columns(in_order.slice(0, page.rows), parts), page)
        yield from shown
    for remark in filter(None, [count(block, page, remarks, title), engine_line(table)]):
        yield from _sentences(remark, page)


def nothing(table: pa.Table, title: str) -> str:
    """That there are no rows, of which columns, where no title says so; and which engine says so."""
    names = "" if title else f"no rows ({', '.join(map(printable, table.column_names))})"
    return "\n".join(filter(None, [names, engine_line(table)]))


def _head(shown: list[Column], page: Page) -> tuple[Iterable[str], Sequence[str]]:
    """The first rows of a table as lines, and remarks on what of them is not shown."""
    if page.width is not None:
        from .fitting import fitted

        return fitted(shown, page.width)
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
