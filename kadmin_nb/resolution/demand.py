"""The demand of clients, added up by bucket, spread over seconds, and replayed under the limits.

Depends on numpy, pyarrow and `sampling` alone, so that Spark can ship this module to its workers by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .lookup import Doubles, Flags, Longs
from .sampling import PAST, PERIOD, REST, Replay, replay

BUCKET = ("broker", "key", "bucket_user", "bucket_client_id")
READ = (*BUCKET, "level", "limit", "user", "client_id", "start", "end", "value")
"""The columns of a demand: `start` and `end` in microseconds since 1970, `value` and `limit` a second."""

CELLS = 1 << 22
"""Seconds times buckets that are replayed at once."""
_SECOND = 1_000_000
_NOISE = 1e-9
_COUNTED = ("active", "throttled", "throttled_for", "longest", "delay", "first")


def judged(demand: pa.Table, names: Sequence[str], tokens: str) -> pa.Table:
    """One row per bucket, in no order: the columns of BACKTEST, `first_throttled` in microseconds.

    Parameters
    ----------
    demand
        The columns of READ, and all rows of each bucket that has any. A row without a client is of several that were
        added up; one without a window only tells that there is such a client.
    names
        What tells one bucket from the others.
    tokens
        The key whose buckets hold tokens.
    """
    whose, first = numbered(demand, names)
    buckets, clients = demand.take(pa.array(first)), clients_of(demand, whose, len(first))
    limit = np.asarray(buckets["limit"], np.float64)
    by_tokens = np.asarray(pc.equal(buckets["key"].cast(pa.string()), tokens))
    windows, most = wanted_in_windows(demand, whose, len(first))
    return _frame(buckets, names, clients, under_limits(windows, most, limit, by_tokens))


def under_limits(windows: Windows, most: Doubles, limit: Doubles, by_tokens: Flags) -> Replay:
    """The effect of a limit on each bucket, `first` in seconds since 1970; `most` is the most it wanted in a second."""
    replayed = _quiet(windows, len(limit))
    busy = np.isfinite(limit) & (limit > 0) & (most * PERIOD > limit * PAST)
    every = _series(windows.of(busy[windows.bucket]))
    for some, series in _pooled((some, whole.where_it_matters(limit[some])) for some, whole in every):
        part = replay(series.wanted, limit[some], by_tokens[some], series.idle)
        part.first[:] = series.times(part.first)
        part.active[:] += series.left_out
        for name in _COUNTED:
            getattr(replayed, name)[some] = getattr(part, name)
    return replayed


def numbered(table: pa.Table, names: Sequence[str]) -> tuple[Longs, Longs]:
    """The number of each row among the distinct ones, by these columns, and a row of each."""
    number = np.zeros(len(table), np.int64)
    for name in names:
        codes = pc.dictionary_encode(table[name].cast(_value_type(table[name].type)).combine_chunks(), "encode")
        joint = number * len(codes.dictionary) + np.asarray(codes.indices, np.int64)
        number = np.asarray(pc.dictionary_encode(pa.array(joint)).indices, np.int64)
    first = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def clients_of(demand: pa.Table, whose: Longs, buckets: int) -> Longs:
    """Counts of the clients of each bucket."""
    clients = pa.table({"bucket": whose, "user": demand["user"], "client_id": demand["client_id"]})
    clients = clients.filter(clients["user"].is_valid())
    _, first = numbered(clients, clients.column_names)
    counted: Longs = np.bincount(np.asarray(clients["bucket"])[first], minlength=buckets).astype(np.int64)
    return counted


class Windows(NamedTuple):
    """What was wanted a second in each window, by bucket and time; times are in microseconds."""

    bucket: Longs
    begin: Longs
    stop: Longs
    value: Doubles

    def of(self, rows: Any) -> Windows:
        """These windows."""
        return Windows(*(column[rows] for column in self))

    @property
    def firsts(self) -> Longs:
        """The first window of each bucket that has any."""
        return np.flatnonzero(np.diff(self.bucket, prepend=-1))


def is_second(begin: Any, stop: Any, remainder: Any) -> Any:
    """Is it a window of a second that begins with one? Such windows of a bucket's clients are simply added up."""
    return (stop - begin == _SECOND) & (remainder(begin, _SECOND) == 0)


