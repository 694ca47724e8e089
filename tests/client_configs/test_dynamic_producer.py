"""A producer that follows the client configs of its user, on a real broker."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kadmin_nb.client_configs import wrappers
from kadmin_nb.clients import DynamicProducer
from kadmin_nb.local import LocalKafka
from tests.client_configs.written_entries import (
    last_status,
    make_config_topics,
    registrations,
    statuses,
    was_taken,
    write_entry,
)
from tests.waiting import eventually

pytestmark = pytest.mark.broker

REFRESH = {"kadmin.refresh.interval.ms": 50}


@pytest.fixture
def broker(kafka: LocalKafka) -> dict[str, str]:
    broker = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(broker))
    return broker


@pytest.fixture
def config(broker, unique, caplog) -> dict[str, str]:
    """Of a producer with a user of its own, which looks often."""
    caplog.set_level(logging.INFO, "kadmin_nb.clients")
    return broker | REFRESH | {"client.id": "app", "kadmin.user": unique("user")}


def set_acks(config: dict[str, str], value: str | None) -> int:
    broker = {"bootstrap.servers": config["bootstrap.servers"]}
    return write_entry(broker, config["kadmin.user"], config["client.id"], "acks", value)


def test_a_running_producer_takes_a_new_acks(config, broker, topic, caplog) -> None:
    """We had to restart four hundred producers to set acks=1."""
    user = config["kadmin.user"]
    with DynamicProducer(config) as producer:
        producer.produce(topic, "before")
        revision = set_acks(config, "1")
        eventually(lambda: (producer.poll(0), last_status(broker, user))[1], (revision, {"acks": "1"}, {}))
        producer.produce(topic, "after")
        assert producer.flush(10) == 0
    assert f"user={user} client-id=app: acks was -1 and is 1 (revision {revision})" in caplog.messages
    assert [(key.client_id, key.software) for key in registrations(broker, user)] == [("app", "kadmin_nb")]


def test_a_producer_starts_with_the_values_that_stand_there(broker, topic, unique) -> None:
    """The first messages after a deployment still went out with acks=all."""
    user = unique("user")
    revision = write_entry(broker, user, None, "acks", "0")
    with DynamicProducer(broker, **{"kadmin.user": user}) as producer:
        offsets = []
        producer.produce(topic, "x", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(10) == 0
        eventually(lambda: last_status(broker, user), (revision, {"acks": "0"}, {}))
    assert offsets == [None]  # nobody acknowledged it


def test_an_entry_that_is_removed_gives_back_the_clients_own_value(config, topic, caplog) -> None:
    """After the incident acks stayed at 0 until the next deployment."""
    set_acks(config, "0")
    with DynamicProducer(config, acks=1) as producer:
        set_acks(config, None)
        eventually(lambda: (producer.poll(0), "acks was 0 and is 1 (no entry)" in caplog.text)[1], True)


@pytest.mark.parametrize("flips", [20, pytest.param(100, marks=pytest.mark.long)])
def test_flips_under_load_lose_repeat_and_reorder_nothing(flips, config, broker, topic, caplog) -> None:
    """Three messages of a partition came in another order after the change."""
    reports: dict[str, list[int]] = defaultdict(list)

    def report(error: KafkaError | None, message) -> None:
        assert error is None
        reports[message.key().decode()].append(int(message.value()))

    with DynamicProducer(config) as producer, loaded(producer, topic, report, "a", "b") as sent:
        for flip in range(flips):
            revision = set_acks(config, ("1", "-1")[flip % 2])
            while not was_taken(caplog, revision):
                producer.poll(0.01)
    in_order = {key: list(range(count)) for key, count in sent.items()}
    assert reports == in_order
    assert received(broker, topic, sum(sent.values())) == in_order


@contextmanager
def loaded(producer, topic: str, report, *keys: str) -> Iterator[dict[str, int]]:
    """A thread for each key that produces rising numbers; how many each of them sent, at the end."""
    sent, stop = dict.fromkeys(keys, 0), threading.Event()

    def produce(key: str) -> None:
        for number in itertools.takewhile(lambda _: not stop.wait(0.001), itertools.count()):
            producer.produce(topic, str(number), key, on_delivery=report)
            sent[key] = number + 1

    threads = [threading.Thread(target=produce, args=[key]) for key in keys]
    for thread in threads:
        thread.start()
    try:
        yield sent
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        assert producer.flush(30) == 0


def received(broker: dict[str, str], topic: str, count: int) -> dict[str, list[int]]:
    """The numbers of each key in the order of the topic; nothing stands behind them."""
    numbers = defaultdict(list)
    with closing(Consumer(broker | {"group.id": "tests", "enable.partition.eof": True})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while (message := consumer.poll(10)) is not None and message.error() is None:
            numbers[message.key().decode()].append(int(message.value()))
    assert sum(map(len, numbers.values())) == count
    return dict(numbers)


def test_messages_that_cannot_be_delivered_keep_the_client(
    config, broker, make_topic, kafka, unique, caplog, monkeypatch
) -> None:
    """The change threw away what the brokers had not acknowledged."""
    topic, delivered = unique("topic"), []
    monkeypatch.setattr(wrappers, "FLUSH_TIMEOUT", 0.1)
    with DynamicProducer(config | {"allow.auto.create.topics": False}) as producer:
        producer.produce(topic, "0", "a", on_delivery=lambda error, _: delivered.append(error))
        revision = set_acks(config, "1")
        eventually(lambda: (producer.poll(0), "not yet changed" in caplog.text)[1], True)
        assert (len(producer), delivered, was_taken(caplog, revision)) == (1, [], False)
        make_topic(kafka, topic)
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)
    assert delivered == [None]
    assert received(broker, topic, 1) == {"a": [0]}


def test_an_open_transaction_is_not_touched(config, broker, topic, caplog) -> None:
    """A change within a transaction would have aborted it."""
    with DynamicProducer(config, **{"transactional.id": config["kadmin.user"]}) as producer:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, "0", "a")
        revision = set_acks(config, "1")
        rejected = {"acks": "acks=1 is ignored: transactional.id requires acks=all"}
        status = (revision, {"acks": "-1"}, rejected)
        eventually(lambda: (producer.poll(0), last_status(broker, config["kadmin.user"]))[1], status)
        producer.produce(topic, "1", "a")
        producer.commit_transaction(30)
    assert received(broker, topic, 2) == {"a": [0, 1]}


def test_two_clients_of_one_client_id_answer_for_themselves(config, broker, caplog) -> None:
    """One of the two refused, and the other's answer hid it."""
    user = config["kadmin.user"]
    with DynamicProducer(config) as follows, DynamicProducer(config, **{"enable.idempotence": True}):
        revision = set_acks(config, "1")
        eventually(
            lambda: (
                follows.poll(0),
                sorted((s[-1].revision, *s[-1].effective, *s[-1].rejected) for s in statuses(broker, user).values()),
            )[1],
            [(revision, "acks"), (revision, "acks", "acks")],
        )
    assert sorted(len(written[-1].rejected) for written in statuses(broker, user).values()) == [0, 1]


