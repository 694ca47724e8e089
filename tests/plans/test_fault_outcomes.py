"""What the table says of a fault, row by row, on a cluster of three with the real times."""

from __future__ import annotations

import pytest

from kadmin_nb.model.changes import Outcome
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import Plan
from tests.double import FakeKafka
from tests.double.faults import (
    Answered,
    AnswerLost,
    Cut,
    Dropped,
    ErrorBesideChange,
    Fault,
    HollowSuccess,
    Late,
    LeftOut,
    NotSent,
    Revoked,
    SomeRefused,
    Stale,
)
from tests.plans.scenes import RATE, hold
from tests.plans.simulation import Pages, plan_of

USERS = ("a", "b", "c", "d")


class Told:
    """Four rates are raised from 5 to 50, two in a request, and a fault strikes at the n-th alter."""

    def __init__(self, fault: Fault | None = None, alter: int = 1) -> None:
        self.kafka = FakeKafka(timeout=90.0)
        hold(self.kafka, {(f"user={user}", RATE): 5.0 for user in USERS}, {})
        self.kafka.cluster.settle()
        self.plan: Plan = plan_of(self.kafka, lambda stage: [stage.set_quota(RATE, 50, user=user) for user in USERS])
        self.pages, self.asked = Pages(), 0
        if fault:
            self.kafka.carried.append(lambda call: self._schedule(call, fault, alter))

    def _schedule(self, call, fault: Fault, alter: int) -> None:
        self.asked += call.alters
        if call.alters and self.asked == alter:
            self.kafka.faults[call.number] = fault

    def apply(self, **options) -> list[tuple[object, ...]]:
        """State, error, message and how many brokers agree."""
        done = executor.apply(self.kafka, self.plan, self.pages.opened(), ApplyOptions(**options), largest_batch=2)
        return [_told(outcome) for outcome in done.outcomes]


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.state, outcome.error, outcome.message, outcome.brokers_agreeing


GOOD = ("verified", None, None, 3)
LOST = ("verified", None, "its answer was lost (REQUEST_TIMED_OUT), and it was made", 3)
NO_ONE = "not seen on every broker: " + "; ".join(f"broker {n} still shows the old value" for n in (1, 2, 3))
UNSETTLED = ("skipped", "UNSETTLED", "not sent, as the outcome of earlier rows is unknown", None)

LANDS = {
    "the answer is lost": (AnswerLost(), 90.0),
    "it lands when we have given up": (Late(170.0), 170.0),
    "the connection is cut behind it": (Cut(0.0), 0.0),
    "the connection is cut, and it lands late": (Cut(75.0), 75.0),
    "the broker says time-out, and it lands late": (Answered("REQUEST_TIMED_OUT", 80.0), 80.0),
}


@pytest.mark.parametrize(("fault", "seconds"), LANDS.values(), ids=LANDS)
def test_a_lost_answer_is_looked_for_until_it_lands(fault, seconds):
    """It had timed out, I was told that it failed, and a minute later it was there."""
    told = Told(fault)
    assert told.apply() == [LOST, LOST, GOOD, GOOD]
    assert seconds <= told.kafka.monotonic() < seconds + 5
    assert len(told.kafka.alters) == 2


NEVER = {
    "the request is lost": (Dropped(), 180.0),
    "the connection is cut before it": (Cut(), 90.0),
    "the broker says time-out": (Answered("REQUEST_TIMED_OUT"), 90.0),
}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "seconds"), NEVER.values(), ids=NEVER)
def test_what_never_lands_is_unknown_after_the_quiet_period(fault, seconds):
    """Nobody knew what had become of it, and the table said failed."""
    told = Told(fault)
    first, second, *rest = told.apply()
    assert (first[0], first[1], first[3]) == (second[0], second[1], second[3]) == ("unknown", "REQUEST_TIMED_OUT", 0)
    assert rest == [UNSETTLED, UNSETTLED]
    assert seconds <= told.kafka.monotonic() < seconds + 25
    assert len(told.kafka.alters) == 1
    assert told.apply() == [GOOD] * 4


def test_what_never_left_is_a_failure_and_stops_the_rest():
    """The broker refused the connection, and the job went on for an hour."""
    told = Told(NotSent())
    states = [row[0] for row in told.apply()]
    assert states == ["failed", "failed", "skipped", "skipped"]
    assert told.apply() == [GOOD] * 4


@pytest.mark.parametrize("code", ["NOT_CONTROLLER", "THROTTLING_QUOTA_EXCEEDED"])
def test_what_was_certainly_not_done_is_sent_once_more_and_named(code):
    """A throttled answer failed the whole plan."""
    told = Told(Answered(code))
    again = ("verified", None, f"sent again after {code}", 3)
    assert told.apply() == [again, again, GOOD, GOOD]
    assert len(told.kafka.alters) == 3


REFUSED = ("failed", "POLICY_VIOLATION", "not on a Friday", 0)


@pytest.mark.parametrize("refused", [0, 1])
def test_a_half_failed_batch_is_told_exactly(refused):
    """One of two was refused, and I was told that both were, or none."""
    told = Told(SomeRefused(refused))
    wanted = [GOOD, GOOD, GOOD, GOOD]
    wanted[refused] = REFUSED
    assert told.apply() == wanted


def test_an_error_beside_an_applied_change_is_noticed():
    """Kafka said that it ignored a duplicate entity, and had applied it."""
    told = Told(ErrorBesideChange(0))
    words = "the broker answered INVALID_REQUEST: Ignoring duplicate entity, and yet it was made"
    assert told.apply()[:2] == [("verified", "INVALID_REQUEST", words, 3), GOOD]


def test_a_success_over_a_change_that_was_not_made_is_noticed():
    """The broker said yes, and had not done it."""
    told = Told(HollowSuccess(0))
    assert told.apply()[:2] == [("unverified", None, NO_ONE, 0), GOOD]


def test_a_row_that_the_answer_left_out_is_looked_for():
    """The answer named one of two, and the other counted as done."""
    told = Told(LeftOut(0))
    first, second = told.apply()[:2]
    assert first == ("verified", None, "its answer was lost (UNKNOWN_SERVER_ERROR), and it was made", 3)
    assert second == GOOD


def test_a_broker_with_an_old_image_is_named():
    """Two brokers had it, the third went on with the old limits, and the table said verified."""
    told = Told(Stale(2))
    assert told.apply() == [("unverified", None, "not seen on every broker: broker 2 still shows the old value", 2)] * 4


def test_rights_that_are_taken_away_stop_the_plan_and_given_back_let_it_go_on():
    """My rights expired in the middle; nobody could say what was done, nor go on."""
    told = Told(Revoked(), alter=2)
    first, second, third, fourth = told.apply()
    assert [first, second] == [GOOD, GOOD]
    assert (third[0], third[1], fourth[0], fourth[1]) == ("failed", "CLUSTER_AUTHORIZATION_FAILED") * 2
    told.kafka.grant()
    sent = len(told.kafka.alters)
    assert told.apply() == [("unchanged", None, None, None)] * 2 + [GOOD, GOOD]
    assert [sorted(map(str, call.parts)) for call in told.kafka.alters[sent:]] == [["user=c", "user=d"]]


def test_a_second_apply_sends_nothing():
    """The job ran twice, and changed things twice."""
    told = Told()
    assert told.apply() == [GOOD] * 4
    sent = len(told.kafka.alters)
    assert told.apply() == [("unchanged", None, None, None)] * 4
    assert len(told.kafka.alters) == sent
