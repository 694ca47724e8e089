"""Rollback is an ordinary plan of what was verified as done by us; what cannot be restored is listed."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changes import journals
from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.execution import executor, rollback, row_states, verification
from kadmin_nb.plans.execution.executor import ApplyResult
from kadmin_nb.plans.execution.verification import BrokerAgreement
from kadmin_nb.plans.journal.replay import JournalState
from kadmin_nb.plans.plan import Plan
from tests.dangerous_plans import applied
from tests.plans.plan_rows import rows

USER = Entity.of({"user": "alice"})


def plan_of(*changes: Change) -> Plan:
    return Plan("cluster", "2026-01-01T00:00:00+00:00", tuple(c.with_(row=n) for n, c in enumerate(changes, 1)))


def test_rows_are_taken_back_last_first_and_only_those_that_were_done():
    """A row that had failed was "restored" to a value that it had never left."""
    plan = plan_of(
        Change(0, "set", USER, "producer_byte_rate", "1", "2", "2"),
        Change(0, "set", USER, "consumer_byte_rate", None, "3", "3"),
        Change(0, "delete", USER, "request_percentage", "50", None, None),
        Change(0, "append", Resource("TOPIC", "t"), "cleanup.policy", None, "compact", "delete,compact"),
    )
    back = rollback.changes(plan, {1, 2, 3, 4})
    assert [(c.row, c.op, c.key, c.old, c.after) for c in back] == [
        (1, "delete", "cleanup.policy", "delete,compact", None),
        (2, "set", "request_percentage", None, "50"),
        (3, "delete", "consumer_byte_rate", "3", None),
        (4, "set", "producer_byte_rate", "2", "1"),
    ]
    assert [c.key for c in rollback.changes(plan, {2})] == ["consumer_byte_rate"]
    assert len(rollback.left_out(plan, {2})) == 3


def test_what_cannot_be_restored_is_listed():
    """The old password was gone, and the rollback said that all was as before."""
    secret = Change(0, "set", Resource("BROKER", "1"), "ssl.key.password", None, "env:X", "env:X", old_known=False)
    level = Change(0, "set", Resource("BROKER_LOGGER", "1"), "kafka", None, "DEBUG", "DEBUG")
    plan = plan_of(secret, level)
    [back] = rollback.changes(plan, {1, 2})
    assert (back.key, "restart" in back.note) == ("kafka", True)
    assert rollback.left_out(plan, {1, 2}) == [
        "row 1, broker=1 ssl.key.password: its old value is sensitive and was never seen"
    ]
    with pytest.raises(kn.PlanRefused, match="nothing to roll back"):
        rollback.changes(plan, {1})


@pytest.mark.broker
def test_plan_apply_rollback_is_as_before(cluster, unique, topic):
    """After the rollback two keys were not what they had been."""
    user, stage = unique("user"), cluster.stage()
    stage.set_quota("producer_byte_rate", 1000, user=user)
    stage.plan().apply().raise_for_errors()
    stage = cluster.stage()
    stage.set_quota("producer_byte_rate", 2000, user=user)
    stage.set_quota("consumer_byte_rate", 2000, user=user)
    stage.set_config("retention.ms", 5000, topic=topic)
    stage.append_config("cleanup.policy", "compact", topic=topic)
    outcomes = applied(stage.plan("a test")).raise_for_errors()
    plan = outcomes.rollback()
    assert plan.undoes == outcomes.plan_id
    assert set(rows(applied(plan).raise_for_errors(), "state")) == {("verified",)}
    assert cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist() == [1000.0]
    own = cluster.configs.describe(topic=topic).to_arrow().to_pylist()
    assert [r["key"] for r in own if r["source"] == "DYNAMIC_TOPIC_CONFIG"] == []


@pytest.mark.broker
def test_a_row_that_was_already_so_is_not_ours_to_take_back(cluster, unique):
    """The rollback removed a quota that had been there before the plan."""
    there, fresh = unique("user"), unique("user")
    stage = cluster.stage()
    stage.set_quota("producer_byte_rate", 1000, user=there)
    stage.plan().apply().raise_for_errors()
    stage.set_quota("producer_byte_rate", 1000, user=fresh)
    outcomes = stage.plan().apply().raise_for_errors()
    assert rows(outcomes, "state") == [("unchanged",), ("verified",)]
    plan = outcomes.rollback()
    assert rows(plan, "resource") == [(f"user={fresh}",)]
    assert "row 1" in (plan.reason or "")


@pytest.fixture
def half_applied(cluster, unique, monkeypatch) -> Plan:
    """A plan of which one row was so before and another was sent and never seen."""
    stage, users = cluster.stage(), [unique("user") for _ in range(3)]
    stage.set_quota("producer_byte_rate", 1000, user=users[0])
    stage.plan().apply().raise_for_errors()
    for user in users[1:]:
        stage.set_quota("producer_byte_rate", 1000, user=user)
    plan, real = stage.plan(), verification.holds
    with monkeypatch.context() as lagging:
        lagging.setattr(verification, "holds", lambda now, change: change.row != 3 and real(now, change))
        outcomes = plan.apply(verify_timeout=0.0)
    assert rows(outcomes, "state") == [("unchanged",), ("verified",), ("unverified",)]
    return plan


@pytest.mark.broker
def test_what_a_later_verify_has_seen_is_taken_back_too(cluster, half_applied):
    """plan verify called all 100,000 rows verified, and the rollback left 25,000 of them as they were."""
    assert len(cluster.rollback(half_applied)) == 1
    seen = cluster.verify(half_applied)
    assert rows(seen, "state") == [("verified",)] * 3
    assert [row["kind"] for row in cluster.log(half_applied).to_arrow().to_pylist()][-2:] == ["end", "seen"]
    assert (seen.journal, seen.chain_head) == (
        str(journals().of(half_applied).place),
        journals().of(half_applied).chain.head,
    )
    assert cluster.verify(half_applied).journal is None  # nothing new
    state = journals().of(half_applied).state
    assert (state.verified, state.unsettled, state.in_doubt) == ({2, 3}, set(), set())
    plan = cluster.rollback(half_applied)
    assert rows(plan, "resource") == [(str(c.resource),) for c in half_applied.changes[:0:-1]]
    assert set(rows(plan.apply(allow=[]).raise_for_errors(), "state")) == {("verified",)}


@pytest.mark.broker
def test_a_verify_beside_a_run_of_the_plan_says_that_it_is_not_written_down(cluster, half_applied):
    """It could not look while somebody resumed, and said nothing but that it was locked."""
    with journals().open(half_applied):
        seen = cluster.verify(half_applied)
    assert rows(seen, "state") == [("verified",)] * 3
    assert "not written to the journal, so no rollback relies on it: another process" in seen._title()


def test_a_secret_in_doubt_is_not_taken_for_ours_because_one_is_set():
    """The answer was lost, an old password stood there, and resume no longer sent the new one."""
    secret = Change(1, "set", Resource("BROKER", "1"), "ssl.key.password", None, "env:X", "env:X", is_secret=True)
    seen = BrokerAgreement(frozenset([1]), frozenset([1]))
    done = ApplyResult([row_states.checked(secret, seen)])
    assert executor.newly_seen(JournalState(unsettled={1}, in_doubt={1}), done) == set()
    assert executor.newly_seen(JournalState(unsettled={1}), done) == {1}
    assert executor.newly_seen(JournalState(), done) == set()
