"""HTML of what a value shows: the one place that makes HTML, and escapes every text in it.

Nothing in it styles anything but itself (`answer.css`). Where a front end takes styles out, as Jupyter does of a
notebook that is not trusted, its own look of tables remains: they have the class of pandas' tables.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow as pa

from .blocks import (
    BADGE,
    BINDS,
    BRANCH,
    KEY,
    LOST,
    NAME,
    NOTEBOOK,
    PROSE,
    STANDING,
    TEXT,
    Aside,
    Block,
    Folded,
    Head,
    Listing,
    Page,
    Title,
)
from .colours import TONES
from .meanings import UNLIMITED
from .render import (
    AMOUNT,
    CUT,
    END_OF_WORD,
    Column,
    by_width,
    columns,
    count,
    engine_line,
    least,
    nothing,
    rows_of,
    shortened,
    text_of_blocks,
)
from .views import Section, View, view_of

FOLDED_ROWS = 600
"""Folded rows that a page has at most: somebody who opens them looks for one."""

LONGEST_HOVER = 500
"""Characters of a shortened text that are shown where the mouse rests on it."""


def document(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as HTML, with its style."""
    title, parts = "", []
    for block in blocks:
        title = block if isinstance(block, Title) else title
        parts.append(_html(block, page, title))
    body = "".join(parts)
    return f'<div class="kadmin">\n<style>{_style()}{_narrow_pages(body)}</style>\n{body}</div>'


@cache
def _style() -> str:
    """The style without the comment that it begins with."""
    return Path(__file__).with_name("answer.css").read_text(encoding="utf-8").partition("*/\n")[2]


def _narrow_pages(body: str) -> str:
    """The style of each table where its page is too narrow for it."""
    needed = sorted({*map(int, _NEEDED.findall(body))})
    narrow = (f"@container (max-width: {width}ch) {{ .kadmin-{width} {_NARROW} }}\n" for width in needed)
    labels = (
        f".kadmin td:nth-child({n}):not(:empty)::before {{ content: var(--kadmin-{n}, none); }}\n" for n in LABELS
    )
    return "".join([*narrow, *(labels if needed else ())])


_NEEDED = re.compile(r'class="dataframe kadmin-(\d+)"')
_NARROW = (
    "{ --kadmin-head: none; --kadmin-row: flex; --kadmin-cell: block; --kadmin-empty: none; --kadmin-label: inline;"
    " --kadmin-space: 0; --kadmin-whole: 100cqi; --kadmin-lost: 0; --kadmin-again: inline; }"
)
"""The look of a table on a page that is too narrow for it."""


def _html(block: Block, page: Page, title: str) -> str:
    if isinstance(block, Title):
        first, _, more = block.partition("\n")
        return _paragraph(first, "kadmin-title") + _paragraph(more)
    if isinstance(block, str):
        return _paragraph(block, "kadmin-note" if isinstance(block, Aside) else "kadmin-text")
    if isinstance(block, Folded):
        shown = "".join(_html(one, page, title) for one in block.blocks)
        return f"<details><summary>{html.escape(block.title)}</summary>\n{shown}</details>\n"
    if isinstance(block, Listing):
        return f"<pre>{html.escape(text_of_blocks(block, page=page))}</pre>\n"
    table = rows_of(block)
    if not table.num_rows:
        return _paragraph(nothing(table, title))
    return "".join(_tabled(block, table, page, title))


def _paragraph(text: str, kind: str = "kadmin-text") -> str:
    """Sentences, which a browser breaks between words."""
    lines = "\n".join(map(_line, text.split("\n")))
    return f'<p class="{kind}" style="white-space: pre-line;">{lines}</p>\n' if text else ""


def _line(text: str) -> str:
    """A line, escaped; a word such as `danger:` that it begins with is a badge."""
    word, colon, rest = text.partition(":")
    return f"{_badge(word)}{html.escape(rest)}" if colon and word in TONES else html.escape(text)


def _tabled(block: pa.Table | Head, table: pa.Table, page: Page, title: str) -> Iterator[str]:
    """The first rows, what is folded, how many there are, and where the rest is."""
    view = view_of(table)
    sections = view.sections(table)
    if len(sections) > 1:
        yield from _sections(view, sections, page, title)
        return
    rows, remarks = _first_rows(view, sections[0].table, page)
    remarks_text = [count(block, page, remarks, title), engine_line(table)]
    yield rows + _paragraph("\n".join(filter(None, remarks_text)), "kadmin-note")


def _sections(view: View, sections: Sequence[Section], page: Page, title: str) -> Iterator[str]:
    """The sections that have rows, each of those that are folded below its heading."""
    folded_page = page if page.rows is None else replace(page, rows=FOLDED_ROWS)
    for section in (section for section in sections if section.table.num_rows):
        one_page = folded_page if section.folded else page
        rows, remarks = _first_rows(view, section.table, one_page)
        shown = rows + _paragraph(count(section.table, one_page, remarks, title), "kadmin-note")
        heading = html.escape(f"{section.heading} ({section.table.num_rows})")
        yield f"<details><summary>{heading}</summary>\n{shown}</details>\n" if section.folded else shown


def _first_rows(view: View, table: pa.Table, page: Page) -> tuple[str, Sequence[str]]:
    """The first rows as a table, and remarks on what of them is not shown."""
    whole = [by_width(column) for column in columns(table.slice(0, page.rows), view.parts(table))]
    cut = shortened(whole, page)
    return _html_table(cut, whole), [CUT] if cut != whole else []


