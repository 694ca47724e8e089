"""What a client can really get: limits hold on each broker, and its topics have their leaders somewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.resources import Partition
from kadmin_nb.resolution import reach as rule
from tests.waiting import eventually

LIMIT = 10e6
START = datetime(2026, 1, 1, tzinfo=UTC)


def led_by(*leaders: int | None, replicas: tuple[int, ...] = (1, 2, 3)) -> list[Partition]:
    return [Partition("t", number, leader, replicas, replicas) for number, leader in enumerate(leaders)]


CASES = {
    "one leader": (led_by(1, 1, 1), 10e6),
    "all brokers": (led_by(1, 2, 3), 30e6),
    "two of three": (led_by(1, 2, 1, 2), 20e6),
    "one has more": (led_by(1, 1, 2), 15e6),
    "one is offline": (led_by(1, 2, None), 20e6),
}


@pytest.mark.parametrize(("partitions", "total"), CASES.values(), ids=CASES)
def test_the_busiest_broker_is_the_first_at_its_limit(partitions, total):
    """30 MB/s, it was said, and it was throttled at 10."""
    got = rule.reach(LIMIT, rule.even_shares(partitions))
    assert got is not None
    assert got.total == pytest.approx(total)
    load = {broker: got.total * share for broker, share in rule.even_shares(partitions).items()}
    assert max(load.values()) == pytest.approx(LIMIT)
    assert load[got.busiest] == pytest.approx(LIMIT)


def test_nothing_is_reached_where_nobody_leads():
    """Division by zero."""
    assert rule.reach(LIMIT, rule.even_shares(led_by(None, None))) is None


def test_the_heir_is_the_next_replica_in_sync():
    """The what-if gave the partition to a replica that was not there."""
    partitions = [Partition("t", 0, 1, (1, 2, 3), (1, 3)), Partition("t", 1, 1, (1, 2), (1,)), *led_by(2)]
    assert [one.leader for one in rule.without(partitions, 1)] == [3, None, 2]


@pytest.fixture(scope="module")
def wide(three: LocalKafka) -> Iterator[kn.Cluster]:
    """Three brokers, a limit of 10 MB/s, a topic that broker 1 leads alone, and one that brokers 1 and 2 lead."""
    admin = AdminClient({"bootstrap.servers": three.bootstrap})
    placed = {"one": [[1, 2], [1, 2]], "two": [[1, 3], [2, 3], [2, 1]]}
    made = [NewTopic(name, len(replicas), replica_assignment=replicas) for name, replicas in placed.items()]
    for future in admin.create_topics(made, operation_timeout=30).values():
        future.result()
    with three.connect() as cluster:
        stage = cluster.stage()
        stage.set_quota("producer_byte_rate", LIMIT, user="alice")
        stage.plan().apply().raise_for_errors()
        yield cluster


def totals(answer: kn.Answer) -> dict[str, float | None]:
    return {row["case"]: row["total"] for row in answer.to_arrow().to_pylist()}


@pytest.mark.broker
class TestOnThreeBrokers:
    def test_on_paper_and_with_its_leaders_where_they_are(self, wide):
        """The limit times three was promised to the team."""
        answer = wide.quotas.reach("alice", "app", topics=["one"], without=[1, 2])
        [now, *_] = answer.to_arrow().to_pylist()
        assert (now["on_paper"], now["total"], now["leaders"], now["busiest"]) == (30e6, 10e6, 1, 1)
        assert totals(answer) == {"now": 10e6, "without broker 1": 10e6, "without broker 2": 10e6}
        assert totals(wide.quotas.reach("alice", "app", topics=["one", "two"])) == {"now": pytest.approx(10e6 * 5 / 3)}
        assert "30 MB/s of producer_byte_rate on paper, 10 MB/s" in repr(answer)

    def test_a_reassignment(self, wide, tmp_path):
        """The partitions were moved over night, and nobody had asked what for."""
        parts = [{"topic": "one", "partition": 0, "replicas": [3, 1]}]
        (tmp_path / "move.json").write_text(json.dumps({"version": 1, "partitions": parts}))
        answer = wide.quotas.reach("alice", "app", topics=["one"], reassignment=str(tmp_path / "move.json"))
        assert totals(answer) == {"now": 10e6, "after the reassignment": 20e6}

    def test_usage_tells_the_shares(self, wide):
        """All partitions were thought to be alike, and one had all the traffic."""
        window = {"window_start": START, "window_end": START + timedelta(seconds=1)}
        rows = [{"broker": broker, "value": value} for broker, value in ((1, 3e6), (2, 1e6))]
        whose = {"user": "alice", "client_id": "app", "key": "producer_byte_rate", "source": "test"}
        usage = schemas.table(schemas.USAGE, [{**whose, **row, **window} for row in rows])
        assert totals(wide.quotas.reach("alice", "app", usage=usage)) == {"now": pytest.approx(10e6 / 0.75)}

    @pytest.mark.parametrize(
        ("given", "kind", "words"),
        [
            ({}, kn.UsageError, "topics"),
            ({"topics": ["ono"]}, kn.NotFound, "no topic ono"),
            ({"topics": ["one"], "without": [9]}, kn.NotFound, "no broker 9"),
            ({"topics": ["one"], "reassignment": "none.json"}, kn.NotFound, "none.json"),
        ],
        ids=["nothing", "a topic", "a broker", "a file"],
    )
    def test_what_is_not_there_is_one_line(self, wide, given, kind, words):
        """KeyError: 9"""
        with pytest.raises(kind, match=words) as refused:
            wide.quotas.reach("alice", "app", **given)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("text", ["[]", "{", '{"partitions": [{"topic": "one"}]}', '{"partitions": 3}'])
    def test_a_reassignment_that_is_none(self, wide, tmp_path, text):
        """TypeError: list indices must be integers."""
        (tmp_path / "move.json").write_text(text)
        with pytest.raises(kn.Invalid, match="is not a reassignment") as refused:
            wide.quotas.reach("alice", "app", topics=["one"], reassignment=str(tmp_path / "move.json"))
        assert "\n" not in str(refused.value)

    def test_the_cluster_without_a_broker_is_as_it_was_foretold(self, three, wide):
        """The what-if had another leader than the controller chose."""
        foretold = rule.without(wide.port.partitions(["one", "two"]), 2)
        three.nodes[1].kill()
        try:
            leaders = {(one.topic, one.number): one.leader for one in foretold}
            eventually(
                lambda: {(p.topic, p.number): p.leader for p in wide.port.partitions(["one", "two"])}, leaders, 30
            )
        finally:
            three.nodes[1].start()
            until = time.monotonic() + 30
            while time.monotonic() < until and any(b.is_fenced for b in wide.port.brokers()):
                time.sleep(0.2)
