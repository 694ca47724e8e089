"""Old clients on real brokers: which versions these take, what 3.9 logs about them, and that 4.x refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import kafka
import pytest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsRequest

import kadmin_nb as kn
from kadmin_nb.commands import run
from kadmin_nb.commands.session import Session
from kadmin_nb.usage.api_versions import LOWEST
from tests.admin.versions import EVERY

pytestmark = pytest.mark.broker

OFFERED = {"PRODUCE": 0}
"""What 4.x offers and refuses: librdkafka looks for it (KAFKA-18659)."""
AN_OLD_ONE, A_YOUNG_ONE = (0, 10, 2), (1, 0)
"""The versions that a client believes its broker to be of, and uses the requests of: the first lacks PRODUCE 3."""


def on(*versions: str) -> pytest.MarkDecorator:
    """The brokers of these versions."""
    chosen = [one for one in EVERY if one != "double" and one.values[0] in (versions or one.values)]
    return pytest.mark.parametrize("broker", chosen, indirect=True)


def lowest_versions(broker) -> dict[str, int]:
    """The lowest version of each request that a broker says it takes, by Kafka's name of the request."""
    question = partial(ApiVersionsRequest, client_software_name="test", client_software_version="1")
    answer = broker.wire.ask(question, doing="asking for versions")
    lowest = {api.api_key: api.min_version for api in answer.api_keys}
    return {re.sub(r"(?<!^)([A-Z])", r"_\1", key.name).upper(): lowest[key] for key in ApiKey if key in lowest}


@on()
def test_the_lowest_versions_are_those_of_the_brokers(broker):
    """A table that was typed from the KIP called clients refused that 4.0 still takes."""
    found = lowest_versions(broker)
    wanted = dict.fromkeys(LOWEST, 0) if broker.version == "3.9" else {**LOWEST, **OFFERED}
    assert {api: found[api] for api in LOWEST} == wanted


@contextmanager
def connected(broker) -> Iterator[kn.Cluster]:
    with kn.connect(broker.wire.settings.bootstrap) as cluster:
        yield cluster


def sends(broker, client_id: str, version: tuple[int, ...], topic: str) -> bool:
    """Whether a record of such a client arrives."""
    producer = kafka.KafkaProducer(
        bootstrap_servers=broker.wire.settings.bootstrap, client_id=client_id, api_version=version, retries=0
    )
    try:
        return producer.send(topic, b"x").get(timeout=3) is not None
    except kafka.errors.KafkaError:
        return False
    finally:
        producer.close(timeout=1, null_logger=True)


class Both:
    """An old client and a young one, which send a record at the first beat of an observation."""

    def __init__(self, broker, unique) -> None:
        self.old, self.young, self.topic = unique("old"), unique("young"), unique("topic")
        self.broker, self.sent = broker, list[bool]()

    def __call__(self, advance: object) -> None:
        if not self.sent:
            self.sent = [
                sends(self.broker, client_id, version, self.topic)
                for client_id, version in ((self.old, AN_OLD_ONE), (self.young, A_YOUNG_ONE))
            ]


@on("3.9.2")
def test_at_info_3_9_logs_old_clients_alone(broker, unique):
    """The log of all requests was a terabyte a day, and nobody dared to have it for a week."""
    both = Both(broker, unique)
    with connected(broker) as cluster:
        observed = cluster.observe(2, clients=True, progress=both)
    assert both.sent == [True, True]
    (row,) = observed.to_arrow().to_pylist()
    assert (row["state"], row["level_before"], row["level_after"]) == ("restored", "WARN", "WARN")
    found = kn.usage.upgrade_check(kn.usage.requests(observed.logs, broker=1, tz="UTC"))
    refused = [(one["refused_versions"], one["deprecated_versions"]) for one in found if one["client_id"] == both.old]
    produce_2 = [{"api": "PRODUCE", "version": 2}]
    assert refused == [(produce_2, produce_2)]
    assert both.young not in found["client_id"].to_pylist()


@on("3.9.2")
def test_who_would_be_refused_right_now(broker, unique):
    """`clients --for 2s` of the terminal: the old one and the young one, and how many there are."""
    both = Both(broker, unique)
    with connected(broker) as cluster:
        answer = run(["clients", "--for", "2s"], Session(connected=cluster, owns=False, progress=both)).value
    states = {row["client_id"]: row["state"] for row in answer}
    assert (states[both.old], states[both.young]) == ("refused", "accepted")


@on("4.3.1")
def test_4_x_refuses_whom_we_say_and_logs_nothing_about_it(broker, unique):
    """It watched a cluster of 4.x for a day, found no old client, and three had been refused all day."""
    topic = unique("topic")
    assert [sends(broker, unique("c"), version, topic) for version in (AN_OLD_ONE, A_YOUNG_ONE)] == [False, True]
    with connected(broker) as cluster, pytest.raises(kn.Unsupported, match="log no deprecated requests"):
        cluster.observe(1, clients=True)
