"""Every fault at every call, and pairs of them: an outcome never lies, and a plan can always be carried on.

The executor runs against the double in one thread and in virtual time; `simulation.Scene` says what must hold.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest

from kadmin_nb.plans.execution import executor, verification
from tests.double.faults import ErrorBesideChange, Interrupted
from tests.plans.scenes import SCENES, SMALL, UNDONE
from tests.plans.simulation import Played, Scene, Schedule, faults_at

ALL = {**SCENES, **SMALL}
SAMPLE = 60
"""Pairs a scene in `make test`; `make test-long` runs all of the small scenes', and of the others each single fault and
ten times as many pairs."""

Ran = tuple[int, list[str]]


def play(scene: Scene, schedules: Iterable[Schedule]) -> Ran:
    """How many ran, and what was wrong with those that ended wrong."""
    return _run(scene.play, schedules)


def undo(scene: Scene, schedules: Iterable[Schedule]) -> Ran:
    """The same where the plan is rolled back as soon as its first run ends."""
    return _run(scene.undo, schedules)


def _run(act: Callable[[Schedule], Played], schedules: Iterable[Schedule]) -> Ran:
    ran, wrong = 0, []
    for schedule in schedules:
        ran += 1
        if found := act(schedule).wrong:
            wrong.append(f"{schedule}\n    " + "\n    ".join(found))
    return ran, wrong


def none_is_wrong(name: str, outcome: Ran, count) -> None:
    """The shortest of those that ended wrong are shown."""
    ran, wrong = outcome
    count(name, ran, len(wrong))
    assert not wrong, "\n".join([f"{len(wrong)} of {ran} schedules end wrong:", *sorted(wrong, key=len)[:5]])


def some_pairs(scene: Scene, count: int, seed: int) -> Iterator[Schedule]:
    """Pairs drawn evenly from the first faults; the same ones every time."""
    dice, singles = random.Random(seed), scene.singles()
    while count > 0:
        seconds = list(scene.seconds(dice.choice(singles)))
        drawn = dice.sample(seconds, min(4, count, len(seconds)))
        count -= len(drawn)
        yield from drawn


def pairs_from(name: str, first: Schedule) -> Ran:
    """Every pair that begins with this fault; in a process of its own."""
    return play(ALL[name], ALL[name].seconds(first))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL, *[pytest.param(name, marks=pytest.mark.long) for name in SCENES]])
def test_every_fault_at_every_call(name, schedules_ran):
    """Something broke in the middle of a plan, and what the table said of it was not so."""
    none_is_wrong(name, play(ALL[name], ALL[name].singles()), schedules_ran)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_some_pairs_of_faults(name, schedules_ran):
    """One thing broke, and while it was being mended another one did."""
    none_is_wrong(name, play(ALL[name], some_pairs(ALL[name], SAMPLE, seed=20)), schedules_ran)


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_every_pair_of_faults(name, schedules_ran):
    """The two things that broke together were the pair that nobody had tried."""
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as processes:
        parts = list(processes.map(partial(pairs_from, name), ALL[name].singles(), chunksize=4))
    outcome = sum(ran for ran, _ in parts), [one for _, wrong in parts for one in wrong]
    none_is_wrong(name, outcome, schedules_ran)


@pytest.mark.long
@pytest.mark.parametrize("name", SCENES)
def test_many_pairs_of_faults(name, schedules_ran):
    """A plan of many levels broke where a small one does not."""
    none_is_wrong(name, play(ALL[name], some_pairs(ALL[name], 10 * SAMPLE, seed=47)), schedules_ran)


TO_UNDO = {**ALL, **UNDONE}
DAILY = ["one quota on slow brokers", *UNDONE]
MANY = [*DAILY, *[pytest.param(name, marks=pytest.mark.long) for name in ALL if name not in DAILY]]


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_a_rollback_after_every_fault_leaves_nothing_or_says_what(name, schedules_ran):
    """I stopped it at a quarter and rolled back: *verified*, and one request of the plan was still on the cluster."""
    none_is_wrong(name, undo(TO_UNDO[name], TO_UNDO[name].singles()), schedules_ran)


@pytest.mark.slow
@pytest.mark.parametrize("name", TO_UNDO)
def test_a_plan_that_is_stopped_at_any_call_is_rolled_back(name, schedules_ran):
    """Stop between two requests, Stop in one, Stop while it verified: each time it was another request that stayed."""
    stops = [schedule for schedule in TO_UNDO[name].singles() if Interrupted() in schedule.faults.values()]
    assert len(stops) > 10
    none_is_wrong(name, undo(TO_UNDO[name], stops), schedules_ran)


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_a_rollback_that_breaks_at_any_call_is_carried_on(name, schedules_ran):
    """The rollback was stopped itself, and nobody could say what was left of which plan."""
    scene = TO_UNDO[name]
    calls = scene.undo(Schedule()).kafkas[-1].calls
    broken = [Schedule(resumed=schedule.faults) for schedule in faults_at(calls)]
    none_is_wrong(name, undo(scene, broken), schedules_ran)


MISTAKES = {
    "a lost answer is a failure": (executor, "is_doubtful", lambda code: False),
    "one broker is enough": (
        verification.BrokerAgreement,
        "is_complete",
        property(lambda sighting: bool(sighting.seen)),
    ),
    "any denial counts": (verification, "_is_denied", lambda row, facts, sighting: sighting.denied_at is not None),
}


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name", "wrong"), MISTAKES.values(), ids=MISTAKES)
def test_the_simulator_notices_a_mistake(place, name, wrong, monkeypatch):
    """Thousands of schedules went well, and would have with any executor."""
    scene = SMALL["one quota on slow brokers"]
    cut_short = [s for s in scene.seconds(Schedule({6: ErrorBesideChange()})) if Interrupted() in s.faults.values()]
    schedules = [*scene.singles(), *cut_short]
    assert not any(scene.play(schedule).wrong for schedule in cut_short)
    monkeypatch.setattr(place, name, wrong)
    assert any(scene.play(schedule).wrong for schedule in schedules)
