"""Configs of groups: the type of the group, the keys that it ignores, and the values that brokers clamp (KIP-1240)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ShareConsumer, TopicPartition

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.waiting import eventually

pytestmark = pytest.mark.broker

WIDE = {"group.consumer.min.session.timeout.ms": "6000", "group.share.max.partition.max.record.locks": "9000"}
"""Bounds that were there when the values were stored, and are no more."""

CONSUMER, SHARE, CLASSIC, LATER = "consumers", "sharers", "classics", "later"

TYPES = {CONSUMER: "consumer", SHARE: "share", CLASSIC: "classic"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[kn.Cluster]:
    with kn.local.start(extra=WIDE) as kafka:
        with kafka.connect() as before:
            before.port.create_topics({"orders": 1})
            set_all(
                before,
                {
                    CONSUMER: {"consumer.session.timeout.ms": "10000", "share.record.lock.duration.ms": "20000"},
                    SHARE: {"share.partition.max.record.locks": "8000", "share.delivery.count.limit": "7"},
                },
            )
            make_groups(kafka, before)
        narrow(kafka)
        with kafka.connect() as now:
            eventually(now.port.group_types, TYPES, 20)  # a broker that has just begun reads its groups first
            yield now


def set_all(cluster: kn.Cluster, wanted: dict[str, dict[str, str]]) -> None:
    stage = cluster.new_stage()
    for group, values in wanted.items():
        for key, value in values.items():
            stage.set_config(key, value, group=group)
    assert stage.plan().apply().ok


def make_groups(kafka: LocalKafka, cluster: kn.Cluster) -> None:
    """A group of each type but streams; brokers keep one that is empty, if something was committed."""
    settings = {"bootstrap.servers": kafka.bootstrap, "log_level": 0}
    consumer = Consumer({**settings, "group.id": CONSUMER, "group.protocol": "consumer"})
    classic = Consumer({**settings, "group.id": CLASSIC})
    with ShareConsumer({**settings, "group.id": SHARE}) as sharer:
        for one in (consumer, classic, sharer):
            one.subscribe(["orders"])

        def types() -> dict[str, str | None]:
            for one in (consumer, classic, sharer):
                one.poll(0.1)
            return cluster.port.group_types()

        eventually(types, TYPES, 20)
    classic.commit(offsets=[TopicPartition("orders", 0, 0)], asynchronous=False)
    consumer.close()
    classic.close()


def narrow(kafka: LocalKafka) -> None:
    """The brokers get Kafka's own bounds back."""
    node = kafka.nodes[0]
    file = node.folder / "server.properties"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if line.partition("=")[0] not in WIDE) + "\n")
    node.restart()


def test_what_is_stored_and_what_is_applied(cluster):
    """Describe showed a session timeout of 10 s, and a consumer was thrown out after 45 s."""
    answer = cluster.configs.describe(group=[CONSUMER, SHARE, LATER])
    rows = {(row["resource_name"], row["key"]): row for row in answer}
    assert {rows[name, "share.session.timeout.ms"]["group_type"] for name in (CONSUMER, SHARE, LATER)} == {
        "consumer",
        "share",
        None,
    }
    shown = {place: (row["value"], row["applied"]) for place, row in rows.items()}
    assert shown[CONSUMER, "consumer.session.timeout.ms"] == ("10000", "45000")
    assert shown[CONSUMER, "share.record.lock.duration.ms"] == ("20000", None)
    assert shown[CONSUMER, "consumer.heartbeat.interval.ms"] == ("5000", "5000")
    assert shown[SHARE, "share.partition.max.record.locks"] == ("8000", "4000")
    assert shown[SHARE, "share.delivery.count.limit"] == ("7", "7")
    assert shown[SHARE, "share.auto.offset.reset"] == ("latest", "latest")
    assert shown[SHARE, "streams.session.timeout.ms"] == ("45000", None)
    assert shown[LATER, "streams.session.timeout.ms"] == ("45000", "45000")
