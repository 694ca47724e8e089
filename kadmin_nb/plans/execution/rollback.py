"""Undoing a plan: the cluster is looked at first, and what is there of the plan becomes an ordinary plan.

What counts is what brokers hold, not what the journal calls a row: one that was sent and never seen may be there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from ...admin.ports import Broker, Kafka
from ...errors import Conflict, ConnectionFailed, KadminError, PlanRefused
from ...frames.views import counted_nouns
from ...hints import Hint, Sentence, plan_verb, sentence, short_id
from ...model.changes import DELETE, SET, Change, Edit, Target
from ...model.findings import WARNING, Finding
from .. import VERIFY_TIMEOUT
from ..journal.replay import JournalState
from ..kinds import take
from ..observed_state import ObservedState, ObservedValue
from ..outcomes import Left
from ..plan import Plan
from .preflight import MovedRow, conflict_rows
from .verification import holds, is_as_before, verify

_NEW, _ON_THE_WAY, _OLD, _OTHER, _GONE, _UNREAD = "new", "on the way", "old", "other", "gone", "unread"
"""What a broker holds of a row: the plan's value, one that we sent on the way to it, the value from before, none of
these, nothing as its topic is gone; or it cannot be read there."""

_WITHIN, _WITHIN_PER_ROW = 10.0, 0.0005
"""Seconds that a broker has to show all rows."""


@dataclass
class Remains:
    """What brokers hold of a plan, row by row.

    `to_undo` were sent by us and are there, each with the value that is there; of those that are `arriving` a broker
    still shows the value from before. `hidden` are there as well, and their old values were never seen. `changed` were
    sent, and have neither value; `not_sent` have the plan's value, and not from this plan. `unread` were sent, and
    cannot be read; or they were accepted, and the one broker that has them does not show them. `silent` says why
    brokers could not be asked, of so many `brokers`.
    """

    plan: Plan
    brokers: int
    silent: Mapping[int, str]
    to_undo: list[Change] = field(default_factory=list)
    arriving: set[int] = field(default_factory=set)
    hidden: list[Change] = field(default_factory=list)
    changed: list[MovedRow] = field(default_factory=list)
    not_sent: list[Change] = field(default_factory=list)
    unread: list[Change] = field(default_factory=list)

    @property
    def left_alone(self) -> list[str]:
        """What a rollback does not restore, counted, a line for each reason; and how much was seen, if not all."""
        unread = f"{len(self.unread):,} sent and not to be seen, so it may be left"
        return [*self.not_restored, *[unread] * bool(self.unread), *self.coverage]

    @property
    def not_restored(self) -> list[str]:
        """The rows that no rollback restores, counted, a line for each reason."""
        counts = (len(self.changed), len(self.hidden), len(self.not_sent))
        return [f"{count:,} left as is: {why}" for count, why in zip(counts, _LEFT_ALONE, strict=True) if count]

    @property
    def coverage(self) -> list[str]:
        """A line where not all brokers could be asked."""
        if not self.silent:
            return []
        broker, why = next(iter(self.silent.items()))
        asked = self.brokers - len(self.silent)
        return [f"{asked} of {self.brokers} brokers were asked: broker {broker} {why}"]

    def place(
        self, change: Change, shown: Sequence[tuple[str, ObservedValue]], *, is_sent: bool, is_open: bool
    ) -> None:
        """Note what brokers hold of a row: the mark and the value that each of them shows.

        Of one that `is_open` nobody but its own broker could show that it is there.
        """
        marks = dict(shown)
        if not is_sent:
            self.not_sent += [change] * (marks.keys() == {_NEW})
        elif _OTHER in marks:
            self.changed.append(MovedRow(_undone(change.row, change), marks[_OTHER]))
        elif _NEW in marks or _ON_THE_WAY in marks:
            there = change if _NEW in marks else change.with_(after=marks[_ON_THE_WAY].value)
            (self.to_undo if there.old_known else self.hidden).append(there)
            if _OLD in marks:
                self.arriving.add(change.row)
        elif is_open or (_OLD not in marks and _GONE not in marks):
            self.unread.append(change)


_LEFT_ALONE = (
    "neither the plan's value nor the one from before",
    "the old value is sensitive and was never seen",
    "the plan's value, but not sent by the plan",
)


def remains(
    kafka: Kafka, plan: Plan, state: JournalState, patience: float = VERIFY_TIMEOUT, restored: Collection[Target] = ()
) -> Remains:
    """What every broker holds of a plan whose journal is in this state; nothing is sent.

    A row that was accepted less than `patience` seconds ago, and that no broker shows, is waited for until then: it is
    on its way. Those that are `restored` were seen to be undone.

    Raises
    ------
    NotAuthorized, TimedOut, ConnectionFailed
        No broker could be asked.
    """
    changes, brokers = [change for change in plan.changes if not change.is_same], kafka.brokers()
    _await_arrival(kafka, changes, state, brokers, patience)
    states, silent = _looks(kafka, changes, brokers)
    found = Remains(plan, len(brokers), silent)
    for change in changes:
        is_sent, on_the_way = change.row in state.sent, state.values.get(change.row, ())
        is_open = change.resource.broker is not None and change.row in state.unsettled and change.target not in restored
        places = states if change.resource.broker is None else states.keys() & {change.resource.broker}
        shown = [(_mark(change, states[place], on_the_way), states[place].of(change.target)) for place in places]
        found.place(change, shown, is_sent=is_sent, is_open=is_open)
    return found


def _await_arrival(
    kafka: Kafka, changes: Sequence[Change], state: JournalState, brokers: Sequence[Broker], patience: float
) -> None:
    """Wait until some broker shows each row that was accepted a moment ago and not seen everywhere yet."""
    if state.last_sent is None:
        return
    rows = state.unsettled - state.in_doubt
    seconds = min(patience, patience - (kafka.now() - state.last_sent).total_seconds())
    if seconds > 0:
        await_first_sight(kafka, [c for c in changes if c.row in rows and c.old_known], seconds, brokers)


def await_first_sight(
    kafka: Kafka, changes: Sequence[Change], seconds: float, brokers: Sequence[Broker] | None = None
) -> None:
    """Wait until some broker shows each of these changes, or the time is up."""
    if changes:
        verify(kafka, changes, brokers or kafka.brokers(), seconds, enough=attrgetter("has_landed"))


def _looks(
    kafka: Kafka, changes: Sequence[Change], brokers: Sequence[Broker]
) -> tuple[dict[int, ObservedState], dict[int, str]]:
    """The state that each broker shows, and why others could not be asked."""
    states: dict[int, ObservedState] = {}
    silent: dict[int, str] = {}
    failed: KadminError = ConnectionFailed("no broker of the cluster serves")
    within = _WITHIN + _WITHIN_PER_ROW * len(changes)
    for broker in brokers:
        targets = [c.target for c in changes if c.resource.broker in (None, broker.id)]
        if broker.is_fenced:
            silent[broker.id] = "is fenced"
            continue
        try:
            states[broker.id] = take(kafka, targets, node=broker.id, within=within)
        except KadminError as exc:
            silent[broker.id], failed = f"cannot be asked: {exc}", exc
    if changes and not states:
        raise failed
    return states, silent


def _mark(change: Change, state: ObservedState, on_the_way: Collection[str]) -> str:
    """What a broker with this state holds of a row."""
    if change.resource in state.errors:
        return _GONE if state.absence(change.resource) and change.resource.broker is None else _UNREAD
    now = state.of(change.target)
    if is_as_before(now, change) and now.is_known:
        return _OLD
    if holds(now, change):
        return _NEW
    if is_as_before(now, change):
        return _OLD
    return _ON_THE_WAY if now.is_known and now.value in on_the_way else _OTHER


def refuse_unsettled(found: Remains, state: JournalState, seconds: float) -> None:
    """Refuse while an alter whose answer was lost may still land: it would overtake the rollback.

    Raises
    ------
    PlanRefused
        With `UNSETTLED`.
    """
    in_doubt = state.in_doubt - {change.row for change in found.to_undo}
    if in_doubt and seconds > 0:
        raise PlanRefused(
            f"{counted_nouns(len(in_doubt), 'row of the plan is', 'rows of the plan are')} in doubt: requests may "
            f"still take effect for {seconds:.0f} s",
            code="UNSETTLED",
            hint=Hint(sentence("{} checks until it is known.", plan_verb("apply", found.plan.id))),
        )


def changes(found: Remains) -> list[Change]:
    """The rows that undo a plan, last first, without the rows that cannot be restored.

    Raises
    ------
    PlanRefused, Conflict
        Nothing of the plan can be undone.
    """
    if not found.to_undo:
        raise _nothing_to_undo(found)
    return [_undone(row, change) for row, change in enumerate(reversed(found.to_undo), 1)]


def _nothing_to_undo(found: Remains) -> PlanRefused:
    text = f"there is nothing to roll back: nothing that plan {short_id(found.plan.id)} sent is on the cluster"
    text = "; ".join([text if not found.hidden else "there is nothing to roll back", *found.left_alone])
    if not found.changed:
        return PlanRefused(text, code="NOTHING_TO_UNDO")
    error = Conflict(text, code="NOTHING_TO_UNDO", hint="Nothing was sent.")
    error.rows = conflict_rows(found.changed)
    return error


def reason(found: Remains) -> str:
    """The reason of the plan that rolls back: which plan, and how many rows are left alone."""
    return "; ".join([f"roll back {short_id(found.plan.id)}", *found.left_alone])


def warnings(found: Remains) -> list[Finding]:
    """What the plan that rolls back leaves alone."""
    return [Finding("left", WARNING, line) for line in found.left_alone]


def left(found: Remains, undoing: Plan, *, is_whole: bool) -> Left | None:
    """What is left of a plan after `undoing` was applied, and what deals with it; None for nothing.

    `is_whole` says that all rows of `undoing` are as they should be.
    """
    plan_id, arriving, unread = short_id(found.plan.id), len(found.arriving), len(found.unread)
    rows = len(found.to_undo) - arriving
    apply = plan_verb("rollback", found.plan.id) if is_whole else plan_verb("apply", undoing.id)
    one, several = f"row of plan {plan_id} is", f"rows of plan {plan_id} are"
    ways = (
        (rows, "still on the cluster: {} undoes it", apply),
        (arriving, "still shown by a broker: {} checks again", plan_verb("verify", undoing.id)),
        (unread, "not to be seen: {} undoes what is left, as soon as it is", plan_verb("rollback", found.plan.id)),
    )
    sentences: list[str | Sentence] = [
        sentence(f"{counted_nouns(count, one, several)} {text}.", way) for count, text, way in ways if count
    ]
    sentences += [f"Plan {plan_id}: {line}." for line in (*found.not_restored, *found.coverage)]
    return Left(rows + arriving + unread, Hint(*sentences)) if sentences else None


def unseen(plan_id: str, why: str) -> Left:
    """The answer where it is not known what is left."""
    return Left(0, Hint(f"Whether anything of plan {short_id(plan_id)} is left on the cluster is not known: {why}."))


def _undone(row: int, change: Change) -> Change:
    back = Edit(DELETE if change.old is None else SET, change.resource, change.key)
    return back.as_row(
        row,
        old=None if change.is_secret else change.after,
        wanted=change.old,
        after=change.old,
        old_known=not change.is_secret,
        note=f"undoes row {change.row}",
        falls_back=change.falls_back,
    )
