"""A consumer that takes new timeouts while it runs: confluent-kafka's, with one more between it and the application."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, Message, TopicPartition

from ...model.client_configs import CONSUMER_KEYS
from .follower import LOOK_INTERVAL, Candidate, Followed, end_of, log
from .settings import client_settings

# --- where another consumer reads on ---


PartitionName = tuple[str, int]
"""A topic and a partition."""

_QUIET = 0.5
"""Seconds in which nothing came, after which a partition's end is where its reading began."""
_COMMITTED_TIMEOUT = 2.0


def name_of(partition: TopicPartition) -> PartitionName:
    return partition.topic, partition.partition


@dataclass(frozen=True, slots=True)
class Takeover:
    """The partitions of one consumer at one boundary: their offsets, and what the application paused and stored."""

    offsets: Mapping[PartitionName, int]
    paused: frozenset[PartitionName]
    stored: Mapping[PartitionName, int]

    @property
    def partitions(self) -> list[TopicPartition]:
        return self.starting(TopicPartition(*name) for name in self.offsets)

    def starting(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The same partitions, each at the offset where the reading goes on."""
        return [TopicPartition(p.topic, p.partition, self.offsets.get(name_of(p), p.offset)) for p in partitions]

    def restore(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Pause and store in a consumer that these partitions are assigned to, as it was before."""
        if paused := [p for p in partitions if name_of(p) in self.paused]:
            consumer.pause(paused)
        assigned = {name_of(p) for p in partitions}
        if stored := [TopicPartition(*at, offset) for at, offset in self.stored.items() if at in assigned]:
            consumer.store_offsets(offsets=stored)


@dataclass(slots=True)
class Positions:
    """The offsets at which a consumer began, what its application paused and stored: librdkafka does not tell."""

    begins_at_end: bool
    """True if a partition without a committed offset begins at its end (`auto.offset.reset`)."""
    _starts: dict[PartitionName, int] = field(default_factory=dict)
    _paused: set[PartitionName] = field(default_factory=set)
    _stored: dict[PartitionName, int] = field(default_factory=dict)
    _consumed: dict[PartitionName, int] = field(default_factory=dict)
    _ends: dict[PartitionName, tuple[int, float]] = field(default_factory=dict)

    def start_at(self, partitions: Iterable[TopicPartition]) -> None:
        """The application assigned these, or sought these offsets."""
        self._starts |= {name_of(p): p.offset for p in partitions}

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are no longer this consumer's, or were assigned again."""
        for at in map(name_of, partitions):
            self._paused.discard(at)
            for offsets in (self._starts, self._stored, self._consumed, self._ends):
                offsets.pop(at, None)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused |= set(map(name_of, partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._paused -= set(map(name_of, partitions))

    def store(self, partitions: Iterable[TopicPartition]) -> None:
        self._stored |= {name_of(p): p.offset for p in partitions}

    def takeover(self, consumer: Consumer) -> Takeover | None:
        """The partitions of this consumer; None as long as it is not known where the reading of one of them began."""
        positions = consumer.position(consumer.assignment())
        consumed = {name_of(p): p.offset for p in positions if p.offset >= 0}
        others = [name_of(p) for p in positions if p.offset < 0]
        offsets = consumed | {at: self._starts.get(at, p.offset) for p in positions if (at := name_of(p)) in others}
        if unknown := [at for at in others if self._is_at_some_end(offsets[at])]:
            ends = self._ends_of(consumer, unknown)
            if ends is None:
                return None
            offsets |= ends
        self._consumed |= consumed
        self._starts |= offsets
        return Takeover(offsets, frozenset(self._paused), dict(self._stored))

    def to_commit(self, consumer: Consumer) -> list[TopicPartition]:
        """The offsets that a `commit()` means, where some messages were consumed by the client before this one.

        librdkafka stores the offsets of messages that it returned, and would know of none.
        """
        if not self._consumed:
            return []
        positions = consumer.position(consumer.assignment())
        offsets = {name_of(p): p.offset if p.offset >= 0 else self._consumed.get(name_of(p), -1) for p in positions}
        return [TopicPartition(*at, offset) for at, offset in offsets.items() if offset >= 0]

    def _is_at_some_end(self, start: int) -> bool:
        """True if another consumer would begin at a later end: what was written in between would be skipped."""
        return start == OFFSET_END or (self.begins_at_end and start < 0 and start != OFFSET_BEGINNING)

    def _ends_of(self, consumer: Consumer, names: Sequence[PartitionName]) -> dict[PartitionName, int] | None:
        """The ends at which partitions began that nobody committed; None before they are known.

        An end is known from a fetch. If nothing was consumed for a while after it, the reading began there.
        """
        try:
            committed = consumer.committed([TopicPartition(*at) for at in names], _COMMITTED_TIMEOUT)
        except KafkaException:
            return None
        ends = {name_of(p): self._end_of(consumer, p) for p in committed if p.offset < 0}
        return None if None in ends.values() else {at: end for at, end in ends.items() if end is not None}

    def _end_of(self, consumer: Consumer, partition: TopicPartition) -> int | None:
        end = consumer.get_watermark_offsets(partition, cached=True)[1]
        if end >= 0:
            self._ends.setdefault(name_of(partition), (end, time.monotonic()))
        end, since = self._ends.get(name_of(partition), (-1, time.monotonic()))
        return end if time.monotonic() - since > _QUIET else None


# --- the consumer ---


_REJOINING = 10.0
"""Seconds for which a changed consumer waits for its partitions within one call; it goes on joining afterwards."""
_JOIN_SLICE = 0.05

RebalanceCallback = Callable[[Consumer, list[TopicPartition]], None]


@dataclass(frozen=True, slots=True)
class _Subscription:
    topics: list[str]
    on_assign: RebalanceCallback | None
    on_revoke: RebalanceCallback | None
    on_lost: RebalanceCallback | None


class DynamicConsumer(Followed[Consumer], Consumer):
    """confluent-kafka's Consumer, which follows the client configs of its user and client-id.

    It takes the same configuration, and keys of its own that begin with `kadmin.`: docs/client-configs.md lists them.
    New timeouts come into force in `poll` or `consume`, at a moment when its partitions are assigned: another client
    takes its place and reads on where it was. With a `group.instance.id` the group does not notice; without, it
    rebalances, and reading goes on from the committed offsets.
    """

    def __init__(self, config: Mapping[str, Any] | None = None, /, **keywords: Any) -> None:
        settings = client_settings(config, keywords)
        static = settings.config
        self._is_static = bool(static.get("group.instance.id"))
        self._is_cooperative = "cooperative" in str(static.get("partition.assignment.strategy", ""))
        self._stores_itself = str(static.get("enable.auto.offset.store", True)).lower() == "true"
        self._positions = Positions(
            begins_at_end=str(static.get("auto.offset.reset", "latest")).lower() in ("latest", "largest", "end")
        )
        self._subscription: _Subscription | None = None
        self._is_settled = True
        self._is_closing = False
        self._change_after = 0.0
        self._takeover: Takeover | None = None
        self._ahead: list[Message] = []
        self._follow(settings, CONSUMER_KEYS, Consumer)

    def subscribe(
        self,
        topics: list[str],
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        self._subscription = _Subscription(topics, on_assign, on_revoke, on_lost)
        self._is_settled = False
        self._join()

    def unsubscribe(self) -> None:
        self._client.unsubscribe()
        self._subscription, self._is_settled = None, True

    def poll(self, timeout: float = -1) -> Message | None:
        if self._follower.candidate:
            self._change()
        if self._ahead:
            return self._ahead.pop()
        if 0 <= timeout <= LOOK_INTERVAL:
            return self._client.poll(timeout)
        return next(iter(self._wait(timeout, lambda seconds: _message_list(self._client.poll(seconds)))), None)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        if self._follower.candidate:
            self._change()
        if self._ahead:
            return [self._ahead.pop()]
        if 0 <= timeout <= LOOK_INTERVAL:
            return self._client.consume(num_messages, timeout)
        until = end_of(timeout)
        messages = self._wait(timeout, lambda seconds: self._client.consume(num_messages, seconds))
        if not messages or len(messages) == num_messages:
            return messages
        remaining = -1 if timeout < 0 else max(0.0, until - time.monotonic())
        return messages + self._client.consume(num_messages - len(messages), remaining)

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._client.assign(partitions)
        self._positions.start_at(partitions)

    def unassign(self) -> None:
        self._client.unassign()

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self._client.incremental_assign(partitions)
        self._positions.start_at(partitions)

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        self._client.incremental_unassign(partitions)
        self._positions.forget(partitions)

    def assignment(self) -> list[TopicPartition]:
        return self._client.assignment()

    def seek(self, partition: TopicPartition) -> None:
        self._client.seek(partition)
        self._positions.start_at([partition])

    def pause(self, partitions: list[TopicPartition]) -> None:
        self._client.pause(partitions)
        self._positions.pause(partitions)

    def resume(self, partitions: list[TopicPartition]) -> None:
        self._client.resume(partitions)
        self._positions.resume(partitions)

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return self._client.position(partitions)

    def store_offsets(self, message: Message | None = None, offsets: list[TopicPartition] | None = None) -> None:
        self._client.store_offsets(**_present(message=message, offsets=offsets))
        if message is not None:
            after = (message.offset() or 0) + 1
            offsets = [TopicPartition(message.topic() or "", message.partition() or 0, after)]
        self._positions.store(offsets or [])

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> Any:
        if message is None and offsets is None and self._stores_itself:
            offsets = self._positions.to_commit(self._client) or None
        commit: Callable[..., Any] = self._client.commit
        return commit(asynchronous=asynchronous, **_present(message=message, offsets=offsets))

    def committed(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        return self._client.committed(partitions, timeout)

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        return self._client.get_watermark_offsets(partition, timeout, cached)

    def offsets_for_times(self, partitions: list[TopicPartition], timeout: float = -1) -> list[TopicPartition]:
        return self._client.offsets_for_times(partitions, timeout)

    def consumer_group_metadata(self) -> Any:
        return self._client.consumer_group_metadata()

    def memberid(self) -> str:
        return self._client.memberid()

    def _wait(self, timeout: float, take: Callable[[float], list[Message]]) -> list[Message]:
        """The first messages within the time, with a look for a candidate now and then."""
        for seconds in self._waiting(timeout):
            if self._ahead:
                break
            if messages := take(seconds):
                return messages
        return [self._ahead.pop()] if self._ahead else []

    def _join(self) -> None:
        subscription = self._subscription
        assert subscription is not None
        callbacks = {"on_assign": self._assigned, "on_revoke": self._revoked, "on_lost": self._lost}
        self._client.subscribe(subscription.topics, **callbacks)

    def _change(self) -> None:
        """Put the candidate in the consumer's place, if nothing is in motion: else the next boundary does it."""
        if not self._follower.candidate or not self._is_settled or time.monotonic() < self._change_after:
            return
        takeover = self._positions.takeover(self._client)
        candidate = self._follower.take() if takeover else None
        if takeover and candidate:
            self._replace(candidate, takeover)
        else:
            self._change_after = time.monotonic() + LOOK_INTERVAL

    def _replace(self, candidate: Candidate[Consumer], takeover: Takeover) -> None:
        try:
            self._is_closing = True
            self._client.close()  # commits what is stored, where the application wants that
        finally:  # a callback of the application may raise
            self._is_closing = False
            self._client = candidate.client
            if self._subscription is None:
                self._take_over(takeover, takeover.partitions)
            else:
                self._rejoin(takeover)
            self._follower.applied(candidate)

    def _rejoin(self, takeover: Takeover) -> None:
        """Join again, and wait for the partitions: a call of the application between would have none."""
        if self._is_static:
            self._takeover = takeover
        else:
            log.info("%s: without a group.instance.id the group rebalances for it", self._settings.entity)
        self._is_settled = False
        self._join()
        until = time.monotonic() + _REJOINING
        while not (self._is_settled or self._ahead) and time.monotonic() < until:
            self._ahead += _message_list(self._client.poll(_JOIN_SLICE))

    def _take_over(self, takeover: Takeover, partitions: list[TopicPartition]) -> None:
        """Assign the partitions, each where it was, and what the application paused and stored there."""
        assign = self._client.incremental_assign if self._is_cooperative else self._client.assign
        assign(takeover.starting(partitions))
        takeover.restore(self._client, partitions)

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        takeover, self._takeover, self._is_settled = self._takeover, None, True
        if takeover is None:
            self._positions.forget(partitions)
            self._tell("on_assign", partitions)
            return
        self._take_over(takeover, partitions)
        if {name_of(p) for p in partitions} != takeover.offsets.keys():
            self._tell("on_revoke", takeover.partitions)
            self._tell("on_assign", partitions)

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        if self._is_closing and self._is_static:
            return
        self._is_settled = False
        self._tell("on_revoke", partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._subscription and self._subscription.on_lost:
            self._is_settled = False
            self._tell("on_lost", partitions)
        else:
            self._revoked(consumer, partitions)

    def _tell(self, event: str, partitions: list[TopicPartition]) -> None:
        """Call the application's callback, with this consumer rather than the one behind it."""
        callback = getattr(self._subscription, event, None)
        if callback is not None:
            callback(self, partitions)


def _message_list(message: Message | None) -> list[Message]:
    return [] if message is None else [message]


def _present(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
