"""The runbook reach on three real brokers, with figures that are worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.runbooks.databricks_stand_in import as_task
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

PRODUCE = "producer_byte_rate"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ONE, TWO = [[1, 2], [1, 2]], [[1, 3], [2, 3], [2, 1]]
"""The replicas of a topic that broker 1 leads alone, and of one that brokers 1 and 2 lead."""


@pytest.fixture(scope="module")
def wide(three: LocalKafka) -> Iterator[kn.Cluster]:
    """Three brokers; limits of 10 MB/s, one of a user with all of its clients, and one of any client `app`."""
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    made = [NewTopic(name, len(at), replica_assignment=at) for name, at in {"one": ONE, "two": TWO}.items()]
    for future in admin.create_topics(made, operation_timeout=30).values():
        future.result()
    with three.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_quota(PRODUCE, 10e6, user="alice")
        stage.set_quota("consumer_byte_rate", 10e6, client_id="reader")
        stage.plan().apply().raise_for_errors()
        yield cluster


@pytest.fixture
def reach(three: LocalKafka, wide: kn.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs it for alice's client `app`; the verdict of what it gets."""
    monkeypatch.chdir(tmp_path)

    def run(**given: object) -> dict[str, Any]:
        said = as_task("reach", cluster=three.bootstrap, **{"user": "alice", "client_id": "app", **given})
        assert said["changed"] is False
        return next(row for row in said["verdicts"] if row["check"] == "what it gets")

    return run


def used(broker: int, value: float | None, client_id: str = "app", user: str = "alice") -> dict[str, Any]:
    """A window of a second."""
    window = {"window_start": NOON, "window_end": NOON + timedelta(seconds=1), "source": "test"}
    return {"broker": broker, "user": user, "client_id": client_id, "key": PRODUCE, "value": value, **window}


def written(*rows: dict[str, Any]) -> str:
    parquet.write_table(schemas.table(schemas.USAGE, rows), "usage.parquet")
    return "usage.parquet"


def test_a_limit_on_three_brokers_is_what_the_busiest_of_them_allows(reach) -> None:
    """The limit times three was promised to the team, and it was throttled at a third of that."""
    now = reach(topics=["one"])
    assert (now["verdict"], now["message"]) == ("look", "producer_byte_rate: 30 MB/s on paper, 10 MB/s now")
    both = reach(topics=["one", "two"])  # broker 1 leads three partitions of five: 10 / (3 / 5)
    assert both["message"] == "producer_byte_rate: 30 MB/s on paper, 16.67 MB/s now"


def test_a_lost_broker_leaves_its_partitions_to_the_next_in_sync(reach) -> None:
    """The what-if divided by a broker less, and the load went to one of them."""
    says = reach(topics=["two"], without=[1, 2, 3])["message"]  # led by 1, 2, 2; then 3, 2, 2; 1, 3, 1; 1, 2, 2
    assert says == (
        "producer_byte_rate: 30 MB/s on paper, "
        "15 MB/s now, 15 MB/s without broker 1, 15 MB/s without broker 2, 15 MB/s without broker 3"
    )


def test_a_partition_that_nobody_leads_is_told(three: LocalKafka, wide: kn.Cluster, reach) -> None:
    """Two of its partitions were offline in the what-if, and the others looked as if they were all."""
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    topic = NewTopic("alone", 2, replica_assignment=[[1], [2]])
    admin.create_topics([topic], operation_timeout=30)["alone"].result()
    says = reach(topics=["alone"], without=[1])["message"]
    assert says == (
        "producer_byte_rate: 30 MB/s on paper, 20 MB/s now, 10 MB/s without broker 1; "
        "offline partitions without broker 1: 1"
    )


def test_a_reassignment(reach) -> None:
    """The partitions were moved over night, and nobody had asked what for."""
    parts = [{"topic": "one", "partition": 0, "replicas": [3, 1]}]
    Path("move.json").write_text(json.dumps({"version": 1, "partitions": parts}))
    says = reach(topics=["one"], reassignment="move.json")["message"]
    assert says == "producer_byte_rate: 30 MB/s on paper, 10 MB/s now, 20 MB/s after the reassignment"


