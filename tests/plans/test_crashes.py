"""A terminal that carries out a plan is killed at every point, or stopped by Ctrl-C: the rest is done afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.plans.execution.progress import Advance
from kadmin_nb.plans.journal.storage import folder_of
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.outcomes import Outcomes
from kadmin_nb.plans.plan import Plan
from tests.plans.plan_rows import rows

pytestmark = pytest.mark.broker

RATE, TOPIC_KEYS = "producer_byte_rate", ("cleanup.policy", "max.message.bytes")
OLD = {"raised": "1000", "added": None, "removed": "3000", "lowered": "4000"}
NEW = {"raised": "2000", "added": "2000", "removed": None, "lowered": "2000"}


@dataclass(frozen=True)
class Ended:
    """A process that carried out a plan: the points it came to, its exit code, what it printed."""

    points: list[str]
    code: int
    said: str


Applied = Callable[..., Ended]


@pytest.fixture(scope="module")
def applied(kafka, tmp_path_factory) -> Iterator[Applied]:
    """`applied(plan, 7)` applies a plan in a terminal that is killed at its seventh point."""
    place = tmp_path_factory.mktemp("plans") / "plan.json"
    words = [sys.executable, "-m", "tests.plans.points"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:

        def apply(plan: Plan, at: int = 0, *signals: str, lock: bool = False) -> Ended:
            plan.save(place, overwrite=True)
            line = ["plan", "apply", str(place), "--cluster", kafka.bootstrap, *["--no-lock"] * (not lock)]
            process.stdin.write(json.dumps([line, at, signals or ["SIGKILL"]]) + "\n")
            process.stdin.flush()
            return Ended(*json.loads(process.stdout.readline()))

        yield apply
        process.stdin.close()


Values = Mapping[str, str | None]


class Scene:
    """A raise, an addition, a removal, a lower, and two keys of a topic: five requests, one after another."""

    before: ClassVar[Values] = OLD | {"cleanup.policy": "delete", "max.message.bytes": "1048588"}
    after: ClassVar[Values] = NEW | {"cleanup.policy": "delete,compact", "max.message.bytes": "12345"}

    def __init__(self, cluster: kn.Cluster, users: dict[str, str], topic: str) -> None:
        self.cluster, self.users, self.topic = cluster, users, topic

    def plan(self) -> Plan:
        stage = self.cluster.new_stage()
        for name, value in NEW.items():
            if value is None:
                stage.remove_quota(RATE, user=self.users[name])
            else:
                stage.set_quota(RATE, value, user=self.users[name])
        stage.set_config("max.message.bytes", "12345", topic=self.topic)
        stage.append_config("cleanup.policy", "compact", topic=self.topic)
        return stage.plan()

    def begin(self) -> None:
        stage = self.cluster.new_stage()
        for name, value in OLD.items():
            if value is not None:
                stage.set_quota(RATE, value, user=self.users[name])
        stage.plan().apply(lock=False).raise_for_errors()

    def points(
        self, applied: Applied, before: Callable[[Plan], object] = lambda plan: None, **options: bool
    ) -> list[str]:
        """All that there are. The cluster ends as it began."""
        plan = self.plan()
        before(plan)
        points = applied(plan, **options).points
        self.cluster.rollback(plan).apply(lock=False).raise_for_errors()
        assert self.stored() == self.before
        return points

    def stored(self) -> dict[str, str | None]:
        found = {
            name: next(iter(self.cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist()), None)
            for name, user in self.users.items()
        }
        quotas = {name: None if value is None else f"{value:.0f}" for name, value in found.items()}
        configs = self.cluster.configs.describe(topic=self.topic).to_arrow().to_pylist()
        return quotas | {r["key"]: r["value"] for r in configs if r["key"] in TOPIC_KEYS}


class ClientConfigScene(Scene):
    """A key that is set, one that is replaced and one that is removed, in one transaction, and a quota after it."""

    before: ClassVar[Values] = {
        "raised": "1000",
        "acks": None,
        "heartbeat.interval.ms": "2000",
        "session.timeout.ms": "20000",
    }
    after: ClassVar[Values] = {
        "raised": "2000",
        "acks": "-1",
        "heartbeat.interval.ms": None,
        "session.timeout.ms": "30000",
    }

    def plan(self) -> Plan:
        return self._planned(self.after)

    def begin(self) -> None:
        self._planned(self.before).apply(lock=False).raise_for_errors()

    def _planned(self, values: Values) -> Plan:
        stage, alice = self.cluster.new_stage(), self.users["raised"]
        stage.set_quota(RATE, values["raised"], user=alice)
        for key, value in values.items():
            if value is not None and key != "raised":
                stage.set_client_config(key, value, user=alice, client_id="app")
            elif value is None:
                stage.reset_client_config(key, user=alice, client_id="app")
        return stage.plan()

    def stored(self) -> dict[str, str | None]:
        alice = self.users["raised"]
        described = self.cluster.client_configs.describe(user=alice, client_id="app").to_arrow().to_pylist()
        (rate,) = self.cluster.quotas.describe(user=alice, strict=True).to_arrow()["value"].to_pylist()
        return dict.fromkeys(self.before) | {"raised": f"{rate:.0f}"} | {row["key"]: row["value"] for row in described}


@pytest.fixture
def users(unique) -> dict[str, str]:
    return {name: unique(name) for name in OLD}


@pytest.fixture
def scene(cluster, topic, users) -> Scene:
    made = Scene(cluster, users, topic)
    made.begin()
    return made


@pytest.fixture
def client_config_scene(cluster, topic, users) -> ClientConfigScene:
    made = ClientConfigScene(cluster, users, topic)
    made.begin()
    return made


def journal_of(plan: Plan) -> Path:
    """Where it is, or will be."""
    with journals().open(plan) as journal:
        return Path(journal.place)


def carried_on(cluster: kn.Cluster, plan: Plan, lock: bool) -> Outcomes:
    """By its id where it was begun, and else, as anybody would, by another apply."""
    try:
        return cluster.apply(plan.id, quiet_period=0.5, lock=lock)
    except kn.NotFound:
        return cluster.apply(plan, lock=lock)
    except kn.Invalid as exc:
        if exc.hint != "cluster.apply(plan) starts it.":
            raise
        return cluster.apply(plan, lock=lock)


def wrongs(scene: Scene, plan: Plan, tells: list[str], *, lock: bool = False) -> Iterator[str]:
    """What is not right after a crash, a resume, another apply and a rollback: nothing."""
    cluster, everything = scene.cluster, set(range(1, len(plan) + 1))
    states = {state for (state,) in rows(carried_on(cluster, plan, lock), "state")}
    if not states <= {"verified", "unchanged"}:
        yield f"resumed to {states}"
    if (stored := scene.stored()) != scene.after:
        yield f"the cluster holds {stored}"
    state = journals().find(plan.id).state
    if (state.in_doubt, state.unsettled, state.verified) != (set(), set(), everything):
        yield f"the journal tells {state}"
    tells.clear()
    if {state for (state,) in rows(cluster.apply(plan, lock=False), "state")} != {"unchanged"} or tells:
        yield f"a second apply sent {tells}"
    cluster.rollback(plan).apply(lock=False).raise_for_errors()
    if (stored := scene.stored()) != scene.before:
        yield f"rolled back to {stored}"


def every(points: list[str]) -> list[tuple[int, str]]:
    """Each point with its number, from 1."""
    return [*enumerate(points, 1)]


def last_of_each_kind(points: list[str]) -> list[tuple[int, str]]:
    """One point of each kind, with its number."""
    return [(number, point) for point, number in {point: number for number, point in every(points)}.items()]


@pytest.mark.parametrize("chosen", [pytest.param(every, marks=pytest.mark.long), last_of_each_kind])
def test_killed_at_every_point_it_goes_on_to_the_same_end(chosen, scene, applied, tells):
    """The job was killed half-way, and nobody could say what was done, or the second run did it twice."""
    points = scene.points(applied)
    assert {"before a line", "in the middle of a line", "before a sync", "before an answer"} < set(points)
    assert (points.count("before a request"), points[-1]) == (5, "afterwards")
    for number, point in chosen(points):
        plan = scene.plan()
        assert applied(plan, number).points == points[:number]
        assert (number, point, [*wrongs(scene, plan, tells)]) == (number, point, [])


@pytest.mark.long
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.long), 3])
def test_killed_at_every_commit_of_its_lease_it_goes_on_at_once(step, scene, applied, tells):
    """What the dead one held kept the next from resuming for minutes."""
    points = scene.points(applied, lock=True)
    commits = [number for number, point in enumerate(points, 1) if point == "before a commit"]
    assert len(commits) == 7  # taken, renewed before each of five requests, given back
    for number in commits[::step]:
        plan = scene.plan()
        assert applied(plan, number, lock=True).points == points[:number]
        assert (number, [*wrongs(scene, plan, tells, lock=True)]) == (number, [])


@pytest.mark.long
@pytest.mark.parametrize(
    "near", [pytest.param(99, marks=pytest.mark.long), 2], ids=["at every point", "about its commit"]
)
def test_killed_while_it_changes_client_configs(near, client_config_scene, applied, tells):
    """The plan died beside its transaction, and resumed it set nothing, or the half of it."""
    scene = client_config_scene
    points = scene.points(applied)
    commit = nth(points, "before a commit", 1)
    assert points.count("before a commit") == 1
    for number in range(max(1, commit - near), min(len(points), commit + near) + 1):
        plan = scene.plan()
        assert applied(plan, number).points == points[:number]
        assert (number, [*wrongs(scene, plan, tells)]) == (number, [])


@pytest.mark.long
def test_killed_where_each_record_is_a_file(scene, applied, tells):
    """The volume took no appends, and after a crash its many small files were of no use."""
    points = scene.points(applied, a_file_a_record)
    third = nth(points, "before a request", 3)
    for number in range(third - 3, third + 6):
        plan = scene.plan()
        a_file_a_record(plan)
        assert applied(plan, number).points == points[:number]
        assert len(list(journal_of(plan).glob("*.json"))) > 5
        assert (number, [*wrongs(scene, plan, tells)]) == (number, [])


def a_file_a_record(plan: Plan) -> None:
    """What a place that cannot append has instead of a file."""
    folder_of(journal_of(plan)).mkdir(parents=True)


@pytest.mark.parametrize(
    "kept", [0.0, 0.9, 1.0, *(pytest.param(kept, marks=pytest.mark.long) for kept in (0.01, 0.1, 0.999))]
)
def test_a_line_torn_anywhere(kept, scene, applied, tells):
    """The disk was full, or the power went, and half a line stood at the end of the journal."""
    third = nth(scene.points(applied), "before a request", 3)
    plan = scene.plan()
    applied(plan, third)
    place = journal_of(plan)
    text = place.read_bytes()
    last = text.rindex(b"\n", 0, -1) + 1
    place.write_bytes(text[: last + round(kept * (len(text) - 1 - last))])  # 1.0: all but the end of the line
    assert [*wrongs(scene, plan, tells)] == []


def nth(points: list[str], name: str, number: int) -> int:
    """The point at which this happens for the third time, or the fifth."""
    return [at for at, point in enumerate(points, 1) if point == name][number - 1]


@pytest.mark.parametrize("when", ["before a request", "before an answer"])
def test_ctrl_c_stops_between_two_requests(when, scene, applied, tells):
    """I pressed Ctrl-C, and nobody could tell what had been done."""
    points, plan = scene.points(applied), scene.plan()
    stopped = applied(plan, nth(points, when, 2), "SIGINT")
    assert stopped.code == 130
    assert stopped.points.count("before an answer") == 2
    assert f"plan {plan.id[:8]}: 2 verified, 4 skipped" in stopped.said
    assert "stopped before it was sent" in stopped.said
    short = plan.id[:8]
    assert (
        f"plan {short} was stopped by Ctrl-C, between two requests\nHint: kadmin-nb plan apply {short}" in stopped.said
    )
    state = journals().find(plan.id).state
    assert (len(state.verified), state.in_doubt, state.unsettled) == (2, set(), set())
    resumed = applied(plan)
    assert (resumed.code, resumed.points.count("before an answer")) == (0, 3)
    assert [*wrongs(scene, plan, tells)] == []


def test_a_second_ctrl_c_stops_at_once(scene, applied, tells):
    """I pressed Ctrl-C twice since it hung, and what was in flight was lost from the books."""
    points, plan = scene.points(applied, lock=True), scene.plan()
    stopped = applied(plan, nth(points, "before an answer", 3), "SIGINT", "SIGINT", lock=True)
    assert stopped.code == 130
    assert f"Interrupted: plan {plan.id[:8]} was stopped by Ctrl-C, at once" in stopped.said
    assert f"plan apply {plan.id[:8]} continues" in stopped.said
    state = journals().find(plan.id).state
    assert (len(state.in_doubt), len(state.unsettled), state.verified) == (1, 3, set())
    scene.cluster.port.lease("another plan", "somebody else").release()  # the lock was given back
    resumed = applied(plan)
    assert (resumed.code, resumed.points.count("before an answer")) == (0, 2)
    assert [*wrongs(scene, plan, tells)] == []


def test_ctrl_c_between_two_steps_ends_the_pause(cluster, unique):
    """It lowers in steps, with minutes between them, and Ctrl-C was not heard until the next."""
    client, pressed = unique("client"), []

    def press(advance: Advance) -> None:
        if advance.what.startswith("waiting") and not pressed:
            pressed.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

    stage = cluster.new_stage()
    stage.set_quota(RATE, "100kB/s", client_id=client)
    plan = stage.plan()
    with pytest.raises(kn.errors.Interrupted) as stopped:
        cluster.apply(plan, gradual=120.0, usage=used(client), progress=press)
    assert time.monotonic() - pressed[0] < 60
    assert rows(stopped.value.outcomes, "state", "error") == [("unverified", "INCOMPLETE")]
    assert rows(cluster.apply(plan.id), "state") == [("verified",)]
    assert rows(cluster.apply(plan), "state") == [("unchanged",)]


def used(client: str) -> pa.Table:
    """It sends 1 MB/s, as far as anybody knows."""
    end = datetime.now(UTC)
    row = {"broker": 1, "user": "ANONYMOUS", "client_id": client, "key": RATE, "value": 1e6, "source": "the test"}
    return schemas.table(schemas.USAGE, [{**row, "window_start": end - timedelta(seconds=10), "window_end": end}])
