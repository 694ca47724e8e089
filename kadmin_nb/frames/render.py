"""The one place that makes HTML or terminal text out of a frame. Every name in it is hostile.

A client-id is chosen by whoever connects. Controls and bidi marks are shown as escapes in both forms, and every text
and name is escaped in HTML.
"""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from ..errors import printable
from .aligning import CUT, Chunk, Column, aligned
from .pages import NOTEBOOK, Page
from .schema_metadata import ENGINE

ROWS_AT_ONCE = 4096
"""Rows that are text at the same time."""

PROSE = frozenset({"danger", "description", "documentation", "error", "is", "mend", "message", "note", "reason",
                   "says", "validated"})  # fmt: skip
"""The columns of sentences, errors and lines to type: nothing of them is ever cut."""


DETAILS = frozenset({"bucket_client_id", "bucket_user", "is_default", "is_read_only", "is_sensitive",
                     "synonyms", "type"})  # fmt: skip
"""The columns that a narrow window leaves out."""

PARTS = frozenset({"client_id", "ip", "level", "user"})
"""Details beside a column `entity`, which says them all."""


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


def text_of_blocks(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as text."""
    return "\n".join(lines(blocks, page))


def lines(blocks: Iterable[Block], page: Page) -> Iterator[str]:
    """The same, line by line: a long table is never text as a whole."""
    for block in blocks:
        if isinstance(block, str):
            yield from _sentences(block, page)
        elif isinstance(block, Listing):
            yield from _listed(block, page)
        else:
            yield from _tabled(block, page)


def document(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as HTML."""
    return "".join(_html(block, page) for block in blocks)


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


def _tabled(block: pa.Table | Head, page: Page) -> Iterator[str]:
    """A table, its count, and how to get the rest."""
    table = _table(block)
    if not table.num_rows:
        yield f"no rows ({', '.join(map(printable, table.column_names))}){_engine_line(table)}"
        return
    if page.rows is None:
        yield from aligned(lambda: _chunks(_without_empty_columns(table)))
        remarks: Sequence[str] = ()
    else:
        shown, remarks = _head(table, page)
        yield from shown
    yield from _sentences(_count(block, page, remarks) + _engine_line(table), page)


def _head(table: pa.Table, page: Page) -> tuple[Iterable[str], Sequence[str]]:
    """The first rows of a table as lines, and remarks on what of them is not shown."""
    columns = _text_columns(_without_empty_columns(table).slice(0, page.rows))
    if page.width is not None:
        from .fitting import fitted

        return fitted(columns, page.width)
    shown = _shortened(columns, page)
    return aligned(lambda: [shown]), _remarks(columns, shown)


def _html(block: Block, page: Page) -> str:
    if isinstance(block, str):
        return _html_paragraph(block)
    if isinstance(block, Listing):
        return f"<pre>{html.escape(text_of_blocks(block, page=page))}</pre>"
    table = _table(block)
    columns = _text_columns((_without_empty_columns(table) if table.num_rows else table).slice(0, page.rows))
    shown = _shortened(columns, page)
    return _html_table(shown) + _html_paragraph(_count(block, page, _remarks(columns, shown)) + _engine_line(table))


def _html_paragraph(text: str) -> str:
    """Sentences, which a browser breaks between words."""
    return f'<p style="white-space: pre-line;">{html.escape(text)}</p>' if text else ""


def _html_table(columns: Sequence[Column]) -> str:
    """The classes are those of pandas' tables: front ends know how these look in each of their themes."""
    names = "".join(_html_cell("th", column, column.name) for column in columns)
    rows = zip(*([_html_cell("td", column, text) for text in column.cells] for column in columns), strict=True)
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f'<table class="dataframe">\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n'


def _html_cell(tag: str, column: Column, text: str) -> str:
    """Texts stand to the left: JupyterLab has all cells to the right, where sentences are hard to read."""
    side = "right" if column.is_number else "left"
    return f'<{tag} style="text-align: {side};">{html.escape(text)}</{tag}>'


def _table(block: pa.Table | Head) -> pa.Table:
    return block.table if isinstance(block, Head) else block


def _without_empty_columns(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if table[name].null_count < table.num_rows]
    return table.select(names) if names else table


def _chunks(table: pa.Table) -> Iterator[Chunk]:
    """All rows of a table, some at a time."""
    return (_text_columns(pa.table(batch)) for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE))


def _text_columns(table: pa.Table) -> list[Column]:
    """A table as texts; pandas, which a terminal would wait for, is not needed for them."""
    details = DETAILS | PARTS if "entity" in table.column_names else DETAILS
    return [_column(field, column, details) for field, column in zip(table.schema, table.columns, strict=True)]


def _column(field: pa.Field, column: pa.ChunkedArray, details: Collection[str]) -> Column:
    is_number = pa.types.is_floating(field.type) or pa.types.is_integer(field.type)
    return Column(printable(field.name), _cells(column), is_number, field.name in PROSE, field.name in details)


def _cells(column: pa.ChunkedArray) -> list[str]:
    """A column's values as texts; names that are harmless, nearly all, are looked at together."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_string(column.type):
        return list(map(cell, column.to_pylist()))
    texts = [value or "" for value in column.to_pylist()]
    return texts if "".join(texts).isprintable() else list(map(printable, texts))


def _remarks(columns: list[Column], shown: list[Column]) -> list[str]:
    return [CUT] if shown != columns else []


def _shortened(columns: list[Column], page: Page) -> list[Column]:
    longest = page.longest
    return columns if longest is None else [column.shortened(longest) for column in columns]


def cell(value: object) -> str:
    """One value as people read it: nothing for null, six places at most, escapes made visible."""
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(cell, value.values())))
    if isinstance(value, Iterable):
        return " > ".join(map(cell, value))
    return printable(str(value))


def _number(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e15:
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if math.isnan(value) else str(value)


def _engine_line(table: pa.Table) -> str:
    """Which engine answered, where there was a choice."""
    engine = (table.schema.metadata or {}).get(ENGINE.encode())
    return f"\n{printable(engine.decode())}" if engine else ""


def counted(rows: int) -> str:
    """So many rows, in words."""
    return f"{rows:,} rows" if rows != 1 else "1 row"


def _count(block: pa.Table | Head, page: Page, remarks: Sequence[str]) -> str:
    """How many rows there are, and where the rest of them is."""
    total = _table(block).num_rows
    is_head = page.rows is not None and total > page.rows
    if is_head and isinstance(block, Head):
        return f"the first {page.rows} rows shown, in Spark; {page.lazy_rest}"
    missing = [*([f"the first {page.rows} shown"] if is_head else []), *remarks]
    return ", ".join([counted(total), *missing]) + (f"; {page.rest}" if missing else "")
