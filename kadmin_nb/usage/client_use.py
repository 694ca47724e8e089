"""The use of one client and of the buckets that it shares, by the limits of now, and how much of the whole was seen.
Everything is added up where the usage is; what comes here are a few rows for each broker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import relational
from ..frames.relational import Expression, Frame, Measure, added_up, in_arrow, members, where, with_further, words_of
from ..model.findings import Row, Throttling
from ..resolution.rules import Effective
from .arithmetic import BUCKET_TOTALS, draws, names_one_client
from .limits_used import measured_rows, with_limits

BYTE_KEYS = ("producer_byte_rate", "consumer_byte_rate")

_KEPT = ("user", "client_id", "key", "broker", "start", "end", "value", "throttle_ms", "measured", "unknown")
"""The columns of rows that are read further."""


@dataclass(frozen=True)
class ClientUse:
    """What was seen of a client.

    It has `rows` of its own. `brokers` have rows of any client, from `since` to `until`; `is_measured` where brokers
    measured its buckets: they name no client. `throttled` has the throttles of its buckets, by key.
    """

    brokers: frozenset[int] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    rows: int = 0
    is_measured: bool = False
    throttled: Mapping[str, Throttling] = field(default_factory=dict)


def client_use(usage: Any, quotas: pa.Table, limits: Sequence[Effective]) -> ClientUse:
    """The use of the client whose limits these are.

    Parameters
    ----------
    usage
        USAGE of one cluster, without `cluster_id`.
    quotas
        QUOTAS of the cluster.
    limits
        The client's limits by these, a key each.
    """
    rows, _ = measured_rows(usage)
    ends: dict[str, Measure] = {"since": ("min", "start"), "until": ("max", "end")}
    brokers = in_arrow(added_up(rows, ["broker"], ends)).to_pylist()
    if not brokers:
        return ClientUse()
    near = _near(rows, limits[0])
    counts = _own(near)
    return ClientUse(
        frozenset(row["broker"] for row in brokers),
        min(row["since"] for row in brokers),
        max(row["until"] for row in brokers),
        counts["rows"],
        bool(counts["measured"]),
        _throttles(_in_buckets(near, quotas, limits), limits),
    )


def _near(rows: Frame, client: Effective) -> Frame:
    """The rows of clients of the same user or the same client-id; no other can share a bucket."""
    words = words_of(rows)
    user, client_id = words.column("user"), words.column("client_id")
    of_client = (user == client.user) & (client_id == client.client_id)
    near = where(rows, (user == client.user) | (client_id == client.client_id))
    is_own = of_client & names_one_client(words.column("measured"), user, client_id)
    return relational.select(with_further(near, {"is_own": is_own}), [*_KEPT, "is_own"])


def _own(near: Frame) -> Row:
    """How many `rows` the client has, and the rows of buckets that brokers `measured`."""
    words = words_of(near)
    measures: dict[str, Measure] = {"rows": ("count_true", "is_own"), "measured": ("count_true", "measured")}
    found = in_arrow(added_up(with_further(near, {"one": words.literal(1, pa.int64())}), ["one"], measures))
    return next(iter(found.to_pylist()), dict.fromkeys(measures, 0))


def _in_buckets(near: Frame, quotas: pa.Table, limits: Sequence[Effective]) -> Frame:
    """The rows of the buckets that the client draws from."""
    limited = with_limits(near, quotas, [limit.key for limit in limits])
    words = words_of(limited)
    return where(limited, reduce(or_, (_is_under(words, limit) for limit in limits)))


def _is_under(words: Any, limit: Effective) -> Expression:
    """Is a row of the client's bucket under this limit? Without a limit its own rows are."""
    column = words.column
    if limit.bucket is None:
        return (column("key") == limit.key) & column("is_own")
    bucket = column("bucket_user"), column("bucket_client_id")
    is_bucket = (column("level") == limit.level) & (bucket[0] == limit.bucket[0]) & (bucket[1] == limit.bucket[1])
    drawn = draws(column("measured"), (column("user"), column("client_id")), bucket)
    return (column("key") == limit.key) & words.either(is_bucket & drawn, words.literal(False, pa.bool_()))


def _throttles(rows: Frame, limits: Sequence[Effective]) -> dict[str, Throttling]:
    """The throttles under each limit that has any."""
    added = _windows(rows)
    windows = in_arrow(added)
    throttled = windows.filter(pc.field("throttle_ms") > 0)
    if not len(throttled):
        return {}
    used = _used_while_throttled(rows, where(added, words_of(added).column("throttle_ms") > 0))
    values, found = {limit.key: limit.value for limit in limits}, {}
    for key in sorted(pc.unique(throttled["key"]).to_pylist()):
        every, its = (table.filter(pc.field("key") == key) for table in (windows, throttled))
        starts = pa.table({"broker": its["broker"], "measured": its["measured"], "end": its["start"]})
        before = every.join(starts, starts.column_names, join_type="left semi")  # bursts cross windows
        full = max((most for table in (its, before) if (most := pc.max(table["used"]).as_py())), default=None)
        limit = values[key]
        found[key] = Throttling(
            pc.max(its["throttle_ms"]).as_py(),
            pc.min(its["start"]).as_py(),
            None if full is None or not limit else full * 100.0 / limit,
            pc.any(its["unknown"]).as_py(),
            pc.max(every["own_ms"]).as_py(),
            used=used[key],
        )
    return found


def _windows(rows: Frame) -> Frame:
    """The use of the client's bucket in each window of a broker."""
    words = words_of(rows)
    own = {"own_throttle_ms": words.when(words.column("is_own"), words.column("throttle_ms"))}
    totals: dict[str, Measure] = {**BUCKET_TOTALS, "own_ms": ("max", "own_throttle_ms")}
    return added_up(with_further(rows, own), ["key", "broker", "measured", "start", "end"], totals, in_order=True)


def _used_while_throttled(rows: Frame, throttled: Frame) -> dict[str, dict[tuple[str, str], float]]:
    """What each client used in throttled windows of the bucket, by key."""
    words = words_of(rows)
    column = words.column
    clients = where(rows, names_one_client(column("measured"), column("user"), column("client_id")))
    by = ["key", "broker", "start"]
    among = members(clients, relational.each_once(throttled, by), by)
    sums: dict[str, Measure] = {"used": ("sum", "value")}
    used = defaultdict[str, dict[tuple[str, str], float]](dict)
    for row in in_arrow(added_up(among, ["key", "user", "client_id"], sums)).to_pylist():
        used[row["key"]][row["user"], row["client_id"]] = row["used"] or 0.0
    return used
