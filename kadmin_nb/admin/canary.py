"""A small real client, over confluent-kafka: how long each broker throttles it.

What a broker stores is not always what it enforces: it only logs when a quota cannot be put in force. The throttle
time in its answers is the one thing that tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    ThrottleEvent,
    TopicCollection,
    TopicPartition,
)

from ..errors import KadminError, NotFound, TimedOut
from ..model import rights
from ..model.connection_settings import Settings
from . import error_codes, first_contact

TIMEOUT = 10.0
_POLL = 0.02
_LARGEST, _SMALLEST, _RECORDS = 16_000, 100, 100
"""Bytes of the largest and the smallest record, and how many there are between these sizes."""
REQUEST = 100_000
"""Bytes of the largest request or answer."""
_SENDING = 0.6
"""The share of the time in which everything is sent; the rest is for the answers."""


@dataclass(frozen=True, slots=True)
class CanaryReading:
    """The effect of one broker on the client: `bytes` of records went through, those of its first throttle included.

    `throttle_ms` is the longest throttle that the broker answered, 0 when there was none. A null `partition`: the
    broker leads none of the topic's, and was not tried.
    """

    broker: int
    partition: int | None
    bytes: int = 0
    seconds: float = 0.0
    throttle_ms: float = 0.0


@dataclass(slots=True)
class _BrokerWatch:
    """Observations of the brokers while the client runs."""

    leaders: Mapping[int, int]
    enough: int
    start: float = field(default_factory=time.monotonic)
    passed: dict[int, int] = field(default_factory=dict)
    throttle_s: dict[int, float] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    error: KafkaError | None = None

    def throttled(self, event: ThrottleEvent) -> None:
        """librdkafka's throttle_cb: seconds; it calls with 0 too, when the throttling is over."""
        if event.throttle_time > 0:
            self.throttle_s[event.broker_id] = max(self.throttle_s.get(event.broker_id, 0.0), event.throttle_time)
            self._end(event.broker_id)

    def went_through(self, partition: int, size: int) -> None:
        broker = next(b for b, p in self.leaders.items() if p == partition)
        self.passed[broker] = self.passed.get(broker, 0) + size
        if self.passed.get(broker, 0) >= self.enough:
            self._end(broker)

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        """librdkafka's delivery report; what we threw away ourselves is not an error."""
        if error is None:
            self.went_through(message.partition() or 0, len(message.value() or b""))
        elif error.code() not in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):
            self.error = self.error or error

    def give_up(self, broker: int) -> None:
        """Nothing more will come from this one."""
        self._end(broker)

    @property
    def open(self) -> dict[int, int]:
        """The brokers that are neither throttled nor done, with their partitions."""
        return {broker: partition for broker, partition in self.leaders.items() if broker not in self.ended}

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.start

    def sightings(self) -> list[CanaryReading]:
        return [self._sighting(broker, partition) for broker, partition in sorted(self.leaders.items())]

    def _sighting(self, broker: int, partition: int) -> CanaryReading:
        seconds = self.ended.get(broker, self.elapsed)
        return CanaryReading(
            broker, partition, self.passed.get(broker, 0), seconds, round(self.throttle_s.get(broker, 0.0) * 1000, 1)
        )

    def _end(self, broker: int) -> None:
        self.ended.setdefault(broker, self.elapsed)


