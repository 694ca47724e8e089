"""The keys of one entity go out in one request, which Kafka carries out as a whole or not at all (KIP-546)."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from tests.double import FakeKafka
from tests.double.faults import Answered
from tests.plans.plan_rows import rows
from tests.plans.scenes import hold
from tests.plans.simulation import Pages, plan_of

PRODUCER, CONSUMER = "producer_byte_rate", "consumer_byte_rate"
PERCENT, MUTATIONS = "request_percentage", "controller_mutation_rate"


@pytest.mark.broker
def test_a_raise_an_addition_a_removal_and_a_lower_of_one_user_are_one_request(cluster, unique, tells):
    """My user's four quotas went out in four requests, and after a crash it had half of them."""
    user, before = unique("user"), cluster.new_stage()
    for key, value in {PRODUCER: 1000, PERCENT: 50, MUTATIONS: 20}.items():
        before.set_quota(key, value, user=user)
    before.plan().apply().raise_for_errors()
    tells.clear()
    stage = cluster.new_stage()
    stage.set_quota(PRODUCER, 2000, user=user)
    stage.set_quota(CONSUMER, 3000, user=user)
    stage.remove_quota(PERCENT, user=user)
    stage.set_quota(MUTATIONS, 10, user=user)
    plan = stage.plan()
    assert rows(plan.apply(), "state") == [("verified",)] * 4
    assert tells == ["altering quotas"]


@pytest.mark.broker
def test_entities_that_the_order_divides_go_in_two_requests(cluster, unique, tells):
    """My user had neither its old nor its new limit for a moment."""
    user, before, stage = unique("user"), cluster.new_stage(), cluster.new_stage()
    for client_id in ({}, {"client_id": "app"}):
        before.set_quota(PRODUCER, 1000, user=user, **client_id)
        before.set_quota(CONSUMER, 1000, user=user, **client_id)
    before.plan().apply().raise_for_errors()
    tells.clear()
    stage.set_quota(PRODUCER, 2000, user=user)
    stage.set_quota(CONSUMER, 500, user=user)
    stage.set_quota(PRODUCER, 500, user=user, client_id="app")
    stage.set_quota(CONSUMER, 2000, user=user, client_id="app")
    plan = stage.plan()
    assert rows(plan.apply(), "state") == [("verified",)] * 4
    assert tells == ["altering quotas"] * 2


def test_the_rows_of_an_entity_wait_together():
    """One key of everyone's quota was held back, and the other was sent without it."""
    kafka = FakeKafka()
    hold(kafka, {("user=alice", PRODUCER): 5.0, ("user=<default>", PRODUCER): 5.0}, {})
    kafka.cluster.settle()

    def stage(wishes):
        wishes.set_quota(PRODUCER, 9, user="alice")
        wishes.set_quota(PRODUCER, 2, user=kn.DEFAULT)
        wishes.set_quota(PERCENT, 50, user=kn.DEFAULT)

    plan = plan_of(kafka, stage)
    kafka.faults = {call: Answered("POLICY_VIOLATION") for call in range(1, 100)}
    done = executor.apply(kafka, plan, Pages().opened(), ApplyOptions(verify_timeout=1.0))
    assert [outcome.error for outcome in done.outcomes] == ["POLICY_VIOLATION", "HELD_BACK", "HELD_BACK"]
    assert [len(call.parts) for call in kafka.alters] == [1]
