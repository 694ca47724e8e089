"""Each rule of `config why` over configs and metadata with parts left out: the answer of the whole, or *not known*; no
other cause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kadmin_nb.admin import topics
from kadmin_nb.advice.brake_rules import BITES, MAY_BITE
from kadmin_nb.cluster.brakes import BrakesAnswer
from kadmin_nb.cluster.configs import Configs
from kadmin_nb.errors import NotAuthorized, TimedOut
from kadmin_nb.model.findings import NOT_KNOWN
from kadmin_nb.model.resources import Partition, Resource
from tests.double import FakeKafka, schema

TOPIC, ALL = Resource("TOPIC", "t"), Resource("BROKER", "")
ONE, TWO, THREE = (Resource("BROKER", str(number)) for number in (1, 2, 3))
RATE, REPLICAS = "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
CALLBACK = "client.quota.callback.class"

WELL = tuple(Partition("t", number, 1 + number, (1, 2, 3), (1, 2, 3)) for number in range(3))
BEHIND = (*WELL[:2], replace(WELL[2], in_sync=(3, 2)))


MOST = str(2**63 - 1)
FURTHER = {
    "BROKER": {
        CALLBACK: schema.Key("STRING", None, is_read_only=True),
        RATE: schema.Key("LONG", MOST),
    },
}


@pytest.fixture(autouse=True)
def further_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The double knows a part of Kafka's keys; here these, too."""
    for kind, keys in FURTHER.items():
        monkeypatch.setitem(schema.KEYS, kind, schema.KEYS[kind] | keys)


@dataclass(frozen=True)
class Scene:
    """A cluster of three brokers, and whose brakes are asked for; `codes` are those of the whole."""

    codes: str
    whose: Resource = TOPIC
    set_on: Mapping[tuple[Resource, str], str] = field(default_factory=dict)
    partitions: Sequence[Partition] | None = WELL  # None: it is refused
    prepared: Callable[[FakeKafka], object] = lambda kafka: None
    reassigning: bool | Exception = False

    def answer(self, monkeypatch: pytest.MonkeyPatch) -> BrakesAnswer:
        """What is said of it."""

        def under_way(wire: object) -> bool:
            if isinstance(self.reassigning, Exception):
                raise self.reassigning
            return self.reassigning

        monkeypatch.setattr(topics, "is_reassigning", under_way)
        kafka: Any = FakeKafka(3)
        kafka.wire = None
        for target, value in self.set_on.items():
            kafka.cluster.write(target, value)
        kafka.cluster.topics.add("t")
        kafka.cluster.partitions = self.partitions
        kafka.cluster.pass_(1)
        self.prepared(kafka)
        return Configs(kafka).why(**{self.whose.type.lower(): self.whose.name})


LISTED = {(TOPIC, REPLICAS): "0:1,1:2,2:3"}

SCENES = {
    "a throttle": Scene("replication-throttle", set_on={**LISTED, (THREE, RATE): "5000"}, partitions=BEHIND),
    "throttles": Scene("replication-throttle", set_on={**LISTED, (ALL, RATE): "5000"}, partitions=BEHIND),
    "a throttle of none": Scene("replication-throttle", set_on=LISTED, partitions=BEHIND),
    "a well topic": Scene(""),
    "a rate of a broker": Scene("replication-throttle", TWO, {(TWO, RATE): "5000"}),
    "a callback": Scene("quota-callback", TWO, {(TWO, CALLBACK): "com.example.Quotas"}),
    "a well broker": Scene("", TWO),
}


def without(*brokers: int) -> Callable[[Scene], Scene]:
    """They do not answer."""

    def stop(kafka: FakeKafka) -> None:
        for broker in brokers:
            kafka.cluster.stop(broker, 600)

    return lambda scene: replace(scene, prepared=stop)


def fenced(broker: int) -> Callable[[Scene], Scene]:
    """It is down."""

    def down(kafka: FakeKafka) -> None:
        kafka.cluster.stop(broker, 600)
        kafka.cluster.pass_(30)

    return lambda scene: replace(scene, prepared=down)


