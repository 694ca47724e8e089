"""One broker of three is down: the others are asked, and the answer says which part of it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.dangerous_plans import applied
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def wide(three: LocalKafka) -> Iterator[kn.Cluster]:
    """Three brokers; topics with a replica on each, and one with a partition on each of two brokers."""
    admin = AdminClient({"bootstrap.servers": three.bootstrap, "log_level": 0})
    everywhere = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    topics = [
        NewTopic("strict", 3, replica_assignment=everywhere, config={"min.insync.replicas": "3"}),
        NewTopic("lenient", 3, replica_assignment=everywhere),
        NewTopic("single", 3, replica_assignment=[[1], [2], [3]]),
    ]
    for made in admin.create_topics(topics).values():
        made.result()
    with three.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", 1e6, user="alice")
        stage.plan().apply().raise_for_errors()
        eventually(lambda: len(cluster.port.partitions(["strict", "lenient", "single"])), 9)
        yield cluster


@contextmanager
def killed(three: LocalKafka, cluster: kn.Cluster, broker: int, *, is_fenced: bool = True) -> Iterator[None]:
    """That broker is killed; at the end it serves again, with all replicas in sync."""
    three.nodes[broker - 1].kill()
    try:
        if is_fenced:
            eventually(lambda: {one.id for one in cluster.port.brokers() if one.is_fenced}, {broker}, 30)
            leaders = lambda: {one.leader for one in cluster.port.partitions(["strict"])}  # noqa: E731
            eventually(leaders, {1, 2, 3} - {broker}, 30)
        yield
    finally:
        three.nodes[broker - 1].start()
        eventually(lambda: any(one.is_fenced for one in cluster.port.brokers()), False, 60)
        eventually(lambda: {len(one.in_sync) for one in cluster.port.partitions(["strict"])}, {3}, 60)
        eventually(lambda: None in {one.leader for one in cluster.port.partitions(["single"])}, False, 60)


def test_what_the_others_show_is_shown_and_the_one_that_is_down_is_named(three, wide) -> None:
    """Writes failed for an hour, and the tool said that nothing slowed the topic; of the broker it said there was
    none."""
    down = ("broker 2 is down (registered, and fenced)",)
    with killed(three, wide, 2):
        lenient = wide.configs.why(topic="lenient")
        assert (lenient["brake"].to_pylist(), lenient.notes) == ([], down)
        why = wide.quotas.why("alice", "app")
        assert (why.notes, down[0] in repr(why)) == (down, True)
        assert {(row["brokers"], row["total"]) for row in why if row["value"]} == {(2, 2e6)}
        assert wide.quotas.resolve("alice", "app").notes == down
        near = wide.quotas.near(schemas.USAGE.empty())
        assert (near.notes, down[0] in repr(near)) == (down, True)
        with pytest.raises(kn.errors.ConnectionFailed) as refused:
            wide.configs.why(broker=2)
        assert str(refused.value) == (
            "BROKER_NOT_AVAILABLE for BROKER 2: broker 2 is down (registered, and fenced), while describing configs of "
            "broker=2"
        )
        with pytest.raises(kn.NotFound, match="broker 9 is not in the cluster"):
            wide.configs.why(broker=9)
        described = wide.configs.describe(broker=2)
        assert (described["error"].to_pylist(), wide.configs.near_miss(described)) == (["BROKER_NOT_AVAILABLE"], None)


@pytest.mark.long
def test_one_that_lets_us_not_in_is_named_and_the_others_are_read(three, wide) -> None:
    """`quota why` ended with an error: one of three brokers had as many connections of us as it takes."""
    key = "max.connections.per.ip"
    wide.configs.describe(broker=2).raise_for_errors()  # the connection by which the limit is lifted
    stage = wide.new_stage()
    stage.set_config(key, "1", broker=2)
    outcomes = applied(stage.plan("a test")).raise_for_errors()
    try:
        with three.connect() as late:
            why = late.quotas.why("alice", "app")
            assert [row["value"] for row in why if row["key"] == "producer_byte_rate"] == [1e6]
            (note,) = why.notes
            assert note.startswith("broker 2 was not read: the connection failed while describing configs of broker=2")
    finally:
        applied(wide.rollback(outcomes.plan_id)).raise_for_errors()


@pytest.mark.long
@pytest.mark.parametrize("is_fenced", [False, True], ids=["just killed", "fenced"])
@pytest.mark.parametrize("broker", [1, 2, 3])
@pytest.mark.parametrize("turn", range(3))
def test_one_that_is_killed_ends_no_answer(three, wide, broker: int, is_fenced: bool, turn: int) -> None:
    """`quota why --for` observed two brokers of three, and threw it away: PartlyFailed."""
    with killed(three, wide, broker, is_fenced=is_fenced):
        requests = wide.observe(1.0, to_read=True).requests()
        why = wide.quotas.why("alice", "app", usage=requests)
        assert [row["value"] for row in why if row["key"] == "producer_byte_rate"] == [1e6]
        assert any(f"broker {broker}" in note for note in why.notes)
        assert any(f"broker {broker}" in note for note in wide.configs.why(topic="lenient").notes)
        with pytest.raises(kn.KadminError, match=f"BROKER {broker}"):
            wide.configs.why(broker=broker)
