"""CopyBox: a text that somebody takes elsewhere."""

from __future__ import annotations

import anywidget
import traitlets

from .grid import source
from .page_messages import LARGEST


class CopyBox(anywidget.AnyWidget):
    """A text with a button that copies it; nothing is there while the text is empty."""

    _esm = source("copy.js")
    _css = source("copy.css")
    label = traitlets.Unicode().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)

    def show(self, text: str, label: str, rest: str = "") -> None:
        """Show a text; of one that is larger than a message may be its first lines, and `rest` says who has all."""
        first = text.encode()[:LARGEST].decode(errors="ignore")
        first = text if first == text else first.rpartition("\n")[0] + "\n"
        missing = text.count("\n") - first.count("\n")
        self.label, self.text = label, first + (f"# … and {missing:,} more lines: {rest}\n" if missing else "")
