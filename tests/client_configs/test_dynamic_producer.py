"""A producer that follows the client configs of its user, on a real broker."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka.admin import AdminClient

from kadmin_nb.clients import DynamicProducer
from kadmin_nb.local import LocalKafka
from tests.client_configs.written_entries import last_status, make_config_topics, registrations, write_entry
from tests.waiting import eventually

pytestmark = pytest.mark.broker

REFRESH = {"kadmin.refresh.interval.ms": 100}


@pytest.fixture
def config(kafka: LocalKafka) -> dict[str, str]:
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    return config


def test_a_running_producer_takes_a_new_acks(config, topic, unique, caplog) -> None:
    """We had to restart four hundred producers to set acks=1."""
    user = unique("user")
    caplog.set_level(logging.INFO, "kadmin_nb.clients")
    with DynamicProducer(config | REFRESH, **{"client.id": "app", "kadmin.user": user}) as producer:
        producer.produce(topic, "before")
        revision = write_entry(config, user, "app", "acks", "1")
        eventually(lambda: (producer.poll(0), last_status(config, user))[1], (revision, {"acks": "1"}, {}))
        producer.produce(topic, "after")
        assert producer.flush(10) == 0
    assert f"user={user} client-id=app: acks was -1 and is 1 (revision {revision})" in caplog.messages
    assert [(key.client_id, key.software) for key in registrations(config, user)] == [("app", "kadmin_nb")]


def test_a_producer_starts_with_the_values_that_stand_there(config, topic, unique) -> None:
    """The first messages after a deployment still went out with acks=all."""
    user = unique("user")
    revision = write_entry(config, user, None, "acks", "0")
    with DynamicProducer(config, **{"kadmin.user": user}) as producer:
        offsets = []
        producer.produce(topic, "x", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(10) == 0
        eventually(lambda: last_status(config, user), (revision, {"acks": "0"}, {}))
    assert offsets == [None]  # nobody acknowledged it
