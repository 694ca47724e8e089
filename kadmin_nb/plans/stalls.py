"""The time for which a plan would throttle clients that are known to be busy, and the steps that keep it short. Pure.

A broker averages what a bucket used over its quota window (11 x 1 s by default) and, when a request finds the average
above the limit, throttles the connection until it would be below: (rate / limit - 1) x the window, without an upper
bound. Lowering a limit tenfold under a busy client throttles it for a minute and a half, and taking the limit away
again does not wake it.

What the broker remembers belongs to the bucket. A client that the change moves to another bucket leaves its past
behind, and is throttled there but does not stall; what the other clients of that bucket used counts. What an unlimited
client used may be remembered under any bucket, so it is counted under the one it gets.

Only the byte rates stall. A broker holds an answer for at most one second for request_percentage, whatever the excess,
and controller_mutation_rate is a token bucket, whose debt does not grow when the rate is lowered.

Lowering in steps throttles no client that is known to be busy for longer than a bound. A broker throttles for
(used in the window) / limit - window, and each request that crosses the limit counts whole. Going from limit p to n, a
client that fills its allowance is throttled for at most (p/n - 1) x window + 3 x request / n seconds, and the next n is
the lowest that keeps this within the bound.

The next step waits until the broker has forgotten what was sent before the last: a client that was throttled comes back
with a burst, which stays in the window for as long as the window is, however short the stall was.

No step helps against one request that is large beside the limit: with 1 MB batches at 100 kB/s a client is throttled
for 10 to 19 s all the time (tried, Kafka 4.3.1). There a third of the bound goes to the lowering.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError, printable
from ..frames import meanings, schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.given_frames import text_column
from ..frames.meanings import client
from ..frames.relational import NUMBER, of_kinds
from ..frames.schemas import stamped
from ..model import figures
from ..model.changes import SET, Change
from ..model.entity import Entity
from ..model.findings import DANGER, Coverage, Finding
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import readable, rounded, text_of
from ..resolution import input_columns, kernel
from ..resolution.rules import entity_at
from ..usage.covered import coverage, remarks
from .advice.quota_advice import BYTE_RATES
from .kinds import QUOTAS, by_kind
from .observed_state import table_after
from .sending import Wave

if TYPE_CHECKING:
    from ..frames.blocks import Block

WINDOW = 11.0
"""Seconds over which a broker averages: `quota.window.num` x `quota.window.size.seconds`."""

RECENT = 300.0
"""Seconds before a broker's newest window in which the busiest one of a client counts."""

_USAGE = "the usage"
_USAGE_COLUMNS = ("broker", "user", "client_id", "key", "window_end", "value")
_CLIENT = ["user", "client_id", "key"]
_SEEN = ["broker", *_CLIENT]
_BOUND = ("value", "level", "bucket_user", "bucket_client_id")
_INSTANT = pa.timestamp("us", "UTC")


class StallsAnswer(Answer):
    """STALLS: one row per broker, key and client that a plan touches.

    Of `unknown` clients the use is not known, in full or in part; `coverage` says which brokers the usage has, and
    until when.
    """

    def __init__(self, table: pa.Table, coverage: Coverage = Coverage(), unknown: int = 0) -> None:
        super().__init__(table)
        self.coverage, self.unknown = coverage, unknown

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """What it was read from, and what is not known."""
        yield from remarks(self.coverage)
        if self.unknown:
            whose = f"{self.unknown:,} client{'s' * (self.unknown != 1)}"
            yield f"The use of {whose} is not known in full: how long they would be throttled is not, either."

    def _title(self) -> str:
        """The number of clients that would be throttled, and the one that would be for longest."""
        rows = self._table.to_pylist()
        until = f", by their use until {figures.utc(self.coverage.until)}" if self.coverage.until else ""
        rest = f"{until}{self.coverage.not_known}"
        if not rows:
            return f"no known client is affected{rest}"
        worst = max(rows, key=itemgetter("stall_s"))
        touched, stalled = (
            {(row["user"], row["client_id"]) for row in rows if row["stall_s"] > least} for least in (-1.0, 0.0)
        )
        count = f"{len(stalled):,} of {len(touched):,} clients that the plan touches"
        whom, seconds = meanings.client(worst["user"], worst["client_id"]), figures.seconds(worst["stall_s"])
        longest = f"; the longest: {whom}, {seconds}" if stalled else ""
        return printable(f"{count} would be throttled when it is applied{rest}{longest}")


def answer_of(predicted: pa.Table, usage: Any, cluster_id: str, brokers: Iterable[int] | None = None) -> StallsAnswer:
    """STALLS with what the usage lacks that it was predicted from, of a cluster with these brokers."""
    rows = _of_cluster(input_columns.read_columns(usage, (*_USAGE_COLUMNS, "window_start"), _USAGE), cluster_id)
    is_unknown = pc.and_(pc.is_in(rows["key"].cast(pa.string()), pa.array(BYTE_RATES)), rows["value"].is_null())
    unknown = rows.filter(is_unknown).group_by(["user", "client_id"]).aggregate([])
    return StallsAnswer(stamped(predicted, cluster_id), coverage(rows, brokers), len(unknown))


