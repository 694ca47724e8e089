"""The partitions of a consumer that another one takes over: where it reads on, and what the application set there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, TopicPartition

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
        """The application assigned these, or sought there."""
        self._starts |= {name_of(p): p.offset for p in partitions}

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """They are no longer this consumer's, or are anew."""
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
        """The partitions of this consumer; None as long as nobody can tell where the reading of one of them began."""
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
