"""The executor against the double, in one thread and in virtual time: what every schedule of faults must come to.

A schedule says which fault strikes at which call of the port, and which write of the journal the process dies at.
`Scene.run` carries out a plan under a schedule, carries it on until it is quiet, and returns what was wrong.
"""

from __future__ import annotations

import copy
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.errors import KadminError
from kadmin_nb.model.changes import DELETE, FAILED, SKIPPED, UNCHANGED, VERIFIED, Change, Outcome
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import journal, kinds, planning, sending
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor, rollback
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.journal import Journal, replay
from kadmin_nb.plans.journal.replay import JournalState
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.secret_resolver import Resolver, nowhere
from kadmin_nb.plans.sending import Wave
from kadmin_nb.plans.stage import Stage
from tests.double import Crash, FakeKafka
from tests.double.calls import Call
from tests.double.faults import Fault, every

QUIET = 9.0
"""Seconds, a tenth of the real quiet period, so that runs are short; what lands late lands within it."""

TIMEOUT = QUIET / 3

LONGEST = 600.0
"""Virtual seconds that one run may take."""

MOST_CALLS = 2_000
RESUMES = 3


UNREAD = "cannot be seen"
"""The words by which a rollback says that it has to be planned once more."""


class Endless(AssertionError):
    """A run that went on and on."""


FULL = "on a full disk"
DEATHS = ("before", "torn", "after", FULL)


