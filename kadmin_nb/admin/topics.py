"""Topics, over confluent-kafka: what it does best."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

from ..model import rights
from ..model.connection_settings import Settings
from . import error_codes, first_contact

TIMEOUT = 30.0


def create(settings: Settings, topics: Mapping[str, int]) -> None:
    """Make these topics, a number of partitions each; one that is there already stays as it is.

    Raises
    ------
    NotAuthorized, Invalid
        The first that the broker refuses.
    """
    admin = first_contact.client(settings)
    new_topics = [NewTopic(name, num_partitions=partitions) for name, partitions in topics.items()]
    for name, made in admin.create_topics(new_topics, operation_timeout=TIMEOUT, request_timeout=TIMEOUT).items():
        try:
            made.result(TIMEOUT)
        except KafkaException as exc:
            _raise_unless_exists(exc.args[0], name)


def _raise_unless_exists(error: KafkaError, name: str) -> None:
    if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
        error_codes.raise_for_error(
            error.code(), error.str(), f"creating the topic {name}", rights.on_topic("CREATE", name)
        )
