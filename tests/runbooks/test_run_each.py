"""A runbook on each cluster of a group: the canary first, none after one that fails, on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.runbooks import launcher
from kadmin_nb.runbooks.run_record import APPLIED, FAILED, RunError, RunRecord
from tests.terminal.pseudo_terminal import MAIN
from tests.waiting import eventually

NAMES = [f"eu-{number}" for number in range(1, 101)]


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes a `kadmin-nb.toml` with these profiles, and a group of them."""

    def write(brokers: dict[str, str], members: list[str] | None = None) -> None:
        tables = "".join(f'[profiles.{name}]\nbootstrap = "{where}"\n' for name, where in brokers.items())
        group = f"[groups.eu]\nmembers = {json.dumps([*brokers] if members is None else members)}\n"
        (tmp_path / "kadmin-nb.toml").write_text(tables + group)
        monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
        monkeypatch.chdir(tmp_path)

    return write


class Launched:
    """In place of papermill: runs that end well, but on the clusters that are broken; each leaves its record."""

    def __init__(self) -> None:
        self.clusters: list[str] = []
        self.broken: set[str] = set()

    def run(self, name: str, parameters: dict[str, Any], *, output: Path) -> None:
        cluster = parameters["cluster"]
        self.clusters.append(cluster)
        is_broken = cluster in self.broken
        error = RunError("ConnectionFailed", "no broker") if is_broken else None
        record = RunRecord(
            runbook="change_quotas", state=FAILED if is_broken else APPLIED, ok=not is_broken, changed=not is_broken,
            parameters=parameters, plan_id=None if is_broken else f"plan-of-{cluster}", error=error,
        )  # fmt: skip
        record.write(output.with_suffix(".json"))
        if is_broken:
            raise kn.errors.ConnectionFailed("no broker")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    one = Launched()
    monkeypatch.setattr(launcher, "run", one.run)
    return one


CHANGES = {"changes": ["set producer_byte_rate=5MB/s user=a"], "apply": True}


def test_it_stops_at_the_first_that_fails_and_goes_on_from_there(profiles, launched, tmp_path):
    """The loop of our shell went on over 99 clusters after the first had refused."""
    profiles({name: f"127.0.0.1:{number}" for number, name in enumerate(NAMES, 1)})
    launched.broken = {"eu-40"}
    told: list[str] = []
    with pytest.raises(kn.errors.ConnectionFailed, match="eu-40: no broker") as failed:
        kn.runbooks.run_each("change_quotas", "eu", CHANGES, canary="eu-7", output=tmp_path / "fair", tell=told.append)
    assert f"The same run with the folder {tmp_path / 'fair'} continues here." in str(failed.value.hint)
    order = ["eu-7", *(name for name in NAMES if name != "eu-7")]
    assert launched.clusters == order[:40]
    assert told[:2] == ["eu-7 (1 of 100): change_quotas", "eu-1 (2 of 100): change_quotas"]
    states = dict(zip(*(failed.value.rows.to_arrow()[name].to_pylist() for name in ("cluster", "state")), strict=True))
    assert [*states] == order
    assert [states["eu-7"], states["eu-39"], states["eu-40"], states["eu-41"], states["eu-100"]] == [
        "applied", "applied", "failed", "not started", "not started",
    ]  # fmt: skip
    launched.broken, launched.clusters = set(), []
    done = kn.runbooks.run_each("change_quotas", "eu", CHANGES, canary="eu-7", output=tmp_path / "fair")
    assert launched.clusters == order[39:]
    assert {*done["state"].to_pylist()} == {"applied"}
    launched.clusters = []
    kn.runbooks.run_each("change_quotas", "eu", CHANGES, canary="eu-7", output=tmp_path / "fair")
    assert launched.clusters == []


def test_what_was_done_is_rolled_back_the_last_first(profiles, launched, tmp_path):
    """A hundred ids of plans were looked up by hand."""
    profiles({"a": "127.0.0.1:1", "b": "127.0.0.1:2", "c": "127.0.0.1:3"})
    launched.broken = {"c"}
    with pytest.raises(kn.errors.ConnectionFailed):
        kn.runbooks.run_each("change_quotas", "eu", CHANGES, output=tmp_path / "fair")
    launched.clusters = []
    done = kn.runbooks.run_each("rollback_plan", tmp_path / "fair", {"apply": True}, output=tmp_path / "undone")
    assert launched.clusters == ["b", "a"]
    record = RunRecord.read(tmp_path / "undone" / "rollback_plan-b.json")
    assert record is not None
    assert record.parameters["plan_id"] == "plan-of-b"
    assert done["cluster"].to_pylist() == ["b", "a"]


