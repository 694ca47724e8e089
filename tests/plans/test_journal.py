"""A journal says what was meant and what came of it; whoever edits it is found out, whatever dies while writing."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb import files, paths
from kadmin_nb.documents import as_type
from kadmin_nb.plans.journal import Journal, JournalRecord, Says, read_records, replay, storage
from kadmin_nb.plans.journal.storage import folder_of
from tests.full_disk import no_more_than
from tests.waiting import eventually, state_of_process


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cluster" / "plan.jsonl"


def written(place: Path) -> bytes:
    with Journal.open(place) as book:
        book.write("intent", rows="1-3")
        book.write("outcome", refused={"2": "INVALID_CONFIG: naïve \ud800 \n"})
        book.write("end", states={"verified": "1,3"})
    return place.read_bytes()


def kinds(place: Path) -> list[str]:
    return [record.kind for record in read_records(place).records]


def test_what_was_written_is_read(place):
    """The journal said less than had been done."""
    written(place)
    records = read_records(place).records
    assert [(r.line, r.kind) for r in records] == [(1, "intent"), (2, "outcome"), (3, "end")]
    assert records[1].says == {"refused": {"2": "INVALID_CONFIG: naïve \ud800 \n"}}


@pytest.mark.slow
def test_any_edited_byte_names_its_line(place):
    """Somebody had changed a row of the journal, and nobody noticed."""
    good = written(place)
    lines = good.split(b"\n")
    for at in range(len(good) - 1):  # the last line end alone may be missing: its writer died
        place.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        line = good[:at].count(b"\n") + 1
        with pytest.raises(kn.Invalid, match=rf"line {line} of the journal .* was edited"):
            read_records(place)
        with pytest.raises(kn.Invalid, match=rf"line {line} "):
            Journal.open(place)
    for gone in range(2):
        place.write_bytes(b"\n".join([*lines[:gone], *lines[gone + 1 :]]))
        with pytest.raises(kn.Invalid, match=rf"line {gone + 1} "):
            read_records(place)


@pytest.mark.slow
def test_any_byte_that_is_not_utf_8_names_its_line(place):
    """UnicodeEncodeError: 'utf-8' codec can't encode character, and a stack trace."""
    good = written(place)
    for at in range(len(good) - 1):
        place.write_bytes(good[:at] + b"\xff" + good[at + 1 :])
        line = good[:at].count(b"\n") + 1
        for look in (read_records, Journal.open):
            with pytest.raises(kn.Invalid, match=rf"line {line} of the journal .* was edited"):
                look(place)
    place.write_bytes(good[:-1] + b"\xff")
    assert read_records(place).torn == [3]


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ('{"kind":"run","run":"one"}', "run: expected int, got str"),
        ('{"kind":["run"]}', "kind: expected str, got array"),
        ('{"run":1}', "object missing required field kind"),
        ("[]", "expected object, got array"),
        ("1", "expected object, got int"),
        ("[" * 9999, "maximum recursion depth exceeded"),
    ],
)
def test_a_line_under_a_right_hash_that_is_not_a_record_is_named(record, told, place):
    """Another program had written the journal, and plan log ended in a stack trace."""
    with Journal.open(place) as book:
        book.write("intent", rows="1")
        book.append(record)
    with pytest.raises(kn.Invalid, match=f"line 2 of the journal is not a record of kadmin_nb: {told}"):
        read_records(place)


def test_a_field_of_a_record_that_is_wrong_is_named(place):
    """The journal could not be replayed, and nothing said where."""
    with Journal.open(place) as journal:
        journal.write("intent", at="2026-08-01T12:00:00+00:00", rows=7)
    with pytest.raises(kn.Invalid) as refused:
        read_records(place)
    assert str(refused.value) == "line 1 of the journal is not a record of kadmin_nb: rows: expected str, got int"


def test_lines_cut_off_the_end_are_seen_against_the_head_that_was_kept(place):
    """The last line was gone, and the rest of the chain was whole."""
    good = written(place)
    head = read_records(place).head
    place.write_bytes(b"\n".join(good.split(b"\n")[:2]) + b"\n")
    assert read_records(place).head != head


