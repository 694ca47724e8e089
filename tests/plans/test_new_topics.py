"""A topic that was deleted and created again is another one, although it has the same name."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

import kadmin_nb as kn
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import Plan, live_of
from kadmin_nb.plans.plan_file import PlanHead
from tests.client_configs.written_entries import delete_topic
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.plans.scenes import hold
from tests.plans.simulation import Pages, plan_of, undoing

ANEW = "was deleted and created again since the plan was made"


@pytest.fixture
def double() -> FakeKafka:
    fake = FakeKafka()
    hold(fake, {}, {("topic=orders", "max.message.bytes"): "7", ("topic=audit", "max.message.bytes"): "7"})
    fake.cluster.settle()
    return fake


def planned(double: FakeKafka) -> Plan:
    """Two keys of two topics, and one of a broker."""

    def stage(changes) -> None:
        changes.set_config("retention.ms", "2000", topic="orders")
        changes.set_config("retention.bytes", "3000", topic="orders")
        changes.set_config("retention.ms", "2000", topic="audit")
        changes.set_config("log.retention.ms", "5000", broker=1)

    return plan_of(double, stage)


def applied(double: FakeKafka, plan: Plan, pages: Pages, **options) -> list[tuple[str, str | None]]:
    done = executor.apply(double, plan, pages.opened(), ApplyOptions(**options))
    return [(outcome.state, outcome.message) for outcome in done.outcomes]


def test_a_plan_for_a_topic_that_was_created_again_is_refused(double):
    """The reviewed retention went on a new topic of that name, whose owner had never heard of it."""
    plan, pages = planned(double), Pages()
    double.recreate_topic("orders")
    double.cluster.settle()
    with pytest.raises(kn.Conflict) as refused:
        applied(double, plan, pages)
    assert str(refused.value) == f"topic=orders {ANEW}: plan again"
    assert [row["row"] for row in refused.value.rows.to_arrow().to_pylist()] == [1, 2]
    assert double.alters == []
    skipped = ("skipped", ANEW)
    assert applied(double, plan, pages, skip_conflicts=True) == [
        skipped,
        skipped,
        ("verified", None),
        ("verified", None),
    ]


def test_a_plan_that_was_begun_is_not_carried_on_on_the_new_topic(double):
    """I resumed the plan of yesterday, and it began anew on a topic of today."""
    plan, pages = planned(double), Pages()
    assert applied(double, plan, pages) == [("verified", None)] * 4
    double.recreate_topic("orders")
    double.recreate_topic("audit")
    double.cluster.settle()
    with pytest.raises(kn.Conflict, match=f"^topic=orders and 1 more {ANEW}: plan again$"):
        applied(double, plan, pages)
    back = undoing(double, plan, pages)
    assert [str(change.resource) for change in back.changes] == ["broker=1"]  # of the topic nothing is left


@pytest.mark.parametrize("is_seen", [False, True], ids=["not seen when planned", "not seen when applied"])
def test_an_id_that_may_not_be_seen_refuses_nothing(double, is_seen, monkeypatch):
    """We may alter configs and not describe topics: no plan could be applied any more."""
    blind = lambda names: {}  # noqa: E731
    if not is_seen:
        monkeypatch.setattr(double, "topic_ids", blind)
    plan = planned(double)
    assert [change.topic_id is not None for change in plan.changes] == [is_seen, is_seen, is_seen, False]
    monkeypatch.setattr(double, "topic_ids", blind)
    assert applied(double, plan, Pages()) == [("verified", None)] * 4


def test_the_ids_cost_one_request(double):
    """A plan of 2,000 topics took 2,000 round trips more."""
    plan = planned(double)
    assert [call.verb for call in double.calls].count("describe topics") == 1
    double.calls.clear()
    applied(double, plan, Pages())
    assert [call.verb for call in double.calls].count("describe topics") == 2  # before the lease, and under it
    double.calls.clear()
    applied(
        double,
        Plan(PlanHead(double.id, plan.head.created), tuple(c.with_(topic_id=None) for c in plan.changes)),
        Pages(),
    )
    assert [call.verb for call in double.calls].count("describe topics") == 0


@pytest.mark.broker
def test_a_topic_that_is_created_again_between_plan_and_apply(cluster, kafka, topic, make_topic, tells):
    """On a real broker too: the plan was applied without a word."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", 600_000, topic=topic)
    plan = stage.plan("a test")
    topic_id = plan.changes[0].topic_id
    assert cluster.port.topic_ids([topic]) == {topic: topic_id}
    delete_topic(AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0}), topic)
    make_topic(kafka, topic)
    with pytest.raises(kn.Conflict) as refused:
        plan.apply(allow=f"retention.ms topic={topic}")
    assert str(refused.value) == f"topic={topic} {ANEW}: plan again"
    assert tells == []
    again = live_of(plan).plan_again(plan, None)
    assert again.changes[0].topic_id not in (None, topic_id)
    assert rows(again.apply(allow=f"retention.ms topic={topic}"), "state") == [("verified",)]
