"""What is read of one client to say what slows it: its use and that of its buckets, the known clients that share them,
and how much of the whole that is; its connections, and what its requests waited for; the leaders of its topics; the
clients with names like that of one without a request."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.client_brakes import QUEUED_MS, WAITED_MS, Address, ClientFacts, Queue, ReplicaWaits, Throttling
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..frames import relational
from ..frames.relational import Frame, Measure, added_up, in_arrow, names_of, where, words_of
from ..model.findings import Coverage, Row
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution import kernel
from ..resolution.rules import Effective, entity_of
from ..resolution.shadows import Quota
from ..usage.arithmetic import throttle_conditions
from ..usage.bucket_figures import micros
from ..usage.client_use import BYTE_KEYS, ClientUse, client_use
from ..usage.engines import Usage
from ..usage.limits_over_time import UNKNOWN, limits_over_time
from ..usage.usage_windows import in_windows
from . import near_names
from .request_logs import Observed

if TYPE_CHECKING:
    from ..state import History

SECOND = 1_000_000
"""The windows in which waits are looked at, in microseconds."""

MOST_NAMED = 3
"""Clients and quotas of like names that are named."""

_BUCKET = ("key", "level", "bucket_user", "bucket_client_id")


# --- its use, and that of its buckets ---


@dataclass(frozen=True)
class BucketUsage:
    """The use of the buckets of a client, by quota key: UTILISATION's rows, and who shares them.

    `usage` is what they are out of, `use` the client's own, each window by the limit of its time; `has_history` says
    whether these limits were recorded, or are those of now.
    """

    utilisation: Mapping[str, list[Row]]
    sharing: dict[str, list[tuple[str, str]]]
    usage: Frame
    use: ClientUse
    has_history: bool

    def columns(self, key: str) -> dict[str, Any]:
        """WHY's columns of one key."""
        rows = self.utilisation.get(key)
        clients = len(self.sharing[key]) if key in self.sharing else None
        if not rows:
            return {"clients": clients}
        highest = max(rows, key=lambda row: -1.0 if row["peak"] is None else row["peak"])
        throttles = [row["throttle_ms"] for row in rows if row["throttle_ms"] is not None]
        shares = [row["share_throttled"] for row in rows if row["share_throttled"] is not None]
        return {
            "clients": clients,
            "windows_unknown": sum(row["windows_unknown"] for row in rows),
            "peak": highest["peak"],
            "busiest": highest["broker"],
            "utilisation": highest["utilisation"],
            "throttle_ms": max(throttles, default=None),
            "share_throttled": max(shares, default=None),
        }


def bucket_usage(
    kafka: LiveKafka, usage: object, limits: Sequence[Effective], history: History | None = None
) -> BucketUsage:
    """The use of the buckets that one client draws from.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    limits
        The limits of the client, a key each.
    history
        The limits of the time of the usage; default: those of now, as if they had always been the same.
    """
    used, quotas, keys = Usage.of(usage).of_cluster(kafka.id), kafka.quotas.describe(), [limit.key for limit in limits]
    then, snapshots = (quotas, None) if history is None else _recorded(history, kafka.id)
    rows: list[Row] = used.utilisation(then, kafka.id, keys, {}).to_arrow().to_pylist()
    by_key = {limit.key: [row for row in rows if _is_of(row, limit)] for limit in limits}
    known = relational.taken(used.clients(), ("user", "client_id"), "the clients")
    column = words_of(known).column  # no client of another user and client-id can share a bucket
    near = where(known, (column("user") == limits[0].user) | (column("client_id") == limits[0].client_id))
    sharing = _sharing(quotas, in_arrow(near, task="Spark looks for the clients"), limits)
    recorded = None if snapshots is None else int(micros(snapshots["taken_at"]).max(initial=0))
    use = client_use(used.frame, limits_over_time(then, tuple(keys), snapshots), limits, recorded)
    return BucketUsage(by_key, sharing, used.frame, use, history is not None)


def _recorded(history: History, cluster_id: str) -> tuple[pa.Table, pa.Table]:
    """The quotas of a cluster over time, and the snapshots that they are out of; neither names the cluster."""
    intervals = in_arrow(history.intervals("quotas", cluster_id), task="Spark reads the history of quotas")
    snapshots = history.snapshots(cluster_id).to_arrow()
    snapshots = snapshots.filter(pc.equal(snapshots["kind"].cast(pa.string()), "quotas"))
    times = pa.table({"cluster_id": pa.repeat("", len(snapshots)), "taken_at": snapshots["taken_at"]})
    return intervals.drop_columns(["cluster_id"]), times


