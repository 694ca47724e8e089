"""Plans of ours that brokers have yet to show: they are no changes of others, and nothing of them is overlooked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.plan import Plan
from tests.double import FakeKafka
from tests.plans.plan_rows import rows

RATE, ROWS = "producer_byte_rate", 40
NUMBERS = itertools.count(1)


class Busy:
    """A cluster of one broker that takes a second for each row; plans of a quota of each of forty users."""

    def __init__(self) -> None:
        self.kafka = FakeKafka(1)
        self.kafka.id = f"busy-{next(NUMBERS)}"
        self.node = self.kafka.cluster.nodes[1]
        self.changes = Changes(self.kafka)  # type: ignore[arg-type]

    def plan(self, value: float, users: Iterable[int] = range(ROWS)) -> Plan:
        stage = self.changes.new_stage()
        for number in users:
            stage.set_quota(RATE, value, user=f"u{number}")
        return stage.plan()

    def stopped_on_its_way(self, value: float) -> Plan:
        """A plan that was applied, and of which the broker shows a part."""
        plan = self.plan(value)
        self.node.seconds_per_record = 1.0
        until = self.kafka.monotonic() + 10.0
        with pytest.raises(KeyboardInterrupt):
            plan.apply(stop=lambda: self.kafka.monotonic() > until)
        return plan

    def catch_up(self) -> None:
        self.node.seconds_per_record = 0.0
        self.kafka.cluster.settle()

    def limits(self) -> set[float]:
        self.catch_up()
        return set(self.kafka.quotas.describe()["value"].to_pylist())


@pytest.fixture
def busy() -> Busy:
    busy = Busy()
    busy.plan(1000).apply().raise_for_errors()
    return busy


def test_a_row_that_only_looks_done_is_sent(busy: Busy) -> None:
    """I set the old limit again while the new one was on its way: *unchanged*, and a minute later the new one held."""
    busy.stopped_on_its_way(2000)
    back = busy.plan(1000)
    late = sum(change.old == "1000" for change in back.changes)
    assert late > 10
    assert ("unchanged",) not in rows(back.apply(), "state")
    assert busy.limits() == {1000.0}


def test_a_plan_that_ended_well_is_not_read_again(busy: Busy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each plan took longer than the one before: all journals of the day were read for it."""
    read: list[object] = []
    store = journals()
    monkeypatch.setattr(type(store), "_kept", lambda self, place: read.append(place))
    busy.plan(1000)
    assert read == []


def test_what_was_sent_after_the_plan_was_made_is_a_change_since(busy: Busy) -> None:
    """My other notebook had set the limit in between, and the conflict named neither the value of before nor of now."""
    second = busy.plan(3000)
    busy.plan(2000).apply().raise_for_errors()
    with pytest.raises(kn.errors.Conflict, match=r"and 39 more of 40 rows changed since the plan: 1 kB/s → 2 kB/s"):
        second.apply()
