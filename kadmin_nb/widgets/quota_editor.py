"""The quota editor: the sheet of quotas in a grid, what each edit means beside it, and the plan of what is staged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..model.entity import Entity
from .quota_preview import preview
from .quota_sheet import QuotaSheet
from .quota_table import StoredQuotas
from .sheet import Result
from .stage_editor import StageEditor

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.stage import Stage


class QuotaEditor(StageEditor):
    """Quotas as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    read
        Gives the quotas as they are stored now.
    stage
        Takes the edits.
    """

    what_rows_are = "entities with quotas"
    filter_words = "alice, user~=team-*"
    row_choices = (
        ("all rows", "all"),
        ("staged", "staged"),
        ("refused", "refused"),
        ("dangerous", "dangerous"),
        ("shadowed", "shadowed"),
    )

    def __init__(self, read: Callable[[], StoredQuotas], stage: Stage) -> None:
        self._read = read
        self.sheet: QuotaSheet = QuotaSheet(read(), stage)
        super().__init__(stage)

    def to_arrow(self) -> pa.Table:
        """QUOTAS as they were read, without what is staged."""
        return self.sheet.stored.shown

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.sheet.stored.shown]

    def _parts_below(self) -> Sequence[Any]:
        from .controls import EntityForm

        self._form = EntityForm(self._add)
        return [self._form.widget]

    def read_again(self) -> Result:
        return self.sheet.read(self._read())

    def _add(self, read_entity: Callable[[], Entity]) -> None:
        def add() -> None:
            position = self.sheet.add(entity := read_entity())
            key = next(column.name for column in self.sheet.columns if column.is_editable)
            self._form.clear()
            self._grid.move_to(position, key)
            self._grid.notify(Result(f"{entity}: type a limit"))

        self._try(add)

    def remarks(self) -> list[Block]:
        from ..frames.blocks import Title

        name, key = self._focus or ("", "")
        if not any(column.name == key and column.is_editable for column in self.sheet.columns):
            return ["Choose a cell to see what applies."]
        try:
            entity, stored = Entity.parse(name), self.sheet.stored
        except UsageError:  # the short form of a long name, of a row that has moved meanwhile
            return ["The rows have changed: choose the cell again to see what applies."]
        lines = preview(entity, key, stored.quotas, self.sheet.changes(), stored.brokers)
        refusal = self.sheet.refused().get((entity, key))
        refused = [("refused", refusal.reason)] if refusal else []
        rows = [{"effect": about, "message": text} for about, text in (*refused, *lines)]
        return [Title(f"{key} of {entity}"), *([pa.Table.from_pylist(rows)] if rows else ["No rule is known for it."])]
