"""The same on the oldest broker that we speak to, whose group coordinator is another program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.client_configs import test_dynamic_consumer as consumers
from tests.client_configs import test_dynamic_producer as producers

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.tried(Kafka="3.9.2")]

broker, of_producer = producers.broker, producers.config
config, make_partitions = consumers.config, consumers.make_partitions

test_a_running_consumer_takes_new_timeouts = consumers.test_flips_skip_no_message_and_rebalance_nothing
test_the_old_broker_has_the_new_session = consumers.test_the_broker_has_the_new_session
test_two_members_that_change_while_they_join = consumers.test_two_members_that_change_while_they_join_read_all


@pytest.fixture(scope="module")
def kafka() -> Iterator[LocalKafka]:
    with kn.local.start(version="3.9.2") as running:
        yield running


@pytest.fixture
def topic(kafka: LocalKafka, unique) -> str:
    name, admin = unique("topic"), AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)], operation_timeout=30)[name].result()
    return name


@pytest.mark.long
def test_flips_under_load(of_producer, broker, topic, caplog) -> None:
    """The old broker's answers came in another order."""
    producers.test_flips_under_load_lose_repeat_and_reorder_nothing(20, of_producer, broker, topic, caplog)


@pytest.mark.long
def test_an_open_transaction(of_producer, broker, topic, caplog) -> None:
    """The old broker ended our transaction."""
    producers.test_an_open_transaction_is_not_touched(of_producer, broker, topic, caplog)
