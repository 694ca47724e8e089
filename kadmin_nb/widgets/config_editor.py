"""The config editor: the sheet of configs in a grid, beside it the config in focus, below it the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable, printable_lines
from ..frames import schemas
from ..frames.blocks import NOTEBOOK, Block, Page, Title
from ..hints import magic
from ..model.changes import SET, Change
from ..model.config_values import ConfigValue
from ..plans.advice import same_stores
from .config_cells import ConfigCell, ShownState
from .config_sheet import ConfigSheet
from .config_table import ConfigTable
from .sheet import Result
from .stage_editor import StageEditor
from .staged_sheet import Refused

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..model.resources import Resource
    from ..plans.stage import Stage


def details(cell: ConfigCell, state: ShownState, documentation: str | None) -> list[Block]:
    """Paragraphs and a table; texts of a cluster are text in them."""
    title = Title(printable(cell.name))
    sentences = [*map(printable, _sentences(cell, state))]
    description = [printable_lines(documentation)] if documentation else []
    return [title, "\n".join(sentences), *_synonyms_table(cell), *description]


def _same_again(config: ConfigValue) -> Change:
    """The value that is set, set again: typed in its cell it is not an edit."""
    own = None if config.is_sensitive else config.own
    return Change(1, SET, config.resource, config.key, old=own, wanted=own, after=own)


def _sentences(cell: ConfigCell, state: ShownState) -> Iterator[str]:
    if isinstance(state, Refused):
        yield f"Not staged: {state.reason}"
    elif state is not None:
        yield f"Staged: {cell.words(state)}."
        if state.change.is_refused:
            yield f"Refused: {state.change.refusal}"
        if state.danger:
            yield f"Danger: {state.danger}."
    if cell.lock:
        yield f"It cannot be edited: {cell.lock}."
    if cell.is_secret:
        yield "A secret. Brokers never show its value, and it is set only by reference, such as env:NAME."
    if cell.has_own:
        fallback = cell.fallback_text
        yield "The value after a reset is not known here." if fallback is None else f"Without it: {fallback}."
    if state is None and (same := same_stores([_same_again(cell.config)])):
        yield same.at(magic)


def _synonyms_table(cell: ConfigCell) -> Iterator[Block]:
    """Every place with a value, the one that applies first; of a secret the places alone."""
    rows: list[dict[str, object]] = [{"source": s.source, "key": s.key, "value": s.text} for s in cell.config.synonyms]
    if rows:
        yield schemas.table(schemas.CONFIGS, rows).select(["source", "key", "value"])


class ReadsConfigs(Protocol):
    """The source of a table of configs: `config_table.ConfigReader` of a cluster, or a frame."""

    def read(self) -> ConfigTable:
        """The configs as they are now."""

    def documentation(self, resource: Resource, key: str) -> str | None:
        """Kafka's description of a key, as plain text."""


class ConfigEditor(StageEditor):
    """Configs as a spreadsheet over a stage: what is typed is staged, planned and applied as from a line.

    Parameters
    ----------
    reader
        Reads the configs.
    stage
        Takes the edits.
    """

    what_rows_are = "configs"
    filter_words = "retention, topic~=orders-*"
    row_choices = (
        ("all rows", "all"),
        ("set", "set"),
        ("staged", "staged"),
        ("refused", "refused"),
        ("dangerous", "dangerous"),
    )

    def __init__(self, reader: ReadsConfigs, stage: Stage) -> None:
        self._reader = reader
        self.sheet: ConfigSheet = ConfigSheet(reader.read(), stage)
        super().__init__(stage)

    def to_arrow(self) -> pa.Table:
        """CONFIGS as they were read, without what is staged."""
        return self.sheet.configs

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        configs = self.sheet.configs
        is_failed = pc.is_valid(configs["error"])
        return [pa.concat_tables([configs.filter(is_failed), configs.filter(pc.invert(is_failed))])]

    def read_again(self) -> Result:
        return self.sheet.read(self._reader.read())

    def remarks(self) -> list[Block]:
        focused = self.sheet.cell(self._focus[0]) if self._focus else None
        if focused is None:
            return ["Choose a row to see where its value comes from."]
        cell, state = focused
        return details(cell, state, self._reader.documentation(cell.config.resource, cell.config.key))
