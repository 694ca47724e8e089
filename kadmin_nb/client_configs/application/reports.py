"""The two records that a client writes about itself: that it is alive, and the values that it follows."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ...errors import KadminError
from ...version import VERSION
from ..records import (
    REGISTRATIONS_TOPIC,
    STATUS_TOPIC,
    Document,
    Registration,
    RegistrationKey,
    Status,
    StatusKey,
)
from .client_settings import ClientSettings

SOFTWARE = "kadmin_nb"

_WRITER = {"acks": "all", "allow.auto.create.topics": False, "log_level": 0}


def _instance() -> str:
    """A name for one client object of this process, which people can trace back to it."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class Reporter:
    """One client as it calls itself in its records."""

    settings: ClientSettings
    keys: Sequence[str]
    instance: str = field(default_factory=_instance)

    def report(self, status: Status | None, timeout: float) -> None:
        """Register again, and write the status where there is a new one.

        Raises
        ------
        KadminError
            A topic is missing or forbidden, or a record was refused, or not acknowledged in time.
        """
        errors: list[KafkaError] = []
        records = self._records(status)

        def note(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                errors.append(error)

        try:
            with closing(Producer(self._config(timeout))) as producer:
                _refuse_missing(producer, [topic for topic, _, _ in records], timeout)
                for topic, key, value in records:
                    producer.produce(topic, value.encode(), key.encode(), on_delivery=note)
                producer.flush(timeout)
        except KafkaException as exc:
            errors.append(exc.args[0])
        if errors:
            raise KadminError(
                f"the records about this client were not written: {errors[0].str()}", code=errors[0].name()
            )

    def _config(self, timeout: float) -> dict[str, Any]:
        return self.settings.connection | _WRITER | {"message.timeout.ms": int(timeout * 1000)}

    def _records(self, status: Status | None) -> list[tuple[str, Document, Document]]:
        user, client_id = self.settings.entity.user, str(self.settings.entity.client_id)
        registration_key = RegistrationKey(user, client_id, SOFTWARE, VERSION, self.instance)
        records: list[tuple[str, Document, Document]] = [(REGISTRATIONS_TOPIC, registration_key, self._registration())]
        if status is not None:
            records.append((STATUS_TOPIC, StatusKey(user, client_id, self.instance), status))
        return records

    def _registration(self) -> Registration:
        interval_ms = int(self.settings.refresh_interval * 1000)
        group = self.settings.config.get("group.id")
        protocol = str(self.settings.config.get("group.protocol", "classic")) if group else None
        return Registration(list(self.keys), interval_ms, group, protocol)


def _refuse_missing(producer: Producer, topics: Sequence[str], timeout: float) -> None:
    """librdkafka waits for a topic that is missing until its messages time out; its metadata tells at once."""
    for topic in topics:
        error = producer.list_topics(topic, timeout).topics[topic].error
        if error is not None:
            raise KadminError(f"the topic {topic} cannot be written: {error.str()}", code=error.name())