TWO = {"a": "127.0.0.1:1", "b": "127.0.0.1:2"}
WRONG: dict[str, tuple[Any, list[str] | None, dict[str, Any], str]] = {
    "an unknown group": (TWO, None, {"each": "us"}, "no such group: us"),
    "an unknown member": (TWO, ["a", "x"], {}, "no such profile: x"),
    "a cluster twice": (TWO, ["a", "b", "a"], {}, "has a twice"),
    "the same brokers": ({"a": "127.0.0.1:1", "b": "127.0.0.1:1"}, None, {}, "a and b have the same brokers"),
    "no member": (TWO, [], {}, "has no member"),
    "no list": (TWO, [5], {}, "expected str, got int"),
    "a strange canary": (TWO, None, {"canary": "z"}, "the canary z is not in the group"),
    "a cluster": (TWO, None, {"parameters": {"cluster": "a"}}, "cluster is set for each"),
    "a wrong parameter": (TWO, None, {"parameters": {"aply": True}}, "aply"),
}


@pytest.mark.parametrize(("brokers", "members", "options", "said"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_meant_starts_nothing(profiles, launched, tmp_path, brokers, members, options, said):
    """The canary was misspelt, and all of them came first."""
    profiles(brokers, members)
    with pytest.raises(kn.KadminError, match=said):
        kn.runbooks.run_each(**{"name_or_path": "change_quotas", "each": "eu", "output": tmp_path / "x", **options})
    assert launched.clusters == []
    assert not (tmp_path / "x").exists()


def test_a_folder_of_another_run_is_left_alone(profiles, launched, tmp_path):
    """The documents of the week before were gone."""
    profiles(TWO)
    kn.runbooks.run_each("change_quotas", "eu", CHANGES, output=tmp_path / "x")
    with pytest.raises(kn.UsageError, match="has another run"):
        kn.runbooks.run_each("change_quotas", "eu", {**CHANGES, "limit": 5}, output=tmp_path / "x")
    with pytest.raises(kn.UsageError, match="takes no plan_id"):
        kn.runbooks.run_each("change_quotas", tmp_path / "x", output=tmp_path / "y")
    (tmp_path / "x" / launcher.FLEET).write_text("{}")
    with pytest.raises(kn.Invalid, match=r"is not the record of a run on many clusters"):
        kn.runbooks.run_each("change_quotas", "eu", CHANGES, output=tmp_path / "x")


@pytest.mark.broker
def test_two_clusters_and_one_that_is_down(kafka, profiles, unique, tmp_path, capsys):
    """One table says what became of each, and the line to go on is the same line."""
    user = unique("fleet")
    line = ["runbook", "run", "change_quotas", "--each", "eu", "-o", "fair", "-p", "apply=true"]
    line += ["-p", f'changes=["set producer_byte_rate=5MB/s user={user}"]']
    undo = ["runbook", "run", "rollback_plan", "--each", "fair", "-o", "undo", "-p", "apply=true"]
    with kn.local.start() as other:
        profiles({"a": kafka.bootstrap, "b": other.bootstrap, "c": "127.0.0.1:1"})
        assert terminal.run_line(line) == 1
        assert "ConnectionFailed: c: " in capsys.readouterr().err
        assert [row["state"] for row in _table("fair")] == ["applied", "applied", "failed"]
        assert terminal.run_line(undo) == 0
        assert [(row["cluster"], row["state"]) for row in _table("undo")] == [("b", "applied"), ("a", "applied")]
        for one in (kafka, other):
            with one.connect() as cluster:
                assert not len(cluster.quotas.describe(user=user))


def _table(folder: str) -> list[dict[str, Any]]:
    fleet = launcher.Fleet.read(Path(folder))
    assert fleet is not None
    return fleet.table(Path(folder)).to_arrow().to_pylist()


@pytest.mark.long
@pytest.mark.broker
def test_three_clusters_and_a_kill_in_the_middle(profiles, unique, tmp_path):
    """The laptop slept in the second cluster, and nobody knew which had it."""
    user = unique("fleet")
    with kn.local.start() as a, kn.local.start() as b, kn.local.start() as c:
        profiles({"a": a.bootstrap, "b": b.bootstrap, "c": c.bootstrap})
        line = [
            sys.executable,
            "-c",
            MAIN,
            "runbook",
            "run",
            "change_quotas",
            "--each",
            "eu",
            "-o",
            "fair",
        ]
        line += ["-p", "apply=true", "-p", f'changes=["set producer_byte_rate=5MB/s user={user}"]']
        running = subprocess.Popen(line, start_new_session=True)
        eventually(lambda: (tmp_path / "fair" / "change_quotas-b.json").exists(), True, 60)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert [row["state"] for row in _table("fair")][0::2] == ["applied", "not started"]
        assert subprocess.run(line, check=False).returncode == 0
        assert {row["state"] for row in _table("fair")} <= {"applied", "nothing to do"}
        for one in (a, b, c):
            with one.connect() as cluster:
                assert cluster.quotas.describe(user=user)["value"].to_pylist() == [5e6]
