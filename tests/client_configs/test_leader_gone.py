"""Three nodes, and the leader of the entries' topic is killed in the middle of an alter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.admin.transactions import FencedWriter
from kadmin_nb.client_configs.records import REGISTRATIONS_TOPIC
from kadmin_nb.client_configs.topic import ClientConfigTopic
from kadmin_nb.cluster import users
from kadmin_nb.local import LocalKafka
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def trio() -> Iterator[LocalKafka]:
    """Three nodes that notice soon when one is gone."""
    soon = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "400"}
    with kn.local.start(nodes=3, extra=soon) as running:
        yield running


def alive(cluster: kn.Cluster) -> int:
    return sum(not broker.is_fenced for broker in cluster.port.brokers())


@pytest.mark.long
@pytest.mark.parametrize("step", ["fence", "write", "commit"])
def test_the_alter_is_made_whole_or_not_at_all(step, trio, unique, monkeypatch):
    """A broker died in the middle, and the plan ended half done, or after a minute and a half."""
    alice, real = unique("alice"), getattr(FencedWriter, step)
    with trio.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_client_config("acks", "-1", user=alice)
        stage.plan().apply().raise_for_errors()
        leaders: list[int] = []
        exists = ClientConfigTopic.exists

        def find(topic: ClientConfigTopic, *arguments: object) -> bool:
            is_there = exists(topic, *arguments)
            leaders.append(topic._leader)
            return is_there

        def kill_leader_first(*arguments: object) -> object:
            monkeypatch.undo()
            trio.nodes[leaders[-1] - 1].kill()
            return real(*arguments)

        for client in ("a", "b"):
            stage.set_client_config("acks", "all", user=alice, client_id=client)
        plan = stage.plan()
        monkeypatch.setattr(ClientConfigTopic, "exists", find)
        monkeypatch.setattr(FencedWriter, step, kill_leader_first)
        outcomes = plan.apply(lock=False, verify_timeout=2.0).to_arrow().to_pylist()
        assert {row["state"] for row in outcomes} <= {"unchanged", "verified", "unverified"}, outcomes
        entries = cluster.client_configs.describe(user=alice, client_id=kn.ANY).to_arrow()
        assert entries["client_id"].to_pylist() == ["a", "b"]
        dead = next(node for node in trio.nodes if node.pid is None)
        dead.start()
        eventually(lambda: alive(cluster), 3, 40)


@pytest.mark.long
def test_what_has_no_leader_hides_no_quota(trio, unique, monkeypatch):
    """The broker of one topic was down, and nobody's quota could be described any more."""
    monkeypatch.setattr(users, "BESIDE_QUOTAS", 1.0)
    alice, admin = unique("alice"), AdminClient({"bootstrap.servers": trio.bootstrap})
    admin.create_topics([NewTopic(REGISTRATIONS_TOPIC, 1, replica_assignment=[[3]])])[REGISTRATIONS_TOPIC].result()
    with trio.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", 1e12, user=alice)
        stage.plan().apply().raise_for_errors()
        trio.nodes[2].kill()
        eventually(lambda: alive(cluster), 2, 40)

        def told() -> list[tuple[str, str]]:
            rows = users.user_configs(cluster.port, alice).to_arrow().to_pylist()
            return [(row["kind"], row["error"] or row["value"]) for row in rows if row["kind"] != "scram"]

        eventually(told, [("quota", "1000000000000"), ("supported", "LEADER_NOT_AVAILABLE")])
