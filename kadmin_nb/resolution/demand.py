"""The demand of clients, added up by bucket, spread over seconds, and replayed under the limits.

Depends on numpy, pyarrow and `sampling` alone, so that Spark can ship this module to its workers by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .lookup import Doubles, Longs
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
    """A row a bucket, in no order: the columns of BACKTEST, `first_throttled` in microseconds.

    Parameters
    ----------
    demand
        The columns of READ, and all rows of each bucket that has any.
    names
        What tells one bucket from the others.
    tokens
        The key whose buckets hold tokens.
    """
    demand = _without_overlaps(demand, names)
    whose, first = _numbered(demand, names)
    buckets = demand.take(pa.array(first))
    limit = np.asarray(buckets["limit"], np.float64)
    by_tokens = np.asarray(pc.equal(buckets["key"].cast(pa.string()), tokens))
    clients, most = _clients(demand, whose, len(first))
    replayed = _quiet(demand, whose, len(first))
    busy = np.flatnonzero(np.isfinite(limit) & (limit > 0) & (most * PERIOD > limit * PAST))
    for some, series in _series(demand, whose, busy):
        wanted, idle = (_matrix([getattr(one_series, name) for one_series in series]) for name in ("wanted", "idle"))
        part = replay(wanted, limit[some], by_tokens[some], idle)
        part.first[:] = [one_series.time(place) for one_series, place in zip(series, part.first, strict=True)]
        _insert(replayed, some, part)
    return _frame(buckets, names, clients, replayed)


def _without_overlaps(demand: pa.Table, names: Sequence[str]) -> pa.Table:
    """Each client's windows one after the other: of two that overlap the later one counts from where the first ends.

    A metric's rate looks back eleven seconds, and is sampled more often than that.
    """
    client, _ = _numbered(demand, [*names, "user", "client_id"])
    begin, stop = np.asarray(demand["start"]), np.asarray(demand["end"])
    order = np.lexsort((begin, stop, client))
    client, begin, stop = client[order], begin[order].copy(), stop[order]
    follows = np.flatnonzero((client[1:] == client[:-1]) & (begin[1:] < stop[:-1])) + 1
    if not len(follows):
        return demand
    begin[follows] = stop[follows - 1]
    has_length = begin < stop
    place = demand.schema.get_field_index("start")
    return demand.take(pa.array(order[has_length])).set_column(place, "start", pa.array(begin[has_length]))


def _numbered(table: pa.Table, names: Sequence[str]) -> tuple[Longs, Longs]:
    """The number of each row among the distinct ones, by these columns, and a row of each."""
    number = np.zeros(len(table), np.int64)
    for name in names:
        codes = pc.dictionary_encode(_whole(table[name].cast(_value_type(table[name].type))))
        joint = number * len(codes.dictionary) + np.asarray(codes.indices, np.int64)
        number = np.asarray(pc.dictionary_encode(pa.array(joint)).indices, np.int64)
    first = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.chunked_array(column.chunks or [pa.array([], column.type)]).combine_chunks()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _clients(demand: pa.Table, whose: Longs, buckets: int) -> tuple[Longs, Doubles]:
    """Counts of the clients of each bucket, and what they wanted at most a second, were it all at once."""
    clients = pa.table({"bucket": whose, "user": demand["user"], "client_id": demand["client_id"]})
    client, first = _numbered(clients, clients.column_names)
    most = np.zeros(len(first))
    np.maximum.at(most, client, np.asarray(demand["value"], np.float64))
    whose_client = whose[first]
    counted: Longs = np.bincount(whose_client, minlength=buckets).astype(np.int64)
    together: Doubles = np.bincount(whose_client, most, buckets).astype(np.float64)
    return counted, together


def _quiet(demand: pa.Table, whose: Longs, buckets: int) -> Replay:
    """The result of buckets that are never throttled: they are active while their windows last."""
    windows = pa.table({"bucket": whose, "start": demand["start"], "end": demand["end"]})
    _, first = _numbered(windows, windows.column_names)
    seconds = (np.asarray(demand["end"]) - np.asarray(demand["start"]))[first] / _SECOND
    replayed = Replay.empty(buckets)
    replayed.active[:] = np.ceil(np.bincount(whose[first], seconds, buckets))
    return replayed


@dataclass(frozen=True)
class _Series:
    """The demand of a bucket, second by second, without its long rests.

    `idle` says before which seconds so many periods are left out, `second` which seconds (since 1970) they are.
    """

    wanted: Doubles
    idle: Doubles
    second: Longs

    @classmethod
    def of(cls, begin: Longs, stop: Longs, value: Doubles) -> _Series:
        """Out of windows, in microseconds since 1970."""
        order = np.argsort(begin, kind="stable")
        begin, stop, value = begin[order], stop[order], value[order]
        ended = np.maximum.accumulate(-(-stop // _SECOND))
        periods = np.maximum((begin[1:] // _SECOND - ended[:-1] - REST) // PERIOD, 0)
        start = begin[0] // _SECOND
        left_out = start + np.concatenate([[0], np.cumsum(periods * PERIOD)])
        wanted = _by_second(begin - left_out * _SECOND, stop - left_out * _SECOND, value)
        idle, rests = np.zeros(len(wanted)), np.flatnonzero(periods)
        idle[(ended - left_out)[rests]] = periods[rests]
        return cls(wanted, idle, start + np.arange(len(wanted)) + np.cumsum(idle).astype(np.int64) * PERIOD)

    def time(self, place: float) -> float:
        """A place among the rows as a second since 1970."""
        if np.isnan(place):
            return place
        row = min(int(place), len(self.second) - 1)
        return float(self.second[row] + place - row)


def _series(demand: pa.Table, whose: Longs, busy: Longs) -> Iterator[tuple[Longs, list[_Series]]]:
    """Some of these buckets, and what they wanted; the short ones first."""
    if not len(busy):
        return
    order = np.argsort(whose, kind="stable")
    begin, stop = np.asarray(demand["start"])[order], np.asarray(demand["end"])[order]
    value = np.asarray(demand["value"], np.float64)[order]
    edges = np.searchsorted(whose[order], np.arange(whose.max() + 2))
    rows = [slice(edges[bucket], edges[bucket + 1]) for bucket in busy]
    span = np.array([-(-(stop[its].max() - begin[its].min()) // _SECOND) + 2 for its in rows])
    awake = np.array([((stop[its] - begin[its]) // _SECOND + 2 + REST + PERIOD).sum() for its in rows])
    length = np.minimum(span, awake)
    by_length = np.argsort(length, kind="stable")
    for some in _stretches(length[by_length]):
        chosen = by_length[some]
        yield busy[chosen], [_Series.of(begin[rows[n]], stop[rows[n]], value[rows[n]]) for n in chosen]


def _matrix(columns: Sequence[Doubles]) -> Doubles:
    """Columns of several lengths side by side, zeros below the short ones."""
    matrix = np.zeros((max(map(len, columns)), len(columns)))
    for number, column in enumerate(columns):
        matrix[: len(column), number] = column
    return matrix


def _stretches(length: Longs) -> Iterator[slice]:
    """Buckets, ordered by their length in seconds, some at a time."""
    start = 0
    while start < len(length):
        fit = np.flatnonzero(length[start:] * np.arange(1, len(length) - start + 1) <= CELLS)
        stop = start + max(len(fit), 1)
        yield slice(start, stop)
        start = stop


def _by_second(begin: Longs, stop: Longs, value: Doubles) -> Doubles:
    """The part of each second in windows (in microseconds from 0), each evenly spread over its length."""
    first, last = begin // _SECOND, -(-stop // _SECOND)
    whole = np.zeros(int(last.max()) + 1)
    inner = (stop > begin) & (first + 1 < last)
    # full seconds in between as steps of a running sum, the two ends by themselves
    np.add.at(whole, first[inner] + 1, value[inner])
    np.add.at(whole, last[inner] - 1, -value[inner])
    whole = np.cumsum(whole)
    head = np.minimum((first + 1) * _SECOND, stop) - begin
    np.add.at(whole, first, value * head / _SECOND)
    tail = stop - np.maximum((last - 1) * _SECOND, begin)
    np.add.at(whole, last[inner] - 1, (value * tail / _SECOND)[inner])
    return np.where(whole[:-1] > _NOISE * value.max(), whole[:-1], 0.0)


def _insert(replayed: Replay, some: Longs, part: Replay) -> None:
    for name in _COUNTED:
        getattr(replayed, name)[some] = getattr(part, name)


def _frame(buckets: pa.Table, names: Sequence[str], clients: Longs, replayed: Replay) -> pa.Table:
    first = np.nan_to_num(replayed.first * _SECOND).round().astype(np.int64)
    columns: dict[str, Any] = {name: buckets[name] for name in (*names, "level", "limit")}
    return pa.table(
        {
            **columns,
            "clients": pa.array(clients, pa.int64()),
            "windows": pa.array(replayed.active.astype(np.int64)),
            "throttled_windows": pa.array(replayed.throttled.astype(np.int64)),
            "throttled_share": pa.array(replayed.throttled / np.maximum(replayed.active, 1.0)),
            "throttled_s": pa.array(replayed.throttled_for),
            "longest_s": pa.array(replayed.longest),
            "delay_s": pa.array(replayed.delay),
            "first_throttled": pa.array(first, mask=np.isnan(replayed.first)),
        }
    )
