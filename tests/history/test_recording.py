"""Recording: what is kept, what is refused, and what it costs."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.state import delta
from kadmin_nb.state.snapshot_kinds import QUOTAS
from kadmin_nb.state.snapshots import UnreadPart, snapshot
from tests.full_disk import no_more_than, small_disk
from tests.history.hours import at, configs_of, failed, limits_of, quotas_of, taken, topic
from tests.hostile_names import HOSTILE


@pytest.fixture
def history(tmp_path: Path) -> kn.state.History:
    return kn.open_history(tmp_path / "history")


def _stored(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def test_what_was_recorded_is_read_back_as_it_was(history) -> None:
    """A limit came back a little different from what it had been."""
    configs = [topic("orders", "retention.ms", "1"), topic("payments", "retention.ms", "2")]
    given = taken(0, {"alice": 0.1, "bob": 1e308, "never": float("inf")}, configs)
    history.record(given)
    back = history.as_of(at(1))
    assert back.quotas.to_arrow().equals(given.quotas.to_arrow())
    assert back.configs.to_arrow().equals(given.configs.to_arrow())
    assert (back.id, back.taken_at, back.scopes, back.complete) == (given.id, given.taken_at, given.scopes, True)


def test_any_name_survives(history) -> None:
    """A user called `<default>`, and one with a newline in the name, were one user in the history."""
    given = taken(0, {name: n + 1.0 for n, name in enumerate(HOSTILE)})
    history.record(given)
    changed = {name: n + 2.0 for n, name in enumerate(HOSTILE)}
    history.record(taken(1, changed))
    assert limits_of(history.as_of(at(0))) == limits_of(given)
    assert limits_of(history.as_of(at(1))) == changed


@pytest.mark.long
@pytest.mark.slow
def test_files_stay_few_and_small(history, tmp_path: Path) -> None:
    """A year of snapshots was a year of files, and looking back took as long as reading all of them."""
    fleet = {f"user-{n}": float(n * 7919 % 104_729 + 1) for n in range(1_000)}
    history.record(taken(0, fleet))
    whole = _stored(tmp_path)
    for hour in range(1, 60):
        fleet |= {f"user-{hour * 10 + n}": 5.0 + hour for n in range(10)} | {f"new-{hour}": 1.0}
        history.record(taken(hour, fleet))
    assert len([file for file in tmp_path.rglob("*") if file.is_file()]) <= 70
    assert _stored(tmp_path) < 12 * whole
    assert limits_of(history.as_of(at(60))) == fleet
    assert limits_of(history.as_of(at(0)))["user-10"] == 10 * 7919 % 104_729 + 1
    assert len(history.changes((None, None))) == 59 * 11


def test_an_unchanged_snapshot_adds_no_rows(history) -> None:
    """A snapshot a minute filled the lake although nothing happened."""
    history.record(taken(0, {"alice": 1.0}))
    before = history.intervals("quotas")
    assert len(history.record(taken(1, {"alice": 1.0}))) == 2
    assert history.intervals("quotas").equals(before)
    assert len(history.snapshots()) == 4


def test_a_snapshot_that_is_recorded_twice_is_there_once(history) -> None:
    """The task was tried again, and every snapshot of the day was there twice."""
    snapshot = taken(0, {"alice": 1.0})
    history.record(snapshot)
    assert len(history.record(snapshot)) == 2
    assert len(history.snapshots()) == 2


def test_nothing_there_is_said(history) -> None:
    """After all quotas were removed the history still showed the last ones."""
    history.record(taken(0, {"alice": 1.0}))
    history.record(taken(1, {}))
    assert limits_of(history.as_of(at(1))) == {}
    assert history.snapshots().to_pandas()["rows"].tolist() == [1, 0, 0, 0]
    history.record(taken(2, {"alice": 1.0}))
    assert limits_of(history.as_of(at(2))) == {"alice": 1.0}


def test_half_a_snapshot_is_refused(history, tmp_path: Path) -> None:
    """Rights were lost for an hour, and the history says that a thousand topics were deleted."""
    half = taken(0, {}, [topic("orders", "retention.ms", "1"), failed("payments")], scopes=["TOPIC"])
    assert not half.complete
    reason = "not complete: topic configs could not be read: TOPIC_AUTHORIZATION_FAILED for topic=payments; nothing was"
    with pytest.raises(kn.Invalid, match=reason):
        history.record(half)
    unexplained = snapshot({"quotas": quotas_of({})}, cluster_id="here", taken_at=at(0), complete=False)
    with pytest.raises(kn.Invalid, match="is not complete; nothing was recorded"):
        history.record(unexplained)
    assert not _stored(tmp_path)


def test_what_could_not_be_read_stays_and_the_rest_is_recorded(history) -> None:
    """One topic that I may not see, or a topic that another program had named as ours, and no quota was recorded."""
    whole = [topic("orders", "retention.ms", "1"), topic("payments", "retention.ms", "2")]
    history.record(taken(0, {"alice": 1.0}, whole))
    half = taken(1, {"alice": 2.0}, [topic("orders", "retention.ms", "5"), failed("payments")])
    lost = UnreadPart("CLIENT_CONFIGS", "INVALID_PARTITIONS", "two partitions", "Delete it.")
    recorded = history.record(replace(half, unread=(lost,)))
    assert (recorded.ok, recorded._exit_state().value) == (False, 1)
    with pytest.raises(kn.Invalid) as refused:
        recorded.raise_for_errors()
    assert (str(refused.value), refused.value.hint) == (
        "client configs could not be read: two partitions; "
        "topic configs could not be read: TOPIC_AUTHORIZATION_FAILED for topic=payments",
        "Delete it.",
    )
    rows = recorded.to_arrow().to_pylist()
    assert [(row["kind"], row["rows"], row["scopes"]) for row in rows] == [
        ("quotas", 1, "QUOTAS"),
        ("configs", 0, "BROKER CLIENT_METRICS GROUP"),
    ]
    assert [(row["resource"], row["old"], row["new"]) for row in history.changes((None, None))] == [
        ("user=alice", "1", "2")
    ]
    history.record(taken(2, {"alice": 2.0}, whole))
    assert [row["resource"] for row in history.changes((at(1), None))] == []
    assert [row["value"] for row in history.as_of(at(1)).configs] == ["1", "2"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (lambda: [1, 2], "a list is not a snapshot"),
        (lambda: taken(0, {"alice": 1.0}).quotas, "a Answer is not a snapshot"),
        (lambda: _twice(taken(0, {"alice": 1.0})), "user=alice .* twice"),
    ],
    ids=["a list", "a frame", "a row twice"],
)
def test_what_is_no_snapshot_is_refused_in_a_line(history, tmp_path: Path, given, complaint: str) -> None:
    """It took an hour to find out what was wrong with the frame."""
    with pytest.raises(kn.KadminError, match=complaint) as raised:
        history.record(given())
    assert "\n" not in str(raised.value)
    assert not _stored(tmp_path)


def _twice(snapshot: kn.Snapshot) -> kn.Snapshot:
    return snapshot.with_frame(QUOTAS, pa.concat_tables([snapshot.quotas.to_arrow()] * 2))


CANARY = "canary-9f27"


def test_no_secret_is_kept(history, tmp_path: Path) -> None:
    """A keystore's password was in the lake, since a broker told it as an ordinary text."""
    rows = [
        topic("a", "my.plugin.password", CANARY, default=CANARY),
        topic("b", "odd.key", CANARY, is_sensitive=True),
        topic("c", "retention.ms", "1"),
    ]
    for hour, seen in enumerate([rows, [{**row, "is_sensitive": False} for row in (rows[0], rows[2])]]):
        history.record(taken(hour, {}, seen))
    kept = history.intervals("configs")
    assert CANARY not in str(kept.to_pylist())
    assert len(kept) > 2
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]


_WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import kadmin_nb as kn
from tests.history.hours import taken
history = kn.open_history(sys.argv[2])
for number in range(12):
    history.record(taken(number, {"alice": number // 2 + 1.0, sys.argv[3]: 1.0}, cluster_id=sys.argv[3]))
"""


@pytest.mark.slow
def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Two jobs recorded at the same minute, and one snapshot was gone."""
    place = tmp_path / "history"
    command = [sys.executable, "-c", _WRITER, str(Path(__file__).parents[2]), str(place)]
    writers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in ("one", "two")]
    said = [writer.communicate(timeout=300)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], said
    history = kn.open_history(place)
    counts = history.snapshots().to_pandas().groupby(["cluster_id", "kind"]).size().to_dict()
    kinds = ("configs", "quotas")
    assert counts == {(name, kind): 12 for name in ("one", "two") for kind in kinds}
    for name in ("one", "two"):
        assert limits_of(history.as_of(at(12), name)) == {"alice": 6.0, name: 1.0}
        assert limits_of(history.as_of(at(3), name)) == {"alice": 2.0, name: 1.0}


@pytest.mark.parametrize("taken_away", [pytest.param(False, marks=pytest.mark.long), True])
def test_an_open_history_shows_what_others_have_recorded_since(tmp_path: Path, taken_away: bool) -> None:
    """My notebook had the history open since Monday, and showed Monday's limits: the job records in its own process."""
    place = tmp_path / "history"
    open_since = kn.open_history(place)
    open_since.record(taken(0, {"alice": 1.0}))
    assert limits_of(open_since.as_of(at(0))) == {"alice": 1.0}
    if taken_away:  # and began anew, with as many records
        place.rename(tmp_path / "before")
    record = "import sys, kadmin_nb as kn; from tests.history.hours import taken\nfor hour in range(1, 41):\n"
    record += " kn.open_history(sys.argv[1]).record(taken(hour, {'alice': hour + 1.0}))"
    subprocess.run([sys.executable, "-c", record, str(place)], check=True)
    assert limits_of(open_since.as_of(at(40))) == {"alice": 41.0}
    assert len({row["taken_at"] for row in open_since.snapshots()}) == 40 + (not taken_away)
    open_since.record(taken(41, {"alice": 42.0}))
    assert limits_of(kn.open_history(place).as_of(at(41))) == {"alice": 42.0}


def test_other_tables_are_not_taken_for_a_history(tmp_path: Path) -> None:
    """The path was that of another table, and it got columns that nobody knew."""
    from deltalake import write_deltalake

    write_deltalake(tmp_path / "orders", pa.table({"order": [1], "cluster_id": ["x"]}))
    with pytest.raises(kn.UsageError, match="orders is not a history, and not empty: _delta_log"):
        kn.open_history(tmp_path / "orders").record(taken(0, {}))
    write_deltalake(tmp_path / "lake" / "snapshots", pa.table({"order": [1], "cluster_id": ["x"]}))
    with pytest.raises(kn.UsageError, match="lake is not a history: no column taken_at") as raised:
        kn.open_history(tmp_path / "lake").record(taken(0, {}))
    assert raised.value.hint == "Found: order, cluster_id."


@pytest.mark.parametrize("kind", ["file", "folder", "broken log"])
def test_what_is_somebody_elses_is_left_alone(tmp_path: Path, kind: str) -> None:
    """A typo in the path, and my downloads were a Delta table."""
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("mine")
    elif kind == "folder":
        place.mkdir()
        (place / "letter.txt").write_text("mine")
    else:
        (place / "_delta_log").mkdir(parents=True)
        (place / "_delta_log" / f"{0:020}.json").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(kn.KadminError, match="place ") as raised:
        kn.open_history(place).record(taken(0, {"alice": 1.0}))
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_without_the_library_a_line_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """ModuleNotFoundError, thirty lines of it."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(kn.errors.Unsupported, match="deltalake is not installed") as raised:
        kn.open_history("somewhere")
    assert "kadmin_nb[delta]" in raised.value.hint


@pytest.mark.parametrize("where", ["", 5, None])
def test_a_place_is_named(where) -> None:
    """It wrote into the current folder."""
    with pytest.raises(kn.UsageError, match="is not a place for a history"):
        kn.open_history(where)


def test_snapshots_print_what_they_are() -> None:
    """<Snapshot object at 0x7f…>"""
    given = snapshot(
        {"quotas": schemas.QUOTAS.empty(), "configs": configs_of(failed("x"))},
        cluster_id="here",
        taken_at=at(0),
        snapshot_id="s",
    )
    title, failure, hint = repr(given).splitlines()
    assert title.endswith("2026-11-01T00:00:00+00:00: 0 quotas, 1 configs, NOT COMPLETE: 1 could not be read>")
    assert failure == "NotAuthorized: TOPIC_AUTHORIZATION_FAILED for TOPIC x: Topic authorization failed."
    assert hint == "Hint: It needs DESCRIBE_CONFIGS on the topic x."


def _recorded(history, times: int) -> None:
    for hour in range(times):
        history.record(taken(hour, {"alice": hour + 1.0}))


@pytest.mark.parametrize("kilobytes", [4, 12, 24])
def test_a_full_disk_is_one_line(kilobytes, tmp_path):
    """`history record` on a full disk was a stack trace of Rust's."""
    told = r"history cannot be written: .*(No space left|File too large)"
    with small_disk(tmp_path / "disk", kilobytes) as is_mounted:
        limit = nullcontext() if is_mounted else no_more_than(kilobytes * 100)
        history = kn.open_history(tmp_path / "disk" / "history")
        with limit, pytest.raises(kn.Invalid, match=told) as raised:
            _recorded(history, 100)
        assert "\n" not in str(raised.value)


def test_a_folder_that_may_not_be_written_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a read-only disk it said that others were faster, ten times over, and that I should record again."""
    history = kn.open_history(tmp_path / "history")

    def lose(*_: object, **__: object) -> None:
        raise CommitFailedError("a lost race, as delta-rs has it")

    def refuse(**_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    history.record(taken(0, {"alice": 0.0}))
    monkeypatch.setattr("deltalake.DeltaTable.merge", lose)
    monkeypatch.setattr(delta.tempfile, "TemporaryFile", refuse)
    with pytest.raises(kn.Invalid, match="history cannot be written: Read-only file system"):
        history.record(taken(1, {"alice": 1.0}))


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        ("a" * 300, "a cannot be the folder of a history: File name too long"),
        ("/etc/hostname/x", "Not a directory"),
        ("a\\b", r"'\\\\' in its path"),
        ("[a]", r"'\[' in its path"),
        ("s3://a/b", "is an address, not the path of a folder"),
        ("file:///a", "is an address, not the path of a folder"),
    ],
    ids=lambda text: text[:20],
)
def test_a_place_that_cannot_be_one(where: str, complaint: str) -> None:
    """A long name was a stack trace; an unknown address, *others recorded at the same time, 10 times over*."""
    with pytest.raises(kn.UsageError, match=complaint) as raised:
        kn.open_history(where).record(taken(0, {"alice": 1.0}))
    assert "\n" not in str(raised.value)
