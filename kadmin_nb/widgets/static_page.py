"""The static table of a widget: what a saved notebook shows once its kernel is gone."""

from __future__ import annotations

REMARK = "As it was when the cell ran; run the cell again to edit."

_STYLE = (
    ".jp-OutputArea-child:has(.kadmin-static) + .jp-OutputArea-child .jp-OutputArea-output:not(:has(*)){display:none}"
)
"""JupyterLab writes *Error displaying widget* where the widget of a saved notebook was: this table stands for it."""


def hiding_style(static_id: str) -> str:
    """The style that hides the static table of that name, wherever it stands and however often, while it is there."""
    return f"<style>.kadmin-static-{static_id}{{display:none!important}}</style>"


def static_html(table: str, static_id: str, is_live: bool) -> str:
    """The HTML of a table, named so that `hiding_style` finds it."""
    remark = f'<p class="kadmin-note">{REMARK}</p>' if is_live else ""
    style = f"<style>{_STYLE}</style>" if is_live else ""
    return f'<div class="kadmin-static kadmin-static-{static_id}">{style}{table}{remark}</div>'
