"""The quota editor: the sheet of quotas in a grid, with a filter, undo and redo, and the plan of what is staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, UsageError
from ..frames.pages import NOTEBOOK, Page
from .panel import Panel
from .quota_sheet import QuotaSheet
from .sheet import Result

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.blocks import Block
    from ..plans.plan import Plan
    from ..plans.stage import Stage

ROW_CHOICES = [("all", "all"), ("staged", "staged"), ("refused", "refused"), ("shadowed", "shadowed")]


class QuotaEditor(Panel):
    """Quotas as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    quotas
        QUOTAS as they are stored.
    stage
        Takes the edits.
    """

    def __init__(self, quotas: pa.Table, stage: Stage) -> None:
        self._quotas, self.stage = quotas, stage
        self.sheet = QuotaSheet(quotas, stage)
        self.plan: Plan | None = None

    def title(self) -> str:
        staged = f", {len(self.stage)} staged" if len(self.stage) else ""
        return f"{len(self.sheet):,} entities with quotas{staged}"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._quotas]

    def build(self) -> Any:
        from . import controls
        from .grid import Grid

        self._grid = Grid(self.sheet, static_id=self.static_id)
        self._message = controls.paragraphs()
        self._below = controls.column()
        bar = controls.row(
            controls.text("filter: user~=team-* or a part of a name", width="20em", act=self._filter),
            controls.choice(ROW_CHOICES, lambda show: self._try(lambda: self._grid.arrange(show=show))),
            controls.button("Undo", lambda: self._grid.notify(self.sheet.undo())),
            controls.button("Redo", lambda: self._grid.notify(self.sheet.redo())),
            controls.button("Plan", self._plan, style="primary", hint="what the staged changes mean; nothing is sent"),
        )
        return controls.column(bar, self._grid, self._message, self._below)

    def _filter(self, words: str) -> None:
        self._try(lambda: self._grid.arrange(words=words))

    def _plan(self) -> None:
        self._try(self._plan_staged)

    def _plan_staged(self) -> None:
        if refused := self.sheet.refused():
            entity, key = next(iter(refused))
            raise UsageError(
                f"{len(refused)} cells do not fit, {key} of {entity} among them", hint="Mend or undo them."
            )
        self.plan = self.stage.plan()
        self._below.children = [self.plan.review().widget]  # type: ignore[attr-defined]

    def _try(self, act: Callable[[], None]) -> None:
        """Do it; a refusal is one line below the grid."""
        try:
            act()
            self._grid.notify(Result(" "))
        except KadminError as exc:
            self._grid.notify(Result(" ".join(filter(None, [str(exc), exc.hint])), ok=False))
