"""The clients that follow dynamic client configs: the two records that each writes about itself, read and judged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin.cluster import DescribeQuorumRequest

from ..admin.compacted_topic import CompactedTopic
from ..admin.wire import Wire
from ..errors import KadminError
from ..model.client_configs import CONSUMER_KEYS, PRODUCER_KEYS, ClientEntity, merged
from .records import REGISTRATIONS_TOPIC, STATUS_TOPIC, Log, Registration, RegistrationKey, Status, StatusKey

if TYPE_CHECKING:
    import pyarrow as pa

INTERVALS = 3
"""A registration that was not sent again in so many of its intervals has expired."""

SHORTEST_LIFE = 10_000
"""Milliseconds before a registration expires, however short its interval: one that is on its way may take so long."""

GROUP_ON_BROKERS = "consumer"
"""The group protocol (KIP-848) whose timeouts are the group's configs, on the brokers."""


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredClient:
    """One instance of a client. `seen` and `said` are when its registration and its status were appended, in ms."""

    name: RegistrationKey
    registration: Registration
    seen: int
    status: Status | None = None
    said: int | None = None

    @property
    def entity(self) -> ClientEntity:
        """The user and client-id that it belongs to."""
        return ClientEntity(self.name.user, self.name.client_id)

    def is_below(self, entity: ClientEntity) -> bool:
        """True if an entry of that entity may decide its values."""
        return entity in self.entity.levels

    def is_alive(self, now: int) -> bool:
        """True until its registration has expired, at a time of the brokers in ms since 1970."""
        return self.seen + max(SHORTEST_LIFE, INTERVALS * self.registration.interval_ms) >= now

    def supports(self, key: str) -> bool:
        """True if its software can follow the key."""
        return key in self.registration.keys

    def is_of(self, key: str) -> bool:
        """True of a client that has such a config: a producer `acks`, a consumer its timeouts."""
        is_consumer = self.registration.group_id is not None or any(map(self.supports, CONSUMER_KEYS))
        return self.supports(key) or key in (CONSUMER_KEYS if is_consumer else PRODUCER_KEYS)

    def why_not(self, key: str) -> str | None:
        """The reason that it does not follow a key, None where it does."""
        if not self.supports(key):
            return f"{self.name.software} {self.name.version} does not support {key}"
        if self.registration.group_protocol == GROUP_ON_BROKERS and key in CONSUMER_KEYS:
            return f"its group {self.registration.group_id} takes {key} from the brokers: consumer.{key} of the group"
        return self.status.rejected.get(key) if self.status else None


_METADATA_LOG = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Registry:
    """The clients whose registration has not expired, and how many records were left out."""

    clients: tuple[RegisteredClient, ...]
    expired: int
    passed_over: int
    missing: tuple[str, ...]
    """The topics that are not there."""


class WireClientRegistry:
    """The registry of clients over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def describe(self, *, timeout: float | None = None) -> Registry:
        """The clients that are alive by the brokers' clock, with their status.

        Raises
        ------
        NotAuthorized
            READ on a topic is missing.
        TimedOut, ConnectionFailed, Invalid
            A topic cannot be read, within that time or at all.
        """
        until = time.monotonic() + (timeout or self._wire.timeout)
        registrations, statuses = Log(RegistrationKey, Registration), Log(StatusKey, Status)
        logs: dict[str, Log[Any, Any]] = {REGISTRATIONS_TOPIC: registrations, STATUS_TOPIC: statuses}
        missing = tuple(name for name, log in logs.items() if not self._read(name, log, until))
        now = self.brokers_clock(until) or max(registrations.last, statuses.last)
        clients = []
        for name, (registration, _, seen) in registrations.newest.items():
            key = StatusKey(name.user, name.client_id, name.instance)
            status, _, said = statuses.newest.get(key, (None, 0, None))
            clients.append(RegisteredClient(name, registration, seen, status, said))
        alive = tuple(client for client in clients if client.is_alive(now))
        return Registry(
            tuple(sorted(alive, key=lambda client: astuple(client.name))),
            len(clients) - len(alive),
            registrations.passed_over + statuses.passed_over,
            missing,
        )

    def forget(self, names: Iterable[RegistrationKey]) -> None:
        """Remove these registrations; live clients register again within their interval.

        Raises
        ------
        NotAuthorized
            WRITE on the topic is missing.
        """
        until = time.monotonic() + self._wire.timeout
        topic = CompactedTopic(self._wire, REGISTRATIONS_TOPIC)
        if topic.exists(until):
            topic.remove([name.encode() for name in names], until)

    def _read(self, name: str, log: Log[Any, Any], until: float) -> bool:
        """True after reading a topic; False if the cluster does not have it."""
        topic = CompactedTopic(self._wire, name)
        if not topic.exists(until):
            return False
        for record in topic.read(until):
            log.take(record.key, record.value, record.offset, record.timestamp)
        return True

    def brokers_clock(self, until: float) -> int:
        """The active controller's time in ms since 1970; 0 where it may not be asked: then the newest record is now.

        Nothing else tells the time of a cluster without writing: the leader has always just caught up with itself.
        """
        topic = DescribeQuorumRequest.TopicData
        asked = topic(topic_name=_METADATA_LOG, partitions=[topic.PartitionData(partition_index=0)])
        try:
            answer = self._wire.ask(
                lambda: DescribeQuorumRequest(topics=[asked]),
                doing="asking for the brokers' time",
                timeout=max(0.1, until - time.monotonic()),
            )
        except KadminError:
            return 0
        partitions = [partition for topic in answer.topics for partition in topic.partitions]
        voters = ((partition.leader_id, voter) for partition in partitions for voter in partition.current_voters)
        return max((v.last_caught_up_timestamp for leader, v in voters if v.replica_id == leader), default=0)


Entries = Mapping[ClientEntity, Mapping[str, tuple[str, int]]]
"""The value and the revision of each entity's keys."""


def entries_of(stored: pa.Table) -> Entries:
    """CLIENT_CONFIGS by entity and key."""
    entries: dict[ClientEntity, dict[str, tuple[str, int]]] = {}
    for row in stored.to_pylist():
        entity = ClientEntity(row["user"], row["client_id"])
        entries.setdefault(entity, {})[row["key"]] = row["value"], row["revision"]
    return entries


def entries_for(client: RegisteredClient, entries: Entries) -> Mapping[str, tuple[str, int]]:
    """The value and the revision of each key that a client supports and that its entries set."""
    in_force = merged(entries.get(level, {}) for level in client.entity.levels)
    return {key: entry for key, entry in in_force.items() if client.supports(key)}
