"""The config editor around its grid, without a browser: its line below, its remarks, and its plan."""

from __future__ import annotations

from typing import Any

import pytest

from tests.widgets.configs_of_double import Sheet

RETENTION = "topic=orders retention.ms"


class Page:
    """An editor that is built, and the lines that it has shown."""

    def __init__(self, *resources: str) -> None:
        self.sheet = Sheet(*resources)
        self.editor, self.lines = self.sheet.editor, []
        self.editor.build()
        self.editor._grid.send = self._take

    def _take(self, message: dict[str, Any], buffers: object = None) -> None:
        if message["kind"] == "notice":
            self.lines.append(message["text"])

    def receive(self, **message: Any) -> None:
        self.editor._grid._received(self.editor._grid, {"view": "v", **message}, [])

    def type(self, row: str, text: str) -> None:
        self.receive(kind="edit", cells=[{"position": 0, "key": row, "column": "value", "text": text}])

    def focus(self, row: str) -> str:
        """The lines below the grid."""
        self.receive(kind="focus", position=0, key=row, column="value")
        return "\n".join(self.editor._grid.formula)

    def counts(self) -> list[str]:
        return [label for label, _ in self.editor._choice.widget.options]

    def click(self, label: str) -> None:
        buttons = [child for child in self.editor._toolbar.children if getattr(child, "description", "") == label]
        buttons[0].click()


@pytest.fixture
def page() -> Page:
    return Page()


def test_the_row_in_focus_is_two_lines_below_the_table(page: Page) -> None:
    """I saw a value, and neither who had set it nor what it is for."""
    assert "Choose a cell" in page.focus("topic=nobody retention.ms")
    page.type(RETENTION, "1h")
    first, second = page.focus(RETENTION).splitlines()
    assert first == "topic=orders, retention.ms: 3600000 (1 h), was 86400000 (1 d)"
    assert second.startswith("set 3600000 (1 h); 86400000 (1 d) becomes 3600000 (1 h)")
    assert page.counts()[1:] == ["Staged 1", "Set 3"]


def test_a_plan_waits_until_every_text_fits(page: Page) -> None:
    """I planned with a red cell in the table, and its change was left out without a word."""
    page.type(RETENTION, "soon")
    page.click("Plan")
    assert page.lines[-1].startswith("retention.ms of topic=orders")
    page.click("Discard all")
    assert page.lines[-1] == "Discarded 1 edit. Undo brings it back."
    assert page.counts()[1] == "Staged 0"


def test_the_values_of_now_are_a_click_away(page: Page) -> None:
    """A colleague had changed the topic an hour ago, and my table still showed the old value."""
    page.sheet.stage.set_config("retention.ms", "2d", topic="orders")
    page.click("Read again")
    assert page.lines[-1] == f"reloaded: {len(page.sheet.sheet):,} rows"
    assert page.sheet.value(RETENTION) == "172800000 (2 d)"


@pytest.mark.parametrize(
    "cells",
    [
        [{"position": 0, "key": RETENTION, "column": "source", "text": "x"}],
        [{"position": 0, "key": "topic=nobody retention.ms", "column": "value", "text": "1d"}],
        [{"position": 0, "key": RETENTION, "column": "value", "text": "1" * 2_000_000}],
        [{"position": 0, "key": RETENTION, "column": "value", "text": 7}],
    ],
)
def test_a_message_that_no_page_sends_stages_nothing(page: Page, cells: list[dict[str, Any]]) -> None:
    """Somebody's script wrote to my widget."""
    page.receive(kind="edit", cells=cells)
    assert len(page.lines) == 1
    assert not len(page.sheet.stage)
    page.type(RETENTION, "2d")

    assert len(page.sheet.stage) == 1
