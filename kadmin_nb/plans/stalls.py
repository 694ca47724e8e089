"""The time for which a plan would throttle the clients that are known to be busy. Pure: what it needs is in the frames.

A broker averages what a bucket used over its quota window (11 x 1 s by default) and, when a request finds the average
above the limit, throttles the connection until it would be below: (rate / limit - 1) x the window, without an upper
bound. Lowering a limit tenfold under a busy client throttles it for a minute and a half, and taking the limit away
again does not wake it.

What the broker remembers belongs to the bucket. A client that the change moves to another bucket leaves its past
behind, and is throttled there but does not stall; what the other clients of that bucket used counts. What an unlimited
client used may be remembered under any bucket, so it is counted under the one it gets.

Only the byte rates stall. A broker holds an answer for at most one second for request_percentage, whatever the excess,
and controller_mutation_rate is a token bucket, whose debt does not grow when the rate is lowered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
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
from ..frames.schema_metadata import stamped
from ..model import figures
from ..model.changes import Change
from ..model.entity import Entity
from ..model.findings import DANGER, Coverage, Finding
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import readable, rounded
from ..resolution import input_columns, kernel
from ..resolution.rules import entity_at
from ..usage.covered import coverage, remarks
from .kinds.quotas import QUOTAS
from .kinds.registry import by_kind
from .quotas_after import table_after

if TYPE_CHECKING:
    from ..frames.blocks import Block

BYTE_RATES = ("consumer_byte_rate", "producer_byte_rate")
"""The keys whose lowering stalls."""

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
    """STALLS: a row a broker, key and client that a plan touches. Of `unknown` clients the use is not known, in full or
    in part; `coverage` says which brokers the usage has, and until when."""

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
        touched, stalled = (
            {(row["user"], row["client_id"]) for row in some}
            for some in (rows, (row for row in rows if row["stall_s"] > 0))
        )
        count = f"{len(stalled):,} of {len(touched):,} clients that the plan touches"
        if not stalled:
            return f"{count} would be throttled when it is applied{rest}"
        worst = max(rows, key=itemgetter("stall_s"))
        whom, seconds = meanings.client(worst["user"], worst["client_id"]), figures.seconds(worst["stall_s"])
        return printable(f"{count} would be throttled when it is applied{rest}; the longest: {whom}, {seconds}")


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
    names = {name: text_column(table, name, _USAGE) for name in _CLIENT}
    read = pa.table(
        {
            "broker": table["broker"].cast(pa.int32()),
            "user": pc.fill_null(names["user"], ""),
            "client_id": pc.fill_null(names["client_id"], ""),
            "key": names["key"],
            "end": table["window_end"].cast(_INSTANT, safe=False).cast(pa.int64()),
            "rate": input_columns.number_column(table, "value", _USAGE, nullable=True),
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
    touched = sorted(filter(_is_touched, busy.to_pylist()), key=itemgetter(*_SEEN))
    return schemas.table(schemas.STALLS, (_stall(row, rows, windows) for row in touched))


def _is_touched(row: dict[str, Any]) -> bool:
    return any(row[f"{name}_before"] != row[f"{name}_after"] for name in ("value", *_BOUND[2:]))


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
    stopped = [row for row in stalls(changes, quotas, usage, cluster_id=cluster_id).to_pylist() if _stops(row, by_row)]
    for number, rows in groupby(sorted(stopped, key=itemgetter("row", "stall_s")), key=itemgetter("row")):
        *others, worst = rows
        change = by_row[number]
        yield Finding.about(change, DANGER, STOP, _stop_message(worst, others))


def unseen_dangers(changes: Sequence[Change], usage: Any, cluster_id: str, brokers: Iterable[int]) -> Iterator[Finding]:
    """The rows that may lower a limit, where the usage lacks a broker: how long clients are throttled there, no steps
    can keep short."""
    rows = input_columns.read_columns(usage, ("broker", "window_start", "window_end"), _USAGE)
    missing = coverage(_of_cluster(rows, cluster_id), brokers).missing
    names = ", ".join(map(str, sorted(missing)))
    for change in changes if missing else ():
        is_of_client = change.level in LEVELS_BY_NAME
        if is_of_client and not change.is_refused and not change.is_same and not _is_raised(change):
            unseen = f"how long its clients would be throttled on broker {names} is not known"
            yield Finding.about(change, DANGER, STOP, f"{unseen}: the usage has no row of it; add its request log")


def _is_raised(change: Change) -> bool:
    """True of a limit that is higher than before."""
    return None not in (change.old, change.after) and float(change.after or 0) > float(change.old or 0)


def _stops(row: Mapping[str, Any], by_row: Mapping[int, Change]) -> bool:
    """True where a row of the plan lowers a limit, and the client stalls for too long."""
    if row["stall_s"] <= STANDSTILL or row["row"] not in by_row:
        return False
    return row["limit_before"] is None or bool(row["limit_after"] < row["limit_before"])


def _stop_message(worst: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    used, limit = rounded(worst["key"], worst["bucket_rate"]), readable(worst["key"], worst["limit_after"])
    whose = f"{client(worst['user'], worst['client_id'])} on broker {worst['broker']}"
    more = len({(row["user"], row["client_id"]) for row in others} - {(worst["user"], worst["client_id"])})
    stands = f"stalls for {figures.seconds(round(worst['stall_s']))}, ({used} / {limit} - 1) x {WINDOW:g} s"
    return f"{whose} {stands}" + (f"; and {more:,} more" if more else "")
