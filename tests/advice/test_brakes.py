"""The rules that name a brake, over facts: what the staged incidents do not show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kadmin_nb.advice.brake_rules import (
    BITES,
    STANDS,
    ClientFacts,
    ConfigFacts,
    of_broker,
    of_client,
    of_topic,
)
from kadmin_nb.model.config_values import ConfigValue
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import NOT_KNOWN, Finding, Throttling
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
    return replace(ClientFacts(limits, stored, 3), **facts)


def throttled(utilisation: float | None, has_unknown: bool = False) -> Throttling:
    return Throttling(700.0, None, utilisation, has_unknown, share=0.5)


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
        "quota why user=alice client-id=app --for 1min",
    )
    assert found.message.startswith("not known: it is unlimited: the limit may have been another then; throttled for")


def test_a_neighbour_that_used_less_is_not_blamed() -> None:
    """The small job was stopped for the sins of the large one."""
    used = {("alice", "app"): 9e6, ("alice", "small"): 1e5}
    sharing = {"producer_byte_rate": [("alice", "app"), ("alice", "small")]}
    seen = {"producer_byte_rate": replace(throttled(99.0), used=used)}
    quota = ALICE, "producer_byte_rate", 1e6
    facts = client(quota, throttles=seen, sharing=sharing)
    assert told(of_client(facts)) == [
        ("client-quota", "user=alice", BITES, "quota set producer_byte_rate=2MB/s user=alice client-id=app")
    ]


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


def test_what_stands_in_a_brokers_file_is_lifted_there() -> None:
    """It proposed a reset, and the value came out of server.properties."""
    (found,) = of_broker(ConfigFacts([replace(AT_RATE, source=Source.FILE)]))
    assert found.edit is None
    assert found.fix == f"remove {RATE} from the server.properties of broker=2, and restart it"
