"""What is read of one client to say what slows it: its use, and how much of the whole that is; the leaders of its
topics; the followers that its writes wait for; the clients with names like that of one without a request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..advice.client_brakes import WAITED_MS, ClientFacts, Load, ReplicaWaits, Throttling
from ..client_configs.kafka import LiveKafka
from ..errors import KadminError
from ..frames import relational
from ..frames.relational import Frame, added_up, in_arrow, names_of, where, words_of
from ..model.findings import Coverage, Row
from ..model.quota_keys import USER_CLIENT_KEYS
from ..resolution.rules import Effective, entity_of
from ..resolution.shadows import Quota
from ..usage.client_use import BYTE_KEYS, ClientUse
from ..usage.engines import Usage
from ..usage.limits_over_time import UNKNOWN
from ..usage.usage_windows import in_windows
from . import near_names
from .bucket_usage import BucketUsage
from .observed_requests import Observed

SECOND = 1_000_000
"""The windows in which waits are looked at, in microseconds."""

MOST_NAMED = 3
"""Clients and quotas of like names that are named."""


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
    coverage = Coverage(seen, frozenset(brokers), since, until, use.rows)
    throttles = {limit.key: _throttling(used, limit) for limit in facts.limits}
    whole = replace(
        facts,
        coverage=coverage,
        is_measured=use.is_measured,
        active=use.active / used.windows if used.windows and (use.byte_rows or observed) else None,
        request_use=used.columns("request_percentage").get("utilisation"),
        throttles={key: one for key, one in throttles.items() if one is not None},
        sharing=used.sharing,
        loads=_loads(use, throttles),
        followers=observed.followers if observed else None,
    )
    return _with_like_names(kafka, whole, used.used) if whole.is_unseen else whole


def _throttling(used: BucketUsage, limit: Effective) -> Throttling | None:
    last = used.use.throttled_last(limit.key)
    if last is None:
        return None
    then, has_history = used.use.limits_of(limit.key), used.recorded is not None
    is_known = has_history and UNKNOWN not in [one.level for one in then]
    return Throttling(
        last.longest_ms,
        used.columns(limit.key).get("share_throttled") if last.limit.is_that_of(limit) else None,
        last.since,
        last.utilisation,
        last.has_unknown,
        last.is_of_share,
        last.until,
        last.own_ms,
        last.limit.is_that_of(limit) if has_history and last.limit.level != UNKNOWN else None,
        last.limit.value,
        last.grew,
        len(then) == 1 if is_known else None,
    )


def _loads(use: ClientUse, keys: Iterable[str]) -> list[Load]:
    """What each client used while its bucket was throttled."""
    last = filter(None, map(use.throttled_last, keys))
    return [
        Load(user, client_id, one.limit.key, broker, used)
        for one in last
        for (user, client_id, broker), used in one.used.items()
    ]


# --- a client that nobody saw ---


def _with_like_names(kafka: LiveKafka, facts: ClientFacts, usage: Frame) -> ClientFacts:
    """With clients that were seen, and quotas, whose names are like those of the client."""
    known = in_arrow(Usage.of(usage).clients().to_arrow(), most=near_names.COMPARED)
    seen = near_names.clients(facts.client, [(row["user"], row["client_id"] or "") for row in known.to_pylist()])
    rows = [row for row in kafka.quotas.describe().to_pylist() if row["key"] in USER_CLIENT_KEYS]
    like = [row for row in rows if near_names.may_be_meant(facts.client, row["user"], row["client_id"])]
    entities = ((entity_of(row), row) for row in like)
    elsewhere = [Quota(entity, row["key"], row["value"]) for entity, row in entities if entity]
    return replace(facts, seen=seen[:MOST_NAMED], elsewhere=elsewhere[:MOST_NAMED])


# --- what its requests show ---


def with_requests(kafka: LiveKafka, facts: ClientFacts, requests: Frame) -> ClientFacts:
    """The facts with what the requests of the client show: the leaders of its topics, and its waits for replicas."""
    own = _of_client(requests, facts.client)
    with_waits = replace(facts, replica_waits=_replica_waits(own))
    if facts.throttles.keys().isdisjoint(BYTE_KEYS) or "topics" not in names_of(requests):
        return with_waits
    try:
        return replace(with_waits, leaders=_leaders(kafka, own))
    except KadminError as error:
        return replace(with_waits, no_leaders=f"the leaders of its topics were not read: {error}")


def _of_client(requests: Frame, client: tuple[str, str]) -> Frame:
    column = words_of(requests).column
    return where(requests, (column("user") == client[0]) & (column("client_id") == client[1]))


def _replica_waits(own: Frame) -> dict[int, ReplicaWaits]:
    """How long a PRODUCE waited for other replicas, by the broker that led the partitions."""
    if "queue_ms" not in names_of(own):
        return {}
    words = words_of(own)
    column = words.column
    waits = {"waits": column("total_ms") - column("io_ms") - column("queue_ms")}
    produce = relational.with_further(relational.equal(own, "api", "PRODUCE"), waits)
    longest = defaultdict[int, list[float]](list)
    for row in _listed(added_up(in_windows(produce, SECOND), ["broker", "start"], {"waits": ("max", "waits")})):
        longest[row["broker"]].append(row["waits"] or 0.0)
    return {
        broker: ReplicaWaits(max(waits), sum(one >= WAITED_MS for one in waits) / len(waits))
        for broker, waits in longest.items()
    }


def _leaders(kafka: LiveKafka, own: Frame) -> frozenset[int] | None:
    """The brokers that lead the partitions of the client's topics, by the metadata; None where no request names one,
    or one of the topics is not there any more."""
    rows = _listed(added_up(relational.having(own, "topics"), ["topics"], {}))
    named = {name for row in rows for name in row["topics"].split(",")}
    listed = [*kafka.topics()] if named else []
    by_id = {id: name for name, id in kafka.topic_ids(listed).items()} if named - {*listed} else {}
    topics = {by_id.get(name, name) for name in named}
    partitions = kafka.partitions(topics) if topics else []
    if not topics or topics - {partition.topic for partition in partitions}:
        return None
    return frozenset(partition.leader for partition in partitions if partition.leader is not None)


def _listed(frame: Frame) -> Sequence[Row]:
    rows: list[Row] = in_arrow(frame, task="Spark looks for the requests of a client").to_pylist()
    return rows
