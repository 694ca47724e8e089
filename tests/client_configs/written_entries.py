"""The topics of dynamic client configs: made, written to without a plan, and read back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kadmin_nb.admin.compacted_topic import configs_on
from kadmin_nb.client_configs.records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    ConfigKey,
    ConfigValue,
    RegistrationKey,
    Status,
    StatusKey,
)
from kadmin_nb.client_configs.setup import SETTINGS
from kadmin_nb.model.client_configs import CONFIGS_TOPIC
from tests.waiting import eventually

TOPICS = (CONFIGS_TOPIC, REGISTRATIONS_TOPIC, STATUS_TOPIC)


def make_config_topics(admin: AdminClient, *names: str) -> None:
    """Make them where they are missing, and wait until they can be used."""
    missing = [name for name in names or TOPICS if name not in admin.list_topics(timeout=10).topics]
    new = [NewTopic(name, 1, 1, config=configs_on(1, SETTINGS[name])) for name in missing]
    for future in admin.create_topics(new, operation_timeout=30).values() if new else ():
        future.result()


def delete_topic(admin: AdminClient, name: str) -> None:
    admin.delete_topics([name], operation_timeout=30)[name].result()
    eventually(lambda: name in admin.list_topics(timeout=10).topics, False)


def write_entry(config: dict[str, str], user: str, client_id: str | None, key: str, value: str | None) -> int:
    """Set the entry, or remove it where the value is None; its revision."""
    document = None if value is None else ConfigValue(value, "admin", "plan").encode()
    return write_record(config, ConfigKey(user, client_id, key).encode(), document)


def write_record(config: dict[str, str], key: bytes | None, value: bytes | None) -> int:
    """Append any bytes to the topic of entries; the record's offset."""
    offsets: list[int] = []
    with closing(Producer({**config, "acks": "all"})) as producer:
        producer.produce(CONFIGS_TOPIC, value, key, on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(30) == 0
    assert offsets[0] is not None, "the broker refused the record"
    return offsets[0]


def records(config: dict[str, str], topic: str) -> Iterator[Message]:
    """Everything that stands in the one partition of a topic."""
    reading = {"group.id": "tests", "enable.partition.eof": True, "enable.auto.commit": False, "fetch.wait.max.ms": 5}
    with closing(Consumer({**config, **reading})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        until = time.monotonic() + 30
        while time.monotonic() < until:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                yield message
            elif message is not None and message.error().code() == KafkaError._PARTITION_EOF:
                return


def statuses(config: dict[str, str], user: str) -> dict[str, list[Status]]:
    """What each instance of the user's clients wrote about itself, in order."""
    written: dict[str, list[Status]] = {}
    for message in records(config, STATUS_TOPIC):
        key = StatusKey.decode(message.key())
        if key is not None and key.user == user:
            written.setdefault(key.instance, []).append(Status.decode(message.value()))
    return written


def last_status(config: dict[str, str], user: str) -> tuple[int, dict[str, str], dict[str, str]] | None:
    """The revision, values and refusals of the user's only client, as it wrote them last."""
    written = [of_instance[-1] for of_instance in statuses(config, user).values()]
    return (written[0].revision, written[0].effective, written[0].rejected) if written else None


def registrations(config: dict[str, str], user: str) -> set[RegistrationKey]:
    keys = (RegistrationKey.decode(message.key()) for message in records(config, REGISTRATIONS_TOPIC))
    return {key for key in keys if key is not None and key.user == user}


def was_taken(caplog: pytest.LogCaptureFixture, revision: int) -> bool:
    """True if a client of this process has logged that it took the entry of this revision."""
    return any(message.endswith(f"(revision {revision})") for message in caplog.messages)