PARTS: dict[str, Callable[[Scene], Scene]] = {
    **{f"without broker {number}": without(number) for number in (1, 3)},
    "without brokers 1 and 3": without(1, 3),
    "broker 3 is down": fenced(3),
    "reassignments time out": lambda scene: replace(scene, reassigning=TimedOut("no answer")),
    "no right to see reassignments": lambda scene: replace(scene, reassigning=NotAuthorized("no right")),
}


def causes(answer: BrakesAnswer) -> set[tuple[str, str]]:
    """What is said to slow it, with the culprit."""
    sure = (one for one in answer.findings if one.evidence["state"] in (BITES, MAY_BITE))
    return {(one.code, str(one.target)) for one in sure}


@pytest.mark.parametrize("name", SCENES)
def test_each_rule_finds_its_brake_in_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was slow, and the answer was that nothing can be seen."""
    found = SCENES[name].answer(monkeypatch)
    assert [one.code for one in found.findings] == SCENES[name].codes.split()
    assert found.notes == ()
    assert all(not (one.coverage and one.coverage.missing) for one in found.findings)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_part_of_the_whole_tells_no_other_cause(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 3 was not read, and no broker of the list had a rate, it said; broker 3 had one."""
    whole, found = SCENES[name].answer(monkeypatch), PARTS[part](SCENES[name]).answer(monkeypatch)
    assert causes(found) <= causes(whole)
    unknown = [one for one in found.findings if one.evidence["state"] == NOT_KNOWN]
    assert all(one.fix and one.message.startswith(NOT_KNOWN) and one.edit is None for one in unknown)
    is_another_world = part == "broker 3 is down"
    assert unknown or is_another_world or causes(whole) == causes(found)


ONE_BEHIND = "1 of 3 partitions have replicas that are not in sync"
RESET, NONE = f"config reset {REPLICAS} topic=t", ", and no reassignment is running"
TOLD: dict[tuple[str, str], list[tuple[str, str, str, str | None]]] = {
    ("a throttle", "without broker 1"): [
        (
            *("replication-throttle", BITES),
            f"its replicas catch up at 5 kB/s on broker=3 at most{NONE}; the rate of broker 1 was not read; "
            f"{ONE_BEHIND}",
            RESET,
        )
    ],
    ("a throttle", "without broker 3"): [
        (
            *("replication-throttle", NOT_KNOWN),
            f"{NOT_KNOWN}: its replicas are listed to be throttled; the rate of broker 3 was not read; {ONE_BEHIND}",
            "config why broker=3",
        )
    ],
    ("a throttle", "reassignments time out"): [
        (
            *("replication-throttle", BITES),
            "its replicas catch up at 5 kB/s on broker=3 at most; whether a reassignment is running is not known; "
            f"{ONE_BEHIND}",
            RESET,
        )
    ],
}


@pytest.mark.parametrize(("name", "part"), TOLD)
def test_what_depends_on_the_part_is_not_known(name: str, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 3 was not read, and nothing slowed the topic, it said."""
    found = PARTS[part](SCENES[name]).answer(monkeypatch).findings
    assert [(one.code, one.evidence["state"], one.message, one.fix) for one in found] == TOLD[name, part]


def test_a_broker_that_was_not_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing slowed the topic, it said; one broker had not answered, and nobody said so."""
    answer = PARTS["without broker 3"](SCENES["a well topic"]).answer(monkeypatch)
    assert answer.notes == ("broker 3 was not read: broker 3 refuses the connection",)


@pytest.mark.parametrize("partitions", [None, ()], ids=["refused", "the topic is left out"])
def test_partitions_that_cannot_be_seen_are_an_error(partitions, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata failed, and nothing slowed the topic, it said."""
    with pytest.raises(NotAuthorized):
        replace(SCENES["a throttle"], partitions=partitions).answer(monkeypatch)
