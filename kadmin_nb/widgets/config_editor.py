"""The config editor: the sheet of configs in a grid, beside it the config in focus, below it the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, UsageError
from ..frames.pages import NOTEBOOK, Page
from .config_details import details
from .config_reader import ConfigReader
from .config_sheet import ConfigSheet
from .panel import Panel
from .sheet import Result

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan
    from ..plans.stage import Stage

ROW_CHOICES = [("all rows", "all"), ("set", "set"), ("staged", "staged"), ("refused", "refused")]


class ConfigEditor(Panel):
    """Configs as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    reader
        Reads the configs.
    stage
        Takes the edits.
    """

    def __init__(self, reader: ConfigReader, stage: Stage) -> None:
        self._reader, self.stage = reader, stage
        self._table = reader.read()
        self.sheet = ConfigSheet(self._table, stage)
        self.plan: Plan | None = None
        self._focus = ""

    def title(self) -> str:
        staged = f", {len(self.stage)} staged" if len(self.stage) else ""
        return f"{len(self.sheet):,} configs{staged}"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table.configs]

    def build(self) -> Any:
        from . import controls
        from .grid import Grid

        self._controls = controls
        self._grid = Grid(self.sheet, static_id=self.static_id)
        self._grid.focused = self._focused
        self._remarks = controls.paragraphs()
        self._below = controls.column()
        self.sheet.watch(self._describe)
        self._describe()
        return controls.column(self._bar(), self._grid, self._remarks, self._below)

    def _bar(self) -> Any:
        button, tell = self._controls.button, self._grid.notify
        return self._controls.row(
            self._controls.text("filter: topic~=orders-* or a part of a key", width="20em", act=self._filter),
            self._controls.choice(ROW_CHOICES, lambda show: self._try(lambda: self._grid.arrange(show=show))),
            button("Undo", lambda: tell(self.sheet.undo()), hint="Ctrl-Z"),
            button("Redo", lambda: tell(self.sheet.redo()), hint="Ctrl-Y"),
            button(
                "Read again", lambda: self._try(self._read_again), hint="the configs as they are on the cluster now"
            ),
            button("Plan", lambda: self._try(self._plan), style="primary", hint="what it means; nothing is sent"),
        )

    # -- actions

    def _filter(self, words: str) -> None:
        self._try(lambda: self._grid.arrange(words=words))

    def _read_again(self) -> None:
        self._table = self._reader.read()
        self.sheet.show(self._table)
        self._grid.notify(Result("read again"))

    def _plan(self) -> None:
        if refused := self.sheet.refused():
            resource, key = next(iter(refused))
            raise UsageError(
                f"{len(refused)} cells do not fit, {key} of {resource} among them", hint="Mend or undo them."
            )
        self.plan = self.stage.plan()
        self._below.children = [self.plan.review().widget]  # type: ignore[attr-defined]

    def _try(self, act: Callable[[], None]) -> None:
        """Do it; a refusal is one line below the grid."""
        try:
            act()
        except KadminError as exc:
            self._grid.notify(Result(" ".join(filter(None, [str(exc), exc.hint])), ok=False))

    # -- beside the grid

    def _focused(self, key: str, column: str) -> None:
        self._focus = key
        self._describe()

    def _describe(self) -> None:
        self._controls.rewrite(self._remarks, *self.remarks())

    def remarks(self) -> list[Block]:
        """The details of the config in focus."""
        known = self.sheet.cell(self._focus)
        if known is None:
            return ["Choose a row to see where its value comes from."]
        cell, state = known
        return details(cell, state, self._reader.documentation(cell.config.resource, cell.config.key))
