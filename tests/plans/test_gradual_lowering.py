"""Lowering a limit under busy clients of a real broker: in one step, and in the steps of `gradual`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from confluent_kafka import Producer, ThrottleEvent

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans import sending
from kadmin_nb.plans.sending import batches
from kadmin_nb.plans.stalls import schedule, stalls

pytestmark = [pytest.mark.broker, pytest.mark.slow]

KEY = "producer_byte_rate"
RATE, LOW = 1_000_000, 100_000
BATCH = 16_384
"""Java's default. With librdkafka's, 1 MB, one request at 100 kB/s throttles for 10 s, lowered or not."""


RECORD = b"x" * 10_000
BACKLOG = 20
"""Records that a client which was never throttled lets wait. A broker that stood still is not sent what it missed."""


class Busy(threading.Thread):
    """A producer that has 1 MB to send each second, and notes how long each answer throttles it.

    It never uses more than that, also on a machine that stood still for seconds: no time is made up for. Once a broker
    has throttled it, what it has to send waits, and it comes back with a burst.
    """

    def __init__(self, bootstrap: str, client_id: str) -> None:
        super().__init__(daemon=True)
        self.throttled: list[tuple[float, float]] = []
        self.delivered: list[float] = []
        self.done = threading.Event()
        settings = {"bootstrap.servers": bootstrap, "client.id": client_id, "batch.size": BATCH, "linger.ms": 5}
        self._producer = Producer({**settings, "throttle_cb": self._throttled, "log_level": 0})

    def since(self, start: float) -> list[float]:
        """Seconds of every throttle that began after that moment."""
        return [seconds for at, seconds in self.throttled if at >= start]

    def rate(self, seconds: float) -> float:
        """Bytes a second that it delivered in the last seconds."""
        start = time.monotonic() - seconds
        return sum(at >= start for at in self.delivered) * len(RECORD) / seconds

    def run(self) -> None:
        before, due = time.monotonic(), 0.0
        while not self.done.is_set():
            now = time.monotonic()
            before, due = now, due + min(now - before, 0.1) * RATE
            while due >= len(RECORD):
                due -= len(RECORD)
                self._send()
            self._producer.poll(0.01)
        self._producer.purge()

    def _send(self) -> None:
        if self.throttled or len(self._producer) < BACKLOG:
            self._producer.produce("busy", RECORD, on_delivery=self._delivered)

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.delivered.append(time.monotonic())

    def _throttled(self, event: ThrottleEvent) -> None:
        self.throttled.append((time.monotonic(), event.throttle_time))


@contextmanager
def busy(bootstrap: str, *client_ids: str) -> Iterator[dict[str, Busy]]:
    producers = {client_id: Busy(bootstrap, client_id) for client_id in client_ids}
    for producer in producers.values():
        producer.start()
    try:
        yield producers
    finally:
        for producer in producers.values():
            producer.done.set()
            producer.join()


def used(client_id: str, rate: float = RATE) -> pa.Table:
    """USAGE as somebody who measures would have it."""
    end = datetime.now(UTC)
    row = {"broker": 1, "user": "ANONYMOUS", "client_id": client_id, "key": KEY, "value": rate, "source": "the test"}
    row |= {"window_start": end - timedelta(seconds=10), "window_end": end}
    return schemas.table(schemas.USAGE, [row])


def lowering(cluster: kn.Cluster, **whom: object) -> kn.Plan:
    stage = cluster.new_stage()
    stage.set_quota(KEY, LOW, **whom)
    return stage.plan()


def send(cluster: kn.Cluster, changes: Sequence[Change]) -> None:
    """By plain alters: what it does to a client is the broker's doing."""
    for batch in batches(changes):
        assert set(batch.send(cluster.port).values()) == {None}


def loosen(cluster: kn.Cluster, *client_ids: str) -> None:
    entities = [Entity.of({"client-id": name}) for name in client_ids]
    cluster.port.quotas.alter({entity: {KEY: 1e9} for entity in entities})
    until = time.monotonic() + 5
    while cluster.port.quotas.describe().num_rows < len(client_ids) and time.monotonic() < until:
        time.sleep(0.01)


def wait_for_a_mute(producer: Busy, since: float, seconds: float) -> float:
    until = time.monotonic() + seconds
    while not producer.since(since) and time.monotonic() < until:
        time.sleep(0.05)
    return max(producer.since(since))


WINDOWS = [
    pytest.param(3, 5.0, id="a window of 3 s"),
    pytest.param(11, 15.0, id="the default window", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("windows", "bound"), WINDOWS)
def test_steps_keep_the_stall_within_the_bound(windows, bound):
    """I lowered the limit from 1 MB/s to 100 kB/s, and the load stood still for two minutes.

    The default window, a minute and a half of waiting for the same, is among the long tests.
    """
    with kn.local.start(extra={"quota.window.num": str(windows)}) as kafka, kafka.connect() as cluster:
        cluster.port.create_topics({"busy": 1})
        loosen(cluster, "one-step", "in-steps", "moved")
        with busy(kafka.bootstrap, "one-step", "in-steps", "moved", "unlimited") as producers:
            time.sleep(windows + 2)
            quotas = cluster.quotas.describe().to_arrow()
            _one_step_stalls_as_foretold(cluster, quotas, producers, windows)
            _the_steps_keep_the_bound(cluster, quotas, producers["in-steps"], windows, bound)
            _one_that_moves_is_not_stalled(producers["moved"], bound)


def _one_step_stalls_as_foretold(cluster, quotas, producers, windows) -> None:
    whom = {
        "one-step": {"client_id": "one-step"},
        "unlimited": {"client_id": "unlimited"},
        "moved": {"user": "ANONYMOUS", "client_id": "moved"},
    }
    for client_id, entity in whom.items():
        plan = lowering(cluster, **entity)
        producer = producers[client_id]
        foretold = _foretold(plan, quotas, used(client_id), windows)
        of_its_rate = _foretold(plan, quotas, used(client_id, producer.rate(windows)), windows)
        at = time.monotonic()
        send(cluster, plan.changes)
        if client_id == "moved":
            assert foretold == 0
            continue
        assert foretold == pytest.approx(9 * windows)
        assert of_its_rate > 0.3 * foretold  # a machine that lets nobody send shows nothing
        assert wait_for_a_mute(producer, at, 30) > 0.8 * of_its_rate
        producer.done.set()


def _foretold(plan: kn.Plan, quotas: pa.Table, usage: pa.Table, windows: int) -> float:
    (stall,) = stalls(plan.changes, quotas, usage, windows=windows)["stall_s"].to_pylist()
    return stall


def _the_steps_keep_the_bound(cluster, quotas, producer, windows, bound) -> None:
    plan, start = lowering(cluster, client_id="in-steps"), time.monotonic()
    seen, safe = used("in-steps"), sending.waves(plan.changes)
    waves = schedule(safe, quotas, seen, bound, windows=windows, request=BATCH)
    assert len(waves) >= 3
    for wave in waves:
        at = time.monotonic()
        send(cluster, wave.changes)
        time.sleep(wave.pause)
    wait_for_a_mute(producer, at, 2 * bound)
    assert max(producer.since(start)) < bound


def _one_that_moves_is_not_stalled(producer, bound) -> None:
    """It left its past in another bucket: it is slowed down, request by request."""
    assert producer.throttled
    assert max(seconds for _, seconds in producer.throttled) < bound / 2
