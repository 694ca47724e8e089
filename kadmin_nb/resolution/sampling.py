"""The effect of limits on a demand: Kafka's own sampling, replayed second by second for many buckets at once.

Depends on numpy alone, so that Spark can ship this module to its workers by value.

A broker adds up what a bucket used in samples of one second (`quota.window.size.seconds`), and keeps eleven
(`quota.window.num`): ten past ones and the current one. It divides by ten seconds and the part of the current one that
is over, also when less than that was ever recorded (`org.apache.kafka.common.metrics.stats.Rate`). Whoever is above the
limit then is throttled for just as long as it takes to be at it again (`QuotaUtils.throttleTime`). So at the part f of
a second a bucket may have used, in this second and the ten before it, **limit x (10 + f)**, and not more.
controller_mutation_rate is a bucket of tokens (`TokenBucket`): eleven seconds' worth at most, limit x f more at f.

What a client wanted while it was throttled it still wants: it comes when the broker lets it, in the order it came. The
other reading, that it is dropped, is not what a producer does. Requests are taken as small beside the limit: a large
one is let through whole, and the throttle after it is the longer for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .lookup import Doubles, Flags

PAST = 10
"""Full samples that count beside the current one: `quota.window.num` less one, of a second each."""

PERIOD = PAST + 1
"""Seconds after which a sampled bucket that is always full is as it was."""

REST = 3 * PERIOD
"""Seconds in which a queue of less than two periods is through, and forgotten."""

_NOISE = 1e-9
"""The share by which a limit may be passed: sums of doubles are no more exact."""


@dataclass(frozen=True)
class Replay:
    """The result of each bucket: numbers of seconds, but for `first`, the place of the first throttle (NaN: none).

    `active` are the seconds in which it wanted something, `throttled` those of them in which it was throttled, and
    `throttled_for` for how long in all, `longest` in one go; `delay` is how long what it wanted last had to wait, at
    the worst time."""

    active: Doubles
    throttled: Doubles
    throttled_for: Doubles
    longest: Doubles
    delay: Doubles
    first: Doubles

    @classmethod
    def empty(cls, buckets: int) -> Replay:
        """Nothing became of so many buckets."""
        active, throttled, throttled_for, longest, delay = np.zeros((5, buckets))
        return cls(active, throttled, throttled_for, longest, delay, np.full(buckets, np.nan))


class _Buckets:
    """The buckets, between two seconds."""

    def __init__(self, limit: Doubles, by_tokens: Flags) -> None:
        nothing = np.zeros_like(limit)
        self.limit, self.by_tokens, self.slack = limit, by_tokens, _NOISE * limit * PAST
        self.past = np.zeros((PAST, len(limit)))
        self.tokens = limit * PERIOD
        self.queue, self.run, self.now = nothing, nothing, 0
        self.found = Replay.empty(len(limit))

    def second(self, wanted: Doubles) -> None:
        """One second in which so much more was wanted, evenly over it."""
        room = np.where(self.by_tokens, self.tokens, PAST * self.limit - self.past.sum(axis=0))
        waiting, whole = self.queue, self.queue + wanted
        over_first = (waiting > room + self.slack) | ((room < -self.slack) & (whole > 0))
        over_last = whole > room + self.limit + self.slack
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.clip(np.nan_to_num((room - waiting) / (wanted - self.limit), posinf=1.0), 0.0, 1.0)
        throttled_for = np.select([over_first & over_last, over_first, over_last], [1.0, crossing, 1.0 - crossing], 0.0)
        used = np.where(over_last, np.maximum(room + self.limit, 0.0), whole)
        self._count(whole > 0, throttled_for, np.where(over_first, 0.0, crossing), over_first, over_last)
        self.queue = np.where(over_last, whole - used, 0.0)
        np.maximum(self.found.delay, self.queue / self.limit, out=self.found.delay)
        self.past[self.now % PAST] = used
        self.tokens = np.minimum(self.tokens + self.limit - used, self.limit * PERIOD)
        self.now += 1

    def skip(self, periods: Doubles) -> None:
        """Let so many times eleven seconds pass in one go, in which nothing more is wanted, as far as a queue is long.

        Whoever waits uses up every second's room, so what eleven samples hold is always eleven times the limit, and
        after eleven seconds all is as it was, but for the queue.
        """
        size = self.limit * PERIOD
        whole = np.clip(np.floor(self.queue / size) - 1, 0.0, periods)
        self.queue = self.queue - whole * size
        for column in (self.found.active, self.found.throttled, self.found.throttled_for, self.run):
            column += whole * PERIOD

    def _count(
        self, active: Flags, throttled_for: Doubles, since: Doubles, over_first: Flags, over_last: Flags
    ) -> None:
        counts = self.found
        counts.active[active] += 1
        counts.throttled[throttled_for > 0] += 1
        counts.throttled_for[:] += throttled_for
        run = np.where(over_first, self.run, 0.0) + throttled_for
        np.maximum(counts.longest, run, out=counts.longest)
        self.run = np.where(over_last, run, 0.0)
        begins = np.isnan(counts.first) & (throttled_for > 0)
        counts.first[begins] = self.now + since[begins]


def replay(wanted: Doubles, limit: Doubles, by_tokens: Flags, idle: Doubles | None = None) -> Replay:
    """The effect of these limits on this demand, until all of it is through.

    Parameters
    ----------
    wanted
        A row per second, one after the other, and a column per bucket: how much it wanted then, in the limit's unit.
    limit
        Of each bucket, a second; finite, and more than 0.
    by_tokens
        Whether a bucket holds tokens, instead of being sampled.
    idle
        How many periods of eleven seconds were left out before each row, none unless said. Nothing was wanted in them,
        nor in `REST` seconds after.

    Examples
    --------
    >>> twice = replay(np.full((40, 1), 2.0), np.array([1.0]), np.array([False]))
    >>> [round(float(column[0]), 1) for column in (twice.first, twice.throttled_for, twice.delay)]
    [5.0, 73.0, 36.0]
    """
    buckets = _Buckets(limit, by_tokens)
    left_out = np.zeros_like(wanted) if idle is None else idle
    for row, periods in zip(wanted, left_out, strict=True):
        if periods.any():
            buckets.skip(periods)
        buckets.second(row)
    buckets.skip(np.full(len(limit), np.inf))
    while buckets.queue.any():
        buckets.second(np.zeros_like(limit))
    return buckets.found
