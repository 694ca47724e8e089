"""A broker has the time that its answer takes, and that its rows take to arrive: being slow is no other value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kadmin_nb.errors import TimedOut
from kadmin_nb.model.changes import OK, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.plans.simulation import Pages
from tests.waiting import eventually

RATE, SECONDS_PER_QUOTA = "producer_byte_rate", 1e-4


def plan_of(kafka: FakeKafka, count: int) -> Plan:
    """A plan that has been applied, of so many users."""
    users = [Entity.parse(f"user=u{n}") for n in range(count)]
    for user in users:
        kafka.cluster.write((user, RATE), 5.0)
    kafka.cluster.settle()
    changes = (Change(n, "set", user, RATE, wanted="5", after="5", validated=OK) for n, user in enumerate(users, 1))
    return Plan(PlanHead(kafka.id, kafka.now().isoformat()), tuple(changes))


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


def busy(seconds_per_row: float, broker: int = 1) -> FakeKafka:
    """A cluster with a broker that takes so long for each row."""
    kafka = FakeKafka()
    kafka.cluster.nodes[broker].seconds_per_record = seconds_per_row
    return kafka


def quotas(kafka: FakeKafka, count: int, value: str = "5", old: str | None = None) -> Plan:
    """A plan of a quota of each of so many users."""
    users = [Entity.parse(f"user=u{n}") for n in range(count)]
    changes = (Change(n, "set", user, RATE, old, value, value, validated=OK) for n, user in enumerate(users, 1))
    return Plan(PlanHead(kafka.id, kafka.now().isoformat()), tuple(changes))


def applied(kafka: FakeKafka, plan: Plan, **hooks: object) -> ApplyResult:
    return executor.apply(kafka, plan, Pages().opened(), hooks=Hooks(**hooks))


def test_rows_that_go_on_arriving_are_waited_for():
    """2,400 of my 5,000 rows were verified and the rest not; half a minute later all of them were there."""
    kafka, told = busy(0.1), []
    done = applied(kafka, quotas(kafka, 500), progress=told.append)
    assert Counter(outcome.state for outcome in done.outcomes) == {"verified": 500}
    assert 50 < kafka.monotonic() < 55
    verified = [advance for advance in told if advance.what == "verified"]
    assert re.fullmatch(r"verified 2\d\d of 500", str(verified[60]))
    assert str(verified[-1]) == "verified 500 of 500"


def test_the_waiting_ends_when_no_further_row_comes():
    """A broker hung in the middle, and the plan waited for it for ever."""
    kafka, told = busy(0.1, broker=3), []
    kafka.cluster.later(20.0, lambda: kafka.cluster.freeze(3, 10_000.0))
    done = applied(kafka, quotas(kafka, 500), progress=told.append)
    states = Counter(outcome.state for outcome in done.outcomes)
    assert (states.total(), 190 < states["verified"] < 210, states["unverified"] > 290) == (500, True, True)
    assert 34 < kafka.monotonic() < 37
    assert {o.message for o in done.outcomes[300:]} == {"not seen on every broker: broker 3 still shows the old value"}
    assert str(told[-1]) == f"verified {states['verified']} of 500"


def test_stop_ends_the_waiting_with_what_is_known():
    """I clicked Stop while rows were arriving, and nothing happened until the last of them had."""
    kafka = busy(0.1)
    done = applied(kafka, quotas(kafka, 500), stopped=lambda: kafka.monotonic() > 10)
    states = Counter(outcome.state for outcome in done.outcomes)
    assert (states.total(), 90 < states["verified"] < 110, states["unverified"] > 390) == (500, True, True)
    assert kafka.monotonic() < 12


def test_a_look_without_a_wait_stays_one_look():
    """`plan verify` waited for rows although --wait was 0."""
    kafka = busy(0.1)
    plan = quotas(kafka, 50)
    applied(kafka, plan, stopped=lambda: kafka.monotonic() > 2)
    before = kafka.monotonic()
    executor.check(kafka, plan, 0.0)
    assert kafka.monotonic() - before < 0.1


def test_all_waiting_is_bounded_by_the_rows():
    """Each row came just before the time was up: it is waited for at most once for each row and broker."""
    kafka = busy(14.0)
    done = applied(kafka, quotas(kafka, 6))
    assert {outcome.state for outcome in done.outcomes} == {"verified"}
    assert kafka.monotonic() < 6 * 15


@pytest.mark.broker
def test_a_real_broker_that_is_behind_is_waited_for(kafka, cluster, unique):
    """The broker made the logs of new topics, and the configs of others came three seconds apart."""
    names = [unique(f"busy-{n}") for n in range(600)]
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    created = admin.create_topics([NewTopic(name, 1, 1) for name in names], request_timeout=120)
    eventually(lambda: [f.result() for f in created.values()] and cluster.configs.describe(topic=names).ok, True)
    stage, told = cluster.new_stage(), []
    for name in names:
        stage.set_config("max.message.bytes", "5000", topic=name)
    outcomes = stage.plan().apply(verify_timeout=20.0, progress=told.append)
    admin.delete_topics(names)
    assert {state for (state,) in rows(outcomes, "state")} == {"verified"}
    assert re.match(r"verified \d+ of 600", str(told[-1]))
