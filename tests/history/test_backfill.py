"""The past before anybody recorded: out of a metadata log, and nothing that was recorded is changed by it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schema_metadata import KNOWN_SINCE, stamped
from kadmin_nb.history import History
from tests.history.hours import KEY, at, limits_of, taken, topic
from tests.history.memory import InMemory
from tests.history.model import are_maximal
from tests.metadata_log.written_logs import batch, config, quota, write_log
from tests.metadata_log.written_logs import topic as created_topic

Change = tuple[float, str, str, str | None, str | None]
"""An hour, a kind, a resource, a key, and a value; None deletes."""


def log(*changes: Change, since: float | None = 0, cluster_id: str = "here", source: str = "log") -> kn.Answer:
    """METADATA_CHANGES, each of an offset of its own."""
    rows = [
        {
            "offset": offset,
            "time": at(hour),
            "epoch": 1,
            "source": source,
            "kind": kind,
            "op": "delete" if value is None else "set",
            "resource": resource,
            "key": key,
            "value": value,
        }
        for offset, (hour, kind, resource, key, value) in enumerate(changes, 1)
    ]
    marks = {} if since is None else {KNOWN_SINCE: at(since).isoformat()}
    return kn.Answer(stamped(schemas.table(schemas.METADATA_CHANGES, rows), cluster_id, marks))


def limit(hour: float, user: str, value: float | None) -> Change:
    return hour, "quota", f"user={user}", KEY, None if value is None else str(int(value))


def retention(hour: float, name: str, value: str | None) -> Change:
    return hour, "config", f"topic={name}", "retention.ms", value


CHANGES = [limit(1, "alice", 1e6), limit(2, "bob", 5e6), limit(3, "alice", 2e6), limit(4, "bob", None)]
STATES = {0: {}, 1: {"alice": 1e6}, 2.5: {"alice": 1e6, "bob": 5e6}, 3: {"alice": 2e6, "bob": 5e6}, 5: {"alice": 2e6}}


def states(history: History, hours: Sequence[float]) -> dict[float, dict[str, float]]:
    return {hour: limits_of(history.as_of(at(hour), "here")) for hour in hours}


def rows(history: History, kind: str = "quotas") -> list[tuple]:
    """The intervals as hours."""
    table = history.intervals(kind)
    name = "entity" if kind == "quotas" else "resource_name"
    hours = [[None if time is None else (time - at(0)).total_seconds() / 3600 for time in table[n].to_pylist()]
             for n in ("valid_from", "valid_to")]  # fmt: skip
    return sorted(zip(table[name].to_pylist(), table["value"].to_pylist(), *hours, strict=True), key=str)


def test_the_state_at_each_time_is_the_logs(tmp_path: Path) -> None:
    """In a new history nothing could be seen of the day on which the limit was lowered."""
    history = kn.open_history(tmp_path / "lake")
    told = history.backfill(log(*CHANGES[:2], retention(2, "orders", "5"), *CHANGES[2:]))
    assert [row["rows"] for row in told if row["kind"] == "quotas"] == [0, 1, 2, 2, 1]
    assert states(history, STATES) == STATES
    assert rows(history) == [
        ("user=alice", 1e6, 1, 3),
        ("user=alice", 2e6, 3, None),
        ("user=bob", 5e6, 2, 4),
    ]
    changed = [row for row in history.changes((None, None)) if row["kind"] == "quota"]
    assert [(row["taken_at"], row["resource"], row["old"], row["new"]) for row in changed] == [
        (at(1), "user=alice", None, "1000000"),
        (at(2), "user=bob", None, "5000000"),
        (at(3), "user=alice", "1000000", "2000000"),
        (at(4), "user=bob", "5000000", None),
    ]
    assert len(history.as_of(at(2)).configs) == 1


@pytest.mark.slow
def test_what_was_recorded_stays_as_it_is(tmp_path: Path) -> None:
    """The backfill said that a limit was removed after it had been recorded as set."""
    history = kn.open_history(tmp_path / "lake")
    orders = topic("orders", "retention.ms", "5")
    history.record(taken(3.5, {"alice": 2e6, "carol": 3e6}, [orders]))
    history.record(taken(6, {"carol": 3e6}))
    recorded = rows(history), history.as_of(at(3.5)), history.changes((at(3.5), None)).to_arrow()
    history.backfill(log(*CHANGES, retention(1, "orders", "5"), limit(7, "alice", 9e6)))
    assert rows(history) == [
        ("user=alice", 1e6, 1, 3),
        ("user=alice", 2e6, 3, 6),
        ("user=bob", 5e6, 2, 3.5),
        ("user=carol", 3e6, 3.5, None),
    ]
    assert states(history, [0, 2.5, 3, 3.5, 5, 8]) == {
        **{hour: STATES[hour] for hour in (0, 2.5, 3)},
        **{hour: {"alice": 2e6, "carol": 3e6} for hour in (3.5, 5)},
        8: {"carol": 3e6},
    }
    assert history.as_of(at(3.5)).configs.to_arrow().equals(recorded[1].configs.to_arrow())
    assert history.changes((at(3.5), None)).to_arrow().equals(recorded[2])
    assert are_maximal(history)


def test_twice_adds_nothing(tmp_path: Path) -> None:
    """The job ran every night, and the table grew."""
    for recorded in (False, True):
        history = kn.open_history(tmp_path / f"lake-{recorded}")
        if recorded:
            history.record(taken(3.5, {"alice": 2e6}))
        history.backfill(log(*CHANGES))
        before = rows(history), history.snapshots().to_arrow()
        assert len(history.backfill(log(*CHANGES, limit(9, "alice", 1e3)))) == 0
        assert (rows(history), history.snapshots().to_arrow()) == before
    older = [limit(-3, "alice", 7e6), limit(-2, "dora", 1e6)]
    assert len(history.backfill(log(*older, *CHANGES, since=-5))) == 4
    assert states(history, [-4, -2.5, -1, *STATES])[-2.5] == {"alice": 7e6}
    assert states(history, [3, 5]) == {3: {"alice": 2e6, "bob": 5e6}, 5: {"alice": 2e6}}


def test_a_topic_takes_its_configs_with_it() -> None:
    """A topic that was deleted and made anew had the retention of the old one."""
    history = History(InMemory())
    gone = (2, "topic", "topic=orders", None, None)
    history.backfill(log(retention(1, "orders", "5"), retention(1, "bills", "6"), gone, retention(3, "orders", "7")))
    assert rows(history, "configs") == [("bills", "6", 1, None), ("orders", "5", 1, 2), ("orders", "7", 3, None)]


def test_where_records_are_missing_it_begins_with_the_checkpoint() -> None:
    """What was set before the log began looked as if nobody had a limit."""
    later = log(limit(1, "alice", 1e6), limit(2, "bob", 5e6)).to_arrow()
    held = log(limit(3, "alice", 2e6), limit(3, "carol", 4e6), source="checkpoint").to_arrow()
    held = held.set_column(0, held.schema.field(0), pa.array([2, 2], pa.int64()))
    after = log(limit(4, "carol", None), since=3).to_arrow()
    whole = pa.concat_tables([later, held, after]).replace_schema_metadata(after.schema.metadata)
    history = History(InMemory())
    history.backfill(whole)
    assert rows(history) == [("user=alice", 2e6, 3, None), ("user=carol", 4e6, 3, 4)]
    with pytest.raises(kn.NotFound, match="no snapshot of here was taken at or before"):
        history.as_of(at(2))


def test_secrets_and_strange_names_are_kept_as_snapshots_keep_them() -> None:
    """One name that no verb takes, and nothing was backfilled."""
    odd = "tab\tbed \u202e"
    history = History(InMemory())
    history.backfill(
        log(
            limit(1, "alice", 1e6),
            (1, "quota", "user=<default>", KEY, "5"),
            (1, "quota", "not a word", KEY, "5"),
            (1, "config", "broker=1", "ssl.key.password", "[secure]"),
            (1, "config", f"topic='{odd}'", "retention.ms", "7"),
            (1, "scram", "user=alice", "SCRAM-SHA-512", "4096"),
        )
    )
    assert [row[0] for row in rows(history)] == ["user=<default>", "user=alice"]
    secret = next(row for row in history.intervals("configs").to_pylist() if row["resource_name"] == "1")
    assert (secret["value"], secret["is_sensitive"], secret["source"]) == (None, True, "DYNAMIC_BROKER_CONFIG")


REFUSED = {
    "records are missing": (log(*CHANGES, since=None), kn.Invalid, "records of the metadata log are missing"),
    "no cluster": (
        kn.Answer(schemas.METADATA_CHANGES.empty()),
        kn.UsageError,
        "cluster of the metadata log is unknown",
    ),
    "another frame": (kn.Answer(schemas.QUOTAS.empty()), kn.UsageError, "this is not a metadata log"),
    "a folder": ("lake", kn.UsageError, "this is not a metadata log"),
}


@pytest.mark.parametrize(("given", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_backfilled_is_refused_in_a_line(tmp_path: Path, given, kind, message) -> None:
    """It was recorded as a cluster on which nothing was set."""
    with pytest.raises(kind, match=message):
        kn.open_history(tmp_path / "lake").backfill(given)
    assert not (tmp_path / "lake").exists()


_steps = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(["alice", "bob"]), st.sampled_from([None, 1e6, 2e6])), max_size=12
)


@pytest.mark.slow
@settings(max_examples=30)
@given(_steps, st.lists(st.integers(0, 7), max_size=2))
def test_each_time_is_as_the_log_has_it_up_to_the_first_snapshot(steps, recorded) -> None:
    """Two changes of one minute, and the state between them stood in the table."""
    changes = [limit(*step) for step in sorted(steps, key=lambda step: step[0])]
    history = History(InMemory())
    for hour in sorted(recorded):
        history.record(taken(hour, {"recorded": 1.0}))
    first = min(recorded, default=99)
    history.backfill(log(*changes, since=-1))
    for hour in range(-1, 9):
        told: dict[str, float] = {}
        for when, _, entity, _, value in changes:
            if when <= hour:
                told = {name: old for name, old in told.items() if name != entity}
                told |= {entity: float(value)} if value is not None else {}
        expected = {"recorded": 1.0} if hour >= first else {name.partition("=")[2]: v for name, v in told.items()}
        assert limits_of(history.as_of(at(hour))) == expected
    assert are_maximal(history)


def test_it_is_killed_at_any_step() -> None:
    """The second run doubled what the first had written."""
    for step in itertools.count(1):
        place, calls = InMemory(), itertools.count(1)
        history = History(place)
        history.record(taken(3.5, {"alice": 2e6}))

        def disturb(step: int = step, calls: itertools.count[int] = calls) -> None:
            if next(calls) == step:
                raise KeyboardInterrupt

        place.disturb = disturb
        try:
            history.backfill(log(*CHANGES))
        except KeyboardInterrupt:
            place.disturb = lambda: None
            history.backfill(log(*CHANGES))
        else:
            assert step > 4
            return
        assert rows(history) == [("user=alice", 1e6, 1, 3), ("user=alice", 2e6, 3, None), ("user=bob", 5e6, 2, 3.5)]
        assert states(history, [0, 2.5, 4]) == {0: {}, 2.5: STATES[2.5], 4: {"alice": 2e6}}


def test_a_snapshot_is_recorded_meanwhile() -> None:
    """A job recorded as the backfill ran, and two limits of one user held at one time."""
    for step in itertools.count(1):
        place, calls = InMemory(), itertools.count(1)
        history = History(place)

        def disturb(step: int = step, place: InMemory = place, calls: itertools.count[int] = calls) -> None:
            if next(calls) == step:
                place.disturb = lambda: None
                History(place).record(taken(2.5, {"alice": 3e6}))

        place.disturb = disturb
        history.backfill(log(*CHANGES))
        if place.disturb is disturb:
            assert step > 4
            return
        assert states(history, [1, 2.5]) == {1: {"alice": 1e6}, 2.5: {"alice": 3e6}}


def test_the_line_that_is_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a folder of files, and nobody wants to write Python for it."""
    from uuid import UUID

    from kadmin_nb.commands import terminal

    values = [
        quota({"user": "alice"}, KEY, 1e6),
        created_topic("orders", UUID(int=3)),
        config(2, "orders", "retention.ms", "5"),
    ]
    write_log(tmp_path / "node", batch(0, *values), b"cut")
    words = ["history", "backfill", str(tmp_path / "lake"), str(tmp_path / "node")]
    assert terminal.run_line(words) == 0
    shown = capsys.readouterr()
    assert "offset-0" in shown.out
    assert "is cut off" in shown.err
    assert terminal.run_line([*words, "--cluster-id", "another"]) == 5
    assert "is of cluster here, not of another" in capsys.readouterr().err
    assert limits_of(kn.open_history(tmp_path / "lake").as_of("now")) == {"alice": 1e6}
