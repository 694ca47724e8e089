"""Real clients that make the traffic of an incident, each in a thread of its own until the incident is over."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, Producer, ShareConsumer, TopicPartition
from kafka import KafkaProducer

from kadmin_nb.local import LocalKafka
from kadmin_nb.local.node import Node
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


def writes_without_client_id(kafka: LocalKafka, user: str, topic: str) -> Callable[[Stop], None]:
    """confluent-kafka sends `rdkafka` where it has no client-id; kafka-python sends none."""
    password = settings_of(kafka, user).password
    assert password is not None
    producer = KafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        client_id="",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username=user,
        sasl_plain_password=password.reveal(),
        acks=1,
        batch_size=10_000,
        max_block_ms=1_000,
    )

    def work(stop: Stop) -> None:
        for number in itertools.count():
            if stop.wait(0.005):  # it is Python of this process: without a pause whoever answers waits for it
                break
            with contextlib.suppress(Exception):  # its buffer is full
                producer.send(topic, os.urandom(5_000), partition=number % PARTITIONS)
        with contextlib.suppress(Exception):  # what is throttled is not sent in time
            producer.close(timeout=1)

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


def pauses(node: Node, seconds: float = 1.0, runs: float = 0.5) -> Callable[[Stop], None]:
    """Stop a broker for a moment, again and again: as long as it takes to stay in sync."""

    def work(stop: Stop) -> None:
        while not stop.is_set():
            node.pause()
            try:
                stop.wait(seconds)
            finally:
                node.resume()
            stop.wait(runs)

    return work


def connects(config: Mapping[str, Any]) -> Callable[[Stop], None]:
    """A new connection for each question. What a broker refuses is not tried again at once, so that others get in."""

    def work(stop: Stop) -> None:
        while not stop.is_set():
            with contextlib.suppress(Exception):
                Producer({**config, "reconnect.backoff.ms": 500}).list_topics(timeout=20)
            time.sleep(0.05)

    return work
