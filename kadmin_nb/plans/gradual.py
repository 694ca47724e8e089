"""Lowering in steps, so that no client known to be busy is muted for longer than a bound.

A broker mutes for (used in the window) / limit - window, and each request that crosses the limit counts whole. Going
from limit p to n, a client that fills its allowance is muted for at most (p/n - 1) x window + 2 x request / n seconds,
and the next n is the lowest that keeps this within the bound.

The next step waits until the broker has forgotten what was sent before the last: a client that was muted comes back
with a burst, which stays in the window for as long as the window is, however short the stall was.

No step helps against one request that is large beside the limit: with 1 MB batches at 100 kB/s a client is muted for
10 to 19 s all the time (tried, Kafka 4.3.1). There half of the bound goes to the lowering.
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
from .stalls import WINDOW, changed, stalls

BOUND = 15.0
"""Seconds that a client may be muted."""

SHARE = 0.9
"""How much of the bound is used; the rest is margin."""

SAMPLE = 1.0
"""Seconds, `quota.window.size.seconds`: a broker may remember that much more than its window."""

REQUEST = 1_000_000.0
"""Bytes of the largest request to reckon with: librdkafka's `batch.size`, and about a topic's `max.message.bytes`."""


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
    cluster_id: str | None = None,
) -> list[Wave]:
    """The waves of a plan, in their order, each in the steps that it needs. Arguments as of `stalls`.

    Each wave is judged by the quotas as the waves before leave them. The last pause is 0.
    """
    found: list[Wave] = []
    for wave in waves:
        expected = stalls(wave, quotas, usage, windows=windows, cluster_id=cluster_id)
        found += steps(wave, expected, bound, windows=windows)
        quotas = changed(quotas, wave)
    return [*found[:-1], *(Wave(last.changes) for last in found[-1:])]


def steps(changes: Sequence[Change], stalls: pa.Table, bound: float = BOUND, *, windows: float = WINDOW) -> list[Wave]:
    """The waves that carry out these changes: a row whose stall is within the bound whole in the first.

    Parameters
    ----------
    stalls
        STALLS of these changes. An added quota is stepped down from what the clients use; a removal is stepped down
        to what then binds, and is the last step.
    bound
        Seconds that a client may be muted by one answer.

    Raises
    ------
    UsageError
        The bound is shorter than a second.
    """
    if not bound >= SAMPLE:
        raise UsageError(f"a bound of {bound:g} s is too short", hint="A broker measures in steps of 1 s.")
    budget, memory = SHARE * bound, windows + SAMPLE
    worst = _worst(stalls)
    paths = [_path(change, worst.get(change.row), budget, memory) for change in changes]
    waves = [tuple(c for c in wave if c) for wave in zip_longest(*paths)]
    pause = max(budget, memory) + SAMPLE if worst else 0.0
    return [Wave(wave, pause) for wave in waves]


def _worst(stalls: pa.Table) -> Mapping[int, tuple[float, float]]:
    """Of each row that stalls anyone: the highest rate from which, and the lowest limit to which, it takes a bucket.

    No bucket can use more than its limit for long, whatever was measured.
    """
    found: dict[int, tuple[float, float]] = {}
    for one in stalls.to_pylist():
        if one["row"] is not None and one["stall_s"] > 0:
            rate, limit = found.get(one["row"], (0.0, math.inf))
            used = min(one["bucket_rate"], one["limit_before"] or math.inf)
            found[one["row"]] = max(rate, used), min(limit, one["limit_after"])
    return found


def _path(change: Change, worst: tuple[float, float] | None, budget: float, memory: float) -> list[Change]:
    """The steps of one row, itself the last."""
    if worst is None:
        return [change]
    return [*(_step(change, value) for value in _values(*worst, budget, memory)), change]


def _values(rate: float, limit: float, budget: float, memory: float) -> Iterator[float]:
    """The limits between a rate and the limit wanted, whole numbers: each the lowest that mutes within the budget."""
    value = rate
    while value > limit:
        fitting = (value * memory + 2 * REQUEST) / (budget + memory)
        value = min(math.ceil(min(fitting, value / (1 + budget / 2 / memory))), value - 1)
        if value > limit:
            yield value


def _step(change: Change, value: float) -> Change:
    return change.with_(op=SET, wanted=text_of(value), after=text_of(value))
