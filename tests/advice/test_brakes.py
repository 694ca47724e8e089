"""The rules that name a brake, over facts: what the staged incidents do not show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kadmin_nb.advice.client_brakes import Address, ClientFacts, Queue, Throttling, of_client
from kadmin_nb.advice.config_brakes import (
    BITES,
    LOCKS,
    MAY_BITE,
    MIN_IN_SYNC,
    OVERRIDES,
    PER_ADDRESS,
    STANDS,
    ConfigFacts,
    of_broker,
    of_group,
    of_topic,
)
from kadmin_nb.model.config_fallback import Synonym
from kadmin_nb.model.config_values import BrokerConfigs, ConfigValue
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import NOT_KNOWN, WARNING, Coverage, Finding
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
    return [(one.code, str(one.target), one.evidence["state"], one.fix) for one in found]


def test_a_request_quota_throttles_writes_far_below_their_limit() -> None:
    """We doubled the byte rate, and nothing changed: the request quota had throttled the writes."""
    quotas = (ALICE, "producer_byte_rate", 1e6), (ALICE, "request_percentage", 50.0)
    far = client(*quotas, throttles={"producer_byte_rate": throttled(3.0)}, request_use=60.0)
    near = client(*quotas, throttles={"producer_byte_rate": throttled(99.0)}, request_use=60.0)
    assert [one.code for one in of_client(far)] == ["request-quota"]
    assert [one.code for one in of_client(near)] == ["client-quota"]
    (found,) = of_client(replace(far, request_use=3.0))
    assert (found.code, found.evidence["state"]) == ("earlier-limit", NOT_KNOWN)


def test_the_share_of_each_client_id_shadows_nothing() -> None:
    """5 MB/s for each job out of 20 MB/s for the team: that was no mistake, and was reported as one."""
    each = Entity.of({"user": "alice", "client-id": DEFAULT})
    quotas = (each, "producer_byte_rate", 5e6), (ALICE, "producer_byte_rate", 20e6)
    facts = client(*quotas, throttles={"producer_byte_rate": throttled(99.0)})
    assert told(of_client(facts)) == [
        ("client-quota", str(each), BITES, "quota set producer_byte_rate=10MB/s user=alice client-id=app")
    ]


def test_a_throttle_that_no_stored_quota_explains_is_not_known() -> None:
    """It named a quota, and there was none."""
    (found,) = of_client(client(throttles={"producer_byte_rate": throttled(None)}))
    assert (found.code, found.edit, found.fix) == (
        *("earlier-limit", None),
        "quota why user=alice client-id=app --usage NAME --history WHERE",
    )
    assert found.message.startswith("not known: it is unlimited: the limit may have been another then; throttled for")


def test_a_throttle_of_an_earlier_limit_is_over() -> None:
    """It was raised a week ago, and the answer was to raise it."""
    seen = replace(throttled(99.0), is_now=False, then=1e6, same_limit=False)
    (found,) = of_client(client((ALICE, "producer_byte_rate", 5e6), throttles={"producer_byte_rate": seen}))
    assert (found.code, found.evidence["state"], found.edit) == ("earlier-limit", STANDS, None)
    assert "the producer_byte_rate of 1 MB/s of that time throttled it" in found.message
    assert str(found.coverage) == "the limit changed meanwhile"


def test_a_neighbour_that_used_less_is_not_blamed() -> None:
    """The small job was stopped for the sins of the large one."""
    loads = {"producer_byte_rate": {("alice", "app", 1): 9e6, ("alice", "small", 2): 1e5}}
    sharing = {"producer_byte_rate": [("alice", "app"), ("alice", "small")]}
    seen = {"producer_byte_rate": throttled(99.0)}
    quota = ALICE, "producer_byte_rate", 1e6
    facts = client(quota, throttles=seen, sharing=sharing, loads=loads, leaders=frozenset({1}))
    assert told(of_client(facts)) == [
        ("leaders", "broker=1", BITES, "quota set producer_byte_rate=3MB/s user=alice client-id=app")
    ]


def bound(text: str, *, broker: str = "2", source: Source = Source.BROKER, key: str = PER_ADDRESS) -> ConfigValue:
    return ConfigValue(Resource("BROKER", broker), key, text, source)


def seen_at(at_once: int, *, seen: int = 20, broker: int = 2, opened: float = 0.1) -> Address:
    return Address("10.0.0.7", broker, opened, seen, at_once)


def test_an_address_with_as_many_connections_as_one_may_have() -> None:
    """New connections were closed, and the request log shows only those that live."""
    reset = ("connection-limit", "broker=2", MAY_BITE, "config reset max.connections.per.ip broker=2")
    for at_once in (12, 17):  # 17: it was lowered after they were opened
        (found,) = of_client(client(configs=[bound("12")], addresses=[seen_at(at_once)]))
        assert told([found]) == [reset]
        assert found.message == (
            "at least 12 connections of 10.0.0.7 to broker=2 were open at the same time, and it takes no more"
        )


def test_connections_that_were_seen_are_not_all_open() -> None:
    """*17 seen at once*, it said, where the broker lets in 12: they had come one after the other."""
    (found,) = of_client(client(configs=[bound("12")], addresses=[seen_at(3, seen=17)]))
    rejected = "grep 'Rejected connection from /10.0.0.7' server.log, on broker=2"
    assert told([found]) == [("connection-limit", "broker=2", NOT_KNOWN, rejected)]
    assert found.message == (
        "not known: at least 3 of the connections of 10.0.0.7 to broker=2 were open at the same time, of 17 seen in "
        "the time observed, and it takes 12"
    )
    assert of_client(client(configs=[bound("12")], addresses=[seen_at(3, seen=9)])) == []


def test_each_broker_is_judged_by_its_own_bound() -> None:
    """14 connections to broker 1 were compared with the 12 that broker 2 takes."""
    bounds = [bound("12"), bound("100", broker="1")]
    addresses = [seen_at(14, broker=1), seen_at(4, seen=5, broker=2)]
    assert of_client(client(configs=bounds, addresses=addresses)) == []
    everywhere = [bound("12", broker=id, source=Source.ALL_BROKERS) for id in "12"]
    assert told(of_client(client(configs=everywhere, addresses=addresses))) == [
        ("connection-limit", "broker=<default>", MAY_BITE, "config reset max.connections.per.ip broker=<default>")
    ]


@pytest.mark.parametrize(
    ("text", "each", "at_once", "found"),
    [
        ("10.0.0.7:5", None, 5, (MAY_BITE, "config set max.connections.per.ip.overrides=10.0.0.7:10 broker=2")),
        ("10.0.0.7:50", "12", 20, None),
        ("10.0.0.8:5", None, 20, None),
        ("10.0.0.7:50", "12", 45, (NOT_KNOWN, "grep 'Rejected connection from /10.0.0.7' server.log, on broker=2")),
        ("build:5", None, 4, None),
        ("build:5,[::1]:3", None, 5, (NOT_KNOWN, "getent hosts build, on a broker")),
        ("build:5", "4", 4, (MAY_BITE, "config reset max.connections.per.ip broker=2")),
        ("", None, 20, None),
    ],
)
def test_an_address_may_have_a_bound_of_its_own(text: str, each: str | None, at_once: int, found) -> None:
    """The override of our address was 5, and the answer looked at what others may have."""
    configs = [bound(text, key=OVERRIDES), *([bound(each)] if each else [])]
    rows = of_client(client(configs=configs, addresses=[seen_at(at_once, seen=at_once)]))
    assert [row[2:] for row in told(rows)] == ([found] if found else [])


def test_an_override_on_a_host_name_may_be_of_the_address() -> None:
    """It found no limit: the override named the host."""
    (found,) = of_client(client(configs=[bound("build:5", key=OVERRIDES)], addresses=[seen_at(6)]))
    assert found.message == (
        "not known: at least 6 of the connections of 10.0.0.7 to broker=2 were open at the same time; whether it is "
        "build (5 connections) only brokers know, as they look the name up"
    )


OWN, HOST = Entity.of({"ip": "10.0.0.7"}), Entity.of({"ip": "build"})


@pytest.mark.parametrize(
    ("own", "hosts", "found"),
    [
        (4.0, {}, ("ip=10.0.0.7", BITES, "quota set connection_creation_rate=8/s ip=10.0.0.7")),
        (4.0, {HOST: 9.0}, ("ip=10.0.0.7", MAY_BITE, "quota set connection_creation_rate=8/s ip=10.0.0.7")),
        (None, {HOST: 4.0}, ("ip=build", NOT_KNOWN, "getent hosts build, on a broker")),
        (None, {HOST: 9.0}, None),
        (9.0, {}, None),
    ],
)
def test_a_quota_on_a_host_name_may_be_of_the_address(own: float | None, hosts, found) -> None:
    """No limit, it said; the quota was on the name of that host."""
    limits = {} if own is None else {"10.0.0.7": (OWN, own)}
    facts = client(addresses=[seen_at(1, seen=1, opened=3.9)], ip_limits=limits, host_limits=hosts)
    assert [row[1:] for row in told(of_client(facts))] == ([found] if found else [])


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
    (found,) = of_topic(TOPIC, ConfigFacts(configs, partitions, (1, 2), reassigning=False))
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
    assert told(of_topic(TOPIC, ConfigFacts([LEAST], partitions, (1, 2, 3), reassigning=False, **facts))) == found


@pytest.mark.parametrize(
    ("preferred", "tool"),
    [(1, "kafka-reassign-partitions.sh"), (2, "kafka-leader-election.sh --election-type preferred")],
)
def test_leaders_of_a_topic_on_one_broker(preferred: int, tool: str) -> None:
    """After a restart one broker led everything, and the two others had nothing to do."""
    partitions = [Partition("orders", 0, 1, (1, 2), (1, 2)), Partition("orders", 1, 1, (preferred, 3), (1, 2))]
    (found,) = of_topic(TOPIC, ConfigFacts([], partitions, (1, 2, 3), reassigning=False))
    assert (found.code, str(found.target), found.edit) == ("leaders", "broker=1", None)
    assert found.fix == f"{tool} spreads the leaders of topic=orders"


def test_a_limit_of_tiered_storage_counts_where_something_is_tiered() -> None:
    """The brake was there, and so was the remote store."""
    limit = ConfigValue(BROKER, "remote.log.manager.fetch.max.bytes.per.second", "1000000", Source.ALL_BROKERS)
    is_on = ConfigValue(BROKER, "remote.log.storage.system.enable", "true", Source.FILE)
    reset = "config reset remote.log.manager.fetch.max.bytes.per.second broker=<default>"
    assert told(of_broker(BROKER, ConfigFacts([limit]))) == [("tiered-storage", "broker=<default>", STANDS, reset)]
    assert told(of_broker(BROKER, ConfigFacts([limit, is_on]))) == [
        ("tiered-storage", "broker=<default>", MAY_BITE, reset)
    ]
    tiered = ConfigValue(TOPIC, "remote.storage.enable", "true", Source.TOPIC)
    assert of_topic(TOPIC, ConfigFacts([limit, is_on], [IN_SYNC])) == []
    assert told(of_topic(TOPIC, ConfigFacts([limit, is_on, tiered], [IN_SYNC])))[0][0] == "tiered-storage"


def test_what_stands_in_a_brokers_file_is_lifted_there() -> None:
    """It proposed a reset, and the value came out of server.properties."""
    bound = ConfigValue(BROKER, "max.connections", "100", Source.FILE)
    (found,) = of_broker(BROKER, ConfigFacts([bound]))
    assert found.edit is None
    assert found.fix == "remove max.connections from the server.properties of broker=2, and restart it"


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


UNLIKE = Finding("differs", WARNING, "num.io.threads of broker=2 is 4, but 8 on 2 others", BROKER, "num.io.threads")


@pytest.mark.parametrize(("down", "state"), [((), MAY_BITE), ((3,), NOT_KNOWN)])
def test_a_broker_is_beside_all_of_its_peers(down: tuple[int, ...], state: str) -> None:
    """Of three brokers one was down: the two others differ, and each was the odd one."""
    seen = replace(UNLIKE, coverage=Coverage(frozenset({1, 2}), frozenset({1, 2})))
    (found,) = of_broker(BROKER, ConfigFacts([], down=down, differing=[seen]))
    assert (found.code, str(found.target), found.evidence["state"]) == ("unlike-peers", "broker=2", state)
    assert found.coverage is not None
    assert found.coverage.missing == {*down}


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
    assert (in_file.edit, "restart" in (in_file.fix or "")) == (None, True)


def test_what_is_accepted_of_an_address_is_not_known_where_quotas_were_not_read() -> None:
    """Its new connections were delayed, the quotas of addresses could not be read, and nothing slowed it."""
    why = "quotas of addresses were not read: CLUSTER_AUTHORIZATION_FAILED"
    (found,) = of_client(client(addresses=[Address("10.0.0.7", 2, 9.0, 30, 4)], no_ip_limits=why))
    assert told([found]) == [("connection-limit", "user=alice client-id=app", NOT_KNOWN, "quota resolve ip=10.0.0.7")]
    assert found.message == f"not known: 10.0.0.7 opened 9 connections per second on broker 2; {why}"


def test_an_estimate_of_a_share_consumer_is_no_measure_of_how_near_it_was():
    """Throttled at its limit, it was said that the limit may have been another then."""
    seen = {"longest_ms": 900.0, "share": 0.4, "since": None, "utilisation": 60.0, "has_unknown": False, "grew": True}
    assert not Throttling(**seen).is_near("consumer_byte_rate")
    assert Throttling(**seen, is_of_share=True).is_near("consumer_byte_rate")
    assert not Throttling(**seen, is_of_share=True, is_now=False).is_near("consumer_byte_rate")
