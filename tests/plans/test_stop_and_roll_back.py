"""Apply, Stop and Roll back by the buttons of the review, on real brokers: Kafka's own tool lists what is left."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.progress import Advance
from kadmin_nb.widgets.plan_review import PlanReview
from tests.plans.kafka_tool import Tool

pytestmark = pytest.mark.broker

RATE, LONG = "producer_byte_rate", 600.0
POINTS = (("sent", 0.25), ("sent", 0.5), ("sent", 0.75), ("verified", 0.2), ("verified", 0.5))
NAMES = [f"{what} {share:.0%}" for what, share in POINTS]


@pytest.fixture(scope="module")
def tool() -> Iterator[Tool]:
    running = Tool()
    yield running
    running.close()


@pytest.fixture(scope="module")
def wide() -> Iterator[LocalKafka]:
    with kn.local.start(nodes=3) as running:
        yield running


def listed(tool: Tool, address: str) -> list[str]:
    """The quotas of users as a broker answers DescribeClientQuotas."""
    said = tool.run(["--bootstrap-server", address, "--describe", "--entity-type", "users"])
    assert said.code == 0, said.err
    return sorted(line for line in said.out.splitlines() if RATE in line)


def reviewed(cluster: kn.Cluster, names: list[str]) -> PlanReview:
    """The review of a plan with a limit for each of these users."""
    stage = cluster.new_stage()
    for number, name in enumerate(names, 1):
        stage.set_quota(RATE, 100_000 + number, user=name)
    review = stage.plan().review()
    assert isinstance(review, PlanReview)
    assert review.widget
    return review


def stopped(review: PlanReview, what: str, share: float, monkeypatch: pytest.MonkeyPatch) -> int:
    """Apply, and Stop as soon as this share is sent, or verified; how many rows were sent."""
    heard = review._advanced

    def advanced(advance: Advance) -> None:
        heard(advance)
        if advance.what == what and advance.done >= share * advance.of:
            review.stop()

    monkeypatch.setattr(review, "_advanced", advanced)
    review.apply()
    review._work._thread.join(LONG)
    assert review.outcomes is not None
    return sum(state != "skipped" for state in review.outcomes.to_arrow()["state"].to_pylist())


def stop_and_roll_back(
    cluster: kn.Cluster, tool: Tool, names: list[str], point: tuple[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All brokers list the same before and after; in between as many more as the review says were sent."""
    reviewed(cluster, ["bystander"]).plan.apply()  # to remove the last quota of a level is dangerous
    addresses = [f"{broker.host}:{broker.port}" for broker in cluster.port.brokers()]
    before = [listed(tool, address) for address in addresses]
    review = reviewed(cluster, names)
    sent = stopped(review, *point, monkeypatch)
    assert [len(listed(tool, address)) for address in addresses] == [len(lines) + sent for lines in before]
    review.rollback()
    review._work._thread.join(LONG)
    back = review.next
    assert back is not None, review.status
    back.apply()
    back._work._thread.join(LONG)
    assert back.status.startswith(f"plan {back.plan.id[:8]}: {sent:,} verified"), back.status
    assert "\n" not in back.status  # no remark
    assert [listed(tool, address) for address in addresses] == before


@pytest.mark.parametrize("point", POINTS, ids=NAMES)
def test_what_was_stopped_is_rolled_back_whole(point, cluster, tool, unique, monkeypatch):
    """Apply, Stop, Roll back: *verified*, and one request of the plan was still on the cluster."""
    monkeypatch.setattr(executor, "apply", partial(executor.apply, largest_batch=10))
    stop_and_roll_back(cluster, tool, [unique("user") for _ in range(40)], point, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS, ids=NAMES)
def test_twenty_thousand_are_rolled_back_on_three_nodes(point, wide, tool, unique, monkeypatch):
    """20,000 quotas on three brokers, stopped at a quarter: 5,000 of them stayed."""
    with wide.connect() as cluster:
        stop_and_roll_back(cluster, tool, [unique("user") for _ in range(20_000)], point, monkeypatch)
