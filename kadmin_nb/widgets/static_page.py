"""The static table of a widget: what a saved notebook shows once its kernel is gone."""

from __future__ import annotations

REMARK = "As it was when the cell ran; run the cell again to edit."

_STYLE = (
    ".jp-OutputArea-child:has(.kadmin-static) + .jp-OutputArea-child .jp-OutputArea-output:not(:has(*)){display:none}"
)
"""JupyterLab writes *Error displaying widget* where the widget of a saved notebook was: this table stands for it."""


def static_html(table: str, static_id: str, is_live: bool) -> str:
    """The HTML of a table, named so that the widget that is shown beside it can hide it."""
    remark = f'<p class="kadmin-note">{REMARK}</p>' if is_live else ""
    style = f"<style>{_STYLE}</style>" if is_live else ""
    return f'<div class="kadmin-static" data-kadmin-static="{static_id}">{style}{table}{remark}</div>'
