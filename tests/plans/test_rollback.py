"""Rollback is an ordinary plan of what brokers hold of another; what cannot be restored is counted."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace

import pytest

import kadmin_nb as kn
from kadmin_nb.hints import terminal
from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor, rollback, verification
from kadmin_nb.plans.execution.rollback import Remains
from kadmin_nb.plans.execution.verification import BrokerAgreement
from kadmin_nb.plans.journal.replay import JournalState
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.secrets import Secret
from tests.dangerous_plans import applied
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.plans.scenes import hold
from tests.plans.simulation import Pages, state_of, undoing
from tests.plans.simulation import plan_of as simulated_plan
from tests.widgets.reviewing import Bench

USER = Entity.of({"user": "alice"})


def plan_of(*changes: Change) -> Plan:
    return Plan(
        PlanHead("cluster", "2026-01-01T00:00:00+00:00"), tuple(c.with_(row=n) for n, c in enumerate(changes, 1))
    )


def test_rows_are_taken_back_last_first():
    """The rollback set the limit of the client before it had removed that of its user."""
    plan = plan_of(
        Change(0, "set", USER, "producer_byte_rate", "1", "2", "2"),
        Change(0, "set", USER, "consumer_byte_rate", None, "3", "3"),
        Change(0, "delete", USER, "request_percentage", "50", None, None),
        Change(0, "append", Resource("TOPIC", "t"), "cleanup.policy", None, "compact", "delete,compact"),
    )
    back = rollback.changes(Remains(plan, 1, {}, to_undo=list(plan.changes)))
    assert [(c.row, c.op, c.key, c.old, c.after) for c in back] == [
        (1, "delete", "cleanup.policy", "delete,compact", None),
        (2, "set", "request_percentage", None, "50"),
        (3, "delete", "consumer_byte_rate", "3", None),
        (4, "set", "producer_byte_rate", "2", "1"),
    ]


def test_what_cannot_be_restored_is_counted():
    """The old password was gone, and the rollback said that all was as before."""
    secret = Change(0, "set", Resource("BROKER", "1"), "ssl.key.password", None, "env:X", "env:X", old_known=False)
    level = Change(0, "set", Resource("BROKER_LOGGER", "1"), "kafka", None, "DEBUG", "DEBUG")
    plan = plan_of(secret, level)
    found = Remains(plan, 1, {}, to_undo=[plan.changes[1]], hidden=[plan.changes[0]])
    [back] = rollback.changes(found)
    assert back.key == "kafka"
    assert found.left_alone == ["1 left as is: the old value is sensitive and was never seen"]
    with pytest.raises(kn.PlanRefused, match="nothing to roll back"):
        rollback.changes(Remains(plan, 1, {}, hidden=[plan.changes[0]]))


RATE = "producer_byte_rate"


def users(*numbers: int) -> list[Entity]:
    return [Entity.of({"user": f"user{number}"}) for number in numbers]


class Story:
    """Six limits become 50, two in a request, on a double of three brokers; what is set on it, and by whom."""

    def __init__(self, **options) -> None:
        self.kafka, self.pages = FakeKafka(**options), Pages()
        hold(self.kafka, {(f"user=user{number}", RATE): 5.0 for number in range(1, 7)}, {})
        self.kafka.cluster.pass_(10.0)
        self.plan = simulated_plan(
            self.kafka, lambda stage: [stage.set_quota(RATE, 50, user=f"user{number}") for number in range(1, 7)]
        )

    def apply(self, *, stop_at: int = 9, verify_timeout: float = 15.0) -> list[str]:
        """The states of the rows; stopped when so many alters were sent."""
        before = len(self.kafka.alters)
        hooks = executor.Hooks(stopped=lambda: len(self.kafka.alters) - before >= stop_at)
        options = ApplyOptions(verify_timeout=verify_timeout)
        done = executor.apply(self.kafka, self.plan, self.pages.opened(), options, hooks, largest_batch=2)
        return [outcome.state for outcome in done.outcomes]

    def edit(self, number: int, value: float | None) -> None:
        """Somebody else sets one."""
        self.kafka.cluster.write((users(number)[0], RATE), value)
        self.kafka.cluster.settle()

    def back(self) -> kn.Plan:
        return undoing(self.kafka, self.plan, self.pages)

    def limits(self) -> list[float | None]:
        self.kafka.cluster.settle()
        return [self.kafka.cluster.head.values.get(whom, {}).get(RATE) for whom in users(*range(1, 7))]


def test_what_was_sent_is_undone_whatever_the_journal_calls_it():
    """5,000 rows were *unverified* when I stopped: the rollback said *verified*, and they were still set."""
    story = Story(lag=0.5)
    assert story.apply(stop_at=2) == ["unverified"] * 4 + ["skipped"] * 2
    back = story.back()
    assert [str(change.resource) for change in back.changes] == [f"user=user{number}" for number in (4, 3, 2, 1)]
    executor.apply(story.kafka, back, Pages().opened())
    assert story.limits() == [5.0] * 6


@pytest.mark.parametrize("frozen", [1, 2, 3])
def test_a_broker_that_has_not_heard_of_the_plan_does_not_call_it_undone(frozen):
    """The rollback asked the one broker that was behind: *unchanged*, and when it caught up the limits were there."""
    story = Story()
    story.kafka.cluster.freeze(frozen, 60.0)
    assert story.apply(verify_timeout=1.0) == ["unverified"] * 6
    back, pages = story.back(), Pages()
    for _ in range(3):  # each asks another broker first
        executor.apply(story.kafka, back, pages.opened(), ApplyOptions(verify_timeout=1.0))
    assert story.limits() == [5.0] * 6


def stage_every_kind(stage) -> None:
    stage.set_quota(RATE, 50, user="user1")
    stage.set_config("retention.ms", "2000", topic="t")
    stage.set_config("ssl.key.password", "env:NEW", broker=1)
    stage.set_config("ssl.keystore.password", "env:NEXT", broker=1)
    stage.set_client_config("heartbeat.interval.ms", "6000", user="user1")
    stage.set_scram("new", "SCRAM-SHA-256", password="env:NEW")
    stage.set_scram("old", "SCRAM-SHA-256", password="env:NEW", iterations=8192)


def test_all_kinds_are_undone_alike_and_what_was_hidden_is_counted():
    """Of the quotas nothing was left; the new login that nobody had seen on the third broker still worked."""
    kafka, pages = FakeKafka(), Pages()
    held = {("broker=1", "ssl.keystore.password"): "old", ("topic=t", "retention.ms"): "1000"}
    hold(kafka, {("user=user1", RATE): 5.0}, held)
    kafka.cluster.write((ScramUser("old"), "SCRAM-SHA-256"), 4096.0)
    kafka.cluster.pass_(10.0)
    before = copy.deepcopy(kafka.cluster.head.values)
    hooks = executor.Hooks(resolver=lambda reference: Secret("canary"))
    plan = simulated_plan(kafka, stage_every_kind, hooks.resolver)
    for node in (2, 3):
        kafka.cluster.freeze(node, 60.0)
    done = executor.apply(kafka, plan, pages.opened(), ApplyOptions(verify_timeout=1.0), hooks)
    assert Counter(outcome.state for outcome in done.outcomes)["unverified"] == 5  # broker 1 has its own alone
    back = undoing(kafka, plan, pages)
    lost = "2 left as is: the old value is sensitive and was never seen"
    assert back.reason == f"roll back {plan.id[:8]}; {lost}"
    executor.apply(kafka, back, Pages().opened(), ApplyOptions(verify_timeout=1.0), hooks)
    before[Resource("BROKER", "1")]["ssl.keystore.password"] = "canary"
    before[ScramUser("old")]["SCRAM-SHA-256"] = 8192.0
    assert kafka.cluster.head.values == before


def test_what_others_did_since_is_counted_and_never_listed():
    """950 kB of rows went into the reason, into the journal, and into every plan log from then on."""
    story = Story()
    assert story.apply(stop_at=2) == ["verified"] * 4 + ["skipped"] * 2
    story.edit(1, 7.0)
    story.edit(2, 5.0)
    story.edit(6, 50.0)
    found = rollback.remains(story.kafka, story.plan, state_of(story.pages))
    assert [str(change.resource) for change in rollback.changes(found)] == ["user=user4", "user=user3"]
    assert [(str(row.change.resource), str(row)) for row in found.changed] == [("user=user1", "50 B/s → 7 B/s")]
    assert [finding.message for finding in rollback.warnings(found)] == [
        "1 left as is: neither the plan's value nor the one from before",
        "1 left as is: the plan's value, but not sent by the plan",
    ]
    assert rollback.reason(found) == "; ".join([f"roll back {story.plan.id[:8]}", *found.left_alone])


def test_a_broker_that_cannot_be_asked_is_named():
    """It said that nothing was left, and one of three brokers had not been asked."""
    story = Story()
    story.apply()
    story.kafka.cluster.stop(3, 1000.0)
    found = rollback.remains(story.kafka, story.plan, state_of(story.pages))
    assert len(found.to_undo) == 6
    [line] = found.left_alone
    assert line.startswith("2 of 3 brokers were asked: broker 3 cannot be asked: ")


def test_a_rollback_that_is_stopped_is_rolled_back_itself():
    """I stopped the rollback, wanted the plan after all, and got half of it."""
    story, pages = Story(), Pages()
    story.apply()
    back = story.back()
    hooks = executor.Hooks(stopped=lambda: len(story.kafka.alters) >= 5)
    executor.apply(story.kafka, back, pages.opened(), hooks=hooks, largest_batch=2)
    assert story.limits() == [50.0, 50.0, 5.0, 5.0, 5.0, 5.0]
    again = undoing(story.kafka, back, pages)
    assert [str(change.resource) for change in again.changes] == [f"user=user{number}" for number in (3, 4, 5, 6)]
    executor.apply(story.kafka, again, Pages().opened())
    assert story.limits() == [50.0] * 6


def test_what_is_left_names_the_line_that_deals_with_it():
    """The rollback had ended well, four limits of the plan were still there, and nothing said so."""
    story = Story()
    story.apply()
    found = rollback.remains(story.kafka, story.plan, state_of(story.pages), patience=0.0)
    back = story.back()
    told = [rollback.left(found, back, is_whole=is_whole).hint.at(terminal) for is_whole in (True, False)]
    ours, undo = story.plan.id[:8], back.id[:8]
    assert told == [
        f"6 rows of plan {ours} are still on the cluster: kadmin-nb plan rollback {ours} undoes it.",
        f"6 rows of plan {ours} are still on the cluster: kadmin-nb plan apply {undo} undoes it.",
    ]


def test_a_rollback_that_leaves_something_does_not_end_well(unique):
    """Half of the rows had been taken out of the file of the rollback: *verified*, exit 0."""
    bench = Bench()
    for name in ("alice", "bob", "carol"):
        bench.stage.set_quota(RATE, "5MB/s", user=unique(name))
    plan = bench.stage.plan()
    plan.apply()
    back = bench.changes.rollback(plan)
    done = bench.changes.apply(replace(back, changes=back.changes[:1]))
    left = f"2 rows of plan {plan.id[:8]} are still on the cluster: kadmin-nb plan rollback {plan.id[:8]} undoes it."
    assert (rows(done, "state"), done.ok, done.left_lines(terminal)) == ([("verified",)], False, [left])
    with pytest.raises(kn.PartlyFailed, match="of the plan that it rolls back 2 rows are not seen to be undone"):
        done.raise_for_errors()
    rest = applied(bench.changes.rollback(plan))
    assert (len(rest), rest.ok, rest.left_lines(terminal)) == (2, True, [])
    assert bench.limits() == {}


@pytest.mark.broker
def test_plan_apply_rollback_is_as_before(cluster, unique, topic):
    """After the rollback two keys were not what they had been."""
    user, stage = unique("user"), cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=user)
    stage.plan().apply().raise_for_errors()
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 2000, user=user)
    stage.set_quota("consumer_byte_rate", 2000, user=user)
    stage.set_config("retention.ms", 5000, topic=topic)
    stage.append_config("cleanup.policy", "compact", topic=topic)
    outcomes = applied(stage.plan("a test")).raise_for_errors()
    plan = cluster.rollback(outcomes.plan_id)
    assert plan.head.undoes == outcomes.plan_id
    assert set(rows(applied(plan).raise_for_errors(), "state")) == {("verified",)}
    assert cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist() == [1000.0]
    own = cluster.configs.describe(topic=topic).to_arrow().to_pylist()
    assert [r["key"] for r in own if r["source"] == "DYNAMIC_TOPIC_CONFIG"] == []


@pytest.mark.broker
def test_a_row_that_was_already_so_is_not_ours_to_take_back(cluster, unique):
    """The rollback removed a quota that had been there before the plan."""
    there, fresh = unique("user"), unique("user")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=there)
    stage.plan().apply().raise_for_errors()
    stage.set_quota("producer_byte_rate", 1000, user=fresh)
    outcomes = stage.plan().apply().raise_for_errors()
    assert rows(outcomes, "state") == [("unchanged",), ("verified",)]
    plan = cluster.rollback(outcomes.plan_id)
    assert rows(plan, "resource") == [(f"user={fresh}",)]
    assert plan.reason == f"roll back {outcomes.plan_id[:8]}"


@pytest.fixture
def half_applied(cluster, unique, monkeypatch) -> Plan:
    """A plan of which one row was so before and another was sent and never seen."""
    stage, users = cluster.new_stage(), [unique("user") for _ in range(3)]
    stage.set_quota("producer_byte_rate", 1000, user=users[0])
    stage.plan().apply().raise_for_errors()
    for user in users[1:]:
        stage.set_quota("producer_byte_rate", 1000, user=user)
    plan, real = stage.plan(), verification.holds
    with monkeypatch.context() as lagging:
        lagging.setattr(verification, "holds", lambda now, change: change.row != 3 and real(now, change))
        outcomes = plan.apply(verify_timeout=3.0)
    assert rows(outcomes, "state") == [("unchanged",), ("verified",), ("unverified",)]
    return plan


@pytest.mark.broker
def test_what_a_later_verify_has_seen_is_taken_back_too(cluster, half_applied):
    """plan verify called all 100,000 rows verified, and the rollback left 25,000 of them as they were."""
    seen = cluster.verify(half_applied)
    assert rows(seen, "state") == [("verified",)] * 3
    assert [row["kind"] for row in cluster.plans.log(half_applied).to_arrow().to_pylist()][-2:] == ["end", "seen"]
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
    done = ApplyResult([verification.checked(secret, seen)])
    assert executor.newly_seen(JournalState(unsettled={1}, in_doubt={1}), done) == set()
    assert executor.newly_seen(JournalState(unsettled={1}), done) == {1}
    assert executor.newly_seen(JournalState(), done) == set()
