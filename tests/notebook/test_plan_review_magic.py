"""`--review`: the plan as a widget, from a line; a shell without a browser prints it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import VERIFIED
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.plan_review import PlanReview
from tests.widgets.reviewing import states_of_rows, usable

pytestmark = pytest.mark.broker


@pytest.fixture
def who(name) -> str:
    return name("user")


@pytest.fixture
def stage(live, cluster) -> Iterator[Stage]:
    """The stage of the shell's cluster."""
    live["mine"] = cluster
    live("%kadmin use {mine}")
    yield cluster.stage
    cluster.stage.discard()


def test_what_is_staged_is_reviewed_and_applied_from_the_same_plan(live, stage, who) -> None:
    """I reviewed the plan in the widget, and %kquota apply said that no plan was shown."""
    live(f"%kquota set producer_byte_rate=1kB user={who} --reason soon")
    review = live("%kquota plan --review")
    assert isinstance(review, PlanReview)
    assert who in review.as_text()
    assert live("%kquota apply").plan_id == review.plan.id
    assert len(stage) == 0


def test_after_the_widget_has_applied_it_the_stage_begins_anew(live, stage, who) -> None:
    """The reason of what the widget had applied stood in the next plan."""
    live(f"%kquota set producer_byte_rate=1kB user={who} --reason soon")
    review = live("%kquota plan --review")
    assert review.widget
    review.apply()
    review._work._thread.join(30)
    assert (review.outcomes.ok, len(stage)) == (True, 0)
    live(f"%kquota set producer_byte_rate=2kB user={who}")
    assert "no plan was shown" in str(live.refused("%kquota apply"))
    assert live("%kquota plan").reason is None


def test_a_line_that_applies_the_plan_of_a_review_shows_in_it(live, cluster, stage, who, tmp_path) -> None:
    """I had applied the plan by %kquota apply, and the review above went on offering Apply."""
    live(f"%kquota set producer_byte_rate=1kB user={who}")
    review = live("%kquota plan --review")
    assert review.widget
    assert usable(review) == ["Apply", "Plan again"]
    live("%kquota apply")
    assert usable(review) == ["Verify", "Roll back"]
    assert (states_of_rows(review), review.status) == (
        [VERIFIED],
        f"plan {review.plan.id[:8]}: 1 verified on 1 broker",
    )
    assert review.remark == ""


def test_a_file_or_python_that_applies_the_plan_of_a_review_shows_in_it(live, cluster, stage, who, tmp_path) -> None:
    """A plan from a file was applied in another cell, and its review could be applied once more."""
    place = tmp_path / "p.json"
    live(f"%kquota set producer_byte_rate=1kB user={who} --save {place}")
    review, closed = live(f"%kplan review {place}"), live(f"%kplan review {place}")
    assert review.widget
    live(f"%kplan apply {place} --cluster {{mine}}")
    assert usable(review) == ["Verify", "Roll back"]
    assert closed.widget
    assert usable(closed) == ["Verify", "Roll back"]
    assert cluster.apply(kn.Plan.load(place)).ok
    assert usable(review) == ["Verify", "Roll back"]


def test_a_saved_plan_is_reviewed(live, who, tmp_path) -> None:
    """I was sent a file, and wanted to see it before it is applied."""
    place = tmp_path / "p.json"
    live(f"%kquota set producer_byte_rate=1kB user={who} --save {place}")
    review = live(f"%kplan review {place}")
    assert review.plan.id == kn.Plan.load(place).id


def test_a_plan_of_another_cluster_is_refused(live, cluster, who, tmp_path) -> None:
    """It showed an Apply button for a cluster that I am not on."""
    made = cluster.new_stage()
    made.set_quota("producer_byte_rate", 1, user=who)
    plan = made.plan()
    other = kn.Plan(PlanHead("another", plan.head.created), plan.changes)
    place = other.save(tmp_path / "other.json")
    assert "the plan is for cluster another" in str(live.refused(f"%kplan review {place}", kn.errors.WrongCluster))


def test_a_policy_holds_for_the_widget(stage, who, tmp_path) -> None:
    """The policy that I named was forgotten as soon as I clicked."""
    policy = tmp_path / "policies.py"
    policy.write_text(POLICY)
    stage.set_quota("producer_byte_rate", "1kB", user=who)
    review = stage.plan().review(policy=str(policy))
    assert review.widget
    review.apply()
    review._work._thread.join(30)
    assert review.status.startswith("PlanRefused: ")
    stage.discard()


POLICY = '''def no_small_limits(quotas):
    """Too small for anybody."""
    return quotas[quotas.value < 1000000]
'''
