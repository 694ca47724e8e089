"""The quota editor: the sheet of quotas in a grid, what each edit means beside it, and the plan of what is staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import KadminError, UsageError
from ..frames.pages import NOTEBOOK, Page
from ..model.entity import Entity
from .latest import Latest
from .panel import Panel
from .quota_preview import preview
from .quota_sheet import QuotaSheet
from .quota_table import StoredQuotas
from .sheet import Result

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan
    from ..plans.stage import Stage

ROW_CHOICES = [
    ("all rows", "all"),
    ("staged", "staged"),
    ("refused", "refused"),
    ("dangerous", "dangerous"),
    ("shadowed", "shadowed"),
]


class QuotaEditor(Panel):
    """Quotas as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    read
        Gives the quotas as they are stored now.
    stage
        Takes the edits.
    """

    def __init__(self, read: Callable[[], StoredQuotas], stage: Stage) -> None:
        self._read, self.stage = read, stage
        self.sheet = QuotaSheet(read(), stage)
        self.plan: Plan | None = None
        self._cell: tuple[Entity, str] | None = None

    def title(self) -> str:
        staged = f", {len(self.stage)} staged" if len(self.stage) else ""
        return f"{len(self.sheet):,} entities with quotas{staged}"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.sheet.stored.shown]

    def build(self) -> Any:
        from . import controls
        from .entity_form import EntityForm
        from .grid import Grid

        self._controls = controls
        self._grid = Grid(self.sheet, static_id=self.static_id)
        self._grid.focused, self._grid.discard = self._focused, self.sheet.discard
        self._counts, self._remarks = controls.paragraphs(), controls.paragraphs()
        self._below = controls.column()
        self._form = EntityForm(self._add)
        self._background = Latest(self._describe)
        self.sheet.watch(self._background.ask)
        self._background.ask()
        table = controls.beside(self._grid, self._remarks)
        return controls.column(self._bar(), table, self._counts, self._form.widget, self._below)

    def _bar(self) -> Any:
        button, tell = self._controls.button, self._grid.notify
        return self._controls.row(
            self._controls.text("filter: user~=team-* or a part of a name", width="20em", act=self._filter),
            self._controls.choice(ROW_CHOICES, lambda show: self._try(lambda: self._grid.arrange(show=show))),
            button("Undo", lambda: tell(self.sheet.undo()), hint="Ctrl-Z"),
            button("Redo", lambda: tell(self.sheet.redo()), hint="Ctrl-Y"),
            button("Discard cells", self._discard_selected, hint="unstage the selected cells: Ctrl-Backspace"),
            button(
                "Discard all", lambda: tell(self.sheet.discard()), hint="unstage every quota; undo brings them back"
            ),
            button("Read again", lambda: self._try(self._read_again), hint="the quotas as they are on the cluster now"),
            button("Plan", lambda: self._try(self._plan), style="primary", hint="what it means; nothing is sent"),
        )

    # -- actions

    def _filter(self, words: str) -> None:
        self._try(lambda: self._grid.arrange(words=words))

    def _discard_selected(self) -> None:
        self._try(lambda: self._grid.notify(self._grid.discard_selected()))

    def _add(self, read_entity: Callable[[], Entity]) -> None:
        def add() -> None:
            position = self.sheet.add(entity := read_entity())
            key = next(column.name for column in self.sheet.columns if column.is_editable)
            self._form.clear()
            self._grid.move_to(position, key)
            self._grid.notify(Result(f"{entity}: type a limit"))

        self._try(add)

    def _read_again(self) -> None:
        self._grid.notify(self.sheet.read(self._read()))

    def _plan(self) -> None:
        if refused := self.sheet.refused():
            entity, key = next(iter(refused))
            raise UsageError(
                f"{len(refused)} cells do not fit, {key} of {entity} among them", hint="Mend or discard them."
            )
        self.plan = self.stage.plan()
        review: Any = self.plan.review()
        review.applied = self._applied
        self._below.children = [review.widget]
        if moved := self.sheet.changed_since_read(self.plan.changes):
            self._grid.notify(Result(_moved_text(moved), ok=False))

    def _applied(self, outcomes: Outcomes) -> None:
        """Show what the cluster holds after a plan was applied."""
        self._try(self._read_again)

    def _try(self, act: Callable[[], None]) -> None:
        """Do it; a refusal is one line below the grid."""
        try:
            act()
        except KadminError as exc:
            self._grid.notify(Result(" ".join(filter(None, [str(exc), exc.hint])), ok=False))

    # -- beside the grid

    def _focused(self, key: str, column: str) -> None:
        is_quota = any(known.name == column and known.is_editable for known in self.sheet.columns)
        self._cell = (Entity.parse(key), column) if is_quota else None
        self._background.ask()

    def _describe(self) -> None:
        """Say how much is staged, and what the cell in focus means."""
        self._controls.rewrite(self._counts, self.status())
        self._controls.rewrite(self._remarks, *self.remarks())

    def status(self) -> str:
        """The counts of cells: `3 staged, 1 refused, 1 dangerous`."""
        counts = (
            ("staged", len(self.sheet.changes())),
            ("refused", len(self.sheet.refused())),
            ("dangerous", len(self.sheet.dangers())),
        )
        return ", ".join(f"{count:,} {word}" for word, count in counts if count) or "nothing is staged"

    def remarks(self) -> list[Block]:
        """The meaning of the cell in focus, as far as plans can say before they are made."""
        from ..frames.blocks import Title

        if self._cell is None:
            return ["Choose a cell to see what applies."]
        (entity, key), stored = self._cell, self.sheet.stored
        lines = preview(entity, key, stored.quotas, self.sheet.changes(), stored.brokers)
        refusal = self.sheet.refused().get((entity, key))
        refused = [("refused", refusal.reason)] if refusal else []
        rows = [{"effect": about, "message": text} for about, text in (*refused, *lines)]
        return [Title(f"{key} of {entity}"), *([pa.Table.from_pylist(rows)] if rows else ["No rule is known for it."])]


def _moved_text(moved: Iterable[Any]) -> str:
    first, *more = moved
    others = f", and {len(more):,} more" if more else ""
    return f"{first.key} of {first.resource} was changed on the cluster since it was read{others}: see the plan"
