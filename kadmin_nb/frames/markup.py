"""HTML of what a value shows: the one place that makes HTML, and escapes every text in it.

A table has one line per row at every width: what is beyond its box one scrolls to, and the first names stay in sight.
Nothing in it styles anything but itself (`answer.css`). Where a front end takes styles out, as Jupyter does of a
notebook that is not trusted, and GitHub always, names are whole, and indents and numbers stand where they stood.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from ..model.levels import LEVELS
from .blocks import (
    APPLIES,
    BADGE,
    BAR,
    BRANCH,
    KEY,
    NAME,
    NOT_SET,
    NOTEBOOK,
    NUMBER,
    OVERRIDDEN,
    RUNG,
    SIGN,
    STANDING,
    TONES,
    VALUE,
    Aside,
    Block,
    Folded,
    Gauge,
    Head,
    Listing,
    Page,
    Title,
    percent_in,
    signed,
    tone,
    word_of_use,
)
from .meanings import RUNGS, word
from .render import (
    CUT,
    Column,
    apart,
    columns,
    count,
    engine_line,
    is_typed,
    nothing,
    rows_of,
    shortened,
)
from .views import view_of

LONGEST_HOVER = 500
"""Characters of a shortened text that are shown where the mouse rests on it."""

LONGEST_NAME = 40
"""Characters of a name that are seen; those in the middle of a longer one have no width, and are copied with it."""


def document(*blocks: Block, page: Page = NOTEBOOK) -> str:
    """Blocks as HTML, with its style."""
    title, parts = "", []
    for block in blocks:
        title = block if isinstance(block, Title) else title
        parts.append(_html(block, page, title))
    body = "".join(parts)
    style = "\n".join(rule for rule, marks in _rules() if not marks or any(mark in body for mark in marks))
    return f'<div class="kadmin">\n<style>{style}</style>\n{body}</div>'


@cache
def _rules() -> Sequence[tuple[str, Sequence[str]]]:
    """The rules of `answer.css`, one a line, and the classes or elements of which one has to be there for each."""
    _, _, rules = Path(__file__).with_name("answer.css").read_text(encoding="utf-8").partition("*/\n")
    selectors = ((rule, re.sub(r"\{[^{}]*\}", "", rule)) for rule in rules.splitlines())
    return [
        (rule, _CLASSES.findall(name) or _TABLE.findall(name) or _ELEMENTS.findall(name)) for rule, name in selectors
    ]


_CLASSES, _TABLE, _ELEMENTS = (re.compile(mark) for mark in (r"\.(kadmin-\w+)", "table", "pre|details|summary"))


def _html(block: Block, page: Page, title: str) -> str:
    if isinstance(block, Title):
        first, _, more = block.partition("\n")
        return _paragraph(first, "kadmin-title") + _paragraph(more)
    if isinstance(block, str):
        return _paragraph(block, "kadmin-note" if isinstance(block, Aside) else "kadmin-text")
    if isinstance(block, Gauge):
        kind = ' class="kadmin-bad"' if block.is_bad else ""
        words = f"<span{kind}>{html.escape(block.words)}</span>"
        return (
            f'<p class="kadmin-text">{_bar(block.percent, block.is_bad)}<b>{html.escape(block.head)}</b> {words}</p>\n'
        )
    if isinstance(block, Folded):
        shown = "".join(_html(one, page, title) for one in block.blocks)
        return f"<details><summary>{html.escape(block.title)}</summary>\n{shown}</details>\n"
    if isinstance(block, Listing):
        typed = html.escape("\n".join(block.lines))
        return f"<pre>{typed}</pre>\n"
    table = rows_of(block)
    if not table.num_rows:
        return _paragraph(nothing(table, title))
    return _tabled(block, table, page, title)


def _paragraph(text: str, kind: str = "kadmin-text") -> str:
    """Sentences, which a browser breaks between words."""
    lines = "<br>\n".join(map(_line, text.split("\n")))
    return f'<p class="{kind}">{lines}</p>\n' if text else ""


def _line(text: str) -> str:
    """A line, escaped; a word such as `danger:` that it begins with is a badge, and a sign has its tone."""
    if text[1:2] == " ":
        return _number(text[:1]) + html.escape(text[1:])
    start, colon, rest = text.partition(":")
    return f"{_badge(start)}{html.escape(rest)}" if colon and start in TONES else html.escape(text)


def _tabled(block: pa.Table | Head, table: pa.Table, page: Page, title: str) -> str:
    """The first rows, how many there are, and where the rest is."""
    view = view_of(table)
    rows = view.ordered(table)
    whole = columns(rows.slice(0, page.rows), view.parts(rows))
    cut = shortened(whole, page)
    notes = [count(block, page, [CUT] if cut != whole else [], title), engine_line(table)]
    return _html_table(cut, whole) + _paragraph("\n".join(filter(None, notes)), "kadmin-note")


def _html_table(every: Sequence[Column], whole: Sequence[Column]) -> str:
    """The columns as a table. A name has its level, or the sign of its row, before it and in no column of its own."""
    (shown, below), (whole, _) = apart(every), apart(whole)
    first = next((column for column in shown if column.look in (NAME, BRANCH)), None)
    marks = first and next((column for column in shown if column.look in _MARKS), None)
    heads, cells = [], []
    for number, (column, of) in enumerate(zip(shown, whole, strict=True)):
        if column is marks:
            continue
        follows = number and shown[number - 1] is first and column.look == KEY
        kind = f"kadmin-{column.look}{' kadmin-first' * (column is first)}{' kadmin-second' * bool(follows)}"
        side = f' class="{kind}"' + ' align="right" nowrap' * column.is_number
        hover = f' title="{html.escape(column.part.sources[0])}"' if column.look == STANDING else ""
        heads.append(f"<th{side}{hover}>{html.escape(column.name)}</th>")
        badges = map(_MARKS[marks.look], column.cells, marks.cells) if marks and column is first else repeat("")
        cells.append([*map(_cell(column, side), column.cells, of.cells, badges)])
    under = zip(*(column.cells for column in below), strict=True) if below else repeat(())
    rows = zip(zip(*cells, strict=True), under)  # noqa: B905  # what is below may be nothing, for ever
    body = "\n".join(f"<tr>{''.join(row)}</tr>{_below(texts, len(row))}" for row, texts in rows)
    room = f' style="--kadmin-first: {_room(first, bool(marks))}ch;"' if first else ""
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    table = f'<table class="dataframe"{room}>\n{head}\n<tbody>\n{body}\n</tbody>\n</table>'
    return f'<div class="kadmin-rows">{table}</div>\n'


def _below(texts: Iterable[str], columns: int) -> str:
    """The row below a row, with the line that fixes it, if there is one."""
    lines = "<br>".join(f"<code>{html.escape(t)}</code>" if is_typed(t) else html.escape(t) for t in texts if t)
    return f'<tr class="kadmin-below">{"<td></td>" * (columns - 1)}<td>{lines}</td></tr>' if lines else ""


def _room(names: Column, has_marks: bool) -> int:
    """The width of the names, as far as they are seen, and of the marks before them."""
    return min(names.natural, LONGEST_NAME) + 3 * has_marks


def _cell(column: Column, side: str) -> Callable[[str, str, str], str]:
    """A writer of the cells of a column: a shortened text shows the whole where the mouse rests on it."""
    is_level = column.look == BADGE and column.part.sources[0].startswith("level")
    writer = _numbered if is_level else _WRITERS.get(column.look, html.escape)

    def write(shown: str, whole: str, badge: str) -> str:
        is_cut = shown != whole or (column.identifies and len(whole) > LONGEST_NAME)
        hover = f' title="{html.escape(whole[:LONGEST_HOVER])}"' if is_cut else ""
        return f"<td{side}{hover}>{badge}{writer(shown)}</td>"

    return write


def _level(name: str, number: str) -> str:
    """The number of a level, of which each has its place in Kafka's order; nothing where the row goes on."""
    if not name or not number:
        return ""
    words = f"level {number} of {len(LEVELS)}: {_WORDS[number]}" if number in _WORDS else number
    return f'<span class="kadmin-level" title="{html.escape(words)}">{html.escape(number)}</span> '


