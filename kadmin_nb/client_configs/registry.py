"""The clients that follow dynamic client configs: the two records that each writes about itself, read and judged."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kafka.protocol.admin.cluster import DescribeQuorumRequest

from ..admin.compacted_topic import CompactedTopic
from ..admin.wire import Wire
from ..errors import KadminError
from ..model.client_configs import CONSUMER_KEYS, PRODUCER_KEYS, ClientEntity
from .records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    Document,
    Registration,
    RegistrationKey,
    Status,
    StatusKey,
)

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

    @property
    def status_key(self) -> StatusKey:
        """The key of its status."""
        return StatusKey(self.name.user, self.name.client_id, self.name.instance)

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
        return self.supports(key) or key in (CONSUMER_KEYS if self._is_consumer else PRODUCER_KEYS)

    @property
    def _is_consumer(self) -> bool:
        return self.registration.group_id is not None or any(map(self.supports, CONSUMER_KEYS))

    def why_not(self, key: str) -> str | None:
        """The reason that it does not follow a key, None where it does."""
        if not self.supports(key):
            return f"{self.name.software} {self.name.version} does not support {key}"
        if self.registration.group_protocol == GROUP_ON_BROKERS and key in CONSUMER_KEYS:
            return f"its group {self.registration.group_id} takes {key} from the brokers: consumer.{key} of the group"
        return self.status.rejected.get(key) if self.status else None


_METADATA_LOG = "__cluster_metadata"

Key = TypeVar("Key", bound=Document)
Value = TypeVar("Value", bound=Document)


@dataclass(frozen=True, slots=True)
class Registry:
    """The clients whose registration has not expired, and what was left out of what stands in the topics."""

    clients: tuple[RegisteredClient, ...]
    expired: int
    passed_over: int
    missing: tuple[str, ...]
    """The topics that are not there."""


@dataclass
class _Records(Generic[Key, Value]):
    """The newest record of each key, with its time in ms; what cannot be read changes nothing but a counter."""

    newest: dict[Key, tuple[Value, int]] = field(default_factory=dict)
    passed_over: int = 0
    is_missing: bool = False
    last: int = 0


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
        registrations = self._read(REGISTRATIONS_TOPIC, RegistrationKey, Registration, until)
        statuses = self._read(STATUS_TOPIC, StatusKey, Status, until)
        now = self._brokers_clock(until) or max(registrations.last, statuses.last)
        clients = [
            _with_status(RegisteredClient(name, value, seen), statuses.newest)
            for name, (value, seen) in registrations.newest.items()
        ]
        alive = tuple(client for client in clients if client.is_alive(now))
        return Registry(
            tuple(sorted(alive, key=_order)),
            len(clients) - len(alive),
            registrations.passed_over + statuses.passed_over,
            tuple(
                name
                for name, records in ((REGISTRATIONS_TOPIC, registrations), (STATUS_TOPIC, statuses))
                if records.is_missing
            ),
        )

    def forget(self, names: Iterable[RegistrationKey]) -> None:
        """Remove these registrations; clients that are alive register again within their interval.

        Raises
        ------
        NotAuthorized
            WRITE on the topic is missing.
        """
        until = time.monotonic() + self._wire.timeout
        topic = CompactedTopic(self._wire, REGISTRATIONS_TOPIC)
        if topic.exists(until):
            topic.remove([name.encode() for name in names], until)

    def _read(self, name: str, key_type: type[Key], value_type: type[Value], until: float) -> _Records[Key, Value]:
        topic, records = CompactedTopic(self._wire, name), _Records[Key, Value]()
        if not topic.exists(until):
            records.is_missing = True
            return records
        for record in topic.read(until):
            records.last = max(records.last, record.timestamp)
            key, value = key_type.decode(record.key), value_type.decode(record.value)
            if key is None or (value is None and record.value is not None):
                records.passed_over += 1
            elif value is None:
                records.newest.pop(key, None)
            else:
                records.newest[key] = value, record.timestamp
        return records

    def _brokers_clock(self, until: float) -> int:
        """The active controller's time in ms since 1970; 0 where it may not be asked: then the newest record is now.

        Nothing else tells the time of a cluster without writing: the leader has always just caught up with itself.
        """
        try:
            answer = self._wire.ask(
                _quorum_request, doing="asking for the brokers' time", timeout=max(0.1, until - time.monotonic())
            )
        except KadminError:
            return 0
        partitions = [partition for topic in answer.topics for partition in topic.partitions]
        return max((_times_of_leader(partition) for partition in partitions), default=0)


def _with_status(client: RegisteredClient, statuses: dict[StatusKey, tuple[Status, int]]) -> RegisteredClient:
    if (record := statuses.get(client.status_key)) is None:
        return client
    return RegisteredClient(client.name, client.registration, client.seen, *record)


def _order(client: RegisteredClient) -> tuple[str, ...]:
    name = client.name
    return name.user, name.client_id, name.software, name.version, name.instance


def _quorum_request() -> DescribeQuorumRequest:
    topic = DescribeQuorumRequest.TopicData
    partition = topic.PartitionData(partition_index=0)
    return DescribeQuorumRequest(topics=[topic(topic_name=_METADATA_LOG, partitions=[partition])])


def _times_of_leader(partition: Any) -> int:
    return max((voter.last_caught_up_timestamp for voter in partition.current_voters
                if voter.replica_id == partition.leader_id), default=0)  # fmt: skip
