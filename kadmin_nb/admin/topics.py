"""Topics: they are created, have offsets (ListOffsets, API 2), take room on disks, and are copied.

Copies are under way where partitions are reassigned (API 46, KIP-455), or move between the disks of a broker
(KIP-113).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, cast

from kafka.protocol.admin.cluster import DescribeLogDirsRequest
from kafka.protocol.admin.topics import CreateTopicsRequest, ListPartitionReassignmentsRequest
from kafka.protocol.consumer import IsolationLevel, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from ..errors import KadminError
from ..model import rights
from ..model.changes import Target
from ..model.resources import BETWEEN_DISKS, Partition, Resource
from . import error_codes
from .wire import Wire

EARLIEST, LATEST = -2, -1
"""The first offset that is not in the remote store alone (KIP-405)."""

_READ_UNCOMMITTED = int(IsolationLevel.READ_UNCOMMITTED)
_TOPICS_TOGETHER = 1_000
_EXISTS, _AS_BROKERS_SAY = 36, -1

CREATED_WITHIN = 30.0
"""Seconds that the making of a topic may take."""

_NAMED = 3
"""Partitions that a reason names; the others are counted."""

_Partitions = Mapping[str, Collection[int]]
"""Numbers of partitions by topic."""

_Place = tuple[str, int]
"""A topic, and the number of a partition of it."""


def offsets_request(partitions: _Partitions, timestamp: int) -> Any:
    """The request for these offsets, to the broker that leads all of the partitions."""
    topic = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        topic(
            name=name,
            partitions=[topic.ListOffsetsPartition(partition_index=number, timestamp=timestamp) for number in numbers],
        )
        for name, numbers in partitions.items()
    ]
    return ListOffsetsRequest(replica_id=-1, isolation_level=_READ_UNCOMMITTED, topics=topics)


def metadata(
    wire: Wire, names: Iterable[str], *, doing: str, node: int | None = None, timeout: float | None = None
) -> Any:
    """A broker's answer on these topics, none of which it makes."""
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return wire.ask(
        lambda: MetadataRequest(topics=topics, allow_auto_topic_creation=False), node=node, doing=doing, timeout=timeout
    )


def empty_topics(wire: Wire, names: Iterable[str]) -> set[str]:
    """The topics whose earliest and latest offsets are equal in every partition.

    One of which anything cannot be read within the connection's bound is not among them.
    """
    wanted, until = sorted(names), time.monotonic() + wire.timeout
    empty: set[str] = set()
    for start in range(0, len(wanted), _TOPICS_TOGETHER):
        try:
            found = partitions(wire, wanted[start : start + _TOPICS_TOGETHER], timeout=_left(until))
        except KadminError:
            break
        empty |= {one.topic for one in found} - {one.topic for one in found if one.leader is None}
        for leader, parts in _by_leader(found).items():
            empty -= _with_records(wire, leader, parts, until)
    return empty


def _by_leader(found: Iterable[Partition]) -> dict[int, dict[str, list[int]]]:
    """The numbers of the partitions by leader and topic; without those that have none."""
    led: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        if one.leader is not None:
            led[one.leader][one.topic].append(one.number)
    return led


def partitions(wire: Wire, names: Collection[str], timeout: float | None = None) -> list[Partition]:
    """The partitions of these topics; without topics that do not exist or that we may not describe."""
    ordered = sorted(names)
    starts = range(0, len(ordered), _TOPICS_TOGETHER)
    doing = "asking for the leaders of topics"
    parts = [ordered[start : start + _TOPICS_TOGETHER] for start in starts]
    answers = [metadata(wire, part, doing=doing, timeout=timeout) for part in parts]
    found = [topic for answer in answers for topic in answer.topics if not topic.error_code]
    return [
        Partition(
            topic.name,
            one.partition_index,
            None if one.leader_id < 0 else one.leader_id,
            tuple(one.replica_nodes),
            tuple(one.isr_nodes),
        )
        for topic in found
        for one in topic.partitions
    ]


def _on_disks(wire: Wire, node: int, doing: str) -> Iterator[tuple[_Place, Any]]:
    """The partitions on the disks of a broker, each with what the broker tells of it."""
    answer = wire.ask(lambda: DescribeLogDirsRequest(topics=None), node=node, doing=doing)
    error_codes.raise_for_error(getattr(answer, "error_code", 0) or 0, None, doing, rights.on_cluster("DESCRIBE"))
    for folder in answer.results:
        for topic in folder.topics:
            yield from (((topic.name, one.partition_index), one) for one in topic.partitions)


