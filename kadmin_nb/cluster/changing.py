"""From staged wishes to verified rows: plans, wired to this cluster and to the journals of this machine."""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..admin.ports import serving
from ..client_configs.kafka import LiveKafka
from ..errors import Interrupted, KadminError, NotFound, PartlyFailed, PlanRefused, WrongCluster
from ..frames.answer import Answer
from ..frames.display import Display
from ..frames.views import in_short
from ..hints import Hint, Sentence, Verb, plan_verb, sentence, short_id
from ..model.changes import UNVERIFIED, VERIFIED, Change, Edit, Target, refuse_secret_text
from ..model.findings import WARNING, Finding
from ..plans import LAG, QUIET_PERIOD, VERIFY_TIMEOUT, plan, planning, sending, stalls
from ..plans.advice.dangers import advice_on
from ..plans.advice.quota_advice import CALLBACK, OF_PRECEDENCE
from ..plans.apply_options import ApplyOptions
from ..plans.approval import approval_of, approved, author
from ..plans.execution import executor, rollback
from ..plans.execution.executor import Hooks, safe_waves
from ..plans.execution.plan_lock import LOST
from ..plans.execution.preflight import gate
from ..plans.execution.progress import Progress, Stopped, heard_between_requests, never, silent
from ..plans.journal import Journal, replay
from ..plans.journal.replay import JournalState
from ..plans.journal.store import StoredJournal, journals
from ..plans.kinds import quiet_period, take, with_fallbacks
from ..plans.observed_state import ObservedState
from ..plans.outcomes import ApplyResult, Outcomes
from ..plans.plan import Follower, Plan, bound, dangers_of, with_head
from ..plans.plan_file import PlanHead
from ..plans.secret_resolver import Resolver
from ..plans.stage import Stage
from ..secrets import Secret, asks_somebody
from . import near_names
from .near_names import Existing

if TYPE_CHECKING:
    from ..model.connection_settings import Settings
    from ..policy import PolicyAnswer
    from ..policy.rule_functions import Given

LIFETIME = timedelta(days=7)
"""The time in which a plan may be applied unless it says otherwise."""


SETTLING = 900.0
"""Seconds after the last record of a journal in which brokers may yet have to show what its plan has sent."""


def secret(reference: str) -> Secret:
    """The secret behind a reference, as it is now; `file:` paths count from the current folder."""
    from ..profiles.secret_references import read_reference

    return read_reference(reference, Path())


def asking_once() -> Resolver:
    """`secret` for one run: what a person types is asked for once, and forgotten with the run."""
    typed = cache(secret)
    return lambda reference: typed(reference) if asks_somebody(reference) else secret(reference)


_followers: weakref.WeakSet[Follower] = weakref.WeakSet()
"""Those who show plans, whichever of this process's connections applies them."""


_following = threading.Lock()


def _tell_followers(plan: Plan, outcomes: Outcomes) -> Outcomes:
    """The outcomes, after all who show that plan, or the one that it rolls back, were told.

    A page that fails hides nothing of what was sent.
    """
    with _following:
        showing = [follower for follower in _followers if follower.plan.id in (plan.id, plan.head.undoes)]
    for follower in showing:
        with suppress(Exception):
            follower.told(plan, outcomes)
    return outcomes


