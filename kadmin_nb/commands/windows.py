"""Values as lines for a stream: a window that somebody looks at, or a file, or a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from ..frames.pages import WHOLE, window

USUAL = 80
"""The width of a terminal that does not tell its own."""

REST = "--out FILE, --json or a pipe has all of it"


def fitted_lines(value: object, stream: TextIO, *, rest: str = REST) -> Iterable[str]:
    """A value as lines: in a window what fits there; into a file or a pipe all of it, and texts exactly.

    Parameters
    ----------
    rest
        Where all of a table is that is too long for a window.
    """
    from ..frames.display import Display

    if isinstance(value, Display):
        from ..frames.render import lines

        page = window(_width(stream), rest) if stream.isatty() else WHOLE
        return lines(value.blocks(page), page)
    return [str(value) if isinstance(value, str) and not stream.isatty() else repr(value)]


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL
    except OSError:
        return USUAL
