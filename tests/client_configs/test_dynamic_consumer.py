"""A consumer that follows the client configs of its user, on a real broker."""

from __future__ import annotations

import itertools
import json
import logging
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kadmin_nb.clients import DynamicConsumer
from kadmin_nb.local import LocalKafka
from tests.client_configs.written_entries import last_status, make_config_topics, was_taken, write_entry
from tests.waiting import eventually

pytestmark = pytest.mark.broker

REFRESH = {"kadmin.refresh.interval.ms": 50}
STATIC = {"group.instance.id": "a"}


@pytest.fixture
def config(kafka: LocalKafka, unique, caplog) -> dict[str, str]:
    """Of a consumer with a user and a group of its own."""
    caplog.set_level(logging.INFO, "kadmin_nb.clients")
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    of_user = {"client.id": "app", "kadmin.user": unique("user"), "group.id": unique("group")}
    return config | of_user | {"auto.offset.reset": "earliest"} | REFRESH


@pytest.fixture
def make_partitions(config, unique) -> Callable[[int], str]:
    """Makes a topic of so many partitions."""

    def make(count: int) -> str:
        name, admin = unique("topic"), AdminClient(broker(config))
        admin.create_topics([NewTopic(name, count, 1)], operation_timeout=30)[name].result()
        return name

    return make


def broker(config: dict[str, str]) -> dict[str, str]:
    return {"bootstrap.servers": config["bootstrap.servers"]}


def set_session(config: dict[str, str], milliseconds: int | None) -> int:
    value = None if milliseconds is None else str(milliseconds)
    return write_entry(broker(config), config["kadmin.user"], "app", "session.timeout.ms", value)


def rebalances(kafka: LocalKafka, group: str) -> int:
    """How often the coordinator began to rebalance the group, by its log."""
    lines = kafka.nodes[0].log_path.read_text().splitlines()
    return sum("Preparing to rebalance group" in line and f" {group} " in line for line in lines)


@pytest.mark.parametrize("flips", [20, pytest.param(100, marks=pytest.mark.long)])
def test_flips_skip_no_message_and_rebalance_nothing(flips, config, kafka, topic, caplog) -> None:
    """Each change of a timeout stopped the group for a minute."""
    numbers, received = itertools.count(), Counter()
    with closing(Producer(broker(config))) as producer, DynamicConsumer(config | STATIC) as consumer:
        consumer.subscribe([topic])
        for flip in range(flips):
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