@pytest.mark.slow
def test_a_torn_last_line_is_passed_over_and_told_of(place):
    """The machine lost power while the journal was written, and the plan could not be resumed."""
    good = written(place)
    for end in range(len(good)):
        place.write_bytes(good[:end])
        whole = good[: end + 1].count(b"\n") if good[end : end + 1] == b"\n" else good[:end].count(b"\n")
        assert len(read_records(place).records) == whole
        with Journal.open(place) as book:
            assert len(book.before) == whole
            book.write("run", run=2)
        torn = ["torn"] if good[:end].rpartition(b"\n")[2] and whole == good[:end].count(b"\n") else []
        assert kinds(place)[whole:] == [*torn, "run"]


def test_a_line_torn_while_a_torn_line_was_told_of(place):
    """It died twice at the same place."""
    good = written(place)
    place.write_bytes(good + b'{"hash":"12')
    with Journal.open(place):
        pass
    told = place.read_bytes()
    for end in range(len(good) + 11, len(told)):
        place.write_bytes(told[:end])
        with Journal.open(place) as book:
            book.write("run", run=2)
        assert [kind for kind in kinds(place) if kind != "torn"] == ["intent", "outcome", "end", "run"]


def test_on_a_volume_each_record_is_a_file(place, monkeypatch):
    """On a Databricks volume: [Errno 95] Operation not supported."""
    real = os.open

    def like_a_volume(path, flags, *more):
        if flags & os.O_APPEND:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported", path)
        return real(path, flags, *more)

    monkeypatch.setattr(os, "open", like_a_volume)
    monkeypatch.setattr(paths, "VOLUMES", str(place.parent.parent))
    for kind in ("intent", "outcome"):
        with Journal.open(place) as book:
            book.write(kind, rows="1")
    files = sorted(file.name for file in folder_of(place).glob("*.json"))
    assert files == ["000001.json", "000002.json"]
    assert kinds(place) == ["intent", "outcome"]
    (folder_of(place) / "000001.json").write_text("{}\n")
    with pytest.raises(kn.Invalid, match="line 1 "):
        read_records(place)


def test_threads_that_begin_at_once_have_files_and_one_journal_each(tmp_path):
    """Two runs of a plan began at once, and both were refused, or none."""
    barrier = threading.Barrier(8)

    def begun(number: int) -> bool:
        barrier.wait()
        try:
            with Journal.open(tmp_path / f"round{number // 4}.jsonl") as book:
                book.write("intent", rows="1")
                barrier.wait()
                return True
        except kn.PlanRefused:
            barrier.wait()
            return False

    with ThreadPoolExecutor(8) as pool:
        for number in range(0, 400, 8):
            won = list(pool.map(begun, range(number, number + 8)))
            assert (sum(won[:4]), sum(won[4:])) == (1, 1)


def test_a_journal_taken_away_by_its_last_writer_is_opened_anew(place, monkeypatch):
    """Two processes had one journal: the file of the first was no longer in its folder."""
    lock = storage.files.lock_open_file

    def late(file: int) -> bool:
        monkeypatch.setattr(storage.files, "lock_open_file", lock)
        place.unlink()
        return lock(file)

    place.parent.mkdir()
    monkeypatch.setattr(storage.files, "lock_open_file", late)
    with Journal.open(place), pytest.raises(kn.PlanRefused, match="another process is applying this plan"):
        Journal.open(place)


def test_a_second_process_is_refused_while_the_first_writes(place):
    """Two jobs resumed the same plan at the same time."""
    opening = f"Journal.open(Path({str(place)!r}))"
    program = f"from kadmin_nb.plans.journal import Journal; from pathlib import Path; {opening}"
    with Journal.open(place) as book:
        book.write("run", run=1)
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Locked: another process is applying this plan" in ended.stderr
    with Journal.open(place):
        pass


