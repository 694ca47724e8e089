"""Two admins alter at once, their requests made in every order: no change is lost, none is half done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from kadmin_nb.client_configs.topic import ClientConfigTopic
from tests.client_configs.conftest import ALICE, APP, Admin, codes
from tests.locking.orders import WRITING, in_turns, schedules

pytestmark = pytest.mark.broker

ALTERING = 5
"""Steps of an alter: look, fence, write, look, commit."""


def some(orders: Iterator[list[str]]) -> list[list[str]]:
    return random.Random(4).sample(list(orders), 12)


@pytest.fixture
def in_order(monkeypatch) -> Callable[..., dict[str, object]]:
    """`in_order("abba", a=…, b=…)`: what each answered, when their requests are made in this order."""
    return in_turns(monkeypatch, [(ClientConfigTopic, "newest"), *WRITING])


def same_entry(in_order, ann: Admin, ben: Admin, orders) -> None:
    for number, order in enumerate(orders):
        before = ann.stored().get(("user=alice", "acks"))
        beside = ann.stored().get(("user=alice client-id=app", "heartbeat.interval.ms"))
        ours, theirs = ("0", "1") if before == "-1" else ("-1", "0" if before == "1" else "1")
        first = {ALICE: {"acks": (before, ours)}, APP: {"heartbeat.interval.ms": (beside, f"{3000 + number}")}}
        second = {ALICE: {"acks": (before, theirs)}}
        answers = in_order(order, a=lambda w=first: ann.alter(w), b=lambda w=second: ben.alter(w))
        refused = {name: [*filter(None, codes(answer))] for name, answer in answers.items()}
        loser = "b" if refused["b"] else "a"
        assert refused["a" if loser == "b" else "b"] == [], (order, answers)
        assert "CONFLICT" in refused[loser], (order, answers)
        after = ann.stored()
        assert after["user=alice", "acks"] == (ours if loser == "b" else theirs), (order, after)
        whole = str(3000 + number) if loser == "b" else beside
        assert after.get(("user=alice client-id=app", "heartbeat.interval.ms")) == whole, (order, after)


def different_entries(in_order, ann: Admin, ben: Admin, orders) -> None:
    for number, order in enumerate(orders):
        stored = ann.stored()
        values = [str(3000 + number), str(20_000 + number)]
        beats = (stored.get(("user=alice", "heartbeat.interval.ms")), values[0])
        sessions = (stored.get(("user=alice client-id=app", "session.timeout.ms")), values[1])
        answers = in_order(
            order,
            a=lambda w=beats: ann.alter({ALICE: {"heartbeat.interval.ms": w}}),
            b=lambda w=sessions: ben.alter({APP: {"session.timeout.ms": w}}),
        )
        assert answers == {"a": {ALICE: None}, "b": {APP: None}}, order
        assert sorted(ann.stored().values()) == sorted(values), order


RACES = pytest.mark.parametrize("race", [same_entry, different_entries])


@RACES
def test_two_at_once_lose_nothing(race, in_order, ann, ben):
    """We both changed acks, both were told that it was done, and one of us was wrong."""
    race(in_order, ann, ben, some(schedules(ALTERING, ALTERING)))


@pytest.mark.long
@RACES
def test_two_at_once_lose_nothing_in_any_order(race, in_order, ann, ben):
    """It held on my machine, and not in the one order that production took."""
    race(in_order, ann, ben, schedules(ALTERING, ALTERING))
