"""How frames that came from a cluster show themselves: as pandas does, with hostile names made visible.

A client-id is chosen by whoever connects. pandas escapes HTML, but hands a terminal the control characters of a
name, and a browser its bidi marks. Frames of other origin show themselves exactly as they did.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from IPython.core.formatters import BaseFormatter
from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.errors import printable

_HOMES = ("pandas.core.frame", "pandas")
"""Where DataFrame says that it lives: before pandas 3, and since."""

_OURS = "kadmin.cluster_id"
_ENGINE = "kadmin.engine"


class Frames:
    """The two formatters of a shell, in and out again."""

    def __init__(self, shell: InteractiveShell) -> None:
        formatters = shell.display_formatter.formatters  # type: ignore[union-attr]
        self._with: list[tuple[BaseFormatter, Callable[..., Any]]] = [
            (formatters["text/plain"], _print_plain),
            (formatters["text/html"], _html),
        ]

    def register(self) -> None:
        """Where nobody else has already said how frames show themselves; pandas is not imported for it."""
        for formatter, ours in self._with:
            for home in _HOMES:
                _offer(formatter, home, ours)

    def unregister(self) -> None:
        """Frames show themselves again as they did before."""
        for formatter, ours in self._with:
            for printers in (formatter.deferred_printers, formatter.type_printers):
                for kind in [kind for kind, printer in printers.items() if printer is ours]:
                    del printers[kind]


def _offer(formatter: Any, home: str, ours: Callable[..., Any]) -> None:
    if formatter.for_type_by_name(home, "DataFrame") is None:
        formatter.for_type_by_name(home, "DataFrame", ours)


def _print_plain(frame: Any, printer: Any, cycle: bool) -> None:
    """As IPython prints any repr, line by line."""
    for number, line in enumerate(_safe(frame, repr(frame) + _below(frame, "\n{}")).split("\n")):
        if number:
            printer.break_()
        printer.text(line)


def _html(frame: Any) -> str | None:
    html = frame._repr_html_()
    return html if html is None else _safe(frame, html + _below(frame, "<p>{}</p>"))


def _below(frame: Any, form: str) -> str:
    """Which engine answered, where there was a choice."""
    engine = frame.attrs.get(_ENGINE) if _OURS in frame.attrs else None
    return form.format(escape(str(engine), quote=False)) if engine else ""


def _safe(frame: Any, text: str) -> str:
    return "\n".join(map(printable, text.split("\n"))) if _OURS in frame.attrs else text
