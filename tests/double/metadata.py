"""The metadata log on the controller, and each broker's image of it, which lags, freezes and falls behind."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kadmin_nb.model.changes import Target
from kadmin_nb.model.configurable import Configurable
from kadmin_nb.model.resources import Partition

Value = float | str
Values = dict[Configurable, dict[str, Value]]

FOREVER = float("inf")
SESSION_TIMEOUT = 9.0
"""Seconds until the controller fences a broker that is gone."""


@dataclass(frozen=True)
class Record:
    """One change of one key, as the controller wrote it; None removes it."""

    at: float
    target: Target
    value: Value | None


@dataclass
class Image:
    """What the first records of the log amount to."""

    records: int = 0
    values: Values = field(default_factory=dict)

    def take(self, record: Record) -> None:
        whom, key = record.target
        held = self.values.setdefault(whom, {})
        if record.value is None:
            held.pop(key, None)
        else:
            held[key] = record.value
        if not held:
            del self.values[whom]
        self.records += 1


@dataclass
class Node:
    """A broker: its image, its own log levels, and what is wrong with it.

    `lag` is in seconds. A busy broker takes `seconds_per_record` for each record; it was done with the last `done_at`.
    """

    id: int
    lag: float
    seconds_per_record: float = 0.0
    done_at: float = 0.0
    image: Image = field(default_factory=Image)
    loggers: dict[str, str] = field(default_factory=dict)
    frozen_until: float = 0.0
    down_since: float | None = None
    up_again: float = FOREVER
    fenced_until: float = 0.0

    def is_down(self, now: float) -> bool:
        return self.down_since is not None and now < self.up_again

    def is_fenced(self, now: float) -> bool:
        """Cut off by the controller, or gone long enough."""
        gone = self.down_since is not None and self.is_down(now) and now >= self.down_since + SESSION_TIMEOUT
        return gone or now < self.fenced_until


class Cluster:
    """Nodes, the controller's log and the clock that all connections share."""

    def __init__(self, brokers: int, lag: float) -> None:
        self.now = 0.0
        self.nodes = {n: Node(n, lag * n) for n in range(1, brokers + 1)}
        self.log: list[Record] = []
        self.head = Image()
        self.topics: set[str] = set()
        self.partitions: Sequence[Partition] | None = ()
        self.groups: list[str] = []
        self.copying: str | None = None
        self.recreated: Counter[str] = Counter()
        self.answers: dict[object, object] = {}
        self.leases: dict[str, object] = {}
        self.signed: dict[Target, object] = {}
        self.may_read = self.may_alter = True
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._turns = itertools.count()

    def write(self, target: Target, value: Value | None) -> None:
        """Append a record, now."""
        record = Record(self.now, target, value)
        self.log.append(record)
        self.head.take(record)

    def pass_(self, seconds: float) -> None:
        """Let virtual time go by; what was to happen in it happens, in order."""
        until = self.now + seconds
        while self._due and self._due[0][0] <= until:
            at, _, happen = heapq.heappop(self._due)
            self.now = max(self.now, at)
            happen()
        self.now = until

    def later(self, seconds: float, happen: Callable[[], object]) -> None:
        """Let something happen so much later."""
        heapq.heappush(self._due, (self.now + seconds, next(self._turns), happen))

    def values(self, node: int) -> Mapping[Configurable, Mapping[str, Value]]:
        """What that broker believes now."""
        broker = self.nodes[node]
        self._catch_up(broker)
        return broker.image.values

    def _catch_up(self, broker: Node) -> None:
        if self.now < broker.frozen_until or broker.is_down(self.now):
            return
        image = broker.image
        while image.records < len(self.log):
            record = self.log[image.records]
            done_at = max(record.at + broker.lag, broker.done_at) + broker.seconds_per_record
            if done_at > self.now:
                break
            broker.done_at = done_at
            image.take(record)

    def freeze(self, node: int, seconds: float) -> None:
        """The broker answers from the image that it has now."""
        self._catch_up(self.nodes[node])
        self.nodes[node].frozen_until = self.now + seconds

    def stop(self, node: int, seconds: float) -> None:
        """The broker is gone for so long; the controller fences it when its session has run out."""
        self._catch_up(self.nodes[node])
        self.nodes[node].down_since, self.nodes[node].up_again = self.now, self.now + seconds

    def fence(self, node: int, seconds: float) -> None:
        """The controller fences the broker, which hears nothing new meanwhile."""
        self.freeze(node, seconds)
        self.nodes[node].fenced_until = self.now + seconds

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way that was sent."""
        return not self._due

    def settle(self) -> None:
        """Let everything happen that is under way: late landings, lag, freezes and absences that end."""
        ends = [t for n in self.nodes.values() for t in (n.frozen_until, n.up_again, n.fenced_until) if t < FOREVER]
        last = max([self.now, *ends, *(at for at, _, _ in self._due)])
        self.pass_(last - self.now + 1.0)
