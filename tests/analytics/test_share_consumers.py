"""Share consumers: the request log tells how long they were throttled, and no bytes. Those are unknown, never 0."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.meanings import part
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.jars import find_jars
from kadmin_nb.java import find_java
from kadmin_nb.local import LocalKafka
from kadmin_nb.usage.arithmetic import RECORD_BYTES, SHARE_BYTES
from kadmin_nb.usage.near_and_top import near
from tests.dangerous_plans import applied
from tests.logged_requests import requests_of
from tests.plans.kafka_tool import SHORT_LIVED
from tests.waiting import eventually

FETCHED, REQUESTS = "consumer_byte_rate", "request_percentage"
CLIENT, GROUP, LIMIT = "sharer", "sharers", 100_000.0
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def log(kafka: LocalKafka, cluster: kn.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The request log of a broker on which Java's share consumer was throttled, as it was then."""
    topic, log = "shared", kafka.nodes[0].folder / "request.log"
    cluster.port.create_topics({topic: 1})
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for _ in range(3_000):
        producer.produce(topic, os.urandom(1_000))
        producer.poll(0)
    assert producer.flush(60) == 0
    stage = cluster.new_stage()
    stage.set_config("kafka.request.logger", "DEBUG", broker_logger=1)
    stage.set_config("share.auto.offset.reset", "earliest", group=GROUP)
    stage.set_quota(FETCHED, LIMIT, client_id=CLIENT)
    outcomes = stage.plan().apply()
    assert outcomes.ok
    try:
        share(kafka, topic, log)
        yield Path(shutil.copy(log, tmp_path_factory.mktemp("log")))
    finally:
        applied(cluster.rollback(outcomes.plan_id))


def share(kafka: LocalKafka, topic: str, log: Path) -> None:
    """Read until the broker has throttled it."""
    java = {"classpath": find_jars().classpath, "java_path": str(find_java().command), "javaopts": SHORT_LIVED}
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=launch_gateway(die_on_exit=True, **java)))
    try:
        properties, kind = gateway.jvm.java.util.Properties(), gateway.jvm.org.apache.kafka.common.serialization
        for key, value in {"bootstrap.servers": kafka.bootstrap, "group.id": GROUP, "client.id": CLIENT}.items():
            properties.setProperty(key, value)
        deserializers = (kind.ByteArrayDeserializer(), kind.ByteArrayDeserializer())
        consumer = gateway.jvm.org.apache.kafka.clients.consumer.KafkaShareConsumer(properties, *deserializers)
        topics = gateway.jvm.java.util.ArrayList()
        topics.add(topic)
        consumer.subscribe(topics)

        def was_throttled() -> bool:
            consumer.poll(gateway.jvm.java.time.Duration.ofMillis(500))
            return throttled_ms(log) > 0

        eventually(was_throttled, True, 60)
        consumer.close(gateway.jvm.java.time.Duration.ZERO)
    finally:
        gateway.shutdown()


def throttled_ms(log: Path) -> float:
    """The longest throttle of a SHARE_FETCH, by the log itself."""
    documents = requests_of(CLIENT, log)
    asked = [one for one in documents if one["requestHeader"]["requestApiKeyName"] == "SHARE_FETCH"]
    return max((one["throttleTimeMs"] for one in asked), default=0.0)


@pytest.mark.broker
def test_a_throttled_share_consumer_is_seen(log, cluster):
    """It was throttled for 8 of 50 seconds; near was empty, top and why laid it at its requests."""
    offset = datetime.now().astimezone().strftime("%z")
    requests = kn.usage.requests(log, broker=1, tz=f"{offset[:3]}:{offset[3:]}")
    assert requests.counts.unsized > 0
    usage = kn.usage.usage(requests)
    rows = [row for row in usage.to_pylist() if row["client_id"] == CLIENT]
    shared = [row for row in rows if row["key"] == FETCHED]
    assert {(row["value"], row["source"]) for row in shared} == {(None, SHARE_BYTES)}
    assert max(row["throttle_ms"] for row in shared) == throttled_ms(log)
    assert max(row["throttle_ms"] or 0 for row in rows if row["key"] == REQUESTS) == 0

    answer = cluster.quotas.near(usage)
    (row,) = [row for row in answer.to_arrow().to_pylist() if row["bucket_client_id"] == CLIENT]
    assert (row["peak"], row["utilisation"], row["throttle_ms"]) == (None, None, throttled_ms(log))
    assert "unknown of 100 kB/s" in str(answer)
    assert "is not known in full" in str(answer)

    top = kn.usage.top(usage)
    (first,) = [row for row in top.to_arrow().to_pylist() if (row["key"], row["client_id"]) == (FETCHED, CLIENT)]
    assert (first["mean"], first["share"], first["peak"], first["throttle_ms"]) == (None, None, None, throttled_ms(log))
    assert f"The {FETCHED} of user=ANONYMOUS client-id={CLIENT} is unknown." in str(top)

    why = cluster.quotas.why(user="ANONYMOUS", client_id=CLIENT, usage=usage)
    assert why._title().startswith(f"ANONYMOUS/{CLIENT} is held by consumer 100 kB/s per broker")