_WORDS = {number: word(level) for level, number in RUNGS.items()}
_NUMBERS = {words: number for number, words in _WORDS.items()}


def _numbered(words: str) -> str:
    """A level as its number, whose words are shown where the mouse rests on it."""
    return _level(words, _NUMBERS[words]) if words in _NUMBERS else _badge(words)


_MARKS: Mapping[str, Callable[[str, str], str]] = {
    RUNG: _level,
    SIGN: lambda name, word: f'<span class="kadmin-mark">{_sign(word) if word else ""}</span> ',
}
"""Writers of what stands before a name, by the look of its column."""


def _badge(text: str) -> str:
    return f'<span class="kadmin-pill kadmin-{tone(text) or "plain"}">{html.escape(text)}</span>' if text else ""


def _sign(word: str) -> str:
    return (
        f'<span class="kadmin-{tone(word) or "plain"}" title="{html.escape(word)}">{html.escape(signed(word))}</span>'
    )


def _number(text: str) -> str:
    found = tone(text)
    return f'<span class="kadmin-{found}">{html.escape(text)}</span>' if found else html.escape(text)


def _standing(text: str) -> str:
    """A limit behind its sign: what applies is bold and green, what does not stands back."""
    if text.startswith(APPLIES):
        return f'<b class="kadmin-good">✓{html.escape(text.removeprefix(APPLIES))}</b>'
    if text.startswith(OVERRIDDEN):
        return f'<span class="kadmin-dim">{html.escape(text)}</span>'
    return "" if text == NOT_SET else html.escape(text)


def _use(text: str) -> str:
    """A share of a limit, as a bar before the figure."""
    percent = percent_in(text)
    return f"{_bar(percent)}{html.escape(text)}"


def _bar(percent: float | None, is_bad: bool = False) -> str:
    """A bar of so many percent; nothing where that is not known."""
    if percent is None:
        return ""
    kind = "bad" if is_bad else tone(word_of_use(percent))
    width = min(max(percent, 0.0), 100.0)
    return f'<span class="kadmin-bar kadmin-{kind or "plain"}"><i style="width:{width:.0f}%"></i></span> '


def _name(text: str) -> str:
    """A name; of a long one the middle takes no room, and is copied and read aloud with the rest."""
    indent = len(text) - len(text.lstrip(" "))
    start, end = (LONGEST_NAME + 1) // 2, LONGEST_NAME // 2 - 1
    if len(text) <= LONGEST_NAME:
        return "&emsp;" * indent + html.escape(text[indent:])
    parts = (html.escape(part) for part in (text[indent:start], text[start:-end], text[-end:]))
    return "&emsp;" * indent + '{}<span class="kadmin-middle">{}</span>{}'.format(*parts)


_WRITERS: Mapping[str, Callable[[str], str]] = {
    BADGE: _badge,
    SIGN: _sign,
    NUMBER: _number,
    VALUE: _number,
    BRANCH: _name,
    NAME: _name,
    KEY: _name,
    STANDING: _standing,
    BAR: _use,
}
"""Writers of a text, by the look of its column."""
