"""Topics: they are created, have offsets (ListOffsets, API 2), and are copied while they are reassigned (API 46)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from kafka.protocol.admin.topics import CreateTopicsRequest, ListPartitionReassignmentsRequest
from kafka.protocol.consumer import IsolationLevel, ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from ..errors import KadminError
from ..model import rights
from ..model.changes import Target
from ..model.resources import BETWEEN_DISKS, Partition
from . import error_codes
from .wire import Wire
from .wire_kinds import chunks

EARLIEST = -2

_READ_UNCOMMITTED = int(IsolationLevel.READ_UNCOMMITTED)
_TOPICS_TOGETHER = 1_000
_EXISTS, _AS_BROKERS_SAY = 36, -1

CREATED_WITHIN = 30.0
"""Seconds that the making of a topic may take."""

_Partitions = Mapping[str, Collection[int]]
"""Numbers of partitions by topic."""


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


def partitions(wire: Wire, names: Collection[str]) -> list[Partition]:
    """The partitions of these topics; without topics that do not exist or that we may not describe."""
    parts = chunks(sorted(names), _TOPICS_TOGETHER)
    answers = [metadata(wire, part, doing="asking for the leaders of topics") for part in parts]
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


def is_reassigning(wire: Wire) -> bool:
    """True if replicas are being added to partitions, or removed from them.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "listing reassignments"
    milliseconds = int(wire.timeout * 1000)
    answer = wire.ask(lambda: ListPartitionReassignmentsRequest(timeout_ms=milliseconds, topics=None), doing=doing)
    error_codes.raise_for_error(answer.error_code, answer.error_message, doing, rights.on_cluster("DESCRIBE"))
    return any(topic.partitions for topic in answer.topics)


def throttling(wire: Wire, throttles: Collection[Target]) -> dict[Target, str]:
    """The throttles that hold back copies now, or of which that is not known, with the reason; see `ports.Kafka`."""
    found = {target: f"{_BETWEEN_DISKS} is not known" for target in throttles if target[1] == BETWEEN_DISKS}
    if others := [target for target in throttles if target not in found]:
        try:
            reason = "a reassignment is running" if is_reassigning(wire) else ""
        except KadminError as exc:
            reason = f"whether a reassignment is running is not known: {exc}"
        found |= dict.fromkeys(others, reason) if reason else {}
    return found


_BETWEEN_DISKS = "whether replicas move between the disks of a broker (kafka-log-dirs.sh shows it)"
