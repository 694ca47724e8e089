"""Lowering in steps, so that no client known to be busy is throttled for longer than a bound.

A broker throttles for (used in the window) / limit - window, and each request that crosses the limit counts whole.
Going from limit p to n, a client that fills its allowance is throttled for at most (p/n - 1) x window + 3 x request / n
seconds, and the next n is the lowest that keeps this within the bound.

The next step waits until the broker has forgotten what was sent before the last: a client that was throttled comes back
with a burst, which stays in the window for as long as the window is, however short the stall was.

No step helps against one request that is large beside the limit: with 1 MB batches at 100 kB/s a client is throttled
for 10 to 19 s all the time (tried, Kafka 4.3.1). There a third of the bound goes to the lowering.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from ..errors import UsageError
from ..model.changes import SET, Change
from ..model.quota_keys import text_of
from .quotas_after import table_after
from .stalls import WINDOW, stalls

BOUND = 15.0
"""Seconds that a client may be throttled."""

SHARE = 0.85
"""The share of the bound that is used; the rest is margin."""

SAMPLE = 1.0
"""Seconds, `quota.window.size.seconds`: a broker may remember that much more than its window."""

REQUEST = 1_000_000.0
"""Bytes of the largest request to reckon with: librdkafka's `batch.size`, and about a topic's `max.message.bytes`."""

_REQUESTS = 3
"""Requests above what a window allows that a broker may remember: before a step, at it, and by its rounding."""


@dataclass(frozen=True, slots=True)
class Wave:
    """Changes to be sent together, and how many seconds to wait before the next wave.

    A step on the way is the plan's row as a `set` of an intermediate value, under the same row number.
    """

    changes: tuple[Change, ...]
    pause: float = 0.0


def schedule(
    waves: Iterable[Sequence[Change]],
    quotas: pa.Table,
    usage: Any,
    bound: float = BOUND,
    *,
    windows: float = WINDOW,
    request: float = REQUEST,
    cluster_id: str | None = None,
) -> list[Wave]:
    """The waves of a plan, in their order, each in the steps that it needs. Arguments as of `stalls` and `steps`.

    Each wave is judged by the quotas as the waves before leave them. The last pause is 0.
    """
    found: list[Wave] = []
    for wave in waves:
        expected = stalls(wave, quotas, usage, windows=windows, cluster_id=cluster_id)
        found += steps(wave, expected, bound, windows=windows, request=request)
        quotas = table_after(quotas, wave)
    return [*found[:-1], *(Wave(last.changes) for last in found[-1:])]


def steps(
    changes: Sequence[Change],
    stalls: pa.Table,
    bound: float = BOUND,
    *,
    windows: float = WINDOW,
    request: float = REQUEST,
) -> list[Wave]:
    """The waves that carry out these changes: a row whose stall is within the bound whole in the first.

    Parameters
    ----------
    stalls
        STALLS of these changes. An added quota is stepped down from what the clients use; a removal is stepped down
        to what then binds, and is the last step.
    bound
        Seconds that a client may be throttled by one answer.
    windows
        The brokers' quota window in seconds.
    request
        Bytes of the clients' largest requests; the smaller, the fewer steps.

    Raises
    ------
    UsageError
        The bound is shorter than a second.
    """
    if not bound >= SAMPLE:
        raise UsageError(f"a bound of {bound:g} s is too short", hint="A broker measures in steps of 1 s.")
    pace, worst = _Pace(SHARE * bound, windows + SAMPLE, _REQUESTS * request), _worst(stalls)
    paths = [_path(change, worst.get(change.row), pace) for change in changes]
    waves = [tuple(c for c in wave if c) for wave in zip_longest(*paths)]
    pause = max(pace.budget, pace.memory) + SAMPLE if worst else 0.0
    return [Wave(wave, pause) for wave in waves]


def _worst(stalls: pa.Table) -> Mapping[int, tuple[float, float]]:
    """Of each row that stalls anyone: the highest rate from which, and the lowest limit to which, it takes a bucket.

    No bucket can use more than its limit for long, whatever was measured.
    """
    worst: dict[int, tuple[float, float]] = {}
    for stall in stalls.to_pylist():
        if stall["row"] is not None and stall["stall_s"] > 0:
            rate, limit = worst.get(stall["row"], (0.0, math.inf))
            used = min(stall["bucket_rate"], stall["limit_before"] or math.inf)
            worst[stall["row"]] = max(rate, used), min(limit, stall["limit_after"])
    return worst


@dataclass(frozen=True, slots=True)
class _Pace:
    """Seconds that a step may throttle, seconds that a broker remembers, bytes above the limit that it may remember."""

    budget: float
    memory: float
    excess: float

    def below(self, limit: float) -> float:
        """The lowest limit, a whole number, that may follow this one."""
        fitting = (limit * self.memory + self.excess) / (self.budget + self.memory)
        slowest = limit / (1 + self.budget / 3 / self.memory)
        return min(math.ceil(min(fitting, slowest)), limit - 1)

    def down(self, rate: float, limit: float) -> Iterator[float]:
        """The limits between a rate and the limit wanted."""
        value = self.below(rate)
        while value > limit:
            yield value
            value = self.below(value)


def _path(change: Change, worst: tuple[float, float] | None, pace: _Pace) -> list[Change]:
    """The steps of one row, itself the last."""
    between = pace.down(*worst) if worst else ()
    return [*(_step(change, value) for value in between), change]


def _step(change: Change, value: float) -> Change:
    return change.with_(op=SET, wanted=text_of(value), after=text_of(value))