def _html_table(shown: Sequence[Column], whole: Sequence[Column]) -> str:
    names = "".join(f"<th{_side(column)}>{html.escape(column.name)}</th>" for column in shown)
    cells = ([*map(_cell(column), column.cells, of.cells)] for column, of in zip(shown, whole, strict=True))
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    head = f"<thead><tr>{names}</tr></thead>"
    table = f"<table{_fit(shown)}>\n{head}\n<tbody>\n{body}\n</tbody>\n</table>"
    return f'<div class="kadmin-rows">{table}</div>\n'


def _fit(columns: Sequence[Column]) -> str:
    """The class and style by which a table fits a page of any width, which only the browser knows.

    Long names have the room that the other columns do not need. On a page that is narrower than all of them need, a row
    takes several lines, and each value has the name of its column beside it.
    """
    names = [column for column in columns if column.look in (NAME, BRANCH) and column.widest > SHORT]
    others = sum(_least(column) for column in columns if column not in names) + PADDING * len(columns)
    needed = others + sum(min(column.widest * CHARACTER, LEAST_NAME) for column in names)
    room = f"--kadmin-room: calc((100cqi - {others:.0f}ch) / {len(names)});" if names else ""
    first = next((column for column in columns if column.look in (NAME, BRANCH)), None)
    labels = (
        _label(number, column.name)
        for number, column in enumerate(columns, 1)
        if column is not first and column.look != KEY
    )
    return f' class="dataframe kadmin-{needed * FONT:.0f}" style="{html.escape(room + "".join(labels))}"'


def _least(column: Column) -> float:
    """The width below which a column is not worth showing; words in a badge are smaller, and have a border."""
    width = least(column) * CHARACTER
    return 0.9 * width + 2.2 if column.look == BADGE else width


def _label(number: int, name: str) -> str:
    """The name of a column as a text of CSS; what a name of ours never has in it is not in it."""
    return f'--kadmin-{number}: "{re.sub(r"[^a-z0-9 _%-]", "?", name, flags=re.IGNORECASE)} ";'


CHARACTER, PADDING, LEAST_NAME, FONT = 0.92, 1.8, 19, 0.93
"""The widths of a character, of the space around a cell and of names, in `ch`, the width of the digit 0 of a table's
font: what fits where letters are narrow does not where they are wide. And that font's size."""

LABELS = range(1, 17)
"""The columns that have their names beside their values on a narrow page."""


def _cell(column: Column) -> Callable[[str, str], str]:
    """A writer of the cells of a column: a shortened text shows the whole where the mouse rests on it.

    A row of a tree that is about the same as the one above it says so again on a narrow page.
    """
    side, writer, above = _side(column), _WRITERS.get(column.look, str), ""

    def write(shown: str, whole: str) -> str:
        nonlocal above
        if column.look == BRANCH and not shown:
            return f'<td{side}><span class="kadmin-again">{above}</span></td>'
        above = writer(html.escape(shown))
        hover = "" if shown == whole else f' title="{html.escape(whole[:LONGEST_HOVER])}"'
        return f"<td{side}{hover}>{above}</td>"

    return write


def _side(column: Column) -> str:
    """Texts stand to the left: JupyterLab has all cells to the right, where sentences are hard to read."""
    return f' class="kadmin-{column.look}" style="text-align: {"right" if column.is_number else "left"};"'


def _badge(text: str) -> str:
    return f'<span class="kadmin-pill kadmin-{TONES.get(text, "plain")}">{text}</span>' if text else ""


def _sentence(text: str) -> str:
    """An escaped text that is not broken within an amount or a word such as `user=alice`."""
    return _WHOLE_PARTS.sub(_in_one_piece, text)


def _breakable(text: str) -> str:
    """The same, which may be broken between the words of addresses and lists, too."""
    return _PARTS_AND_ENDS.sub(_in_one_piece, text)


def _in_one_piece(at: re.Match[str]) -> str:
    return f'<span class="kadmin-short">{at[0]}</span>' if at[0] else "<wbr>"


def _bold(text: str) -> str:
    return f"<b>{text}</b>" if text and text != UNLIMITED else text


def _struck(text: str) -> str:
    return f"<s>{text}</s>" if text else ""


def _standing(text: str) -> str:
    """A limit and its standing: what applies is bold, what is overridden is struck through."""
    limit, comma, standing = text.rpartition(", ")
    return f"{_struck(limit) if standing == 'overridden' else _bold(limit)}{comma}{standing}"


_WHOLE_PARTS = re.compile(rf"(?<!\S)(?=\S*[-&])[\w-]+=\S{{1,60}}(?!\S)|\d[\d.,-]*{AMOUNT.pattern}[\w%:]+(?:/s)?")
_PARTS_AND_ENDS = re.compile(rf"{_WHOLE_PARTS.pattern}|{END_OF_WORD.pattern}")


def _whole(text: str) -> str:
    """An escaped name that is in one piece; a long one, and each part of it, as far as the page has room."""
    if len(text) <= SHORT:
        return text
    parts = text.replace(" client-id=", ' <span class="kadmin-part">client-id=')
    return f'<span class="kadmin-long"><span class="kadmin-part">{parts.replace(" <", "</span> <")}</span></span>'


def _whole_key(text: str) -> str:
    return f'<span class="kadmin-long">{END_OF_WORD.sub("<wbr>", text)}</span>' if len(text) > SHORT else text


SHORT = 24
"""Characters up to which a name is in one piece whatever the width of the page."""

_WRITERS: Mapping[str, Callable[[str], str]] = {
    BADGE: _badge,
    BRANCH: _whole,
    KEY: _whole_key,
    NAME: _whole,
    PROSE: _sentence,
    TEXT: _breakable,
    BINDS: _bold,
    LOST: _struck,
    STANDING: _standing,
}
"""Writers of an escaped text, by the look of its column."""
