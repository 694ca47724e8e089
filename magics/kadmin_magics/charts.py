"""Charts that are made of ours and of Altair's: shown as ours are, whichever of them came first.

`other + chart` is Altair's, and Altair's own renderer loads scripts from elsewhere and ends them at a `</script>` in
a name. Charts without a part of ours show themselves exactly as they did.
"""

from __future__ import annotations

from typing import Any

from IPython.core.interactiveshell import InteractiveShell

_HOME = ("altair.vegalite.v6.api", "TopLevelMixin")


class Charts:
    """The formatter of a shell, in and out again; Altair is not imported for it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._formatter: Any = shell.display_formatter.mimebundle_formatter  # type: ignore[union-attr]

    def register(self) -> None:
        """Show charts of ours our way, where nobody else has said how."""
        if self._formatter.for_type_by_name(*_HOME) is None:
            self._formatter.for_type_by_name(*_HOME, _bundle)

    def unregister(self) -> None:
        """Charts show themselves again as they did before."""
        for printers in (self._formatter.deferred_printers, self._formatter.type_printers):
            for kind in [kind for kind, printer in printers.items() if printer is _bundle]:
                del printers[kind]


def _bundle(chart: Any, include: Any = None, exclude: Any = None) -> Any:
    """Nothing for a chart of ours: its HTML and text are those of its class."""
    from kadmin_nb.charts.drawing import is_of_ours, ours

    if not is_of_ours(chart):
        return chart._repr_mimebundle_(include=include, exclude=exclude)
    shown = ours(chart)
    return {"text/plain": repr(shown), "text/html": shown._repr_html_()}
