"""A backtest beside what a real broker does to the same demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from confluent_kafka import Producer

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.dangerous_plans import applied
from tests.logged_requests import requests_of
from tests.waiting import eventually

pytestmark = pytest.mark.broker

LIMIT = 200_000.0
RECORD = 10_000


@dataclass
class Paced:
    """A producer that wants to send so much a second for some seconds, and what became of it."""

    kafka: LocalKafka
    client_id: str
    rate: float
    seconds: float
    throttles: list[tuple[float, float]] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)
    late: float = 0.0

    def run(self, topic: str) -> None:
        """All of it, and until it is through; `throttles` are (when, seconds) as the broker told."""
        producer = Producer(
            {
                "bootstrap.servers": self.kafka.bootstrap,
                "client.id": self.client_id,
                "batch.size": 2 * RECORD,
                "linger.ms": 5,
                "max.in.flight": 1,
                "throttle_cb": lambda event: self.throttles.append((time.monotonic() - begin, event.throttle_time)),
            }
        )
        producer.list_topics(topic, timeout=30)
        begin = time.monotonic()
        for number in range(int(self.rate * self.seconds / RECORD)):
            due = begin + number * RECORD / self.rate
            while (wait := due - time.monotonic()) > 0:
                producer.poll(wait)
            producer.produce(topic, bytes(RECORD))
            second = int(due - begin)
            self.sent[second] = self.sent.get(second, 0) + RECORD
        assert producer.flush(60) == 0
        self.late = time.monotonic() - begin - self.seconds

    @property
    def throttled(self) -> float:
        """Seconds for which the broker said that it throttles."""
        return sum(seconds for _, seconds in self.throttles)

    def usage(self) -> pa.Table:
        """What it wanted, as USAGE."""
        noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
        same = {"broker": 1, "user": "ANONYMOUS", "client_id": self.client_id, "key": "producer_byte_rate"}
        windows = ((noon + timedelta(seconds=second), float(size)) for second, size in self.sent.items())
        rows = [
            {**same, "source": "sent", "value": size, "window_start": start, "window_end": start + timedelta(seconds=1)}
            for start, size in windows
        ]
        return schemas.table(schemas.USAGE, rows)


@pytest.mark.long
def test_the_broker_throttles_whom_the_backtest_named_and_as_long(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str]
):
    """The backtest promised a delay of some seconds, and the load took all night."""
    topic = unique("topic")
    cluster.port.create_topics({topic: 1})
    burst, steady = (Paced(kafka, unique(name), rate * LIMIT, 4) for name, rate in (("burst", 5), ("steady", 0.9)))
    stage = cluster.new_stage()
    for one in (burst, steady):
        stage.set_quota("producer_byte_rate", LIMIT, client_id=one.client_id)
    plan = stage.plan()
    done = plan.apply()
    try:
        eventually(lambda: len(cluster.quotas.describe(client_id=steady.client_id)), 1)
        threads = [threading.Thread(target=one.run, args=(topic,)) for one in (burst, steady)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(90)
    finally:
        applied(cluster.rollback(done.plan_id))
    usage = pa.concat_tables([burst.usage(), steady.usage()])
    found = {
        row["bucket_client_id"]: row for row in kn.usage.backtest(plan.quotas_after(), usage).to_arrow().to_pylist()
    }
    first = (found[burst.client_id]["first_throttled"] - datetime(2026, 5, 1, 12, tzinfo=UTC)).total_seconds()
    assert found[steady.client_id]["throttled_s"] == steady.throttled == 0.0
    assert burst.throttled == pytest.approx(found[burst.client_id]["throttled_s"], abs=4.0)
    assert burst.throttles[0][0] == pytest.approx(first, abs=2.0)
    assert burst.late == pytest.approx(found[burst.client_id]["throttled_s"] + first - burst.seconds, abs=4.0)


EACH_SECOND = 200
"""Small requests that a client makes in a second, one after the other."""


def asked(kafka: LocalKafka, topic: str, client_id: str, seconds: int) -> list[float]:
    """So many requests, paced; the throttles that the broker told, in seconds."""
    throttles: list[float] = []
    settings = {"bootstrap.servers": kafka.bootstrap, "client.id": client_id, "linger.ms": 0, "max.in.flight": 1}
    producer = Producer({**settings, "acks": 1, "throttle_cb": lambda event: throttles.append(event.throttle_time)})
    producer.list_topics(topic, timeout=30)
    begin = time.monotonic()
    for number in range(seconds * EACH_SECOND):
        while (wait := begin + number / EACH_SECOND - time.monotonic()) > 0:
            producer.poll(wait)
        producer.produce(topic, b"x" * 100)
        assert producer.flush(60) == 0
    return throttles


def on_threads(kafka: LocalKafka, client_id: str) -> list[float]:
    """Milliseconds of the broker's threads that each request took, by its log: handled, and the answer sent."""
    requests = requests_of(client_id, *kafka.nodes[0].folder.glob("request.log*"))
    of_topic = [one for one in requests if one["requestHeader"]["requestApiKeyName"] == "PRODUCE"]
    of_topic.sort(key=lambda one: one["requestHeader"]["correlationId"])
    return [one["localTimeMs"] + one["sendTimeMs"] for one in of_topic]


