"""The explorer of a client and of the hierarchy, without a browser."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kadmin_nb.frames.display import Display
from kadmin_nb.widgets.client_explorer import ClientExplorer, ClientFacts, client_levels
from kadmin_nb.widgets.hierarchy_sheet import HierarchySheet
from tests.widgets.stored_quotas import RATE, many_users, quotas

STORED = {
    "user=alice client-id=app": "1MB/s",
    "user=alice": {RATE: "2MB/s", "request_percentage": "50%"},
    "user=bob client-id=<default>": "3MB/s",
    "user=<default>": "5MB/s",
    "client-id=app": "7MB/s",
    "ip=10.0.0.1": {"connection_creation_rate": "5"},
}


def test_the_eight_levels_say_what_applies_and_what_lost() -> None:
    """I see that 1 MB/s binds, and not which other quotas I would have to look at."""
    rows = client_levels(quotas(STORED), "alice", "app").to_pylist()
    assert [(row["number"], row["entity"], row[RATE], row["request_percentage"]) for row in rows] == [
        (1, "user=alice client-id=app", "1 MB/s, applies", ""),
        (2, "user=alice client-id=<default>", "", ""),
        (3, "user=alice", "2 MB/s, overridden", "50 %, applies"),
        (4, "user=<default> client-id=app", "", ""),
        (5, "user=<default> client-id=<default>", "", ""),
        (6, "user=<default>", "5 MB/s, overridden", ""),
        (7, "client-id=app", "7 MB/s, overridden", ""),
        (8, "client-id=<default>", "", ""),
    ]


def test_a_client_without_a_client_id_escapes_the_levels_of_client_ids() -> None:
    """My client sends no client-id: which levels are there for it at all?"""
    rows = client_levels(quotas(STORED), "bob", "").to_pylist()
    assert [row["entity"] for row in rows if row["entity"] != "does not reach it"] == ["user=bob", "user=<default>"]
    assert [row[RATE] for row in rows if row[RATE]] == ["5 MB/s, applies"]


def tree(sheet: HierarchySheet) -> list[tuple[int, bool | None, str]]:
    """The rows that are shown: depth, whether they are open, and the first cell."""
    page = sheet.page(0, 1000)
    return [(b.depth, b.is_open, text) for b, text in zip(page.branches, page.cells[0], strict=True)]


def test_the_hierarchy_has_children_below_their_parents() -> None:
    """A list sorted by name puts bob's client-ids anywhere."""
    assert tree(HierarchySheet(quotas(STORED))) == [
        (1, True, "users (4)"),
        (2, True, "user=alice"),
        (3, None, "user=alice client-id=app"),
        (2, True, "user=bob"),
        (3, None, "user=bob client-id=<default>"),
        (1, True, "the default user (1)"),
        (2, None, "user=<default>"),
        (1, True, "client-ids of any user (1)"),
        (2, None, "client-id=app"),
        (1, True, "ips (1)"),
        (2, None, "ip=10.0.0.1"),
    ]


def test_rows_close_and_open() -> None:
    """A thousand users, and I only look for the default."""
    sheet = HierarchySheet(quotas(STORED))
    sheet.toggle("user=alice")
    assert tree(sheet)[1:3] == [(2, False, "user=alice"), (2, True, "user=bob")]
    sheet.toggle("users")
    assert tree(sheet)[:2] == [(1, False, "users (4)"), (1, True, "the default user (1)")]
    sheet.toggle("users"), sheet.toggle("user=alice")
    assert len(tree(sheet)) == 11


def test_shadowed_quotas_are_marked() -> None:
    """client-id=app has a limit that never held, and nothing in the table said so."""
    page = HierarchySheet(quotas(STORED)).page(0, 100)
    assert [(page.keys[mark.row], mark.state, mark.note) for mark in page.marks] == [
        ("client-id=app", "shadowed", "can never apply: user=<default> always wins")
    ]
    assert page.cells[-1][page.keys.index("client-id=app")] == "user=<default>"


def test_no_quotas_are_an_empty_hierarchy() -> None:
    """A new cluster has none."""
    assert tree(HierarchySheet(quotas({}))) == []


def test_a_large_hierarchy_is_a_page_at_a_time() -> None:
    """A hundred thousand users."""
    sheet = HierarchySheet(many_users(100_000))
    assert (len(sheet), len(sheet.page(50_000, 100).keys)) == (100_001, 100)


class Answer(Display):
    """A stand-in of what the cluster answers."""

    def __init__(self, title: str) -> None:
        self._text = title

    def _title(self) -> str:
        return self._text


@pytest.fixture
def facts() -> ClientFacts:
    return ClientFacts(
        quotas(STORED),
        lambda user, client_id: Answer(f"{user}/{client_id} is limited"),
        lambda: Answer("6 quotas"),
        ["alice", "bob"],
        ["app"],
    )


def test_without_a_browser_it_is_the_table_of_the_levels(facts: ClientFacts) -> None:
    """In the terminal there is nothing to click."""
    text = ClientExplorer(facts, "alice", "app").as_text()
    assert "alice/app is limited" in text
    assert "1 MB/s, applies" in text
    assert ClientExplorer(facts).as_text() == "6 quotas"


def test_a_row_of_the_hierarchy_is_the_client(facts: ClientFacts) -> None:
    """I see the entity in the tree, and have to type its name again."""
    explorer = ClientExplorer(facts)
    explorer.build()
    page: Any = SimpleNamespace(user=explorer._user, client_id=explorer._client_id)
    explorer._picked("user=alice client-id=app", "entity")
    explorer._picked("users", "entity")
    explorer._background.wait()
    assert (page.user.value, page.client_id.value) == ("alice", "app")
    assert "alice/app is limited" in explorer._answer.value


def test_names_beyond_a_message_are_typed(facts: ClientFacts) -> None:
    """A message of all names of a large cluster is one that the host drops."""
    many = ClientFacts(facts.quotas, facts.why, facts.tree, [f"user-{n:06}" for n in range(100_000)])
    explorer = ClientExplorer(many)
    explorer.build()
    assert 1000 < len(explorer._user.options) < 2000
