"""Each rule of `why` over requests with parts left out: the answer of the whole, or *not known*; no other cause."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from kadmin_nb.advice.brake_rules import BITES, MAY_BITE, STANDS
from kadmin_nb.cluster.observation import Observed
from kadmin_nb.cluster.why import WhyAnswer, why
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import NOT_KNOWN
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.usage.usage_windows import usage as usage_of
from tests.double import FakeKafka

BEGIN, SECONDS = datetime(2026, 11, 21, 10, tzinfo=UTC), 30
USER, OWN = Entity.of({"user": "alice"}), Entity.of({"user": "alice", "client-id": "app"})
EACH = Entity.of({"user": "alice", "client-id": DEFAULT})
PRODUCED, FETCHED, ASKED = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
BROKERS = (1, 2, 3)

Quotas = Mapping[tuple[Entity, str], float]


def asks(client_id: str = "app", *brokers: int, api: str = "PRODUCE", **figures: Any) -> list[dict[str, Any]]:
    """REQUESTS of a client, one a second on each of these brokers."""
    size = "bytes_in" if api == "PRODUCE" else "bytes_out"
    usual = {"io_ms": 0.5, "throttle_ms": 0.0, "connection": "c"}
    return [
        {
            **{"time": BEGIN + timedelta(seconds=second), "broker": broker, "user": "alice", "client_id": client_id},
            **{"api": api, size: 1_000, "correlation_id": second, **usual, **figures},
        }
        for broker in brokers or BROKERS
        for second in range(SECONDS)
    ]


FULL = {"bytes_in": 1_000_000, "throttle_ms": 700.0}


@dataclass(frozen=True)
class Scene:
    """A cluster and what its brokers logged; `code` is the brake of the whole, None for none."""

    code: str | None
    quotas: Quotas
    rows: Sequence[Mapping[str, Any]]
    client_id: str = "app"
    brokers: frozenset[int] = frozenset(BROKERS)
    no_answer: Collection[int] = ()
    as_usage: bool = False

    def answer(self) -> WhyAnswer:
        """What is said of it."""
        kafka = FakeKafka(3)
        for (entity, key), value in self.quotas.items():
            kafka.quotas.alter({entity: {key: value}})
        kafka.cluster.pass_(1)
        for broker in self.no_answer:
            kafka.cluster.stop(broker, 600)
        table = schemas.table(schemas.REQUESTS, self.rows)
        times = BEGIN, BEGIN + timedelta(seconds=SECONDS)
        requests = Observed(self.brokers, *times).marked(table)
        given = usage_of(table) if self.as_usage else requests
        return why(kafka, "alice", self.client_id, keys=None, usage=given)


SCENES = {
    "a quota": Scene("client-quota", {(OWN, PRODUCED): 1e6}, asks(**FULL)),
    "a neighbour": Scene(
        "shared-bucket",
        {(USER, PRODUCED): 1e6},
        [*asks(bytes_in=100_000, throttle_ms=700.0), *asks("batch", bytes_in=900_000, throttle_ms=700.0)],
    ),
    "a stale override": Scene("client-quota", {(USER, PRODUCED): 5e7, (OWN, PRODUCED): 1e6}, asks(**FULL)),
    "a request quota": Scene(
        "request-quota", {(OWN, PRODUCED): 1e9, (OWN, ASKED): 2.0}, asks(io_ms=20.0, throttle_ms=700.0)
    ),
    "a share group": Scene(
        "client-quota",
        {(Entity.of({"client-id": "app"}), FETCHED): 1e6},
        asks(api="SHARE_FETCH", bytes_out=None, throttle_ms=700.0),
    ),
    "an earlier limit": Scene("earlier-limit", {(OWN, PRODUCED): 1e8}, asks(**FULL)),
    "none": Scene(None, {(OWN, PRODUCED): 1e9}, asks(bytes_in=9)),
}


def without_broker(number: int) -> Callable[[Scene], Scene]:
    def part(scene: Scene) -> Scene:
        rows = [row for row in scene.rows if row["broker"] != number]
        return replace(scene, rows=rows, brokers=scene.brokers - {number})

    return part


def half(first: bool) -> Callable[[Scene], Scene]:
    middle = BEGIN + timedelta(seconds=SECONDS / 2)
    return lambda scene: replace(scene, rows=[row for row in scene.rows if (row["time"] < middle) is first])


def without_client(scene: Scene) -> Scene:
    return replace(scene, rows=[row for row in scene.rows if row["client_id"] != scene.client_id] + asks("other"))


def raised(scene: Scene) -> Scene:
    return replace(scene, quotas={quota: 50 * value for quota, value in scene.quotas.items()})


def raised_in_between(scene: Scene) -> Scene:
    """Of the second half nothing is throttled, at ten times the rate."""
    middle = BEGIN + timedelta(seconds=SECONDS / 2)
    then = [
        {**row, "throttle_ms": 0.0, "bytes_in": 10 * (row.get("bytes_in") or 0)} if row["time"] >= middle else row
        for row in scene.rows
    ]
    return replace(raised(scene), rows=then)


PARTS: dict[str, Callable[[Scene], Scene]] = {
    **{f"without broker {number}": without_broker(number) for number in BROKERS},
    "the first half": half(True),
    "the second half": half(False),
    "without the client": without_client,
    "as usage": lambda scene: replace(scene, as_usage=True),
    "without the configs of broker 3": lambda scene: replace(scene, no_answer=(3,)),
    "the limit was raised since": raised,
    "the limit was raised in between": raised_in_between,
}


def causes(answer: WhyAnswer) -> set[tuple[str, str]]:
    """What is said to slow it, with the culprit."""
    sure = (one for one in answer.brakes.findings if one.evidence["state"] in (BITES, MAY_BITE))
    return {(one.code, str(one.target)) for one in sure}


@cache
def causes_of_the_whole(name: str) -> set[tuple[str, str]]:
    return causes(SCENES[name].answer())


@pytest.mark.parametrize("name", SCENES)
def test_each_rule_finds_its_brake_in_the_whole(name: str) -> None:
    """It was slow, and the answer was that nothing can be seen."""
    found = SCENES[name].answer().brakes.findings
    assert [one.code for one in found] == [code for code in [SCENES[name].code] if code]
    assert all(one.coverage is None or (one.coverage.brokers and not one.coverage.missing) for one in found)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", SCENES)
def test_a_part_of_the_whole_tells_no_other_cause(name: str, part: str) -> None:
    """Of one broker of three the usage was given: its leaders are all there, it said; they were on three."""
    found = PARTS[part](SCENES[name]).answer()
    assert causes(found) <= causes_of_the_whole(name)
    unknown = [one for one in found.brakes.findings if one.evidence["state"] == NOT_KNOWN]
    assert all(one.fix and one.message.startswith(NOT_KNOWN) and one.edit is None for one in unknown)


@pytest.mark.parametrize("name", SCENES)
def test_nothing_slows_a_client_that_nobody_saw(name: str) -> None:
    """A letter was missing in the client-id, and it was slowed by a neighbour in all of the windows."""
    found = without_client(SCENES[name]).answer()
    codes = [(one.code, one.evidence["state"]) for one in found.brakes.findings]
    assert codes[0] == ("unseen", NOT_KNOWN)
    assert {state for _, state in codes[1:]} <= {STANDS}


@pytest.mark.parametrize("change", [raised, raised_in_between])
@pytest.mark.parametrize("name", ["a quota", "a neighbour", "a stale override"])
def test_no_limit_is_used_up_of_which_little_was_used(name: str, change: Callable[[Scene], Scene]) -> None:
    """*is used up … set 10MB/s* at 1 %, 3 % and 24 % of the limit: it had been raised since."""
    (found,) = change(SCENES[name]).answer().brakes.findings
    assert (found.code, found.evidence["state"]) == ("earlier-limit", NOT_KNOWN)
    assert found.fix == "quota why user=alice client-id=app --for 1min"


def test_a_throttle_of_a_neighbour_is_not_its_own() -> None:
    """The neighbour was throttled for an hour, and our requests never were."""
    rows = [*asks(bytes_in=100), *asks("batch", bytes_in=1_000_000, throttle_ms=700.0)]
    (found,) = Scene("shared-bucket", {(USER, PRODUCED): 1e6}, rows).answer().brakes.findings
    assert (found.code, found.evidence["state"]) == ("shared-bucket", MAY_BITE)
    assert "of its own requests none was seen throttled" in found.message


def test_what_was_not_seen_of_a_client_is_said_where_nothing_slows_it() -> None:
    """It was throttled on broker 3, whose log I had not given, and *was not throttled in the time observed*."""
    part = PARTS["without broker 3"](SCENES["none"]).answer()
    assert part._title().startswith(
        "alice/app was not throttled in the time observed; not known for broker 3. Its tightest limit is"
    )
    assert "The usage has no row of broker 3: add its request log" in repr(part)


def test_whether_a_class_of_its_own_decides_is_not_known_of_a_broker_that_was_not_read() -> None:
    """Broker 3 decides quotas by a class of its own, and did not answer: nothing slows the client, it said."""
    (found,) = replace(SCENES["none"], no_answer=(3,)).answer().brakes.findings
    assert (found.code, str(found.target), found.fix) == ("quota-callback", "broker=3", "config why broker=3")
    assert found.message == "not known: the configs of broker=3 were not read"


def test_how_long_it_was_throttled_is_said_as_far_as_the_rows_tell() -> None:
    """*In 100 % of windows*: was that 3 s of the 30, or all of them?"""
    scene = SCENES["a quota"]
    assert "1 of 1 MB/s on broker 1 (100 %), throttled 21 of 30 s" in repr(scene.answer())
    assert "1 of 1 MB/s on broker 1 (100 %), throttled in 100 % of windows" in repr(
        replace(scene, as_usage=True).answer()
    )
    muted = asks("app", 1, bytes_in=1_000_000, throttle_ms=5_000.0)
    assert "throttled 30 of 30 s" in repr(replace(scene, rows=muted).answer())


def test_the_brakes_that_are_not_active_are_those_that_were_looked_for() -> None:
    """*9 other brakes, none active*, and the log that would have shown two of them I had not given."""
    scene = Scene("", {(OWN, PRODUCED): 1e9, (OWN, ASKED): 50.0}, asks(bytes_in=9))
    seen, callback = ("a producer quota", "a request quota"), "a custom quota callback"
    assert scene.answer().brakes.inactive == (*seen, callback)
    assert replace(scene, as_usage=True).answer().brakes.inactive == (*seen, callback)
    assert PARTS["without broker 3"](scene).answer().brakes.inactive == (callback,)
    assert replace(scene, no_answer=(3,)).answer().brakes.inactive == seen
