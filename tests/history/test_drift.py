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
        (topic("t", "retention.ms", "604800000"), None, ["default"]),
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
    ids=["by default", "set", "set there", "other values", "from elsewhere", "equal", "two secrets", "a secret alone"],
)
def test_a_difference_by_default_is_none_that_matters(a, b, states: list[str]) -> None:
    """Four thousand differences, and all but three of them said what is the default anyway."""
    found = kn.diff(*(taken(hour, {}, [row] if row else []) for hour, row in enumerate((a, b))), everything=True)
    assert [row[2] for row in _rows(found)] == states
    assert len(found.differing) == len(states) - states.count("default")


_FIRST = {"resource_type": "BROKER", "source": "STATIC_BROKER_CONFIG", "synonyms": []}
_ALL = {"resource_type": "BROKER", "source": "DYNAMIC_DEFAULT_BROKER_CONFIG", "synonyms": []}


@pytest.mark.parametrize(
    ("brokers", "value", "state"),
    [
        ([topic("1", "node.id", "1", **_FIRST)], "604800000", "default"),
        ([topic("1", "log.retention.ms", "604800000", **_FIRST)], "604800000", "default"),
        ([topic("1", "log.retention.hours", "24", **_FIRST)], "86400000", "default"),
        ([topic("1", "log.retention.hours", "-1", **_FIRST)], "-1", "default"),
        ([topic("1", "log.retention.hours", "24", **_FIRST)], "604800000", "added"),
        ([topic("1", "node.id", "1", **_FIRST), topic("", "log.retention.ms", "5", **_ALL)], "604800000", "added"),
        ([topic("1", "node.id", "1", **_FIRST), topic("", "log.retention.ms", "5", **_ALL)], "5", "default"),
        ([topic("1", "log.retention.ms", "5", **_FIRST), topic("2", "node.id", "2", **_FIRST)], "5", "added"),
    ],
    ids=[
        *(
            "Kafka's",
            "that of its file",
            "the same in hours",
            "no end in hours",
            "another in its file",
            "another for all",
        ),
        *("the same for all", "its brokers do not agree"),
    ],
)
def test_by_default_means_by_the_other_clusters_default(brokers, value: str, state: str) -> None:
    """Production keeps 7 days by default and staging one, and the topic's 7 days were said to be the same there."""
    theirs = topic("t", "retention.ms", value, default="604800000")
    found = kn.diff(taken(0, {}, brokers), taken(1, {}, [*brokers, theirs]), everything=True)
    assert [row[1:3] for row in _rows(found)] == [("retention.ms", state)]


def test_nobody_knows_the_default_of_brokers_that_could_not_be_read() -> None:
    """The brokers were forbidden, and their defaults were said to be mine."""
    theirs = {**failed("1"), "resource_type": "BROKER"}
    found = kn.diff(taken(0, {}, [topic("t", "retention.ms", "604800000")]), taken(1, {}, [theirs]))
    assert [row[2] for row in _rows(found)] == ["unknown", "removed"]


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
