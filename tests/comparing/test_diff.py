"""Differences: two snapshots, frames, clusters' brokers by their role; counts first; rows by number."""

from __future__ import annotations

import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import DELETE, SET
from kadmin_nb.state.compare import compare_sides
from kadmin_nb.state.diff_answer import Diff, Side
from tests.history.hours import configs_of, failed, quotas_of, taken, topic
from tests.hostile_names import HOSTILE


def rows(found: kn.Answer) -> list[tuple]:
    return [tuple(row[n] for n in ("resource", "key", "state", "a", "b")) for row in found.to_arrow().to_pylist()]


def of_broker(name: str, key: str, value: str, source: str = "STATIC_BROKER_CONFIG", **more) -> dict:
    return topic(name, key, value, resource_type="BROKER", source=source, synonyms=[], **more)


def test_counts_come_first_and_what_does_not_matter_last() -> None:
    """The three that mattered were below four hundred defaults."""
    a = taken(0, {"alice": 1, "bob": 2}, [topic("t", "retention.ms", "604800000"), topic("t", "segment.ms", "5")])
    b = taken(1, {"bob": 3}, [topic("t", "segment.ms", "6"), failed("u")])
    found = kn.diff(a, b)
    assert rows(found) == [
        ("topic=t", "segment.ms", "changed", "5", "6"),
        ("topic=u", None, "unknown", None, None),
        ("user=alice", "producer_byte_rate", "removed", "1", None),
        ("user=bob", "producer_byte_rate", "changed", "2", "3"),
    ]
    assert repr(found).splitlines()[:5] == [
        "4 differences: 1 only in a, 2 changed, 1 that could not be read",
        "a: a snapshot (cluster here at 2026-11-01 00:00:00Z)",
        "b: a snapshot (cluster here at 2026-11-01 01:00:00Z, NOT COMPLETE: 1 could not be read)",
        "besides, 1 only by default (not shown: --all)",
        f"diff {found.id}",
    ]
    assert rows(found.only_by_default) == [("topic=t", "retention.ms", "default", "604800000", None)]
    assert [row["row"] for row in found.everything.to_arrow().to_pylist()] == [1, 2, 3, 4, 5]
    assert found.counts.to_pandas().set_index("state").loc["changed"].tolist() == [1, 1, 0, 0]
    assert not found.ok
    assert kn.diff(a, b, everything=True).id == found.id


def test_it_is_a_data_frame_with_the_same_columns_when_nothing_differs() -> None:
    """A report broke on the first day on which all was well."""
    one = taken(0, {"alice": 1})
    found = kn.diff(one, taken(1, {"alice": 1}))
    assert list(found.to_pandas().columns) == [
        *("row", "kind", "resource", "key", "state", "a", "b", "source_a", "source_b", "note"),
        *("is_sensitive", "missing"),
    ]
    assert (len(found), len(found.differing), repr(found).splitlines()[0]) == (0, 0, "no difference")


def test_two_frames() -> None:
    """I had the quotas as a DataFrame already, and it wanted a cluster."""
    mine = kn.Answer(quotas_of({"alice": 1})).to_pandas()
    assert isinstance(mine, pd.DataFrame)
    found = kn.diff(quotas_of({"alice": 2}), quotas_of({"alice": 1}))
    assert rows(found) == [("user=alice", "producer_byte_rate", "changed", "2", "1")]
    with pytest.raises(kn.UsageError, match="quotas cannot be compared with configs"):
        kn.diff(quotas_of({}), configs_of())


def test_brokers_of_two_clusters_are_compared_by_their_role() -> None:
    """Broker 1 of staging was compared with broker 1 of production, and 2 and 3 were said to have been removed."""
    ours = [of_broker(n, "num.io.threads", "8") for n in "123"] + [of_broker(n, "node.id", n) for n in "123"]
    theirs = [of_broker("7", "num.io.threads", "8"), of_broker("7", "node.id", "7")]
    a, b = taken(0, {}, ours), taken(0, {}, theirs, cluster_id="there")
    assert rows(kn.diff(a, b, everything=True)) == [("broker=<any>", "node.id", "nature", "1 | 2 | 3", "7")]
    ours.append(of_broker("2", "log.cleaner.threads", "2", "DYNAMIC_BROKER_CONFIG"))
    theirs.append(of_broker("", "background.threads", "11", "DYNAMIC_DEFAULT_BROKER_CONFIG"))
    theirs[0] = of_broker("7", "num.io.threads", "9")
    found = kn.diff(taken(0, {}, ours), taken(0, {}, theirs, cluster_id="there"))
    assert rows(found) == [
        ("broker=<any>", "log.cleaner.threads", "removed", "(not set) | 2", None),
        ("broker=<any>", "num.io.threads", "changed", "8", "9"),
        ("broker=<default>", "background.threads", "added", None, "11"),
    ]
    assert len(found.by_nature) == 1