def _is_of(row: Row, limit: Effective) -> bool:
    """True of a row of UTILISATION of the bucket of this limit, under this value; of a key that is not limited, of the
    client's own."""
    names = ("user", "client_id") if limit.bucket is None else ("bucket_user", "bucket_client_id")
    whose = (limit.user, limit.client_id) if limit.bucket is None else limit.bucket
    is_limit = (row["key"], row["level"], row["limit"]) == (limit.key, limit.level, limit.value)
    return is_limit and tuple(row[name] for name in names) == whose


def _sharing(quotas: pa.Table, neighbours: pa.Table, limits: Iterable[Effective]) -> dict[str, list[tuple[str, str]]]:
    """The known clients of each bucket, sorted."""
    buckets = {limit.key: (limit.key, limit.level, *limit.bucket) for limit in limits if limit.bucket is not None}
    found: dict[str, list[tuple[str, str]]] = {key: [] for key in buckets}
    for row in kernel.resolve(quotas, neighbours, keys=[*buckets]).to_pylist():
        if tuple(row[name] for name in _BUCKET) == buckets[row["key"]]:
            found[row["key"]].append((row["user"], row["client_id"]))
    return {key: sorted(clients) for key, clients in found.items()}


def with_usage(
    kafka: LiveKafka, facts: ClientFacts, used: BucketUsage, brokers: Iterable[int], observed: Observed | None
) -> ClientFacts:
    """The facts with the use of the client and of its buckets; of one that was not seen, with names like its own.

    Parameters
    ----------
    brokers
        The brokers of the cluster: usage of all of them is the whole.
    observed
        The brokers and the time that were observed, whether or not a client asked for anything.
    """
    use = used.use
    since, until = (observed.since, observed.until) if observed else use.times
    seen = use.brokers | (observed.brokers if observed else frozenset())
    windows = max((row["windows"] for rows in used.utilisation.values() for row in rows), default=0)
    last = {key: one for limit in facts.limits if (one := use.throttled_last(key := limit.key))}
    whole = replace(
        facts,
        coverage=Coverage(seen, frozenset(brokers), since, until, use.rows),
        is_measured=use.is_measured,
        active=use.active / windows if windows and (use.byte_rows or observed) else None,
        request_use=used.columns("request_percentage").get("utilisation"),
        throttles={limit.key: _throttling(used, limit) for limit in facts.limits if limit.key in last},
        sharing=used.sharing,
        loads={key: one.used for key, one in last.items()},
        followers=observed.followers if observed else None,
    )
    return _with_like_names(kafka, whole, used.usage) if whole.is_unseen else whole


def _throttling(used: BucketUsage, limit: Effective) -> Throttling:
    """The throttles under the last limit of a key that has any."""
    last, then = used.use.throttled_last(limit.key), used.use.limits_of(limit.key)
    assert last is not None
    is_that_of_now = last.limit.is_that_of(limit)
    is_known = used.has_history and UNKNOWN not in [one.level for one in then]
    seen: dict[str, Any] = {name: getattr(last, name) for name in _SEEN}
    share = used.columns(limit.key).get("share_throttled") if is_that_of_now else None
    is_now = is_that_of_now if used.has_history and last.limit.level != UNKNOWN else None
    same_limit = len(then) == 1 if is_known else None
    return Throttling(**seen, share=share, is_now=is_now, then=last.limit.value, same_limit=same_limit)


_SEEN = ("longest_ms", "own_ms", "since", "until", "utilisation", "has_unknown", "is_of_share", "grew")
"""What a throttle's finding has as the usage has it."""


def _with_like_names(kafka: LiveKafka, facts: ClientFacts, usage: Frame) -> ClientFacts:
    """With clients that were seen, and quotas, whose names are like those of a client that was not."""
    known = in_arrow(Usage.of(usage).clients().to_arrow(), most=near_names.COMPARED)
    seen = near_names.clients(facts.client, [(row["user"], row["client_id"] or "") for row in known.to_pylist()])
    rows = [row for row in kafka.quotas.describe().to_pylist() if row["key"] in USER_CLIENT_KEYS]
    like = [row for row in rows if near_names.may_be_meant(facts.client, row["user"], row["client_id"])]
    entities = ((entity_of(row), row) for row in like)
    elsewhere = [Quota(entity, row["key"], row["value"]) for entity, row in entities if entity]
    return replace(facts, seen=seen[:MOST_NAMED], elsewhere=elsewhere[:MOST_NAMED])


