"""The part that the editors over a stage share: a toolbar, the grid, remarks on the cell in focus, and the plan."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import KadminError, UsageError
from ..model.changes import Change
from ..plans.stage import edits_of
from .background import Latest
from .panel import Panel
from .sheet import Result

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan
    from ..plans.stage import Stage
    from .staged_sheet import StagedSheet


class StageEditor(Panel):
    """A table over a stage: what is typed is staged, planned and applied as from a line."""

    what_rows_are: ClassVar[str]
    """Words behind their number, in its title."""

    filter_words: ClassVar[str]
    """What its filter box takes, as examples."""

    row_choices: ClassVar[Sequence[tuple[str, str]]]
    """The rows that one can look at alone, each with the name that the sheet has for them."""

    sheet: StagedSheet[Any]
    """Made by the subclass, which knows more of it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.plan: Plan | None = None
        self._focus: tuple[str, str] | None = None

    @abstractmethod
    def read_again(self) -> Result:
        """Show the rows as they are on the cluster now; what is staged stays."""

    @abstractmethod
    def remarks(self) -> list[Block]:
        """The meaning of the cell in focus, as far as plans can say before they are made."""

    def _title(self) -> str:
        staged = f", {len(self.stage)} staged" if len(self.stage) else ""
        return f"{len(self.sheet):,} {self.what_rows_are}{staged}"

    def _parts_below(self) -> Sequence[Any]:
        """Controls of its own below the grid."""
        return ()

    def build(self) -> Any:
        from . import controls
        from .grid import Grid

        self._controls = controls
        self._grid = Grid(self.sheet)
        self._grid.focused, self._grid.discard = self._focused, self.sheet.discard
        self._counts, self._remarks = controls.paragraphs(), controls.paragraphs()
        self._below = controls.column()
        self._background = Latest(self._describe, lambda exc: controls.rewrite_failed(self._remarks, exc))
        self.sheet.watch(self._background.ask)
        edits_of(self.stage).watch_applied(self._applied)
        self._background.ask()
        table = controls.beside(self._grid, self._remarks)
        return controls.column(self._bar(), table, self._counts, *self._parts_below(), self._below)

    def _bar(self) -> Any:
        button, tell, sheet = self._controls.button, self._grid.notify, self.sheet
        return self._controls.row(
            self._controls.text(
                f"filter: {self.filter_words}",
                width="15em",
                act=lambda words: self._show(words=words),
            ),
            self._controls.choice([*self.row_choices], lambda show: self._show(show=show), label="show"),
            button("Undo", lambda: tell(sheet.undo()), hint="Ctrl-Z"),
            button("Redo", lambda: tell(sheet.redo()), hint="Ctrl-Y"),
            button("Discard cells", self._discard_selected, hint="unstage the selected cells: Ctrl-Backspace"),
            button("Discard all", lambda: tell(sheet.discard()), hint="unstage every row; undo brings them back"),
            button("Read again", lambda: self._try(self._read_again), hint="the rows as they are on the cluster now"),
            button("Plan", lambda: self._try(self._plan), style="primary", hint="what it means; nothing is sent"),
        )

    # -- actions

    def _show(self, **arrangement: str) -> None:
        def show() -> None:
            self._grid.arrange(**arrangement)
            self._grid.notify(Result(f"rows: {len(self.sheet):,}"))

        self._try(show)

    def _discard_selected(self) -> None:
        self._try(lambda: self._grid.notify(self._grid.discard_selected()))

    def _read_again(self) -> None:
        self._grid.notify(self.read_again())

    def _plan(self) -> None:
        if refused := self.sheet.refused():
            whose, key = next(iter(refused))
            if len(refused) == 1:
                raise UsageError(f"{key} of {whose} is invalid", hint="Fix or discard it.")
            raise UsageError(
                f"{len(refused):,} cells are invalid (first: {key} of {whose})", hint="Fix or discard them."
            )
        self.plan = self.stage.plan()
        review: Any = self.plan.review()
        self._below.children = [review.widget]
        if moved := self.sheet.changed_since_read(self.plan.changes):
            self._grid.notify(Result(_moved_text(moved), ok=False))

    def _applied(self) -> None:
        """Show what the cluster holds after a plan was applied, wherever that was."""
        if self._grid.is_seen:
            self._try(self._read_again)

    def _try(self, act: Callable[[], None]) -> None:
        """Do it; a refusal is one line below the grid."""
        try:
            act()
        except KadminError as exc:
            self._grid.notify(Result(exc.in_one_line(), ok=False))

    # -- beside the grid

    def _focused(self, key: str, column: str) -> None:
        self._focus = key, column
        self._background.ask()

    def _describe(self) -> None:
        """Say how much is staged, and what the cell in focus means."""
        self._controls.rewrite(self._counts, self.status())
        self._controls.rewrite(self._remarks, *self.remarks())

    def status(self) -> str:
        """The counts of cells: `3 staged, 1 refused, 1 dangerous`."""
        sheet = self.sheet
        counts = (
            ("staged", len(sheet.changes())),
            ("refused", len(sheet.refused())),
            ("dangerous", len(sheet.dangers())),
        )
        return ", ".join(f"{count:,} {word}" for word, count in counts if count) or "nothing is staged"


def _moved_text(moved: Sequence[Change]) -> str:
    first, *more = moved
    others = f", and {len(more):,} more" if more else ""
    return f"{first.key} of {first.resource} was changed on the cluster since it was read{others}: see the plan"