def test_a_callback_may_produce_while_the_client_changes(config, broker, topic, caplog) -> None:
    """Our delivery callback sends failed messages again, and waited for itself."""
    with DynamicProducer(config, **{"linger.ms": 50}) as producer:

        def again(_error: KafkaError | None, message) -> None:
            if int(message.value()) < 3:
                producer.produce(topic, str(int(message.value()) + 1), "a", on_delivery=again)

        revision = set_acks(config, "1")
        eventually(lambda: producer._follower.candidate is not None, True)
        producer.produce(topic, "0", "a", on_delivery=again)
        producer.poll(0)
        assert was_taken(caplog, revision)
        assert producer.flush(10) == 0
    assert received(broker, topic, 4) == {"a": [0, 1, 2, 3]}


def test_a_callback_that_waits_for_a_producing_thread_gives_the_change_up(config, topic, caplog, monkeypatch) -> None:
    """Thread one held our lock and waited in produce, thread two had our callback wait for the lock: for ever."""
    ours, is_owned = threading.Lock(), threading.Event()
    monkeypatch.setattr(wrappers, "FLUSH_TIMEOUT", 0.2)
    with DynamicProducer(config) as producer:

        def report(*_: object) -> None:
            is_owned.wait(10)
            with ours:
                pass

        def produce_with_lock() -> None:
            with ours:
                is_owned.set()
                eventually(lambda: producer._changing is not None, True)
                producer.produce(topic, "1", "a")

        set_acks(config, "1")
        eventually(lambda: producer._follower.candidate is not None, True)
        producer.produce(topic, "0", "a", on_delivery=report)
        thread = threading.Thread(target=produce_with_lock)
        thread.start()
        began = time.monotonic()
        producer.poll(0)
        thread.join()
        assert time.monotonic() - began < 9
        assert "not yet changed" in caplog.text
        assert producer.flush(10) == 0


def test_two_threads_may_wait_for_events(config, topic, caplog) -> None:
    """A poller thread sat in the old client for ever, and no report came any more."""
    delivered = []
    with DynamicProducer(config) as producer:
        poller = threading.Thread(target=lambda: producer.poll(-1))
        poller.start()
        revision = set_acks(config, "1")
        eventually(lambda: was_taken(caplog, revision), True)
        producer.produce(topic, "x", on_delivery=lambda error, _: delivered.append(error))
        poller.join(10)
        assert (poller.is_alive(), delivered) == (False, [None])


def test_a_message_for_a_batch_waits_like_any_other(config, broker, topic, caplog) -> None:
    """produce_batch went past the change."""
    with DynamicProducer(config) as producer:
        revision = set_acks(config, "1")
        messages = [{"value": str(number), "key": "a"} for number in range(3)]
        assert producer.produce_batch(topic, messages) == 3
        eventually(lambda: (producer.poll(0), was_taken(caplog, revision))[1], True)
        assert producer.flush(10) == 0
    assert received(broker, topic, 3) == {"a": [0, 1, 2]}


def test_a_bare_producer_beside_it_sees_nothing(broker, topic, unique) -> None:
    """An application that does not follow was changed."""
    user = unique("user")
    write_entry(broker, user, "rdkafka", "acks", "0")
    with Producer(broker) as producer:
        offsets = []
        producer.produce(topic, "x", on_delivery=lambda _, message: offsets.append(message.offset()))
        assert producer.flush(10) == 0
    assert offsets == [0]