# --- what its requests show ---


def with_requests(kafka: LiveKafka, facts: ClientFacts, requests: Frame) -> ClientFacts:
    """The facts with what requests show: the connections of the client's addresses, what its own requests waited for,
    and, where its bytes were throttled, the leaders of its topics."""
    connections = connections_of(requests)
    column = words_of(requests).column
    own = where(requests, (column("user") == facts.client[0]) & (column("client_id") == facts.client[1]))
    windows = _waiting(own)
    produced = sum(row["produced"] for row in windows)
    whole = replace(
        facts,
        throttled_s=_throttled_seconds(row for row in connections if _is_own(row, facts.client)),
        addresses=addresses_of(connections, facts.client),
        waits_ms=sum(row["waited"] or 0.0 for row in windows) / produced if produced else None,
        queues=_queues(windows, connections),
        replica_waits=_replica_waits(windows),
    )
    if facts.throttles.keys().isdisjoint(BYTE_KEYS) or "topics" not in names_of(requests):
        return whole
    try:
        return replace(whole, leaders=_leaders(kafka, own))
    except KadminError as error:
        return replace(whole, no_leaders=f"the leaders of its topics were not read: {error}")


def connections_of(requests: Frame) -> list[Row]:
    """Each connection of each client, with its `first` and `last` request, and the sums of `io_ms` and of the throttles
    of each kind of request."""
    words = words_of(requests)
    kinds = throttle_conditions(words.column("api"))
    columns = {name: words.when(is_it, words.column("throttle_ms")) for name, is_it in kinds.items()}
    sums: dict[str, Measure] = {name: ("sum", name) for name in ("io_ms", *kinds)}
    measures: dict[str, Measure] = {"first": ("min", "time"), "last": ("max", "time"), **sums}
    by = ["user", "client_id", "broker", "connection"]
    return _listed(added_up(relational.with_columns(requests, columns), by, measures))


_THROTTLES = {
    "producer_byte_rate": ("produce_ms",),
    "consumer_byte_rate": ("fetch_ms", "share_ms"),
    "request_percentage": ("other_ms",),
}
"""The sums of a connection that are throttles of each key."""


def _throttled_seconds(connections: Iterable[Row]) -> dict[tuple[str, int], float]:
    """How long the connection was throttled that was throttled longest, by key and broker. A broker reads
    nothing of it until a throttle ends, so that throttles do not overlap."""
    longest: dict[tuple[str, int], float] = {}
    for row in connections:
        for key, names in _THROTTLES.items():
            lasted = sum(row[name] or 0.0 for name in names) / 1000
            longest[key, row["broker"]] = max(lasted, longest.get((key, row["broker"]), 0.0))
    return longest


def _listed(frame: Frame) -> list[Row]:
    rows: list[Row] = in_arrow(frame, task="Spark looks for the requests of a client").to_pylist()
    return rows


def _waiting(own: Frame) -> list[Row]:
    """What requests of a client waited for in each second on each broker: `requests` that tell it waited `queue_ms` in
    a queue, `produced` ones `waited`, for other replicas most of all, and one of them for these as long as
    `replicas_ms`."""
    words = words_of(own)
    is_produce, waited = words.column("api") == "PRODUCE", words.column("total_ms") - words.column("io_ms")
    has_queue = "queue_ms" in names_of(own)
    queue_ms = words.column("queue_ms") if has_queue else words.literal(None, pa.float64())
    columns = {
        "queue_ms": queue_ms,
        "waited": words.when(is_produce, waited),
        "replicas_ms": words.when(is_produce, waited - queue_ms),
    }
    measures: dict[str, Measure] = {
        **{name: ("sum", name) for name in ("queue_ms", "io_ms", "waited")},
        "requests": ("count", "queue_ms"),
        "produced": ("count", "waited"),
        "replicas_ms": ("max", "replicas_ms"),
    }
    return _listed(added_up(in_windows(relational.with_columns(own, columns), SECOND), ["broker", "start"], measures))


def _replica_waits(windows: Iterable[Row]) -> dict[int, ReplicaWaits]:
    """How long a PRODUCE waited for other replicas, by the broker that led the partitions."""
    longest = defaultdict[int, list[float]](list)
    for row in windows:
        if row["replicas_ms"] is not None:
            longest[row["broker"]].append(row["replicas_ms"])
    return {
        broker: ReplicaWaits(max(waits), sum(one >= WAITED_MS for one in waits) / len(waits))
        for broker, waits in longest.items()
    }