def test_the_broker_has_the_new_session(config, kafka, topic, caplog) -> None:
    """The client said that its session was 6 s, and the coordinator waited for 45 s."""
    program = (
        "import sys, json; from kadmin_nb.clients import DynamicConsumer\n"
        "consumer = DynamicConsumer(json.loads(sys.argv[1])); consumer.subscribe([sys.argv[2]])\n"
        "while True: consumer.poll(0.1)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, json.dumps(config | STATIC), topic])
    try:
        eventually(lambda: rebalances(kafka, config["group.id"]), 1)
        revision = set_session(config, 6000)
        status = (revision, {"session.timeout.ms": "6000"}, {})
        eventually(lambda: last_status(broker(config), config["kadmin.user"]), status)
    finally:
        process.kill()
        process.wait()
    eventually(lambda: rebalances(kafka, config["group.id"]), 2)  # without it, in a quarter of the default


@pytest.mark.parametrize("auto", [True, False], ids=["auto commit", "own commits"])
def test_reading_goes_on_from_the_committed_offsets(config, topic, caplog, auto: bool) -> None:
    """The change committed a batch that we had not finished yet."""
    fill(config, topic, {0: 5})
    with DynamicConsumer(config | STATIC | {"enable.auto.commit": auto}) as consumer:
        consumer.subscribe([topic])
        assert numbered(consumer, 5) == [(0, n) for n in range(5)]
        received = change(consumer, config, 20_000, caplog)
        fill(config, topic, {0: 1})
        received += numbered(consumer, (1 if auto else 6) - len(received))
        assert received == ([] if auto else [(0, n) for n in range(5)]) + [(0, 0)]


def test_a_consumer_that_assigns_its_partitions_itself_stays_as_it_is(config, topic, unique, caplog) -> None:
    """It was made anew for a session that it does not have, and began at its first offset again."""
    fill(config, topic, {0: 5})
    with DynamicConsumer(config) as consumer:
        consumer.assign([TopicPartition(topic, 0, 2)])
        revision = set_session(config, 20_000)
        eventually(lambda: consumer._follower.candidate is not None, True)
        assert numbered(consumer, 3) == [(0, n) for n in range(2, 5)]
        assert not was_taken(caplog, revision)
        consumer.unassign()
        consumer.subscribe([topic])
        eventually(lambda: (consumer.poll(0), was_taken(caplog, revision))[1], True)


def test_callbacks_hear_of_the_change_as_of_a_rebalance(config, topic, caplog) -> None:
    """on_revoke, where we commit, was called with a consumer that is not the one that we have."""
    calls = []

    def noting(name: str):
        return lambda consumer, partitions: calls.append((name, consumer, len(partitions)))

    with DynamicConsumer(config | STATIC) as consumer:
        consumer.subscribe([topic], on_assign=noting("assign"), on_revoke=noting("revoke"))
        eventually(lambda: (consumer.poll(0.1), len(calls))[1], 1)
        change(consumer, config, 20_000, caplog)
        eventually(lambda: (consumer.poll(0.1), len(calls))[1], 3)
    assert calls == [(name, consumer, 1) for name in ("assign", "revoke", "assign", "revoke")]


def test_without_a_static_membership_the_group_rebalances_and_goes_on(config, kafka, topic, caplog) -> None:
    """Half of our groups have no group.instance.id: were they to lose messages?"""
    fill(config, topic, {0: 5})
    with DynamicConsumer(config) as consumer:
        consumer.subscribe([topic])
        numbered(consumer, 5)
        change(consumer, config, 20_000, caplog)
        fill(config, topic, {0: 2})
        assert numbered(consumer, 2) == [(0, 0), (0, 1)]
    assert rebalances(kafka, config["group.id"]) > 1


def test_two_members_that_change_while_they_join_read_all(config, kafka, make_partitions, caplog) -> None:
    """Both members changed while they joined, and each took the other's partitions for its own."""
    topic = make_partitions(2)
    fill(config, topic, {0: 20, 1: 20})
    second = config | {"group.instance.id": "b"}
    with DynamicConsumer(config | STATIC) as one, DynamicConsumer(second) as two:
        one.subscribe([topic])
        received = numbered(one, 10)
        two.subscribe([topic])
        revision = set_session(config, 20_000)
        for consumer in itertools.islice(itertools.cycle([one, two]), 10_000):
            received += numbers_of(consumer.consume(5, 0.01))
            done = sum(message.endswith(f"(revision {revision})") for message in caplog.messages)
            if done == 2 and set(received) == {(p, n) for p in range(2) for n in range(20)}:
                break
        assert set(received) == {(p, n) for p in range(2) for n in range(20)}
        assert done == 2


@pytest.mark.parametrize(
    ("static", "reason"),
    [
        ({"max.poll.interval.ms": 50_000, "session.timeout.ms": 30_000}, "`max.poll.interval.ms`must be >= "),
        ({"heartbeat.interval.ms": 60_000, "session.timeout.ms": 70_000}, "both timeouts are discarded: "),
        ({"group.protocol": "consumer"}, "group.protocol=consumer takes it from the group: kadmin-nb config set "),
    ],
    ids=["max.poll.interval.ms", "own heartbeat", "new protocol"],
)
def test_a_timeout_that_does_not_fit_is_refused_with_its_reason(config, topic, caplog, static, reason) -> None:
    """The consumer stopped, because its new session was longer than its poll interval."""
    with DynamicConsumer(config | static) as consumer:
        consumer.subscribe([topic])
        revision = set_session(config, 60_000)
        eventually(lambda: (consumer.poll(0), "session.timeout.ms was refused" in caplog.text)[1], True)
        assert not was_taken(caplog, revision)
        eventually(lambda: (last_status(broker(config), config["kadmin.user"]) or (0,))[0], revision)
    _, values, rejected = last_status(broker(config), config["kadmin.user"])
    own = {"session.timeout.ms": str(static["session.timeout.ms"])} if "session.timeout.ms" in static else {}
    assert (values, list(rejected)) == (own, ["session.timeout.ms"])
    assert reason in rejected["session.timeout.ms"]


def change(consumer: DynamicConsumer, config, milliseconds: int, caplog) -> list[tuple[int, int]]:
    """Set another session timeout, and let the consumer take it; the messages that come meanwhile."""
    revision, messages = set_session(config, milliseconds), []
    while not was_taken(caplog, revision):
        messages += consumer.consume(1, 0.01)
    return numbers_of(messages)


def fill(config: dict[str, str], topic: str, counts: dict[int, int]) -> None:
    """Messages 0, 1, … for each of these partitions."""
    with closing(Producer(broker(config))) as producer:
        for partition, count in counts.items():
            for number in range(count):
                producer.produce(topic, str(number), partition=partition)
        assert producer.flush(10) == 0


def numbered(consumer: DynamicConsumer, count: int) -> list[tuple[int, int]]:
    """The partitions and numbers of the next messages."""
    messages: list[Message] = []
    until = time.monotonic() + 20
    while len(messages) < count and time.monotonic() < until:
        messages += consumer.consume(count - len(messages), 1)
    return numbers_of(messages)


def numbers_of(messages: list[Message]) -> list[tuple[int, int]]:
    return [(message.partition(), int(message.value())) for message in messages]