def test_brokers_of_one_cluster_are_compared_one_by_one() -> None:
    """Somebody moved a listener, and it was taken for what differs anyway."""
    before, after = (taken(0, {}, [of_broker("1", "listeners", f"PLAINTEXT://:{port}")]) for port in (9092, 9093))
    assert rows(kn.diff(before, after)) == [
        ("broker=1", "listeners", "changed", "PLAINTEXT://:9092", "PLAINTEXT://:9093")
    ]


def test_kafkas_own_topics_differ_by_nature() -> None:
    """Three brokers and one: eight of seventeen differences were those of __transaction_state."""
    own = [topic("__transaction_state", "min.insync.replicas", "2")]
    found = kn.diff(taken(0, {}, own), taken(0, {}, cluster_id="there"), everything=True)
    assert rows(found) == [("topic=__transaction_state", "min.insync.replicas", "nature", "2", None)]
    assert rows(kn.diff(taken(0, {}, own), taken(0, {})))[0][2] == "removed"


def test_a_topic_that_is_not_there_cannot_be_staged_there() -> None:
    """All rows were refused because of one topic that staging does not have."""
    a, b = (taken(0, {}, [topic("t", "segment.ms", "5")]), taken(0, {}, cluster_id="there"))
    found = compare_sides(Side("one", a), Side("two", b, topics=frozenset({"u"})))
    assert found.to_pandas()["note"].tolist() == ["b has no such topic"]
    assert found.edits("all", like="a") == []
    with pytest.raises(kn.UsageError, match=r"row 1, topic=t .* cannot be staged: no such topic"):
        found.edits("1", like="a")
    assert [edit.op for edit in found.edits("1", like="b")] == [DELETE]


def test_a_broker_that_could_not_be_read_makes_all_of_them_unknown() -> None:
    """A broker was down, and what it had set was said to be gone from the whole cluster."""
    down = {"resource_type": "BROKER", "resource_name": "2", "error": "BROKER_NOT_AVAILABLE", "message": "down"}
    a = taken(0, {}, [of_broker("1", "num.io.threads", "8")])
    b = taken(0, {}, [of_broker("1", "num.io.threads", "9"), down], cluster_id="there")
    found = kn.diff(a, b)
    assert rows(found) == [("broker=<any>", None, "unknown", None, None)]
    assert found.to_pandas()["note"].tolist() == ["BROKER_NOT_AVAILABLE: broker 2: down"]


def test_what_one_side_says_nothing_of_is_not_compared() -> None:
    """A snapshot of the quotas said that all topics were gone."""
    a = taken(0, {"alice": 1}, [topic("t", "retention.ms", "5")])
    found = kn.diff(a, taken(0, {"alice": 1}, scopes=["QUOTAS"]))
    assert rows(found) == []
    assert "not compared, as only one side has read it: TOPIC, BROKER, CLIENT_METRICS, GROUP" in repr(found)


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
    whose = {edit.resource.get("user") for edit in found.edits("all", like="b")}
    assert whose == set(HOSTILE)
    of_group = {"resource_type": "GROUP", "source": "DYNAMIC_GROUP_CONFIG", "synonyms": []}
    groups = [topic(name, "consumer.session.timeout.ms", "5", **of_group) for name in HOSTILE]
    edits = kn.diff(taken(0, {}, groups), taken(1, {})).edits("all", like="a")
    assert {edit.resource.name for edit in edits} == set(HOSTILE)


def _mixed() -> Diff:
    a = [
        topic("t", "segment.ms", "5"),
        topic("t", "x.password", "canary", default="canary"),
        topic("t", "retention.ms", "604800000"),
        of_broker("1", "num.io.threads", "8", "DYNAMIC_BROKER_CONFIG"),
        of_broker("1", "log.cleaner.threads", "8"),
        of_broker("1", "background.threads", "8"),
    ]
    b = [failed("u"), of_broker("1", "background.threads", "8", "DYNAMIC_BROKER_CONFIG")]
    return kn.diff(taken(0, {"alice": 1}, a), taken(1, {"alice": 2, "bob": 3}, b), everything=True)


