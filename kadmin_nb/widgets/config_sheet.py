"""The sheet of configs: a row per resource and key, over a stage; what is set stands above what is not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..frames.blocks import BADGE, NAME
from ..frames.blocks import KEY as KEY_LOOK
from ..frames.meanings import word
from ..model.resources import Resource
from ..plans.kinds import CONFIGS
from ..plans.observed_state import ObservedState
from ..plans.stage import Stage
from .config_cells import ConfigCell, row_name
from .config_table import ConfigTable, ConfigTarget
from .sheet import Arrangement, CellText, Column, Page, Result
from .staged_sheet import CellState, ShownState, StagedSheet, matching_configs

RESOURCE, KEY, VALUE, SOURCE = "resource", "key", "value", "source"

_COLUMNS = (
    Column(KEY, "key", KEY_LOOK),
    Column(VALUE, "value", is_editable=True, is_sortable=False, hint="the value that applies; empty it to reset"),
    Column(SOURCE, "source", BADGE, hint="where the value was set"),
)


class ConfigSheet(StagedSheet[Resource]):
    """Configs as they are set, with what is staged for them; of one resource its name is not repeated in each row."""

    kind = CONFIGS
    what_rows_are = "configs"
    filter_words = "retention, topic~=orders-*"
    own_choice = "set"

    def __init__(self, table: ConfigTable, stage: Stage) -> None:
        super().__init__(stage)
        self._table = table
        self._order = self._arranged(self._arrangement)
        self._follow_stage()
        resources = self._table.resources.unique().to_pylist()
        self._only = resources[0] if len(resources) == 1 else None
        self.columns = _COLUMNS if self._only else (Column(RESOURCE, "resource", NAME), *_COLUMNS)
        self.label = f"Configs of {self._only}" if self._only else "Configs"

    def to_arrow(self) -> pa.Table:
        return self._table.configs

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            shown = self._shown_states()
            cells = self._table.cells(self._rows(first, count))
            pairs = [(cell, shown.get((cell.config.resource, cell.config.key))) for cell in cells]
            names = [column.name for column in self.columns]
            value = names.index(VALUE)
            texts = [self._texts(*pair) for pair in pairs]
            return Page(
                first,
                self.keys(first, count),
                [[row[name] for row in texts] for name in names],
                [*filter(None, (cell.mark(n, value, state) for n, (cell, state) in enumerate(pairs)))],
                [cell.editor(n, value, state) for n, (cell, state) in enumerate(pairs)],
            )

    def cell(self, name: str) -> tuple[ConfigCell, ShownState] | None:
        """The config of the row of that name, and what its cell shows; None where there is no such row."""
        with self._lock:
            row = self._table.position(name)
            if row is None:
                return None
            cell = self._table.cells([row])[0]
            return cell, self._shown_states().get((cell.config.resource, cell.config.key))

    def read(self, stored: ConfigTable) -> Result:
        with self._lock:
            moved = self._table.differences(stored)
            self._table, self._judged = stored, None
            self._show_targets([*self._overlay()])
            self._order = self._arranged(self._arrangement)
        self._changed()
        return Result(f"reloaded: {moved:,} changed" if moved else "reloaded: nothing has changed")

    # -- rows

    def _all_names(self) -> pa.Array:
        return self._table.names

    def _name_of(self, target: ConfigTarget) -> str:
        return row_name(*target)

    def _own_flags(self) -> np.ndarray:
        return self._table.is_set

    def _arranged(self, arrangement: Arrangement) -> np.ndarray:
        fits = matching_configs(self._table.names, self._table.configs, arrangement.words) & self._flags(
            arrangement.show
        )
        rows = np.flatnonzero(fits)
        if arrangement.column is None:
            return np.concatenate([rows[self._table.is_set[rows]], rows[~self._table.is_set[rows]]])
        columns = {
            RESOURCE: self._table.resources,
            KEY: self._table.keys,
            SOURCE: self._table.configs[SOURCE].cast(pa.string()).combine_chunks(),
        }
        if arrangement.column not in columns:
            raise UsageError(f"rows cannot be sorted by {arrangement.column}")
        order = "descending" if arrangement.descending else "ascending"
        texts = columns[arrangement.column].take(pa.array(rows))
        sorted_rows: np.ndarray = rows[np.asarray(pc.array_sort_indices(texts, order=order))]
        return sorted_rows

    def _show_targets(self, targets: Collection[ConfigTarget]) -> None:
        new = [target for target in targets if self._table.position(row_name(*target)) is None]
        if new:
            self._table, self._judged = self._table.with_rows(new), None
            self._order = np.concatenate([np.arange(len(new)), self._order + len(new)])

    # -- cells

    def _observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        return self._table.observed_state(targets)

    def _targets(self, cells: Sequence[CellText]) -> list[tuple[ConfigTarget, CellText]]:
        """The target of each cell; all of them are checked before the first is changed."""
        if strange := next((cell.column for cell in cells if cell.column != VALUE), None):
            raise UsageError(f"the column {strange} cannot be edited")
        targets = self._table.targets(self._table.rows_of(cell.key for cell in cells))
        return [*zip(targets, cells, strict=True)]

    def _states_of(self, texts: Mapping[ConfigTarget, str]) -> dict[ConfigTarget, CellState]:
        cells = self._table.cells(self._table.rows_of(row_name(*target) for target in texts))
        return {target: cell.read(text) for (target, text), cell in zip(texts.items(), cells, strict=True)}

    def _texts(self, cell: ConfigCell, state: ShownState) -> dict[str, str]:
        """The texts of a row by their columns."""
        config, resource = cell.config, str(cell.config.resource)
        if cell.refusal is not None:
            return {RESOURCE: resource, KEY: "", VALUE: "not read", SOURCE: cell.refusal.code}
        key = config.key if self._only in (None, resource) else cell.name  # another one that was staged meanwhile
        source = "" if config.source is None else word(config.source)
        return {RESOURCE: resource, KEY: key, VALUE: cell.text(state), SOURCE: source}
