"""The figures that go from window to window: UTILISATION of each bucket, and the windows that a broker was watched for.

Both engines run it, Spark on its workers: tables of Arrow go in and come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..resolution.lookup import Doubles, Flags, Longs

BUCKET = ("key", "bucket_user", "bucket_client_id", "user", "client_id", "level")
"""The columns that tell a broker's buckets from each other."""

MICROSECONDS = 1e6
_ONE_LENGTH = "they must have one length"


def bucket_figures(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The columns of UTILISATION, of whole buckets.

    Parameters
    ----------
    rows
        A row a bucket and window: the columns `by`, BUCKET, `start`, `end`, `limit`, `used` as far as it is known,
        `unknown` where it is not in full, `throttle_ms`, and `windows` and `brokers` as the broker has them. And a row
        without a window for each client that shares one.
    by
        The columns of whose windows are compared, among them `measured`.
    """
    names, is_client = [*by, *BUCKET], rows["start"].is_null()
    clients, windows = rows.filter(is_client), rows.filter(pc.invert(is_client))
    windows, groups = Groups.sorted(windows, names, [_micros(windows["start"])])
    buckets = windows.select([*names, "limit", "windows", "brokers"]).take(groups.firsts)
    figures = {**{name: buckets[name] for name in buckets.column_names}, **_figures(windows, groups)}
    figures["clients"] = _client_counts(buckets, clients, names)
    return pa.table(figures)


def watched_windows(times: pa.Table, by: Sequence[str], unwatched_after: float) -> pa.Table:
    """The number of `windows` that each broker was watched for, or the `fault` for which nobody can tell.

    They are those from the first to the last, less what nobody watched; of metrics those that there are.

    Parameters
    ----------
    times
        The columns `by`, `start` and `end`, each window once.
    by
        The columns that identify a broker, among them `measured`.
    unwatched_after
        Seconds without a window after which nobody watched.
    """
    times, groups = Groups.sorted(times, by, [_micros(times["start"])])
    start, end = _micros(times["start"]), _micros(times["end"])
    shortest, longest = (groups.reduced(least_or_most, end - start) for least_or_most in (np.minimum, np.maximum))
    gaps = np.where(groups.begins, 0, start - np.roll(end, 1))
    unwatched = groups.reduced(np.add, np.where(gaps > unwatched_after * MICROSECONDS, gaps, 0))
    span = groups.reduced(np.maximum, end) - start[groups.firsts] - unwatched
    brokers = times.select(by).take(groups.firsts)
    counts = np.where(np.asarray(brokers["measured"]), groups.sizes, -(-span // np.maximum(longest, 1)))
    faults = _faults(brokers["broker"].to_pylist(), shortest / MICROSECONDS, longest / MICROSECONDS)
    return brokers.append_column("windows", pa.array(counts)).append_column("fault", faults)


def _faults(brokers: Sequence[int], shortest: Doubles, longest: Doubles) -> pa.Array:
    """The fault of each broker whose windows differ in their seconds, or have none."""
    texts = [
        None if 0 < least == most else f"broker {broker} has windows of {least} s and of {most} s: {_ONE_LENGTH}"
        for broker, least, most in zip(brokers, shortest, longest, strict=True)
    ]
    return pa.array(texts, pa.string())


def _micros(times: pa.ChunkedArray) -> Longs:
    return np.asarray(times.cast(pa.int64()))


def _figures(windows: pa.Table, groups: Groups) -> dict[str, Any]:
    """The figures of each bucket, out of its windows in the order of time: of what is known, NaN where nothing is."""
    known, limits = _doubles(windows["used"]), _doubles(windows["limit"])
    count, limit = (np.asarray(column)[groups.firsts] for column in (windows["windows"], limits))
    peak, used = groups.reduced(np.fmax, known), np.where(np.isnan(known), 0.0, known)
    is_unknown = np.isnan(peak)
    throttle_ms = _doubles(windows["throttle_ms"])
    longest_throttle = groups.reduced(np.fmax, throttle_ms)
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = np.where(limit == 0, np.nan, 100 * peak / limit)
    shares = {
        "share_above_80": groups.reduced(np.add, (used > 0.8 * limits).astype(np.int64)) / count,
        "share_above_100": groups.reduced(np.add, (used > limits).astype(np.int64)) / count,
        "longest_above_100_s": groups.reduced(np.maximum, _run_seconds(windows, groups, used > limits)),
    }
    is_limited = np.asarray(windows["limit"].is_valid())[groups.firsts]
    throttled = groups.reduced(np.add, (throttle_ms > 0).astype(np.int64)) / count
    return {
        "limit_x_brokers": pc.multiply(windows["limit"].take(groups.firsts), windows["brokers"].take(groups.firsts)),
        "windows_seen": groups.sizes,
        "windows_unknown": groups.reduced(np.add, np.asarray(windows["unknown"]).astype(np.int64)),
        "peak": _null_for_nan(peak),
        "p95": pa.array(_p95(used, count, groups), mask=is_unknown),
        "mean": pa.array(groups.reduced(np.add, used) / count, mask=is_unknown),
        "utilisation": _null_for_nan(percent),
        "headroom": _null_for_nan(limit - peak),
        "headroom_percent": _null_for_nan(100 - percent),
        **{name: pa.array(figure, mask=~is_limited | is_unknown) for name, figure in shares.items()},
        "throttle_ms": _null_for_nan(longest_throttle),
        "share_throttled": pa.array(throttled, mask=np.isnan(longest_throttle)),
    }


def _run_seconds(windows: pa.Table, groups: Groups, is_above: Flags) -> Doubles:
    """Seconds that the bucket has been above its limit at the end of each window, 0 where it is not."""
    start, end = _micros(windows["start"]), _micros(windows["end"])
    goes_on = np.zeros(len(start), np.bool_)
    goes_on[1:] = is_above[:-1] & (start[1:] <= end[:-1])
    begins = is_above & ~(goes_on & ~groups.begins)
    began = np.maximum.accumulate(np.where(begins, np.arange(len(start)), 0)) if len(start) else start
    return np.where(is_above, (end - start[began]) / MICROSECONDS, 0.0)


def _p95(used: Doubles, count: Longs, groups: Groups) -> Doubles:
    """The use that 95 % of all windows, those without use included, do not exceed."""
    in_order = used[np.lexsort([-used, groups.of_row])]
    at = count // 20
    return np.where(at < groups.sizes, in_order[groups.firsts + np.minimum(at, groups.sizes - 1)], 0.0)


def _client_counts(buckets: pa.Table, clients: pa.Table, names: Sequence[str]) -> pa.Array:
    """The number of clients that share each bucket; null where the broker measured it."""
    codes = codes_of(pa.concat_tables([buckets.select(names), clients.select(names)]), names)
    sharing = np.bincount(codes[len(buckets) :], minlength=len(codes))[codes[: len(buckets)]]
    return pa.array(np.maximum(sharing, 1), mask=np.asarray(buckets["measured"]))


def _doubles(column: pa.ChunkedArray) -> Doubles:
    """NaN for null."""
    return np.asarray(column.fill_null(np.nan))


def _null_for_nan(numbers: Doubles) -> pa.Array:
    """Null for NaN, which brokers take for a limit and which binds nobody."""
    return pa.array(numbers, from_pandas=True)


@dataclass(frozen=True)
class Groups:
    """Rows sorted by their group: `firsts` are the first rows of the groups, `of_row` is the group of each row."""

    firsts: Longs
    of_row: Longs

    @classmethod
    def sorted(cls, table: pa.Table, names: Sequence[str], then: Sequence[Any]) -> tuple[pa.Table, Groups]:
        """The table, sorted by groups of the same values in these columns, nulls being the same, and then by arrays."""
        codes = codes_of(table, names)
        order = np.lexsort([*reversed([np.asarray(key) for key in then]), codes])
        codes = codes[order]
        firsts = np.flatnonzero(np.diff(codes, prepend=-1))
        return table.take(order), cls(firsts, np.cumsum(np.isin(np.arange(len(codes)), firsts)) - 1)

    @property
    def begins(self) -> Flags:
        """Is the row the first of its group?"""
        flags = np.zeros(len(self.of_row), np.bool_)
        flags[self.firsts] = True
        return flags

    @property
    def sizes(self) -> Longs:
        """The number of rows of each group."""
        return np.diff(self.firsts, append=len(self.of_row))

    @property
    def places(self) -> Longs:
        """The place of each row within its group, from 0."""
        return np.arange(len(self.of_row)) - self.firsts[self.of_row]

    def reduced(self, ufunc: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of each group, put together by `ufunc`."""
        return ufunc.reduceat(values, self.firsts) if len(self.firsts) else values[:0]


def codes_of(table: pa.Table, names: Sequence[str]) -> Longs:
    """A number for each row: the same where the values of these columns are, and nulls are the same."""
    codes = np.zeros(len(table), np.int64)
    for name in names:
        column = table[name].combine_chunks()
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        each = pc.dictionary_encode(plain, "encode")
        codes = codes * max(1, len(each.dictionary)) + np.asarray(each.indices, dtype=np.int64)
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return codes
