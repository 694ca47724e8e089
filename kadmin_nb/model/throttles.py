"""Throttles of replication: configs that Kafka's tools set for a while (KIP-73, KIP-113)."""

from __future__ import annotations

from .changes import Target

THROTTLES = {
    "TOPIC": ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    "BROKER": ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
}
"""The keys that throttle a reassignment, on each type of resource."""

BETWEEN_DISKS = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Throttles moves between the disks of one broker, which no list of reassignments has."""

RATES = (*THROTTLES["BROKER"], BETWEEN_DISKS)
"""The bytes per second of a broker. It knows them and lists them only once they are set."""

KEYS = frozenset({*THROTTLES["TOPIC"], *RATES})

NOBODY_LOOKED = "whether a reassignment was running is not known"


def is_throttle(target: Target) -> bool:
    """True of a config that kafka-reassign-partitions sets when a reassignment begins, and removes when it is over."""
    resource, key = target
    return key in THROTTLES.get(resource.scope, ()) or (resource.scope == "BROKER" and key == BETWEEN_DISKS)