def used(at: float, value: float | None, client_id: str = "app", **rest: object) -> dict[str, object]:
    """A row of USAGE: a window of a second, `at` seconds past noon."""
    start = NOON + timedelta(seconds=at)
    own = {"window_start": start, "window_end": start + timedelta(seconds=1), "value": value}
    return {"broker": 1, "user": "alice", "client_id": client_id, "key": FETCHED, "source": "test", **own, **rest}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["arrow", "spark"])
def test_share_fetches_are_a_row_of_their_own(spark, engine):
    """A client that fetches both ways had the bytes of one of them."""
    same = {"broker": 1, "user": "u", "client_id": "c", "connection": "x", "correlation_id": 1, "io_ms": 1.0}
    frame = schemas.table(
        schemas.REQUESTS,
        [
            {**same, "time": NOON, "api": "FETCH", "bytes_out": 50, "throttle_ms": 0.0},
            {**same, "time": NOON, "api": "SHARE_FETCH", "throttle_ms": 700.0},
            {**same, "time": NOON, "api": "SHARE_ACKNOWLEDGE", "throttle_ms": 3.0},
        ],
    )
    usage = kn.usage.usage(frame) if engine == "arrow" else kn.usage.usage(to_spark(frame, spark)).toArrow()
    rows = {(row["key"], row["source"] == SHARE_BYTES): row for row in usage.to_pylist()}
    values = {key: (row["value"], row["throttle_ms"]) for key, row in rows.items()}
    assert values == {(FETCHED, False): (50.0, 0.0), (FETCHED, True): (None, 700.0), (REQUESTS, False): (0.3, 3.0)}
    assert rows[FETCHED, False]["source"] == RECORD_BYTES


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["arrow", "spark"])
def test_the_figures_of_an_unknown_use(spark, engine):
    """The bucket was at 0 %, or at what its other clients used."""
    usage = schemas.table(
        schemas.USAGE,
        [
            *(used(0, value) for value in (60.0, None)),
            used(1, 90.0, "job"),
            used(2, None, "share", throttle_ms=9.0),
            *(used(at, None, "share", user="bob") for at in (0, 1)),
            used(0, None, "free", user="carol"),
        ],
    )
    limits = [
        {"entity": "", "level": "USER", "user": user, "key": FETCHED, "value": 100.0} for user in ("alice", "bob")
    ]
    quotas = schemas.table(schemas.QUOTAS, limits)
    if engine == "arrow":
        found = kn.usage.utilisation(usage, quotas)
    else:
        found = kn.usage.utilisation(to_spark(usage, spark), quotas).toArrow()
    names = ("windows", "windows_seen", "windows_unknown", "peak", "p95", "mean", "utilisation", "share_above_80",
             "longest_above_100_s", "throttle_ms", "clients")  # fmt: skip
    rows = {row["bucket_user"] or row["user"]: tuple(row[name] for name in names) for row in found.to_pylist()}
    nothing = (None,) * 6
    assert rows == {
        "alice": (3, 3, 2, 90.0, 90.0, 50.0, 90.0, 1 / 3, 0.0, 9.0, 3),
        "bob": (3, 2, 2, *nothing, None, 1),
        "carol": (3, 1, 1, *nothing, None, 1),
    }
    table = near(found.cast(schemas.UTILISATION.schema)).to_arrow()
    assert table["bucket_user"].to_pylist() == ["alice"]
    assert part("peak", table).texts(table) == ["at least 90 B/s"]


def test_who_is_unknown_has_no_share():
    """A share consumer that used most was not in the list, and another one used 100 % of all."""
    usage = schemas.table(schemas.USAGE, [used(0, 10.0), used(0, 5.0, "both"), used(0, None, "both")])
    top = kn.usage.top(usage)
    rows = [(row["client_id"], row["mean"], row["share"]) for row in top.to_arrow().to_pylist()]
    assert rows == [("app", 10.0, None), ("both", None, None)]
    assert "The consumer_byte_rate of user=alice client-id=both is unknown." in top.warnings[0]
