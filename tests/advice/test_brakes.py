"""The rules that name a brake, over facts: what the staged incidents do not show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kadmin_nb.advice.brakes import (
    BITES,
    LOCKS,
    MAY_BITE,
    MIN_IN_SYNC,
    STANDS,
    Address,
    ClientFacts,
    ConfigFacts,
    Load,
    Queue,
    Throttling,
    of_broker,
    of_client,
    of_group,
    of_topic,
)
from kadmin_nb.model.config_fallback import Synonym
from kadmin_nb.model.config_values import BrokerConfigs, ConfigValue
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import Finding
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Partition, Resource, Source
from kadmin_nb.resolution.rules import explain

ALICE = Entity.of({"user": "alice"})
TOPIC, BROKER, ALL = Resource("TOPIC", "orders"), Resource("BROKER", "2"), Resource("BROKER", "")
RATE, REPLICAS = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"


def client(*quotas: tuple[Entity, str, float], **facts: object) -> ClientFacts:
    """alice's app on three brokers."""
    stored = {(entity, key): value for entity, key, value in quotas}
    limits = explain(stored, "alice", "app")
    return replace(ClientFacts(limits, (), stored, 3), **facts)


def throttled(utilisation: float | None, has_unknown: bool = False) -> Throttling:
    return Throttling(700.0, 0.5, None, utilisation, has_unknown)


def told(found: list[Finding]) -> list[tuple[str, str, str, str | None]]:
    return [(one.code, str(one.target), one.evidence["state"], one.mend) for one in found]


def test_a_request_quota_throttles_writes_far_below_their_limit() -> None:
    """We doubled the byte rate, and nothing changed: the request quota had throttled the writes."""
    quotas = (ALICE, "producer_byte_rate", 1e6), (ALICE, "request_percentage", 50.0)
    far = client(*quotas, throttles={"producer_byte_rate": throttled(3.0)})
    near = client(*quotas, throttles={"producer_byte_rate": throttled(99.0)})
    assert [one.code for one in of_client(far)] == ["request-quota"]
    assert [one.code for one in of_client(near)] == ["client-quota"]


def test_the_share_of_each_client_id_shadows_nothing() -> None:
    """5 MB/s for each job out of 20 MB/s for the team: that was no mistake, and was reported as one."""
    each = Entity.of({"user": "alice", "client-id": DEFAULT})
    quotas = (each, "producer_byte_rate", 5e6), (ALICE, "producer_byte_rate", 20e6)
    facts = client(*quotas, throttles={"producer_byte_rate": throttled(99.0)})
    assert told(of_client(facts)) == [
        ("client-quota", str(each), BITES, "quota set producer_byte_rate=10MB/s user=alice client-id=app")
    ]


def test_a_throttle_that_no_stored_quota_explains_is_nobodys() -> None:
    """It named a quota, and there was none."""
    assert of_client(client(throttles={"producer_byte_rate": throttled(None)})) == []


def test_a_neighbour_that_used_less_is_not_blamed() -> None:
    """The small job was stopped for the sins of the large one."""
    loads = [Load("alice", "app", "producer_byte_rate", 1, 9e6), Load("alice", "small", "producer_byte_rate", 2, 1e5)]
    sharing = {"producer_byte_rate": [("alice", "app"), ("alice", "small")]}
    seen = {"producer_byte_rate": throttled(99.0)}
    facts = client((ALICE, "producer_byte_rate", 1e6), throttles=seen, sharing=sharing, loads=loads)
    assert told(of_client(facts)) == [
        ("leaders", "broker=1", BITES, "quota set producer_byte_rate=3MB/s user=alice client-id=app")
    ]


def test_an_address_with_as_many_connections_as_one_may_have() -> None:
    """New connections were closed, and the request log shows only those that live."""
    bound = ConfigValue(BROKER, "max.connections.per.ip", "20", Source.BROKER)
    facts = client(configs=[bound], addresses=[Address("10.0.0.7", 0.1, 20)])
    assert told(of_client(facts)) == [
        ("connection-limit", "broker=2", MAY_BITE, "config reset max.connections.per.ip broker=2")
    ]
    assert of_client(replace(facts, addresses=[Address("10.0.0.7", 0.1, 19)])) == []


IN_SYNC = Partition("orders", 0, 1, (1, 2), (1, 2))
BEHIND = Partition("orders", 1, 2, (2, 1), (2,))
LISTED = ConfigValue(TOPIC, REPLICAS, "1:2", Source.TOPIC)
AT_RATE = ConfigValue(BROKER, RATE, "5000", Source.BROKER)


@pytest.mark.parametrize(
    ("configs", "partitions", "state", "words"),
    [
        ([LISTED, AT_RATE], [IN_SYNC, BEHIND], BITES, "5 kB/s on broker=2 at most, and no reassignment is running"),
        ([LISTED, AT_RATE], [IN_SYNC], STANDS, "all replicas are in sync"),
        ([LISTED], [IN_SYNC, BEHIND], STANDS, "no broker of the list has a rate"),
        ([replace(LISTED, text="1:3"), AT_RATE], [BEHIND], STANDS, "no broker of the list has a rate"),
        ([replace(LISTED, text="*"), AT_RATE], [BEHIND], BITES, "1 of 1 partitions"),
    ],
)
def test_a_throttle_slows_only_replicas_that_are_behind(configs, partitions, state, words) -> None:
    """Every throttle was reported as the cause, and most of them slowed nobody."""
    (found,) = of_topic(TOPIC, ConfigFacts(configs, partitions, 2, reassigning=False))
    assert (found.code, found.evidence["state"]) == ("replication-throttle", state)
    assert words in found.message


LEAST = ConfigValue(TOPIC, MIN_IN_SYNC, "2", Source.BROKER)
OFFLINE = Partition("orders", 2, None, (3, 2), (3,))


