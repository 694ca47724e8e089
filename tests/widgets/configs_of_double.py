"""A config editor's sheet over the double, and the messages that a page would send to it and get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kadmin_nb.model.changes import Target
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.stage import Stage, edits_of
from kadmin_nb.widgets.config_sheet import ConfigSheet, ConfigTable
from kadmin_nb.widgets.editor import ConfigEditor
from kadmin_nb.widgets.sheet import Arrangement, CellText, Mark, Page, Result
from tests.double import FakeKafka

STORED = {
    ("topic=orders", "cleanup.policy"): "compact",
    ("topic=orders", "delete.retention.ms"): "3600000",
    ("topic=orders", "retention.ms"): "86400000",
    ("broker=<default>", "num.network.threads"): "5",
    ("broker=1", "ssl.keystore.password"): "stored-canary",
}


def empty_stage() -> Stage:
    """A stage of which nothing is planned."""
    return Stage(lambda *edits: pytest.fail("nothing is planned here"))


def kafka_with(stored: Mapping[tuple[str, str], str] = STORED) -> FakeKafka:
    """A cluster of one broker where these configs are set, and the topics `orders` and `other` are."""
    kafka = FakeKafka(1)
    kafka.cluster.topics |= {"orders", "other"}
    for (resource, key), text in stored.items():
        whose = Resource.parse(resource)
        kafka.cluster.topics |= {whose.name} if whose.type == "TOPIC" else set()
        kafka.cluster.write((whose, key), text)
    kafka.sleep(1)  # until the broker has them
    return kafka


class Sheet:
    """The sheet of a few resources, by the names of its rows."""

    def __init__(self, *resources: str, stage: Stage | None = None, kafka: FakeKafka | None = None) -> None:
        chosen = [Resource.parse(resource) for resource in resources or ("topic=orders", "topic=other")]
        self.kafka = kafka or kafka_with()
        self.stage = empty_stage() if stage is None else stage
        self.editor = ConfigEditor(lambda: ConfigTable.read(self.kafka, chosen), self.stage)
        self.sheet: ConfigSheet = self.editor.sheet

    def page(self) -> Page:
        return self.sheet.page(0, 1000)

    def rows(self) -> dict[str, list[str]]:
        """The texts of each row, in their order."""
        page = self.page()
        return {key: [column[n] for column in page.cells] for n, key in enumerate(page.keys)}

    def value(self, name: str) -> str:
        return self.rows()[name][[column.name for column in self.sheet.columns].index("value")]

    def mark(self, name: str) -> Mark:
        """The mark of a row's value; one without a state where it has none."""
        page = self.page()
        return next((mark for row, _, mark in page.marks if page.keys[row] == name), Mark(""))

    def type(self, name: str, text: str) -> Result:
        return self.sheet.edit([CellText(0, name, "value", text)])

    def staged(self, name: str) -> tuple[str, str | None] | None:
        """The operation and the value that are staged for a row."""
        edits: dict[Target, Any] = dict(edits_of(self.stage).staged())
        return next(((e.op, e.value) for e in edits.values() if f"{e.resource} {e.key}" == name), None)

    def arrange(self, **changes: Any) -> list[str]:
        """The rows that are shown then."""
        self.sheet.arrange(Arrangement(**changes))
        return [*self.rows()]
