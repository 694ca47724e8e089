"""Preflight: is a row done, still as it was seen, on its way by us, or has somebody else moved it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...errors import Conflict
from ...frames import schemas
from ...frames.answer import Answer
from ...frames.meanings import in_unit
from ...hints import Hint, Option, Sentence, Verb, sentence
from ...model.changes import Change, SentRow, SentRows
from ..journal.replay import SentLately
from ..observed_state import ObservedState, ObservedValue
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

    def __str__(self) -> str:
        if self.is_of_new_topic:
            return _MADE_ANEW
        if self.behind:
            return _BEHIND.format("has", self.behind)
        if self.by_us:
            return _BY_US.format(self.by_us, "has")
        key = self.change.key
        return f"was {_in_words(key, self.change.old)}, is now {_in_words(key, _value_text(self.now))}"


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
    """Each row where it belongs. A secret that we have set is done for as long as something is set there; a value that
    was the same before, once we have sent it.

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
    """The same rows, where those that a broker shows as before another plan of ours are told from changes of others.

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
    """The row before which this value was there."""
    return next((row for row in sent if is_as_before(now, row.change)), None)


def _explained(moved: MovedRow, on_the_way: SentRows, ours: SentRows) -> MovedRow:
    change, now = moved.change, moved.now
    seen = ObservedValue(change.old, change.old_known)
    made = (row for row in ours.get(change.target, ()) if holds(now, row.change) and is_as_before(seen, row.change))
    return replace(moved, behind=_before(now, on_the_way.get(change.target, ())), by_us=next(made, None))


def is_of_new_topic(change: Change, state: ObservedState) -> bool:
    """True if the plan saw another topic of this name; where either id may not be seen, nobody can say."""
    return change.topic_id is not None and state.topic_ids.get(change.resource, change.topic_id) != change.topic_id


def conflict(moved: Sequence[MovedRow], of: int) -> Conflict:
    """The error that shows old, now and wanted of every row that moved."""
    error = Conflict(_conflict_text(moved, of), hint=_ways_on(moved))
    error.rows = conflict_rows(moved)
    return error


def conflict_rows(moved: Iterable[MovedRow]) -> Answer:
    """CONFLICTS, of these rows."""
    return Answer(schemas.table(schemas.CONFLICTS, map(_conflict_row, moved)))


def _conflict_text(moved: Sequence[MovedRow], of: int) -> str:
    new_topics = list(dict.fromkeys(str(row.change.resource) for row in moved if row.is_of_new_topic))
    if new_topics:
        more = f" and {len(new_topics) - 1} more" if len(new_topics) > 1 else ""
        return f"{new_topics[0]}{more} {_MADE_ANEW}: plan again"
    behind, by_us = Counter(str(m.behind) for m in moved if m.behind), Counter(str(m.by_us) for m in moved if m.by_us)
    parts = [f"{count:,} of {of:,} rows {_BEHIND.format('have', plan)}" for plan, count in behind.items()]
    parts += [f"{count:,} of {of:,} rows {_BY_US.format(plan, 'have')}" for plan, count in by_us.items()]
    return "; ".join([*parts, *_changed_text([m for m in moved if not m.behind and not m.by_us], of)])


def _changed_text(moved: Sequence[MovedRow], of: int) -> Iterable[str]:
    if moved:
        first = moved[0].change
        yield (
            f"{len(moved)} of {of} rows changed since the plan; the first, {first.resource} {first.key}, {moved[0]}, "
            f"wanted {_in_words(first.key, first.after)}"
        )


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
    short = plan_id[:12]
    verify = Verb(f"plan verify {short} --wait 60", f"cluster.verify({short!r}, verify_timeout=60)")
    return sentence("{} waits until the brokers show it; then apply this plan.", verify)


def _in_words(key: str, value: str | None) -> str:
    """A value as a sentence has it."""
    return "not set" if value is None else in_unit(key, value)


def _value_text(now: ObservedValue) -> str | None:
    """The value of a target, as far as it may be seen."""
    return now.value if now.is_known else HIDDEN


def _conflict_row(moved: MovedRow) -> dict[str, object]:
    change = moved.change
    names = {"row": change.row, "resource": str(change.resource), "key": change.key}
    return {**names, "old": change.old, "now": _value_text(moved.now), "wanted": change.after}