@pytest.mark.parametrize(
    ("partitions", "facts", "found"),
    [
        ([IN_SYNC], {}, []),
        ([IN_SYNC, BEHIND], {"down": [1]}, [("few-in-sync", "broker=1", BITES, "start broker 1 again")]),
        (
            [IN_SYNC, BEHIND],
            {},
            [("few-in-sync", "broker=1", BITES, "bring the replicas on broker 1 back in sync")],
        ),
        (
            [BEHIND, Partition("orders", 2, 3, (3, 4), (3,))],
            {"down": [4]},
            [("few-in-sync", "topic=orders", BITES, "start broker 4 again")],
        ),
        (
            [Partition("orders", 0, 1, (1,), (1,))],
            {},
            [("few-in-sync", "topic=orders", BITES, "give topic=orders more replicas (kafka-reassign-partitions.sh)")],
        ),
        ([IN_SYNC, OFFLINE], {"down": [3]}, [("no-leader", "broker=3", BITES, "start broker 3 again")]),
        ([], {}, []),
    ],
    ids=["in sync", "down", "behind", "two brokers", "too few replicas", "no leader", "not read"],
)
def test_too_few_replicas_stop_writes(partitions, facts, found) -> None:
    """Every write with acks=all failed, and nothing slowed the topic."""
    assert told(of_topic(TOPIC, ConfigFacts([LEAST], partitions, 3, reassigning=False, **facts))) == found


@pytest.mark.parametrize(
    ("preferred", "tool"),
    [(1, "kafka-reassign-partitions.sh"), (2, "kafka-leader-election.sh --election-type preferred")],
)
def test_leaders_of_a_topic_on_one_broker(preferred: int, tool: str) -> None:
    """After a restart one broker led everything, and the two others had nothing to do."""
    partitions = [Partition("orders", 0, 1, (1, 2), (1, 2)), Partition("orders", 1, 1, (preferred, 3), (1, 2))]
    (found,) = of_topic(TOPIC, ConfigFacts([], partitions, 3, reassigning=False))
    assert (found.code, str(found.target), found.edit) == ("leaders", "broker=1", None)
    assert found.mend == f"{tool} spreads the leaders of topic=orders"


def test_a_limit_of_tiered_storage_counts_where_something_is_tiered() -> None:
    """The brake was there, and so was the remote store."""
    limit = ConfigValue(BROKER, "remote.log.manager.fetch.max.bytes.per.second", "1000000", Source.ALL_BROKERS)
    is_on = ConfigValue(BROKER, "remote.log.storage.system.enable", "true", Source.FILE)
    reset = "config reset remote.log.manager.fetch.max.bytes.per.second broker=<default>"
    assert told(of_broker(ConfigFacts([limit]))) == [("tiered-storage", "broker=<default>", STANDS, reset)]
    assert told(of_broker(ConfigFacts([limit, is_on]))) == [("tiered-storage", "broker=<default>", MAY_BITE, reset)]
    tiered = ConfigValue(TOPIC, "remote.storage.enable", "true", Source.TOPIC)
    assert of_topic(TOPIC, ConfigFacts([limit, is_on], [IN_SYNC])) == []
    assert told(of_topic(TOPIC, ConfigFacts([limit, is_on, tiered], [IN_SYNC])))[0][0] == "tiered-storage"


def test_what_stands_in_a_brokers_file_is_lifted_there() -> None:
    """It proposed a reset, and the value came out of server.properties."""
    bound = ConfigValue(BROKER, "max.connections", "100", Source.FILE)
    (found,) = of_broker(ConfigFacts([bound]))
    assert found.edit is None
    assert found.mend == "remove max.connections from the server.properties of broker=2, and restart it"


def test_a_full_request_queue_names_the_client_that_keeps_the_threads_busy() -> None:
    """One job kept all threads busy, and the advice was a larger machine."""
    threads = ConfigValue(BROKER, "num.io.threads", "8", Source.BUILT_IN)
    full = Queue(2, 85.0, 1.0, 1.0, None, ("bob", "batch"), 0.7)
    (found,) = of_client(client(configs=[threads], queues=[full, replace(full, broker=1, full=0.2)]))
    assert told([found]) == [("request-queue", "broker=2", BITES, "config set num.io.threads=16 broker=2")]
    assert "user=bob client-id=batch" in found.message
    for busiest in (("alice", "app"), ("", "")):
        (found,) = of_client(client(queues=[replace(full, busiest=busiest, busiest_share=0.4)]))
        assert (found.edit, "I/O threads" in found.message) == (None, False)


def locks(text: str, source: Source, *, usual: str = "2000") -> ConfigValue:
    """The locks of a group, and what applies without them."""
    synonyms = (Synonym(source, LOCKS, text), Synonym(Source.BUILT_IN, f"group.{LOCKS}", usual))
    return ConfigValue(Resource("GROUP", "g"), LOCKS, text, source, synonyms)


def test_few_locks_slow_a_share_group_alone() -> None:
    """A share group had 100 records in work, and a consumer group was told to change the same."""
    none = BrokerConfigs(())
    few = locks("100", Source.GROUP)
    change = f"config reset {LOCKS} group=g"
    assert told(of_group([few], "share", none)) == [("share-locks", "group=g", MAY_BITE, change)]
    assert told(of_group([few], "consumer", none)) == [("share-locks", "group=g", STANDS, change)]
    assert of_group([locks("3000", Source.GROUP)], "share", none) == []
    assert of_group([locks("2000", Source.BUILT_IN)], "share", none) == []
    (in_file,) = of_group([locks("500", Source.FILE)], "share", none)
    assert (in_file.edit, "restart" in (in_file.mend or "")) == (None, True)