class Changes:
    """What is done with plans: `cluster.plans` for what is not applying, verifying and rolling back."""

    def __init__(
        self,
        kafka: LiveKafka,
        named: Callable[[], str | None] = lambda: None,
        guard: Callable[[Plan, Any], PolicyAnswer | None] = lambda plan, policy: None,
        settings: Settings | None = None,
    ) -> None:
        self.port, self._named, self._guard = kafka, named, guard
        self.target = settings.target if settings else ""
        self._approved_only = settings.source if settings and settings.approved_only else ""

    def new_stage(self) -> Stage:
        """A new, empty stage."""
        return Stage(self._plan, Existing(lambda: self.port))

    @plan.at_rest()
    def apply(
        self,
        plan: Plan | str,
        options: ApplyOptions = ApplyOptions(),
        progress: Progress = silent,
        stop: Stopped = never,
    ) -> Outcomes:
        """Carry out a plan, or carry it on; see `Cluster.apply`."""
        plan = self._begun(plan).plan if isinstance(plan, str) else plan
        self._refuse_other_cluster(plan)
        if options.require_approval or self._approved_only:
            approval_of(plan, self._approved_only)
        judged = self._guard(plan, options.policy)
        rules_broken = judged.dangers(plan) if judged else []
        with heard_between_requests(stop) as stopped, journals().open(plan) as journal:
            hooks = self._hooks(plan, options, journal, progress, stopped, rules_broken)
            try:
                done = executor.apply(self.port, plan, journal, options, hooks)
            except Interrupted:
                raise
            except KeyboardInterrupt:
                raise _interrupted(plan, "at once; the outcome of requests that were on their way is unknown") from None
            done = self._with_what_is_left(plan, done)
            outcomes = Outcomes.of(plan.id, plan.cluster_id, done, journal)
        _tell_followers(plan, outcomes)
        if done.unwritten:
            raise _unwritten(plan, done.unwritten, outcomes)
        if done.overtaken:
            raise _overtaken(plan, done.overtaken, outcomes)
        if stopped():
            raise _interrupted(plan, "between two requests", outcomes, "" if stop() else " by Ctrl-C")
        return outcomes

    def _refuse_other_cluster(self, plan: Plan) -> None:
        """Refuse a plan for another cluster than this."""
        if plan.cluster_id != self.port.id:
            raise WrongCluster(
                f"the plan is for cluster {plan.cluster_id}, this is {self.port.id}",
                code="INCONSISTENT_CLUSTER_ID",
                hint="Connect to its cluster, or stage the changes again here.",
            )

    def _hooks(
        self, plan: Plan, options: ApplyOptions, journal: Journal, progress: Progress, stopped: Stopped,
        rules_broken: Sequence[Finding],
    ) -> Hooks:  # fmt: skip
        resolver = asking_once()
        told = [*self._stopping(plan, options), *rules_broken]
        reason = plan.reason or options.reason
        waves = safe_waves if options.gradual is None else self._in_steps(options.gradual, options.usage)

        def pass_gate(pending: Sequence[Change], before: JournalState) -> Mapping[str, object]:
            undoing = self._journal_of(before.undone_by)
            if undoing and undoing.state.undone_by:  # a rollback that was rolled back counts no more
                before = replace(before, undone_by=None)
            return gate(self.port, plan, pending, before, allow=options.allowed, reason=reason, told=told)

        def begins() -> None:
            if not journal.is_locked:
                warnings.warn(_NO_LOCKS.format(folder=journal.place.parent, plan=short_id(plan.id)), stacklevel=2)
            self._note_undoing(plan)

        sent = partial(self._sent_by_others, plan)
        return Hooks(progress, stopped, resolver, waves, pass_gate, begins, sent, self._left_by)

    def _left_by(self, plan_id: str) -> tuple[Sequence[Change], JournalState] | None:
        """The rows of a plan whose process died, and their state; None where no journal here tells."""
        with suppress(KadminError):
            if found := self._journal_of(plan_id):
                return (found.plan.changes if found.state.runs else (), found.state)
        return None

    def _journal_of(self, plan_id: str | None) -> StoredJournal | None:
        """The journal of the plan with this id, where there is one here."""
        try:
            return None if plan_id is None else journals().find(plan_id)
        except NotFound:
            return None

    def _note_undoing(self, plan: Plan) -> None:
        """Write into the journal of the plan that this one rolls back that it does, before anything is sent.

        Raises
        ------
        PlanRefused
            The journal cannot be written, or a process has it open: it carries that plan out.
        """
        undone = self._journal_of(plan.head.undoes)
        if undone is None or undone.state.undone_by == plan.id:
            return
        with Journal.open(undone.place) as journal:
            at = self.port.now().isoformat()
            journal.write(replay.UNDONE, run=undone.state.runs, at=at, by=plan.id, author=author())

    def _with_what_is_left(self, plan: Plan, done: ApplyResult) -> ApplyResult:
        """The same, where the plan rolls another back, with what is left of that on the cluster."""
        if plan.head.undoes is None:
            return done
        is_whole = all(outcome.ok for outcome in done.outcomes)
        try:
            undone = self._journal_of(plan.head.undoes)
            if undone is None:
                return replace(done, left=rollback.unseen(plan.head.undoes, "its journal is not on this machine"))
            arriving = [outcome.change for outcome in done.outcomes if outcome.state == UNVERIFIED]
            restored = {outcome.change.target for outcome in done.outcomes if outcome.state == VERIFIED}
            rollback.await_first_sight(self.port, arriving, LAG)
            found = rollback.remains(self.port, undone.plan, undone.state, patience=0.0, restored=restored)
        except KadminError as exc:
            return replace(done, left=rollback.unseen(plan.head.undoes, str(exc)))
        return replace(done, left=rollback.left(found, plan, is_whole=is_whole))

    def _sent_by_others(self, plan: Plan, targets: Collection[Target]) -> replay.SentRows:
        """The changes that other plans of ours have sent, and that not every broker was seen to show."""
        since = self.port.now().timestamp() - SETTLING
        try:
            return journals().sent_lately(self.port.id, since, targets, but=plan.id)
        except KadminError:  # journals that cannot be read are the affair of whoever writes or lists them
            return {}

    def _stopping(self, plan: Plan, options: ApplyOptions) -> Collection[Finding]:
        """The dangers by the usage handed in, else those that the plan has; lowering in steps has
        those of clients that the usage may lack."""
        if options.gradual is not None:
            brokers = [broker.id for broker in serving(self.port)]
            return tuple(stalls.unseen_dangers(plan.changes, options.usage, self.port.id, brokers))
        if options.usage is None:
            return tuple(danger for danger in dangers_of(plan) if danger.code == stalls.STOP)
        stored = self.port.quotas.describe()
        return tuple(stalls.stop_dangers(plan.changes, stored, options.usage, cluster_id=self.port.id))

    def bind(self, plan: Plan) -> Plan:
        """The same plan, tied to this cluster, as one is that was made here: `review`, `impact` and `apply` work.

        Raises
        ------
        WrongCluster
            It was made for another cluster.
        """
        self._refuse_other_cluster(plan)
        return bound(plan, self)

    def guard(self, plan: Plan, policy: Given | Iterable[Given] | None = None) -> PolicyAnswer | None:
        """POLICY of a plan that breaks no rule, as `apply` asks before it; one that breaks a rule is refused.

        The rules of the profile's policy are in force; the given ones, a file or functions, add to them. What is broken
        without the plan refuses none. Rules about frames that the plan does not change are not checked.

        Returns
        -------
        PolicyAnswer or None
            The results, dangers included; None if no rule is about what the plan changes.

        Raises
        ------
        PlanRefused
            The rule, and its reason.
        UsageError, NotFound
            A policy does not exist, others may write it, or a rule of it fails: the error names its line.
        """
        return self._guard(plan, policy)

    def quotas(self) -> pa.Table:
        """QUOTAS as they are now."""
        return self.port.quotas.describe()

    def brokers(self) -> list[int]:
        """The ids of its brokers, fenced ones included."""
        return [broker.id for broker in self.port.brokers()]

    def review(self, plan: Plan, options: ApplyOptions) -> Display:
        """The widget to look at a plan and to apply it; see `Plan.review`."""
        from ..widgets.plan_review import PlanReview

        return PlanReview(plan, options)

    def states_so_far(self, plan: Plan) -> Mapping[int, str] | None:
        """The states of rows by the plan's journal; None where it was not begun here."""
        begun = journals().of(plan)
        return None if begun is None else begun.state.states

    def follow(self, follower: Follower) -> None:
        """Tell it of its plan from now on; see `LiveCluster.follow`."""
        with _following:
            _followers.add(follower)

    def approve(self, plan: Plan, text: str = "") -> Plan:
        """The same plan, with the same id, and our approval; save it again.

        Author and approver are the users that the broker, or Databricks, knows; over a connection without a login no
        one can approve. It is a check, not a lock: anyone who can write the file can add an approval.

        Raises
        ------
        PlanRefused
            We are its author, or one of the two is not confirmed (`APPROVAL`); it has expired; it is for another
            cluster.
        """
        self._refuse_other_cluster(plan)
        executor.refuse_expired(self.port, plan)
        return approved(plan, author(self._named()), _written(self.port.now()), text)

    def nothing(self, reason: str | None = None) -> Plan:
        """A plan without any change."""
        return self._made((), reason)

    @plan.at_rest()
    def verify(
        self,
        plan: Plan,
        verify_timeout: float = VERIFY_TIMEOUT,
        progress: Progress = silent,
        stop: Stopped = never,
    ) -> Outcomes:
        """The state of a plan's rows on every broker; see `plans.execution.executor.check`, and `Cluster.verify`."""
        self._refuse_other_cluster(plan)
        begun = journals().of(plan)
        accepted = () if begun is None else begun.state.accepted
        with heard_between_requests(stop) as stopped:
            done = executor.check(self.port, plan, verify_timeout, progress, stopped, accepted=accepted)
            try:
                journal, note = self._write_seen(plan, done), None
            except KadminError as exc:
                journal, note = None, f"not written to the journal, so no rollback relies on it: {exc}"
        return _tell_followers(plan, Outcomes.of(plan.id, plan.cluster_id, replace(done, note=note), journal))

    def _write_seen(self, plan: Plan, done: ApplyResult) -> Journal | None:
        """The journal of the plan, where there was something new to write into it."""
        begun = journals().of(plan)
        if begun is None or not executor.newly_seen(begun.state, done):
            return None
        with journals().open(plan) as journal:
            state, at = replay.replayed(journal.before), self.port.now().isoformat()
            rows = replay.ranges_text(executor.newly_seen(state, done))
            journal.write(replay.SEEN, run=state.runs, at=at, rows=rows, author=author())
        return journal

    @plan.at_rest()
    def rollback(self, plan: Plan | str) -> Plan:
        """The plan that takes another back; see `Cluster.rollback`."""
        journal = self._begun(plan)
        self._refuse_other_cluster(journal.plan)
        undone, state = journal.plan, journal.state
        found = rollback.remains(self.port, undone, state)
        in_doubt = [change for change in undone.changes if change.row in state.in_doubt]
        seconds = state.quiet_until(self.port.now(), quiet_period(in_doubt, QUIET_PERIOD))
        rollback.refuse_unsettled(found, state, seconds)
        rows = sending.validated(self.port, rollback.changes(found))
        return self._made(rows, rollback.reason(found), undoes=undone.id)._with_warnings(rollback.warnings(found))

    def stalls(self, plan: Plan, usage: object) -> Answer:
        """STALLS: for how long a plan would throttle each client in USAGE; see `apply(gradual=…)`."""
        self._refuse_other_cluster(plan)
        predicted = stalls.stalls(plan.changes, self.port.quotas.describe(), usage, cluster_id=self.port.id)
        return stalls.answer_of(predicted, usage, self.port.id, self.brokers())

    def log(self, plan: Plan | str | None = None) -> Answer:
        """JOURNAL: what was done for a plan, proven by a chain of hashes; without a plan, PLANS: those started here.

        Raises
        ------
        Invalid
            A line was edited, removed or added; the error names it.
        """
        return Answer(journals().to_arrow(self.port.id) if plan is None else self._begun(plan).to_arrow())

    def _begun(self, plan: Plan | str) -> StoredJournal:
        if isinstance(plan, str):
            return journals().find(plan)
        if journal := journals().of(plan):
            return journal
        raise NotFound(
            f"plan {short_id(plan.id)} has no journal: it was never applied from here, or there was nothing to do",
            hint=Hint(
                sentence("{} starts it.", Verb("plan apply FILE", "cluster.apply(plan)")),
                "KADMIN_STATE says where journals are.",
            ),
        )

    def _in_steps(self, most: float, usage: object) -> Callable[[Sequence[Change]], list[sending.Wave]]:
        """The waves that keep every predicted stall below `most` seconds."""

        def waves(changes: Sequence[Change]) -> list[sending.Wave]:
            stored, cluster_id = self.port.quotas.describe(), self.port.id
            return stalls.schedule(sending.waves(changes), stored, usage, most, cluster_id=cluster_id)

        return waves

    def plan_again(
        self, plan: Plan, reason: str | None = None, instead: Mapping[Target, Edit | None] | None = None
    ) -> Plan:
        """The plan of the same changes on the cluster as it is now. It has another id, and needs its own approval.

        Parameters
        ----------
        reason
            Another reason; that of the plan unless said.
        instead
            Other edits for some of its targets; None leaves one out.
        """
        same = {c.target: Edit(c.op, c.resource, c.key, c.wanted, again=c.is_again) for c in plan.changes}
        edits = [edit for edit in {**same, **(instead or {})}.values() if edit is not None]
        made = self._plan(edits, reason or plan.reason, planning.let_through(plan.changes))
        return with_head(replace(made, _origin=plan._origin), undoes=plan.head.undoes)

    @plan.at_rest()
    def _plan(self, edits: list[Edit], reason: str | None, allow_unknown: Collection[str]) -> Plan:
        planning.refuse_long(edits)
        state = take(self.port, [e.target for e in edits], whole=True)
        near = near_names.resources(self.port, filter(state.absence, state.errors))
        try:
            rows = planning.changes(edits, state, allow_unknown)
        except NotFound as exc:
            exc.hint = " ".join([*(name.hint for name in islice(near.values(), 1)), *filter(None, [exc.hint])])
            raise
        rows = [near[change.resource].noted(change) if change.resource in near else change for change in rows]
        rows = sending.validated(self.port, rows, asking_once())
        plan = self._made(rows, reason, state=state)
        if {*plan.warnings()["warning"].to_pylist()}.isdisjoint(OF_PRECEDENCE):
            return plan
        from .resolving import notes_on_callbacks

        # that a quota comes first may be otherwise where a broker decides by a class of its own
        return plan._with_warnings([Finding(CALLBACK, WARNING, note) for note in notes_on_callbacks(self.port)])

    def _made(
        self,
        rows: Sequence[Change],
        reason: str | None,
        undoes: str | None = None,
        state: ObservedState | None = None,
    ) -> Plan:
        refuse_secret_text("the reason", reason or "")
        now = self.port.now()
        expires = _written(now + LIFETIME)
        head = PlanHead(self.port.id, _written(now), reason, author(self._named()), expires, undoes)
        seen = ObservedState() if state is None else state
        told = advice_on(self.port, rows, seen)
        about = in_short(seen.brokers, self.port.version)
        return bound(Plan(head, tuple(with_fallbacks(rows, seen))), self, told, about)


