"""A limit that would stop a client which is known to be busy is a danger, with its arithmetic."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.plans.stalls import stop_dangers as dangers
from tests.plans.test_stalls import MB, change, stored, usage

BEFORE = stored({"user=alice": 5 * MB})


def told(after: float | None, *rows: tuple[object, ...]) -> list[tuple[int, str, str]]:
    lowered = change(1, "user=alice", 5 * MB, after)
    return [(d.row, d.code, d.message) for d in dangers([lowered], BEFORE, usage(*rows))]


def test_a_limit_that_would_stop_its_client_is_dangerous():
    """5 MB/s became 50 kB/s, and the billing producer stood still for eighteen minutes."""
    assert told(MB / 20, ("alice", "app", 5 * MB)) == [
        (1, "stop", "user=alice client-id=app on broker 1 gets no answer for 18.1 min, (5 MB/s / 50 kB/s - 1) x 11 s")
    ]


def test_the_worst_client_is_named_and_the_others_are_counted():
    """Forty lines for one row."""
    ((_, _, message),) = told(MB / 20, ("alice", "app", 3 * MB), ("alice", "etl", 2 * MB))
    assert message.endswith("(5 MB/s / 50 kB/s - 1) x 11 s; and 1 more")


@pytest.mark.parametrize("after", [None, 6 * MB, 4 * MB, MB / 2], ids=["removed", "raised", "lowered", "two minutes"])
def test_a_limit_that_its_clients_can_live_with_is_not(after):
    """Every lower limit wanted a second word."""
    assert told(after, ("alice", "app", 5 * MB)) == []


def test_usage_of_others_and_none_at_all_change_nothing():
    """bob's load stopped alice's plan."""
    assert told(MB / 20, ("bob", "app", 5 * MB)) == []
    assert told(MB / 20) == []


@pytest.fixture
def lowered(cluster: kn.Cluster, unique) -> tuple[str, kn.Plan]:
    """A user with 5 MB/s, and a plan that lowers it to a fiftieth; no unit looks forgotten."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5 * MB, user=(user := unique("user")))
    cluster.apply(stage.plan()).raise_for_errors()
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", MB / 10, user=user)
    return user, stage.plan(reason="they know")


@pytest.mark.broker
def test_with_a_usage_it_has_to_be_allowed(cluster: kn.Cluster, lowered):
    """The usage lay beside the plan, and apply did not look at it."""
    user, plan = lowered
    measured = usage((user, "app", 5 * MB))
    with pytest.raises(kn.errors.Dangerous, match=r"gets no answer for 8.98 min"):
        cluster.apply(plan, usage=measured)
    assert len(plan.dangers()) == 0
    cluster.apply(plan, usage=measured, allow=f"producer_byte_rate user={user}").raise_for_errors()


@pytest.mark.broker
def test_without_a_usage_nothing_changes(cluster: kn.Cluster, lowered):
    """A plan was refused for what nobody had measured."""
    cluster.apply(lowered[1]).raise_for_errors()


@pytest.mark.broker
def test_an_impact_shows_the_danger_below_its_plan(cluster: kn.Cluster, lowered):
    """It foretold the stall in row 30, and the plan above it had no danger."""
    user, plan = lowered
    answer = cluster.plans.bind(plan).impact(usage((user, "app", 5 * MB)))
    assert "1 of 1 clients that the plan touches would be throttled" in repr(answer)
    judged = plan._with_impact(answer)
    assert judged.dangers().to_arrow()["danger"].to_pylist() == ["stop"]
    assert f"user={user} client-id=app on broker 1 gets no answer for 8.98 min" in repr(judged)
    assert judged.id == plan.id
    with pytest.raises(kn.errors.Dangerous, match="gets no answer"):
        cluster.apply(judged)
