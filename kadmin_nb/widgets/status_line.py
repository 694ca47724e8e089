"""StatusLine: what came of an action, which a screen reader speaks as soon as it changes."""

from __future__ import annotations

import anywidget
import traitlets

from ..errors import printable_lines
from .grid import source


class StatusLine(anywidget.AnyWidget):
    """Lines of text; those that are not `ok` look like an error."""

    _esm = source("status.js")
    _css = source("status.css")
    text = traitlets.Unicode().tag(sync=True)
    ok = traitlets.Bool(True).tag(sync=True)

    def show(self, text: str, *, ok: bool = True) -> None:
        """Show other lines, in one message."""
        with self.hold_sync():
            self.text, self.ok = printable_lines(text), ok
