"""Copies of partitions that are under way: reassignments (API 46, KIP-455), and moves between disks (KIP-113)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from kafka.protocol.admin.cluster import DescribeLogDirsRequest
from kafka.protocol.admin.topics import ListPartitionReassignmentsRequest
from kafka.protocol.metadata import MetadataRequest

from ..errors import KadminError
from ..model import rights
from ..model.changes import Target
from ..model.resources import Resource
from ..model.throttles import BETWEEN_DISKS
from . import error_codes
from .wire import Wire

_NAMED = 3
"""Partitions that a reason names; the others are counted."""


def reassignments_under_way(wire: Wire) -> list[tuple[str, int]]:
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


def moves_between_disks(wire: Wire, broker: int | None) -> list[tuple[str, int]]:
    """The partitions whose replicas move between the disks of a broker, or of any.

    Raises
    ------
    NotAuthorized
        DESCRIBE on the cluster is missing.
    """
    doing = "reading the folders of partitions"
    brokers = [broker] if broker is not None else [one.node_id for one in _brokers(wire)]
    answers = [wire.ask(lambda: DescribeLogDirsRequest(topics=None), node=node, doing=doing) for node in brokers]
    for answer in answers:
        error_codes.raise_for_error(getattr(answer, "error_code", 0) or 0, None, doing, rights.on_cluster("DESCRIBE"))
    moving = {
        (topic.name, partition.partition_index)
        for answer in answers
        for folder in answer.results
        for topic in folder.topics
        for partition in topic.partitions
        if partition.is_future_key
    }
    return sorted(moving)


def throttling(wire: Wire, throttles: Collection[Target]) -> dict[Target, str]:
    """The throttles that hold back copies now, or of which that is not known, with the reason; see `ports.Kafka`."""
    between_disks = [target for target in throttles if target[1] == BETWEEN_DISKS]
    of_reassignments = [target for target in throttles if target[1] != BETWEEN_DISKS]
    reason = _reassignment(wire) if of_reassignments else None
    found = dict.fromkeys(of_reassignments, reason) | {target: _moves(wire, target) for target in between_disks}
    return {target: why for target, why in found.items() if why is not None}


def _reassignment(wire: Wire) -> str | None:
    """The reason where a reassignment is running, or where nobody can say; None where none is."""
    try:
        return _of_partitions("a reassignment is running", reassignments_under_way(wire))
    except KadminError as exc:
        return f"whether a reassignment is running is not known: {exc}"


def _moves(wire: Wire, target: Target) -> str | None:
    """The same of replicas that move between the disks of a broker."""
    resource = cast(Resource, target[0])
    try:
        return _of_partitions("replicas move between disks", moves_between_disks(wire, resource.broker))
    except KadminError as exc:
        return f"whether replicas move between disks is not known: {exc}"


def _of_partitions(what: str, partitions: list[tuple[str, int]]) -> str | None:
    if not partitions:
        return None
    names = ", ".join(f"{topic}-{number}" for topic, number in partitions[:_NAMED])
    more = f" and {len(partitions) - _NAMED:,} more" if len(partitions) > _NAMED else ""
    return f"{what} ({names}{more})"


def _brokers(wire: Wire) -> list[Any]:
    """The brokers that serve."""
    answer = wire.ask(lambda: MetadataRequest(topics=[]), doing="asking for brokers")
    return list(answer.brokers)