def wanted_in_windows(demand: pa.Table, whose: Longs, buckets: int) -> tuple[Windows, Doubles]:
    """The windows, same ones added up, and what each bucket wanted at most a second, were all of it at once."""
    rows = np.flatnonzero(np.asarray(demand["start"].is_valid()))
    demand, whose = demand.take(pa.array(rows)), whose[rows]
    begin, stop = np.asarray(demand["start"]), np.asarray(demand["end"])
    windows = Windows(whose, begin, stop, np.asarray(demand["value"], np.float64))
    by_second = is_second(begin, stop, np.remainder)
    seconds = _added_up(windows.of(by_second))
    most = np.zeros(buckets)
    np.maximum.at(most, seconds.bucket, seconds.value)
    if by_second.all():
        return seconds, most
    of_clients = pa.table({"bucket": whose, "user": demand["user"], "client_id": demand["client_id"]})
    client, first = numbered(of_clients.filter(pa.array(~by_second)), of_clients.column_names)
    others = windows.of(~by_second)
    of_client = np.zeros(len(first))
    np.maximum.at(of_client, client, others.value)
    most += np.bincount(others.bucket[first], of_client, buckets)
    both: Any = zip(seconds, _without_overlaps(others, client), strict=True)
    return _added_up(Windows(*map(np.concatenate, both))), most


def _added_up(windows: Windows) -> Windows:
    """In order, those of a bucket that are the same as one."""
    windows = windows.of(np.lexsort((windows.stop, windows.begin, windows.bucket)))
    columns = (windows.bucket, windows.begin, windows.stop)
    firsts = np.flatnonzero(reduce(np.logical_or, (np.diff(column, prepend=-1) != 0 for column in columns)))
    if len(firsts) == len(windows.bucket):
        return windows
    return windows.of(firsts)._replace(value=np.add.reduceat(windows.value, firsts))


def _without_overlaps(windows: Windows, client: Longs) -> Windows:
    """Each client's windows one after the other: of two that overlap the later one counts from where the first ends.

    A metric's rate looks back eleven seconds, and is sampled more often than that.
    """
    order = np.lexsort((windows.begin, windows.stop, client))
    windows, client = windows.of(order), client[order]
    begin = windows.begin.copy()
    follows = np.flatnonzero((client[1:] == client[:-1]) & (begin[1:] < windows.stop[:-1])) + 1
    begin[follows] = windows.stop[follows - 1]
    has_length = begin < windows.stop
    return Windows(windows.bucket, begin, windows.stop, windows.value).of(has_length)


def _quiet(windows: Windows, buckets: int) -> Replay:
    """The result of buckets that are never throttled: they are active while their windows last."""
    replayed = Replay.empty(buckets)
    replayed.active[:] = np.ceil(np.bincount(windows.bucket, (windows.stop - windows.begin) / _SECOND, buckets))
    return replayed


