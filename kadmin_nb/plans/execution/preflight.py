"""Preflight: is a row done, still as the plan saw it, sent by us, or changed by another editor; is a danger allowed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ...admin.ports import Kafka
from ...errors import Conflict, Dangerous, UsageError
from ...frames import schemas
from ...frames.answer import Answer
from ...frames.meanings import in_unit
from ...hints import Hint, Option, Sentence, Verb, nearest, sentence, short_id
from ...model.changes import Change, SentRow, SentRows
from ...model.findings import DANGER, Finding, row_words
from .. import SHORTEST_ID
from ..advice import REASON, allowing, answer, dangers, lifted
from ..journal.replay import JournalState, SentLately
from ..observed_state import ObservedState, ObservedValue
from ..plan import Plan
from .verification import holds, is_as_before

Ours = Mapping[int, Collection[str | None]]
"""Values that we have sent for a row, on its way to the last one or in doubt."""

HIDDEN = "a sensitive value"
"""The placeholder of a secret, which no broker shows."""


@dataclass(frozen=True)
class MovedRow:
    """A row that is not as the plan saw it; with `is_of_new_topic`, whatever its value is.

    `behind` is the row of another plan of ours whose value the broker does not show yet; `by_us` is the one that made
    the difference.
    """

    change: Change
    now: ObservedValue
    is_of_new_topic: bool = False
    behind: SentRow | None = None
    by_us: SentRow | None = None

    def columns(self) -> dict[str, object]:
        """The row of CONFLICTS."""
        names = {"row": self.change.row, "resource": str(self.change.resource), "key": self.change.key}
        return {**names, "old": self.change.old, "now": _value_text(self.now), "wanted": self.change.after}

    def __str__(self) -> str:
        if self.is_of_new_topic:
            return _MADE_ANEW
        if self.behind:
            return _BEHIND.format("has", self.behind)
        if self.by_us:
            return _BY_US.format(self.by_us, "has")
        key = self.change.key
        return f"{_in_words(key, self.change.old)} → {_in_words(key, _value_text(self.now))}"


_MADE_ANEW = "was deleted and created again since the plan was made"
_BEHIND = "still {} the value before {}: the broker is behind"
_BY_US = "had the value before {} when this plan was made, and {} the value of that plan now"


@dataclass
class ComparedRows:
    """Rows of a plan beside one observed state."""

    done: list[Change] = field(default_factory=list)
    pending: list[Change] = field(default_factory=list)
    moved: list[MovedRow] = field(default_factory=list)


def classed(
    changes: Iterable[Change], state: ObservedState, ours: Ours, verified: Collection[int] = ()
) -> ComparedRows:
    """The rows as done, pending or moved.

    A secret that we have set is done for as long as its key has a value; a value that was the same before, once we have
    sent it.

    Raises
    ------
    NotAuthorized, NotFound, TimedOut, ConnectionFailed
        A resource could not be read.
    """
    rows, changes = ComparedRows(), list(changes)
    state.refuse_unreadable(change.target for change in changes)
    for change in changes:
        now = state.of(change.target)
        if is_of_new_topic(change, state):
            rows.moved.append(MovedRow(change, now, is_of_new_topic=True))
        elif holds(now, change) and _is_made(now, change, verified):
            rows.done.append(change)
        elif is_as_before(now, change):
            rows.pending.append(change)
        elif change.row in ours and _value_text(now) in ours[change.row]:
            rows.pending.append(change.with_(old=now.value))
        else:
            rows.moved.append(MovedRow(change, now))
    return rows


def _is_made(now: ObservedValue, change: Change, verified: Collection[int]) -> bool:
    """True if the value that was read shows that the change was made, or our journal has it."""
    if now.is_known and not change.is_again:
        return True
    return (change.is_secret or change.is_again) and change.row in verified


def told_apart(rows: ComparedRows, state: ObservedState, sent: SentLately) -> ComparedRows:
    """The same rows, with the values before another plan of ours told from changes of others.

    A row that is done only because the broker has yet to show what that plan has sent is pending.
    """
    on_the_way = sent([change.target for change in (*rows.done, *(m.change for m in rows.moved))], False)
    late = {c.row for c in rows.done if not c.is_secret and _before(state.of(c.target), on_the_way.get(c.target, ()))}
    ours = sent([moved.change.target for moved in rows.moved], True)
    return ComparedRows(
        [change for change in rows.done if change.row not in late],
        [*rows.pending, *(change for change in rows.done if change.row in late)],
        [moved if moved.is_of_new_topic else _explained(moved, on_the_way, ours) for moved in rows.moved],
    )


def _before(now: ObservedValue, sent: Sequence[SentRow]) -> SentRow | None:
    """The row that replaced this value."""
    return next((row for row in sent if is_as_before(now, row.change)), None)


def _explained(moved: MovedRow, on_the_way: SentRows, ours: SentRows) -> MovedRow:
    change, now = moved.change, moved.now
    seen = ObservedValue(change.old, change.old_known)
    made = (row for row in ours.get(change.target, ()) if holds(now, row.change) and is_as_before(seen, row.change))
    return replace(moved, behind=_before(now, on_the_way.get(change.target, ())), by_us=next(made, None))


def is_of_new_topic(change: Change, state: ObservedState) -> bool:
    """True if the plan saw another topic of this name; False where either id may not be seen."""
    return change.topic_id is not None and state.topic_ids.get(change.resource, change.topic_id) != change.topic_id


def conflict(moved: Sequence[MovedRow], of: int) -> Conflict:
    """The error that shows old, now and wanted of every row that moved."""
    error = Conflict(_conflict_text(moved, of), hint=_ways_on(moved))
    error.rows = conflict_rows(moved)
    return error


def conflict_rows(moved: Iterable[MovedRow]) -> Answer:
    """CONFLICTS, of these rows."""
    return Answer(schemas.table(schemas.CONFLICTS, (row.columns() for row in moved)))


def _conflict_text(moved: Sequence[MovedRow], of: int) -> str:
    new_topics = list(dict.fromkeys(str(row.change.resource) for row in moved if row.is_of_new_topic))
    if new_topics:
        more = f" and {len(new_topics) - 1} more" if len(new_topics) > 1 else ""
        return f"{new_topics[0]}{more} {_MADE_ANEW}: plan again"
    behind, by_us = Counter(str(m.behind) for m in moved if m.behind), Counter(str(m.by_us) for m in moved if m.by_us)
    parts = [f"{count:,} of {of:,} rows {_BEHIND.format('have', plan)}" for plan, count in behind.items()]
    parts += [f"{count:,} of {of:,} rows {_BY_US.format(plan, 'have')}" for plan, count in by_us.items()]
    if by_others := [m for m in moved if not m.behind and not m.by_us]:
        first = by_others[0].change
        more = f" and {len(by_others) - 1:,} more of {of:,} rows" if len(by_others) > 1 else ""
        parts.append(f"{first.resource} {first.key}{more} changed since the plan: {by_others[0]}")
    return "; ".join(parts)


def _ways_on(moved: Sequence[MovedRow]) -> Hint:
    """What to do: where brokers are only behind, to wait for them."""
    behind = [m.behind.plan_id for m in moved if m.behind]
    if len(behind) == len(moved):
        return Hint("Nothing was sent.", *map(_waiting, dict.fromkeys(behind)))
    return Hint(
        "Nothing was sent. Plan again and review.",
        sentence("{} leaves those rows as they are.", Option("skip_conflicts")),
    )


def _waiting(plan_id: str) -> Sentence:
    short = short_id(plan_id)
    verify = Verb(f"plan verify {short} --wait 60", f"cluster.verify({short!r}, verify_timeout=60)")
    return sentence("{} waits until the brokers show it; then apply this plan.", verify)


def _in_words(key: str, value: str | None) -> str:
    """A value as a sentence has it."""
    return "not set" if value is None else in_unit(key, value)


def _value_text(now: ObservedValue) -> str | None:
    """The value of a target, as far as it may be seen."""
    return now.value if now.is_known else HIDDEN


@dataclass(frozen=True)
class Gate:
    """The last check before the first request of a plan: each danger is allowed by its key and whose it is."""

    kafka: Kafka
    plan: Plan
    allow: Collection[str] = ()
    reason: str | None = None
    """The reason for what is dangerous."""
    told: Collection[Finding] = ()
    """The dangers that a usage or a team's rules tell of: the cluster does not."""

    def pass_(self, pending: Sequence[Change], before: JournalState) -> Mapping[str, object]:
        """The journal's note on the dangers among the rows to be sent; `before` is what the journal has by now.

        What an earlier run of the plan has let through needs no further word.

        Raises
        ------
        Dangerous
            A row weakens something and is not allowed; the plan was rolled back, and that it is applied all the same
            is not allowed. Nothing was sent.
        UsageError
            What is allowed is not a row of the plan, or is a key alone; a dangerous plan without a reason.
        """
        if not pending:
            return {}
        _refuse_undone(self.plan, before, self.allow)
        judged = (*dangers.found(self.kafka, self.plan.changes), *self.told)
        allow = [key for key in self.allow if not any(map(partial(_names, key), before.undoings))]
        _refuse_strange(allow, self.plan.changes, judged)
        rows = {change.row for change in pending}
        ahead = [danger for danger in judged if danger.row in rows]
        let_through = {*allow, *before.allowed}
        # a journal of an earlier version has the key alone
        refused = [d for d in ahead if d.allowed_by not in let_through and d.key not in before.allowed]
        _refuse_dangers(refused, self.reason)
        if ahead and not self.reason:
            raise UsageError(
                "a dangerous plan needs a reason, which its journal keeps",
                hint=Hint("Nothing was sent.", sentence("Add {}.", REASON)),
            )
        if not ahead:
            return {}
        allowed = sorted({danger.allowed_by for danger in ahead})
        return {"allowed": allowed, "dangers": [danger.line for danger in ahead], "reason": self.reason}


