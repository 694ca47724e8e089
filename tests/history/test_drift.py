"""Drift: what differs between two clusters, or two times."""

from __future__ import annotations

from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.history.hours import at, failed, taken, topic


def _rows(diff) -> list[tuple]:
    return [tuple(row[n] for n in ("resource", "key", "state", "a", "b")) for row in diff.to_arrow().to_pylist()]


def test_quotas_that_differ() -> None:
    """Staging was said to be like production."""
    found = kn.diff(taken(0, {"alice": 1, "bob": 2, "carol": 3}), taken(1, {"bob": 2, "carol": 4, "dan": 5}))
    assert _rows(found) == [
        ("user=alice", "producer_byte_rate", "removed", "1", None),
        ("user=carol", "producer_byte_rate", "changed", "3", "4"),
        ("user=dan", "producer_byte_rate", "added", None, "5"),
    ]


@pytest.mark.parametrize(
    ("a", "b", "states"),
    [
        (topic("t", "retention.ms", "1"), None, ["removed"]),
        (None, topic("t", "retention.ms", "1"), ["added"]),
        (topic("t", "retention.ms", "1"), topic("t", "retention.ms", "2"), ["changed"]),
        (
            topic("t", "retention.ms", "1"),
            topic("t", "retention.ms", "1", source="DYNAMIC_DEFAULT_BROKER_CONFIG"),
            ["source"],
        ),
        (topic("t", "retention.ms", "1"), topic("t", "retention.ms", "1"), []),
        (topic("t", "x.password", "1"), topic("t", "x.password", "2"), []),
        (topic("t", "x.password", "1"), None, ["removed"]),
    ],
    ids=["set", "set there", "other values", "from elsewhere", "equal", "two secrets", "a secret alone"],
)
def test_configs_that_differ(a, b, states: list[str]) -> None:
    """A topic kept its data elsewhere for a day less, and nobody saw it."""
    found = kn.diff(*(taken(hour, {}, [row] if row else []) for hour, row in enumerate((a, b))))
    assert [row[2] for row in _rows(found)] == states
    assert len(found.differing) == len(states)


def test_a_secret_shows_as_one() -> None:
    """The drift report had the password."""
    found = kn.diff(taken(0, {}, [topic("t", "x.password", "canary", default="canary")]), taken(1, {}))
    assert _rows(found) == [("topic=t", "x.password", "removed", "[secure]", None)]
    assert "canary" not in str(found.to_arrow().to_pylist())


def test_what_could_not_be_read_is_not_gone() -> None:
    """All topics that I may not see were said to have been removed."""
    mine = taken(0, {}, [topic("a", "retention.ms", "1"), topic("b", "retention.ms", "1")])
    theirs = taken(1, {}, [failed("b")])
    found = kn.diff(mine, theirs)
    assert _rows(found) == [
        ("topic=a", "retention.ms", "removed", "1", None),
        ("topic=b", None, "unknown", None, None),
    ]
    assert not found.ok
    assert found.to_pandas()["note"].tolist()[1] == "TOPIC_AUTHORIZATION_FAILED: Topic authorization failed."


def test_two_snapshots_are_compared_where_both_have_read() -> None:
    """An old cluster cannot list its groups, and all of ours were differences."""
    group = {"resource_type": "GROUP", "resource_name": "g", "source": "DYNAMIC_GROUP_CONFIG"}
    ours = taken(0, {"alice": 1.0}, [topic("g", "consumer.session.timeout.ms", "45000", **group)])
    theirs = taken(0, {"alice": 2.0}, scopes=["QUOTAS", "TOPIC"])
    assert [row[:3] for row in _rows(kn.diff(ours, theirs))] == [("user=alice", "producer_byte_rate", "changed")]


def test_two_times_of_one_history(tmp_path: Path) -> None:
    """What is different from last week?"""
    history = kn.open_history(tmp_path / "history")
    for hour in (0, 1):
        history.record(taken(hour, {"alice": hour + 1.0}))
    wanted = [("user=alice", "producer_byte_rate", "changed", "1", "2")]
    assert _rows(kn.diff(history.as_of(at(0)), history.as_of("2026-11-01T01:00:00Z"))) == wanted
    assert _rows(kn.diff(history.as_of(at(0)), taken(5, {"alice": 2.0}))) == wanted


def test_quotas_and_configs_do_not_compare() -> None:
    """It found no differences between apples and pears."""
    with pytest.raises(kn.UsageError, match="quotas cannot be compared with configs"):
        kn.diff(taken(0, {}, scopes=["QUOTAS"]), taken(0, {}, scopes=["TOPIC"]))
