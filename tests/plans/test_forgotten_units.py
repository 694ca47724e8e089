"""A forgotten unit is a danger: 5 B/s where 5 MB/s were meant."""

from __future__ import annotations

import pytest

from kadmin_nb.plans.advice import dangers
from tests.double import FakeKafka
from tests.plans.scenes import hold
from tests.plans.simulation import plan_of

RATE = "producer_byte_rate"


def _dangers(key: str, before: float | None, after: float) -> list[tuple[str, str]]:
    kafka = FakeKafka(brokers=1)
    hold(kafka, {} if before is None else {("user=alice", key): before}, {})
    kafka.cluster.settle()
    plan = plan_of(kafka, lambda stage: stage.set_quota(key, after, user="alice"))
    return [(found.code, found.message) for found in dangers.found(kafka, plan.changes)]


@pytest.mark.parametrize(
    ("key", "before", "after", "message"),
    [
        (RATE, None, 5, "one request of 16 KiB would take 54.6 min at 5 B/s. Was 5MB/s meant?"),
        (RATE, 5e6, 5, "one request of 16 KiB would take 54.6 min at 5 B/s. Was 5MB/s meant?"),
        ("consumer_byte_rate", None, 200, "one request of 16 KiB would take 81.9 s at 200 B/s. Was 200MB/s meant?"),
        (RATE, 5e6, 5e3, "5 MB/s becomes 5 kB/s, a 1,000th. Was a unit forgotten?"),
        (RATE, 5e6, 5e9, "5 MB/s becomes 5 GB/s, 1,000 times as much. Was a unit forgotten?"),
        ("request_percentage", 50, 0.05, "50 % becomes 0.05 %, a 1,000th. Was a unit forgotten?"),
    ],
)
def test_a_limit_that_looks_like_a_slip_is_dangerous(key, before, after, message) -> None:
    """A unit was left out, and the billing producer stood still for an hour."""
    assert _dangers(key, before, after) == [("unit", message)]


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [(RATE, None, 1e6), (RATE, 5e6, 6e3), (RATE, 5e6, 4e9), (RATE, 5, 5), ("request_percentage", None, 0.5)],
)
def test_an_ordinary_limit_is_not(key, before, after) -> None:
    """Every plan asked for a second word, and nobody read it any more."""
    assert _dangers(key, before, after) == []