@dataclass(frozen=True)
class _Series:
    """The demand of some buckets, a row per second and a column per bucket, without their long rests.

    `idle` says before which seconds so many periods are left out, None where there are none; `start` is the second,
    since 1970, with which each begins. `before` are all seconds that are left out before each one, where it is known;
    `left_out` is the number of those in which something was wanted, and the limit does not matter.
    """

    wanted: Doubles
    idle: Doubles | None
    start: Longs
    before: Doubles | None = None
    left_out: Longs | int = 0

    def times(self, places: Doubles) -> Doubles:
        """A place among the rows of each bucket as a second since 1970."""
        assert self.before is not None
        rows = np.minimum(np.nan_to_num(places).astype(np.int64), len(self.before) - 1)
        return self.start + places + self.before[rows, np.arange(len(places))]

    def where_it_matters(self, limit: Doubles) -> _Series:
        """The seconds in which the limit may throttle, with a period around them.

        A queue that is served at the limit, second by second, is never shorter than the broker's: what this one lets
        through in eleven seconds, the broker does, too. Where it has been empty for a period, the broker's is, and
        nothing is throttled; what was used before that does not matter then, nor do tokens lack.
        """
        room = np.cumsum(self.wanted - limit, axis=0)  # as if no time were left out: the queue is longer then
        waits = room - np.minimum.accumulate(np.minimum(room, 0.0), axis=0) > _NOISE * limit
        so_far = np.cumsum(np.pad(waits, ((PERIOD + 1, PERIOD), (0, 0))), axis=0, dtype=np.int32)
        matters = so_far[2 * PERIOD + 1 :] > so_far[: -2 * PERIOD - 1]
        row, column = np.nonzero(matters)
        place = (np.cumsum(matters, axis=0, dtype=np.int32) - 1)[row, column]
        shape = (max(int(matters.sum(axis=0).max()), 1), len(limit))

        def kept(values: Doubles | Longs) -> Doubles:
            part = np.zeros(shape)
            part[place, column] = values
            return part

        idle = None if self.idle is None else kept(self.idle[row, column])
        before = row - place if self.idle is None else row - place + np.cumsum(self.idle, axis=0)[row, column] * PERIOD
        left_out = ((self.wanted > 0) & ~matters).sum(axis=0)
        return _Series(kept(self.wanted[row, column]), idle, self.start, kept(before), left_out)