def _with_records(wire: Wire, leader: int, partitions: _Partitions, until: float) -> set[str]:
    """The topics of which some partition is not seen to be empty."""
    try:
        begins, ends = (_offsets(wire, leader, partitions, timestamp, until) for timestamp in (EARLIEST, LATEST))
    except KadminError:
        return {*partitions}
    places = [(name, number) for name, numbers in partitions.items() for number in numbers]
    return {place[0] for place in places if place not in begins or begins[place] != ends.get(place)}


def _offsets(wire: Wire, leader: int, partitions: _Partitions, timestamp: int, until: float) -> dict[_Place, int]:
    """The offsets of those partitions that have no error."""
    answer = wire.ask(
        lambda: offsets_request(partitions, timestamp), node=leader, doing="reading offsets", timeout=_left(until)
    )
    return {
        (topic.name, partition.partition_index): partition.offset
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == 0
    }


def _left(until: float) -> float:
    return max(0.05, until - time.monotonic())


def create(
    wire: Wire,
    name: str,
    *,
    partitions: int = 1,
    replicas: int = _AS_BROKERS_SAY,
    configs: Mapping[str, str] | None = None,
    within: float = CREATED_WITHIN,
) -> None:
    """Make a topic; one that exists already stays as it is.

    Raises
    ------
    NotAuthorized, Invalid
        The broker refuses it.
    TimedOut
        It may have been made.
    """
    topic = CreateTopicsRequest.CreatableTopic
    new_topic = topic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[],
        configs=[topic.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )
    doing = f"creating the topic {name}"
    answer = wire.tell(
        lambda: CreateTopicsRequest(topics=[new_topic], timeout_ms=int(within * 1000), validate_only=False),
        doing=doing,
        timeout=within,
    )
    made = answer.topics[0]
    code = 0 if made.error_code == _EXISTS else made.error_code
    error_codes.raise_for_error(code, made.error_message, doing, rights.on_topic("CREATE", name))


def reassignments_under_way(wire: Wire) -> list[_Place]:
    """The partitions that replicas are being added to, or removed from.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "listing reassignments"
    milliseconds = int(wire.timeout * 1000)
    answer = wire.ask(lambda: ListPartitionReassignmentsRequest(timeout_ms=milliseconds, topics=None), doing=doing)
    error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
    return sorted((topic.name, partition.partition_index) for topic in answer.topics for partition in topic.partitions)


def moves_between_disks(wire: Wire, broker: int | None) -> list[_Place]:
    """The partitions whose replicas move between the disks of a broker, or of any.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "reading the folders of partitions"
    all_brokers = metadata(wire, [], doing="asking for brokers").brokers if broker is None else ()
    nodes = [one.node_id for one in all_brokers] if broker is None else [broker]
    on_disks = (found for node in nodes for found in _on_disks(wire, node, doing))
    return sorted({place for place, one in on_disks if one.is_future_key})


def throttling(wire: Wire, throttles: Collection[Target]) -> dict[Target, str]:
    """The throttles that hold back copies now, or of which that is not known, with the reason; see `ports.Kafka`."""
    found: dict[Target, str | None] = {}
    if of_reassignments := [target for target in throttles if target[1] != BETWEEN_DISKS]:
        reason = _copying("a reassignment is running", partial(reassignments_under_way, wire))
        found |= dict.fromkeys(of_reassignments, reason)
    for target in (target for target in throttles if target[1] == BETWEEN_DISKS):
        broker = cast(Resource, target[0]).broker
        found[target] = _copying("replicas move between disks", partial(moves_between_disks, wire, broker))
    return {target: why for target, why in found.items() if why is not None}


def _copying(what: str, under_way: Callable[[], list[_Place]]) -> str | None:
    """The reason where copies are under way, or where nobody can say; None where none are."""
    try:
        partitions = under_way()
    except KadminError as exc:
        return f"whether {what} is not known: {exc}"
    if not partitions:
        return None
    names = ", ".join(f"{topic}-{number}" for topic, number in partitions[:_NAMED])
    more = f" and {len(partitions) - _NAMED:,} more" if len(partitions) > _NAMED else ""
    return f"{what} ({names}{more})"
