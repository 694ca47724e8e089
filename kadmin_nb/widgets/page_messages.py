"""Pages as messages to a browser: texts that are safe to show, and never more bytes than a host lets through."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..errors import printable
from .sheet import LONGEST_CELL, CellEditor, Mark, Page

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
        "branches": [[branch.depth, branch.is_open] for branch in page.branches],
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
