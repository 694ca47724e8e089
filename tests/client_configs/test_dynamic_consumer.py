"""A consumer that follows the client configs of its user, on a real broker."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from contextlib import closing

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient

from kadmin_nb.clients import DynamicConsumer
from kadmin_nb.local import LocalKafka
from tests.client_configs.written_entries import make_config_topics, was_taken, write_entry

pytestmark = pytest.mark.broker

REFRESH = {"kadmin.refresh.interval.ms": 50}
STATIC = {"group.instance.id": "a"}


@pytest.fixture
def config(kafka: LocalKafka, unique) -> dict[str, str]:
    """Of a consumer with a user and a group of its own."""
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    of_user = {"client.id": "app", "kadmin.user": unique("user"), "group.id": unique("group")}
    return config | of_user | {"auto.offset.reset": "earliest"} | REFRESH


def broker(config: dict[str, str]) -> dict[str, str]:
    return {"bootstrap.servers": config["bootstrap.servers"]}


def set_session(config: dict[str, str], milliseconds: int | None) -> int:
    value = None if milliseconds is None else str(milliseconds)
    return write_entry(broker(config), config["kadmin.user"], "app", "session.timeout.ms", value)


def rebalances(kafka: LocalKafka, group: str) -> int:
    """How often the coordinator began to rebalance the group, by its log."""
    lines = kafka.nodes[0].log_path.read_text().splitlines()
    return sum("Preparing to rebalance group" in line and f" {group} " in line for line in lines)


def test_100_flips_skip_no_message_and_rebalance_nothing(config, kafka, topic, caplog) -> None:
    """Each change of a timeout stopped the group for a minute."""
    caplog.set_level(logging.INFO, "kadmin_nb.clients")
    numbers, received = itertools.count(), Counter()
    with closing(Producer(broker(config))) as producer, DynamicConsumer(config | STATIC) as consumer:
        consumer.subscribe([topic])
        for flip in range(100):
            revision = set_session(config, 20_000 + flip)
            while not was_taken(caplog, revision):
                producer.produce(topic, str(next(numbers)))
                producer.poll(0)
                received += Counter(values(consumer.consume(5, 0.01)))
        assert producer.flush(10) == 0
        sent = range(next(numbers))
        while len(received) < len(sent):
            received += Counter(values(consumer.consume(100, 5)))
    assert received == Counter(sent)
    assert rebalances(kafka, config["group.id"]) == 1


def values(messages: list[Message]) -> list[int]:
    assert [message.error() for message in messages if message.error()] == []
    return [int(message.value()) for message in messages]