def _leaders(kafka: LiveKafka, own: Frame) -> frozenset[int] | None:
    """The brokers that lead the partitions of the client's topics, by the metadata; None where no request names one,
    or one of the topics is not there any more."""
    rows = _listed(relational.each_once(relational.having(own, "topics"), ["topics"]))
    named = {name for row in rows for name in row["topics"].split(",")}
    listed = [*kafka.topics()] if named else []
    by_id = {id: name for name, id in kafka.topic_ids(listed).items()} if named - {*listed} else {}
    topics = {by_id.get(name, name) for name in named}
    partitions = kafka.partitions(topics) if topics else []
    if not topics or topics - {partition.topic for partition in partitions}:
        return None
    return frozenset(partition.leader for partition in partitions if partition.leader is not None)


def _is_own(row: Row, client: tuple[str, str]) -> bool:
    return (row["user"], row["client_id"]) == client


_REMOTE = re.compile(r"-(?P<ip>[^-]+):\d+-\d+(?:-\d+)?$")
"""The client's end of a connection, as the request log writes it: `10.0.0.1:9092-10.0.0.7:40312-0-5`."""

_AT_FIRST = timedelta(seconds=1)
"""Connections that are seen within this time are not counted as new: they may have been there."""


def addresses_of(connections: Sequence[Row], client: tuple[str, str]) -> list[Address]:
    """The connections of each address of a client to each broker, of all clients at that address."""
    if not connections:
        return []
    begin, end = min(row["first"] for row in connections), max(row["last"] for row in connections)
    seconds = max((end - begin - _AT_FIRST).total_seconds(), 1.0)
    places = {row["connection"]: _REMOTE.search(row["connection"]) for row in connections}
    remote = {name: place["ip"] for name, place in places.items() if place}
    own = {remote.get(row["connection"]) for row in connections if _is_own(row, client)}
    spans = defaultdict[tuple[str, int], dict[str, tuple[datetime, datetime]]](dict)
    for row in connections:
        name = row["connection"]
        if name in remote and remote[name] in own:
            of_place = spans[remote[name], row["broker"]]
            first, last = of_place.get(name, (row["first"], row["last"]))
            of_place[name] = min(first, row["first"]), max(last, row["last"])
    return [
        Address(ip, broker, sum(first > begin + _AT_FIRST for first, _ in of_place.values()) / seconds, len(of_place),
                _at_once(of_place.values()))
        for (ip, broker), of_place in sorted(spans.items())
    ]  # fmt: skip


def _at_once(spans: Iterable[tuple[datetime, datetime]]) -> int:
    """How many were open at the same time, at least: from its first to its last request a connection was open.

    One that ends where another begins may have been closed before; one with a single request was open then.
    """
    ends, begins, single_ends = range(3)
    times = sorted(
        event
        for first, last in spans
        for event in ((first, begins, 1), (last, ends if last > first else single_ends, -1))
    )
    return max(accumulate(step for _, _, step in times), default=0)


def _queues(windows: Iterable[Row], connections: Iterable[Row]) -> list[Queue]:
    """What requests of the client waited for, broker by broker; nothing where the requests do not tell."""
    own = defaultdict[int, list[Row]](list)
    for row in windows:
        if row["requests"]:
            own[row["broker"]].append(row)
    io_ms = defaultdict[int, defaultdict[tuple[str, str], float]](lambda: defaultdict(float))
    for row in connections:
        io_ms[row["broker"]][row["user"], row["client_id"]] += row["io_ms"] or 0.0
    return [_queue(broker, own[broker], io_ms[broker]) for broker in sorted(own)]


def _queue(broker: int, windows: Sequence[Row], io_ms: Mapping[tuple[str, str], float]) -> Queue:
    """Out of the client's windows on a broker, and of the time that each client took of its threads."""
    requests = sum(row["requests"] for row in windows)
    full = [row["start"] for row in windows if row["queue_ms"] / row["requests"] >= QUEUED_MS]
    busiest, all_io = max(io_ms, key=lambda client: io_ms[client]), sum(io_ms.values())
    return Queue(
        broker=broker,
        queue_ms=sum(row["queue_ms"] for row in windows) / requests,
        io_ms=sum(row["io_ms"] or 0.0 for row in windows) / requests,
        full=len(full) / len(windows),
        since=datetime.fromtimestamp(min(full) / SECOND, UTC) if full else None,
        busiest=busiest,
        busiest_share=io_ms[busiest] / all_io if all_io else 0.0,
    )
