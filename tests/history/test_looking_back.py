"""as_of, changes, who: what a history says of a time."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.model.config_units import moment
from tests.history.hours import at, limits_of, taken, topic


@pytest.fixture(scope="module")
def five_hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Alice's limit moves at two, bob comes at three and goes at four; a topic's retention moves at three."""
    place = tmp_path_factory.mktemp("five hours") / "history"
    hours = [{"alice": 1.0}, {"alice": 1.0}, {"alice": 2.0}, {"alice": 2.0, "bob": 9.0}, {"alice": 2.0}]
    for hour, limits in enumerate(hours):
        configs = [topic("orders", "retention.ms", "1" if hour < 3 else "2")]
        kn.open_history(place).record(taken(hour, limits, configs))
    return place


@pytest.fixture
def history(five_hours: Path, tmp_path: Path) -> kn.state.History:
    """A copy of those five hours, which a test may add to."""
    return kn.open_history(shutil.copytree(five_hours, tmp_path / "history"))


@pytest.mark.parametrize(
    ("hour", "limits"),
    [
        (0, {"alice": 1.0}),
        (1.9, {"alice": 1.0}),
        (2, {"alice": 2.0}),
        (3.5, {"alice": 2.0, "bob": 9.0}),
        (99, {"alice": 2.0}),
    ],
)
def test_as_of_is_the_last_snapshot_until_then(history, hour: float, limits: dict[str, float]) -> None:
    """It showed me the limits of the day after the incident."""
    assert limits_of(history.as_of(at(hour))) == limits


def test_before_the_first_snapshot_nothing_is_known(history) -> None:
    """It said that there were no quotas, and there was no snapshot."""
    with pytest.raises(kn.NotFound, match="no snapshot of here was taken at or before 2026-10-31 23:00:00Z"):
        history.as_of(at(-1))


@pytest.mark.parametrize(
    ("time", "complaint"),
    [
        ("tomorrow", "tomorrow is not a time"),
        ("2026-11-01T02:00:00", "has no time zone"),
        (datetime(2026, 11, 1), "has no time zone"),
        (5, "5 is not a time"),
    ],
    ids=["words", "text without a zone", "datetime without a zone", "number"],
)
def test_a_time_has_a_zone(history, time, complaint: str) -> None:
    """My times were local, and it looked two hours off."""
    with pytest.raises(kn.UsageError, match=complaint):
        history.as_of(time)


@pytest.mark.parametrize(
    ("day", "days_ago"),
    [("today", 0), ("yesterday", 1), *((day, None) for day in ("monday", "Tuesday", "friday", "sunday"))],
)
def test_a_day_is_a_time(day: str, days_ago: int | None) -> None:
    """I asked what changed since Monday, and had to write a date with a T and a Z."""
    midnight, now = moment(day), datetime.now(UTC)
    assert midnight == datetime(midnight.year, midnight.month, midnight.day, tzinfo=UTC)
    assert timedelta(0) <= now - midnight < timedelta(7)
    if days_ago is None:
        assert f"{midnight:%A}" == day.capitalize()
    else:
        assert (now.date() - midnight.date()).days == days_ago


def test_times_are_taken_in_any_zone(history) -> None:
    """I live in Kolkata."""
    assert limits_of(history.as_of("2026-11-01T07:30:00+05:30")) == {"alice": 2.0}


def _rows(answer) -> list[tuple]:
    names = ("taken_at", "kind", "resource", "key", "state", "old", "new")
    return [tuple(row[name] for name in names) for row in answer.to_arrow().to_pylist()]


_CHANGES = [
    (at(2), "quota", "user=alice", "producer_byte_rate", "changed", "1", "2"),
    (at(3), "config", "topic=orders", "retention.ms", "changed", "1", "2"),
    (at(3), "quota", "user=bob", "producer_byte_rate", "added", None, "9"),
    (at(4), "quota", "user=bob", "producer_byte_rate", "removed", "9", None),
]


@pytest.mark.parametrize(
    ("between", "wanted"),
    [((None, None), _CHANGES), ((at(0), at(2)), _CHANGES[:1]), ((at(2), at(3)), _CHANGES[1:3]), ((at(4), None), [])],
    ids=["all", "first two hours", "one hour", "nothing since"],
)
def test_changes_say_what_moved_between_two_times(history, between, wanted) -> None:
    """Something was changed on Tuesday; what?"""
    assert _rows(history.changes(between=between)) == wanted


def test_several_clusters_are_told_apart(history) -> None:
    """It mixed production with staging."""
    history.record(taken(1.5, {"alice": 70.0}, cluster_id="there"))
    with pytest.raises(kn.UsageError, match="several clusters are kept here") as raised:
        history.as_of(at(2))
    assert raised.value.hint == "Pass cluster_id=: here, there."
    assert limits_of(history.as_of(at(2), cluster_id="there")) == {"alice": 70.0}
    assert limits_of(history.as_of(at(2), cluster_id="here")) == {"alice": 2.0}
    assert _rows(history.changes((None, None), "here")) == _CHANGES
    assert _rows(history.changes((None, None), "there")) == []


def test_what_was_not_read_was_not_deleted(history) -> None:
    """After a broker was set back to 3.9, which cannot list groups, all groups were shown as deleted."""
    history.record(taken(5, {"alice": 2.0}, scopes=["QUOTAS", "BROKER"]))
    assert _rows(history.changes((at(4), None))) == []


def test_an_empty_history_says_so(tmp_path: Path) -> None:
    """FileNotFoundError: _delta_log"""
    empty = kn.open_history(tmp_path / "none")
    with pytest.raises(kn.NotFound, match="nothing has been recorded here yet"):
        empty.as_of(at(0))
    assert len(empty.snapshots()) == 0


def test_a_history_survives_being_compacted(history, tmp_path: Path) -> None:
    """The nightly OPTIMIZE ran, and as_of answered for another hour."""
    from deltalake import DeltaTable

    history.record(taken(1.5, {"alice": 70.0}, cluster_id="there"))
    before = history.snapshots().to_arrow()
    for table in ("quotas_history", "configs_history", "snapshots"):
        DeltaTable(tmp_path / "history" / table).optimize.compact()
    assert history.snapshots().to_arrow().equals(before)
    for hour, limits in ((0.5, {"alice": 1.0}), (2.5, {"alice": 2.0}), (9, {"alice": 2.0})):
        assert limits_of(history.as_of(at(hour), "here")) == limits
    assert limits_of(history.as_of(at(9), "there")) == {"alice": 70.0}


def test_what_the_last_record_has_not_read_is_named(tmp_path) -> None:
    """The topics could not be read that night, and as_of called last week's the whole state of then."""
    history = kn.open_history(tmp_path / "lake")
    history.record(taken(0, {"alice": 1.0}, [topic("orders", "retention.ms", "5")]))
    history.record(taken(1, {"alice": 2.0}, scopes=["QUOTAS"]))
    back = history.as_of(at(1))
    assert (len(back.configs), back.complete) == (1, False)
    older = "the last snapshot has not read it; it is shown as of 2026-11-01 00:00:00Z"
    assert {part.message for part in back.unread} == {older}
    assert {part.scope for part in back.unread} == {"TOPIC", "BROKER", "CLIENT_METRICS", "GROUP"}
    assert history.as_of(at(0)).complete