@dataclass
class Pages:
    """A journal's lines in memory, each a file of its own.

    `dies` maps the number of a write, from 1, to how the process dies there, or `FULL`: the disk is full, once.
    `written` is called when a line is on the disk.
    """

    dies: Mapping[int, str] = field(default_factory=dict)
    place: Path = Path("memory")
    is_locked: bool = True
    kept: list[str] = field(default_factory=list)
    writes: int = 0
    is_full: bool = False
    written: Callable[[str], object] = lambda text: None

    def texts(self) -> list[str]:
        return list(self.kept)

    def append(self, text: str, *, after_torn: bool = False) -> None:
        assert not self.is_full, "a record after one that could not be written"
        self.writes += 1
        how = self.dies.get(self.writes)
        if how == "before":
            raise Crash(f"before write {self.writes}")
        self.kept.append(text[: len(text) // 2] if how in ("torn", FULL) else text + "\n")
        if how == FULL:
            self.is_full = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if how:
            raise Crash(f"{how} at write {self.writes}")
        self.written(text)

    def is_whole(self) -> bool:
        return True

    def close(self) -> None:
        """Others may open it."""

    def opened(self) -> Journal:
        """A journal over these lines, its chain checked."""
        self.is_full = False
        real, journal.opened = journal.opened, lambda place: self
        try:
            return Journal.open(self.place)
        finally:
            journal.opened = real


@dataclass(frozen=True)
class Schedule:
    """Faults by the number of the call, of the first run and of its resume; deaths by the journal's write."""

    faults: Mapping[int, Fault] = field(default_factory=dict)
    deaths: Mapping[int, str] = field(default_factory=dict)
    resumed: Mapping[int, Fault] = field(default_factory=dict)

    def and_(self, other: Schedule) -> Schedule:
        both = ({**getattr(self, part), **getattr(other, part)} for part in ("faults", "deaths", "resumed"))
        return Schedule(*both)

    def __str__(self) -> str:
        calls = [f"call {number}: {fault}" for number, fault in sorted(self.faults.items())]
        calls += [f"write {number}: dies {how}" for number, how in sorted(self.deaths.items())]
        return ", ".join([*calls, *(f"resume's call {number}: {fault}" for number, fault in self.resumed.items())])


@dataclass
class Played:
    """One run: its last connection, that and those before it, the journal, and what was wrong."""

    kafka: FakeKafka
    pages: Pages
    kafkas: list[FakeKafka] = field(default_factory=list)
    done: ApplyResult | None = None
    ended: BaseException | None = None
    wrong: list[str] = field(default_factory=list)


def plan_of(kafka: FakeKafka, stage: Callable[[Stage], None], resolver: Resolver = nowhere) -> Plan:
    """What `Cluster.new_stage().plan()` makes of it."""

    def planned(edits, reason, allow_unknown, *_) -> Plan:
        seen = kinds.take(kafka, [edit.target for edit in edits], whole=True)
        rows = sending.validated(kafka, planning.changes(edits, seen, allow_unknown), resolver)
        return Plan(PlanHead(kafka.id, kafka.now().isoformat(), reason), tuple(rows))

    wishes = Stage(planned)
    stage(wishes)
    return wishes.plan()


def undoing(kafka: FakeKafka, plan: Plan, pages: Pages) -> Plan:
    """What `Cluster.rollback` makes of a plan with this journal."""
    found = rollback.remains(kafka, plan, state_of(pages))
    rows = tuple(rollback.changes(found))
    return Plan(PlanHead(kafka.id, kafka.now().isoformat(), rollback.reason(found), undoes=plan.id), rows)


def state_of(pages: Pages) -> JournalState:
    """The state of the rows by a journal."""
    return replay.replayed(pages.opened().before)


Waves = Callable[[FakeKafka], Callable[[Sequence[Change]], list[Wave]]]
"""Given a connection: the waves that a plan is sent in, instead of those of the safe order."""


class Scene:
    """A cluster as it is before, and a plan for it. `edit` makes the cluster, `stage` stages the wishes."""

    def __init__(
        self,
        name: str,
        edit: Callable[[FakeKafka], None],
        stage: Callable[[Stage], None],
        *,
        batch: int = 2,
        lag: float = 0.002,
        waves: Waves | None = None,
    ) -> None:
        self.name, self._waves = name, waves
        template = FakeKafka(lag=lag)
        edit(template)
        template.cluster.settle()
        self.plan = plan_of(template, stage)
        template.cluster.answers.clear()
        self._cluster = template.cluster
        self.before = copy.deepcopy(template.cluster.head.values)
        self.options, self.batch = ApplyOptions(steal=True, verify_timeout=4.0, quiet_period=QUIET), batch
        self._most_alters = 2 * len(self.attempt(Schedule()).kafka.alters)

    def kafka(self, faults: Mapping[int, Fault] | None = None) -> FakeKafka:
        """A connection to a cluster of its own."""
        return bounded(FakeKafka(cluster=copy.deepcopy(self._cluster), faults=faults, timeout=TIMEOUT))

    def singles(self) -> list[Schedule]:
        """Every fault at every call, and every death at every write, of a run in which nothing goes wrong."""
        quiet = self.play(Schedule())
        assert not quiet.wrong, quiet.wrong
        return [*faults_at(quiet.kafka.calls), *deaths_at(range(1, quiet.pages.writes + 1))]

    def seconds(self, first: Schedule) -> Iterator[Schedule]:
        """The schedules of two faults that begin with this one: the other strikes later, where the first led to."""
        led = self.play(first)
        after = max(first.faults, default=0)
        for second in faults_at([call for call in led.kafkas[0].calls if call.number > after][:MOST_SECONDS]):
            yield first.and_(second)
        for resumed in led.kafkas[1:2]:
            yield from (first.and_(Schedule(resumed=s.faults)) for s in faults_at(resumed.calls[:MOST_SECONDS]))
        yield from map(first.and_, deaths_at(range(max(first.deaths, default=0) + 1, led.pages.writes + 1)))

    def attempt(self, schedule: Schedule) -> Played:
        """Carry the plan out under a schedule, once."""
        played = Played(self.kafka(schedule.faults), Pages(schedule.deaths))
        return self._carry_out(played, played.kafka)

    def apply(self, kafka: FakeKafka, plan: Plan, pages: Pages, hooks: Hooks = Hooks()) -> ApplyResult:
        """A plan carried out as this scene does it."""
        return executor.apply(kafka, plan, pages.opened(), self.options, hooks, largest_batch=self.batch)

    def _carry_out(self, played: Played, kafka: FakeKafka) -> Played:
        played.done = played.ended = None
        hooks = Hooks(stopped=lambda: kafka.interrupted)
        if self._waves:
            hooks = replace(hooks, waves=self._waves(kafka))
        try:
            played.done = self.apply(kafka, self.plan, played.pages, hooks)
        except (KadminError, Crash) as exc:
            played.ended = exc
        return played

    def play(self, schedule: Schedule) -> Played:
        """Carry the plan out under a schedule, and on until it is quiet; `wrong` says what must not be."""
        played = Played(kafka := self.kafka(schedule.faults), Pages(schedule.deaths), [kafka])
        try:
            self._carry_out(played, played.kafka)
            self._judge(played)
            self._carry_on(played, schedule.resumed)
            self._judge_end(played)
            self._take_back(played)
        except Exception as exc:
            played.wrong.append(f"{type(exc).__name__}: {exc}")
        return played

    # -- what became of it

    def _judge(self, played: Played) -> None:
        """What was said of each row, now and when all has landed; who died said nothing, and is carried on at once."""
        if len(played.kafka.alters) > self._most_alters:
            played.wrong.append(f"{len(played.kafka.alters)} alters: some were sent more than twice")
        if isinstance(played.ended, Crash):
            return
        cluster, wrong = played.kafka.cluster, played.wrong
        if isinstance(played.ended, KadminError):
            wrong += [f"{played.ended!r} after something was sent"] * bool(played.kafka.alters)
        at_once = self._holding(played.kafka)
        cluster.settle()
        held = self._holding(played.kafka)
        for outcome in played.done.outcomes if played.done else ():
            wrong += self._lies(outcome, at_once[outcome.change.row], held[outcome.change.row], played.kafka)
        wrong += self._touched(played.kafka)

    def _lies(self, outcome: Outcome, at_once: set[int], held: set[int], kafka: FakeKafka) -> Iterator[str]:
        change, everyone = outcome.change, _expected(outcome.change, kafka)
        row = f"row {change.row} {change.resource} {change.key} is called {outcome.state} ({outcome.message})"
        if outcome.state == VERIFIED and not everyone <= at_once & held:
            yield f"{row}, and only {sorted(at_once & held)} hold it"
        if outcome.state == UNCHANGED and not self._is_done(change, kafka):
            yield f"{row}, and the controller does not hold it"
        if outcome.state == FAILED and self._is_done(change, kafka):
            yield f"{row}, and the controller holds it"
        if outcome.state == SKIPPED and _held(kafka, change) != change.old:
            yield f"{row}, and it is no longer {change.old}"

    def _touched(self, kafka: FakeKafka) -> Iterator[str]:
        """What the plan does not name is as it was."""
        ours = {change.target for change in self.plan.changes}
        now = kafka.cluster.head.values
        for whom in {*self.before, *now}:
            keys = {*self.before.get(whom, {}), *now.get(whom, {})}
            for key in keys - {key for resource, key in ours if resource == whom}:
                if self.before.get(whom, {}).get(key) != now.get(whom, {}).get(key):
                    yield f"{whom} {key} was touched"

    def _holding(self, kafka: FakeKafka) -> dict[int, set[int]]:
        """Which brokers hold each row now, as they would say."""
        images = {node: kafka.cluster.values(node) for node in kafka.cluster.nodes}
        return {c.row: {n for n, image in images.items() if _holds(kafka, n, image, c)} for c in self.plan.changes}

    def _is_done(self, change: Change, kafka: FakeKafka) -> bool:
        return change.row in self._done_rows(kafka)

    def _done_rows(self, kafka: FakeKafka) -> set[int]:
        head = kafka.cluster.head.values
        return {c.row for c in self.plan.changes if any(_holds(kafka, n, head, c) for n in _expected(c, kafka))}

    # -- until it is quiet

    def _carry_on(self, played: Played, faults: Mapping[int, Fault]) -> None:
        """What was wrong with the cluster is mended, and the same journal is carried on; the first time with faults."""
        cluster = played.kafka.cluster
        for turn in range(RESUMES):
            if played.done and not played.done.unwritten and all(outcome.ok for outcome in played.done.outcomes):
                break
            mend(played.kafka)
            kafka = played.kafka = bounded(played.kafka.beside(timeout=TIMEOUT, faults={} if turn else faults))
            played.kafkas.append(kafka)
            kafka.carried.append(lambda call: played.wrong.extend(self._needless(call, cluster)))
            self._carry_out(played, kafka)
            self._judge(played)

    def _judge_end(self, played: Played) -> None:
        if played.done is None:
            played.wrong.append(f"it ends with {played.ended!r}")
            return
        played.wrong += ["it ends, and something sent may still land"] * (not played.kafka.cluster.is_quiet)
        mend(played.kafka)
        played.kafka.cluster.settle()
        held = self._holding(played.kafka)
        missing = [c.row for c in self.plan.changes if not _expected(c, played.kafka) <= held[c.row]]
        states = [(o.change.row, o.state, o.message) for o in played.done.outcomes if not o.ok]
        played.wrong += [f"rows {missing} are not there at the end"] * bool(missing)
        played.wrong += [f"it does not end well: {states}"] * bool(states)
        again = bounded(played.kafka.beside(timeout=TIMEOUT))
        self._carry_out(played, again)
        played.wrong += [f"a second apply sends {len(again.alters)} alters"] * bool(again.alters)

    def _take_back(self, played: Played) -> None:
        """A rollback restores what was, and touches nothing that was so before the plan."""
        records = played.pages.opened().before
        done = replay.replayed(records).verified
        ours = {change.row for change in self.plan.changes if not change.is_done}
        doubtful = {int(row) for record in records if record.kind == replay.OUTCOME for row in record.says["refused"]}
        if not ours - doubtful <= done <= ours:
            played.wrong.append(f"the journal calls rows {done} done by us, not {ours}")
        if not ours:
            return
        kafka = bounded(played.kafka.beside(timeout=TIMEOUT))
        self.apply(kafka, undoing(kafka, self.plan, played.pages), Pages())
        played.wrong += self._difference(kafka)

    def _difference(self, kafka: FakeKafka) -> Iterator[str]:
        """What is not as before the plan."""
        kafka.cluster.settle()
        if kafka.cluster.head.values != self.before:
            yield f"the rollback leaves {kafka.cluster.head.values}, not {self.before}"

    # -- stopped, and rolled back

    def undo(self, schedule: Schedule) -> Played:
        """Carry the plan out under a schedule, once, and roll it back at once; `resumed` are faults of the rollback.

        What was wrong with the cluster lasts at first. `wrong` says where it is said that nothing of the plan is left,
        and some is; and what is left when all was mended, and the rollback carried on.
        """
        played = self.attempt(schedule)
        played.kafkas.append(played.kafka)
        try:
            self._undo(played, schedule.resumed)
        except Exception as exc:
            played.wrong.append(f"{type(exc).__name__}: {exc}")
        return played

    def _undo(self, played: Played, faults: Mapping[int, Fault]) -> None:
        while back := self._planned_undoing(played):
            self._carry_on_undoing(played, back, faults)
            mend(played.kafka)
            faults = {}
            if UNREAD not in str(back.reason):
                break
        mend(played.kafka)
        played.wrong += self._difference(played.kafka)

    def _carry_on_undoing(self, played: Played, back: Plan, faults: Mapping[int, Fault]) -> None:
        """Apply the plan that rolls back, and on, until nothing is left; the first time with faults."""
        pages = Pages()
        for turn in range(RESUMES):
            kafka = bounded(played.kafka.beside(timeout=TIMEOUT, faults={} if turn else faults))
            played.kafkas.append(kafka)
            if self._is_undone(played, kafka, back, pages):
                return
            mend(kafka)

    def _planned_undoing(self, played: Played) -> Plan | None:
        """The plan that rolls back, as soon as there can be one; None where nothing is to be undone."""
        for _ in range(RESUMES):
            kafka = bounded(played.kafka.beside(timeout=TIMEOUT))
            state, in_doubt = state_of(played.pages), None
            try:
                found = rollback.remains(kafka, self.plan, state)
                rollback.refuse_unsettled(found, state, state.quiet_until(kafka.now(), QUIET))
                return undoing(kafka, self.plan, played.pages)
            except KadminError as exc:
                in_doubt = exc
            if in_doubt.code == "NOTHING_TO_UNDO" and UNREAD not in str(in_doubt):
                return None
            kafka.sleep(QUIET) if in_doubt.code == "UNSETTLED" else mend(kafka)
        if in_doubt.code == "NOTHING_TO_UNDO":
            return None
        raise in_doubt

    def _is_undone(self, played: Played, kafka: FakeKafka, back: Plan, pages: Pages) -> bool:
        """Whether it is said that nothing of the plan is left; then it has to be so."""
        try:
            hooks = Hooks(stopped=lambda: kafka.interrupted)
            done = self.apply(kafka, back, pages, hooks)
            restored = {outcome.change.target for outcome in done.outcomes if outcome.state == VERIFIED}
            found = rollback.remains(kafka, self.plan, state_of(played.pages), patience=0.0, restored=restored)
        except (KadminError, Crash):
            return False
        is_whole = all(outcome.ok for outcome in done.outcomes)
        if not is_whole or rollback.left(found, back, is_whole=is_whole):
            return False
        played.wrong += self._difference(kafka)
        return True

    def _needless(self, call: Call, cluster) -> Iterator[str]:
        """What a resume sends although it is so already."""
        for whom, part in call.parts.items() if call.alters else ():
            held = cluster.head.values.get(whom, {})
            for key, value in _meant(part):
                if value is not _ANYTHING and held.get(key) == value:
                    yield f"{call} sends {whom} {key}, which is so already"


MOST_SECONDS = 40
"""Calls after the first fault at which a second one is tried: a run that waits makes hundreds that are alike."""

_ANYTHING = object()


def _meant(part: object) -> Iterator[tuple[str, object]]:
    if isinstance(part, Mapping):
        yield from part.items()
        return
    for operation in part:  # type: ignore[attr-defined]
        assert isinstance(operation, ConfigOperation)
        yield operation.key, {"set": operation.text, "delete": None}.get(operation.op, _ANYTHING)


def bounded(kafka: FakeKafka) -> FakeKafka:
    """A connection on which nothing goes on for ever."""
    began = kafka.monotonic()

    def check(what: str) -> None:
        if len(kafka.calls) > MOST_CALLS or kafka.monotonic() - began > LONGEST:
            raise Endless(f"{len(kafka.calls)} calls in {kafka.monotonic() - began:.0f} s")

    kafka.before = check
    return kafka


def mend(kafka: FakeKafka) -> None:
    """Every broker serves, from the newest image, and all rights are back."""
    cluster = kafka.cluster
    for node in cluster.nodes.values():
        node.frozen_until = node.fenced_until = 0.0
        node.down_since = None
    kafka.grant()
    cluster.pass_(1.0)


def _expected(change: Change, kafka: FakeKafka) -> set[int]:
    own = change.resource.broker if isinstance(change.resource, Resource) else None
    return set(kafka.cluster.nodes) if own is None else {own}


def _held(kafka: FakeKafka, change: Change) -> str | None:
    """What a row's target holds, as text."""
    if _is_logger(change):
        return _level(kafka, next(iter(_expected(change, kafka))), change)
    value = kafka.cluster.head.values.get(change.resource, {}).get(change.key)
    return value if value is None or isinstance(value, str) else f"{value:.15g}"


def _is_logger(change: Change) -> bool:
    return isinstance(change.resource, Resource) and change.resource.type == "BROKER_LOGGER"


def _level(kafka: FakeKafka, node: int, change: Change) -> str:
    """The level of a logger, which stands on its broker alone."""
    return kafka.cluster.nodes[node].loggers.get(change.key, "INFO")


def _holds(kafka: FakeKafka, node: int, values, change: Change) -> bool:
    if _is_logger(change):
        return _level(kafka, node, change) == change.after
    held = values.get(change.resource, {}).get(change.key)
    if isinstance(change.resource, Entity):
        return held == (None if change.op == DELETE else float(change.after or "nan"))
    return held == change.after


def faults_at(calls: Iterable[Call]) -> Iterator[Schedule]:
    """Each fault that makes a difference, at each of these calls."""
    for call in calls:
        yield from (Schedule({call.number: fault}) for fault in every(QUIET) if fault.fits(call))


def deaths_at(writes: Iterable[int]) -> Iterator[Schedule]:
    return (Schedule(deaths={write: how}) for write in writes for how in DEATHS)
