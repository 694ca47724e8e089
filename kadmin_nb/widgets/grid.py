"""Grid: a sheet in a browser, an anywidget with one file of JavaScript. It carries messages, and keeps no rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import anywidget
import traitlets
from msgspec import structs

from ..errors import KadminError, printable
from . import messages
from .messages import page_message, pasted, selected, short_key
from .sheet import CellText, Result
from .staged_sheet import AnySheet

PAGE_ROWS = 100
"""Rows of one page that a view asks for."""

HEIGHT = 550
"""Pixels of a table: twenty rows below the names of the columns."""

MOST_VIEWS = 16
"""Views of one grid that get new rows: a page that is closed without a word leaves its own behind."""

Named = TypeVar("Named", bound=messages.AtCell | CellText)
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
        self._windows: dict[str, messages.Window] = {}
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
                self._act(messages.read_message(content))
        except KadminError as exc:
            self.notify(Result(exc.in_one_line(), ok=False))

    def _act(self, message: messages.Message) -> None:
        sheet = self._sheet
        match message:
            case messages.Hello():
                window = messages.Window(message.view, 0, PAGE_ROWS)
                self._keep(window)
                if message.epoch < self._epoch:  # the first page, which a new view shows, is older
                    self._answer(window)
            case messages.Bye():
                self._windows.pop(message.view, None)
            case messages.Window():
                self._keep(message)
                self._answer(message)
            case messages.Focus():
                self.focused(self._with_whole_key(message).key, message.column)
            case messages.Why():
                self.why()
            case messages.Discard():
                self.notify(sheet.discard(selected(sheet, self._with_whole_key(message))))
            case messages.Edit():
                self.notify(sheet.edit([*map(self._with_whole_key, message.cells)]))
            case messages.Block():
                self.notify(sheet.edit(pasted(sheet, self._with_whole_key(message))))
            case messages.Undo() | messages.Redo():
                self.notify(sheet.undo() if isinstance(message, messages.Undo) else sheet.redo())

    def _keep(self, window: messages.Window) -> None:
        """Note what a view shows; the view that was silent for longest goes where there are too many."""
        self._windows.pop(window.view, None)
        self._windows[window.view] = window
        while len(self._windows) > MOST_VIEWS:
            del self._windows[next(iter(self._windows))]

    def _answer(self, window: messages.Window) -> None:
        page = self._page(window.first, window.count)
        self.send({**page, "kind": "window", "view": window.view})

    def _page(self, first: int, count: int) -> dict[str, Any]:
        page = page_message(self._sheet.page(first, count))
        return {**page, "epoch": self._epoch, "total": len(self._sheet)}

    def _with_whole_key(self, item: Named) -> Named:
        """A message with the key of its row, where the browser has only a short form of it."""
        whole = [key for key in self._sheet.keys(item.position, 1) if short_key(key) == item.key]
        return structs.replace(item, key=whole[0]) if whole else item
