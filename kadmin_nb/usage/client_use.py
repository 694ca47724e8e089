"""The use of one client and of the buckets that it shares: each window by the limit of its own time, and how much of
the whole was seen. Everything is added up where the usage is; what comes here are a few rows for each broker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..fleets.workers import of_rows
from ..frames import frame as types
from ..frames import relational
from ..frames.frame import MOMENT
from ..frames.relational import Expression, Frame, Measure, added_up, in_arrow, members, where, with_further, words_of
from ..model.findings import Row
from ..resolution.rules import Effective
from .arithmetic import BUCKET_TOTALS, draws, names_one_client
from .bucket_figures import EPOCH, micros_of
from .limits_over_time import UNKNOWN, LimitsOverTime, limits_at
from .limits_used import measured_rows

BYTE_KEYS = ("producer_byte_rate", "consumer_byte_rate")

GREW = 1.2
"""So much more than in the throttled windows: a bucket that uses it later without a throttle has another limit then."""

Span = tuple[int, int]
"""Microseconds since 1970: from, until."""

_ROWS = pa.schema(
    [
        *((name, types.TEXT) for name in ("user", "client_id", "key")),
        ("broker", types.WHOLE),
        *((name, MOMENT) for name in ("start", "end")),
        *((name, types.NUMBER) for name in ("value", "throttle_ms")),
        *((name, types.FLAG) for name in ("measured", "unknown", "is_own")),
    ]
)
_LIMITED = pa.schema(
    [*_ROWS, ("limit", types.NUMBER), *((name, types.TEXT) for name in ("level", "bucket_user", "bucket_client_id"))]
)


@dataclass(frozen=True)
class LimitThen:
    """The limit of a client's key in a time. Without a limit `level`, `bucket` and `value` are None; `level` is UNKNOWN
    where the history does not have that time."""

    key: str
    span: Span
    level: str | None
    bucket: tuple[str, str] | None
    value: float | None

    def is_that_of(self, now: Effective) -> bool:
        """True if it is the limit that applies now."""
        return (self.level, self.value) == (now.level, now.value)


def limits_then(limits: LimitsOverTime, now: Sequence[Effective], span: Span, recorded: int | None) -> list[LimitThen]:
    """The limits of one client, key by key, each time in its order. What was recorded last, at `recorded`, holds on
    where it is what applies now; otherwise the limits after it are unknown."""
    user, client_id = now[0].user, now[0].client_id
    _, changes = limits.changes([pa.chunked_array([pa.array([name])]) for name in ("", user, client_id)])
    cuts = [time for time in {*map(int, changes), *([recorded] if recorded else [])} if span[0] < time < span[1]]
    times = [span[0], *sorted(cuts)]
    keys = [limit.key for limit in now]
    names = {"user": [user], "client_id": [client_id]}
    columns = {name: value * len(times) * len(keys) for name, value in names.items()}
    columns["key"] = [key for key in keys for _ in times]
    moments = pa.array(times * len(keys), pa.int64()).cast(MOMENT)
    rows = limits_at(pa.table({**columns, "start": moments}), limits).to_pylist()
    ends = dict(pairwise([*times, span[1]]))
    then = []
    for row, time in zip(rows, times * len(keys), strict=True):
        bucket = None if row["bucket_user"] is None else (row["bucket_user"], row["bucket_client_id"])
        then.append(LimitThen(row["key"], (time, ends[time]), row["level"], bucket, row["limit"]))
    return _together(_known(one, now, recorded) for one in then)


def _known(one: LimitThen, now: Iterable[Effective], recorded: int | None) -> LimitThen:
    present = next(limit for limit in now if limit.key == one.key)
    if recorded is None or one.span[0] < recorded or one.is_that_of(present):
        return one
    return replace(one, level=UNKNOWN, bucket=None, value=None)


def _together(limits: Iterable[LimitThen]) -> list[LimitThen]:
    """Times of one key that follow each other and have the same limit are one."""
    found: list[LimitThen] = []
    for one in limits:
        last = found[-1] if found else None
        if last and replace(last, span=one.span) == one and last.span[1] == one.span[0]:
            found[-1] = replace(last, span=(last.span[0], one.span[1]))
        else:
            found.append(one)
    return found


@dataclass(frozen=True)
class Throttled:
    """The throttles of the client's bucket in a time of one limit.

    `full` is the most that was used in a throttled window or right before one, `later` the most in a window after the
    last of them, `own_ms` the longest throttle of the client's own; None where nothing tells. `used` has what each
    client used in throttled windows.
    """

    limit: LimitThen
    longest_ms: float
    own_ms: float | None
    since: datetime
    until: datetime
    full: float | None
    later: float | None
    has_unknown: bool
    used: Mapping[tuple[str, str], float]

    @property
    def utilisation(self) -> float | None:
        """The most that was used in a throttled window, in percent of the limit of that time."""
        return None if self.full is None or not self.limit.value else self.full * 100.0 / self.limit.value

    @property
    def grew(self) -> bool:
        """True if more was used later, without a throttle: the limit may have been raised in between."""
        return self.later is not None and self.full is not None and self.later >= GREW * self.full


@dataclass(frozen=True)
class ClientUse:
    """What was seen of a client.

    It has `rows` of its own. `brokers` have rows of any client, in the time `span`; `is_measured` where brokers
    measured its buckets: they name no client.
    """

    brokers: frozenset[int] = frozenset()
    span: Span | None = None
    rows: int = 0
    is_measured: bool = False
    limits: Sequence[LimitThen] = ()
    throttled: Sequence[Throttled] = ()

    @property
    def times(self) -> tuple[datetime, datetime] | tuple[None, None]:
        """The first and the last moment of the usage."""
        if self.span is None:
            return None, None
        since, until = (EPOCH + timedelta(microseconds=end) for end in self.span)
        return since, until

    def limits_of(self, key: str) -> list[LimitThen]:
        """The limits of a key in their order."""
        return [one for one in self.limits if one.key == key]

    def throttled_last(self, key: str) -> Throttled | None:
        """The throttles under the last limit of a key that has any."""
        return next((one for one in reversed(self.throttled) if one.limit.key == key), None)


def client_use(usage: Any, limits: LimitsOverTime, now: Sequence[Effective], recorded: int | None = None) -> ClientUse:
    """The use of the client whose limits these are.

    Parameters
    ----------
    usage
        USAGE of one cluster, without `cluster_id`.
    limits
        The limits over time, of a cluster without a name.
    now
        The client's limits that apply now, a key each.
    recorded
        The time of the last snapshot of the limits, in microseconds; None where they are those of now.
    """
    rows, _ = measured_rows(usage)
    ends: dict[str, Measure] = {"since": ("min", "start"), "until": ("max", "end")}
    brokers = _listed(added_up(rows, ["broker"], ends))
    if not brokers:
        return ClientUse()
    span = micros_of(min(row["since"] for row in brokers)), micros_of(max(row["until"] for row in brokers))
    then = limits_then(limits, now, span, recorded)
    near = _near(rows, now[0])
    counts = _own(near)
    in_buckets = _in_buckets(near, limits, then)
    return ClientUse(
        frozenset(row["broker"] for row in brokers),
        span,
        counts["rows"],
        bool(counts["measured"]),
        then,
        _throttles(in_buckets, then),
    )


def _near(rows: Frame, client: Effective) -> Frame:
    """The rows of clients of the same user or the same client-id; no other can share a bucket."""
    words = words_of(rows)
    user, client_id = words.column("user"), words.column("client_id")
    of_client = (user == client.user) & (client_id == client.client_id)
    columns = {"is_own": of_client & names_one_client(words.column("measured"), user, client_id)}
    near = where(rows, (user == client.user) | (client_id == client.client_id))
    return relational.select(with_further(near, columns), _ROWS.names)


def _own(near: Frame) -> Row:
    """How many `rows` the client has, and the rows of buckets that brokers `measured`."""
    words = words_of(near)
    measures: dict[str, Measure] = {"rows": ("count_true", "is_own"), "measured": ("count_true", "measured")}
    found = _listed(added_up(with_further(near, {"one": words.literal(1, pa.int64())}), ["one"], measures))
    return found[0] if found else dict.fromkeys(measures, 0)


def _in_buckets(near: Frame, limits: LimitsOverTime, then: Sequence[LimitThen]) -> Frame:
    """The rows of the buckets that the client draws from at their time, with the `number` of its limit among these."""
    limited = of_rows(near, limits_at, (limits,), _LIMITED)
    words = words_of(limited)
    number: Expression = words.literal(None, pa.int64())
    for place, one in enumerate(then):
        number = words.when(_is_under(words, one), words.literal(place, pa.int64()), number)
    return relational.having(with_further(limited, {"number": number}), "number")


def _is_under(words: Any, one: LimitThen) -> Expression:
    """Is a row of the client's bucket under this limit? Without a limit its own rows are."""
    column, start = words.column, words.micros(words.column("start"))
    is_then = (column("key") == one.key) & (start >= one.span[0]) & (start < one.span[1])
    if one.bucket is None:
        return is_then & column("is_own")
    bucket = column("bucket_user"), column("bucket_client_id")
    is_bucket = (column("level") == one.level) & (bucket[0] == one.bucket[0]) & (bucket[1] == one.bucket[1])
    return is_then & is_bucket & draws(column("measured"), (column("user"), column("client_id")), bucket)