def test_usage_tells_the_shares_of_all_who_share_the_limit(reach) -> None:
    """All partitions were thought to be alike, and one had all the traffic."""
    rows = [used(1, 1e6), used(1, 2e6, "other"), used(2, 1e6), used(3, 9e6, user="bob")]
    says = reach(usage=written(*rows))["message"]  # 3 of 4 MB of alice on broker 1
    assert says == "producer_byte_rate: 30 MB/s on paper, 13.33 MB/s now"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([used(1, 1e6), used(2, 1e6)], "; not known for broker 3."),
        ([used(1, 1e6), used(2, None), used(3, 1e6)], ""),
        ([used(1, 1e6, user="bob"), used(2, 1e6, user="bob"), used(3, 1e6, user="bob")], ""),
    ],
    ids=["a broker without usage", "a window that is unknown", "no use of its own"],
)
def test_without_a_part_of_the_usage_the_limit_of_one_broker_is_a_lower_bound(reach, rows, why) -> None:
    """The log of the third broker was lost, and the answer was twice what it got: that broker had nearly all."""
    found = reach(usage=written(*rows))
    assert (found["verdict"], found["message"]) == (
        "look",
        f"producer_byte_rate: 30 MB/s on paper, at least 10 MB/s now{why}",
    )


def test_a_client_without_a_limit_gets_what_brokers_give(reach) -> None:
    """It said 0 MB/s."""
    found = reach(user="nobody-that-a-quota-names", topics=["one"])
    assert (found["verdict"], found["message"]) == ("ok", "no limit of bytes: it gets what brokers can give")


def test_a_client_that_did_not_log_in_has_the_limits_of_its_client_id(reach) -> None:
    """user is required."""
    says = reach(user="", client_id="reader", topics=["two"])["message"]
    assert says == "consumer_byte_rate: 30 MB/s on paper, 15 MB/s now"


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({}, kn.UsageError, "it takes topics"),
        ({"topics": ["one"], "usage": "usage.parquet"}, kn.UsageError, "it takes topics"),
        ({"topics": ["ono"]}, kn.NotFound, "no topic ono"),
        ({"topics": ["one"], "without": [9]}, kn.NotFound, "no broker 9"),
        ({"topics": ["one"], "reassignment": "none.json"}, kn.Invalid, "none.json is not a reassignment"),
    ],
    ids=["nothing", "both", "a topic", "a broker", "a file"],
)
def test_what_does_not_exist_is_one_line(reach, given, kind, words) -> None:
    """KeyError: 9"""
    with pytest.raises(kind, match=words) as refused:
        reach(**given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["[]", "{", '{"partitions": [{"topic": "one"}]}', '{"partitions": 3}'])
def test_a_file_that_is_no_reassignment_is_one_line(reach, text) -> None:
    """TypeError: list indices must be integers."""
    Path("move.json").write_text(text)
    with pytest.raises(kn.Invalid, match=r"move\.json is not a reassignment") as refused:
        reach(topics=["one"], reassignment="move.json")
    assert "\n" not in str(refused.value)


@pytest.mark.long
def test_the_cluster_without_a_broker_is_as_it_was_foretold(three: LocalKafka, wide: kn.Cluster, reach) -> None:
    """The what-if had another leader than the controller chose."""
    foretold = reach(topics=["one", "two"], without=[2])["message"]  # 1 leads four of five then, and 3 one
    assert foretold.endswith(", 12.5 MB/s without broker 2")
    three.nodes[1].kill()
    try:
        eventually(lambda: [one["leader"] for one in _leaders(wide)], [1, 1, 1, 3, 1], 30)
    finally:
        three.nodes[1].start()
        eventually(lambda: any(broker.is_fenced for broker in wide.port.brokers()), False, 30)


def _leaders(cluster: kn.Cluster) -> list[dict[str, Any]]:
    rows = kn.runbooks.leaders(cluster, ["one", "two"]).to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"]))


def test_the_shipped_runbook_is_short() -> None:
    """Nobody reads a report of three hundred lines before it is changed."""
    cells = json.loads(kn.runbooks.find("reach").path.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 80
