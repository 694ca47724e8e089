"""A process that carries out a plan is killed at every point that there is; what is left goes on to the same end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plan_rows import rows

import kadmin_nb as kn
from kadmin_nb.cluster.changes import journals
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.records import folder_of

pytestmark = pytest.mark.broker

RATE, TOPIC_KEYS = "producer_byte_rate", ("cleanup.policy", "retention.ms")
OLD = {"raised": "1000", "added": None, "removed": "3000", "lowered": "4000"}
NEW = {"raised": "2000", "added": "2000", "removed": None, "lowered": "2000"}

Dying = Callable[[Plan, int], list[str]]


@pytest.fixture(scope="module")
def dying(kafka, tmp_path_factory) -> Iterator[Dying]:
    """`dying(plan, 7)` applies a plan in a process that dies at its seventh point, and tells which it came to."""
    place = tmp_path_factory.mktemp("plans") / "plan.json"
    words = [sys.executable, str(Path(__file__).with_name("dying.py"))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def apply(plan: Plan, die_at: int) -> list[str]:
            plan.save(place)
            process.stdin.write(json.dumps([kafka.bootstrap, str(place), die_at]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield apply
        process.stdin.close()


class Scene:
    """A raise, an addition, a removal, a lower, and two keys of a topic: five requests, one after another."""

    def __init__(self, cluster: kn.Cluster, users: dict[str, str], topic: str) -> None:
        self.cluster, self.users, self.topic = cluster, users, topic

    def plan(self) -> Plan:
        stage = self.cluster.stage()
        for name, value in NEW.items():
            if value is None:
                stage.remove_quota(RATE, user=self.users[name])
            else:
                stage.set_quota(RATE, value, user=self.users[name])
        stage.set_config("retention.ms", "12345", topic=self.topic)
        stage.append_config("cleanup.policy", "compact", topic=self.topic)
        return stage.plan()

    def begin(self) -> None:
        stage = self.cluster.stage()
        for name, value in OLD.items():
            if value is not None:
                stage.set_quota(RATE, value, user=self.users[name])
        stage.plan().apply(lock=False).raise_for_errors()

    def points(self, dying: Dying, before: Callable[[Plan], object] = lambda plan: None) -> list[str]:
        """All that there are. The cluster ends as it began."""
        plan = self.plan()
        before(plan)
        points = dying(plan, 0)
        self.cluster.rollback(plan).apply(lock=False).raise_for_errors()
        assert self.stored() == BEFORE
        return points

    def stored(self) -> dict[str, str | None]:
        found = {
            name: next(iter(self.cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist()), None)
            for name, user in self.users.items()
        }
        quotas = {name: None if value is None else f"{value:.0f}" for name, value in found.items()}
        configs = self.cluster.configs.describe(topic=self.topic).to_arrow().to_pylist()
        return quotas | {r["key"]: r["value"] for r in configs if r["key"] in TOPIC_KEYS}


BEFORE = OLD | {"cleanup.policy": "delete", "retention.ms": "604800000"}
AFTER = NEW | {"cleanup.policy": "delete,compact", "retention.ms": "12345"}


@pytest.fixture
def scene(cluster, topic, unique) -> Scene:
    made = Scene(cluster, {name: unique(name) for name in OLD}, topic)
    made.begin()
    return made


def journal_of(plan: Plan) -> Path:
    """Where it is, or will be."""
    with journals().open(plan) as journal:
        return Path(journal.place)


def carried_on(cluster: kn.Cluster, plan: Plan) -> kn.Outcomes:
    """By its id where it was begun, and else, as anybody would, by another apply."""
    try:
        return cluster.resume(plan.id, quiet_period=0.5)
    except kn.NotFound:
        return cluster.apply(plan)
    except kn.Invalid as exc:
        if "holds no plan" not in str(exc):
            raise
        return cluster.apply(plan)


def wrongs(scene: Scene, plan: Plan, tells: list[str]) -> Iterator[str]:
    """What is not right after a crash, a resume, another apply and a rollback: nothing."""
    cluster, everything = scene.cluster, set(range(1, len(plan) + 1))
    states = {state for (state,) in rows(carried_on(cluster, plan), "state")}
    if not states <= {"verified", "unchanged"}:
        yield f"resumed to {states}"
    if (stored := scene.stored()) != AFTER:
        yield f"the cluster holds {stored}"
    story = journals().find(plan.id).story
    if (story.in_doubt, story.unsettled, story.verified) != (set(), set(), everything):
        yield f"the journal tells {story}"
    tells.clear()
    if {state for (state,) in rows(cluster.apply(plan, lock=False), "state")} != {"unchanged"} or tells:
        yield f"a second apply sent {tells}"
    cluster.rollback(plan).apply(lock=False).raise_for_errors()
    if (stored := scene.stored()) != BEFORE:
        yield f"rolled back to {stored}"


def test_killed_at_every_point_it_goes_on_to_the_same_end(scene, dying, tells):
    """The job was killed half-way, and nobody could say what was done, or the second run did it twice."""
    points = scene.points(dying)
    assert {"before a line", "in the middle of a line", "before a sync", "before an answer"} < set(points)
    assert (points.count("before a request"), points[-1]) == (5, "afterwards")
    for number, point in enumerate(points, 1):
        plan = scene.plan()
        assert dying(plan, number) == points[:number]
        assert (number, point, [*wrongs(scene, plan, tells)]) == (number, point, [])


def test_killed_where_each_record_is_a_file(scene, dying, tells):
    """The volume took no appends, and after a crash its many small files were of no use."""
    points = scene.points(dying, a_file_a_record)
    third = [number for number, point in enumerate(points, 1) if point == "before a request"][2]
    for number in range(third - 3, third + 6):
        plan = scene.plan()
        a_file_a_record(plan)
        assert dying(plan, number) == points[:number]
        assert len(list(journal_of(plan).glob("*.json"))) > 5
        assert (number, [*wrongs(scene, plan, tells)]) == (number, [])


def a_file_a_record(plan: Plan) -> None:
    """What a place that cannot append has instead of a file."""
    folder_of(journal_of(plan)).mkdir(parents=True)


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.1, 0.9, 0.999, 1.0])
def test_a_line_torn_anywhere(kept, scene, dying, tells):
    """The disk was full, or the power went, and half a line stood at the end of the journal."""
    third = [number for number, point in enumerate(scene.points(dying), 1) if point == "before a request"][2]
    plan = scene.plan()
    dying(plan, third)
    place = journal_of(plan)
    text = place.read_bytes()
    last = text.rindex(b"\n", 0, -1) + 1
    place.write_bytes(text[: last + round(kept * (len(text) - 1 - last))])  # 1.0: all but the end of the line
    assert [*wrongs(scene, plan, tells)] == []
