"""Grid: a sheet in a browser, an anywidget with one file of JavaScript. It carries messages, and keeps no rows.

Messages of a browser are checked: whoever can write to a page can send anything, so nothing in one is believed. One
about a block of cells names the first of them; what is copied is tab-separated text as spreadsheets write it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import anywidget
import traitlets
from msgspec import Meta, Struct, structs

from .. import documents
from ..errors import KadminError, UsageError, printable
from .sheet import LONGEST_CELL, MOST_CELLS, CellEditor, CellText, ColumnName, Page, Position, Result
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


class Block(AtCell, frozen=True):
    """Tab-separated texts were pasted at the first of these cells."""

    rows: Size
    columns: Size
    text: Text


class Why(Sent, frozen=True):
    """Show the reasons of the cell in focus, or hide them."""


class Undo(Sent, frozen=True):
    """Take back the last action."""


class Redo(Sent, frozen=True):
    """Do it again."""


Message = Hello | Bye | Window | Focus | Why | Edit | Block | Undo | Redo


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
    size, chosen = (len(rows), len(rows[0])), (block.rows, block.columns)
    if chosen != (1, 1) and (size[0] > chosen[0] or size[1] > chosen[1]):
        message = f"the copied block has {_size(size)}, the selection {_size(chosen)}; nothing was pasted"
        raise UsageError(message, hint="Select one cell to paste all of it from there on.")
    if size[0] * size[1] > MOST_CELLS:
        raise UsageError(f"{size[0] * size[1]:,} cells at once are too many", hint=f"The limit is {MOST_CELLS:,}.")
    names = [known.name for known in sheet.columns]
    if block.column not in names:
        raise UsageError("the page names an unknown column; nothing was changed")
    columns = names[names.index(block.column) :][: size[1]]
    keys = sheet.keys(block.position, size[0])
    if not keys or keys[0] != block.key:
        raise UsageError("the rows have changed since; nothing was changed", hint="Select the cells again.")
    if (room := (len(keys), len(columns))) != size:
        raise UsageError(f"the block has {_size(size)}, and only {_size(room)} are left there")
    return [
        CellText(block.position + n, key, column, text)
        for n, (key, texts) in enumerate(zip(keys, rows, strict=True))
        for column, text in zip(columns, texts, strict=True)
    ]


def rows_of(text: str) -> list[list[str]]:
    """The rows of tab-separated text, each as long as the longest; a last line end counts for nothing."""
    rows = [*csv.reader(io.StringIO(text, newline=""), dialect="excel-tab")] or [[""]]
    widest = max(map(len, rows)) or 1
    return [row + [""] * (widest - len(row)) for row in rows]


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
            [row, column, mark.state, shortened_cell(mark.note, 2 * longest)]
            + [None if text is None else shortened_cell(text, longest) for text in (mark.old, mark.applies)]
            + ([] if mark.used is None else [mark.used])
            for row, column, mark in page.marks
        ],
        "editors": [[row, column, *_editor(editor, longest)] for row, column, editor in page.editors],
        "indented": [shortened_cell(text, longest) for text in page.indented],
    }


def _editor(editor: CellEditor, longest: int) -> list[Any]:
    """The kind of an editor, and what it begins with; a text that the message has no room for cannot be edited."""
    is_locked = editor.is_locked or len(editor.text or "") > LONGEST_CELL * longest
    kind = "choice" if editor.choices else "text"
    return ["locked"] if is_locked else [kind, list(editor.choices), editor.text]


def shortened_cell(text: str, longest: int) -> str:
    """A text as a cell shows it: controls as escapes, the end of a long one left out."""
    safe = printable(text)
    return safe if len(safe) <= longest else f"{safe[: longest - 1]}…"


# -- the widget


PAGE_ROWS = 100
"""Rows of one page that a view asks for."""

HEIGHT = 550
"""Pixels of a table: twenty rows below the names of the columns."""

MOST_VIEWS = 16
"""Views of one grid that get new rows: a page that is closed without a word leaves its own behind."""

Named = TypeVar("Named", bound=AtCell | CellText)
"""A message about a row."""


@cache
def source(name: str) -> str:
    """A file of the browser's side."""
    return (Path(__file__).parent / "browser" / name).read_text(encoding="utf-8")


