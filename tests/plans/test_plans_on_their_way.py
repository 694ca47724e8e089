"""Plans of ours that brokers have yet to show: they are no changes of others, and nothing of them is overlooked."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
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


def test_a_plan_that_is_made_while_another_is_on_its_way_says_so(busy: Busy) -> None:
    """Half of my plan had arrived, the next one showed the values before it, and nothing said why."""
    first = busy.stopped_on_its_way(2000)
    second = busy.plan(3000)
    before = Counter(change.old for change in second.changes)
    assert before.keys() == {"1000", "2000"}
    assert rows(second.warnings(), "warning", "message") == [
        (
            "behind",
            f"{before['1000']} rows still have the value before plan {first.id[:8]}, which was sent and not yet seen "
            f"on every broker: plan again when plan verify {first.id[:8]} shows it everywhere",
        )
    ]
    busy.catch_up()
    busy.changes.verify(first).raise_for_errors()
    assert rows(busy.plan(4000).warnings(), "warning") == []


@pytest.mark.parametrize("is_verified", [False, True])
def test_what_our_own_plan_has_made_meanwhile_is_no_change_of_others(busy: Busy, is_verified: bool) -> None:
    """*30 of 40 rows changed since the plan*: nobody but I had changed them."""
    first = busy.stopped_on_its_way(2000)
    second = busy.plan(3000)
    late = sum(change.old == "1000" for change in second.changes)
    busy.catch_up()
    if is_verified:
        busy.changes.verify(first).raise_for_errors()
    with pytest.raises(kn.Conflict) as refused:
        second.apply()
    assert str(refused.value) == (
        f"{late} of 40 rows had the value before plan {first.id[:8]} when this plan was made, and have the value of "
        "that plan now"
    )
    assert refused.value.hint.startswith("Nothing was sent. Plan again and review.")
    busy.plan(3000).apply().raise_for_errors()
    assert busy.limits() == {3000.0}


def test_a_broker_that_is_behind_is_no_change_of_others(busy: Busy) -> None:
    """A broker that had yet to take over my last plan was asked: it said that somebody had set the old values."""
    first = busy.stopped_on_its_way(2000)
    seen_everywhere = busy.plan(3000)
    changes = tuple(change.with_(old="2000") for change in seen_everywhere.changes)
    second = busy.changes.bind(Plan(PlanHead(busy.kafka.id, busy.kafka.now().isoformat()), changes))
    late = sum(change.old == "1000" for change in seen_everywhere.changes)
    with pytest.raises(kn.Conflict) as refused:
        second.apply()
    short = first.id[:8]
    assert str(refused.value) == f"{late} of 40 rows still have the value before plan {short}: the broker is behind"
    assert refused.value.hint == (
        f"Nothing was sent. cluster.verify({short!r}, verify_timeout=60) waits until the brokers show it; "
        "then apply this plan."
    )
    skipped = rows(second.apply(skip_conflicts=True), "state", "message")
    assert ("skipped", f"still has the value before plan {short}: the broker is behind") in skipped
    busy.catch_up()
    second.apply().raise_for_errors()
    assert busy.limits() == {3000.0}


def test_changes_of_others_are_told_beside_ours(busy: Busy) -> None:
    """Among the rows of my own plan was one that a colleague had set, and it was not named."""
    first = busy.stopped_on_its_way(2000)
    second = busy.plan(3000)
    busy.catch_up()
    late = sum(change.old == "1000" for change in second.changes)
    stranger = second.changes[-1]
    busy.kafka.cluster.write(stranger.target, 7777.0)
    busy.kafka.cluster.settle()
    with pytest.raises(kn.Conflict) as refused:
        second.apply()
    ours, others = str(refused.value).split("; ", 1)
    assert ours.startswith(f"{late - 1} of 40 rows had the value before plan {first.id[:8]}")
    assert others.startswith(f"{stranger.resource} {RATE} changed since the plan: 1 kB/s → 7.777 kB/s")


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
    with pytest.raises(kn.Conflict, match=r"and 39 more of 40 rows changed since the plan: 1 kB/s → 2 kB/s"):
        second.apply()
