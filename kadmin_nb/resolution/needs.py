"""The limit that each bucket needed: the least that throttles so little that a promise can be made of it.

Candidates are replayed by `demand`, hour by hour. Depends on numpy, pyarrow, `demand` and `sampling` alone, so that
Spark can ship this module to its workers by value.

How a promise is made. What a client does within an hour is one event: a burst is many windows, and they are not many
observations. So hours count, not windows, and those in which the bucket is active. Of each the share of seconds that a
limit throttles is between 0 and 1; Hoeffding's inequality then says how likely it is that hours whose mean
is at the promise show so little. The limit is raised until that is `DOUBT` at most. Without any throttle 149 hours are
needed for 2 %, and 299 for 1 %. As hours of a day are alike, no day of the log may be above the promise either, and, as
limits hold on each broker, no broker. Growth and headroom come on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .demand import READ as DEMAND
from .demand import Windows, clients_of, numbered, under_limits, wanted_in_windows
from .lookup import Doubles, Flags, Longs

READ = (*DEMAND, "throttle_ms", "unknown")
"""The columns of a demand, the throttles that were reported, and whether a part of the use is unknown."""

DOUBT = 0.05
"""The share of promises that may fail, were hours independent of each other."""

MONTH = 30.0
"""The days that a growth is of."""

_HOUR, _DAY = 3_600_000_000, 86_400_000_000
_TREND_DAYS = 4
"""Days from which on a growth is told."""
_WEEK, _SEASONS = 7, 4
"""Days after which a week is as it was, and pairs of such days from which on only they are compared."""
_STEEPEST = math.log(2) / 7
"""A growth, a day, that doubles in a week: more is a start, not a trend."""
_STEPS = 7


@dataclass(frozen=True, slots=True)
class Asked:
    """What limits have to do, all as shares: `growth` is that of a month, None what the days show."""

    percentile: float
    headroom: float
    promise: float
    growth: float | None


def hours_needed(promise: float) -> int:
    """The hours without any throttle from which on this can be promised."""
    return math.ceil(math.log(DOUBT) / math.log1p(-promise))


def needs(rows: pa.Table, names: Sequence[str], tokens: str, asked: Asked) -> pa.Table:
    """A row a bucket, in no order.

    Its columns are `names`; `needed`, null where the hours do not suffice; `peak`, `windows` and `windows_unknown`;
    `share_throttled` of the windows; `hours` with use; `growth` of a month, null where nobody knows; `busiest` broker
    and its part of the use; `clients`; `first` and `last`, in microseconds.

    Parameters
    ----------
    rows
        The columns of READ, and all rows of each bucket that has any, on all brokers.
    names
        What tells one bucket from the others, its limit included.
    tokens
        The key whose buckets hold tokens.
    """
    whose, first = numbered(rows, names)
    part, firsts = numbered(rows, [*names, "broker"])
    known = np.flatnonzero(np.asarray(rows["value"].is_valid()))
    windows, _ = wanted_in_windows(rows.take(pa.array(known)), part[known], len(firsts))
    buckets, of_part = rows.take(pa.array(first)), whose[firsts]
    is_tokens = np.asarray(pc.equal(buckets["key"].cast(pa.string()), tokens))
    spans = _Spans.of(rows, whose, len(first))
    slope, is_told = _slopes(windows, of_part, len(first), asked)
    ahead = replace(
        windows, value=windows.value * np.exp(slope[of_part[windows.bucket]] * spans.left(windows, of_part))
    )
    search = _Search.of(ahead, of_part, len(first), is_tokens, asked.promise)
    needed = search.least(_percentiles(ahead, of_part, len(first), asked.percentile))
    needed *= np.exp(slope * spans.days) * (1.0 + asked.headroom)
    used = _sums(windows.bucket, windows.value * (windows.stop - windows.begin), len(firsts))
    busiest = _busiest(used, of_part, len(first))
    total = _sums(of_part, used, len(first))
    return pa.table(
        {
            **{name: buckets[name] for name in names},
            "needed": _null_for_nan(needed),
            "peak": _null_for_nan(_most(windows.value, of_part[windows.bucket], len(first))),
            **_windows_counted(rows, whose, part, windows, of_part),
            "hours": pa.array(np.bincount(search.of_hour, minlength=len(first)), pa.int64()),
            "growth": pa.array(np.expm1(slope * MONTH), mask=~is_told),
            "busiest": rows["broker"].take(pa.array(firsts[busiest])),
            "busiest_share": _null_for_nan(_over(used[busiest], total)),
            "clients": pa.array(clients_of(rows, whose, len(first)), pa.int64()),
            "first": pa.array(spans.first),
            "last": pa.array(spans.last),
        }
    )


def _null_for_nan(values: Doubles) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _sums(of: Longs, values: Any, groups: int) -> Doubles:
    """The sum of the values of each group."""
    sums: Doubles = np.bincount(of, values, groups).astype(np.float64)
    return sums


def _over(part: Doubles, whole: Doubles) -> Doubles:
    """NaN of nothing."""
    share: Doubles = np.full(len(whole), np.nan)
    return np.divide(part, whole, out=share, where=whole > 0)


def _most(values: Doubles, of: Longs, groups: int) -> Doubles:
    """The largest value of each group, NaN without any."""
    most: Doubles = np.full(groups, -np.inf)
    np.maximum.at(most, of, values)
    most[~np.isfinite(most)] = np.nan
    return most


def _busiest(used: Doubles, of_part: Longs, buckets: int) -> Longs:
    """The part of each bucket that used most."""
    order = np.lexsort((used, of_part))
    return order[np.searchsorted(of_part[order], np.arange(buckets), "right") - 1]


@dataclass(frozen=True)
class _Spans:
    """The first and last moment of each bucket."""

    first: Longs
    last: Longs

    @classmethod
    def of(cls, rows: pa.Table, whose: Longs, buckets: int) -> _Spans:
        begin, stop = (np.asarray(rows[name]) for name in ("start", "end"))
        first, last = np.full(buckets, np.iinfo(np.int64).max), np.zeros(buckets, np.int64)
        np.minimum.at(first, whose, begin)
        np.maximum.at(last, whose, stop)
        return cls(first, last)

    @property
    def days(self) -> Doubles:
        """Their length."""
        return (self.last - self.first) / _DAY

    def left(self, windows: Windows, of_part: Longs) -> Doubles:
        """Days from each window to the end of its bucket."""
        return np.asarray((self.last[of_part[windows.bucket]] - windows.begin) / _DAY)


def _windows_counted(
    rows: pa.Table, whose: Longs, part: Longs, windows: Windows, of_part: Longs
) -> dict[str, pa.Array]:
    """The windows of each bucket on all brokers, those of unknown use, and the share that was throttled."""
    buckets, throttle_ms = len(np.unique(whose)), np.asarray(rows["throttle_ms"].fill_null(np.nan))
    each, firsts = numbered(pa.table({"part": part, "start": rows["start"]}), ["part", "start"])
    told, throttled, unknown = (np.zeros(len(firsts), np.bool_) for _ in range(3))
    np.logical_or.at(told, each, ~np.isnan(throttle_ms))
    np.logical_or.at(throttled, each, throttle_ms > 0)
    np.logical_or.at(unknown, each, np.asarray(rows["unknown"]))
    count, told_of, throttled_of, unknown_of = (
        _sums(whose[firsts], flags, buckets) for flags in (np.ones(len(firsts)), told, throttled, unknown)
    )
    limit = np.zeros(buckets)
    limit[whose] = np.asarray(rows["limit"], np.float64)
    bucket = of_part[windows.bucket]
    above = _sums(bucket, windows.value > limit[bucket], buckets)
    share = np.where(told_of > 0, throttled_of, above) / count
    counts = {"windows": count, "windows_unknown": unknown_of}
    return {**{name: pa.array(of.astype(np.int64)) for name, of in counts.items()}, "share_throttled": pa.array(share)}


def _percentiles(windows: Windows, of_part: Longs, buckets: int, percentile: float) -> Doubles:
    """What this share of a bucket's windows does not exceed, on the broker where it is most."""
    order = np.lexsort((windows.value, windows.bucket))
    parts, firsts, sizes = np.unique(windows.bucket, return_index=True, return_counts=True)
    places = firsts + np.ceil(percentile * sizes).astype(np.int64) - 1
    return _most(windows.value[order][places], of_part[parts], buckets)


