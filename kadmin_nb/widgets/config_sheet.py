"""The sheet of configs: a row a resource and key, over a stage; what is set stands above what is not."""

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
from .config_cells import ConfigCell, ShownState, row_name
from .config_table import ConfigTable, ConfigTarget
from .row_filter import matching_configs
from .sheet import Arrangement, CellText, Column, Page, Result
from .staged_sheet import CellState, Judgement, Refused, StagedSheet

RESOURCE, KEY, VALUE, SOURCE, FALLBACK, TYPE, FLAGS = "resource", "key", "value", "source", "fallback", "type", "flags"

CONFIG_COLUMNS = (
    Column(RESOURCE, "resource", NAME),
    Column(KEY, "key", KEY_LOOK),
    Column(VALUE, "value", is_editable=True, is_sortable=False, hint="the value that applies; empty it to reset"),
    Column(SOURCE, "source", BADGE, hint="where the value was set"),
    Column(FALLBACK, "without it", is_sortable=False, hint="the value that applies after a reset"),
    Column(TYPE, "type", BADGE),
    Column(FLAGS, "flags", is_sortable=False, hint="read-only, sensitive"),
)
_VALUE_COLUMN = [column.name for column in CONFIG_COLUMNS].index(VALUE)


class ConfigSheet(StagedSheet[Resource]):
    """Configs as they are set, with what is staged for them."""

    label = "Configs"
    columns = CONFIG_COLUMNS

    def __init__(self, table: ConfigTable, stage: Stage) -> None:
        super().__init__(stage, CONFIGS)
        self._table = table
        self._arrangement = Arrangement()
        self._order = self._arranged(self._arrangement)
        self._follow_stage()

    def __len__(self) -> int:
        return len(self._order)

    def keys(self, first: int, count: int) -> list[str]:
        with self._lock:
            return list(self._table.names.take(pa.array(self._rows(first, count))).to_pylist())

    def page(self, first: int, count: int) -> Page:
        with self._lock:
            shown = self._shown_states()
            cells = self._table.cells(self._rows(first, count))
            states = [shown.get(_target(cell)) for cell in cells]
            pairs = [*zip(cells, states, strict=True)]
            columns = [list(column) for column in zip(*(_texts(*pair) for pair in pairs), strict=True)]
            marks = [*filter(None, (cell.mark(n, _VALUE_COLUMN, state) for n, (cell, state) in enumerate(pairs)))]
            editors = [cell.editor(n, _VALUE_COLUMN, state) for n, (cell, state) in enumerate(pairs)]
            return Page(first, self.keys(first, count), columns or [[] for _ in self.columns], marks, editors)

    def cell(self, name: str) -> tuple[ConfigCell, ShownState] | None:
        """The config of the row of that name, and what its cell shows; None where there is no such row."""
        with self._lock:
            row = self._table.position(name)
            if row is None:
                return None
            cell = self._table.cells([row])[0]
            return cell, self._shown_states().get(_target(cell))

    def _shown_states(self) -> dict[ConfigTarget, Judgement | Refused]:
        return {**self._judge(), **self._refused}

    def arrange(self, arrangement: Arrangement) -> None:
        with self._lock:
            self._order = self._arranged(arrangement)
            self._arrangement = arrangement
        self._changed()

    def read(self, table: ConfigTable) -> Result:
        """Take configs that were read anew; what is staged or refused stays."""
        with self._lock:
            moved = self._table.differences(table)
            self._table, self._judged = table, None
            self._show_targets([*self._overlay()])
            self._order = self._arranged(self._arrangement)
        self._changed()
        return Result(f"reloaded: {moved:,} changed" if moved else "reloaded: nothing has changed")

    @property
    def configs(self) -> pa.Table:
        """CONFIGS as they were read last."""
        return self._table.configs

    def _observed_state(self, targets: Collection[ConfigTarget]) -> ObservedState:
        return self._table.observed_state(targets)

    # -- rows

    def _rows(self, first: int, count: int) -> np.ndarray:
        return self._order[max(first, 0) : max(first, 0) + count]

    def _arranged(self, arrangement: Arrangement) -> np.ndarray:
        fits = matching_configs(self._table, arrangement.words) & self._shown(arrangement.show)
        rows = np.flatnonzero(fits)
        if arrangement.column is None:
            return np.concatenate([rows[self._table.is_set[rows]], rows[~self._table.is_set[rows]]])
        order = "descending" if arrangement.descending else "ascending"
        texts = self._column(arrangement.column).take(pa.array(rows))
        sorted_rows: np.ndarray = rows[np.asarray(pc.array_sort_indices(texts, order=order))]
        return sorted_rows

    def _column(self, name: str) -> pa.Array:
        columns = {RESOURCE: self._table.resources, KEY: self._table.keys}
        if name in columns:
            return columns[name]
        if name not in (SOURCE, TYPE):
            raise UsageError(f"rows cannot be sorted by {name}")
        return self._table.configs[name].cast(pa.string()).combine_chunks()

    def _shown(self, show: str) -> np.ndarray:
        """A flag for each row that is of the chosen kind."""
        if show == "set":
            return self._table.is_set
        if (targets := self._targets_to_show(show)) is None:
            return np.ones(len(self._table), dtype=bool)
        names = pa.array([row_name(*target) for target in targets], pa.string())
        return np.asarray(pc.is_in(self._table.names, names), dtype=bool)

    def _show_targets(self, targets: Collection[ConfigTarget]) -> None:
        new = [target for target in targets if self._table.position(row_name(*target)) is None]
        if new:
            self._table, self._judged = self._table.with_rows(new), None
            self._order = np.concatenate([np.arange(len(new)), self._order + len(new)])

    # -- cells

    def _targets(self, cells: Sequence[CellText]) -> list[tuple[ConfigTarget, CellText]]:
        """The target of each cell; all of them are checked before the first is changed."""
        if strange := next((cell.column for cell in cells if cell.column != VALUE), None):
            raise UsageError(f"the column {strange} cannot be edited")
        targets = self._table.targets(self._table.rows_of(cell.key for cell in cells))
        return [*zip(targets, cells, strict=True)]

    def _states_of(self, texts: Mapping[ConfigTarget, str]) -> dict[ConfigTarget, CellState]:
        cells = self._table.cells(self._table.rows_of(row_name(*target) for target in texts))
        return {target: cell.read(text) for (target, text), cell in zip(texts.items(), cells, strict=True)}


def _target(cell: ConfigCell) -> ConfigTarget:
    return cell.config.resource, cell.config.key


def _texts(cell: ConfigCell, state: ShownState) -> list[str]:
    """The texts of a row, column by column."""
    config = cell.config
    if cell.refusal is not None:
        return [str(config.resource), "", "", cell.refusal.code, "", "", "not read"]
    flags = [flag for flag, is_so in (("read-only", config.is_read_only), ("sensitive", cell.is_secret)) if is_so]
    source = "" if config.source is None else word(config.source)
    fallback = cell.fallback_text if cell.has_own else ""
    return [
        *(str(config.resource), config.key, cell.text(state), source),
        *(fallback if fallback is not None else "?", (config.type or "").lower(), ", ".join(flags)),
    ]
