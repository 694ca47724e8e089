"""Read-back: a change is verified when every broker of the cluster says so, fenced ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter

from ...admin.ports import Broker, Kafka
from ...errors import KadminError
from ...model.changes import Change
from ..kinds.registry import kind_of, take
from ..observed_state import ObservedValue
from ..stored_values import same
from .progress import Stopped, never

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.5

PATIENCE, PATIENCE_PER_CHANGE = 1.0, 0.0002
"""Seconds that a broker has for its answer at least, also when the time is up: 11 for 50,000 changes."""

_NOBODY: Mapping[int, str] = {}


@dataclass(slots=True)
class BrokerAgreement:
    """The brokers that were seen to hold a change, when the last of them was and which, and why others were not.

    `denied_at` is when a broker last answered with another value; `behind` are brokers whose answer was the old one.

    The sets are shared between changes: a plan has many, and their brokers are the same.
    """

    expected: frozenset[int]
    seen: frozenset[int] = frozenset()
    at: float | None = None
    slowest: int | None = None
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
        brokers = sorted(self.expected - self.seen)
        return f"not seen on every broker: {'; '.join(f'broker {b} {self._reason(b)}' for b in brokers)}"

    def _reason(self, broker: int) -> str:
        answer = "still shows the old value" if broker in self.behind else "shows another value"
        return self.unreachable.get(broker, answer)


Sightings = Mapping[int, BrokerAgreement]
"""The agreement about each row, by its number."""


def verify(
    kafka: Kafka,
    changes: Sequence[Change],
    known: Iterable[Broker],
    timeout: float,
    *,
    enough: Callable[[BrokerAgreement], bool] = attrgetter("is_complete"),
    stopped: Stopped = never,
    report: Callable[[int, Sightings], None] = lambda satisfied, sightings: None,
) -> dict[int, BrokerAgreement]:
    """Ask every broker until it holds each change or the time is up. Rows by number; never raises.

    Parameters
    ----------
    known
        The brokers before the change: one that has gone since is missing, not forgotten.
    enough
        When a row needs no further look; by default, when every broker agrees.
    stopped
        Ends the waiting, not the look that is under way.
    report
        Called after each round with how many rows that is, and all sightings.
    """
    deadline, pause = kafka.monotonic() + timeout, FIRST_PAUSE
    brokers = _brokers(kafka, list(known))
    everyone = frozenset(b.id for b in brokers)
    sightings = _unseen(changes, everyone)
    while True:
        _ask_all(kafka, brokers, changes, sightings, deadline)
        satisfied = sum(map(enough, sightings.values()))
        report(satisfied, sightings)
        if satisfied == len(sightings) or kafka.monotonic() >= deadline or stopped():
            return sightings
        kafka.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
        if any(s.unreachable for s in sightings.values()):
            brokers = _brokers(kafka, brokers)


def _brokers(kafka: Kafka, last_known: list[Broker]) -> list[Broker]:
    """The brokers as they are now; those that are known and gone count as fenced."""
    try:
        now = kafka.brokers()
    except KadminError:
        return last_known
    return now + [replace(b, is_fenced=True) for b in last_known if b.id not in {n.id for n in now}]


def _ask_all(
    kafka: Kafka,
    brokers: Sequence[Broker],
    changes: Sequence[Change],
    sightings: Sightings,
    deadline: float,
) -> None:
    """One round. A broker that does not answer uses up its share of the time and no other's."""
    for turn, broker in enumerate(brokers):
        share = (deadline - kafka.monotonic()) / (len(brokers) - turn)
        asked = [c for c in changes if sightings[c.row].awaits(broker.id)]
        _look(kafka, broker, asked, sightings, max(share, PATIENCE + PATIENCE_PER_CHANGE * len(asked)))


def _unseen(changes: Sequence[Change], everyone: frozenset[int]) -> dict[int, BrokerAgreement]:
    """Sightings to begin with: the brokers that must agree are all of them, or the one where a change is seen."""
    alone = {change.row: frozenset([broker]) for change in changes if (broker := change.resource.broker) is not None}
    return {change.row: BrokerAgreement(alone.get(change.row, everyone)) for change in changes}


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
            sighting.seen, sighting.at, sighting.slowest = _and(sighting.seen, broker.id), now, broker.id
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
