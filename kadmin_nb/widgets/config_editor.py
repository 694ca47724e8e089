"""The config editor: the sheet of configs in a grid, beside it the config in focus, below it the plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.pages import NOTEBOOK, Page
from .config_details import details
from .config_sheet import ConfigSheet
from .config_table import ConfigTable
from .sheet import Result
from .stage_editor import StageEditor

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..model.resources import Resource
    from ..plans.stage import Stage


class ReadsConfigs(Protocol):
    """The source of a table of configs: `config_reader.ConfigReader` of a cluster, or a frame."""

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

    filter_words = "topic~=orders-*"
    row_choices = (
        ("all rows", "all"),
        ("set", "set"),
        ("staged", "staged"),
        ("refused", "refused"),
        ("dangerous", "dangerous"),
    )

    def __init__(self, reader: ReadsConfigs, stage: Stage) -> None:
        self._reader = reader
        self.sheet = ConfigSheet(reader.read(), stage)
        super().__init__(self.sheet, stage)

    def to_arrow(self) -> pa.Table:
        """CONFIGS as they were read, without what is staged."""
        return self.sheet.configs

    def title(self) -> str:
        staged = f", {len(self.stage)} staged" if len(self.stage) else ""
        return f"{len(self.sheet):,} configs{staged}"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
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
