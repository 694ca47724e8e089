"""A plan whose requests or answers are lost, late or garbled ends `verified` or `unknown`, never wrong (R3, R5)."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.plans.outcomes import Outcomes
from tests.faults.proxy import (
    ALTER_CONFIGS,
    ALTER_QUOTAS,
    CUT_AFTER,
    CUT_BEFORE,
    DESCRIBE_QUOTAS,
    DROPPED,
    FOREIGN,
    HALF_THEN_CUT,
    HALF_THEN_SILENCE,
    TWICE,
    UNANSWERED,
    Fault,
    Proxy,
    garbled,
    of_length,
    replaced,
    shortened,
)
from tests.faults.sides import ALTER_TIMEOUT, SIDES, shows_up

pytestmark = pytest.mark.broker

QUIET = 5.0
"""Seconds that a lost alter is waited for here, instead of 90."""

PLANNED = {
    "quotas": lambda stage, name: stage.set_quota("producer_byte_rate", 5000, user=name),
    "configs": lambda stage, name: stage.set_config("interval.ms", 12345, client_metrics=name),
}
BOTH = pytest.mark.parametrize("kind", ["quotas", pytest.param("configs", marks=pytest.mark.long)])


def planned(cluster: kn.Cluster, kind: str, *names: str) -> kn.Plan:
    stage = cluster.new_stage()
    for name in names:
        PLANNED[kind](stage, name)
    return stage.plan()


def applied(cluster: kn.Cluster, plan: kn.Plan) -> Outcomes:
    return cluster.apply(plan, quiet_period=QUIET, lock=False)


def states(outcomes: Outcomes) -> list[str]:
    return outcomes.to_arrow()["state"].to_pylist()


MADE = {
    "held until after the time-out": Fault(hold=ALTER_TIMEOUT * 2),
    "done, the answer dropped": UNANSWERED,
    "done, the answer too late": Fault(late=ALTER_TIMEOUT * 2),
    "done and cut": CUT_AFTER,
    "doubled": TWICE,
    "half an answer": HALF_THEN_SILENCE,
    "half an answer, then cut": HALF_THEN_CUT,
    "a frame of half the answer": shortened(14),
    "an answer that says it is two gigabytes": of_length(2**31 - 1),
    "an answer to nobody": FOREIGN,
    "an answer of noise": replaced(bytes(range(200, 256))),
    "an answer without rows": replaced(b"\0\0\0\0\0\1\0"),
    **{f"garbled, seed {seed}": garbled(seed) for seed in range(6)},
}
"""The change is made, whatever the answer is."""

GARBLED = [f"garbled, seed {seed}" for seed in range(1, 6)]
"""Those of which one is enough for each day."""


@BOTH
@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, id=name, marks=pytest.mark.long if name in GARBLED else ()) for name, fault in MADE.items()],
)
def test_a_change_that_was_made_is_verified_and_not_sent_again(through, proxy, unique, kind, fault):
    """The answer was lost, the plan said failed, and the second run changed things again."""
    side, name = SIDES[kind], unique("made")
    plan = planned(through, kind, name)
    proxy.spoil(side.altering, fault)
    assert states(applied(through, plan)) == ["verified"]
    assert proxy.counts[side.altering] == 1
    assert side.holds(through.port, name)
    proxy.forget()
    assert states(applied(through, plan)) in (["verified"], ["unchanged"])
    assert {api: proxy.counts[api] for api in (side.altering, -side.altering)} == {side.altering: 0, -side.altering: 0}


@BOTH
@pytest.mark.parametrize(
    "fault",
    [pytest.param(DROPPED, id="dropped"), pytest.param(CUT_BEFORE, id="cut before it arrives", marks=pytest.mark.long)],
)
def test_a_change_that_was_not_made_is_unknown_and_then_made(through, proxy, unique, kind, fault):
    """Nobody had an answer, and the table said failed: it might have come a minute later."""
    side, name = SIDES[kind], unique("lost")
    plan = planned(through, kind, name)
    proxy.spoil(side.altering, fault)
    outcomes = applied(through, plan)
    assert (states(outcomes), outcomes.ok) == (["unknown"], False)
    with pytest.raises(kn.PartlyFailed, match="unknown"):
        outcomes.raise_for_errors()
    assert proxy.counts[side.altering] == 1
    assert not side.holds(through.port, name)
    assert states(through.apply(plan, quiet_period=QUIET, lock=False)) == ["verified"]
    assert proxy.counts[side.altering] == 2


@BOTH
def test_a_change_that_lands_after_everybody_gave_up_is_not_wrong(through, proxy, unique, kind):
    """It was called lost, came all the same, and the next run called it somebody else's."""
    side, name = SIDES[kind], unique("very-late")
    plan = planned(through, kind, name)
    proxy.spoil(side.altering, Fault(hold=ALTER_TIMEOUT + QUIET + 3.0))
    assert states(applied(through, plan)) in (["unknown"], ["verified"])
    assert shows_up(lambda: side.holds(through.port, name))
    assert states(applied(through, plan)) in (["verified"], ["unchanged"])
    assert proxy.counts[side.altering] == 1