def _throttles(rows: Frame, then: Sequence[LimitThen]) -> list[Throttled]:
    """The throttles under each limit that has any, in the order of the limits."""
    added = _windows(rows)
    windows = in_arrow(added)
    throttled = windows.filter(pc.field("throttle_ms") > 0)
    if not len(throttled):
        return []
    used = _used_while_throttled(rows, where(added, words_of(added).column("throttle_ms") > 0))
    found = []
    for number in sorted(pc.unique(throttled["number"]).to_pylist(), key=lambda number: then[number].span):
        every, its = (table.filter(pc.field("number") == number) for table in (windows, throttled))
        starts = pa.table({"broker": its["broker"], "measured": its["measured"], "end": its["start"]})
        before = every.join(starts, starts.column_names, join_type="left semi")  # bursts cross windows
        until = pc.max(its["end"]).as_py()
        full = [pc.max(table["used"]).as_py() for table in (its, before)]
        found.append(
            Throttled(
                then[number],
                pc.max(its["throttle_ms"]).as_py(),
                pc.max(every["own_ms"]).as_py(),
                pc.min(its["start"]).as_py(),
                until,
                max((most for most in full if most), default=None),
                pc.max(every.filter(pc.field("start") >= until)["used"]).as_py(),
                pc.any(its["unknown"]).as_py(),
                used[number],
            )
        )
    return found


