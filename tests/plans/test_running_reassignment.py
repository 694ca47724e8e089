"""Throttles of a reassignment: while it runs, nobody's wish for the cluster; afterwards, leftovers (KIP-73)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka.protocol.admin.topics import AlterPartitionReassignmentsRequest

import kadmin_nb as kn
from kadmin_nb.admin import topics
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.commands import terminal
from kadmin_nb.model.changes import DELETE, SET, Change
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.advice import dangers
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.waiting import eventually

LEADER, FOLLOWER = "leader.replication.throttled", "follower.replication.throttled"
MV = Resource("TOPIC", "mv")
RUNNING = "a reassignment is running"
DISKS = "replica.alter.log.dirs.io.max.bytes.per.second"


def throttle(cluster: kn.Cluster, rate: str | None) -> None:
    """Set what kafka-reassign-partitions sets, or remove it; and wait until each broker says so."""
    op = DELETE if rate is None else SET
    rates = [ConfigOperation(op, f"{key}.rate", rate) for key in (LEADER, FOLLOWER)]
    lists = [ConfigOperation(op, f"{key}.replicas", rate and "*") for key in (LEADER, FOLLOWER)]
    brokers = {Resource("BROKER", str(number)): rates for number in (1, 2, 3)}
    assert not any(cluster.port.configs.alter({**brokers, MV: lists}).values())
    places: list[dict[str, Any]] = [*({"broker": number} for number in (1, 2, 3)), {"topic": "mv"}]
    wanted = [0 if rate is None else 2] * len(places)
    eventually(lambda: [sum("throttled" in key for key in keys_set(cluster, **place)) for place in places], wanted)


def keys_set(cluster: kn.Cluster, **place: Any) -> list[str]:
    """The keys that are set on a broker or a topic."""
    return list(cluster.configs.describe(**place, only_set=True).to_arrow()["key"].to_pylist())


def reassign(cluster: kn.Cluster, replicas: list[int] | None) -> None:
    """Begin the reassignment of mv-0, or cancel it."""
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = topic.ReassignablePartition(partition_index=0, replicas=replicas)
    moved = topic(name="mv", partitions=[partition])
    wire = cluster.port.wire
    answer = wire.tell(
        lambda: AlterPartitionReassignmentsRequest(timeout_ms=10_000, topics=[moved]), doing="reassigning"
    )
    assert [one.error_code for of_topic in answer.responses for one in of_topic.partitions] == [0]


@pytest.fixture(scope="module")
def cluster(three) -> Iterator[kn.Cluster]:
    """Three brokers, and a topic of 8 MB on one of them."""
    with three.connect() as connected:
        filled(connected, three.bootstrap)
        yield connected


def filled(cluster: kn.Cluster, bootstrap: str) -> None:
    """Make the topic mv on broker 1, with 8 MB in it."""
    cluster.port.create_topics({"mv": 1})
    if cluster.port.partitions(["mv"])[0].replicas != (1,):
        reassign(cluster, [1])
        eventually(lambda: [one.replicas for one in cluster.port.partitions(["mv"])], [(1,)])
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for _ in range(16):
        producer.produce("mv", b"x" * 500_000, partition=0)
    producer.flush(60)


@contextmanager
def running(cluster: kn.Cluster) -> Iterator[None]:
    """While mv-0 gets a second replica, at 1,000 bytes per second."""
    throttle(cluster, "1000")
    reassign(cluster, [1, 2])
    try:
        yield
    finally:
        reassign(cluster, None)
        throttle(cluster, None)


@pytest.fixture
def moving(cluster) -> Iterator[kn.Cluster]:
    with running(cluster):
        eventually(lambda: "running" in " ".join(map(str, (cluster.snapshot().throttling or {}).values())), True)
        yield cluster


@pytest.fixture
def declared_topic(tmp_path: Path) -> str:
    file = tmp_path / "prune-topic.yaml"
    file.write_text("kadmin: 1\nkinds: [topic, broker]\nconfigs:\n  topic=mv:\n    retention.ms: 604800000\n")
    return str(file)


@pytest.mark.broker
def test_pruning_leaves_the_throttles_of_a_running_reassignment(moving, declared_topic):
    """2 to remove, all validated: and the copies took the whole line, as the file was applied every hour."""
    plan = moving.plan_from(declared_topic, prune=True)
    kept = [row for row in rows(plan, "resource", "key") if "throttled" in str(row[1])]
    assert kept == []
    (note,) = (note["text"] for note in plan.notes)
    first = ", ".join(f"{key}.rate of broker={broker}" for broker in (1, 2) for key in (FOLLOWER, LEADER))
    assert "9 left as is (min.insync.replicas of broker=<default>: Kafka 4.1 and newer sets it by itself" in note
    assert f"; {first}, …: {RUNNING})" in note


@pytest.mark.broker
def test_an_export_leaves_them_out_and_names_them(moving, three, tmp_path, capsys):
    """The file of the cluster had a throttle of 1,000 bytes per second, and set it again a month later."""
    file = tmp_path / "cluster.yaml"
    assert terminal.run_line(["export", "--out", str(file), "--cluster", three.bootstrap]) == 0
    above, _, below = file.read_text().partition("kadmin: 1")
    keys = ", ".join(f"{key}.rate of broker={broker}" for broker in (1, 2) for key in (FOLLOWER, LEADER))
    says = f"8 left out, as Kafka's tools set them for a while ({keys}, …: {RUNNING})"
    assert f"# {says}" in above.splitlines()
    assert "throttled" not in below
    assert says in " ".join(capsys.readouterr().err.split())
    assert len(moving.plan_from(file)) == 0
    assert [row for row in rows(moving.plan_from(file, prune=True), "key") if "throttled" in str(row)] == []


@pytest.mark.broker
def test_a_difference_that_a_tool_made_for_a_while_is_no_drift(moving, declared_topic, three, capsys):
    """The alert of the drift rang for as long as we moved partitions."""
    found = kn.diff(declared_topic, moving)
    assert [row for row in rows(found.differing, "key") if "throttled" in str(row)] == []
    told = rows(kn.diff(declared_topic, moving, everything=True), "state", "note")
    assert [row for row in told if row[0] == "temporary"] == [("temporary", RUNNING)] * 8
    assert "8 set by Kafka's tools for a while" in found._title()


@pytest.mark.broker
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["reset", f"{LEADER}.replicas", "topic=mv"],
            f"replicas are no longer throttled: copies may take the whole line; {RUNNING}",
        ),
        (
            ["reset", f"{FOLLOWER}.rate", "broker=2"],
            f"1000 B/s is removed: copies may take the whole line; {RUNNING}",
        ),
        (["set", f"{FOLLOWER}.rate=10", "broker=2"], f"1000 B/s becomes 10 B/s: copies may never end; {RUNNING}"),
    ],
    ids=["list", "rate", "lowered"],
)
def test_taking_a_throttle_away_needs_a_word(moving, three, capsys, words, says):
    """config reset: validated, no danger, and config why knew that the reassignment was running."""
    assert terminal.run_line(["config", *words, "--apply", "--cluster", three.bootstrap]) == 5
    assert says in " ".join(capsys.readouterr().err.split())
    assert len(moving.configs.describe(topic="mv", keys=[f"{LEADER}.replicas"], only_set=True)) == 1


@pytest.mark.broker
def test_a_raised_throttle_needs_none(moving, three):
    """A faster reassignment is what whoever raises it wants."""
    stage = moving.new_stage()
    stage.set_config(f"{FOLLOWER}.rate", "2000", broker=2)
    assert rows(stage.plan().dangers(), "key") == []


def throttles_in(plan):
    return [row for row in rows(plan, "op", "resource", "key") if "throttled" in str(row[2])]


@pytest.mark.broker
def test_without_a_reassignment_they_are_leftovers(cluster, declared_topic, tmp_path):
    """A throttle that was forgotten stayed for ever, as no file could prune it."""
    throttle(cluster, "1000")
    try:
        eventually(lambda: len(throttles_in(cluster.plan_from(declared_topic, prune=True))), 8)  # each broker has them
        plan = cluster.plan_from(declared_topic, prune=True)
        assert ("delete", "topic=mv", f"{LEADER}.replicas") in throttles_in(plan)
        assert [key for (key,) in rows(plan.dangers(), "key") if "throttled" in str(key)] == []
        assert f"{LEADER}.replicas" in kn.state.export(cluster.snapshot())
        assert [key for (key,) in rows(kn.diff(declared_topic, cluster), "key") if "throttled" in str(key)]
    finally:
        throttle(cluster, None)


def test_the_throttle_of_moves_between_disks_needs_a_word():
    """It was judged by reassignments, and these do not list moves between the disks of one broker."""
    target = (Resource("BROKER", "1"), DISKS)
    assert "is not known" in topics.throttling(None, [target])[target]


# -- without a broker


def judged(kafka: FakeKafka, resource: Resource, key: str, old: str | None, new: str | None) -> list[tuple[str, str]]:
    change = Change(1, DELETE if new is None else SET, resource, key, old, new, new)
    return [(danger.code, danger.message) for danger in dangers.found(kafka, [change])]


TOPIC, BROKER = Resource("TOPIC", "t"), Resource("BROKER", "1")


@pytest.mark.parametrize(
    ("resource", "key", "old", "new", "is_dangerous"),
    [
        (BROKER, f"{LEADER}.rate", "1000", None, True),
        (BROKER, f"{LEADER}.rate", "1000", "999", True),
        (BROKER, f"{LEADER}.rate", "1000", "1001", False),
        (BROKER, f"{LEADER}.rate", "1000", "1000", False),
        (BROKER, f"{LEADER}.rate", None, "1000", False),
        (Resource("BROKER", ""), f"{FOLLOWER}.rate", "1000", None, True),
        (BROKER, DISKS, "1000", None, True),
        (TOPIC, f"{LEADER}.replicas", "0:1,0:2", "0:1", True),
        (TOPIC, f"{LEADER}.replicas", "0:1", "0:1,0:2", False),
        (TOPIC, f"{LEADER}.replicas", "0:1", "*", False),
        (TOPIC, f"{LEADER}.replicas", "*", "0:1", True),
        (TOPIC, f"{FOLLOWER}.replicas", "0:1", None, True),
        (TOPIC, "retention.ms", "1000", "2000", False),
    ],
)
def test_which_rows_take_a_throttle_away(resource, key, old, new, is_dangerous):
    """A throttle that was set or raised was refused, one that was removed was not."""
    kafka = FakeKafka()
    assert judged(kafka, resource, key, old, new) == []
    kafka.cluster.copying = RUNNING
    assert bool(judged(kafka, resource, key, old, new)) is is_dangerous


def test_what_is_not_known_is_not_safe():
    """Without DESCRIBE on the cluster, no reassignment was running, as far as we could see."""
    kafka = FakeKafka()
    kafka.cluster.copying = "whether a reassignment is running is not known: CLUSTER_AUTHORIZATION_FAILED"
    ((code, message),) = judged(kafka, BROKER, f"{LEADER}.rate", "1000", None)
    assert code == "throttle"
    assert message.endswith("; whether a reassignment is running is not known: CLUSTER_AUTHORIZATION_FAILED")
