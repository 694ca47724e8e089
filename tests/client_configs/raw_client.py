"""A client in another language: it writes the two records about itself, as docs/client-configs.md has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Producer

from kadmin_nb.client_configs.records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    Registration,
    RegistrationKey,
    Status,
    StatusKey,
)

HOUR_MS = 3_600_000


def append(config: Mapping[str, str], topic: str, key: bytes | None, value: bytes | None, timestamp: int = 0) -> None:
    """Append any bytes to a topic, at a time by the producer's clock. Raises KafkaException where it is refused."""
    errors: list[KafkaError] = []
    with closing(Producer({**config, "acks": "all"})) as producer:
        producer.produce(topic, value, key, timestamp=timestamp, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(30) == 0
    for error in filter(None, errors):
        raise KafkaException(error)


@dataclass
class RawClient:
    """One instance of a client."""

    config: Mapping[str, str]
    user: str
    client_id: str = "app"
    software: str = "apache-kafka-java"
    version: str = "4.3.0"
    instance: str = "host-1"

    @property
    def name(self) -> RegistrationKey:
        return RegistrationKey(self.user, self.client_id, self.software, self.version, self.instance)

    def register(
        self,
        keys: Sequence[str] = ("acks",),
        *,
        interval_ms: int = HOUR_MS,
        group: str | None = None,
        protocol: str | None = None,
        timestamp: int = 0,
    ) -> None:
        """Say that it is alive, and which keys it supports."""
        value = Registration(list(keys), interval_ms, group, protocol)
        append(self.config, REGISTRATIONS_TOPIC, self.name.encode(), value.encode(), timestamp)

    def say(self, revision: int, effective: Mapping[str, str], rejected: Mapping[str, str] | None = None) -> None:
        """Say the values that it runs with, and the reasons for those that it refuses."""
        value = Status(revision, dict(effective), dict(rejected or {}), 0)
        append(self.config, STATUS_TOPIC, StatusKey(self.user, self.client_id, self.instance).encode(), value.encode())
