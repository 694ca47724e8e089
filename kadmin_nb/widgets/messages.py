"""Messages of a browser, checked: whoever can write to a page can send anything, so nothing in one is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from .. import documents
from ..errors import UsageError, printable
from .sheet import LONGEST_CELL, MOST_CELLS, CellEditor, CellText, ColumnName, Mark, Page, Position

LONGEST_MESSAGE = 1_000_000
"""Characters of all texts of one message."""

Text = Annotated[str, Meta(max_length=LONGEST_MESSAGE)]
Size = Annotated[int, Meta(ge=1, le=MOST_CELLS)]


class Sent(Struct, frozen=True, tag_field="kind", tag=str.lower):
    """A message of a view; its kind is the name of its class."""

    view: Annotated[str, Meta(max_length=40)]


class Hello(Sent, frozen=True):
    """A view was drawn from the first page, as it was at that epoch."""

    epoch: Position


class Bye(Sent, frozen=True):
    """A view is gone."""


class Window(Sent, frozen=True):
    """A view shows these rows; `sequence` is given back, so that it knows late answers."""

    first: Position
    count: Annotated[int, Meta(ge=0, le=500)]
    sequence: Position


class Sort(Sent, frozen=True):
    """Sort by a column; an empty one is the sheet's own order."""

    column: ColumnName
    descending: bool


class Edit(Sent, frozen=True):
    """Texts were typed into cells."""

    cells: Annotated[tuple[CellText, ...], Meta(min_length=1, max_length=MOST_CELLS)]

    def __post_init__(self) -> None:
        if sum(len(cell.key) + len(cell.text) for cell in self.cells) > LONGEST_MESSAGE:
            raise ValueError(f"its texts have more than {LONGEST_MESSAGE:,} characters")


class AtCell(Sent, frozen=True):
    """A message about a cell, or about those from it on.

    `key` is that of the row at `position`, so that a row that moved meanwhile is not mistaken.
    """

    position: Position
    key: Text
    column: ColumnName


class Focus(AtCell, frozen=True):
    """A cell has the focus."""


class Cells(AtCell, frozen=True):
    """A rectangle of cells: its first one, and its size."""

    rows: Size
    columns: Size


class Block(Cells, frozen=True):
    """Tab-separated texts were pasted at the first of these cells."""

    text: Text


class Fill(Cells, frozen=True):
    """The first row of these cells is to be repeated in the rows below it."""


class Select(Cells, frozen=True):
    """These cells are selected."""


class Discard(Cells, frozen=True):
    """What is staged in these cells is to be discarded."""


class Undo(Sent, frozen=True):
    """Take back the last action."""


class Redo(Sent, frozen=True):
    """Do it again."""


Change = Edit | Block | Fill | Discard | Undo | Redo
Message = Hello | Bye | Window | Sort | Focus | Select | Change


def read_message(content: object) -> Message:
    """The message that this is.

    Raises
    ------
    UsageError
        It is none, or larger than any that the page sends.
    """
    try:
        message: Message = documents.as_type(content, Message)  # type: ignore[arg-type]  # a union is no type to mypy
    except ValueError as error:
        problem = shortened_cell(str(error), LONGEST_CELL)
        raise UsageError(f"a message of the page cannot be read; nothing was changed: {problem}") from None
    return message


LARGEST = 90_000
"""Bytes of a page: Databricks drops larger messages."""

LONGEST_KEY = 200
"""Bytes of a row's key that are sent whole."""

_LENGTHS = (LONGEST_CELL, LONGEST_CELL // 4, LONGEST_CELL // 16)


def page_message(page: Page) -> dict[str, Any]:
    """A page as its message has it: long texts are cut, and more of them where it would still be too large."""
    messages = (_with_texts(page, longest) for longest in _LENGTHS)
    return next((message for message in messages if _size_of(message) < LARGEST), _with_texts(page, 1))


def short_key(key: str) -> str:
    """The key that a browser gets: itself, or of a long one the beginning and a hash."""
    if len(key.encode()) <= LONGEST_KEY:
        return key
    return f"{key[: LONGEST_KEY // 8]}…{hashlib.sha256(key.encode()).hexdigest()}"


def _with_texts(page: Page, longest: int) -> dict[str, Any]:
    return {
        "first": page.first,
        "keys": [*map(short_key, page.keys)],
        "cells": [[shortened_cell(text, longest) for text in texts] for texts in page.cells],
        "marks": [_mark(mark, longest) for mark in page.marks],
        "editors": [_editor(editor, longest) for editor in page.editors],
    }


def _mark(mark: Mark, longest: int) -> list[Any]:
    old = None if mark.old is None else shortened_cell(mark.old, longest)
    return [mark.row, mark.column, mark.state, shortened_cell(mark.note, 2 * longest), old]


def _editor(editor: CellEditor, longest: int) -> list[Any]:
    """The kind of an editor, and what it begins with; a text that the message has no room for cannot be edited."""
    is_locked = editor.is_locked or len(editor.text or "") > LONGEST_CELL * longest
    kind = "locked" if is_locked else "list" if editor.is_list else "choice" if editor.choices else "text"
    more = [] if is_locked else [list(editor.choices), editor.text]
    return [editor.row, editor.column, kind, *more]


def shortened_cell(text: str, longest: int) -> str:
    """A text as a cell shows it: controls as escapes, the end of a long one left out."""
    safe = printable(text)
    return safe if len(safe) <= longest else f"{safe[: longest - 1]}…"


def _size_of(message: Mapping[str, Any]) -> int:
    return len(json.dumps(message, ensure_ascii=False).encode())
