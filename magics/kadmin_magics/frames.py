"""Frames that came from a cluster, as they show themselves in a shell.

The DataFrame that a cell gives shows its answer, whatever else shows frames there. A plain one shows itself as pandas
does, with hostile names made visible: a client-id is chosen by whoever connects. pandas escapes HTML, but hands a
terminal the control characters of a name, and a browser its bidi marks. Frames of other origin show themselves exactly
as they did.
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.errors import KadminError, printable_lines

_HOMES = ("pandas.core.frame", "pandas")
"""The modules in which DataFrame says that it lives: before pandas 3, and since."""

_ANSWERS = ("kadmin_nb.frames.answer_frame", "AnswerFrame")
_STAGING = ("kadmin_nb.cluster.why", "WhyAnswer")
"""The answer whose lines a button stages."""

_OURS = "kadmin.cluster_id"


def show_frames(shell: InteractiveShell) -> None:
    """Show frames our way where no other way is registered; pandas is not imported for it."""
    formatter: Any = shell.display_formatter
    ways = {"text/plain": (_print_plain, _print_plain), "text/html": (_html, lambda frame: frame._repr_html_())}
    for mime, (plain, answer) in ways.items():
        of_mime = formatter.formatters[mime]
        of_mime.for_type_by_name(*_ANSWERS, answer)
        for home in _HOMES:
            if of_mime.for_type_by_name(home, "DataFrame") is None:
                of_mime.for_type_by_name(home, "DataFrame", plain)
    formatter.ipython_display_formatter.for_type_by_name(*_STAGING, _show_buttons)


def _show_buttons(value: Any) -> None:
    """An answer with changes to stage, in a browser that shows widgets.

    IPython goes on to text and HTML where it is not implemented.
    """
    from kadmin_nb import paths
    from kadmin_nb.widgets.panel import StagingPanel, has_front_end

    try:
        if value.stage is None or paths.is_databricks() or not has_front_end():
            raise NotImplementedError
        StagingPanel(value, value.stage)._ipython_display_()
    except KadminError:  # no widgets are installed
        raise NotImplementedError from None


def _print_plain(frame: Any, printer: Any, cycle: bool) -> None:
    printer.text(_safe(frame, repr(frame)))


def _html(frame: Any) -> str | None:
    html = frame._repr_html_()
    return html if html is None else _safe(frame, html)


def _safe(frame: Any, text: str) -> str:
    return printable_lines(text) if _OURS in frame.attrs else text
