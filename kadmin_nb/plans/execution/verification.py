"""Read-back: a change is verified when every broker of the cluster says so, fenced ones included.

It is waited for as long as rows go on arriving. That ends: a row arrives once at a broker, and none arrives twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter

from ...admin.ports import Broker, Kafka
from ...errors import KadminError
from ...model.changes import Change
from ..kinds import kind_of, take
from ..observed_state import ObservedValue
from ..stored_values import same
from .progress import Advance, Stopped, never

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


@dataclass(frozen=True, slots=True)
class Round:
    """What is known after every broker was asked: `satisfied` rows need no further look.

    `behind` is how many rows the broker shows that is furthest behind. `left` are the seconds after which the waiting
    ends unless a further row comes.
    """

    satisfied: int
    sightings: Sightings
    behind: str
    left: float

    @property
    def advance(self) -> Advance:
        """How far the verification is, in rows."""
        return Advance("verified", self.satisfied, len(self.sightings), behind=self.behind)


class _Arrivals:
    """How many rows brokers show, and when the last one arrived."""

    def __init__(self, kafka: Kafka, timeout: float) -> None:
        self._kafka, self._timeout, self._last, self._shown = kafka, timeout, kafka.monotonic(), 0

    @property
    def deadline(self) -> float:
        """When the waiting ends, unless a further row arrives before."""
        return self._last + self._timeout

    def count(self, sightings: Sightings) -> str:
        """Count what the brokers show by now: the rows of the one that is furthest behind, in words."""
        expected, shown = Counter[int](), Counter[int]()
        for (wanted, seen), rows in Counter((s.expected, s.seen) for s in sightings.values()).items():
            expected.update(dict.fromkeys(wanted, rows))
            shown.update(dict.fromkeys(wanted & seen, rows))
        if shown.total() > self._shown:
            self._last, self._shown = self._kafka.monotonic(), shown.total()
        last = min(expected, key=lambda broker: (shown[broker] / expected[broker], broker), default=None)
        if last is None or shown[last] == expected[last]:
            return ""
        return f"{shown[last]:,} of {expected[last]:,} rows on broker {last}"


def verify(
    kafka: Kafka,
    changes: Sequence[Change],
    known: Iterable[Broker],
    timeout: float,
    *,
    enough: Callable[[BrokerAgreement], bool] = attrgetter("is_complete"),
    stopped: Stopped = never,
    report: Callable[[Round], None] = lambda round: None,
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
    report
        Called after each round.
    """
    arrivals, pause = _Arrivals(kafka, timeout), FIRST_PAUSE
    brokers = _brokers(kafka, list(known))
    everyone = frozenset(b.id for b in brokers)
    alone = {c.row: frozenset([c.resource.broker]) for c in changes if c.resource.broker is not None}
    sightings = {c.row: BrokerAgreement(alone.get(c.row, everyone)) for c in changes}
    while True:
        for turn, broker in enumerate(brokers):
            # one that does not answer uses up its share of the time and no other's
            share = (arrivals.deadline - kafka.monotonic()) / (len(brokers) - turn)
            asked = [c for c in changes if sightings[c.row].awaits(broker.id)]
            _look(kafka, broker, asked, sightings, max(share, PATIENCE + PATIENCE_PER_CHANGE * len(asked)))
        satisfied, behind = sum(map(enough, sightings.values())), arrivals.count(sightings)
        report(Round(satisfied, sightings, behind, max(0.0, arrivals.deadline - kafka.monotonic())))
        if satisfied == len(sightings) or kafka.monotonic() >= arrivals.deadline or stopped():
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