def stalls(
    changes: Sequence[Change],
    quotas: pa.Table,
    usage: Any,
    *,
    windows: float = WINDOW,
    cluster_id: str | None = None,
) -> pa.Table:
    """STALLS: the clients of `usage` that these changes touch, broker by broker, and how long each is throttled.

    Parameters
    ----------
    changes
        Carried out all at once.
    quotas
        All QUOTAS as they are before.
    usage
        USAGE, as anything with `__arrow_c_stream__`: of each client the busiest of its recent windows counts, and
        the clients of a bucket are added up.
    windows
        The brokers' quota window in seconds.
    cluster_id
        Which rows to take of a usage that has a `cluster_id`.

    Returns
    -------
    pyarrow.Table
        `row` is the change that binds the client afterwards, or the removal that let it go; `rate` its own bytes/s;
        `bucket_rate` what the broker will remember of its bucket; `stall_s` seconds, 0 where that is within the limit.

    Raises
    ------
    UsageError
        The usage is not a frame, lacks a column, or has a `cluster_id` and none was asked for.
    """
    changed_keys = {change.key for change in by_kind(changes).get(QUOTAS, [])}
    keys = [key for key in BYTE_RATES if key in changed_keys]
    rates = busiest(usage, keys, cluster_id)
    if not keys or not rates.num_rows:
        return schemas.STALLS.empty()
    quotas = quotas.filter(pc.is_in(quotas["key"].cast(pa.string()), pa.array(keys)))
    clients = rates.group_by(["user", "client_id"], use_threads=False).aggregate([])
    busy = rates.join(_bound(quotas, table_after(quotas, changes), clients, keys), _CLIENT, join_type="inner")
    return _frame(_with_history(busy), {change.target: change.row for change in changes}, windows)


def busiest(usage: Any, keys: Sequence[str], cluster_id: str | None = None) -> pa.Table:
    """`broker`, `user`, `client_id`, `key` and `rate`: what each client used at most in its recent windows."""
    table = _of_cluster(input_columns.read_columns(usage, _USAGE_COLUMNS, _USAGE), cluster_id)
    names = {name: pc.fill_null(text_column(table, name, _USAGE), "") for name in _CLIENT}
    read = pa.table(
        {
            "broker": table["broker"].cast(pa.int32()),
            **names,
            "end": table["window_end"].cast(_INSTANT, safe=False).cast(pa.int64()),
            "rate": of_kinds(table, {"value": NUMBER}, _USAGE)["value"],
        }
    )
    read = read.filter(pc.and_(pc.is_in(read["key"], pa.array(keys, pa.string())), pc.is_finite(read["rate"])))
    newest = read.group_by("broker", use_threads=False).aggregate([("end", "max")])
    read = read.join(newest, "broker")
    recent = read.filter(pc.greater_equal(read["end"], pc.subtract(read["end_max"], int(RECENT * 1e6))))
    peaks = recent.group_by(_SEEN, use_threads=False).aggregate([("rate", "max")])
    return peaks.rename_columns([*_SEEN, "rate"])


def _of_cluster(usage: pa.Table, cluster_id: str | None) -> pa.Table:
    if input_columns.CLUSTER not in usage.column_names:
        return usage
    if cluster_id is None:
        raise UsageError(f"{_USAGE} have a cluster_id", hint="Pass cluster_id=…")
    return usage.filter(pc.equal(text_column(usage, input_columns.CLUSTER, _USAGE), cluster_id))


def _bound(before: pa.Table, after: pa.Table, clients: pa.Table, keys: Sequence[str]) -> pa.Table:
    """The effective quotas of each client before and after, key by key: `value_before`, …, `bucket_client_id_after`."""
    was, will = (kernel.resolve(quotas, clients, keys=keys) for quotas in (before, after))
    names = {name: was[name].cast(pa.string()) for name in _CLIENT}
    sides = {
        f"{name}_{side}": table[name] if name == "value" else table[name].cast(pa.string())
        for side, table in (("before", was), ("after", will))
        for name in _BOUND
    }
    return pa.table(names | sides)


def _with_history(busy: pa.Table) -> pa.Table:
    """With `bucket_rate`: what the bucket that a client will be in is remembered to have used, on that broker."""
    where = [pc.coalesce(busy[f"{name}_before"], busy[f"{name}_after"]) for name in _BOUND[2:]]
    ours = pa.table([busy["broker"], busy["key"], *where, busy["rate"]], names=["broker", "key", *_BOUND[2:], "rate"])
    by_bucket = ["broker", "key", *_BOUND[2:]]
    used = ours.group_by(by_bucket, use_threads=False).aggregate([("rate", "sum")])
    after = ["broker", "key", *(f"{name}_after" for name in _BOUND[2:])]
    return busy.join(used, keys=after, right_keys=by_bucket).rename_columns({"rate_sum": "bucket_rate"})


