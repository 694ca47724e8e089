"""The quota editor around its grid, without a browser."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.blocks import NOTEBOOK
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.editor import QuotaEditor
from tests.widgets.stored_quotas import RATE, all_shown, many_users, quotas

STORED: dict[str, Any] = {"user=alice": "1MB/s", "user=bob": "2MB/s", "user=<default>": "5MB/s"}


def opened(quotas: pa.Table) -> QuotaEditor:
    """The editor of these quotas, of which nothing is planned."""
    stage = Stage(lambda *edits: pytest.fail("nothing is planned here"))
    return QuotaEditor(lambda: all_shown(quotas), stage, lambda user, client_id: Answer(quotas))


class Page:
    """An editor that is built, and the lines that it has shown."""

    def __init__(self, editor: QuotaEditor) -> None:
        self.editor, self.lines = editor, []
        editor.build()
        editor._grid.send = self._take

    def _take(self, message: dict[str, Any], buffers: object = None) -> None:
        if message["kind"] == "notice":
            self.lines.append(message["text"])

    def receive(self, **message: Any) -> None:
        self.editor._grid._received(self.editor._grid, {"view": "v", **message}, [])

    def type(self, text: str, row: str = "user=alice") -> None:
        self.receive(kind="edit", cells=[{"position": 0, "key": row, "column": RATE, "text": text}])

    def focus(self, row: str, column: str = RATE) -> str:
        self.receive(kind="focus", position=0, key=row, column=column)
        return self.below()

    def below(self) -> str:
        """The texts below the grid, without what keeps a piece of them in one line."""
        return "\n".join([*self.editor._grid.formula, re.sub("</?span[^>]*>", "", self.editor._remarks.value)])

    def counts(self) -> list[str]:
        return [*(label for label, _ in self.editor._choice.widget.options), self.editor._planned.description]

    def click(self, label: str) -> None:
        buttons = [child for child in self.editor._toolbar.children if getattr(child, "description", "") == label]
        buttons[0].click()


@pytest.fixture
def page() -> Page:
    return Page(opened(quotas(STORED)))


def test_the_chosen_cell_is_two_lines_below_the_grid(page: Page) -> None:
    """I typed another value, and below it still stood what the old one meant."""
    shared = "shared by its client-ids that have no quota of their own"
    assert page.focus("user=alice") == f"user=alice, producer: 1 MB/s\n{shared}; overrides user=<default> (5 MB/s)\n"
    page.type("2MB/s")
    assert page.below().startswith("user=alice, producer: 2 MB/s, was 1 MB/s\n")
    page.editor.stage.set_quota(RATE, "9MB/s", user="alice")
    assert page.below().startswith("user=alice, producer: 9 MB/s, was 1 MB/s\n")
    page.type("")
    assert page.below().startswith("user=alice, producer: not set, was 1 MB/s; 5 MB/s (user=<default>) applies\n")
    page.type("x")
    assert page.below().startswith(
        "user=alice, producer: x is not staged, was 1 MB/s\nproducer_byte_rate=x is not a number"
    )
    assert "Choose a cell" in page.focus("user=alice", "entity")


def test_why_shows_all_that_is_to_be_said_and_hides_it_again(page: Page) -> None:
    """Two lines are quick to read, and where I wonder I want every reason."""
    page.focus("user=alice")
    page.receive(kind="why")
    assert f"{RATE} of user=alice" in page.below()
    assert f"{RATE} of user=alice" not in page.focus("user=bob")  # it is about the cell that was asked about
    page.receive(kind="why")
    assert f"{RATE} of user=bob" in page.below()
    page.receive(kind="why")
    assert page.below().count("\n") == 2


def test_the_counts_of_the_states(page: Page) -> None:
    """How much of this is staged, and is any of it dangerous?"""
    assert page.counts() == ["All 3", "Staged 0", "Shadowed 0", "Plan"]
    page.type("2MB/s"), page.type("x", "user=bob"), page.type("", "user=<default>")
    assert page.counts() == ["All 3", "Staged 3", "Shadowed 0", "Plan 2"]  # one was refused
    page.editor._choice.widget.value = "staged"
    for _ in range(3):
        page.receive(kind="undo")
    assert page.counts() == ["All 3", "Staged 0", "Shadowed 0", "Plan"]  # the choice stays


def test_a_thousand_pasted_cells_are_one_message_each_way() -> None:
    """A column of a spreadsheet took as many messages as it has rows."""
    page = Page(opened(many_users(2000)))
    sent: list[dict[str, Any]] = []
    page.receive(kind="window", first=0, count=100)
    page.editor._grid.send = lambda message, buffers=None: sent.append(message)
    text = "\r\n".join(f"{n + 2}MB/s" for n in range(1000))
    page.receive(kind="block", position=0, key="user=u000000", column=RATE, text=text, rows=1, columns=1)
    assert [message["kind"] for message in sent] == ["window", "notice"]
    assert (sent[1]["text"], len([m for m in sent[0]["marks"] if m[2]]), len(page.editor.stage)) == (
        *("1,000 cells staged", 100, 1000),
    )
    page.receive(kind="undo")
    assert len(page.editor.stage) == 0


def test_the_static_table_says_what_is_staged_and_counts_what_it_shows(page: Page) -> None:
    """The saved notebook said *9 entities, 3 staged* over seven rows, none of which was staged."""
    page.type("9MB/s")
    page.editor._new.value = "user=carol"
    page.type("8MB/s", "user=carol")
    shown = page.editor.as_text(NOTEBOOK)
    assert shown.splitlines()[0] == "3 quotas, 2 staged"
    assert re.search("user=alice .*9 MB/s", shown)
    assert re.search("user=carol .*8 MB/s", shown)
    assert re.search("user=alice .*1 MB/s", shown)


def test_a_static_table_has_the_same_name_in_each_run(page: Page) -> None:
    """I ran the notebook again, and the repository showed a change where none was."""
    assert page.editor.static_id == opened(quotas(STORED)).static_id
    assert page.editor.static_id != opened(quotas({"user=alice": "1MB/s"})).static_id


def test_refused_cells_hold_the_plan_back(page: Page) -> None:
    """I pressed Plan, and one of my cells was not in it."""
    page.type("x")
    page.click("Plan")
    assert page.lines[-1] == f"{RATE} of user=alice is invalid. Fix or discard it."


def test_reading_again_keeps_what_is_staged() -> None:
    """A colleague works beside me."""
    now: list[dict[str, Any]] = [STORED]
    stage = Stage(lambda *edits: pytest.fail("nothing is planned here"))
    page = Page(QuotaEditor(lambda: all_shown(quotas(now[0])), stage, lambda user, client_id: pytest.fail("not asked")))
    page.type("3MB/s")
    now[0] = {"user=alice": "7MB/s", "user=bob": "2MB/s"}
    page.click("Read again")
    assert page.lines[-1] == "reloaded: 2 rows"
    assert len(stage) == 1


def test_an_entity_that_is_added_has_the_focus(page: Page) -> None:
    """I added a client, and had to look for its row."""
    sent: list[dict[str, Any]] = []
    page.editor._grid.send = lambda message, buffers=None: sent.append(message)
    page.editor._new.value = "user=carol client-id=<default>"
    assert [m for m in sent if m["kind"] == "show"] == [{"kind": "show", "position": 0, "column": RATE}]
    assert page.editor.sheet.keys(0, 1) == ["user=carol client-id=<default>"]
    page.editor._new.value = "usr=alice"
    assert (sent[-1]["ok"], sent[-1]["text"]) == (False, "usr is not a type of entity. Did you mean user?")


def test_the_table_stands_alone_for_hosts_without_ipywidgets():
    """marimo shows an anywidget, and nothing else of the editor."""
    from kadmin_nb.widgets.grid import Grid

    editor = opened(quotas(STORED))
    assert isinstance(editor.grid, Grid)
    assert editor.grid is editor.grid
