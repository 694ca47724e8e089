"""The replay of a demand beside Kafka's own Sensor, Rate, TokenBucket and throttle times, driven through py4j."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from py4j import java_gateway, protocol
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from kadmin_nb.jars import find_jars
from kadmin_nb.java import find_java
from kadmin_nb.resolution.sampling import PAST, replay

LIMIT = 1000.0
TICK_MS = 25
BEGIN_MS = 1_700_000_000_000


class Sensor:
    """Kafka's sensor of one bucket, with a limit; it says for how long it would throttle."""

    def __init__(self, jvm: Any, by_tokens: bool) -> None:
        metrics, quota = jvm.org.apache.kafka.common.metrics, jvm.org.apache.kafka.server.quota
        config = metrics.MetricConfig().samples(PAST + 1).timeWindow(1, jvm.java.util.concurrent.TimeUnit.SECONDS)
        registry, stat = metrics.Metrics(), metrics.stats.TokenBucket() if by_tokens else metrics.stats.Rate()
        self.sensor = registry.sensor("bucket")
        self.sensor.add(registry.metricName("used", "test", ""), stat, config.quota(metrics.Quota.upperBound(LIMIT)))
        tokens = quota.ControllerMutationQuotaManager
        self.throttle_time = (
            (lambda exc, at: tokens.throttleTimeMs(exc)) if by_tokens else quota.QuotaUtils.throttleTime
        )

    def throttle_ms(self, amount: float, at: int) -> int:
        try:
            self.sensor.record(amount, at, True)
        except Py4JJavaError as violated:
            return int(self.throttle_time(violated.java_exception, at))
        return 0


@pytest.fixture(scope="module")
def gateway() -> Iterator[JavaGateway]:
    options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={os.devnull}"]
    port, token = launch_gateway(
        classpath=find_jars().classpath,
        java_path=str(find_java().command),
        javaopts=options,
        die_on_exit=True,
        enable_auth=True,
    )
    running = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    with pytest.MonkeyPatch.context() as patch:  # where Spark is active, its own asks Spark's JVM about every exception
        patch.setattr(java_gateway, "get_return_value", protocol.get_return_value)
        yield running
    running.shutdown()


def throttles(sensor: Sensor, wanted: list[float], size: float) -> list[tuple[float, float]]:
    """When Kafka throttles a client that has all of this to send, in such requests, and sends whenever it may."""
    queue, free, at, found = 0.0, BEGIN_MS, BEGIN_MS, []
    while at < BEGIN_MS + len(wanted) * 1000 or queue >= size:
        second, at = (at - BEGIN_MS) // 1000, at + TICK_MS
        queue += wanted[second] * TICK_MS / 1000 if second < len(wanted) else 0.0
        while queue > size * 0.999 and at >= free:
            queue -= size
            if throttle := sensor.throttle_ms(size, at):
                free = at + throttle
                found.append(((at - BEGIN_MS) / 1000, (free - BEGIN_MS) / 1000))
    return found


DEMANDS = {
    "twice the limit for 30 s": [2.0] * 30,
    "a third more for 40 s": [1.33] * 40,
    "nine tenths": [0.9] * 30,
    "five times, once for 5 s": [0.0] * 3 + [5.0] * 5 + [0.0] * 5,
    "what ten seconds allow, at once": [9.9] + [0.0] * 9 + [0.2] * 5,
    "in waves": ([4.0] * 4 + [0.3] * 12) * 3,
    "a burst upon a busy minute": [0.9] * 15 + [6.0] * 2 + [0.9] * 30,
}


@pytest.mark.slow
@pytest.mark.parametrize("by_tokens", [False, True], ids=["sampled", "tokens"])
@pytest.mark.parametrize("wanted", DEMANDS.values(), ids=DEMANDS)
def test_kafka_mutes_as_the_replay_says(gateway, wanted, by_tokens):
    """The backtest said ten seconds, and the clients stood still for a minute."""
    amounts = [LIMIT * share for share in wanted]
    seen = throttles(Sensor(gateway.jvm, by_tokens), amounts, LIMIT / 20)
    found = replay(np.array(amounts)[:, None], np.array([LIMIT]), np.array([by_tokens]))
    total = sum(end - start for start, end in seen)
    assert found.throttled_for[0] == pytest.approx(total, abs=1.5, rel=0.05)
    assert bool(found.throttled[0]) == bool(seen)
    if seen:
        assert found.first[0] == pytest.approx(seen[0][0], abs=0.2)


def test_a_rate_is_divided_by_ten_seconds_and_the_current_one(gateway):
    """A client that had just begun was measured over the seconds it had been there."""
    sensor = Sensor(gateway.jvm, by_tokens=False)
    assert sensor.throttle_ms(PAST * LIMIT, BEGIN_MS) == 0
    assert sensor.throttle_ms(LIMIT / 2, BEGIN_MS + 500) == 0
    assert sensor.throttle_ms(LIMIT, BEGIN_MS + 600) == 900
    assert sensor.throttle_ms(0.0, BEGIN_MS + 1000) == 1500
    assert sensor.throttle_ms(0.0, BEGIN_MS + 11_500) == 0


def test_many_buckets_are_replayed_as_each_alone():
    """A bucket's answer depended on its neighbours."""
    demands = [np.array(wanted + [0.0] * (60 - len(wanted))) * LIMIT for wanted in DEMANDS.values()]
    limits, by_tokens = np.full(len(demands), LIMIT), np.arange(len(demands)) % 2 == 0
    together = replay(np.stack(demands, axis=1), limits, by_tokens)
    for n, wanted in enumerate(demands):
        alone = replay(wanted[:, None], limits[:1], by_tokens[n : n + 1])
        for name in ("active", "throttled", "throttled_for", "longest", "delay", "first"):
            np.testing.assert_allclose(getattr(together, name)[n], getattr(alone, name)[0])


@pytest.mark.parametrize("by_tokens", [False, True])
def test_what_takes_days_is_not_waited_for_second_by_second(by_tokens):
    """One client with a tiny limit, and the backtest never came back."""
    found = replay(np.array([[1e12]]), np.array([LIMIT]), np.array([by_tokens]))
    assert found.throttled_for[0] == pytest.approx(1e9, abs=15)
    assert found.longest[0] == pytest.approx(found.throttled_for[0])
