"""An answer as a table to sort and search."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.resolution.tree import tree
from kadmin_nb.widgets.messages import page_message
from kadmin_nb.widgets.sheet import Arrangement
from kadmin_nb.widgets.table_sheet import AnswerPanel, TableSheet, is_long
from tests.hostile_names import HOSTILE
from tests.widgets.stored_quotas import RATE, quotas

LIMITS = {"user=bob": "9MB/s", "user=alice": "10MB/s", "user=carol client-id=app": "80kB/s"}


def column(sheet: TableSheet, heading: str) -> tuple[str, ...]:
    """The texts of a column, as the rows stand now."""
    at = [one.label for one in sheet.columns].index(heading)
    return tuple(sheet.page(0, len(sheet)).cells[at])


def sort(sheet: TableSheet, heading: str, *, descending: bool = False, words: str = "") -> None:
    name = next(one.name for one in sheet.columns if one.label == heading)
    sheet.arrange(Arrangement(name, descending, words))


def test_numbers_are_sorted_by_value() -> None:
    """10 MB/s stood before 9 MB/s, and 80 kB/s after both."""
    sheet = TableSheet(quotas(LIMITS))
    sort(sheet, "producer")
    assert column(sheet, "producer") == ("80 kB/s", "9 MB/s", "10 MB/s")
    sort(sheet, "producer", descending=True)
    assert column(sheet, "producer") == ("10 MB/s", "9 MB/s", "80 kB/s")
    sheet.arrange(Arrangement())
    assert column(sheet, "who") == tuple(quotas(LIMITS)["entity"].to_pylist())


CONFIGS = [("a", "900"), ("b", "delete"), ("c", None), ("d", "1000"), ("e", "compact")]


@pytest.mark.parametrize(
    ("descending", "values"),
    [(False, ["900", "1000", "compact", "delete", ""]), (True, ["delete", "compact", "1000", "900", ""])],
)
def test_numbers_among_texts_are_sorted_by_value_and_nothing_comes_last(descending: bool, values: list[str]) -> None:
    """Values of configs are texts to Kafka; those that are not set stood before all others."""
    base = {"resource_type": "TOPIC", "resource_name": "orders", "source": "DYNAMIC_TOPIC_CONFIG"}
    sheet = TableSheet(schemas.table(schemas.CONFIGS, [{**base, "key": key, "value": value} for key, value in CONFIGS]))
    sort(sheet, "value", descending=descending)
    assert column(sheet, "value") == tuple(values)


@pytest.mark.parametrize(
    "values",
    [
        [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 10)],
        [False, True],
        [Decimal("1.5"), Decimal("2.5")],
        ["9", "10", "b"],
        [[1], [2]],
    ],
    ids=["times", "flags", "decimals", "texts", "lists"],
)
def test_columns_of_any_type_are_sorted(values: list[Any]) -> None:
    sheet = TableSheet(pa.table({"n": [*values[::-1], None]}))
    sort(sheet, "n")
    up = column(sheet, "n")
    sort(sheet, "n", descending=True)
    assert column(sheet, "n") == (*up[-2::-1], up[-1])
    assert up == tuple(TableSheet(pa.table({"n": [*values, None]})).page(0, 9).cells[0])


@pytest.mark.parametrize(
    ("words", "users"),
    [
        ("ALICE", ["user=alice"]),
        ("10 MB", ["user=alice"]),
        ("app kB", ["user=carol client-id=app"]),
        ("alice bob", []),
        ("  ", ["user=alice", "user=bob", "user=carol client-id=app"]),
    ],
)
def test_a_search_finds_any_part_of_what_a_row_shows(words: str, users: list[str]) -> None:
    """I searched for a limit as it is written there, and it found no row."""
    sheet = TableSheet(quotas(LIMITS))
    sort(sheet, "who", words=words)
    assert column(sheet, "who") == tuple(users)


def test_a_row_keeps_its_key_and_shows_a_long_cell_whole() -> None:
    sheet = TableSheet(quotas({"user=bob": "1MB/s", f"user={'a' * 60}": "2MB/s"}))
    sort(sheet, "producer", descending=True)
    who = next(one.name for one in sheet.columns if one.label == "who")
    [first, _], whole = sheet.keys(0, 2), {sheet.whole(key, who) for key in sheet.keys(0, 2)}
    assert first == "row 2"
    assert whole == {"", f"who: user={'a' * 60}"}
    assert {sheet.whole(*strange) for strange in [("row 3", who), ("row 0", who), ("row x", who), ("row 1", "9")]} == {
        ""
    }


def test_names_are_shown_as_in_any_other_table() -> None:
    """A client-id with a line feed in it was two rows."""
    names = [name for name in HOSTILE if "\x00" not in name]
    sheet = TableSheet(pa.table({"name": names, "n": range(len(names))}))
    texts = page_message(sheet.page(0, len(sheet)))["cells"]
    assert all(text.isprintable() for column in texts for text in column)


def test_a_hundred_thousand_rows_stay_cheap() -> None:
    """The page waited for a table of which it shows twenty rows."""
    rows = 100_000
    table = pa.table(
        {"entity": [f"user=u{n}" for n in range(rows)], "key": [RATE] * rows, "value": [float(n) for n in range(rows)]}
    )
    begun = time.process_time()
    sheet = TableSheet(table)
    for first in range(0, rows, 1000):
        sheet.page(first, 100)
    assert time.process_time() - begun < 3
    sort(sheet, "value", descending=True, words="u9")
    assert column(sheet, "entity")[:1] == ("user=u99999",)
    assert time.process_time() - begun < 6


def limits(rows: int) -> Answer:
    return Answer(quotas({f"user=u{n:03}": f"{n + 1}MB/s" for n in range(rows)}))


@pytest.mark.parametrize(("rows", "long"), [(20, False), (21, True)])
def test_what_fits_on_a_screen_stays_as_it_is(rows: int, long: bool) -> None:
    assert AnswerPanel(limits(rows)).is_used is long


def test_a_tree_is_read_from_its_top() -> None:
    stored = limits(30).to_arrow()
    assert is_long(stored)
    assert not is_long(tree(stored))


def test_title_and_footer_stand_around_the_table() -> None:
    widget: Any = AnswerPanel(limits(30)).widget
    above, box, grid, _, _ = widget.children
    assert "30 quotas" in above.value
    assert (grid.first_page["total"], grid.label) == (30, "30 quotas on 30 entities")
    box.value = "u01"
    assert len(grid._sheet) == 10
