"""The entries about one client, read from their topic: from its start, and later on from where the reading ended.

A consumer is opened for each reading and closed after it: between two readings a client has no further connection
and no thread. It is assigned, so it joins no group and commits nothing. Where a reading ended is marked by the last
record. If that is no longer there, compaction dropped it, or somebody made the topic anew: everything is read again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from ...errors import Invalid, KadminError, NotAuthorized, NotFound, TimedOut
from ...model.client_configs import CONFIGS_TOPIC, ClientEntity
from ..records import read_entry
from .settings import ConfigEntry

MOST_BYTES_AT_ONCE = 64 * 1024 * 1024
"""Of one reading; the next one continues there."""

_LONGEST_ABSENCE = 3600.0
"""Seconds after which everything is read again: tombstones are compacted away after `delete.retention.ms`, a day."""

_READER = {
    "group.id": "kadmin-nb-client-configs",  # librdkafka requires one; nothing joins it
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": 5,  # an end that was reached is told at once
    "queued.max.messages.kbytes": 4096,
    "log_level": 0,  # what goes wrong is in the errors
}
_POLL_TIMEOUT = 0.05


@dataclass(frozen=True, slots=True)
class _Mark:
    """A record by which the log is recognised."""

    offset: int
    timestamp: int
    key: bytes | None

    @classmethod
    def of(cls, message: Message) -> _Mark:
        return cls(message.offset() or 0, message.timestamp()[1], message.key())


@dataclass(slots=True)
class ConfigReader:
    """The entries of a client's two levels, as far as they were read."""

    entity: ClientEntity
    unreadable: int = 0
    """Records that were passed over, as an admin counts them: garbage, of another version, too large."""
    _levels: dict[ClientEntity, dict[str, ConfigEntry]] = field(default_factory=dict)
    _mark: _Mark | None = None
    _read_at: float = 0.0

    def read(self, connection: dict[str, Any], timeout: float) -> list[dict[str, ConfigEntry]]:
        """The entries, the narrowest level first, after everything that stands in the topic now.

        Raises
        ------
        NotFound, NotAuthorized, Invalid, TimedOut, KadminError
            The topic is missing, forbidden, somebody else's, not read to its end in time, or too long for one reading.
        """
        until = time.monotonic() + timeout
        try:
            with closing(Consumer(connection | _READER)) as consumer:
                _check_topic(consumer, max(0.0, until - time.monotonic()))
                self._read_on(consumer, until)
        except KafkaException as exc:
            raise _reading_failed(exc.args[0]) from None
        return [self._levels.get(level, {}) for level in self.entity.levels]

    def _read_on(self, consumer: Consumer, until: float) -> None:
        absence, self._read_at = abs(time.time() - self._read_at), time.time()
        if absence > _LONGEST_ABSENCE or not self._is_same_log(consumer, until):
            self._levels, self._mark, self.unreadable = {}, None, 0
            self._take_all(_records(consumer, 0, until))

    def _is_same_log(self, consumer: Consumer, until: float) -> bool:
        """True after reading on from a log that still has the mark; False, with nothing read, from another."""
        if self._mark is None:
            return False
        records = _records(consumer, self._mark.offset, until)
        first = next(records, None)
        if first is None or _Mark.of(first) != self._mark:
            return False
        self._take_all(records)
        return True

    def _take_all(self, records: Iterator[Message]) -> None:
        message = None
        try:
            for message in records:
                self._take(message)
        finally:  # the next reading goes on from there, though this one did not come to the end
            self._mark = self._mark if message is None else _Mark.of(message)

    def _take(self, message: Message) -> None:
        if (entry := read_entry(message.key(), message.value())) is None:
            self.unreadable += 1
            return
        entity, key, value = entry
        if entity not in self.entity.levels:
            return
        level = self._levels.setdefault(entity, {})
        if value is None:
            level.pop(key, None)
        else:
            level[key] = ConfigEntry(value.value, message.offset() or 0)


def _records(consumer: Consumer, offset: int, until: float) -> Iterator[Message]:
    """The records from this offset to the end of what is committed.

    Raises
    ------
    TimedOut, KadminError
        The end was not reached within the time, or within the bytes of one reading.
    """
    consumer.assign([TopicPartition(CONFIGS_TOPIC, 0, offset)])
    size = 0
    while time.monotonic() < until and size < MOST_BYTES_AT_ONCE:
        message = consumer.poll(_POLL_TIMEOUT)
        if message is not None and (error := message.error()) is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                return
            _raise_final(error)
        elif message is not None:
            size += len(message)
            yield message
    raise TimedOut(f"the end of the topic {CONFIGS_TOPIC} was not reached", code="REQUEST_TIMED_OUT")


def _check_topic(consumer: Consumer, timeout: float) -> None:
    """Refuse what an admin refuses, too: else a stranger's topic would be followed, and nobody would see its entries.

    librdkafka waits in silence for a topic that is missing or forbidden; its metadata tells at once.
    """
    topic = consumer.list_topics(CONFIGS_TOPIC, timeout).topics[CONFIGS_TOPIC]
    if topic.error is not None:
        raise _reading_failed(topic.error)
    if (count := len(topic.partitions)) != 1:
        raise Invalid(f"the topic {CONFIGS_TOPIC} cannot be read: it has {count} partitions, and kadmin_nb's has one")


def _raise_final(error: KafkaError) -> None:
    """Errors of the topic; librdkafka recovers from all others by itself, and the group is not ours to use."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART):
        raise _reading_failed(error)


_ERRORS: dict[int, type[KadminError]] = {
    KafkaError.UNKNOWN_TOPIC_OR_PART: NotFound,
    KafkaError._UNKNOWN_TOPIC: NotFound,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError._TIMED_OUT: TimedOut,
    KafkaError._TRANSPORT: TimedOut,
}


def _reading_failed(error: KafkaError) -> KadminError:
    kind = _ERRORS.get(error.code(), KadminError)
    return kind(f"the topic {CONFIGS_TOPIC} cannot be read: {error.str()}", code=error.name())
