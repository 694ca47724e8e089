"""What clients wanted, added up by bucket and spread over seconds, and replayed under the limits.

Depends on numpy, pyarrow and `sampling` alone, so that Spark can ship this module to its workers by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .sampling import PAST, Replay, replay

Doubles = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]

BUCKET = ("broker", "key", "bucket_user", "bucket_client_id")
READ = (*BUCKET, "level", "limit", "user", "client_id", "start", "end", "value")
"""The columns of a demand: `start` and `end` in microseconds since 1970, `value` and `limit` a second."""

CELLS = 1 << 22
"""Seconds times buckets that are replayed at once."""
_SECOND = 1_000_000
_COUNTED = ("active", "throttled", "muted", "longest", "delay")


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
    whose, first = _numbered(demand, names)
    buckets = demand.take(pa.array(first))
    limit = np.asarray(buckets["limit"], np.float64)
    by_tokens = np.asarray(pc.equal(buckets["key"].cast(pa.string()), tokens))
    clients, most = _clients(demand, whose, len(first))
    found = _quiet(demand, whose, len(first))
    start = np.zeros(len(first), np.int64)
    busy = np.flatnonzero(np.isfinite(limit) & (limit > 0) & (most * (PAST + 1) > limit * PAST))
    for some, wanted, since in _spread(demand, whose, busy):
        start[some] = since
        _place(found, some, replay(wanted, limit[some], by_tokens[some]))
    return _frame(buckets, names, clients, start, found)


def judged_batches(given: tuple[Sequence[str], str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`judged` of all these batches together; they hold all rows of their buckets. `given` are names and tokens."""
    held = list(batches)
    if held:
        yield from judged(pa.Table.from_batches(held), *given).combine_chunks().to_batches()


def _numbered(table: pa.Table, names: Sequence[str]) -> tuple[Longs, Longs]:
    """The number of each row among the distinct ones, by these columns, and a row of each."""
    number = np.zeros(len(table), np.int64)
    for name in names:
        codes = pc.dictionary_encode(_whole(table[name].cast(_plain(table[name].type))))
        joint = number * len(codes.dictionary) + np.asarray(codes.indices, np.int64)
        number = np.asarray(pc.dictionary_encode(pa.array(joint)).indices, np.int64)
    first = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.chunked_array(column.chunks or [pa.array([], column.type)]).combine_chunks()


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _clients(demand: pa.Table, whose: Longs, buckets: int) -> tuple[Longs, Doubles]:
    """How many clients each bucket has, and what they wanted at most a second, were it all at once."""
    named = pa.table({"bucket": whose, "user": demand["user"], "client_id": demand["client_id"]})
    client, first = _numbered(named, named.column_names)
    most = np.zeros(len(first))
    np.maximum.at(most, client, np.asarray(demand["value"], np.float64))
    whose_client = whose[first]
    counted: Longs = np.bincount(whose_client, minlength=buckets).astype(np.int64)
    together: Doubles = np.bincount(whose_client, most, buckets).astype(np.float64)
    return counted, together


def _quiet(demand: pa.Table, whose: Longs, buckets: int) -> Replay:
    """What becomes of buckets that are never muted: they are active while their windows last."""
    windows = pa.table({"bucket": whose, "start": demand["start"], "end": demand["end"]})
    _, first = _numbered(windows, windows.column_names)
    seconds = (np.asarray(demand["end"]) - np.asarray(demand["start"]))[first] / _SECOND
    found = Replay.empty(buckets)
    found.active[:] = np.ceil(np.bincount(whose[first], seconds, buckets))
    return found


def _spread(demand: pa.Table, whose: Longs, busy: Longs) -> Iterator[tuple[Longs, Doubles, Longs]]:
    """Some of these buckets, what they wanted second by second, and the first second of each; the short ones first."""
    if not len(busy):
        return
    order = np.argsort(whose, kind="stable")
    begin, stop = np.asarray(demand["start"])[order], np.asarray(demand["end"])[order]
    value, edges = (
        np.asarray(demand["value"], np.float64)[order],
        np.searchsorted(whose[order], np.arange(whose.max() + 2)),
    )
    since = np.array([begin[edges[b] : edges[b + 1]].min() // _SECOND for b in busy])
    span = np.array([-(-stop[edges[b] : edges[b + 1]].max() // _SECOND) for b in busy]) - since
    by_span = np.argsort(span, kind="stable")
    for some in _stretches(span[by_span]):
        chosen = by_span[some]
        wanted = np.zeros((span[chosen].max(), len(chosen)))
        for column, number in enumerate(chosen):
            rows = slice(edges[busy[number]], edges[busy[number] + 1])
            own = _by_second(begin[rows] - since[number] * _SECOND, stop[rows] - since[number] * _SECOND, value[rows])
            wanted[: len(own), column] = own
        yield busy[chosen], wanted, since[chosen]


def _stretches(span: Longs) -> Iterator[slice]:
    """Buckets, ordered by their length in seconds, some at a time."""
    start = 0
    while start < len(span):
        fit = np.flatnonzero(span[start:] * np.arange(1, len(span) - start + 1) <= CELLS)
        stop = start + max(len(fit), 1)
        yield slice(start, stop)
        start = stop


def _by_second(begin: Longs, stop: Longs, value: Doubles) -> Doubles:
    """What windows (in microseconds from 0) hold of each second, each evenly spread over its length."""
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
    return np.maximum(whole[:-1], 0.0)


def _place(found: Replay, some: Longs, part: Replay) -> None:
    for name in (*_COUNTED, "first"):
        getattr(found, name)[some] = getattr(part, name)


def _frame(buckets: pa.Table, names: Sequence[str], clients: Longs, start: Longs, found: Replay) -> pa.Table:
    first = np.nan_to_num((start + found.first) * _SECOND).astype(np.int64)
    columns: dict[str, Any] = {name: buckets[name] for name in (*names, "level", "limit")}
    return pa.table(
        {
            **columns,
            "clients": pa.array(clients, pa.int64()),
            "windows": pa.array(found.active.astype(np.int64)),
            "throttled_windows": pa.array(found.throttled.astype(np.int64)),
            "throttled_share": pa.array(found.throttled / np.maximum(found.active, 1.0)),
            "throttled_s": pa.array(found.muted),
            "longest_s": pa.array(found.longest),
            "delay_s": pa.array(found.delay),
            "first_throttled": pa.array(first, mask=np.isnan(found.first)),
        }
    )
