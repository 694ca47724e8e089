"""`plan show, apply, verify, rollback, log`: by file or by id, with the exit codes of the Contract."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster import changing
from kadmin_nb.plans.journal.store import journals

pytestmark = pytest.mark.broker


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Journals of this test alone."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def saved(live, unique, tmp_path) -> tuple[str, str, str]:
    """A plan's file, its id, and the user it is about."""
    user, place = unique("user"), tmp_path / "p.json"
    said = live(
        "quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", str(place), "--reason", "the fair"
    )
    assert said.code == 0
    return str(place), json.loads(place.read_text())["id"], user


def stored(cluster: kn.Cluster, user: str) -> list[float]:
    return cluster.quotas.describe(user=user, strict=True).to_arrow()["value"].to_pylist()


def test_a_plan_has_author_and_end_and_shows_itself(kadmin, saved):
    """Nobody could tell who had planned it, or how old it was."""
    place, plan_id, user = saved
    shown = kadmin("plan", "show", place).out
    assert shown.startswith(f"Plan {plan_id[:8]}")
    assert "; reason: the fair" in shown
    assert "made by " in shown
    assert "to be applied until " in shown
    assert user in kadmin("plan", "show", place, "--print", "markdown").out


def test_a_plan_that_was_begun_is_known_by_its_id(kadmin, live, saved, cluster):
    """I had lost the file, and could neither look nor go on."""
    place, plan_id, user = saved
    assert kadmin("plan", "log", plan_id[:8]).code == 1
    assert live("plan", "apply", place).code == 0
    assert kadmin("plan", "show", plan_id[:8]).out == kadmin("plan", "show", place).out
    assert live("plan", "verify", plan_id[:8]).code == 0
    listed = kadmin("plan", "log").out
    assert plan_id[:8] in listed
    assert "the fair" in listed
    again = live("plan", "apply", plan_id[:8])
    assert again.code == 0
    assert "1 unchanged" in again.out
    assert stored(cluster, user) == [5e6]


def test_the_journal_tells_what_was_meant_and_what_came_of_it(kadmin, live, saved):
    """After the incident nobody knew what the job had sent, and when."""
    place, plan_id, _ = saved
    live("plan", "apply", place)
    rows = json.loads(kadmin("plan", "log", plan_id[:8], "--json").out)
    assert [row["kind"] for row in rows] == ["plan", "run", "intent", "outcome", "end"]
    assert json.loads(rows[-1]["details"]) == {"states": {"verified": "1"}}


def test_an_edited_journal_names_the_line(kadmin, live, saved, own_state):
    """The journal was said to be proof, and a changed word in it went unnoticed."""
    place, plan_id, _ = saved
    live("plan", "apply", place)
    [journal] = own_state.glob("journal/*/*.jsonl")
    journal.write_text(journal.read_text().replace('"batch":1', '"batch":2', 1))
    said = kadmin("plan", "log", plan_id[:8])
    assert said.code == 1
    assert said.err.startswith("Invalid: line 3 of the journal ")
    assert live("plan", "apply", plan_id[:8]).code == 1
    listed = kadmin("plan", "log")
    assert (listed.code, "line 3 of the journal" in listed.err) == (1, True)


