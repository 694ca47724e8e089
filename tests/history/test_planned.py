"""Whose a change is: a plan's where the plan has that row, and left that value at that time; else nobody's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import AppliedRow, Change
from kadmin_nb.model.resources import Resource
from kadmin_nb.state import History
from kadmin_nb.state.snapshots import Snapshot
from tests.history.hours import at, taken, topic
from tests.history.memory import InMemory
from tests.history.plans import after_plans, limit, plan, row_of

ANN, BEN = "ann@laptop", "ben@laptop"


@pytest.fixture(params=["path", "memory"])
def history(request: pytest.FixtureRequest, tmp_path) -> History:
    """At a path, and in another place; tests/history/test_both_places.py has it in a catalog."""
    return kn.open_history(tmp_path / "lake") if request.param == "path" else History(InMemory())


def whose(answer: Any) -> list[tuple[Any, ...]]:
    names = ("taken_at", "resource", "new", "author", "plan_id")
    return [(*(row[n] for n in names[:-1]), (row["plan_id"] or "")[:4] or None) for row in answer]


def test_a_change_of_others_has_no_author(history) -> None:
    """Between two snapshots ann's plan and a script of ben's ran, and the history named ann for both."""
    history.record(taken(0, {"alice": 1.0, "bob": 1.0, "carol": 1.0}))
    anns = plan(1, limit("alice", 1.0, 2.0))
    history.record(after_plans(taken(1, {"alice": 2.0, "bob": 5.0}), anns))
    assert whose(history.changes((None, None))) == [
        (at(1), "user=alice", "2", ANN, "0001"),
        (at(1), "user=bob", "5", None, None),
        (at(1), "user=carol", None, None, None),
    ]


def test_a_row_that_was_changed_again_is_not_the_plans(history) -> None:
    """Ann's plan set 2, ben made 3 of it a minute later, and the 3 was ann's."""
    history.record(taken(0, {"alice": 1.0}))
    anns = plan(1, limit("alice", 1.0, 2.0))
    history.record(after_plans(taken(1, {"alice": 3.0}), anns))
    assert whose(history.changes((None, None))) == [(at(1), "user=alice", "3", None, None)]


def test_the_same_value_at_another_time_is_not_the_plans(history) -> None:
    """In June ben set again what ann's plan had set in May, and it was said to be the plan's."""
    history.record(taken(0, {"alice": 1.0}))
    history.record(after_plans(taken(1, {"alice": 2.0}), plan(1, limit("alice", 1.0, 2.0))))
    history.record(taken(2, {"alice": 9.0}))
    history.record(taken(3, {"alice": 2.0}))
    assert whose(history.changes((None, None))) == [
        (at(1), "user=alice", "2", ANN, "0001"),
        (at(2), "user=alice", "9", None, None),
        (at(3), "user=alice", "2", None, None),
    ]


def test_several_plans_between_two_snapshots(history) -> None:
    """Three plans were applied before the timer recorded, and all was the last one's."""
    history.record(taken(0, {"alice": 1.0, "bob": 1.0, "carol": 1.0}))
    first = plan(1, limit("alice", 1.0, 2.0), limit("bob", 1.0, 2.0))
    second = plan(2, limit("bob", 2.0, 3.0), limit("carol", 1.0, 3.0), author=BEN)
    third = plan(3, limit("carol", 3.0, 4.0))
    history.record(after_plans(taken(1, {"alice": 2.0, "bob": 3.0, "carol": 4.0}), first, second, third))
    assert whose(history.changes((None, None))) == [
        (at(1), "user=alice", "2", ANN, "0001"),
        (at(1), "user=bob", "3", BEN, "0002"),
        (at(1), "user=carol", "4", ANN, "0003"),
    ]


def test_of_two_plans_that_left_the_same_it_is_the_last(history) -> None:
    """Two plans set the same value one after the other, and the first had the name."""
    history.record(taken(0, {"alice": 1.0}))
    both = [plan(1, limit("alice", 1.0, 2.0)), plan(2, limit("alice", 3.0, 2.0), author=BEN)]
    history.record(after_plans(taken(1, {"alice": 2.0}), *both))
    assert whose(history.changes((None, None))) == [(at(1), "user=alice", "2", BEN, "0002")]


def test_an_undone_plan_is_the_undoing_plans(history) -> None:
    """The plan was rolled back by ben, and ann was named for the old value."""
    history.record(taken(0, {"alice": 1.0, "bob": 1.0}))
    anns, undo = plan(1, limit("alice", 1.0, 2.0)), plan(2, limit("alice", 2.0, 1.0), author=BEN)
    history.record(after_plans(taken(1, {"alice": 2.0, "bob": 1.0}), anns))
    history.record(after_plans(taken(2, {"alice": 1.0, "bob": 7.0}), undo))
    assert whose(history.changes((at(1), None))) == [
        (at(2), "user=alice", "1", BEN, "0002"),
        (at(2), "user=bob", "7", None, None),
    ]


def test_a_removal_is_a_row_too(history) -> None:
    """The plan removed alice's limit, and somebody removed bob's: both were the plan's, or neither."""
    orders = Resource("TOPIC", "orders")
    history.record(taken(0, {"alice": 1.0, "bob": 1.0}, [topic("orders", "retention.ms", "5")]))
    removing = plan(1, limit("alice", 1.0, None), row_of(orders, "retention.ms", "5", None))
    history.record(after_plans(taken(1, {}), removing))
    assert whose(history.changes((None, None))) == [
        (at(1), "topic=orders", None, ANN, "0001"),
        (at(1), "user=alice", None, ANN, "0001"),
        (at(1), "user=bob", None, None, None),
    ]