def test_a_zombie_keeps_nobody_out(place):
    """The container has no init: the run was killed, nobody asked how it ended, and its plan was 'being applied'."""
    program = f"import sys; book = Journal.open(Path({str(place)!r})); print(flush=True); sys.stdin.read()"
    modules = "from kadmin_nb.plans.journal import Journal; from pathlib import Path"
    words = [sys.executable, "-c", f"{modules}; {program}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        assert killed.stdout.readline()
        with pytest.raises(kn.errors.Locked):
            Journal.open(place)
        killed.kill()
        eventually(lambda: state_of_process(killed.pid), "Z")
        Journal.open(place).close()


def test_a_journal_in_which_nothing_was_written_is_not_left_behind(place):
    """A plan that was refused had a journal, empty, and `plan log` could not read it."""
    with Journal.open(place):
        pass
    assert not place.exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    """OSError: [Errno 20], and a stack trace."""
    (tmp_path / "file").write_text("")
    with pytest.raises(kn.PlanRefused, match=r"the journal .*plan\.jsonl cannot be written") as refused:
        Journal.open(tmp_path / "file" / "plan.jsonl")
    assert refused.value.code == "JOURNAL"
    assert "KADMIN_STATE" in refused.value.hint


def test_a_journal_that_was_begun_is_not_sent_to_another_folder(place):
    """The hint named another folder, in which the plan had never been begun."""
    with Journal.open(place) as book:
        book.write("intent", rows="1-3")
    with Journal.open(place) as book, no_more_than(place.stat().st_size), pytest.raises(kn.PlanRefused) as refused:
        book.write("outcome")
    assert "KADMIN_STATE" not in str(refused.value.hint)
    assert "Free space there" in str(refused.value.hint)


def test_only_its_owner_may_read_it(place):
    """Everybody on the machine could read what we change."""
    written(place)
    assert place.stat().st_mode & 0o077 == 0


def test_ctrl_c_while_it_is_opened_leaves_it_free(place, monkeypatch):
    """I pressed Ctrl-C as the plan began, and to this kernel 'another process is applying this plan' for ever."""

    def interrupted(folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as pressing:
        pressing.setattr(files, "sync_folder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Journal.open(place)
    Journal.open(place).close()


def test_the_time_of_a_row_ends_when_brokers_show_it():
    """The history said of a refused row, and of a value that came an hour after the run, that they were the plan's."""
    texts = [
        ("run", 0, {"run": 1}),
        ("intent", 1, {"rows": "1-4", "batch": 1}),
        ("outcome", 2, {"rows": "1-4", "refused": {"3": "INVALID_REQUEST: too long"}}),
        ("end", 3, {"states": {"verified": "1", "unverified": "2", "failed": "3", "unknown": "4"}}),
        ("seen", 9, {"rows": "2"}),
        ("intent", 10, {"rows": "1", "batch": 1}),
    ]
    hours = [datetime(2026, 11, 1, hour, tzinfo=UTC) for hour in range(11)]
    records = []
    for line, (kind, hour, says) in enumerate(texts, 1):
        told = {**says, "at": hours[hour].isoformat()}
        records.append(JournalRecord(line, kind, told, as_type({**told, "kind": kind}, Says)))
    state = replay.replayed(records)
    assert state.times == {
        1: [(hours[1], hours[3]), (hours[10], None)],
        2: [(hours[1], hours[9])],
        3: [],
        4: [(hours[1], None)],
    }
    assert state.written == hours[10]


@pytest.fixture
def no_locks(monkeypatch) -> None:
    """A home on NFS whose server has no daemon for locks."""

    def refused(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)


@pytest.mark.usefixtures("no_locks")
def test_without_locks_a_run_that_is_refused_removes_no_journal_of_another(place):
    """The second run was refused by the lease and removed the journal of the first, which sent everything."""
    with Journal.open(place) as first:
        with Journal.open(place):
            pass
        first.write("run", run=1)
        assert not first.is_locked
    assert kinds(place) == ["run"]


@pytest.mark.usefixtures("no_locks")
def test_without_locks_a_run_whose_journal_was_removed_writes_nothing(place):
    """The first made the file and gave up; the second went on in a file that no folder had."""
    with Journal.open(place):
        second = Journal.open(place)
    with second, pytest.raises(kn.errors.Locked, match=rf"it has written to {place}, or removed it"):
        second.write("run", run=1)
    assert not place.exists()


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("in_folder", [False, True])
def test_without_locks_a_run_that_has_waited_spoils_no_journal(place, in_folder):
    """It had read the journal before it waited for the lease, and its lines followed none: 'line 3 was edited'."""
    if in_folder:
        folder_of(place).mkdir(parents=True)
    with Journal.open(place) as waiting:
        with Journal.open(place) as other:
            other.write("run", run=1)
        with pytest.raises(kn.errors.Locked, match="it has written to") as refused:
            waiting.write("run", run=1)
    assert (refused.value.code, kinds(place)) == ("IN_USE", ["run"])