def test_a_journal_with_a_byte_that_is_not_utf_8_names_the_line(kadmin, live, saved, own_state):
    """One bad byte on the disk, and log, rollback and apply all ended in a UnicodeEncodeError."""
    place, plan_id, _ = saved
    live("plan", "apply", place)
    [journal] = own_state.glob("journal/*/*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        journal.write_bytes(b"".join([*lines[: number - 1], line[:100] + b"\xff" + line[101:], *lines[number:]]))
        for words in (["log", plan_id[:8]], ["apply", plan_id[:8]], ["rollback", plan_id[:8]], ["apply", place]):
            said = kadmin("plan", *words) if words[0] == "log" else live("plan", *words)
            assert said.code == 1
            assert said.err.startswith(f"Invalid: line {number} of the journal {journal} was edited")


def test_what_cannot_be_read_among_the_journals_hides_no_other(kadmin, live, saved, own_state):
    """One damaged journal, and plan log showed none of the others."""
    place, plan_id, _ = saved
    live("plan", "apply", place)
    [journal] = own_state.glob("journal/*/*.jsonl")
    (journal.parent / "damaged.jsonl").write_bytes(journal.read_bytes().replace(b"producer", b"\xffroducer", 1))
    os.mkfifo(journal.parent / "pipe.jsonl")
    (journal.parent / "folder.jsonl").mkdir()
    (journal.parent / os.fsdecode(b"bad-\xff.jsonl")).touch()
    (journal.parent / "link.jsonl").symlink_to("nowhere")
    listed = kadmin("plan", "log", "--json")
    rows = {row["plan_id"]: row["message"] for row in json.loads(listed.out)}
    assert listed.code == 1
    assert list(rows) == [plan_id, "bad-\\xff", "damaged", "folder", "link", "pipe"]
    assert rows.pop(plan_id) is None
    assert rows["damaged"].startswith("line 1 of the journal ")
    assert all(rows.values())
    assert kadmin("plan", "log", plan_id[:8]).code == 0


def test_a_folder_of_journals_that_cannot_be_listed_is_named(kadmin, live, saved, own_state, monkeypatch):
    """The journals of one cluster were somebody else's, and plan log said nothing about them."""
    place, plan_id, _ = saved
    live("plan", "apply", place)
    closed, real = own_state / "journal" / "closed", Path.iterdir
    closed.mkdir()

    def iterdir(folder: Path) -> Iterator[Path]:
        if folder == closed:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(folder)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    listed = kadmin("plan", "log")
    assert (listed.code, listed.err) == (
        1, f"Invalid: the folder of journals {closed} cannot be listed: Permission denied\n"
    )  # fmt: skip
    assert kadmin("plan", "log", plan_id[:8]).code == 0


def test_a_plan_is_rolled_back_and_applied_again(live, saved, cluster):
    """Undoing was typing every old value by hand."""
    place, plan_id, user = saved
    live("plan", "apply", place)
    planned = live("plan", "rollback", plan_id[:8])
    assert planned.code == 0
    assert f"; reason: roll back {plan_id[:8]}" in planned.out
    assert stored(cluster, user) == [5e6]
    assert live("plan", "rollback", plan_id[:8], "--apply").code == 0
    assert stored(cluster, user) == []
    for again in (["apply", place], ["apply", plan_id[:8]]):
        refused = live("plan", *again)
        undoing = journals().find(plan_id).state.undone_by[:8]
        assert (refused.code, refused.err.splitlines()[:2]) == (
            5,
            [
                f"Dangerous: plan {plan_id[:8]} was rolled back by plan {undoing}, and would be applied again",
                f"Hint: Nothing was sent. To apply it all the same: --allow {undoing}.",
            ],
        )
    assert live("plan", "apply", place, "--allow", "123456").code == 5
    assert stored(cluster, user) == []
    assert live("plan", "apply", place, "--allow", undoing).code == 0
    assert stored(cluster, user) == [5e6]
    assert live("plan", "apply", place).code == 0
    assert live("plan", "rollback", plan_id[:8], "--apply").code == 0
    assert live("plan", "apply", place, "--allow", undoing).code == 5
    assert stored(cluster, user) == []


def test_a_rollback_does_not_undo_what_somebody_did_since(live, saved, cluster):
    """My rollback took back my colleague's fix."""
    place, plan_id, user = saved
    live("plan", "apply", place)
    live("quota", "set", "producer_byte_rate=7MB/s", f"user={user}", "--apply")
    said = live("plan", "rollback", plan_id[:8], "--apply")
    assert said.code == 5
    changed = "1 left as is: neither the plan's value nor the one from before"
    nothing = f"there is nothing to roll back: nothing that plan {plan_id[:8]} sent is on the cluster"
    assert said.err.splitlines()[0] == f"Conflict: {nothing}; {changed}"
    assert stored(cluster, user) == [7e6]


def test_what_was_never_done_cannot_be_rolled_back(live, saved):
    """Rolling back a plan that was only saved changed something."""
    place, plan_id, _ = saved
    said = live("plan", "rollback", place)
    assert (said.code, said.err.splitlines()[0]) == (
        1,
        f"NotFound: plan {plan_id[:8]} has no journal: it was never applied from here, or there was nothing to do",
    )


def test_a_row_that_moved_refuses_the_plan(live, unique, tmp_path, cluster):
    """One row of fifty had moved, and the other forty-nine were made without anybody's word."""
    one, other, place = unique("user"), unique("user"), str(tmp_path / "many.json")
    lines = tmp_path / "lines"
    lines.write_text(f"set producer_byte_rate=1000 user={one}\nset producer_byte_rate=1000 user={other}\n")
    live("plan", "-f", str(lines), "--save", place)
    live("quota", "set", "producer_byte_rate=9000", f"user={one}", "--apply")
    refused = live("plan", "apply", place)
    assert refused.code == 5
    assert refused.err.splitlines()[2] == "1 row has changed"
    assert "now" in refused.err.splitlines()[3]
    assert (stored(cluster, one), stored(cluster, other)) == ([9000.0], [])


def test_an_expired_plan_is_refused(live, unique, tmp_path, cluster, monkeypatch):
    """A plan of last year was applied by a job that somebody had forgotten."""
    user, place = unique("user"), tmp_path / "old.json"
    monkeypatch.setattr(changing, "LIFETIME", timedelta(microseconds=1))
    live("quota", "set", "producer_byte_rate=1MB/s", f"user={user}", "--save", str(place))
    said = live("plan", "apply", str(place))
    assert said.code == 5
    shown = live("plan", "show", str(place))
    assert shown.code == 0
    assert ": it can no longer be started" in shown.out
    assert said.err.startswith("Expired: ")
    assert stored(cluster, user) == []


def test_a_plan_that_was_saved_is_overwritten_by_force_alone(live, unique, cluster, tmp_path):
    """The same line once more, and the plan under review was another, with another id."""
    place, user = tmp_path / "p.json", unique("user")
    line = ("quota", "set", "producer_byte_rate=1kB", f"user={user}", "--save", str(place))
    assert live(*line).code == 0
    before = place.read_bytes()
    said = live(*line, "--apply")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"UsageError: {place} ")
    assert "--force" in said.err
    assert place.read_bytes() == before
    assert stored(cluster, user) == []
    assert live(*line, "--force").code == 0
    assert place.read_bytes() != before


def test_where_no_journal_can_be_written_nothing_is_sent(live, saved, cluster, tmp_path, monkeypatch):
    """The disk was full: the change was made, and nothing told of it."""
    place, _, user = saved
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "file"))
    said = live("plan", "apply", place)
    assert said.code == 5
    assert "cannot be written" in said.err
    assert stored(cluster, user) == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show", "abc"), 2, "UsageError: abc is too short for a plan's id"),
        (("show", "abcdef12"), 1, "NotFound: no journal of a plan abcdef12"),
        (("show", "nothing.json"), 1, "NotFound: no such plan file: nothing.json"),
        (("apply", "x.json", "--gradual", "15"), 2, "UsageError: lowering in steps needs the clients' usage"),
        ((), 2, "UsageError: a file or a subcommand is required"),
    ],
)
def test_wrong_words_are_one_line(live, words, code, says):
    """A wrong id was a stack trace."""
    said = live("plan", *words)
    assert (said.code, says in said.err) == (code, True), said.err