def test_chosen_rows_become_edits_towards_either_side() -> None:
    """I copied forty values from one window into the other."""
    found = _mixed()
    where = {(row["resource"], row["key"]): row["row"] for row in found.to_arrow().to_pylist()}
    told = [where["user=alice", "producer_byte_rate"], where["user=bob", "producer_byte_rate"]]
    assert [(str(e.resource), e.op, e.value) for e in found.edits(told, like="a")] == [
        ("user=alice", SET, "1"),
        ("user=bob", DELETE, None),
    ]
    assert [(str(e.resource), e.op, e.value) for e in found.edits(f"{told[0]}-{told[1]}", like="b")] == [
        ("user=alice", SET, "2"),
        ("user=bob", SET, "3"),
    ]
    every = {(str(e.resource), e.key, e.op, e.value) for e in found.edits("all", like="b")}
    assert every == {
        ("topic=t", "segment.ms", DELETE, None),
        ("broker=1", "num.io.threads", DELETE, None),
        ("broker=1", "background.threads", SET, "8"),
        ("user=alice", "producer_byte_rate", SET, "2"),
        ("user=bob", "producer_byte_rate", SET, "3"),
    }
    back = {(str(e.resource), e.key, e.op, e.value) for e in found.edits("all", like="a")}
    assert ("broker=1", "background.threads", DELETE, None) in back
    assert ("broker=1", "log.cleaner.threads", SET, "8") in back


@pytest.mark.parametrize(
    ("resource", "key", "like", "why"),
    [
        ("topic=t", "x.password", "a", "it is a secret, which cannot be read"),
        ("topic=t", "x.password", "b", "it is a secret, which cannot be read"),
        ("topic=t", "retention.ms", "b", "it differs only by default"),
        ("topic=u", None, "a", "it could not be read"),
        ("broker=1", "log.cleaner.threads", "b", "it is set in the broker's server.properties"),
    ],
)
def test_a_row_that_cannot_be_staged_says_why(resource: str, key: str | None, like: str, why: str) -> None:
    """[secure] was set as the password."""
    found = _mixed()
    (number,) = (row["row"] for row in found.to_arrow().to_pylist() if (row["resource"], row["key"]) == (resource, key))
    with pytest.raises(kn.UsageError) as refused:
        found.edits([number], like=like)
    assert str(refused.value) == f"row {number}, {resource}{f' {key}' if key else ''}, cannot be staged: {why}"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", '"" is not the number of a row'),
        ("1-", "1- is not the number of a row"),
        ("0", "no such row: 0"),
        ("1-999999999", "no such row: 999999999"),
        ("3-1", "3-1 ends before it begins"),
        ("-1", "-1 is not the number of a row"),
        ("one", "one is not the number of a row"),
        ([], "--rows is required"),
        ([1.5], "[1.5]: row numbers are required"),
        ([-1], "no such row: -1"),
        (None, "None: row numbers are required"),
    ],
)
def test_rows_that_are_not_there(given: object, says: str) -> None:
    """--rows 0 staged the last one."""
    with pytest.raises(kn.UsageError) as refused:
        _mixed().edits(given, like="a")
    assert str(refused.value) == says


def test_rows_may_come_out_of_the_data_frame() -> None:
    """I filtered the frame, and then typed the numbers by hand."""
    found = kn.diff(taken(0, {"alice": 1, "bob": 1}), taken(0, {"alice": 2}))
    frame = found.to_pandas()
    (edit,) = found.edits(frame[frame["state"] == "changed"]["row"], like="b")
    assert (str(edit.resource), edit.op, edit.value) == ("user=alice", SET, "2")


def test_the_same_side_twice_is_refused() -> None:
    """It compared production with production, and all was well."""
    one = taken(0, {})
    with pytest.raises(kn.UsageError, match="both sides are the same"):
        kn.diff(one, one)
    with pytest.raises(kn.UsageError, match="both sides are the same"):
        kn.diff("prod", "prod")


def test_a_part_of_a_diff_stages_nothing() -> None:
    """The rows of .failed were numbered anew."""
    with pytest.raises(kn.UsageError, match="a part of a comparison cannot be staged"):
        _mixed().failed.stage("a", rows=[1])
    with pytest.raises(kn.UsageError, match="was not passed as a Cluster"):
        _mixed().stage("a", rows=[1])
