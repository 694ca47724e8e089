"""Another editor has the lease: it is waited for, as long as was said, and only where something is to be sent."""

from __future__ import annotations

import pytest

from kadmin_nb.errors import Dangerous, ExitState, Interrupted, Locked
from kadmin_nb.model.changes import VERIFIED
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.journal import replay
from tests.double.faults import Edited
from tests.double.kafka import FakeKafka
from tests.double.leases import Record
from tests.plans.scenes import RATE, hold
from tests.plans.simulation import Pages, Scene


def staged(wishes) -> None:
    wishes.set_quota(RATE, 10, user="x")


SCENE = Scene("one row", lambda kafka: hold(kafka, {("user=x", RATE): 5.0}, {}), staged, batch=1)


def held_for(seconds: float) -> FakeKafka:
    """A cluster whose lease is alice's for so many seconds more."""
    kafka = SCENE.kafka()
    kafka.cluster.leases[""] = Record("alice@host", "plan-of-e", kafka.boottime() + seconds)
    return kafka


def apply(kafka: FakeKafka, hooks: Hooks = Hooks(), **options: object):
    return executor.apply(kafka, SCENE.plan, Pages().opened(), ApplyOptions(**options), hooks)


def states(done) -> list[str]:
    return [outcome.state for outcome in done.outcomes]


def verbs(kafka: FakeKafka) -> list[str]:
    return [call.verb for call in kafka.calls if "lease" in call.verb]


def test_two_jobs_of_one_night_both_end_well():
    """Two tasks of a flow changed one cluster, and one of them was refused: of six command lines one."""
    kafka = held_for(60.0)
    assert states(apply(kafka)) == [VERIFIED]
    assert 60.0 <= kafka.cluster.now < 150.0


def test_a_lease_that_does_not_end_is_waited_for_so_long_and_no_longer():
    """It waited for an editor that works all night, and the task's own time was over before it said why."""
    kafka = held_for(10_000.0)
    with pytest.raises(Locked) as refused:
        apply(kafka)
    assert str(refused.value) == "alice@host holds the lease for plan plan-of-; waited 150 s for it"
    assert (refused.value.code, refused.value.exit_state) == ("LOCKED", ExitState.TRY_AGAIN)
    assert (kafka.cluster.now, kafka.alters) == (pytest.approx(150.0, abs=2.0), [])


@pytest.mark.parametrize("seconds", [0.0, 7.0])
def test_the_time_that_was_asked_for_is_kept(seconds):
    """My script has other things to do, and could not say so."""
    kafka = held_for(10_000.0)
    before = kafka.cluster.now
    with pytest.raises(Locked):
        apply(kafka, wait_lease=seconds)
    assert kafka.cluster.now - before == pytest.approx(seconds, abs=2.0)


def test_while_it_waits_it_says_for_whom():
    """It stood there, and nobody knew why."""
    told: list[str] = []
    apply(held_for(2.0), Hooks(progress=lambda advance: told.append(str(advance))))
    assert told[0] == "waiting: alice@host holds the lease for plan plan-of-: sent 0 of 1, 150 s left"


def test_ctrl_c_ends_the_waiting():
    """Ctrl-C was heard when the two minutes were over."""
    kafka = held_for(10_000.0)
    with pytest.raises(Interrupted, match="was stopped while it waited, and nothing was sent: alice@host holds"):
        apply(kafka, Hooks(stopped=lambda: kafka.cluster.now > 5.0))
    assert kafka.cluster.now < 10.0
    assert kafka.alters == []


def test_what_changes_nothing_asks_for_no_lease():
    """The retry had nothing to do, and was refused by the lease of the run that had done it."""
    kafka = held_for(10_000.0)
    hold(kafka, {("user=x", RATE): 10.0}, {})
    kafka.cluster.settle()
    assert states(apply(kafka)) == ["unchanged"]
    assert verbs(kafka) == []


def test_what_is_dangerous_is_told_before_the_lease_is_asked_for():
    """It waited for two and a half minutes, and then said that I must name the key."""

    def shut(pending, before):
        raise Dangerous("a limit is lowered")

    kafka = held_for(10_000.0)
    with pytest.raises(Dangerous):
        apply(kafka, Hooks(gate=shut))
    assert verbs(kafka) == []


def test_after_a_wait_all_is_judged_by_what_is_there_then():
    """While I waited the other plan made mine dangerous, and the danger was that of two minutes ago."""
    judged: list[list[int]] = []

    def gate(pending, before):
        judged.append([change.row for change in pending])
        return {}

    apply(held_for(0.0), Hooks(gate=gate))
    assert judged == [[1]]
    judged.clear()
    apply(held_for(30.0), Hooks(gate=gate))
    assert judged == [[1], [1]]


def died_with_it(kafka: FakeKafka) -> FakeKafka:
    """The same, where the lease is taken over from a process that died with it."""
    real = kafka.lease

    def lease(*words, **options):
        ours = real(*words, **options)
        ours.left_by = "plan-of-the-dead"
        return ours

    kafka.lease = lease
    return kafka


def test_what_the_dead_has_sent_may_land_late_and_is_not_overtaken():
    """Its request was in the broker's queue; my change was verified, and a minute later its value was there."""
    kafka, sent_at = died_with_it(SCENE.kafka()), []
    kafka.before = lambda what: sent_at.append(kafka.cluster.now) if what.startswith("alter") else None
    assert states(apply(kafka, quiet_period=90.0)) == [VERIFIED]
    assert min(sent_at) >= 90.0


def test_the_dead_whose_journal_says_that_all_was_answered_is_not_waited_for():
    """It was killed while it verified, and its retry waited for a minute and a half for nothing."""
    kafka = died_with_it(SCENE.kafka())
    state = replay.replayed(())
    assert states(apply(kafka, Hooks(left=lambda plan_id: (SCENE.plan.changes, state)))) == [VERIFIED]
    assert kafka.cluster.now < 5.0


def test_what_changed_until_the_lease_was_ours_is_seen():
    """Another editor was done a moment before I had the lease, and I overwrote what it had set."""
    looks = []

    def edit(kafka: FakeKafka) -> None:
        looks.append(1)
        hold(kafka, {("user=x", RATE): 10.0}, {})
        kafka.cluster.settle()

    kafka = at_the_lease(held_for(0.0), edit)
    assert (states(apply(kafka)), looks, kafka.alters) == (["unchanged"], [1], [])


def at_the_lease(kafka: FakeKafka, edit) -> FakeKafka:
    """The same, where this happens right before the lease is ours."""
    quiet = SCENE.kafka()
    apply(quiet)
    number = next(call.number for call in quiet.calls if call.verb == "take the lease")
    kafka.faults[number] = Edited(lambda _: edit(kafka))
    return kafka
