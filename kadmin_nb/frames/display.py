"""Display: a value that declares what it shows; text and HTML are made of that in `render` alone.

The parts are a title, its content, a footer, a short form and the exit state. Each kind of answer declares those that
are its own. The terminal, a notebook and a Python prompt show the same parts, each within its page. As with IPython's
`_repr_html_`, the underscore tells what the doors ask of a value from what its user calls.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from ..errors import ExitState, KadminError
from .blocks import NOTEBOOK, Page

if TYPE_CHECKING:
    from ..hints import Syntax
    from .blocks import Block


class Display:
    """A value that shows itself in a terminal, a notebook and Python."""

    __slots__ = ()

    hint: str | None = None
    """A hint where something named does not exist; it is shown below the value."""

    _is_raised = False
    """True if a notebook's cell fails where the value is not ok: no run may pass over a change that is not in force."""

    _shows_failures = False
    """True if its title and rows say all that its error would."""

    @property
    def _anything_changed(self) -> bool:
        """True if a cluster may differ from before."""
        return False

    def _title(self) -> str:
        """Its title, or the counts that matter first, in lines."""
        return ""

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """Its rows: a table, or the lines of a tree."""
        return ()

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """Reasons, warnings, and what to do next."""
        return ()

    def _short_form(self) -> str:
        """One line of it, where it stands among other values."""
        return self._title().partition("\n")[0]

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """The exit state of a command that gives it; `detailed` tells differences from none."""
        return ExitState.DONE

    def raise_for_errors(self) -> Self:
        """Itself when nothing failed; else an error that names what did."""
        return self

    def _at(self, syntax: Syntax) -> Self:
        """The same with hints in that syntax; most values have none."""
        return self

    def _in_cell(self) -> Any:
        """The value that a notebook's cell gives."""
        return self

    def _blocks(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """Title, content and footer, in their order; and what failed, where nothing else shows it."""
        from .blocks import Title

        if title := self._title():
            yield Title(title)
        yield from self._content(page)
        yield from self._footer(page)
        if not page.has_errors_apart and not self._shows_failures and (complaint := self._complaint()):
            yield complaint

    def _complaint(self) -> str:
        """The failure and its remedy, as the error says it; nothing where all is well."""
        try:
            self.raise_for_errors()
        except KadminError as exc:
            return "\n".join(exc.lines())
        return ""

    def as_text(self, page: Page = NOTEBOOK) -> str:
        """It as text for that page."""
        from .render import text_of_blocks

        return text_of_blocks(*self._blocks(page), page=page)

    def as_html(self, page: Page = NOTEBOOK) -> str:
        """It as HTML for that page."""
        from .markup import document

        return document(*self._blocks(page), page=page)

    def _mimebundle(self, page: Page = NOTEBOOK) -> dict[str, str]:
        """Text and HTML of it for that page."""
        return {"text/plain": self.as_text(page), "text/html": self.as_html(page)}

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()
