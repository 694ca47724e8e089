"""Read-back: a change is verified when every broker of the cluster says so, fenced ones included.

It is waited for as long as rows go on arriving. That ends: a row arrives once at a broker, and none arrives twice. From
what was answered and what was seen comes what became of a row; it never claims what nobody saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter

from ...admin.ports import Broker, Kafka
from ...errors import KadminError
from ...model.changes import FAILED, SKIPPED, UNCHANGED, UNKNOWN, UNVERIFIED, VERIFIED, Change, Outcome, Refusal
from .. import LAG
from ..kinds import kind_of, take
from ..observed_state import ObservedValue, same
from ..sending import is_of_the_whole
from .progress import Advance, Progress, Stopped, never, silent

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.5

PATIENCE, PATIENCE_PER_CHANGE = 1.0, 0.0002
"""Seconds that a broker has for its answer at least, also when the time is up: 11 for 50,000 changes."""

_NOBODY: Mapping[int, str] = {}


@dataclass(slots=True)
class BrokerAgreement:
    """The brokers that were seen to hold a change, when the last of them was, and why others were not.

    `denied_at` is when a broker last answered with another value; `behind` are brokers whose answer was the old one.

    The sets are shared between changes: a plan has many, and their brokers are the same.
    """

    expected: frozenset[int]
    seen: frozenset[int] = frozenset()
    at: float | None = None
    denied_at: float | None = None
    unreachable: Mapping[int, str] = field(default_factory=lambda: _NOBODY)
    behind: frozenset[int] = frozenset()

    @property
    def is_complete(self) -> bool:
        """True if every broker agrees."""
        return self.seen >= self.expected

    @property
    def has_landed(self) -> bool:
        """True if some broker agrees: what one holds, all will."""
        return bool(self.seen)

    def awaits(self, broker: int) -> bool:
        """True if this broker has yet to agree."""
        return broker in self.expected and broker not in self.seen

    def could_not(self, broker: int, why: str | None) -> None:
        """Note why a broker could not be asked; None when it was, and answered with another value."""
        others = {b: w for b, w in self.unreachable.items() if b != broker}
        self.unreachable = others | {broker: why} if why else others or _NOBODY

    def missing(self) -> str:
        """The brokers that do not agree, and why."""
        answers = {
            b: "still shows the old value" if b in self.behind else "shows another value"
            for b in sorted(self.expected - self.seen)
        }
        reasons = (f"broker {b} {self.unreachable.get(b, answer)}" for b, answer in answers.items())
        return f"not seen on every broker: {'; '.join(reasons)}"


Sightings = Mapping[int, BrokerAgreement]
"""The agreement about each row, by its number."""


def verify(
    kafka: Kafka,
    changes: Sequence[Change],
    known: Iterable[Broker],
    timeout: float,
    enough: Callable[[BrokerAgreement], bool] = attrgetter("is_complete"),
    *,
    stopped: Stopped = never,
    progress: Progress = silent,
    doing: str = "verified",
) -> dict[int, BrokerAgreement]:
    """Ask every broker until it holds each change, or no further row came for so long. By row number; never raises.

    Parameters
    ----------
    known
        The brokers before the change: one that has gone since is missing, not forgotten.
    timeout
        Seconds without a further row at any broker after which the waiting ends. As each row comes once to each
        broker, all of it takes at most so long for each row and broker, and once more.
    enough
        When a row needs no further look; by default, when every broker agrees.
    stopped
        Ends the waiting, not the look that is under way.
    progress
        Called after each round with the rows that need no further look; `doing` says what became of them.
    """
    shown, deadline, pause = 0, kafka.monotonic() + timeout, FIRST_PAUSE
    brokers = _brokers(kafka, list(known))
    everyone = frozenset(b.id for b in brokers)
    alone = {c.row: frozenset([c.resource.broker]) for c in changes if c.resource.broker is not None}
    sightings = {c.row: BrokerAgreement(alone.get(c.row, everyone)) for c in changes}
    while True:
        for turn, broker in enumerate(brokers):
            # one that does not answer uses up its share of the time and no other's
            share = (deadline - kafka.monotonic()) / (len(brokers) - turn)
            asked = [c for c in changes if sightings[c.row].awaits(broker.id)]
            _look(kafka, broker, asked, sightings, max(share, PATIENCE + PATIENCE_PER_CHANGE * len(asked)))
        before, shown = shown, sum(len(sighting.expected & sighting.seen) for sighting in sightings.values())
        if shown > before:
            deadline = kafka.monotonic() + timeout
        satisfied, left = sum(map(enough, sightings.values())), max(0.0, deadline - kafka.monotonic())
        progress(Advance(doing, satisfied, len(sightings), left=left if shown == before else None))
        if satisfied == len(sightings) or kafka.monotonic() >= deadline or stopped():
            return sightings
        kafka.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        if any(s.unreachable for s in sightings.values()):
            brokers = _brokers(kafka, brokers)


def _brokers(kafka: Kafka, last_known: list[Broker]) -> list[Broker]:
    """The brokers as they are now; known ones that are gone count as fenced."""
    try:
        now = kafka.brokers()
    except KadminError:
        return last_known
    return now + [replace(b, is_fenced=True) for b in last_known if b.id not in {n.id for n in now}]


@lru_cache
def _and(brokers: frozenset[int], another: int) -> frozenset[int]:
    return brokers | {another}


def _look(kafka: Kafka, broker: Broker, changes: Sequence[Change], sightings: Sightings, within: float) -> None:
    """Ask one broker for what it has not yet confirmed."""
    if not changes:
        return None
    if broker.is_fenced:
        return _mark_unreachable(changes, sightings, broker.id, "is fenced")
    try:
        state = take(kafka, [c.target for c in changes], node=broker.id, within=within)
    except KadminError as exc:
        return _mark_unreachable(changes, sightings, broker.id, f"cannot be asked: {exc}")
    now = kafka.monotonic()
    for change in changes:
        sighting = sightings[change.row]
        if state.errors and change.resource in state.errors:
            sighting.could_not(broker.id, str(state.errors[change.resource]))
        elif holds(state.of(change.target), change):
            sighting.seen, sighting.at = _and(sighting.seen, broker.id), now
        else:
            sighting.could_not(broker.id, None)
            sighting.denied_at = now
            is_behind = is_as_before(state.of(change.target), change)
            sighting.behind = _and(sighting.behind, broker.id) if is_behind else sighting.behind - {broker.id}
    return None


def _mark_unreachable(changes: Sequence[Change], sightings: Sightings, broker: int, why: str) -> None:
    for change in changes:
        sightings[change.row].could_not(broker, why)


def is_as_before(now: ObservedValue, change: Change) -> bool:
    """True if what was read is what the plan saw when it was made."""
    return (now.value, now.is_known) == (change.old, change.old_known)


def holds(now: ObservedValue, change: Change) -> bool:
    """True if what was read is what the change wanted. Of a sensitive value little more is seen than that it is set."""
    if not now.is_known:
        return change.after is not None and kind_of(change).agrees(now, change)
    return same(now.value, change.after, now.type)


@dataclass
class Facts:
    """The facts about the rows of a plan, by number.

    `refused` are the brokers' own words and the errors of lost answers; `answered` is when a row's last answer came,
    on the port's clock; `unknown` were sent, and the quiet period has passed without a sign of them; `halfway` tells
    of rows that were left on their way; `resent` of those that were sent a second time.
    """

    answered: dict[int, float] = field(default_factory=dict)
    refused: dict[int, Refusal] = field(default_factory=dict)
    skipped: dict[int, Refusal] = field(default_factory=dict)
    resent: dict[int, str] = field(default_factory=dict)
    halfway: dict[int, str] = field(default_factory=dict)
    landed: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    sightings: Sightings = field(default_factory=dict)


def outcome_of(change: Change, facts: Facts) -> Outcome:
    """The outcome of this row."""
    row = change.row
    if left := facts.halfway.get(row):
        return Outcome(change, UNVERIFIED, "INCOMPLETE", left)
    if why := facts.skipped.get(row):
        return Outcome(change, SKIPPED, why.code, why.message)
    if sighting := facts.sightings.get(row):
        return _seen(change, facts, sighting)
    if why := facts.refused.get(row):
        return Outcome(change, UNKNOWN if row in facts.unknown else FAILED, why.code, why.message)
    return Outcome(change, UNCHANGED, message=change.note if change.is_same_store else None)


def checked(change: Change, sighting: BrokerAgreement, is_accepted: bool = False) -> Outcome:
    """The same for a row that was only looked at; `is_accepted` says that a broker took it when it was sent."""
    seen = _seen(change, Facts(), sighting)
    if seen.state != VERIFIED or not change.is_again or is_accepted:
        return seen
    return replace(seen, state=UNVERIFIED, message=_NOT_KNOWN)


def _sent_again(change: Change) -> str:
    """What is known of a value that was the same before, and was accepted."""
    if not change.resource.reloads(change.key):
        return "accepted; the value was the same before"
    return (
        "accepted; the answer does not say whether the broker could read its store: openssl s_client shows the "
        "certificate that it serves"
    )


_NOT_KNOWN = "the value is there, as it was before; no journal here says that it was sent again"


def _seen(change: Change, facts: Facts, sighting: BrokerAgreement) -> Outcome:
    state, refused = _state(change.row, facts, sighting), facts.refused.get(change.row)
    is_settled = state == VERIFIED and change.row in facts.landed
    return Outcome(
        change,
        state,
        error=None if refused is None or is_settled else refused.code,
        message="; ".join(_messages(change, facts, sighting, state)) or None,
        brokers_agreeing=len(sighting.seen & sighting.expected),
        brokers=len(sighting.expected),
        lag_ms=None if change.is_again else _lag(facts.answered.get(change.row), sighting),
    )


def _state(row: int, facts: Facts, sighting: BrokerAgreement) -> str:
    """The state of a row that was looked for; an error and what brokers show are both told."""
    if sighting.is_complete:
        return VERIFIED
    if row in facts.unknown:
        return UNKNOWN
    if row in facts.refused and row not in facts.landed and not sighting.has_landed:
        return FAILED if _is_denied(row, facts, sighting) else UNVERIFIED
    return UNVERIFIED


def _is_denied(row: int, facts: Facts, sighting: BrokerAgreement) -> bool:
    """True if a broker does not hold it that had the time to learn of it, or the request was refused as a whole."""
    asked_late = sighting.denied_at is not None and sighting.denied_at >= facts.answered[row] + LAG
    return asked_late or is_of_the_whole(facts.refused[row].code)


def _messages(change: Change, facts: Facts, sighting: BrokerAgreement, state: str) -> list[str]:
    row = change.row
    refused, messages = facts.refused.get(row), [_sent_again(change)] if state == VERIFIED and change.is_again else []
    if refused is not None and row in facts.landed:
        messages.append(f"its answer was lost ({refused.code}), and it was made")
    elif refused is not None and sighting.has_landed:
        messages.append(f"the broker answered {refused}, and yet it was made")
    elif refused is not None and refused.message:
        messages.append(refused.message)
    if row in facts.resent:
        messages.append(f"sent again after {facts.resent[row]}")
    if state in (UNVERIFIED, UNKNOWN):
        messages.append(sighting.missing())
    return messages


def _lag(answered: float | None, sighting: BrokerAgreement) -> int | None:
    if sighting.at is None or answered is None:
        return None
    return max(0, round((sighting.at - answered) * 1000))
