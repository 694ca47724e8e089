"""Old clients on real brokers: which versions these take, what 3.9 logs about them, and that 4.x refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import kafka
import pytest
from kafka.protocol.api_key import ApiKey
from kafka.protocol.metadata import ApiVersionsRequest
from pyarrow import csv

import kadmin_nb as kn
from kadmin_nb.usage import LOWEST_VERSIONS
from tests.admin.versions import EVERY
from tests.runbooks.databricks_stand_in import as_task

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
    wanted = dict.fromkeys(LOWEST_VERSIONS, 0) if broker.version == "3.9" else {**LOWEST_VERSIONS, **OFFERED}
    assert {api: found[api] for api in LOWEST_VERSIONS} == wanted


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
def test_a_log_of_all_requests_names_the_old_and_the_young(broker, unique, tmp_path):
    """Who would be refused, of how many: the log of old clients alone does not tell."""
    both = Both(broker, unique)
    with connected(broker) as cluster:
        clients = checked(cluster.observe(2, progress=both), tmp_path)
    assert (clients[both.old], clients[both.young]) == (("refused", "PRODUCE 2"), ("accepted", ""))


def checked(observed, folder: Path) -> dict[str, tuple[str, str]]:
    """The state of each client of these logs, and the versions for which it would be refused."""
    save, log = folder / "clients.csv", f"{observed.logs[-1]}*"
    as_task("upgrade_check", log=log, broker="1", tz="UTC", save=str(save))
    return {row["client_id"]: (row["state"], row["refused"]) for row in csv.read_csv(save).to_pylist()}
