"""Messages of a browser: whoever can write to a page can send anything, and the kernel must live on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kadmin_nb.errors import UsageError
from kadmin_nb.frames import schemas
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets import grid as messages
from kadmin_nb.widgets.grid import MOST_VIEWS, Grid
from kadmin_nb.widgets.quota_sheet import QuotaSheet
from kadmin_nb.widgets.sheet import Arrangement
from tests.widgets.stored_quotas import all_shown

KEY = "producer_byte_rate"


def quotas(users: int) -> pa.Table:
    """QUOTAS of so many users, `user=u000` with 1 MB/s and so on."""
    names = [f"u{n:03}" for n in range(users)]
    columns: dict[str, Any] = {"entity": [f"user={name}" for name in names], "level": ["USER"] * users, "user": names}
    columns |= {"client_id": [None] * users, "ip": [None] * users, "key": [KEY] * users}
    return pa.table({**columns, "value": [1e6 + n for n in range(users)]}).cast(schemas.QUOTAS.schema)


class Page:
    """A grid, and what it sends."""

    def __init__(self, users: int = 300) -> None:
        self.stage = Stage(lambda *edits: pytest.fail("nothing is planned here"))
        self.grid = Grid(QuotaSheet(all_shown(quotas(users)), self.stage))
        self.answers: list[dict[str, Any]] = []
        self.grid.send = self._take

    def _take(self, message: dict[str, Any], buffers: object = None) -> None:
        self.answers.append(message)

    def receive(self, content: object) -> list[dict[str, Any]]:
        """What a message is answered with."""
        self.answers.clear()
        self.grid._received(self.grid, content, [])
        return list(self.answers)


@pytest.fixture
def page() -> Page:
    return Page()


def edit(text: str, row: int = 0, key: str | None = None) -> dict[str, Any]:
    cell = {"position": row, "key": f"user=u{row:03}" if key is None else key, "column": KEY, "text": text}
    return {"kind": "edit", "view": "v", "cells": [cell]}


def block(text: str, rows: int = 1, columns: int = 1, position: int = 0, column: str = KEY) -> dict[str, Any]:
    size = {"rows": rows, "columns": columns}
    return {"kind": "block", "view": "v", "position": position, "key": f"user=u{position:03}", "column": column} | {
        "text": text,
        **size,
    }


STRANGE: dict[str, Any] = {
    "not an object": [1, 2],
    "nothing": None,
    "no kind": {"view": "v"},
    "an unknown kind": {"kind": "apply", "view": "v"},
    "10 MB of kind": {"kind": "x" * 10_000_000, "view": "v"},
    "a kind of two lines": {"kind": "edit\n\x1b[31mapplied", "view": "v"},
    "a kind that is a list": {"kind": ["edit"], "view": "v"},
    "a view that is a number": {"kind": "hello", "view": 7, "epoch": 0},
    "a row that does not exist": edit("1MB/s", 9, "user=nobody"),
    "a row below zero": edit("1MB/s", -1, "user=u000"),
    "a row that is a text": {"kind": "edit", "view": "v", "cells": [{"position": "0"}]},
    "a column that does not exist": {**block("1MB/s"), "column": "__class__"},
    "a column that is not edited": {
        "kind": "edit",
        "view": "v",
        "cells": [{"position": 0, "key": "user=u000", "column": "level", "text": "IP"}],
    },
    "10 MB of text": edit("9" * 10_000_000),
    "10 MB of pasted text": block("9" * 10_000_000),
    "a million cells": {"kind": "edit", "view": "v", "cells": [edit("1")["cells"][0]] * 1_000_000},
    "cells that are none": {"kind": "edit", "view": "v", "cells": [1, None]},
    "a window of a million rows": {"kind": "window", "view": "v", "first": 0, "count": 10**6},
    "a window that is true": {"kind": "window", "view": "v", "first": True, "count": 10},
    "a block past the end": block("1\n2\n3", position=299),
    "a block that is wider than the table": block("1\t2\t3\t4\t5\t6\t7"),
    "an empty clipboard": block("", rows=3),
    "a block that is no number of rows": {**block("1", rows=3), "rows": "3"},
    "a block of no columns": block("1", rows=3, columns=0),
    "a block that begins past the end": block("1", rows=3, position=300),
    "a paste into no cells": block("1", rows=0, columns=0),
}


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_message_is_one_line_and_changes_nothing(page: Page, content: object) -> None:
    """A page could send whatever it liked, and the kernel showed a traceback."""
    answers = page.receive(content)
    assert [(answer["kind"], answer["ok"]) for answer in answers] == [("notice", False)]
    assert "\n" not in answers[0]["text"]
    assert len(answers[0]["text"]) < 1500
    assert len(page.stage) == 0
    page.receive(edit("2MB/s"))
    assert len(page.stage) == 1


def test_an_edit_is_answered_with_the_rows_that_the_view_shows(page: Page) -> None:
    """I typed a value, and did not see whether it was taken."""
    page.receive({"kind": "hello", "view": "v", "epoch": 0})
    window, notice = page.receive(edit("2MB/s"))
    staged = [mark for mark in window["marks"] if mark[2]]
    assert (window["cells"][1][0], staged) == ("2 MB/s", [[0, 1, "staged", "", "1 MB/s", ""]])
    assert notice["text"] == "1 cell staged"


def test_a_thousand_pasted_cells_are_one_message_each_way(page: Page) -> None:
    """Every pasted cell was a message, and the browser stood still."""
    page = Page(1000)
    page.receive({"kind": "hello", "view": "v", "epoch": 0})
    window, notice = page.receive(block("\n".join(f"{n}MB/s" for n in range(2, 1002))))
    assert (notice["text"], len(page.stage)) == ("1,000 cells staged", 1000)
    assert len([mark for mark in window["marks"] if mark[2] == "staged"]) == 100


def test_an_empty_clipboard_changes_nothing(page: Page) -> None:
    """I pasted with nothing copied, and the first row was in all of my selection."""
    assert page.receive(block("", rows=3))[0]["text"] == "the clipboard has no text; nothing was pasted"
    assert len(page.stage) == 0


def test_a_late_answer_can_be_told_by_its_epoch(page: Page) -> None:
    """I scrolled while somebody filtered, and rows of both choices stood side by side."""
    page.receive({"kind": "hello", "view": "v", "epoch": 0})
    early = page.receive({"kind": "window", "view": "v", "first": 0, "count": 100})[0]
    page.answers.clear()
    page.grid._sheet.arrange(Arrangement("u299"))
    assert page.answers[0]["epoch"] > early["epoch"]
    assert page.answers[0]["keys"] == ["user=u299"]


def test_only_views_that_are_there_get_rows(page: Page) -> None:
    """After ten runs of a cell each change was sent to eleven tables, ten of them gone."""
    for view in ("a", "b"):
        page.receive({"kind": "hello", "view": view, "epoch": 0})
    page.receive({"kind": "bye", "view": "a"})
    assert {answer.get("view") for answer in page.receive(edit("2MB/s"))} == {"b", None}


@pytest.mark.long
@pytest.mark.slow
def test_views_that_never_say_goodbye_are_forgotten(page: Page) -> None:
    """I reloaded the page a thousand times, and every edit took five seconds."""
    for number in range(1000):
        page.receive({"kind": "hello", "view": f"v{number}", "epoch": 0})
        page.receive({"kind": "window", "view": "v0", "first": 100, "count": 100})
    pages = [answer["view"] for answer in page.receive(edit("2MB/s")) if answer["kind"] == "window"]
    assert len(pages) == MOST_VIEWS
    assert {"v0", "v999"} < {*pages}


def test_a_new_view_of_an_old_widget_gets_the_rows_as_they_are_now(page: Page) -> None:
    """I opened the tab again, and it showed the values from before my edits."""
    page.receive(edit("2MB/s"))
    answers = page.receive({"kind": "hello", "view": "late", "epoch": 0})
    assert answers[0]["cells"][1][0] == "2 MB/s"


@pytest.mark.long
@pytest.mark.parametrize("size", [200, 5_000, 200_000])
def test_no_message_is_larger_than_hosts_take(size: int) -> None:
    """Names of 30,000 characters made a message of 3 MB, and Databricks dropped it."""
    import json

    table = quotas(100).set_column(0, "entity", pa.array([f"user={'x' * size}{n}" for n in range(100)]))
    grid = Grid(QuotaSheet(all_shown(table), Stage(lambda *edits: pytest.fail("nothing is planned here"))))
    assert len(json.dumps(grid.first_page)) < 100_000


def test_the_reader_gives_typed_messages() -> None:
    """Each handler looked into dictionaries by itself."""
    message = messages.read_message({"kind": "focus", "view": "v", "position": 3, "key": "user=a", "column": KEY})
    assert message == messages.Focus("v", 3, "user=a", KEY)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({**block("1"), "position": 1.5}, "position: expected int, got float"),
        ({**block("1"), "rows": True}, "rows: expected int, got bool"),
        (block("1", columns=0), "columns: expected int >= 1"),
        ({"kind": "edit", "view": "v", "cells": []}, "cells: expected array of length >= 1"),
        (
            {"kind": "edit", "view": "v", "cells": [{**edit("1")["cells"][0], "text": 1}]},
            "cells[0].text: expected str, got int",
        ),
        (edit("9" * 1_000_001), "its texts have more than 1,000,000 characters"),
        ({"kind": "apply", "view": "v"}, "kind: invalid value 'apply'"),
    ],
)
def test_an_error_names_the_field(content: dict[str, Any], problem: str) -> None:
    """The extension of my page sent something wrong, and I searched for which of its fields it was."""
    with pytest.raises(UsageError) as error:
        messages.read_message(content)
    assert str(error.value) == f"a message of the page cannot be read; nothing was changed: {problem}"