_NO_LOCKS = (
    "there are no file locks in {folder}, so nothing but the lease keeps a second run of plan {plan} out of its "
    "journal: run one at a time, or set KADMIN_STATE to a folder on a disk of this machine"
)


def _interrupted(plan: Plan, how: str, outcomes: Outcomes | None = None, by: str = " by Ctrl-C") -> Interrupted:
    ways = plan_verb("apply", plan.id), plan_verb("rollback", plan.id)
    return Interrupted(
        f"plan {short_id(plan.id)} was stopped{by}, {how}",
        outcomes=outcomes,
        hint=Hint(sentence("{} continues, {} undoes what was done.", *ways)),
    )


def _partly(plan: Plan, what: str, outcomes: Outcomes, code: str | None, *hint: str | Sentence) -> PartlyFailed:
    return PartlyFailed(f"plan {short_id(plan.id)} {what}", outcomes=outcomes, code=code, hint=Hint(*hint))


_STAYS = "Changes that were sent stay."


def _unwritten(plan: Plan, why: PlanRefused, outcomes: Outcomes) -> PartlyFailed:
    again = sentence("When the journal can be written again, {} continues.", plan_verb("apply", plan.id))
    return _partly(plan, f"was stopped: {why}", outcomes, why.code, _STAYS, again)


def _overtaken(plan: Plan, why: str, outcomes: Outcomes) -> PartlyFailed:
    shows = sentence("{} of either plan shows what is in force.", Verb("plan verify PLAN", "cluster.verify(plan)"))
    return _partly(plan, f"did not hold the lease throughout: {why}", outcomes, LOST, shows)


def _written(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")