def _series(windows: Windows) -> Iterator[tuple[Longs, _Series]]:
    """Some of these buckets, and what they wanted; the short ones first."""
    if not len(windows.bucket):
        return
    firsts = windows.firsts
    number = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(windows.bucket)))
    start, (left_out, periods, idle_at) = windows.begin[firsts] // _SECOND, _rests(windows, number, firsts)
    begin, stop = (times - left_out * _SECOND for times in (windows.begin, windows.stop))
    length = np.maximum.reduceat(-(-stop // _SECOND), firsts)
    largest = np.maximum.reduceat(windows.value, firsts)
    by_length = np.argsort(length, kind="stable")
    place = np.empty_like(by_length)
    place[by_length] = np.arange(len(by_length))
    order = np.argsort(place[number], kind="stable")
    edges = np.searchsorted(place[number][order], np.arange(len(firsts) + 1))
    for some in _stretches(length[by_length]):
        rows, chosen = order[edges[some.start] : edges[some.stop]], by_length[some]
        shape, column = (int(length[chosen].max()), len(chosen)), place[number[rows]] - some.start
        wanted = _by_second(shape, column, begin[rows], stop[rows], windows.value[rows])
        wanted[wanted <= _NOISE * largest[chosen]] = 0.0
        rests = np.flatnonzero(periods[rows])
        idle = _summed(shape, idle_at[rows][rests], column[rests], periods[rows][rests]) if len(rests) else None
        yield windows.bucket[firsts[chosen]], _Series(wanted, idle, start[chosen])


def _pooled(parts: Iterable[tuple[Longs, _Series]]) -> Iterator[tuple[Longs, _Series]]:
    """Several of them as one, as far as they are short: each second of all buckets is one step."""
    pool: list[tuple[Longs, _Series]] = []
    rows = columns = 0
    for some, series in parts:
        height, width = series.wanted.shape
        if pool and max(rows, height) * (columns + width) > CELLS:
            yield _beside(pool)
            pool, rows, columns = [], 0, 0
        pool.append((some, series))
        rows, columns = max(rows, height), columns + width
    if pool:
        yield _beside(pool)


def _beside(pool: Sequence[tuple[Longs, _Series]]) -> tuple[Longs, _Series]:
    """All buckets of these beside each other; the short ones want nothing at the end."""
    rows = max(len(series.wanted) for _, series in pool)

    def column(values: Sequence[Doubles | None]) -> Doubles:
        widths = [series.wanted.shape[1] for _, series in pool]
        whole = [np.zeros((0, width)) if part is None else part for part, width in zip(values, widths, strict=True)]
        return np.concatenate([np.pad(part, ((0, rows - len(part)), (0, 0))) for part in whole], axis=1)

    some, every = (np.concatenate([part[0] for part in pool]), [series for _, series in pool])
    idle = None if all(series.idle is None for series in every) else column([series.idle for series in every])
    wanted, before = column([series.wanted for series in every]), column([series.before for series in every])
    start, left_out = (np.concatenate([getattr(series, name) for series in every]) for name in ("start", "left_out"))
    return some, _Series(wanted, idle, start, before, left_out)


def _rests(windows: Windows, number: Longs, firsts: Longs) -> tuple[Longs, Longs, Longs]:
    """The seconds since 1970 that are left out before each window; how many periods of them are after it, and from
    which second of its bucket on."""
    ends = -(-windows.stop // _SECOND)
    apart = number * (ends.max() - ends.min() + 1)
    ended = np.maximum.accumulate(ends + apart) - apart
    periods = np.zeros(len(number), np.int64)
    periods[:-1] = np.maximum((windows.begin[1:] // _SECOND - ended[:-1] - REST) // PERIOD, 0)
    periods[firsts[1:] - 1] = 0
    before = np.cumsum(periods) - periods
    left_out = windows.begin[firsts[number]] // _SECOND + (before - before[firsts[number]]) * PERIOD
    return left_out, periods, ended - left_out


def _stretches(length: Longs) -> Iterator[slice]:
    """Buckets, ordered by their length in seconds, some at a time."""
    start = 0
    while start < len(length):
        most = length[start : start + CELLS]
        fit = np.searchsorted(most * np.arange(1, len(most) + 1), CELLS, "right")
        stop = start + max(int(fit), 1)
        yield slice(start, stop)
        start = stop


def _by_second(shape: tuple[int, int], column: Longs, begin: Longs, stop: Longs, value: Doubles) -> Doubles:
    """The part of each second in windows (in microseconds from 0), each evenly spread over its length."""
    first, last = begin // _SECOND, -(-stop // _SECOND)
    head = np.minimum((first + 1) * _SECOND, stop) - begin
    whole = _summed(shape, first, column, value * head / _SECOND)
    inner = np.flatnonzero(first + 1 < last)
    if not len(inner):
        return whole
    first, last, column, value = first[inner], last[inner], column[inner], value[inner]
    # full seconds in between as steps of a running sum, the end by itself
    steps = _summed(shape, first + 1, column, value) - _summed(shape, last - 1, column, value)
    tail = stop[inner] - (last - 1) * _SECOND
    return whole + np.cumsum(steps, axis=0) + _summed(shape, last - 1, column, value * tail / _SECOND)


def _summed(shape: tuple[int, int], row: Longs, column: Longs, value: Any) -> Doubles:
    """A matrix of the sums of values at these places."""
    rows, columns = shape
    sums: Doubles = np.bincount(row * columns + column, value, rows * columns).astype(np.float64)
    return sums.reshape(shape)


def _frame(buckets: pa.Table, names: Sequence[str], clients: Longs, replayed: Replay) -> pa.Table:
    first = np.nan_to_num(replayed.first * _SECOND).round().astype(np.int64)
    return pa.table(
        {
            **{name: buckets[name] for name in (*names, "level", "limit")},
            "clients": clients,
            "windows": replayed.active.astype(np.int64),
            "throttled_windows": replayed.throttled.astype(np.int64),
            "throttled_share": replayed.throttled / np.maximum(replayed.active, 1.0),
            "throttled_s": replayed.throttled_for,
            "longest_s": replayed.longest,
            "delay_s": replayed.delay,
            "first_throttled": pa.array(first, mask=np.isnan(replayed.first)),
        }
    )
