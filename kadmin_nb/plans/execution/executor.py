"""Carrying out a plan: look again, refuse what moved, write down what is meant, send, and ask every broker.

Its promises stand in docs/plans.md. Whatever happens at whatever call, a row's state is what somebody saw, and
the same plan can be carried on from its journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter

from ...admin.ports import LARGEST_ALTER, RETRIED_ONCE, Broker, Kafka, Signature
from ...errors import Expired, KadminError, PlanRefused
from ...model.changes import FAILED, VERIFIED, Change, Outcome, Refusal
from .. import LAG, VERIFY_TIMEOUT, sending
from ..apply_options import ApplyOptions
from ..approval import author
from ..journal import Journal, replay
from ..journal.replay import JournalState, SentLately, nothing_sent
from ..kinds import by_kind, kind_of, quiet_period, remedy, take
from ..kinds.change_kind import Answers
from ..outcomes import ApplyResult
from ..plan import Plan, document_of
from ..secret_resolver import Resolver, nowhere, refuse_missing
from ..sending import Batch, Wave, batches, is_doubtful, is_of_the_whole, refusals
from .plan_lock import LOST, PAUSE, PlanLock
from .preflight import HIDDEN, ComparedRows, classed, conflict, only_seem_done
from .progress import Advance, Progress, Stopped, never, silent
from .verification import BrokerAgreement, Facts, checked, outcome_of, verify

LOOK_AGE = 10.0
"""Seconds after which the state is observed, or validated, anew before something is sent."""

LOOKS_APART = 20
"""A look that took long is used for so many times as long: any look is at all quotas, a request of a few."""

_RETRY_PAUSE, _SLICE = 1.0, 0.2


def safe_waves(changes: Sequence[Change]) -> list[Wave]:
    """The waves of the safe order, one right after the other."""
    return [Wave(tuple(wave)) for wave in sending.waves(changes)]


def nothing_begins() -> None:
    """Nobody wants to know."""


def nothing_known(plan_id: str) -> None:
    """No journal tells of any other plan."""


def open_gate(pending: Sequence[Change], before: JournalState) -> Mapping[str, object]:
    """Nothing is refused."""
    return {}


@dataclass(frozen=True, slots=True)
class Hooks:
    """The executor's hooks: progress, Ctrl-C, the look-up of secrets, the division into waves.

    `gate` is called with the rows that are to be sent, before any is, and what the journal tells of earlier runs; it
    refuses, or says what the journal shall keep. `begins` is called when the rows are about to be sent. `sent` has what
    other plans of ours have sent, and no broker may show yet; `left` is another plan of ours with the state of its
    rows, None if nothing is known.
    """

    progress: Progress = silent
    stopped: Stopped = never
    resolver: Resolver = nowhere
    waves: Callable[[Sequence[Change]], list[Wave]] = safe_waves
    gate: Callable[[Sequence[Change], JournalState], Mapping[str, object]] = open_gate
    begins: Callable[[], None] = nothing_begins
    sent: SentLately = nothing_sent
    left: Callable[[str], tuple[Sequence[Change], JournalState] | None] = nothing_known


def apply(
    kafka: Kafka,
    plan: Plan,
    journal: Journal,
    options: ApplyOptions = ApplyOptions(),
    hooks: Hooks = Hooks(),
    *,
    largest_batch: int = LARGEST_ALTER,
) -> ApplyResult:
    """Carry out a plan of this cluster, or carry it on, and say of every row what became of it.

    Raises
    ------
    Expired, Conflict, PlanRefused
        Too old; the cluster moved since; the broker's validation refused a row; another holds the lock (Locked); the
        gate is shut (Dangerous, UsageError); the journal cannot be written. Nothing was sent.
    Interrupted
        It was stopped while it waited for the lock. Nothing was sent.
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        The cluster could not be read. Nothing was sent.
    """
    before = replay.replayed(journal.before)
    if not before.runs:
        refuse_expired(kafka, plan)
    refuse_invalid(plan._refused, len(plan))
    with closing(PlanLock(kafka, plan, options)) as lock:
        run = _Run(kafka, plan, journal, before, options, hooks, lock, largest_batch)
        requests = run.prepare()
        if requests or before.unsettled:
            run.begin()
            for number, wave, batch, steps in run.due(requests):
                run.send(number, wave, batch, steps)
            run.verify_all()
        return run.finish()


def refuse_expired(kafka: Kafka, plan: Plan) -> None:
    """Refuse a plan whose time is over."""
    if plan.head.has_expired(kafka.now()):
        raise Expired(
            f"the plan expired at {plan.head.expires}", code="EXPIRED", hint="Nothing was sent. Plan again and review."
        )


def refuse_invalid(refused: Sequence[Change], of: int) -> None:
    """Refuse a plan with rows that the validation refused."""
    if refused:
        judges = dict.fromkeys(kind.judge for kind in by_kind(refused))
        first, verb = refused[0], "refuses" if len(judges) == 1 else "refuse"
        counted = f"{' and '.join(judges)} {verb} {len(refused)} of {of} rows"
        raise PlanRefused(
            f"{counted}; the first, {first.resource} {first.key}: {first.validated}",
            code=first.refusal.code,
            hint=f"Nothing was sent. {remedy(first) or 'Fix or discard those rows, and plan again.'}",
            targets=[change.target for change in refused],
        )


@dataclass(frozen=True)
class _Request:
    """A batch of a wave, and how long to wait before it."""

    batch: Batch
    wave: int
    pause: float


@dataclass
class _Run:
    """One carrying-out of a plan."""

    kafka: Kafka
    plan: Plan
    journal: Journal
    before: JournalState
    options: ApplyOptions
    hooks: Hooks
    lock: PlanLock
    largest_batch: int
    facts: Facts = field(default_factory=Facts)
    halted: Refusal | None = None
    missing: dict[Hashable, int] = field(default_factory=dict)
    brokers: Sequence[Broker] = ()
    looked_at: float = 0.0
    look_age: float = LOOK_AGE
    ours: dict[int, set[str | None]] = field(default_factory=dict)
    done_before: Sequence[Change] = ()
    let_through: Mapping[str, object] = field(default_factory=dict)
    unwritten: PlanRefused | None = None
    run: int = 0
    sent: int = 0
    """The rows that were sent in this run; one that goes in several steps counts with each."""

    def prepare(self) -> list[_Request]:
        """The rows to send, when the cluster was looked at again and nothing speaks against them.

        The lease is asked for when there is something to send and nothing speaks against it. Another may have changed
        the cluster until it was ours, so it is looked at once more; not so where no lease is asked for.
        """
        self.ours = {row: {*values} for row, values in self.before.values.items()}
        self.ours |= {c.row: {HIDDEN} for c in self.plan.changes if c.is_secret and c.row in self.before.unsettled}
        self.brokers = self.kafka.brokers()
        self._await_what_is_in_doubt(self.plan.changes, self.before)
        pending = self._pending()
        self._judge(pending)
        if not pending:
            return []
        if self.options.lock:
            pending = self._pending_under_the_lease({c.row for c in pending})
        if pending:
            self.hooks.begins()
        return self._requests(pending)

    # -- before anything is sent

    def _pending(self) -> Sequence[Change]:
        """The rows that the cluster does not have yet, as it is now."""
        classified = self._look(self.plan.changes)
        if classified.moved:
            raise conflict(classified.moved, len(self.plan))
        self.done_before = classified.done
        return classified.pending

    def _pending_under_the_lease(self, judged: set[int]) -> Sequence[Change]:
        """The same once the lease is ours; after a wait, or where further rows are pending, all are judged again."""
        has_waited = self.lock.take(self.hooks.progress, self.hooks.stopped)
        self._await_the_dead()
        pending = self._pending()
        if has_waited or not judged.issuperset(c.row for c in pending):
            self._judge(pending)
        return pending

    def _judge(self, pending: Sequence[Change]) -> None:
        """Refuse rows whose secrets are missing, that brokers refuse, or that are dangerous and not allowed."""
        refuse_missing(pending, self.hooks.resolver)
        self._refuse_invalid(pending)
        self.let_through = self.hooks.gate(pending, self.before)

    def _await_the_dead(self) -> None:
        """What a process sent before it died with the lease may land late, on rows of ours; nothing overtakes it."""
        if not self.lock.left_by:
            return
        found = self.hooks.left(self.lock.left_by)
        if found is None:
            self._wait(self.options.quiet_period, len(self.plan))
        else:
            self._await_what_is_in_doubt(*found)

    def _await_what_is_in_doubt(self, changes: Sequence[Change], state: JournalState) -> None:
        """An alter whose answer was lost may land for as long as the quiet period; nothing overtakes it."""
        changes = [c for c in changes if c.row in state.in_doubt]
        seconds_left = state.quiet_until(self.kafka.now(), quiet_period(changes, self.options.quiet_period))
        if seconds_left and changes:
            landed = self._until_landed(changes, seconds_left)
            verify(self.kafka, [c for c in changes if c.row in landed], self.brokers, LAG)

    def _look(self, changes: Sequence[Change]) -> ComparedRows:
        self.looked_at = self.kafka.monotonic()
        state = take(self.kafka, [change.target for change in changes])
        found = classed(changes, state, self.ours, self.before.verified)
        found.reopen(only_seem_done(found.done, state, self.hooks.sent))
        if self.plan.head.undoes and found.done:
            # rows that only look undone, as a broker that lags has not heard yet of what is undone, are sent
            sightings = verify(self.kafka, found.done, self.brokers, 0.0)
            found.reopen({row for row, sighting in sightings.items() if sighting.behind})
        self.look_age = max(LOOK_AGE, LOOKS_APART * (self.kafka.monotonic() - self.looked_at))
        return found

    def _refuse_invalid(self, pending: Sequence[Change]) -> None:
        """Rows that were validated a while ago, or not at all for whoever planned them, are validated for us."""
        age = (self.kafka.now() - datetime.fromisoformat(self.plan.head.created)).total_seconds()
        if pending and (age > LOOK_AGE or any(change.lacks_right for change in pending)):
            refuse_invalid(refusals(self.kafka, pending, self.hooks.resolver), len(self.plan))

    def _requests(self, pending: Sequence[Change]) -> list[_Request]:
        waves = self.hooks.waves(pending) if pending else []
        pauses = [0.0, *(wave.pause for wave in waves)]
        return [
            _Request(batch, number, 0.0 if nth else pauses[number])
            for number, wave in enumerate(waves)
            for nth, batch in enumerate(batches(wave.changes, self.largest_batch))
        ]

    # -- sending

    @property
    def _signature(self) -> Signature:
        return Signature(self.plan.head.author or author(), self.plan.id)

    def begin(self) -> None:
        """Write down that a run begins."""
        if not self.before.runs:
            self.journal.append(f'{{"kind":"{replay.PLAN}","plan":{document_of(self.plan)}}}')
        self.run = self.before.runs + 1
        self._append(replay.RUN, author=author(), tool=self.plan.head.tool, note=self.lock.note, **self.let_through)

    def due(self, requests: Sequence[_Request]) -> Iterator[tuple[int, int, Batch, list[Change]]]:
        """The batches to send now, one after the other, as long as nothing stops it; each with its number and wave.

        The changes beside a batch are those of it that are on the way of their rows.
        """
        of = sum(len(r.batch.changes) for r in requests)
        later = Counter(c.row for r in requests for c in r.batch.changes)
        for number, request in enumerate(requests, 1):
            self.hooks.progress(Advance("sent", self.sent, of))
            later.subtract(c.row for c in request.batch.changes)
            self._wait(request.pause, of)
            if batch := self._sendable(request):
                yield number, request.wave, batch, [c for c in batch.changes if later[c.row]]
        if requests:
            self.hooks.progress(Advance("sent", self.sent, of))

    def _wait(self, seconds: float, of: int) -> None:
        until = self.kafka.monotonic() + seconds
        while not self.halted and not self.hooks.stopped() and (left := until - self.kafka.monotonic()) > 0:
            self.hooks.progress(Advance("waiting: sent", self.sent, of, left=left))
            self.kafka.sleep(min(left, _SLICE))

    def _sendable(self, request: _Request) -> Batch | None:
        """The part of a batch that may still be sent; the other rows get the reason."""
        if self.hooks.stopped() and not self.halted:
            self.halted = Refusal("INTERRUPTED", "stopped before it was sent")
        batch = request.batch if self.halted else self._as_seen_now(self._without_held_back(request))
        if not self.halted and batch.groups:
            self._lost()
        if self.halted:
            self._leave(batch.changes, self.halted)
            return None
        return batch if batch.groups else None

    def _lost(self, after: float = 0.0) -> Refusal | None:
        """The reason why the lease is no longer ours; nothing more is sent then. See `PlanLock.lost`."""
        lost = self.lock.lost(after)
        self.halted = self.halted or lost
        return lost

    def _without_held_back(self, request: _Request) -> Batch:
        """The batch without rows that come after one that was not applied: the order is what shields clients.

        The other rows of their entity wait with them: it is changed as a whole or not at all.
        """
        late = {key for key, wave in self.missing.items() if wave < request.wave}
        groups = request.batch.groups.values() if late else ()
        held_back = [c for group in groups if any(kind_of(c).order_key(c) in late for c in group) for c in group]
        self._leave(
            held_back, Refusal("HELD_BACK", "a row that must come before it, or before its entity, was not applied")
        )
        return request.batch.without(held_back)

    def _as_seen_now(self, batch: Batch) -> Batch:
        """The batch against the state as it is now, where the last one is old."""
        if not batch.groups or self.kafka.monotonic() - self.looked_at <= self.look_age:
            return batch
        try:
            classified = self._look(batch.changes)
        except KadminError as exc:
            self.halted = Refusal(exc.code or "UNREADABLE", str(exc))
            return batch
        for moved in classified.moved:
            self.facts.skipped[moved.change.row] = Refusal("CONFLICT", str(moved))
            self.halted = Refusal("CONFLICT", "not sent, as earlier rows changed since the plan")
        return batch.without([*classified.done, *(moved.change for moved in classified.moved)])

    def _leave(self, changes: Iterable[Change], why: Refusal) -> None:
        """Rows that are not sent; one that was sent a part of its way is left half-way."""
        for change in changes:
            if change.row in self.ours and change.row not in self.facts.skipped:
                self.facts.halfway[change.row] = f"left half-done, {why.message}"
            else:
                self.facts.skipped.setdefault(change.row, why)

    def send(self, number: int, wave: int, batch: Batch, steps: Sequence[Change]) -> None:
        """Write down what is meant, send it, write down what was answered. `steps` are on the way of their rows."""
        changes, meant = batch.changes, {"batch": number, "rows": replay.ranges_text(c.row for c in batch.changes)}
        if why := self._announce(changes, meant, steps):
            return self._leave(changes, why)
        for change in steps:
            self.ours.setdefault(change.row, set()).add(change.after or "")
        answers = batch.send(self.kafka, resolver=self.hooks.resolver, signature=self._signature)
        self.sent += len(changes)
        answers |= self._send_again(batch, answers)
        refused = self._note_answers(changes, answers)
        self._write(replay.OUTCOME, **meant, refused={str(row): str(why) for row, why in refused.items()})
        if refused:
            self._judge_refusals([c for c in changes if c.row in refused], wave)
        return None

    def _announce(
        self, changes: Sequence[Change], meant: Mapping[str, object], steps: Sequence[Change]
    ) -> Refusal | None:
        """Write down what is meant, and look whether the lease was lost meanwhile: then nothing may be sent."""
        values = {"values": {str(c.row): c.after for c in steps}} if steps else {}
        if why := self._write(replay.INTENT, **meant, **values):
            return why
        if lost := self._lost(after=PAUSE):
            not_sent = str(Refusal(sending.NOT_SENT, str(lost)))
            self._write(replay.OUTCOME, **meant, refused={str(c.row): not_sent for c in changes})
            return lost
        self.lock.unproven.update(c.row for c in changes)
        return None

    def _judge_refusals(self, changes: Sequence[Change], wave: int) -> None:
        """The effect of refusals on the rows that follow."""
        self._settle_doubtful([c for c in changes if is_doubtful(self.facts.refused[c.row].code)])
        for change in changes:
            if change.row not in self.facts.landed:
                self.missing.setdefault(kind_of(change).order_key(change), wave)
        whole = (self.facts.refused[c.row] for c in changes if is_of_the_whole(self.facts.refused[c.row].code))
        if (why := next(whole, None)) and not self.halted:
            self.halted = replace(why, message=f"not sent, as rows before it were refused: {why.message}")

    def _send_again(self, batch: Batch, answers: Answers) -> Answers:
        """Send once more the rows that throttling or a controller change certainly kept from being carried out."""
        passing = {r: refused.code for r, refused in answers.items() if refused and refused.code in RETRIED_ONCE}
        if not passing:
            return {}
        again = batch.only(passing)
        self.kafka.sleep(_RETRY_PAUSE)
        if self._lost(after=PAUSE):
            return {}
        self.lock.unproven.update(c.row for c in again.changes)
        self.facts.resent |= {c.row: passing[c.resource] for c in again.changes}
        return again.send(self.kafka, resolver=self.hooks.resolver, signature=self._signature)

    def _note_answers(self, changes: Sequence[Change], answers: Answers) -> dict[int, Refusal]:
        now, refused = self.kafka.monotonic(), {}
        for change in changes:
            self.facts.answered[change.row] = now
            if why := answers.get(change.resource, _NO_ANSWER):
                refused[change.row] = why
        self.facts.refused |= refused
        return refused

    def _settle_doubtful(self, doubtful: Sequence[Change]) -> None:
        """Settle each lost answer: it is seen to have been a yes, or not known when the quiet period is over."""
        if not doubtful:
            return
        landed = self._until_landed(doubtful, quiet_period(doubtful, self.options.quiet_period))
        unknown = {c.row for c in doubtful} - landed
        self.facts.landed |= landed
        self.facts.unknown |= unknown
        self._write(replay.SETTLED, landed=replay.ranges_text(landed), unknown=replay.ranges_text(unknown))
        if unknown:
            self.halted = Refusal("UNSETTLED", "not sent, as the outcome of earlier rows is unknown")

    def _until_landed(self, changes: Sequence[Change], seconds: float) -> set[int]:
        """The rows that some broker holds within that time. One whose change cannot be seen is not waited for."""
        visible = [c for c in changes if c.is_visible]
        sightings = self._verified(visible, seconds, attrgetter("has_landed"), "no answer, looking: found")
        return {row for row, sighting in sightings.items() if sighting.has_landed}

    # -- afterwards

    def verify_all(self) -> None:
        """Every broker is asked; what was refused is looked at as well, for as long as a broker may lag behind."""
        refused_rows = self.facts.refused.keys() - self.facts.landed
        answered_rows = self.facts.answered.keys() - self.facts.halfway.keys()
        changed = [c for c in self.plan.changes if c.row in answered_rows]
        before = [c for c in self.done_before if c.row in self.before.unsettled]
        accepted = [c for c in changed if c.row not in refused_rows]
        self._look_everywhere([*accepted, *before], self.options.verify_timeout)
        self._look_everywhere([c for c in changed if c.row in refused_rows and c.is_visible], LAG)

    def _look_everywhere(self, changes: Sequence[Change], timeout: float) -> None:
        if changes:
            sightings = self._verified(changes, timeout, attrgetter("is_complete"), "verified")
            self.facts.sightings = {**self.facts.sightings, **sightings}

    def _verified(
        self,
        changes: Sequence[Change],
        timeout: float,
        enough: Callable[[BrokerAgreement], bool],
        doing: str,
    ) -> dict[int, BrokerAgreement]:
        """What every broker shows of these changes, looked for until it is enough, or until somebody stops it."""
        stopped, watch = self.hooks.stopped, self.hooks.progress
        return verify(self.kafka, changes, self.brokers, timeout, enough, stopped=stopped, progress=watch, doing=doing)

    def finish(self) -> ApplyResult:
        """The outcome of every row; the journal has it too, where a run has begun."""
        note, overtaken = self._give_back()
        outcomes = [outcome_of(change, self.facts) for change in self.plan.changes]
        if self.run:
            self._end(outcomes, {"overtaken": overtaken} if overtaken else {})
        if self.unwritten and not self.facts.answered:
            raise self.unwritten
        return ApplyResult(outcomes, note, self.unwritten, overtaken)

    def _give_back(self) -> tuple[str | None, str | None]:
        """Give the lease back: the note of the run, and where another had the lease meanwhile, who and which rows."""
        why, rows = self.lock.close(), self.lock.unproven
        if why is None or not rows:
            return self.lock.note, None
        if why.code != LOST:
            return f"it is not known whether another editor took the lease meanwhile: {why}", None
        self._look_again(rows)
        made = [c.row for c in self.plan.changes if c.row in rows and outcome_of(c, self.facts).state != FAILED]
        overtaken = (
            f"{why.message}; what was sent meanwhile may have overwritten that editor's changes, "
            f"and was checked again: rows {replay.ranges_text(made)}"
        )
        return (overtaken, overtaken) if made else (self.lock.note, None)

    def _look_again(self, rows: Collection[int]) -> None:
        """Look once more at rows that were looked at; one that still holds keeps the time when it was first seen."""
        before = self.facts.sightings
        self._look_everywhere([c for c in self.plan.changes if c.row in rows and c.row in before], LAG)
        still = {r: s for r, s in before.items() if s.is_complete and self.facts.sightings[r].is_complete}
        self.facts.sightings = {**self.facts.sightings, **still}

    def _end(self, outcomes: Sequence[Outcome], says: Mapping[str, object]) -> None:
        states: dict[str, list[int]] = {}
        for outcome in outcomes:
            states.setdefault(outcome.state, []).append(outcome.change.row)
        written = {state: replay.ranges_text(row_numbers) for state, row_numbers in states.items()}
        self._write(replay.END, states=written, **says)

    def _write(self, kind: str, **says: object) -> Refusal | None:
        """Append a record, or return why not. After the first failure no record is tried, and no request is sent."""
        try:
            if not self.unwritten:
                self._append(kind, **says)
                return None
        except PlanRefused as exc:
            self.unwritten = exc
        why = Refusal("JOURNAL", f"not sent, as {self.unwritten}")
        self.halted = self.halted or why
        return why

    def _append(self, kind: str, **says: object) -> None:
        self.journal.write(kind, run=self.run, at=self.kafka.now().isoformat(), **says)


_NO_ANSWER = Refusal("UNKNOWN_SERVER_ERROR", "the broker's answer does not mention it")


def check(
    kafka: Kafka,
    plan: Plan,
    verify_timeout: float = VERIFY_TIMEOUT,
    progress: Progress = silent,
    stopped: Stopped = never,
    *,
    accepted: Collection[int] = (),
) -> ApplyResult:
    """The outcome of every row as brokers show it now; nothing is sent.

    `accepted` are the rows that brokers accepted when they were sent: a value that is sent again shows nothing else.
    """
    sightings = verify(kafka, plan.changes, kafka.brokers(), verify_timeout, stopped=stopped, progress=progress)
    return ApplyResult([checked(c, sightings[c.row], c.row in accepted) for c in plan.changes])


def newly_seen(state: JournalState, done: ApplyResult) -> set[int]:
    """The rows that we have sent and that every broker shows for the first time.

    One that is in doubt and is a secret, or the same value again, is left out: nobody could tell it from the old one.
    """
    seen = (outcome.change for outcome in done.outcomes if outcome.state == VERIFIED)
    return {
        c.row
        for c in seen
        if c.row in state.unsettled and not (c.row in state.in_doubt and (c.is_secret or c.is_again))
    }
