"""Reassignments of partitions that are under way: ListPartitionReassignments (API 46, KIP-455)."""

from __future__ import annotations

from kafka.protocol.admin.topics import ListPartitionReassignmentsRequest

from ..model import rights
from . import error_codes
from .wire import Wire


def under_way(wire: Wire) -> list[tuple[str, int]]:
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
