"""The three topics of dynamic client configs: the settings that they are to have, and those that they have."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from kafka.protocol.metadata import MetadataRequest

from ..admin import error_codes
from ..admin.compacted_topic import CONFIGS, CompactedTopic, configs_on
from ..admin.configs import WireConfigs
from ..admin.wire import Wire
from ..model import rights
from ..model.refusal import Refusal
from ..model.resources import Resource
from .nouns import CONFIGS_TOPIC
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC

_WRITTEN_BY_CLIENTS: Mapping[str, str] = {
    **CONFIGS,
    "cleanup.policy": "compact,delete",  # clients come and go under new names for ever
    "retention.ms": str(7 * 86_400_000),  # both records of a client that is alive are sent again before that
    "retention.bytes": str(1 << 27),  # below what is read at most: nobody can write so much that it is refused
    "max.message.bytes": str(1 << 16),
}

SETTINGS: Mapping[str, Mapping[str, str]] = {
    CONFIGS_TOPIC: CONFIGS,
    REGISTRATIONS_TOPIC: _WRITTEN_BY_CLIENTS,
    STATUS_TOPIC: _WRITTEN_BY_CLIENTS,
}
"""The configs of each topic; the replicas, and how many of them must be in sync, depend on the cluster."""

CREATING = 30.0
"""Seconds for a topic to be made and to have a leader."""

_UNKNOWN_TOPIC = 3


@dataclass(frozen=True, slots=True)
class TopicShape:
    """A topic as brokers have it."""

    partitions: int
    replicas: int
    configs: Mapping[str, str]

    @property
    def is_compacted(self) -> bool:
        """True if the newest record of each key stays: without that entries are lost."""
        return self.partitions == 1 and "compact" in self.configs.get("cleanup.policy", "")


def settings_of(name: str, brokers: int) -> dict[str, str]:
    """All configs that the topic is to have on so many brokers."""
    return configs_on(brokers, SETTINGS[name])


def look(wire: Wire) -> dict[str, TopicShape | None]:
    """The three topics as they are; None where one is missing.

    Raises
    ------
    NotAuthorized
        DESCRIBE or DESCRIBE_CONFIGS on a topic is missing.
    """
    return {name: _shape(wire, name) for name in SETTINGS}


def create(wire: Wire, name: str) -> None:
    """Make the topic with these settings; one that is there stays as it is.

    Raises
    ------
    NotAuthorized
        CREATE on the topic is missing.
    TimedOut
        It has no leader in time.
    """
    CompactedTopic(wire, name, SETTINGS[name]).ensure(time.monotonic() + CREATING)


def _shape(wire: Wire, name: str) -> TopicShape | None:
    topic = MetadataRequest.MetadataRequestTopic(name=name)
    doing = f"looking for the topic {name}"
    answer = wire.ask(lambda: MetadataRequest(topics=[topic], allow_auto_topic_creation=False), doing=doing)
    (described,) = answer.topics
    if described.error_code == _UNKNOWN_TOPIC:
        return None
    error_codes.raise_for_error(described.error_code, None, doing, rights.on_topic("DESCRIBE", name))
    fewest = min((len(partition.replica_nodes) for partition in described.partitions), default=0)
    return TopicShape(len(described.partitions), fewest, _configs_of_topic(wire, name))


def _configs_of_topic(wire: Wire, name: str) -> dict[str, str]:
    keys = [*SETTINGS[name], "min.insync.replicas"]
    rows = WireConfigs(wire).describe([Resource("TOPIC", name)], keys, synonyms=False).to_pylist()
    for row in rows:
        if row["error"] is not None:
            needed = rights.to_describe(Resource("TOPIC", name))
            raise error_codes.error(Refusal(row["error"], row["message"]), f"reading {name}", needed)
    return {row["key"]: row["value"] for row in rows}
