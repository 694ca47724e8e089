"""The details beside a table of configs: texts of a cluster are text in them."""

from __future__ import annotations

import json
from typing import Any

from kadmin_nb.frames.markup import document
from kadmin_nb.model.config_values import choices
from kadmin_nb.widgets.grid import Grid
from tests.widgets.configs_of_double import Sheet, kafka_with

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


def remarks(sheet: Sheet, name: str) -> str:
    sheet.editor._focus = (name, "value")
    return document(*sheet.editor.remarks())


def test_the_details_say_where_a_value_comes_from_and_what_the_edit_does() -> None:
    """I had to run describe beside the table to see who else sets the key."""
    sheet = Sheet()
    sheet.type("topic=orders min.insync.replicas", "2")
    sheet.type("topic=orders cleanup.policy", "compact,delete")
    text = remarks(sheet, "topic=orders cleanup.policy")
    assert "set compact,delete; compact becomes compact,delete" in text
    assert "dynamic topic" in text


def test_names_values_and_documentation_are_text() -> None:
    """A value with a tag in it became a picture in my notebook."""
    sheet = Sheet("client-metrics=cm", "group=g", kafka=kafka_with({("client-metrics=cm", "match"): HOSTILE}))
    text = remarks(sheet, "client-metrics=cm match")
    assert "&lt;img src=" in text
    assert "<img" not in text
    assert "\u202e" not in text


def test_a_value_that_a_cell_cannot_edit_whole_is_locked() -> None:
    """I edited one replica of a throttle of ten thousand, and the rest of the list was gone."""
    throttled = ",".join(f"{n}:{n}" for n in range(5_000))
    key = "leader.replication.throttled.replicas"
    sheet = Sheet(kafka=kafka_with({("topic=orders", key): throttled, ("client-metrics=cm", "match"): "a\nb"}))
    assert "too long" in sheet.mark(f"topic=orders {key}").note
    assert not sheet.type(f"topic=orders {key}", "1:1").ok


def test_a_page_of_long_values_is_a_message_of_bounded_size() -> None:
    """Databricks dropped the page of the throttled topics, and the table stayed empty."""
    values = {(f"topic=t{n}", "leader.replication.throttled.replicas"): "1:1," * 1_000 + "2:2" for n in range(100)}
    sheet = Sheet(*(resource for resource, _ in values), kafka=kafka_with(values))
    first_page: Any = Grid(sheet.sheet).first_page
    assert len(json.dumps(first_page).encode()) < 100_000
    assert {editor[2] for editor in first_page["editors"]} == {"locked"}


def test_choices_are_offered_where_values_are_few() -> None:
    """Levels of loggers were free text."""
    assert choices("BROKER_LOGGER", None)[0] == "TRACE"
    assert choices("TOPIC", "BOOLEAN") == ("true", "false")
    assert choices("TOPIC", "LIST") == choices("TOPIC", "LONG") == ()


def test_a_terminal_gets_the_table_and_no_secret() -> None:
    """In a plain IPython the editor printed the name of a class."""
    text = Sheet("topic=orders", "broker=1").editor.as_text()
    assert text.splitlines()[0] == f"{len(Sheet('topic=orders', 'broker=1').sheet)} configs"
    assert "86400000 (1 d)" in text
    assert "stored-canary" not in text
