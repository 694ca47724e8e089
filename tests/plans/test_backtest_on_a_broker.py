"""A backtest beside what a real broker does to the same demand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from waiting import eventually

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka

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
    def muted(self) -> float:
        """Seconds for which the broker said that it mutes."""
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


def test_the_broker_throttles_whom_the_backtest_named_and_as_long(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Callable[[str], str]
):
    """The backtest promised a delay of some seconds, and the load took all night."""
    topic = unique("topic")
    cluster._kafka.create_topics({topic: 1})
    burst, steady = (Paced(kafka, unique(name), rate * LIMIT, 4) for name, rate in (("burst", 5), ("steady", 0.9)))
    stage = cluster.stage()
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
        cluster.apply(done.rollback())
    usage = pa.concat_tables([burst.usage(), steady.usage()])
    found = {row["bucket_client_id"]: row for row in kn.backtest(plan, usage).to_arrow().to_pylist()}
    first = (found[burst.client_id]["first_throttled"] - datetime(2026, 5, 1, 12, tzinfo=UTC)).total_seconds()
    assert found[steady.client_id]["throttled_s"] == steady.muted == 0.0
    assert burst.muted == pytest.approx(found[burst.client_id]["throttled_s"], abs=4.0)
    assert burst.throttles[0][0] == pytest.approx(first, abs=2.0)
    assert burst.late == pytest.approx(found[burst.client_id]["throttled_s"] + first - burst.seconds, abs=4.0)
