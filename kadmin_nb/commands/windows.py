"""Values as lines for a stream: a window that somebody looks at, or a file, or a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from ..frames.pages import ROWS, WHOLE, window

USUAL = os.terminal_size((80, 24))
"""The size of a terminal that does not tell its own."""

PAGED_ROWS = 2000
"""Rows of a table that a pager gets."""

REST = "--out FILE, --json or a pipe has all of it"


def fitted_lines(value: object, stream: TextIO, *, rest: str = REST, rows: int = ROWS) -> Iterable[str]:
    """A value as lines: in a window what fits there; into a file or a pipe all of it, and texts exactly.

    Parameters
    ----------
    rest
        Where all of a table is that is too long for a window.
    rows
        The rows of a table that a window shows.
    """
    from ..frames.display import Display

    if isinstance(value, Display):
        from ..frames.render import lines

        page = window(_size(stream).columns, rest, rows) if stream.isatty() else WHOLE
        return lines(value.blocks(page), page)
    return [str(value) if isinstance(value, str) and not stream.isatty() else repr(value)]


def _size(stream: TextIO) -> os.terminal_size:
    try:
        size = os.get_terminal_size(stream.fileno())
    except OSError:
        size = USUAL
    return os.terminal_size((size.columns or USUAL.columns, size.lines or USUAL.lines))


def can_page(*streams: TextIO) -> bool:
    """True where a person sits there whom a pager can ask; an empty PAGER, as git has it, is none."""
    is_wanted = os.environ.get("PAGER") != "" and os.environ.get("TERM", "dumb") != "dumb"
    return is_wanted and all(stream.isatty() for stream in streams)


def show_in_pager(lines: Iterable[str], window: TextIO) -> list[str]:
    """Show lines that are more than the window has in a pager; the lines that are yet to be printed."""
    whole = list(lines)
    if len(whole) < _size(window).lines:
        return whole
    import click

    os.environ.setdefault("LESS", "FRX")  # as git does: colours, and no pager for what fits
    click.echo_via_pager(f"{line}\n" for line in whole)
    return []
