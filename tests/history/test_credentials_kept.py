"""SCRAM users are in snapshots, differences and histories by mechanism and iterations, and never with a secret."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from kadmin_nb.plans.plan import Plan
from tests.command_result import CommandResult
from tests.waiting import eventually

pytestmark = pytest.mark.broker

PASSWORD = "correct-horse-battery"

Line = Callable[..., CommandResult]


@pytest.fixture
def line(kafka: LocalKafka, capsys: pytest.CaptureFixture[str]) -> Line:
    def run(*words: str) -> CommandResult:
        code = terminal.run_line([*words, "--cluster", kafka.bootstrap])
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def user(unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("NEW", PASSWORD)
    return unique("alice")


def set_password(cluster: kn.Cluster, user: str, mechanism: str, iterations: int) -> Plan:
    stage = cluster.new_stage()
    stage.set_scram(user, mechanism, password="env:NEW", iterations=iterations)
    plan = stage.plan()
    cluster.apply(plan).raise_for_errors()
    return plan


def of_user(answer: kn.Answer, user: str, *names: str) -> list[tuple]:
    rows = answer.to_arrow().to_pylist()
    return [
        tuple(row[name] for name in names) for row in rows if f"user={user}" in (row.get("resource"), row.get("entity"))
    ]


def test_who_could_log_in_is_in_a_snapshot(cluster: kn.Cluster, user: str) -> None:
    """Two snapshots of the cluster were the same, and on one of them alice could log in."""
    before = cluster.snapshot()
    set_password(cluster, user, "SCRAM-SHA-512", 8192)
    eventually(lambda: len(cluster.snapshot("credentials").credentials) > len(before.credentials), True)
    taken = cluster.snapshot()
    assert of_user(taken.credentials, user, "user", "key", "value") == [(user, "SCRAM-SHA-512", 8192)]
    names = ("kind", "resource", "key", "state", "a", "b")
    row = ("scram", f"user={user}", "SCRAM-SHA-512", "added", None, "8192")
    assert of_user(kn.diff(before, taken), user, *names) == [row]


def test_a_plan_of_credentials_is_compared(cluster: kn.Cluster, user: str) -> None:
    """The plan gave bob more iterations, and the diff of it and the cluster had nothing to say."""
    plan = set_password(cluster, user, "SCRAM-SHA-256", 4096)
    eventually(lambda: len(of_user(kn.diff(plan, cluster), user, "state")), 0)
    set_password(cluster, user, "SCRAM-SHA-256", 9000)
    eventually(lambda: of_user(kn.diff(plan, cluster), user, "state", "a", "b"), [("changed", "4096", "9000")])


def test_a_history_says_whose_a_new_login_is(cluster: kn.Cluster, user: str, line: Line, tmp_path: Path) -> None:
    """Somebody had made a user that nobody knew, and the history had not a word of it."""
    lake = str(tmp_path / "lake")
    assert line("history", "record", lake).code == 0
    shutil.rmtree(Path(lake) / "credentials_history")  # as versions made it that kept no credentials
    snapshots = kn.open_history(lake)
    assert len(snapshots.intervals("credentials")) == 0
    assert line("history", "record", lake).code == 0
    plan = set_password(cluster, user, "SCRAM-SHA-512", 4096)
    eventually(lambda: len(of_user(cluster.snapshot("credentials").credentials, user, "key")), 1)
    assert line("history", "record", lake).code == 0
    changed = json.loads(line("history", "changes", lake, "--json").out)
    mine = [row for row in changed if row["resource"] == f"user={user}"]
    assert [(row["kind"], row["key"], row["state"], row["old"], row["new"]) for row in mine] == [
        ("scram", "SCRAM-SHA-512", "added", None, "4096")
    ]
    assert (mine[0]["plan_id"], mine[0]["author"]) == (plan.id, plan.head.author)
    shown = json.loads(line("history", "as-of", lake, "now", "--credentials", "--json").out)
    assert [(row["key"], row["value"]) for row in shown if row["user"] == user] == [("SCRAM-SHA-512", 4096)]
    assert not any(PASSWORD.encode() in file.read_bytes() for file in Path(lake).rglob("*") if file.is_file())
    stage = cluster.new_stage()
    stage.delete_scram(user, "SCRAM-SHA-512")
    cluster.apply(stage.plan()).raise_for_errors()
    eventually(lambda: len(of_user(cluster.snapshot("credentials").credentials, user, "key")), 0)
    told = kn.diff(f"history:{lake}", cluster)
    assert of_user(told, user, "state", "a", "b") == [("removed", "4096", None)]


def test_a_file_has_none(cluster: kn.Cluster, user: str, line: Line) -> None:
    """I asked for the users, and read that the kind is unknown."""
    set_password(cluster, user, "SCRAM-SHA-512", 4096)
    said = line("export", "--kinds", "credentials")
    assert (said.code, said.out) == (2, "")
    assert "no file has credentials" in said.err
    assert user not in line("export").out
