"""What a spreadsheet of quotas says unasked: what applies in an empty cell, what is shadowed, whose row it is."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.stage import Stage
from kadmin_nb.usage import utilisation
from kadmin_nb.widgets import quota_sheet
from kadmin_nb.widgets.quota_sheet import QuotaSheet, StoredQuotas, peaks_of
from kadmin_nb.widgets.sheet import Arrangement, CellText
from tests.widgets.stored_quotas import RATE, all_shown, many_users, quotas

CONSUMER = "consumer_byte_rate"
HOUR = datetime(2026, 11, 25, 12, tzinfo=UTC)
COMPANY: dict[str, Any] = {
    "client-id=<default>": "100kB/s",
    "user=<default>": {RATE: "2MB/s", CONSUMER: "4MB/s"},
    "user=<default> client-id=<default>": "1MB/s",
    "user=alice": {RATE: "500kB/s"},
    "user=alice client-id=notebook": {CONSUMER: "10MB/s"},
    "user=team": {RATE: "20MB/s", CONSUMER: "40MB/s"},
    "user=team client-id=<default>": "5MB/s",
    "ip=<default>": {"connection_creation_rate": "50"},
    "ip=10.0.0.1": {"connection_creation_rate": "5"},
}


def sheet_of(stored: Any) -> QuotaSheet:
    table = all_shown(quotas(stored) if isinstance(stored, dict) else stored)
    return QuotaSheet(table, Stage(lambda *edits: pytest.fail("nothing is planned here")))


def seen(sheet: QuotaSheet, key: str) -> dict[str, str]:
    """The cells of a key as they look: `⊘` before a shadowed one, `~` before what applies where nothing is set."""
    page, column = sheet.page(0, 1000), [column.name for column in sheet.columns].index(key)
    marks = {row: mark for row, at, mark in page.marks if at == column}
    looks = {}
    for row, (name, text) in enumerate(zip(page.keys, page.cells[column], strict=True)):
        mark = marks.get(row)
        before = f"{mark.old} -> " if mark is not None and mark.old else ""
        sign = "⊘ " if mark is not None and mark.state == "shadowed" else ""
        looks[name] = before + (sign + text if text else f"~{mark.applies}" if mark is not None else "")
    return looks


def test_an_empty_cell_says_what_applies_there_and_a_shadowed_one_that_it_does_not() -> None:
    """I saw an empty cell, took it for no limit, and the client was throttled at 1 MB/s."""
    sheet = sheet_of(COMPANY)
    assert seen(sheet, RATE) == {
        "client-id=<default>": "⊘ 100 kB/s",
        "ip=10.0.0.1": "",
        "ip=<default>": "",
        "user=<default>": "⊘ 2 MB/s",
        "user=<default> client-id=<default>": "1 MB/s",
        "user=alice": "500 kB/s",
        "user=alice client-id=notebook": "~500 kB/s",
        "user=team": "⊘ 20 MB/s",
        "user=team client-id=<default>": "5 MB/s",
    }
    assert seen(sheet, CONSUMER)["user=alice"] == "~4 MB/s"
    assert seen(sheet, CONSUMER)["user=team client-id=<default>"] == "~40 MB/s"
    assert seen(sheet, "request_percentage")["user=alice"] == "~unlimited"
    assert seen(sheet, "connection_creation_rate")["ip=10.0.0.1"] == "5/s"


def test_what_is_staged_counts_for_what_applies() -> None:
    """I took a default away, and the cells below it still showed the old one."""
    sheet = sheet_of(COMPANY)
    sheet.edit([CellText(0, "user=alice", RATE, "5"), CellText(0, "user=<default> client-id=<default>", RATE, "")])
    looks = seen(sheet, RATE)
    assert looks["user=alice client-id=notebook"] == "~5 B/s"
    assert looks["user=<default> client-id=<default>"] == "1 MB/s -> ~2 MB/s"
    assert looks["user=<default>"] == "2 MB/s"
    sheet.arrange(Arrangement(show="shadowed"))
    assert [*seen(sheet, RATE)] == ["client-id=<default>", "user=<default>", "user=team"]  # as they are stored


@pytest.mark.parametrize(
    ("arrangement", "indented"),
    [
        ({}, {"user=<default> client-id=<default>", "user=alice client-id=notebook", "user=team client-id=<default>"}),
        ({"words": "client-id"}, set()),
        ({"words": "team"}, {"user=team client-id=<default>"}),
    ],
    ids=["all", "without the users", "one user"],
)
def test_a_client_id_is_below_its_user_and_says_the_rest_of_its_name(
    arrangement: dict[str, str], indented: set[str]
) -> None:
    """Half of each name was the name above it; and where that row was filtered out, I could not tell whose it is."""
    sheet = sheet_of(COMPANY)
    sheet.arrange(Arrangement(**arrangement))
    page = sheet.page(0, 100)
    assert {key for key, text in zip(page.keys, page.indented, strict=True) if text} == indented
    assert {text for text in page.indented if text} <= {"client-id=<default>", "client-id=notebook"}
    for first, key in enumerate(page.keys):  # a page may begin anywhere
        assert bool(sheet.page(first, 1).indented[0]) == (key in indented)


def test_keys_that_nobody_uses_are_rare() -> None:
    """Three of five columns were empty."""
    assert [column.name for column in sheet_of({"user=alice": "1MB/s"}).columns if not column.is_rare] == [
        *("entity", RATE),
    ]
    assert not any(column.is_rare for column in sheet_of({}).columns)


def test_the_limit_of_a_cell_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page worked out what applies three times over."""
    sheet, asked = sheet_of(COMPANY), []
    real = quota_sheet.applying
    monkeypatch.setattr(quota_sheet, "applying", lambda *of: (asked.append(of[1:]), real(*of))[1])
    seen(sheet, RATE)
    assert sheet.cell("user=alice client-id=notebook", RATE).lines
    each = Counter(asked)
    assert {count for (_, key), count in each.items() if key != RATE} == {1}
    assert each[Entity.parse("user=alice client-id=notebook"), RATE] == 2  # in the page, and in the lines