def in_order(widget: Any) -> Any:
    """The widget; its messages and those of the others that are `in_order` arrive in the order of the page.

    JupyterLab sends those of all widgets to one subshell, a thread. ipykernel 7.4 hands them to the thread that last
    sent something of that widget instead: a click overtook the text that was typed before it, or waited for a cell.
    """
    widget.comm._reply_subshell_for = None  # ipykernel then goes by the message, as it did before 7.4
    return widget


class Grid(anywidget.AnyWidget):
    """A table that is scrolled, selected, edited, copied and pasted; what that means is the sheet's business.

    Messages of the browser come on a thread of their own. Answers go to the view that asked; after a change every view
    gets the rows that it shows.
    """

    _esm = source("grid.js")
    _css = source("grid.css")
    columns: traitlets.List[Any] = traitlets.List().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    legend = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int().tag(sync=True)
    first_page = traitlets.Dict().tag(sync=True)
    formula: traitlets.List[str] = traitlets.List().tag(sync=True)
    """The chosen cell in words, two lines at most; none where a table has no such lines."""

    def __init__(self, sheet: AnySheet, *, height: int = HEIGHT) -> None:
        self._sheet, self._guard = sheet, threading.RLock()
        self._windows: dict[str, Window] = {}
        self._epoch = 0
        self.focused: Callable[[str, str], None] = lambda key, column: None
        self.why: Callable[[], None] = lambda: None
        columns, page = [*map(asdict, sheet.columns)], self._page(0, PAGE_ROWS)
        super().__init__(columns=columns, label=sheet.label, legend=sheet.legend, height=height, first_page=page)
        in_order(self).on_msg(self._received)
        sheet.watch(self.refresh)

    @property
    def is_seen(self) -> bool:
        """True if some view of it is open."""
        return bool(self._windows)

    def refresh(self) -> None:
        """Send every view the rows that it shows, as they are now."""
        with self._guard:
            self._epoch += 1
            for window in [*self._windows.values()]:
                self._answer(window)

    def notify(self, result: Result) -> None:
        """Show one line in every view."""
        if result.text:
            self.send({"kind": "notice", "text": printable(result.text), "ok": result.ok})

    def move_to(self, position: int, column: str) -> None:
        """Move the focus of every view to a cell."""
        self.send({"kind": "show", "position": position, "column": column})

    # -- messages

    def _received(self, _: object, content: object, buffers: object) -> None:
        """Answer a message; whatever is wrong with it is one line in the view, and the kernel goes on."""
        try:
            with self._guard:
                self._act(read_message(content))
        except KadminError as exc:
            self.notify(Result(exc.in_one_line(), ok=False))

    def _act(self, message: Message) -> None:
        sheet = self._sheet
        match message:
            case Hello():
                window = Window(message.view, 0, PAGE_ROWS)
                self._keep(window)
                if message.epoch < self._epoch:  # the first page, which a new view shows, is older
                    self._answer(window)
            case Bye():
                self._windows.pop(message.view, None)
            case Window():
                self._keep(message)
                self._answer(message)
            case Focus():
                self.focused(self._with_whole_key(message).key, message.column)
            case Why():
                self.why()
            case Edit():
                self.notify(sheet.edit([*map(self._with_whole_key, message.cells)]))
            case Block():
                self.notify(sheet.edit(pasted(sheet, self._with_whole_key(message))))
            case Undo() | Redo():
                self.notify(sheet.undo() if isinstance(message, Undo) else sheet.redo())

    def _keep(self, window: Window) -> None:
        """Note what a view shows; the view that was silent for longest goes where there are too many."""
        self._windows.pop(window.view, None)
        self._windows[window.view] = window
        while len(self._windows) > MOST_VIEWS:
            del self._windows[next(iter(self._windows))]

    def _answer(self, window: Window) -> None:
        page = self._page(window.first, window.count)
        self.send({**page, "kind": "window", "view": window.view})

    def _page(self, first: int, count: int) -> dict[str, Any]:
        page = page_message(self._sheet.page(first, count))
        return {**page, "epoch": self._epoch, "total": len(self._sheet)}

    def _with_whole_key(self, item: Named) -> Named:
        """A message with the key of its row, where the browser has only a short form of it."""
        whole = [key for key in self._sheet.keys(item.position, 1) if short_key(key) == item.key]
        return structs.replace(item, key=whole[0]) if whole else item
