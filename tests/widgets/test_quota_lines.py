"""The two lines below the table: what a cell means, before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.quota_keys import IP_KEYS
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.quota_sheet import QuotaSheet, StoredQuotas
from kadmin_nb.widgets.sheet import CellText
from tests.widgets.stored_quotas import RATE, quotas

OF_THE_USER = "shared by its client-ids that have no quota of their own"


def lines(
    words: str, stored: Mapping[str, str], staged: Mapping[str, str] | None = None, *, key: str = RATE
) -> tuple[str, str]:
    """The lines of a cell over these limits, after these texts were typed."""
    limits = quotas({entity: {key: limit} for entity, limit in stored.items()})
    sheet = QuotaSheet(StoredQuotas(limits), Stage(None))
    for entity, text in (staged or {}).items():
        sheet.add(Entity.parse(entity))
        sheet.edit([CellText(0, entity, key, text)])
    cell = sheet.cell(str(Entity.parse(words)), key)
    return cell.lines


def test_an_edit_says_who_shares_it_and_what_it_overrides() -> None:
    """I change alice's limit: with whom does she share it?"""
    stored = {"user=alice": "1MB/s", "user=<default>": "5MB/s"}
    assert lines("user=alice", stored, {"user=alice": "2MB/s"}) == (
        "user=alice, producer: 2 MB/s, was 1 MB/s",
        f"{OF_THE_USER}; overrides user=<default> (5 MB/s)",
    )


def test_an_emptied_cell_says_what_applies_instead() -> None:
    """I take the limit away, and the next one is ten times as high: say so before I do it."""
    stored = {"user=alice client-id=app": "1MB/s", "user=alice": "10MB/s"}
    assert lines("user=alice client-id=app", stored, {"user=alice client-id=app": ""}) == (
        "user=alice client-id=app, producer: not set, was 1 MB/s; 10 MB/s (user=alice) applies",
        OF_THE_USER,
    )


def test_edits_of_other_rows_count() -> None:
    """I have staged the default already, and the line speaks as if I had not."""
    first, _ = lines("client-id=app", {"client-id=app": "1MB/s"}, {"user=<default>": "3MB/s"})
    assert first.endswith("3 MB/s (user=<default>) comes first for its clients that send a client-id")


@pytest.mark.parametrize(
    ("words", "shared"),
    [
        ("user=alice client-id=app", "shared by the connections of this user and client-id"),
        ("user=alice client-id=<default>", "shared with nobody (one per client-id)"),
        ("user=alice", OF_THE_USER),
        ("user=<default>", "each user gets this once, for all its client-ids"),
        ("client-id=<default>", "each client-id gets this once, for all users that send it"),
    ],
)
def test_each_level_says_who_shares_it(words: str, shared: str) -> None:
    """Is this the limit of each, or of all of them together?"""
    assert lines(words, {words: "1MB/s"}) == (f"{words}, producer: 1 MB/s", shared)


def test_a_lifted_default_is_a_danger() -> None:
    """I emptied the cell of everybody's limit, and only the plan said what that means."""
    second = lines("user=<default>", {"user=<default>": "1MB/s"}, {"user=<default>": ""})[1]
    assert second.startswith("1 MB/s for everyone is removed, with no other limit behind it")


def test_a_forgotten_unit_is_a_danger() -> None:
    """I typed 5 and meant 5MB/s."""
    assert "Was 5MB/s meant?" in lines("user=alice", {}, {"user=alice": "5"})[1]


def test_dangers_of_other_cells_are_not_repeated() -> None:
    """Every cell that I look at warns of the one cell that is dangerous."""
    stored = {"user=<default>": "1MB/s", "user=alice": "1MB/s"}
    assert lines("user=alice", stored, {"user=<default>": "", "user=alice": "2MB/s"})[1] == OF_THE_USER


def test_addresses_are_apart() -> None:
    """An ip has other rules than a client."""
    (key,) = IP_KEYS
    stored = {"ip=10.0.0.1": "5", "ip=<default>": "50"}
    assert lines("ip=<default>", stored, key=key)[1] == "each address has its own"
    first = lines("ip=10.0.0.1", stored, {"ip=10.0.0.1": ""}, key=key)[0]
    assert first == "ip=10.0.0.1, connections: not set, was 5/s; 50/s (ip=<default>) applies"
    assert lines("ip=10.0.0.1", {"ip=10.0.0.1": "5"}, {"ip=10.0.0.1": ""}, key=key)[1] == "No quota applies."