def test_a_page_of_a_hundred_thousand_entities_is_worked_out_in_time() -> None:
    """I scrolled, and what applies came a second later."""
    sheet = sheet_of(many_users(100_000))
    times = []
    for first in range(0, 90_000, 10_000):
        begin = time.thread_time()
        page = sheet.page(first, 100)
        times.append(time.thread_time() - begin)
    assert len([mark for _, _, mark in page.marks if mark.applies == "unlimited"]) == 300
    assert sorted(times)[len(times) // 2] < 0.1
    assert sheet.cell("user=u000007", CONSUMER).applies.value is None


def test_cells_of_exact_names_say_how_much_of_the_limit_was_used() -> None:
    """I lowered a limit, and only afterwards saw that its client had used nearly all of the old one."""
    limits = quotas({"user=alice": "1MB/s", "user=alice client-id=app": "500kB/s", "user=<default>": "2MB/s"})
    times = {"window_start": HOUR, "window_end": HOUR + timedelta(seconds=1), "source": "log", "key": RATE}
    used = [("alice", "app", 430e3), ("alice", "etl", 300e3), ("alice", "batch", 200e3), ("bob", "app", 100e3)]
    rows = [{"broker": 1, **times, "user": user, "client_id": client, "value": value} for user, client, value in used]
    peaks = peaks_of(utilisation(schemas.table(schemas.USAGE, rows), limits))
    sheet = QuotaSheet(StoredQuotas(limits, peaks=peaks), Stage(None))
    sheet.add(Entity.parse("user=bob"))

    def bars() -> dict[str, int]:
        page = sheet.page(0, 10)
        return {page.keys[row]: mark.used for row, _, mark in page.marks if mark.used is not None}

    assert bars() == {"user=alice": 50, "user=alice client-id=app": 86, "user=bob": 5}
    sheet.edit([CellText(0, "user=alice", RATE, "600kB/s")])
    assert bars()["user=alice"] == 83
    first, _ = sheet.cell("user=alice", RATE).lines
    assert first == "user=alice, producer: 600 kB/s, was 1 MB/s; uses 500 kB/s (83 %)"