def percents(client_id: str, took: list[float]) -> pa.Table:
    """USAGE: what the requests took in percent of a thread, in the second in which each was wanted."""
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    same = {"broker": 1, "user": "ANONYMOUS", "client_id": client_id, "key": "request_percentage", "source": "log"}
    starts = [noon + timedelta(seconds=second) for second in range(len(took) // EACH_SECOND)]
    sums = [sum(took[at : at + EACH_SECOND]) / 10 for at in range(0, len(took), EACH_SECOND)]
    return schemas.table(
        schemas.USAGE,
        [
            {**same, "value": value, "window_start": start, "window_end": start + timedelta(seconds=1)}
            for start, value in zip(starts, sums, strict=True)
        ],
    )


@pytest.fixture
def request_log(kafka: LocalKafka, cluster: kn.Cluster) -> Iterator[None]:
    """The broker logs its requests."""
    stage = cluster.new_stage()
    stage.set_config("kafka.request.logger", "DEBUG", broker_logger=1)
    done = stage.plan().apply()
    yield
    cluster.apply(cluster.rollback(done.plan_id))


@pytest.mark.long
@pytest.mark.usefixtures("request_log")
def test_the_time_of_threads_is_sampled_as_the_backtest_has_it(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str]
):
    """A request quota was lowered by what the backtest said, and the batch job stood still."""
    topic, free, tight = unique("topic"), unique("free"), unique("tight")
    cluster.port.create_topics({topic: 1})
    asked(kafka, topic, free, 10)  # a broker that has just started takes several times as long
    eventually(lambda: len(on_threads(kafka, free)), 10 * EACH_SECOND)
    warm = sum(on_threads(kafka, free)[-3 * EACH_SECOND :]) / 10 / 3
    stage = cluster.new_stage()
    stage.set_quota("request_percentage", round(warm / 6, 3), client_id=tight)
    plan = stage.plan()
    done = plan.apply()
    try:
        eventually(lambda: len(cluster.quotas.describe(client_id=tight)), 1)
        throttles = asked(kafka, topic, tight, 4)
        eventually(lambda: len(on_threads(kafka, tight)), 4 * EACH_SECOND)
    finally:
        cluster.apply(cluster.rollback(done.plan_id))
    (found,) = kn.usage.backtest(plan.quotas_after(), percents(tight, on_threads(kafka, tight))).to_arrow().to_pylist()
    print(
        f"throttled {sum(throttles):.1f} s, foretold {found['throttled_s']:.1f} s; the longest {max(throttles):.1f} s"
    )
    assert sum(throttles) > 3.0
    assert max(throttles) <= 1.0  # the broker's bound for this quota, a sample long
    assert sum(throttles) == pytest.approx(found["throttled_s"], abs=5.0)