# --- growth: from day to day, of the mean use while there is any ---


def _slopes(windows: Windows, of_part: Longs, buckets: int, asked: Asked) -> tuple[Doubles, Flags]:
    """The growth of each bucket a day, as a logarithm and never below 0; and whether it is told."""
    if asked.growth is not None:
        return np.full(buckets, math.log1p(asked.growth) / MONTH), np.ones(buckets, np.bool_)
    day, bucket = windows.begin // _DAY, of_part[windows.bucket]
    days = pa.table({"bucket": bucket, "day": day})
    each, firsts = numbered(days, ["bucket", "day"])
    length = (windows.stop - windows.begin).astype(np.float64)
    active = _sums(each, length, len(firsts))
    level = np.log(_sums(each, windows.value * length, len(firsts)) / active)
    of_day, slope, is_told = bucket[firsts], np.zeros(buckets), np.zeros(buckets, np.bool_)
    is_whole = active >= 0.5 * _most(active, of_day, buckets)[of_day]
    order = np.lexsort((day[firsts], of_day))
    edges = np.searchsorted(of_day[order], np.arange(buckets + 1))
    for one in range(buckets):
        its = order[edges[one] : edges[one + 1]]
        its = its[is_whole[its]]
        if len(its) >= _TREND_DAYS:
            slope[one], is_told[one] = _slope(day[firsts[its]], level[its]), True
    return np.clip(slope, 0.0, _STEEPEST), is_told