def test_a_brokers_value_falls_back_to_its_file(history) -> None:
    """The plan removed a broker's dynamic value; the value in its file appeared, and was nobody's."""

    def threads(value: str, source: str) -> dict[str, object]:
        of_broker = {"resource_type": "BROKER", "resource_name": "1", "key": "num.io.threads", "value": value}
        return {**of_broker, "source": source, "is_sensitive": False, "is_read_only": False, "is_default": False}

    history.record(taken(0, {}, [threads("9", "DYNAMIC_BROKER_CONFIG")]))
    removing = plan(1, row_of(Resource("BROKER", "1"), "num.io.threads", "9", None))
    history.record(after_plans(taken(1, {}, [threads("8", "STATIC_BROKER_CONFIG")]), removing))
    assert whose(history.changes((None, None))) == [(at(1), "broker=1", "8", ANN, "0001")]


def test_rows_that_change_nothing_and_secrets_have_no_author(history) -> None:
    """Ann's plan found bob's limit set already, by ben, and it was hers."""
    secret = row_of(Resource("TOPIC", "orders"), "sasl.jaas.config", None, "env:JAAS").with_(is_secret=True)
    history.record(taken(0, {"bob": 1.0}))
    shown = topic("orders", "sasl.jaas.config", None, is_sensitive=True)
    history.record(after_plans(taken(1, {"bob": 2.0}, [shown]), plan(1, limit("bob", 2.0, 2.0), secret)))
    assert {row[3] for row in whose(history.changes((None, None)))} == {None}


def test_a_part_that_was_not_read_waits_for_the_next_snapshot(history) -> None:
    """The quotas could not be read after the plan, and an hour later it was nobody's change."""
    history.record(taken(0, {"alice": 1.0}))
    history.record(after_plans(taken(1, {}, scopes=["TOPIC"]), plan(1, limit("alice", 1.0, 2.0))))
    history.record(taken(2, {"alice": 2.0}))
    assert whose(history.changes((None, None))) == [(at(2), "user=alice", "2", ANN, "0001")]


def by_journal(snapshot: Snapshot, *rows: AppliedRow) -> Snapshot:
    """A snapshot that a cluster took whose plans have changed these rows."""
    return replace(snapshot, applied_since=lambda since: [row for row in rows if row.ended > since])


def applied(number: int, change: Change, began: float, ended: float, author: str = ANN) -> AppliedRow:
    return AppliedRow(plan(number).id, author, change, at(began), at(ended))


def test_a_plan_need_not_be_passed(history) -> None:
    """The timer recorded, and nobody had told it of the plan: the alert said, changed without a plan."""
    rows = [applied(1, limit("alice", 1.0, 2.0), 0.5, 0.6), applied(2, limit("bob", 1.0, None), 0.7, 0.8, BEN)]
    history.record(taken(0, {"alice": 1.0, "bob": 1.0}))
    history.record(by_journal(taken(1, {"alice": 2.0, "carol": 1.0}), *rows))
    assert whose(history.changes((None, None))) == [
        (at(1), "user=alice", "2", ANN, "0001"),
        (at(1), "user=bob", None, BEN, "0002"),
        (at(1), "user=carol", "1", None, None),
    ]


def test_the_next_record_does_not_claim_it_again(history) -> None:
    """Ben set by hand what ann's plan had set the day before, and it was ann's: the plan was still in the folder."""
    anns = applied(1, limit("alice", 1.0, 2.0), 0.5, 0.6)
    history.record(taken(0, {"alice": 1.0}))
    for hour, value in enumerate((2.0, 9.0, 2.0), 1):
        history.record(by_journal(taken(hour, {"alice": value}), anns))
    assert [row[1:] for row in whose(history.changes((None, None)))] == [
        ("user=alice", "2", ANN, "0001"),
        ("user=alice", "9", None, None),
        ("user=alice", "2", None, None),
    ]
    assert len(history._place.rows("planned_changes", "here")) == 1


def test_a_run_in_the_middle_of_which_a_snapshot_was_taken(history) -> None:
    """The plan was half applied when the timer recorded, and the second half was nobody's."""
    first, second = (limit(user, 1.0, 2.0) for user in ("alice", "bob"))
    history.record(taken(0, {"alice": 1.0, "bob": 1.0}))
    history.record(by_journal(taken(1, {"alice": 2.0, "bob": 1.0}), applied(1, first, 0.9, 0.95)))
    both = applied(1, first, 0.9, 1.2), applied(1, second, 1.1, 1.2)
    history.record(by_journal(taken(2, {"alice": 2.0, "bob": 2.0}), *both))
    assert whose(history.changes((None, None))) == [
        (at(1), "user=alice", "2", ANN, "0001"),
        (at(2), "user=bob", "2", ANN, "0001"),
    ]


def test_what_was_changed_before_the_plan_began_is_not_its(history) -> None:
    """Ann's plan ran between the second and third snapshot, and a change from before the first was hers."""
    history.record(taken(0, {"alice": 1.0}))
    history.record(taken(1, {"alice": 2.0}))
    late = by_journal(taken(2, {"alice": 2.0}), applied(1, limit("alice", 1.0, 2.0), 1.5, 1.6))
    history.record(late)
    assert whose(history.changes((None, None))) == [(at(1), "user=alice", "2", None, None)]
