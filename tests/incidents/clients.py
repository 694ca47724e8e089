"""Real clients that make the traffic of an incident, each in a thread of its own until the incident is over."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, Producer, ShareConsumer, TopicPartition

from kadmin_nb.local import LocalKafka
from tests.admin.logins import settings_of

Stop = threading.Event
PARTITIONS = 3


def login(kafka: LocalKafka, user: str, client_id: str) -> dict[str, Any]:
    """The configuration of a confluent-kafka client that logs in as this user."""
    password = settings_of(kafka, user).password
    assert password is not None
    return {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password.reveal(),
        "client.id": client_id,
        "log_level": 0,
    }


@contextlib.contextmanager
def running(work: Callable[[Stop], None]) -> Iterator[None]:
    """The work goes on in a thread until the block ends."""
    stop = Stop()
    thread = threading.Thread(target=work, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


def writes(
    config: Mapping[str, Any], topic: str, *, size: int = 1_000, batch: int = 10_000, pause: float = 0.0,
    kind: type[Producer] = Producer,
) -> Callable[[Stop], None]:  # fmt: skip
    """Write to all partitions in turn, with a pause in between or as fast as the brokers let it."""

    def work(stop: Stop) -> None:
        producer = kind({**config, "batch.size": batch, "linger.ms": 1, "queue.buffering.max.messages": 500})
        for number in itertools.count():
            if stop.wait(pause) if pause else stop.is_set():
                break
            with contextlib.suppress(BufferError):
                producer.produce(topic, os.urandom(size), partition=number % PARTITIONS)
            producer.poll(0 if number % 100 else 0.01)
        producer.purge()

    return work


def shares(config: Mapping[str, Any], topic: str, group: str) -> Callable[[Stop], None]:
    """Read as one of a share group."""

    def work(stop: Stop) -> None:
        with ShareConsumer({**config, "group.id": group, "fetch.max.bytes": 20_000}) as consumer:
            consumer.subscribe([topic])
            while not stop.is_set():
                consumer.poll(0.2)

    return work


def reads(config: Mapping[str, Any], topic: str, offset: int = 0, **settings: object) -> Callable[[Stop], None]:
    """Read all partitions from an offset on, without a group."""

    def work(stop: Stop) -> None:
        own = {"group.id": "none", "enable.auto.commit": False, **settings}
        consumer = Consumer({**config, **own})
        consumer.assign([TopicPartition(topic, number, offset) for number in range(PARTITIONS)])
        while not stop.is_set():
            consumer.poll(0.05)
        consumer.close()

    return work


def asks_often(config: Mapping[str, Any], topic: str) -> Callable[[Stop], None]:
    """Fetch without waiting for records, again and again."""
    return reads(config, topic, OFFSET_END, **{"fetch.wait.max.ms": 0, "fetch.queue.backoff.ms": 0})
