"""A history says of every time what the plain list of its snapshots says, however they came to be recorded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.state import History
from tests.history.hours import at
from tests.history.memory import InMemory
from tests.history.model import Seen, are_maximal, changes, kept, state, told, told_changes

HOURS = [hour / 2 for hour in range(-1, 14)]

_limits = st.dictionaries(st.sampled_from(["alice", "bob"]), st.sampled_from([1.0, 2.0]), max_size=2)
_configs = st.dictionaries(st.sampled_from(["orders", "1"]), st.sampled_from(["5", "6"]), max_size=2)
_scopes = st.sets(st.sampled_from(["QUOTAS", "TOPIC", "BROKER"]), min_size=1).map(lambda names: tuple(sorted(names)))


@st.composite
def snapshots(draw: Callable[..., object], hours: int = 6) -> list[Seen]:
    """Snapshots in the order in which they are recorded: any, and some of one time; late ones are left out."""
    times = draw(st.lists(st.integers(0, hours), min_size=1, max_size=6))
    return [
        Seen(hour, number, draw(_limits), draw(_configs), draw(_scopes))
        for number, hour in enumerate(times)  # type: ignore[arg-type]
    ]


@settings(max_examples=25)
@given(snapshots())
def test_every_time_is_as_the_list_of_snapshots_has_it(seen: list[Seen]) -> None:
    """A snapshot that came late hid what came after it."""
    history = History(InMemory())
    for one in seen:
        history.record(one.snapshot)
    seen = kept(seen)
    assert [told(history, hour) for hour in HOURS] == [state(seen, hour) for hour in HOURS]
    assert told_changes(history) == changes(seen)
    assert are_maximal(history)


@pytest.mark.slow
@settings(max_examples=5)
@given(snapshots(hours=4))
def test_so_it_is_on_a_disk(tmp_path_factory: pytest.TempPathFactory, seen: list[Seen]) -> None:
    """It was right in memory."""
    place = tmp_path_factory.mktemp("history")
    for one in seen:
        kn.open_history(place).record(one.snapshot)
    history, seen = kn.open_history(place), kept(seen)
    assert [told(history, hour) for hour in HOURS[:10]] == [state(seen, hour) for hour in HOURS[:10]]
    assert told_changes(history) == changes(seen)


A, B = {"alice": 1.0}, {"alice": 2.0}
PAIRS = {
    "one after the other": (Seen(1, 2, B), Seen(2, 3, A)),
    "the later one is unchanged": (Seen(1, 2, B, {"orders": "5"}), Seen(2, 3, A)),
    "the earlier one is unchanged": (Seen(1, 2, A), Seen(2, 3, B)),
    "both say the same": (Seen(1, 2, B), Seen(2, 3, B)),
    "of one time": (Seen(1, 2, B), Seen(1, 3, {"alice": 3.0})),
    "of other scopes": (Seen(1, 2, B, {"orders": "5"}, ("QUOTAS", "TOPIC")), Seen(2, 3, A, {"1": "5"}, ("BROKER",))),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "swapped", [pytest.param(False, id=""), pytest.param(True, id="swapped", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("pair", PAIRS)
def test_two_recorders_meet_at_any_step(pair: str, swapped: bool) -> None:
    """Two jobs recorded at the same minute: the one that came a little later said what the other had seen."""
    first, second = PAIRS[pair][::-1] if swapped else PAIRS[pair]
    for step in itertools.count(1):
        place = InMemory()
        history, calls = History(place), itertools.count(1)
        history.record(Seen(0, 1, A).snapshot)

        def disturb(step: int = step, place: InMemory = place, calls: itertools.count[int] = calls) -> None:
            if next(calls) == step:
                place.disturb = lambda: None
                History(place).record(second.snapshot)

        place.disturb = disturb
        history.record(first.snapshot)
        if next(calls) <= step:
            break
        seen = [one for one in (Seen(0, 1, A), first, second) if one.number in _numbers(history)]
        assert len(seen) == 3 or seen[-1].hour >= max(first.hour, second.hour)
        seen = _as_recorded(history, seen)
        assert [told(history, hour) for hour in HOURS] == [state(seen, hour) for hour in HOURS], step
        assert told_changes(history) == changes(seen), step
    assert step >= 5


def _as_recorded(history: History, seen: list[Seen]) -> list[Seen]:
    """These with the scopes of which the history has them."""
    scopes: dict[int, tuple[str, ...]] = {}
    for row in history.snapshots().to_arrow().to_pylist():
        number = int(row["snapshot_id"])
        scopes[number] = (*scopes.get(number, ()), *row["scopes"].split())
    return [replace(one, scopes=scopes[one.number]) for one in seen]


def _numbers(history: History) -> set[int]:
    return {int(row["snapshot_id"]) for row in history.snapshots().to_arrow().to_pylist()}


@pytest.mark.slow
@pytest.mark.parametrize("after", [Seen(2, 3, A), Seen(2, 3, B)], ids=str)
def test_a_recorder_that_is_killed_at_any_step_leaves_a_history(after: Seen) -> None:
    """The job was killed, and the next ones failed, or its half of a snapshot stayed."""
    before, killed = Seen(0, 1, A, {"orders": "5"}), Seen(1, 2, B, {"orders": "6"})
    for step in itertools.count(1):
        place = InMemory()
        history, calls = History(place), itertools.count(1)
        history.record(before.snapshot)

        def die(step: int = step, calls: itertools.count[int] = calls) -> None:
            if next(calls) == step:
                raise KeyboardInterrupt

        place.disturb = die
        try:
            history.record(killed.snapshot)
            break
        except KeyboardInterrupt:
            place.disturb = lambda: None
        assert told(history, 0) == state([before], 0)
        assert told(history, 1)["QUOTAS"] in (A, B)
        history.record(after.snapshot)
        assert told(history, 0) == state([before], 0)
        assert told(history, after.hour) == state([before, after], after.hour)
        history.record(killed.snapshot)
        assert [told(history, hour) for hour in (0, 2, 3)] == [state([before, after], hour) for hour in (0, 2, 3)], step


def test_two_open_intervals_of_one_key_are_refused() -> None:
    """A hand-written row in the table, and `as_of` answered with both limits."""
    place = InMemory()
    history = History(place)
    history.record(Seen(0, 1, A).snapshot)
    rows = place.tables["quotas_history"].to_pylist()
    rows.append({**rows[0], "valid_from": at(0.5), "value": 9.0})
    place.tables["quotas_history"] = place.tables["quotas_history"].from_pylist(
        rows, schema=place.tables["quotas_history"].schema
    )
    tables = dict(place.tables)
    complaint = r"memory: quotas_history has two intervals of user=alice producer_byte_rate at 2026-11-01 01:00:00Z"
    for work in (lambda: history.record(Seen(1, 2, B).snapshot), lambda: history.as_of(at(1))):
        with pytest.raises(kn.Invalid, match=complaint) as refused:
            work()
        assert "\n" not in str(refused.value)
    assert place.tables == tables


def test_a_late_snapshot_is_left_out_with_a_line() -> None:
    """A job failed every other night, as another had recorded a second before."""
    history = History(InMemory())
    for one in (Seen(0, 1, A), Seen(2, 2, A)):
        history.record(one.snapshot)
    said = history.record(Seen(1, 3, B).snapshot)
    assert (len(said), said.ok) == (0, True)
    assert said.notes == ("left out, as a later snapshot has been recorded: quotas, configs",)
    rows = history.intervals("quotas", "here").to_pylist()
    assert [(row["value"], row["valid_from"], row["valid_to"]) for row in rows] == [(1.0, at(0), None)]
