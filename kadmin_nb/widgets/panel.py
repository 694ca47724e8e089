"""Panel: a value that is a widget where somebody can click, and a table everywhere else; and the host of a notebook."""

from __future__ import annotations

import hashlib
import os
import sys
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import pyarrow as pa

from .. import paths
from ..frames.answer import Tabular
from ..frames.blocks import NOTEBOOK, Block, Folded, Listing, Page
from ..frames.views import counted_nouns
from ..plans.stage import Stage

REMARK = "As it was when the cell ran; run the cell again to use it."

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


class Panel(Tabular):
    """Shows a widget in a browser, with the table beside it that stands for it once the kernel is gone."""

    @abstractmethod
    def build(self) -> Any:
        """The widget, made when it is first shown."""

    @cached_property
    def static_id(self) -> str:
        """The name of its static table, the same in each run that shows the same."""
        return hashlib.sha256(self.as_html().encode()).hexdigest()[:16]

    @cached_property
    def widget(self) -> Any:
        """The widget; it can stand in a layout of others.

        Raises
        ------
        Unsupported
            ipywidgets or anywidget is not installed.
        """
        return self.build()

    @cached_property
    def _displayed(self) -> Any:
        """The widget, and what hides its static tables while it is there: those of a saved page come in any order."""
        from . import controls

        return controls.column(self.widget, controls.style(hiding_style(self.static_id)))

    def _ipython_display_(self) -> None:
        """A table for whoever reads the notebook later, and over it the widget, where there is a browser."""
        if shell() is None or getattr(shell(), "kernel", None) is None:
            print(self.as_text())
            return
        is_live = has_front_end()
        widget = self._displayed._repr_mimebundle_() if is_live else None
        html = static_html(self.as_html(), self.static_id, is_live)
        publish({"text/plain": self.as_text(), "text/html": html})
        if widget is not None:
            publish({**widget, "text/plain": ""})


class StagingPanel(Panel):
    """An answer whose lines that make a change have a button that stages it; the rest of it stands around them."""

    def __init__(self, shown: Tabular, stage: Stage) -> None:
        self._shown, self._stage = shown, stage

    def to_arrow(self) -> pa.Table:
        return self._shown.to_arrow()

    def _blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self._shown._blocks(page)

    def build(self) -> Any:
        from . import controls

        return controls.column(*map(self._part, self._blocks()))

    def _part(self, block: Block) -> Any:
        """A block, and beside lines that make a change the button."""
        from . import controls

        if isinstance(block, Folded):
            return controls.folded(block.title, controls.column(*map(self._part, block.blocks)))
        if not isinstance(block, Listing) or block.edit is None:
            return controls.paragraphs(block)
        edit, said = block.edit, controls.StatusLine()

        def add() -> None:
            self._stage.add([edit])
            staged = counted_nouns(len(self._stage), "change", "changes")
            said.show(f"staged, {staged} in all: %kquota plan shows them")

        return controls.column(controls.paragraphs(block), controls.row(controls.button("Stage", add), said))


# -- the host


_VOILA = ("VOILA_KERNEL_ID", "VOILA_BASE_URL", "VOILA_PREHEAT")


def shell() -> Any:
    """IPython's shell; None outside of it."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def has_front_end() -> bool:
    """True if a browser may show widgets: a kernel whose client could ask back, or Voila.

    papermill, nbconvert and a terminal's IPython have none: papermill and nbconvert would keep the widgets' state in
    the document, and nobody could click.
    """
    kernel = getattr(shell(), "kernel", None)
    if kernel is None:
        return False
    is_voila = any(name in os.environ for name in _VOILA)
    return is_voila or paths.is_databricks() or bool(getattr(kernel, "_allow_stdin", False))


def publish(data: dict[str, Any]) -> None:
    """An output of the cell that runs."""
    shell().display_pub.publish(data=data, metadata={})