@pytest.mark.long
def test_what_follows_a_lost_request_is_not_sent(through, proxy, unique):
    """The rest of the plan went out although nobody knew what had become of its beginning."""
    stage, name = through.new_stage(), unique("both")
    for stage_one in PLANNED.values():
        stage_one(stage, name)
    plan = stage.plan()
    proxy.spoil(ALTER_QUOTAS, DROPPED)
    assert sorted(states(applied(through, plan))) == ["skipped", "unknown"]
    assert (proxy.counts[ALTER_QUOTAS], proxy.counts[ALTER_CONFIGS]) == (1, 0)
    assert states(through.apply(plan, quiet_period=QUIET, lock=False)) == ["verified", "verified"]
    assert (proxy.counts[ALTER_QUOTAS], proxy.counts[ALTER_CONFIGS]) == (2, 1)


def test_the_second_of_two_requests_without_an_answer(through, proxy, unique):
    """A lowering was lost after its raising, and the whole plan was called done."""
    raised, lowered = unique("raised"), unique("lowered")
    stage = through.new_stage()
    for name in (raised, lowered):
        stage.set_quota("producer_byte_rate", 100_000, user=name)
    stage.plan().apply().raise_for_errors()
    stage.discard()
    stage.set_quota("producer_byte_rate", 200_000, user=raised)
    stage.set_quota("producer_byte_rate", 50_000, user=lowered)
    plan = stage.plan()
    proxy.forget()
    proxy.spoil(ALTER_QUOTAS, UNANSWERED, nth=2)
    assert states(applied(through, plan)) == ["verified", "verified"]
    assert proxy.counts[ALTER_QUOTAS] == 2
    values = through.quotas.describe(user=lowered, strict=True).to_arrow()["value"].to_pylist()
    assert values == [50_000.0]


@BOTH
def test_a_second_apply_sends_no_alter(through, proxy, unique, kind):
    """The job ran twice and the second run changed things again."""
    plan = planned(through, kind, *(unique("twice") for _ in range(3)))
    assert states(plan.apply()) == ["verified"] * 3
    proxy.forget()
    assert states(plan.apply()) == ["unchanged"] * 3
    assert not {ALTER_QUOTAS, -ALTER_QUOTAS, ALTER_CONFIGS, -ALTER_CONFIGS} & set(proxy.counts)


@pytest.mark.long
def test_three_brokers_say_so_after_a_lost_answer(unique):
    """The broker that lost the answer was asked, the two others were not."""
    proxy, name = Proxy(nodes=3), unique("three")
    try:
        with kn.local.start(nodes=3, proxied=proxy.ports) as kafka:
            proxy.lead_to(kafka)
            with kn.connect(proxy.bootstrap) as cluster:
                cluster.port.wire.alter_timeout = ALTER_TIMEOUT
                assert cluster.brokers.to_arrow()["port"].to_pylist() == proxy.ports
                plan = planned(cluster, "quotas", name)
                proxy.spoil(ALTER_QUOTAS, UNANSWERED)
                outcomes = applied(cluster, plan).to_arrow().to_pylist()
        assert [(r["state"], r["brokers_agreeing"], r["brokers"]) for r in outcomes] == [("verified", 3, 3)]
        assert proxy.counts[ALTER_QUOTAS] == 1
    finally:
        proxy.close()


@pytest.mark.parametrize("fault", [CUT_AFTER, HALF_THEN_CUT, replaced(b"\xff" * 90)], ids=["cut", "half", "noise"])
def test_a_broken_look_is_taken_again(through, proxy, unique, fault):
    """One lost answer while reading back, and a change that was there was called unverified."""
    name = unique("looked")
    plan = planned(through, "quotas", name)
    proxy.spoil(DESCRIBE_QUOTAS, fault, nth=2)
    assert states(applied(through, plan)) == ["verified"]
    assert proxy.counts[ALTER_QUOTAS] == 1


def test_a_plan_that_cannot_look_first_sends_nothing(through, proxy, unique):
    """The picture was unreadable, and the plan was carried out all the same."""
    plan = planned(through, "quotas", unique("blind"))
    proxy.spoil(DESCRIBE_QUOTAS, replaced(b"\xff" * 90))
    with pytest.raises(kn.errors.Unsupported, match="cannot be read"):
        applied(through, plan)
    assert proxy.counts[ALTER_QUOTAS] == 0
    assert states(applied(through, plan)) == ["verified"]
