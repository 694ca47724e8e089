"""The figures that go from window to window: the sums of each bucket, and the windows that a broker was watched for.

Both engines run it, Spark on its workers: tables of Arrow go in and come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import MOMENT
from ..resolution.demand import numbered
from ..resolution.lookup import Doubles, Flags, Longs
from .arithmetic import BINS, BUCKET_SUMS, SUM

BUCKET = ("key", "bucket_user", "bucket_client_id", "user", "client_id", "level", "limit")
"""The columns that tell a broker's buckets from each other; one whose limit moved is one for each limit."""

MICROSECONDS = 1e6
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
"""A day in microseconds."""

Watched = int | None
"""The time, in microseconds, up to which each day in UTC was watched whole on which a broker has usage; None: only the
times around its windows were."""


def bucket_figures(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The sums of whole buckets, and `p95`.

    Parameters
    ----------
    rows
        A row a bucket, client and window: the columns `by`, BUCKET, `start`, `end`, `value` as far as it is known,
        `unknown` where it is not in full, `throttle_ms`, the client's `its_user` and `its_client_id` where several may
        share the bucket, and `windows`, `length` and `brokers` as the broker has them. With the columns `first` and
        `last`, rows that have them tell the times in which the limit was in force: the numbers of the broker's windows.
    by
        The columns of whose windows are compared, among them `measured`.
    """
    sums, windows, groups = _sums(windows_together(rows, by), by)
    used = np.nan_to_num(_doubles(windows["value"]))
    most_first = used[np.lexsort([-used, groups.of_row])]
    place = np.asarray(sums["windows"]) // 20  # of all windows, those without use included
    p95 = np.where(place < groups.sizes, most_first[groups.firsts + np.minimum(place, groups.sizes - 1)], 0.0)
    return sums.append_column("p95", pa.array(p95, mask=np.asarray(sums["peak"].is_null())))


def bucket_days(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The sums of whole buckets by `day`, which `by` has in microseconds, with `histogram`; as `bucket_figures`.

    Those that were in force and that nobody used are there, too.
    """
    rows = windows_together(rows, by)
    sums, windows, groups = _sums(rows, by)
    histogram = _histogram(np.nan_to_num(_doubles(windows["value"])), groups)
    idle = _idle(sums, rows.filter(rows["first"].is_valid()), [*by, *BUCKET])
    nothing = pa.array([[]] * len(idle), histogram.type)
    days = pa.concat_tables([sums, idle], promote_options="default")
    day = pa.array((np.asarray(days["day"]) // DAY).astype(np.int32)).cast(pa.date32())
    days = days.set_column(days.column_names.index("day"), "day", day)
    days = days.append_column("window_s", pa.array(np.asarray(days["length"]) / MICROSECONDS))
    return days.append_column("histogram", pa.chunked_array([histogram, nothing]))


def windows_together(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """The same rows for `bucket_figures`, but fewer: one per bucket and window, however many clients share it, and one
    without a window for each client that shares a bucket."""
    marks = [name for name in ("first", "last") if name in rows.column_names]
    is_mark = pc.and_(rows["start"].is_valid(), rows["end"].is_null())
    of_buckets = [*by, *BUCKET, "windows", "length", "brokers"]
    of_windows = [*of_buckets, "start", "end", *marks]
    sums = {"value": "sum", "unknown": "max", "throttle_ms": "max"}
    found = rows.filter(rows["start"].is_valid()).group_by(of_windows, use_threads=False).aggregate([*sums.items()])
    added = {name: found[f"{name}_{how}"] for name, how in sums.items()}
    windows = pa.table({**{name: found[name] for name in of_windows}, **added})
    clients = rows.filter(pc.and_(rows["its_user"].is_valid(), pc.invert(is_mark)))
    clients = clients.group_by([*of_buckets, "its_user", "its_client_id"], use_threads=False).aggregate([])
    return pa.concat_tables([windows, clients], promote_options="default")


def watched_windows(times: pa.Table, by: Sequence[str], unwatched_after: float, watched: Watched) -> pa.Table:
    """The number of `windows` that each broker was watched for, and their `length`; or the `fault` that hides them.

    They are those from the first to the last, `since` and `until`, less what nobody watched: `watched_s` are left. Of
    metrics they are those that there are, and how long these stand for is not known.

    Parameters
    ----------
    times
        The columns `by`, `start` and `end`, each window once.
    by
        The columns that identify a broker, among them `measured`.
    unwatched_after
        Seconds without a window after which nobody watched.
    watched
        The time up to which days with usage were watched whole.
    """
    times, groups = Groups.sorted(times, by, [micros(times["start"])])
    start, end = micros(times["start"]), micros(times["end"])
    shortest, longest = (groups.reduced(least_or_most, end - start) for least_or_most in (np.minimum, np.maximum))
    brokers = times.select(by).take(pa.array(groups.firsts))
    axes = axes_of(brokers, groups, (start, end), unwatched_after, watched)
    counts = pa.array([axis.windows for axis in axes], pa.int64())
    faults = _faults(brokers["broker"].to_pylist(), shortest / MICROSECONDS, longest / MICROSECONDS)
    figures = {"windows": counts, "length": longest, **_seen(axes, groups, (start, end), brokers), "fault": faults}
    return pa.table({**{name: brokers[name] for name in brokers.column_names}, **figures})


def _seen(axes: Sequence[Axis], groups: Groups, times: tuple[Longs, Longs], brokers: pa.Table) -> dict[str, pa.Array]:
    """From when to when each broker has windows or was watched, and for how long that was."""
    first, last = groups.reduced(np.minimum, times[0]), groups.reduced(np.maximum, times[1])
    since = np.array([min(axis.begins[0], at) for axis, at in zip(axes, first, strict=True)], np.int64)
    until = np.array([max(axis.ends[-1], at) for axis, at in zip(axes, last, strict=True)], np.int64)
    watched = np.array([(axis.ends - axis.begins).sum() / MICROSECONDS for axis in axes], np.float64)
    moments = {"since": pa.array(since).cast(MOMENT), "until": pa.array(until).cast(MOMENT)}
    return {**moments, "watched_s": pa.array(watched, mask=np.asarray(brokers["measured"]))}


@dataclass(frozen=True)
class Axis:
    """The windows of a broker that were watched, in order; `before` counts the windows before each span."""

    begins: Longs
    ends: Longs
    before: Longs
    length: int

    @classmethod
    def of(cls, begins: Longs, ends: Longs, length: int) -> Axis:
        """The axis of spans that do not overlap, in the order of time."""
        counts = -(-(ends - begins) // max(length, 1))
        return cls(begins, ends, np.concatenate([[0], np.cumsum(counts)]), length)

    @property
    def windows(self) -> int:
        """How many they are."""
        return int(self.before[-1])

    def numbers(self, times: Longs) -> Longs:
        """How many of them begin before each time."""
        span = np.searchsorted(self.begins, times, "right") - 1
        until = np.minimum(times, self.ends[span]) - self.begins[span]
        return np.where(span < 0, 0, self.before[span] - (-until // max(self.length, 1)))


def axes_of(
    brokers: pa.Table, groups: Groups, times: tuple[Longs, Longs], unwatched_after: float, watched: Watched
) -> list[Axis]:
    """The watched windows of each broker, out of the windows that it has, and of the times that are known."""
    axes = []
    for broker, first, size in zip(brokers.to_pylist(), groups.firsts, groups.sizes, strict=True):
        start, end = (column[first : first + size] for column in times)
        if broker["measured"]:  # samples may overlap: each of them is a window
            axes.append(Axis.of(start, start + 1, 1))
            continue
        begins = np.flatnonzero(np.concatenate([[True], start[1:] - end[:-1] > unwatched_after * MICROSECONDS]))
        spans = np.stack([start[begins], np.append(end[begins[1:] - 1], end[-1])])
        length = max(int(end[0] - start[0]), 1)
        if watched is not None:
            days = np.unique(start // DAY) * DAY
            whole_days = np.stack([days, np.minimum(days + DAY, watched)])
            spans = _joined(spans, _whole(whole_days, int(start[0]), length))
        axes.append(Axis.of(spans[0], spans[1], length))
    return axes


def _whole(known: Longs, start: int, length: int) -> Longs:
    """Times, cut to whole windows; one of these begins at `start`."""
    begins, ends = -(-(known[0] - start) // length), (known[1] - start) // length
    return np.stack([begins, np.maximum(begins, ends)]) * length + start


def _joined(spans: Longs, others: Longs) -> Longs:
    """Both kinds of spans; spans that touch are one."""
    begins, ends = np.concatenate([spans, others], axis=1)
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate(ends[order])
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > ends[:-1]]))
    return np.stack([begins[first], np.append(ends[first[1:] - 1], ends[-1])])


def _faults(brokers: Sequence[int], shortest: Doubles, longest: Doubles) -> pa.Array:
    """The fault of each broker whose windows differ in their seconds, or have none."""
    faults: list[str | None] = []
    for broker, least, most in zip(brokers, shortest, longest, strict=True):
        if least <= 0:
            problem = "has a window whose end is not after its start, as after a clock that ran back"
        else:
            problem = f"has windows of {least} s and of {most} s: they must have one length"
        faults.append(None if 0 < least == most else f"broker {broker} {problem}")
    return pa.array(faults, pa.string())


def micros(times: pa.ChunkedArray) -> Longs:
    """Times as microseconds since 1970."""
    return np.asarray(times.cast(pa.int64()))


def micros_of(time: datetime) -> int:
    """A time as microseconds since 1970."""
    return (time - EPOCH) // timedelta(microseconds=1)


def _sums(rows: pa.Table, by: Sequence[str]) -> tuple[pa.Table, pa.Table, Groups]:
    """The sums of each bucket, a row each; and its windows in the order of time, in their groups."""
    names, is_mark = [*by, *BUCKET], pa.array(np.zeros(len(rows), np.bool_))
    if "first" in rows.column_names:
        is_mark = rows["first"].is_valid()
    marks, others = rows.filter(is_mark), rows.filter(pc.invert(is_mark))
    clients, windows = (others.filter(is_it) for is_it in (others["start"].is_null(), others["start"].is_valid()))
    windows, groups = Groups.sorted(windows, names, [micros(windows["start"])])
    buckets = windows.select([*names, "windows", "brokers", "length"]).take(pa.array(groups.firsts))
    sums = {name: buckets[name] for name in buckets.column_names}
    sums |= {name: _put_together(groups, BUCKET_SUMS[name], its) for name, its in _of_windows(windows, groups).items()}
    codes, of_client = codes_of_both(buckets, clients, names)
    sharing = np.bincount(of_client, minlength=len(codes) + len(of_client))[codes]
    sums["clients"] = pa.array(np.maximum(sharing, 1), mask=np.asarray(buckets["measured"]))
    if "first" in rows.column_names:
        sums["windows"] = pa.array(np.maximum(_windows_in_force(buckets, marks, names), groups.sizes))
    return pa.table(sums), windows, groups


def _of_windows(windows: pa.Table, groups: Groups) -> dict[str, Doubles]:
    """What each window counts for in BUCKET_SUMS, NaN where that is unknown, or without a limit."""
    used, throttle_ms, limit = (_doubles(windows[name]) for name in ("value", "throttle_ms", "limit"))
    is_judged = np.asarray(windows["limit"].is_valid()) & ~np.isnan(used)
    is_throttled = np.where(np.isnan(throttle_ms), np.nan, throttle_ms > 0)
    return {
        "windows_seen": np.ones(len(used)),
        "windows_unknown": np.asarray(windows["unknown"]).astype(np.float64),
        "windows_above_80": np.where(is_judged, used > 0.8 * limit, np.nan),
        "windows_above_100": np.where(is_judged, used > limit, np.nan),
        "windows_throttled": is_throttled,
        "used_sum": used,
        "peak": used,
        "longest_above_100_s": np.where(is_judged, _run_seconds(windows, groups, used > limit), np.nan),
        "throttle_ms": throttle_ms,
    }


def _put_together(groups: Groups, how: str, values: Doubles) -> pa.Array:
    """The sum or the maximum of each group: NaN is nothing, and a group of nothing is null."""
    is_nothing = groups.reduced(np.logical_and, np.isnan(values))
    if how == SUM:
        return pa.array(groups.reduced(np.add, np.where(np.isnan(values), 0.0, values)), mask=is_nothing)
    return pa.array(groups.reduced(np.fmax, values), mask=is_nothing)


def _run_seconds(windows: pa.Table, groups: Groups, is_above: Flags) -> Doubles:
    """Seconds that the bucket has been above its limit at the end of each window, 0 where it is not."""
    start, end = micros(windows["start"]), micros(windows["end"])
    goes_on = np.zeros(len(start), np.bool_)
    goes_on[1:] = is_above[:-1] & (start[1:] <= end[:-1])
    begins = is_above & ~(goes_on & ~groups.begins)
    began = np.maximum.accumulate(np.where(begins, np.arange(len(start)), 0)) if len(start) else start
    return np.where(is_above, (end - start[began]) / MICROSECONDS, 0.0)


def _histogram(used: Doubles, groups: Groups) -> pa.Array:
    """The windows of each group by the bin of their use; those without use are in none."""
    is_used = used > 0
    bins, of_row = np.floor(np.log2(used[is_used]) * BINS).astype(np.int64), groups.of_row[is_used]
    order = np.lexsort([bins, of_row])
    bins, of_row = bins[order], of_row[order]
    firsts = np.flatnonzero((np.diff(bins, prepend=0) != 0) | (np.diff(of_row, prepend=-1) != 0))
    counts = np.diff(firsts, append=len(bins))
    items = pa.StructArray.from_arrays([pa.array(bins[firsts], pa.int32()), pa.array(counts)], names=["bin", "windows"])
    offsets = np.searchsorted(of_row[firsts], np.arange(len(groups.firsts) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items)


def _windows_in_force(buckets: pa.Table, marks: pa.Table, names: Sequence[str]) -> Longs:
    """The number of windows in which the limit of each bucket was in force for one of its clients at least."""
    codes, of_mark = codes_of_both(buckets, marks, names)
    first, last = (np.asarray(marks[name]) for name in ("first", "last"))
    order = np.lexsort([first, of_mark])
    first, last, of_mark = first[order], last[order], of_mark[order]
    apart = of_mark * (int(last.max(initial=0)) + 1)  # so that none reaches into the next bucket
    reached = np.concatenate([[0], np.maximum.accumulate(last + apart)[:-1]]) - apart if len(last) else last
    new = np.maximum(last - np.maximum(first, reached), 0)
    return np.bincount(of_mark, new, minlength=len(codes) + len(marks))[codes].astype(np.int64)


def _idle(sums: pa.Table, marks: pa.Table, names: Sequence[str]) -> pa.Table:
    """The buckets that were in force without any use: they are not in the sums."""
    codes, of_mark = codes_of_both(sums, marks, names)
    firsts = np.unique(of_mark, return_index=True)[1]
    firsts = firsts[~np.isin(of_mark[firsts], codes)]
    idle = marks.select([*names, "brokers", "length"]).take(pa.array(firsts))
    nothing = np.zeros(len(idle))
    idle = idle.append_column("windows", pa.array(_windows_in_force(idle, marks, names)))
    idle = idle.append_column("windows_seen", pa.array(nothing)).append_column("windows_unknown", pa.array(nothing))
    return idle.append_column("clients", pa.array(nothing.astype(np.int64), mask=np.asarray(idle["measured"])))


def codes_of_both(buckets: pa.Table, others: pa.Table, names: Sequence[str]) -> tuple[Longs, Longs]:
    """A number for each bucket, and that of the bucket of each other row."""
    codes, _ = numbered(pa.concat_tables([buckets.select(names), others.select(names)]), names)
    return codes[: len(buckets)], codes[len(buckets) :]


def _doubles(column: pa.ChunkedArray | pa.Array) -> Doubles:
    """NaN for null."""
    return np.asarray(column.cast(pa.float64()).fill_null(np.nan))


@dataclass(frozen=True)
class Groups:
    """Rows sorted by their group: `firsts` are the first rows of the groups, `of_row` is the group of each row."""

    firsts: Longs
    of_row: Longs

    @classmethod
    def sorted(cls, table: pa.Table, names: Sequence[str], then: Sequence[Any]) -> tuple[pa.Table, Groups]:
        """The table, sorted by groups of the same values in these columns, nulls being the same, and then by arrays."""
        codes, _ = numbered(table, names)
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

    def reduced(self, ufunc: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of each group, put together by `ufunc`."""
        return ufunc.reduceat(values, self.firsts) if len(self.firsts) else values[:0]
