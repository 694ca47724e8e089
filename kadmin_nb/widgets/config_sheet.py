"""The sheet of configs: a row per resource and key, over a stage; what is set stands above what is not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..frames.blocks import BADGE, NAME
from ..frames.blocks import KEY as KEY_LOOK
from ..model.resources import Resource
from ..plans.kinds import CONFIGS
from ..plans.observed_state import ObservedState
from ..plans.stage import Stage
from .config_cells import ConfigCell
from .config_table import ConfigTable, ConfigTarget
from .sheet import CellText, Column
from .staged_sheet import StagedSheet

RESOURCE, KEY, VALUE, SOURCE = "resource", "key", "value", "source"

_COLUMNS = (
    Column(KEY, "key", KEY_LOOK),
    Column(VALUE, "value", is_editable=True, is_sortable=False, hint="the value that applies; empty it to reset"),
    Column(SOURCE, "source", BADGE, hint="where the value was set"),
)


class ConfigSheet(StagedSheet[Resource, ConfigCell]):
    """Configs as they are set, with what is staged for them; of one resource its name is not repeated in each row."""

    kind = CONFIGS
    what_rows_are = "configs"
    filter_words = "retention, topic~=orders-*"
    own_choice = "set"
    _table: ConfigTable

    def __init__(self, table: ConfigTable, stage: Stage) -> None:
        super().__init__(table, stage)
        resources = self._table.resources.unique().to_pylist()
        self._only = resources[0] if len(resources) == 1 else None
        self.columns = _COLUMNS if self._only else (Column(RESOURCE, "resource", NAME), *_COLUMNS)
        self.label = f"Configs of {self._only}" if self._only else "Configs"

    def to_arrow(self) -> pa.Table:
        return self._table.configs

    def cell(self, name: str, column: str = VALUE) -> ConfigCell | None:
        return super().cell(name, VALUE)

    def _cells(self, rows: np.ndarray, names: Sequence[str]) -> list[Sequence[str | ConfigCell]]:
        shown = self._shown_states()
        read = self._table.cells(rows)
        cells = [replace(cell, state=shown.get((cell.config.resource, cell.config.key))) for cell in read]
        texts: dict[str, Sequence[str | ConfigCell]] = {
            RESOURCE: [str(cell.config.resource) for cell in cells],
            # another resource that was staged meanwhile says whose key it is
            KEY: [cell.config.key if self._only in (None, str(cell.config.resource)) else cell.name for cell in cells],
            VALUE: cells,
            SOURCE: [cell.source for cell in cells],
        }
        return [texts[column.name] for column in self.columns]

    def _sort_keys(self, column: str) -> Any:
        return {RESOURCE: self._table.resources, KEY: self._table.keys, SOURCE: self._table.sources}[column]

    def _stored_cells(self, targets: Sequence[ConfigTarget]) -> list[ConfigCell]:
        return self._table.cells([*self._table.rows_of(map(self._table.name_of, targets)).values()])

    def _targets(self, cells: Sequence[CellText]) -> list[ConfigTarget]:
        rows = self._table.rows_of(cell.key for cell in cells)
        return self._table.targets([rows[cell.key] for cell in cells])

    def _observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        return self._table.observed_state(targets)
