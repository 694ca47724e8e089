"""Messages of a browser, checked: whoever can write to a page can send anything, so nothing in one is believed.

A message about a block of cells names the first of them; what is copied is tab-separated text as spreadsheets write it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from .. import documents
from ..errors import UsageError, printable
from .sheet import LONGEST_CELL, MOST_CELLS, CellEditor, CellText, ColumnName, Page, Position
from .staged_sheet import AnySheet

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
    """A view shows these rows."""

    first: Position
    count: Annotated[int, Meta(ge=0, le=500)]


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


class Discard(Cells, frozen=True):
    """What is staged in these cells is to be discarded."""


class Why(Sent, frozen=True):
    """Show the reasons of the cell in focus, or hide them."""


class Undo(Sent, frozen=True):
    """Take back the last action."""


class Redo(Sent, frozen=True):
    """Do it again."""


Message = Hello | Bye | Window | Focus | Why | Edit | Block | Discard | Undo | Redo


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


# -- blocks of cells


def pasted(sheet: AnySheet, block: Block) -> list[CellText]:
    """The cells that a pasted block goes into: from its first cell on, or, of one text, every selected cell.

    Raises
    ------
    UsageError
        It is empty, larger than the selection, or goes past the last row or column; then nothing is pasted.
    """
    if not block.text:
        raise UsageError("the clipboard has no text; nothing was pasted")
    rows = rows_of(block.text)
    if len(rows) == len(rows[0]) == 1:
        rows = [rows[0] * block.columns] * block.rows
    size, room = (len(rows), len(rows[0])), (block.rows, block.columns)
    if room != (1, 1) and (size[0] > room[0] or size[1] > room[1]):
        message = f"the copied block has {_size(size)}, the selection {_size(room)}; nothing was pasted"
        raise UsageError(message, hint="Select one cell to paste all of it from there on.")
    return _cells(sheet, block, rows)


def selected(sheet: AnySheet, selection: Cells) -> list[CellText]:
    """The cells of a selection, with empty texts.

    Raises
    ------
    UsageError
        It has too many cells, or is not there any more.
    """
    return _cells(sheet, selection, [[""] * selection.columns] * selection.rows)


def rows_of(text: str) -> list[list[str]]:
    """The rows of tab-separated text, each as long as the longest; a last line end counts for nothing."""
    rows = [*csv.reader(io.StringIO(text, newline=""), dialect="excel-tab")] or [[""]]
    widest = max(map(len, rows)) or 1
    return [row + [""] * (widest - len(row)) for row in rows]


def _cells(sheet: AnySheet, place: Cells, rows: Sequence[Sequence[str]]) -> list[CellText]:
    """The cells from a place on that these texts go into."""
    names = [known.name for known in sheet.columns]
    if place.column not in names:
        raise UsageError("the page names an unknown column; nothing was changed")
    size = len(rows), len(rows[0])
    if size[0] * size[1] > MOST_CELLS:
        raise UsageError(f"{size[0] * size[1]:,} cells at once are too many", hint=f"The limit is {MOST_CELLS:,}.")
    columns = names[names.index(place.column) :][: size[1]]
    keys = sheet.keys(place.position, size[0])
    if not keys or keys[0] != place.key:
        raise UsageError("the rows have changed since; nothing was changed", hint="Select the cells again.")
    if (room := (len(keys), len(columns))) != size:
        raise UsageError(f"the block has {_size(size)}, and only {_size(room)} are left there")
    return [
        CellText(place.position + n, key, column, text)
        for n, (key, texts) in enumerate(zip(keys, rows, strict=True))
        for column, text in zip(columns, texts, strict=True)
    ]


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]:,} × {size[1]:,} cells"


# -- what is sent


LARGEST = 90_000
"""Bytes of a page: Databricks drops larger messages."""

LONGEST_KEY = 200
"""Bytes of a row's key that are sent whole."""

_LENGTHS = (LONGEST_CELL, LONGEST_CELL // 4, LONGEST_CELL // 16)


def page_message(page: Page) -> dict[str, Any]:
    """A page as its message has it: long texts are cut, and more of them where it would still be too large."""
    messages = (_with_texts(page, longest) for longest in _LENGTHS)
    fitting = (message for message in messages if len(json.dumps(message, ensure_ascii=False).encode()) < LARGEST)
    return next(fitting, _with_texts(page, 1))


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
        "marks": [
            [mark.row, mark.column, mark.state, shortened_cell(mark.note, 2 * longest)]
            + [None if text is None else shortened_cell(text, longest) for text in (mark.old, mark.applies)]
            + ([] if mark.used is None else [mark.used])
            for mark in page.marks
        ],
        "editors": [_editor(editor, longest) for editor in page.editors],
        "indented": [shortened_cell(text, longest) for text in page.indented],
    }


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
