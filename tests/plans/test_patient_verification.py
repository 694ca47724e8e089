"""A broker has the time that its answer takes: many rows, and a slow machine, are not another value."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from kadmin_nb.errors import TimedOut
from kadmin_nb.model.changes import OK, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import Plan
from tests.double import FakeKafka

RATE, SECONDS_PER_QUOTA = "producer_byte_rate", 1e-4


def plan_of(kafka: FakeKafka, count: int) -> Plan:
    """A plan that has been applied, of so many users."""
    users = [Entity.parse(f"user=u{n}") for n in range(count)]
    for user in users:
        kafka.cluster.write((user, RATE), 5.0)
    kafka.cluster.settle()
    changes = (Change(n, "set", user, RATE, wanted="5", after="5", validated=OK) for n, user in enumerate(users, 1))
    return Plan(kafka.id, kafka.now().isoformat(), tuple(changes))


@pytest.fixture
def slow_kafka(monkeypatch) -> FakeKafka:
    """Brokers that take a tenth of a millisecond for each quota, as on a busy machine."""
    kafka = FakeKafka()
    real: Callable[..., pa.Table] = kafka.quotas.describe

    def describe(*words: object, timeout: float | None = None, **options: object) -> pa.Table:
        table = real(*words, timeout=timeout, **options)
        if timeout is not None and timeout < table.num_rows * SECONDS_PER_QUOTA:
            raise TimedOut(f"no answer within {timeout:.1f} s")
        return table

    monkeypatch.setattr(kafka.quotas, "describe", describe)
    return kafka


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 20_000])
def test_without_a_wait_a_broker_has_the_time_that_its_answer_takes(count, slow_kafka):
    """plan verify called all 50,000 rows unverified: each broker had a fifth of a second to answer."""
    plan = plan_of(slow_kafka, count)
    done = executor.check(slow_kafka, plan, verify_timeout=0.0)
    assert {(outcome.state, outcome.message) for outcome in done.outcomes} == {("verified", None)}