def _slope(day: Longs, level: Doubles) -> float:
    """The median of the slopes between each two days (Theil and Sen): one odd day does not move it.

    Where there are some, of two of the same day of the week: a week that ends with a weekend is not a decrease.
    """
    earlier, later = np.triu_indices(len(day), 1)
    slopes = (level[later] - level[earlier]) / (day[later] - day[earlier])
    is_same = (day[later] - day[earlier]) % _WEEK == 0
    return float(np.median(slopes[is_same] if np.count_nonzero(is_same) >= _SEASONS else slopes))


# --- the least limit that keeps the promise ---


@dataclass(frozen=True)
class _Search:
    """The windows by hours. A block is an hour of a bucket on one broker, `of_hour` the bucket of an hour."""

    windows: Windows
    most: Doubles
    is_tokens: Flags
    promise: float
    bucket: Longs
    hour: Longs
    part: Longs
    of_hour: Longs
    day: Longs

    @classmethod
    def of(cls, windows: Windows, of_part: Longs, buckets: int, is_tokens: Flags, promise: float) -> _Search:
        """Of windows in the order of their parts and times."""
        place, part = windows.begin // _HOUR, windows.bucket
        firsts = np.flatnonzero((np.diff(part, prepend=-1) != 0) | (np.diff(place, prepend=-1) != 0))
        block = np.cumsum(np.isin(np.arange(len(part)), firsts)) - 1
        bucket, at = of_part[part[firsts]], place[firsts]
        hour, first_blocks = numbered(pa.table({"bucket": bucket, "hour": at}), ["bucket", "hour"])
        of_hour = bucket[first_blocks]
        day, _ = numbered(pa.table({"bucket": of_hour, "day": at[first_blocks] // 24}), ["bucket", "day"])
        overlap = (part[1:] == part[:-1]) & (windows.begin[1:] < windows.stop[:-1])
        together = np.add if overlap.any() else np.maximum  # those that overlap may be wanted at once
        most = together.reduceat(windows.value, firsts) if len(firsts) else np.zeros(0)
        blocks = replace(windows, bucket=block)
        return cls(blocks, most, is_tokens, promise, bucket, hour, part[firsts], of_hour, day)

    def least(self, from_: Doubles) -> Doubles:
        """The least limit of each bucket, from this one on, that keeps the promise; NaN where none can be made."""
        buckets = len(from_)
        highest = np.fmax(_most(self.most, self.bucket, buckets), from_)
        can = self.keeps(np.full(buckets, np.inf))
        low, high = from_.copy(), np.where(self.keeps(from_), from_, highest)
        for _ in range(_STEPS):
            is_open = can & (high > low * 1.01)
            if not is_open.any():
                break
            middle = np.sqrt(low * high)
            keeps = self.keeps(np.where(is_open, middle, np.inf))
            high, low = np.where(is_open & keeps, middle, high), np.where(is_open & ~keeps, middle, low)
        return np.where(can, high, np.nan)

    def keeps(self, limit: Doubles) -> Flags:
        """Whether a limit of each bucket keeps the promise: in all hours, on each day, and on each broker."""
        replayed = under_limits(self.windows, self.most, limit[self.bucket], self.is_tokens[self.bucket])
        throttled, active = replayed.throttled, replayed.active
        buckets, hours = len(limit), len(self.of_hour)
        by_hour = [_sums(self.hour, values, hours) for values in (throttled, active)]
        whole = [_sums(self.of_hour, values, buckets) for values in by_hour]
        count = _over(whole[1] ** 2, _sums(self.of_hour, by_hour[1] ** 2, buckets))
        keeps = is_promise(_over(whole[0], whole[1]), np.nan_to_num(count), self.promise)
        for group, of, figures in (
            (self.day, self.of_hour, by_hour),
            (self.part, self.bucket, [throttled, active]),
        ):
            some, all_ = (_sums(group, values, int(group.max(initial=-1)) + 1) for values in figures)
            np.logical_and.at(keeps, of, (some <= self.promise * all_)[group])
        return keeps


def is_promise(share: Doubles, hours: Doubles, promise: float) -> Flags:
    """Whether so many hours with this share of throttled seconds let one promise that it is not more, by Hoeffding."""
    seen = np.clip(np.nan_to_num(share, nan=1.0), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        throttled = np.where(seen > 0, seen * np.log(seen / promise), 0.0)
        others = np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - promise)), 0.0)
    return np.asarray((seen < promise) & (hours * (throttled + others) >= -math.log(DOUBT) * (1 - 1e-12)))
