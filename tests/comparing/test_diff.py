"""Differences of two snapshots: counts first; what is not compared is said."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.model.entity import Entity
from tests.history.hours import failed, taken, topic
from tests.hostile_names import HOSTILE


def rows(found: kn.Answer) -> list[tuple]:
    return [tuple(row[n] for n in ("resource", "key", "state", "a", "b")) for row in found.to_arrow().to_pylist()]


def of_broker(name: str, key: str, value: str, source: str = "STATIC_BROKER_CONFIG", **more) -> dict:
    return topic(name, key, value, resource_type="BROKER", source=source, synonyms=[], **more)


def test_counts_come_first() -> None:
    """The three that mattered were below four hundred others."""
    a = taken(0, {"alice": 1, "bob": 2}, [topic("t", "retention.ms", "604800000"), topic("t", "segment.ms", "5")])
    b = taken(1, {"bob": 3}, [topic("t", "segment.ms", "6"), failed("u")])
    found = kn.diff(a, b)
    assert rows(found) == [
        ("topic=t", "segment.ms", "changed", "5", "6"),
        ("topic=u", None, "unknown", None, None),
        ("user=alice", "producer_byte_rate", "removed", "1", None),
        ("user=bob", "producer_byte_rate", "changed", "2", "3"),
    ]
    assert repr(found).splitlines()[:4] == [
        "4 differences: 1 only in a, 2 changed, 1 that could not be read",
        "a: a snapshot (cluster here at 2026-11-01 00:00:00Z)",
        "b: a snapshot (cluster here at 2026-11-01 01:00:00Z, NOT COMPLETE: 1 could not be read)",
        "besides, 1 only by default (--all shows them)",
    ]
    by_default = kn.diff(a, b, everything=True).to_arrow().to_pylist()[4:]
    assert [(row["row"], row["key"], row["state"]) for row in by_default] == [(5, "retention.ms", "default")]
    assert not found.ok


def test_it_is_a_data_frame_with_the_same_columns_when_nothing_differs() -> None:
    """A report broke on the first day on which all was well."""
    one = taken(0, {"alice": 1})
    found = kn.diff(one, taken(1, {"alice": 1}))
    assert list(found.to_pandas().columns) == [
        *("row", "kind", "resource", "key", "state", "a", "b", "source_a", "source_b", "note", "is_sensitive"),
    ]
    assert (len(found), len(found.differing), repr(found).splitlines()[0]) == (0, 0, "no difference")


def test_single_brokers_of_two_clusters_are_not_compared() -> None:
    """Broker 1 of staging was compared with broker 1 of production, and 2 and 3 were said to have been removed."""
    ours = [of_broker(n, "num.io.threads", "8") for n in "123"]
    theirs = [
        of_broker("1", "num.io.threads", "9"),
        of_broker("", "background.threads", "11", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    ]
    found = kn.diff(taken(0, {}, ours), taken(0, {}, theirs, cluster_id="there"))
    assert rows(found) == [("broker=<default>", "background.threads", "added", None, "11")]
    assert "not compared: single brokers and Kafka's own topics, as these are two clusters" in repr(found)


def test_brokers_of_one_cluster_are_compared_one_by_one() -> None:
    """Somebody moved a listener, and it was taken for what differs anyway."""
    before, after = (taken(0, {}, [of_broker("1", "listeners", f"PLAINTEXT://:{port}")]) for port in (9092, 9093))
    assert rows(kn.diff(before, after)) == [
        ("broker=1", "listeners", "changed", "PLAINTEXT://:9092", "PLAINTEXT://:9093")
    ]


def test_kafkas_own_topics_of_two_clusters_are_not_compared() -> None:
    """Three brokers and one: eight of seventeen differences were those of __transaction_state."""
    own = [topic("__transaction_state", "min.insync.replicas", "2")]
    assert rows(kn.diff(taken(0, {}, own), taken(0, {}, cluster_id="there"))) == []
    assert rows(kn.diff(taken(0, {}, own), taken(0, {})))[0][2] == "removed"


def test_what_one_side_says_nothing_of_is_not_compared() -> None:
    """A snapshot of the quotas said that all topics were gone."""
    a = taken(0, {"alice": 1}, [topic("t", "retention.ms", "5")])
    found = kn.diff(a, taken(0, {"alice": 1}, scopes=["QUOTAS"]))
    assert rows(found) == []
    assert "not compared: TOPIC, which only one side has read, BROKER, which only one side has read" in repr(found)


def test_secrets_on_both_sides_are_counted() -> None:
    """Nothing differed, and the passwords did."""
    a, b = (taken(hour, {}, [topic("t", "x.password", str(hour), default="0")]) for hour in (1, 2))
    first, *_, last = repr(kn.diff(a, b)).splitlines()
    assert [first, last] == [
        "no difference",
        "1 secret per side cannot be read and were skipped",
    ]


def test_what_was_read_from_a_file_is_a_side() -> None:
    """I had loaded the file already, and it wanted its path."""
    told = kn.state.read("kadmin: 1\nquotas:\n  user=alice:\n    producer_byte_rate: 1 kB/s\n", "mine.yaml")
    found = kn.diff(told, taken(0, {"alice": 2}, [of_broker("1", "num.io.threads", "8")]))
    assert rows(found) == [("user=alice", "producer_byte_rate", "changed", "1000", "2")]
    assert repr(found).splitlines()[1] == "a: mine.yaml (no cluster named)"


def test_hostile_names_do_no_harm() -> None:
    """A client called <script> ran in the browser of whoever compared two clusters."""
    a, b = taken(0, dict.fromkeys(HOSTILE, 1)), taken(0, dict.fromkeys(HOSTILE, 2), cluster_id="\x1b[31m<b>")
    found = kn.diff(a, b)
    assert len(found) == len(HOSTILE)
    assert "<script>" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "\x1b" not in repr(found)
    assert {row["resource"] for row in found} == {str(Entity.of({"user": name})) for name in HOSTILE}


def test_the_same_side_twice_is_refused() -> None:
    """It compared production with production, and all was well."""
    one = taken(0, {})
    with pytest.raises(kn.UsageError, match="both sides are the same"):
        kn.diff(one, one)
    with pytest.raises(kn.UsageError, match="both sides are the same"):
        kn.diff("prod", "prod")
