"""The preview of a cell: what the edit will mean, before anything is planned."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kadmin_nb.model.changes import DELETE, SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.quota_keys import IP_KEYS, parse_value, text_of
from kadmin_nb.widgets.remarks import preview
from tests.widgets.stored_quotas import RATE, quotas


def changed(stored: Mapping[str, str], staged: Mapping[str, str | None], key: str) -> list[Change]:
    """The rows of a plan of these limits; None removes one."""

    def text(limit: str | None) -> str | None:
        return None if limit is None else text_of(parse_value(key, limit))

    pairs = ((Entity.parse(words), text(stored.get(words)), text(limit)) for words, limit in staged.items())
    return [
        Change(row, SET if new else DELETE, entity, key, old, new, new, level=entity.level)
        for row, (entity, old, new) in enumerate(pairs, 1)
    ]


def remarks(
    words: str,
    stored: Mapping[str, str],
    staged: Mapping[str, str | None] | None = None,
    *,
    key: str = RATE,
    **facts: int,
) -> list[tuple[str, str]]:
    limits = quotas({entity: {key: limit} for entity, limit in stored.items()})
    return [*map(tuple, preview(Entity.parse(words), key, limits, changed(stored, staged or {}, key), **facts))]


def test_an_edit_says_what_applies_whose_bucket_it_is_and_what_it_overrides() -> None:
    """I change alice's limit: does it bind her, and with whom does she share it?"""
    stored = {"user=alice": "1MB/s", "user=<default>": "5MB/s"}
    assert remarks("user=alice", stored, {"user=alice": "2MB/s"}) == [
        ("applies", "user alice, without a client-id: 2 MB/s"),
        ("bucket", "shared by its client-ids that have no quota of their own"),
        ("overrides", "user=<default> (5 MB/s)"),
    ]


def test_an_emptied_cell_says_what_applies_instead() -> None:
    """I take the limit away, and the next one is ten times as high: say so before I do it."""
    stored = {"user=alice client-id=app": "1MB/s", "user=alice": "10MB/s"}
    assert remarks("user=alice client-id=app", stored, {"user=alice client-id=app": None})[0] == (
        "applies",
        "user alice, client-id app: 10 MB/s, of user=alice",
    )


def test_a_default_is_not_the_client_called_nul() -> None:
    """I set the default of all users, and the preview spoke of the limit of a user called NUL."""
    stored = {"user=\0": "1MB/s", "user=<default>": "5MB/s"}
    told = remarks("user=<default>", stored, {"user=<default>": "6MB/s"})
    assert told[0] == ("applies", "users without a quota of their own, without a client-id: 6 MB/s")


def test_edits_of_other_rows_count() -> None:
    """I have staged the default already, and the preview speaks as if I had not."""
    staged = {"user=<default>": "3MB/s"}
    assert remarks("client-id=app", {"client-id=app": "1MB/s"}, staged)[0][1].endswith("3 MB/s, of user=<default>")


@pytest.mark.parametrize(
    ("words", "whom"),
    [
        ("user=alice client-id=app", "user alice, client-id app"),
        ("user=alice client-id=<default>", "user alice, client-ids without a quota of their own"),
        ("user=alice", "user alice, without a client-id"),
        ("user=<default> client-id=app", "users without a quota of their own, client-id app"),
        (
            "user=<default> client-id=<default>",
            "users without a quota of their own, client-ids without a quota of their own",
        ),
        ("user=<default>", "users without a quota of their own, without a client-id"),
        ("client-id=app", "users without a quota of their own, client-id app"),
        ("client-id=<default>", "users without a quota of their own, client-ids without a quota of their own"),
    ],
)
def test_each_level_says_for_whom(words: str, whom: str) -> None:
    """A default entity is about nobody by name: say about whom it is."""
    assert remarks(words, {words: "1MB/s"})[0] == ("applies", f"{whom}: 1 MB/s")


def test_a_new_default_says_which_quotas_it_shadows() -> None:
    """I set a default for users, and quotas of client-ids stopped to hold without a word."""
    stored = {"client-id=app": "1MB/s", "client-id=batch": "1MB/s"}
    texts = [
        text for about, text in remarks("user=<default>", stored, {"user=<default>": "2MB/s"}) if about == "warning"
    ]
    assert (
        f"user=<default> {RATE} shadows 2 quotas, which can never apply any more: client-id=app, client-id=batch"
        in texts
    )


def test_a_user_whose_clients_go_by_another_quota_is_a_warning() -> None:
    """I typed 5 MB/s for bob, and each of his clients went on with 256 KiB/s."""
    stored = {"user=bob client-id=<default>": "256KiB/s"}
    assert remarks("user=bob", stored, {"user=bob": "5MB/s"})[0] == (
        "warning",
        f"{RATE} of user=bob reaches only clients without a client-id; all others keep user=bob client-id=<default> "
        "(256 KiB/s)",
    )


def test_closer_quotas_are_counted() -> None:
    """I lower the default, and wonder whom that leaves out."""
    stored = {"user=<default>": "1MB/s", "user=a": "1MB/s", "user=b": "1MB/s", "client-id=app": "1MB/s"}
    assert ("closer", "user=a wins for its clients, and 1 more") in remarks("user=<default>", stored)


def test_a_lifted_default_is_a_danger() -> None:
    """I emptied the cell of everybody's limit, and only the plan said what that means."""
    about = dict(remarks("user=<default>", {"user=<default>": "1MB/s"}, {"user=<default>": None}))
    assert about["danger"].startswith("1 MB/s for everyone is removed, with no other limit behind it")


def test_a_forgotten_unit_is_a_danger() -> None:
    """I typed 5 and meant 5MB/s."""
    about = dict(remarks("user=alice", {}, {"user=alice": "5"}))
    assert about["danger"].endswith("Was 5MB/s meant?")


def test_dangers_of_other_cells_are_not_repeated() -> None:
    """Every cell that I look at warns of the one cell that is dangerous."""
    stored = {"user=<default>": "1MB/s", "user=alice": "1MB/s"}
    assert "danger" not in dict(remarks("user=alice", stored, {"user=<default>": None, "user=alice": "2MB/s"}))


def test_a_limit_holds_on_each_broker() -> None:
    """I have three brokers, and the limit is three times what I typed."""
    about = dict(remarks("user=alice", {}, {"user=alice": "2MB/s"}, brokers=3))
    assert "up to 6 MB/s in total" in about["warning"]


def test_addresses_are_apart() -> None:
    """An ip has other rules than a client."""
    (key,) = IP_KEYS
    stored = {"ip=10.0.0.1": "5", "ip=<default>": "50"}
    assert remarks("ip=<default>", stored, key=key) == [("applies", "each address without a quota of its own: 50/s")]
    own = remarks("ip=10.0.0.1", stored, {"ip=10.0.0.1": None}, key=key)
    assert own[-1][1] == f"{key} = 50/s for 10.0.0.1, set by the default ip quota; each address has its own"