def _windows(rows: Frame) -> Frame:
    """The use of the client's bucket in each window of a broker."""
    words = words_of(rows)
    own = {"own_throttle_ms": words.when(words.column("is_own"), words.column("throttle_ms"))}
    totals: dict[str, Measure] = {**BUCKET_TOTALS, "own_ms": ("max", "own_throttle_ms")}
    return added_up(with_further(rows, own), ["number", "broker", "measured", "start", "end"], totals, in_order=True)


def _used_while_throttled(rows: Frame, throttled: Frame) -> dict[int, dict[tuple[str, str], float]]:
    """What each client used in throttled windows of the bucket, by the number of the limit."""
    words = words_of(rows)
    column = words.column
    clients = where(rows, names_one_client(column("measured"), column("user"), column("client_id")))
    by = ["number", "broker", "start"]
    among = members(clients, relational.each_once(throttled, by), by)
    sums: dict[str, Measure] = {"used": ("sum", "value")}
    used = defaultdict[int, dict[tuple[str, str], float]](dict)
    for row in _listed(added_up(among, ["number", "user", "client_id"], sums)):
        used[row["number"]][row["user"], row["client_id"]] = row["used"] or 0.0
    return used


def _listed(frame: Frame) -> list[Row]:
    rows: list[Row] = in_arrow(frame).to_pylist()
    return rows