def _frame(busy: pa.Table, rows: dict[Any, int], windows: float) -> pa.Table:
    ordered = sorted(busy.to_pylist(), key=itemgetter(*_SEEN))
    touched = (row for row in ordered if any(row[f"{n}_before"] != row[f"{n}_after"] for n in ("value", *_BOUND[2:])))
    return schemas.table(schemas.STALLS, (_stall(row, rows, windows) for row in touched))


def _stall(row: dict[str, Any], rows: dict[Any, int], windows: float) -> dict[str, object]:
    limit, used = row["value_after"], row["bucket_rate"] or 0.0
    targets = [(_binding_entity(row[f"level_{side}"], row["user"], row["client_id"]), row["key"]) for side in _SIDES]
    return {
        **{name: row[name] for name in (*_SEEN, "rate")},
        "row": next((rows[target] for target in targets if target in rows), None),
        "limit_before": row["value_before"],
        "limit_after": limit,
        "bucket_user": row["bucket_user_after"],
        "bucket_client_id": row["bucket_client_id_after"],
        "bucket_rate": used,
        "stall_s": 0.0 if limit is None else max(0.0, (used / limit - 1) * windows),
    }


_SIDES = ("after", "before")


@lru_cache(maxsize=100_000)
def _binding_entity(level: str | None, user: str, client_id: str) -> Entity | None:
    """The entity that binds a client at this level."""
    return None if level is None else entity_at(LEVELS_BY_NAME[level], user, client_id)


STOP = "stop"
"""The danger's name."""

STANDSTILL = 120.0
"""Seconds that a client may stand still: Kafka's default `delivery.timeout.ms`; a producer then loses records."""


def stop_dangers(
    changes: Sequence[Change], quotas: pa.Table, usage: Any, *, cluster_id: str | None = None
) -> Iterator[Finding]:
    """The rows that would stop a client of this usage, each with its worst one; arguments as of `stalls`.

    A client stands still until the average of the broker's window is within the new limit.

    Raises
    ------
    UsageError
        As `stalls`.
    """
    by_row = {change.row: change for change in changes if not change.is_refused}
    predicted = stalls(changes, quotas, usage, cluster_id=cluster_id).to_pylist()
    stalled = (row for row in predicted if row["row"] in by_row and row["stall_s"] > STANDSTILL)
    stopped = [row for row in stalled if row["limit_before"] is None or row["limit_after"] < row["limit_before"]]
    for number, rows in groupby(sorted(stopped, key=itemgetter("row", "stall_s")), key=itemgetter("row")):
        *others, worst = rows
        change = by_row[number]
        yield Finding.about(change, DANGER, STOP, _stop_message(worst, others))


def unseen_dangers(changes: Sequence[Change], usage: Any, cluster_id: str, brokers: Iterable[int]) -> Iterator[Finding]:
    """The rows that may lower a limit, where the usage lacks a broker: no steps keep its clients' throttling short."""
    rows = input_columns.read_columns(usage, ("broker", "window_start", "window_end"), _USAGE)
    missing = coverage(_of_cluster(rows, cluster_id), brokers).missing
    names = ", ".join(map(str, sorted(missing)))
    for change in changes if missing else ():
        is_of_client = change.level in LEVELS_BY_NAME
        is_raised = None not in (change.old, change.after) and float(change.after or 0) > float(change.old or 0)
        if is_of_client and not (change.is_refused or change.is_same or is_raised):
            unseen = f"how long its clients would be throttled on broker {names} is not known"
            yield Finding.about(change, DANGER, STOP, f"{unseen}: the usage has no row of it; add its request log")


def _stop_message(worst: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    used, limit = rounded(worst["key"], worst["bucket_rate"]), readable(worst["key"], worst["limit_after"])
    whose = f"{client(worst['user'], worst['client_id'])} on broker {worst['broker']}"
    more = len({(row["user"], row["client_id"]) for row in others} - {(worst["user"], worst["client_id"])})
    stands = f"gets no answer for {figures.seconds(round(worst['stall_s']))}, ({used} / {limit} - 1) x {WINDOW:g} s"
    return f"{whose} {stands}" + (f"; and {more:,} more" if more else "")


# -- lowering in steps

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
    """The highest rate from which, and the lowest limit to which, each row that stalls a client takes a bucket.

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
    limits = map(text_of, pace.down(*worst) if worst else ())
    return [*(change.with_(op=SET, wanted=limit, after=limit) for limit in limits), change]
