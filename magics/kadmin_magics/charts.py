"""Charts that are made of ours and of Altair's: shown as ours are, whichever of them came first.

`other + chart` is Altair's, and Altair's own renderer loads scripts from elsewhere and ends them at a `</script>` in
a name. Charts without a part of ours show themselves exactly as they did.
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

_HOME = ("altair.vegalite.v6.api", "TopLevelMixin")
_OURS = ("kadmin_nb.charts.drawing", "InHostColours")


class Charts:
    """The formatters of a shell, in and out again; Altair is not imported for them."""

    def __init__(self, shell: InteractiveShell) -> None:
        formatter: Any = shell.display_formatter
        self._bundles, self._pages = formatter.mimebundle_formatter, formatter.formatters["text/html"]

    def register(self) -> None:
        """Show charts of ours our way, where nobody else has said how."""
        if self._bundles.for_type_by_name(*_HOME) is None:
            self._bundles.for_type_by_name(*_HOME, _bundle)
            self._pages.for_type_by_name(*_OURS, _no_page)

    def unregister(self) -> None:
        """Charts show themselves again as they did before."""
        for formatter in (self._bundles, self._pages):
            for printers in (formatter.deferred_printers, formatter.type_printers):
                for kind in [kind for kind, printer in printers.items() if printer in (_bundle, _no_page)]:
                    del printers[kind]


def _no_page(chart: Any) -> None:
    """No HTML of a chart of ours: hosts would rather show it than Vega. `_bundle` has all that it shows."""


def _bundle(chart: Any, include: Any = None, exclude: Any = None) -> Any:
    """A chart of ours for a host that draws Vega, and as SVG; on Databricks, which has no Vega, its HTML alone."""
    from kadmin_nb import databricks
    from kadmin_nb.charts.drawing import is_of_ours, ours

    if not is_of_ours(chart):
        return chart._repr_mimebundle_(include=include, exclude=exclude)
    shown = ours(chart)
    if databricks.is_here():
        return {"text/plain": repr(shown), "text/html": shown._repr_html_()}
    display({"text/html": _FILL_THE_CELL}, raw=True)  # type: ignore[no-untyped-call]
    return shown.in_a_host()


_FILL_THE_CELL = "<style>.jp-RenderedVega5 > .vega-embed { width: 100%; }</style>"
"""A chart can be no wider than its element, which Vega's own style makes as narrow as the chart."""