def canary(
    settings: Settings, *, client_id: str, topic: str, produce: bool, enough: int, most: int, seconds: float = 5.0
) -> list[CanaryReading]:
    """Produce to, or fetch from, one partition led by each broker, until each has throttled us or let `enough` through.

    Records are zeros, written without a key; fetching joins no group and commits nothing.

    Parameters
    ----------
    enough, most
        Bytes for each broker, and for all of them together.
    seconds
        After which it ends in any case.

    Raises
    ------
    NotFound, NotAuthorized, Invalid, AuthenticationFailed, ConnectionFailed, TimedOut
        No such topic, or no leader; not allowed; records refused; not reachable.
    """
    first_contact.meet(settings, TIMEOUT)
    leaders = _leaders(settings, topic)
    run: Callable[[dict[str, Any], _BrokerWatch, str, float], None] = _produce if produce else _fetch
    watch = _BrokerWatch(leaders, max(1, min(enough, most // len(leaders))))
    config = {"client.id": client_id, "throttle_cb": watch.throttled, "logger": first_contact.QUIET_LOGGER}
    run(first_contact.config(settings) | config, watch, topic, seconds)
    if watch.error:
        raise _topic_error(watch.error, *(("producing to", "WRITE") if produce else ("fetching from", "READ")), topic)
    return watch.sightings()


def _leaders(settings: Settings, topic: str) -> dict[int, int]:
    """The first partition that each broker leads. Asked so that no broker makes the topic."""
    admin = first_contact.client(settings)
    try:
        described = admin.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT)[topic].result(TIMEOUT)
    except KafkaException as exc:
        raise _topic_error(exc.args[0], "looking for", "DESCRIBE", topic) from None
    except TimeoutError:
        raise TimedOut(f"no metadata of the topic {topic} within {TIMEOUT:g} s") from None
    led = {p.leader.id: p.id for p in reversed(described.partitions) if p.leader is not None and p.leader.id >= 0}
    if not led:
        raise NotFound(f"no partition of the topic {topic} has a leader", code="LEADER_NOT_AVAILABLE")
    return led


def _topic_error(error: KafkaError, doing: str, operation: str, topic: str) -> KadminError:
    action = f"{doing} the topic {topic}"
    if error.code() <= 0:
        return TimedOut(f"{action}: {error.str()}", code="REQUEST_TIMED_OUT")
    refusal = error_codes.refusal(error.code(), error.str())
    assert refusal is not None  # only 0 is success
    return error_codes.error(refusal, action, rights.on_topic(operation, topic))


def _produce(config: dict[str, Any], watch: _BrokerWatch, topic: str, seconds: float) -> None:
    """Send evenly, and to nobody who has throttled us."""
    timeout = {"message.timeout.ms": int((seconds + TIMEOUT) * 1000)}
    producer = Producer(config | {"acks": "1", "linger.ms": 5, "batch.size": REQUEST} | timeout)
    record = bytes(min(_LARGEST, max(_SMALLEST, watch.enough // _RECORDS)))
    sent = dict.fromkeys(watch.leaders, 0)
    try:
        while watch.open and not watch.error and watch.elapsed < seconds:
            due = min(watch.enough, watch.enough * watch.elapsed / (_SENDING * seconds) + len(record))
            for broker, partition in watch.open.items():
                while sent[broker] < due:
                    producer.produce(topic, record, partition=partition, on_delivery=watch.delivered)
                    sent[broker] += len(record)
            producer.poll(_POLL)
    finally:
        producer.purge()
        producer.poll(0)


def _fetch(config: dict[str, Any], watch: _BrokerWatch, topic: str, seconds: float) -> None:
    """Read from the beginning, and again from there at the end, as long as there is something to read.

    Little is fetched ahead: it has gone through already, and is counted late.
    """
    small = {"max.partition.fetch.bytes": REQUEST, "fetch.wait.max.ms": 50}
    little_ahead = {"queued.max.messages.kbytes": REQUEST // 1000, "fetch.queue.backoff.ms": 10}
    overrides = {"group.id": "kadmin-nb-canary", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer(config | small | little_ahead | overrides)
    try:
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in watch.leaders.values()])
        while watch.open and not watch.error and watch.elapsed < seconds:
            if message := consumer.poll(_POLL):
                _take(consumer, watch, message)
    finally:
        consumer.close()


def _take(consumer: Consumer, watch: _BrokerWatch, message: Message) -> None:
    partition, error = message.partition() or 0, message.error()
    broker = next(b for b, p in watch.leaders.items() if p == partition)
    if error is None:
        watch.went_through(partition, len(message.value() or b"") + len(message.key() or b""))
    elif error.code() != KafkaError._PARTITION_EOF:
        watch.error = error
    elif watch.passed.get(broker):
        consumer.seek(TopicPartition(message.topic() or "", partition, OFFSET_BEGINNING))
    else:
        watch.give_up(broker)
    if broker not in watch.open:
        consumer.pause([TopicPartition(message.topic() or "", partition)])
