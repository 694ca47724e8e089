"""Admins of dynamic client configs, each with a connection of its own, on a topic that no other test uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

import pytest
from confluent_kafka import Producer

from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.client_configs.topic import WireClientConfigs
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.client_configs import ClientEntity, Replacement
from kadmin_nb.model.connection_settings import Settings

ALICE, APP = ClientEntity("alice"), ClientEntity("alice", "app")

Wishes = Mapping[ClientEntity, Mapping[str, tuple[str | None, str | None]]]


class Admin:
    """Somebody who alters; `topic` is the one of the test."""

    def __init__(self, kafka: LiveKafka, topic: str) -> None:
        self.wire, self.topic = kafka.wire, topic
        self.port = WireClientConfigs(kafka.wire, topic)

    def alter(self, wishes: Wishes, *, validate_only: bool = False) -> dict[ClientEntity, Refusal | None]:
        """Old and new value of each key."""
        replacements = {
            entity: {key: Replacement(*values) for key, values in keys.items()} for entity, keys in wishes.items()
        }
        return self.port.alter(replacements, validate_only=validate_only)

    def stored(self) -> dict[tuple[str, str], str]:
        """The value of each entity and key."""
        return {(row["entity"], row["key"]): row["value"] for row in self.port.describe().to_pylist()}


def codes(answers: Mapping[ClientEntity, Refusal | None]) -> list[str | None]:
    return [refusal and refusal.code for refusal in answers.values()]


@pytest.fixture
def config_topic(unique) -> str:
    """The topic, which is not there yet."""
    return unique("client-configs")


@pytest.fixture
def admin(kafka: LocalKafka, config_topic: str) -> Iterator[Callable[[], Admin]]:
    """`admin()`, connected; all admins of a test share its topic."""
    with contextlib.ExitStack() as stack:
        yield lambda: Admin(stack.enter_context(contextlib.closing(LiveKafka(Settings(kafka.bootstrap)))), config_topic)


@pytest.fixture
def ann(admin) -> Admin:
    return admin()


@pytest.fixture
def ben(admin) -> Admin:
    return admin()


@pytest.fixture
def append(kafka: LocalKafka, config_topic: str) -> Callable[..., None]:
    """`append(key, value, …)`: records written past kadmin_nb, as anybody with the right may."""

    def write(*records: tuple[bytes, bytes | None]) -> None:
        producer, errors = Producer({"bootstrap.servers": kafka.bootstrap}), []
        for key, value in records:
            producer.produce(config_topic, value, key, on_delivery=lambda error, message: errors.append(error))
        assert producer.flush(20) == 0
        assert {*errors} == {None}

    return write
