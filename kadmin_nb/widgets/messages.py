"""Messages of a browser, checked: whoever can write to a page can send anything, so nothing in one is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from ..errors import UsageError, printable
from .sheet import LONGEST_CELL, MOST_CELLS, CellEditor, CellText, Mark, Page

MOST_ROWS = 500
"""Rows of one page."""

LONGEST_MESSAGE = 1_000_000
"""Characters of all texts of one message."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A view was drawn from the first page, as it was at that epoch."""

    view: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Bye:
    """A view is gone."""

    view: str


@dataclass(frozen=True, slots=True)
class Window:
    """A view shows these rows; `sequence` is given back, so that it knows late answers."""

    view: str
    first: int
    count: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Sort:
    """Sort by a column; an empty one is the sheet's own order."""

    view: str
    column: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Edit:
    """Texts were typed into cells."""

    view: str
    cells: tuple[CellText, ...]


@dataclass(frozen=True, slots=True)
class Cells:
    """A rectangle of cells: its first one, and its size.

    `key` is that of the row at `position`, so that a row that moved meanwhile is not mistaken.
    """

    view: str
    position: int
    key: str
    column: str
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Block(Cells):
    """Tab-separated texts were pasted at the first of these cells."""

    text: str


@dataclass(frozen=True, slots=True)
class Fill(Cells):
    """The first row of these cells is to be repeated in the rows below it."""


@dataclass(frozen=True, slots=True)
class Focus:
    """A cell has the focus."""

    view: str
    position: int
    key: str
    column: str


@dataclass(frozen=True, slots=True)
class Selection(Cells):
    """These cells are selected; what is staged in them is to be discarded, or not yet."""

    is_discarded: bool


@dataclass(frozen=True, slots=True)
class Move:
    """Undo or redo."""

    view: str
    back: bool


Message = Hello | Bye | Window | Sort | Edit | Block | Fill | Focus | Selection | Move


def read_message(content: object) -> Message:
    """The message that this is.

    Raises
    ------
    UsageError
        It is none, or larger than any that the page sends.
    """
    if not isinstance(content, Mapping):
        raise UsageError("a message of the page is not an object; nothing was changed")
    kind = _KINDS.get(_text("kind", content.get("kind"), 20))
    if kind is None:
        raise UsageError("a message of the page has an unknown kind; nothing was changed")
    message: Message = _checked(kind[0], content, **kind[1])
    return message


_KINDS: dict[str, tuple[type[Message], dict[str, bool]]] = {
    "hello": (Hello, {}),
    "bye": (Bye, {}),
    "window": (Window, {}),
    "sort": (Sort, {}),
    "edit": (Edit, {}),
    "block": (Block, {}),
    "fill": (Fill, {}),
    "focus": (Focus, {}),
    "select": (Selection, {"is_discarded": False}),
    "discard": (Selection, {"is_discarded": True}),
    "undo": (Move, {"back": True}),
    "redo": (Move, {"back": False}),
}
"""The messages, and those of their fields that the kind alone says."""


def _checked(kind: type[Any], content: Mapping[Any, Any], **said: bool) -> Any:
    """One of that kind; each field of the content has the type and the bounds that its name says."""
    names = [field.name for field in fields(kind) if field.name not in said]
    return kind(**{name: _CHECKS[name](name, content.get(name)) for name in names}, **said)


def _text(name: str, value: object, longest: int = LONGEST_MESSAGE) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise UsageError(f"{name} of a message of the page is not a text of at most {longest:,} characters")
    return value


def _number(name: str, value: object, most: int = 2**31, *, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(f"{name} of a message of the page is not a number from {least} to {most:,}")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} of a message of the page is neither true nor false")
    return value


def _cells(name: str, value: object) -> tuple[CellText, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_CELLS:
        raise UsageError(f"{name} of a message of the page are not a list of 1 to {MOST_CELLS:,}")
    if not all(isinstance(item, Mapping) for item in value):
        raise UsageError("a cell of a message of the page is not an object")
    cells = tuple(_checked(CellText, item) for item in value)
    if sum(len(cell.text) for cell in cells) > LONGEST_MESSAGE:
        raise UsageError(f"the texts of a message of the page have more than {LONGEST_MESSAGE:,} characters")
    return cells


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "view": partial(_text, longest=40),
    "column": partial(_text, longest=1000),
    **dict.fromkeys(("key", "text"), _text),
    **dict.fromkeys(("epoch", "first", "position", "sequence"), _number),
    "count": partial(_number, most=MOST_ROWS),
    **dict.fromkeys(("rows", "columns"), partial(_number, most=MOST_CELLS, least=1)),
    "descending": _flag,
    "cells": _cells,
}
"""The check of each field, which has one meaning in all messages."""


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