def _refuse_dangers(dangers: Sequence[Finding], reason: str | None) -> None:
    if not dangers:
        return
    more = f"; and {len(dangers) - 1:,} more" if len(dangers) > 1 else ""
    hint = Hint("Nothing was sent.", lifted(dangers, reason))
    error = Dangerous(f"{dangers[0].line}{more}", code="DANGEROUS", hint=hint)
    error.rows = answer(schemas.DANGERS, dangers)
    raise error


def _names(word: str, plan_id: str) -> bool:
    """True if this word is the id of a plan, or its beginning."""
    return len(word) >= SHORTEST_ID and plan_id.startswith(word)


def _refuse_undone(plan: Plan, before: JournalState, allow: Collection[str]) -> None:
    """Refuse a plan that was rolled back and not applied since, unless the plan that did so is named."""
    undone_by = before.undone_by
    if undone_by is None or any(_names(word, undone_by) for word in allow):
        return
    text = f"plan {short_id(plan.id)} was rolled back by plan {short_id(undone_by)}, and would be applied again"
    found = Finding("rolled back", DANGER, text, key=short_id(undone_by))
    error = Dangerous(
        text,
        code="ROLLED_BACK",
        hint=Hint("Nothing was sent.", sentence("To apply it all the same: {}.", allowing([found]))),
    )
    error.rows = answer(schemas.DANGERS, [found])
    raise error


def _refuse_strange(allow: Collection[str], changes: Iterable[Change], dangers: Sequence[Finding]) -> None:
    """Words that name no row is a typo, or meant for another plan; one of a key alone, which names no row, too.

    One that a row has and does not need is let be: the second run of a job finds nothing dangerous any more.
    """
    rows = {row_words(change.key, change.resource): change.key for change in changes} if allow else {}
    strange = next((words for words in allow if words not in rows), None)
    if strange is None:
        return
    named = [danger for danger in dangers if danger.key == strange]
    if strange in rows.values():
        why = f"{strange} alone names no row, and would let every row of that key through"
    else:
        why = f"{strange} is allowed, but no row of the plan is that"
        near = nearest(strange, [danger.allowed_by for danger in dangers])
        named = [danger for danger in dangers if danger.allowed_by == near] or [*dangers][:1]
    instead = sentence("It is {}.", allowing(named)) if named else "Nothing in it is dangerous."
    raise UsageError(why, hint=Hint("Nothing was sent.", instead))
