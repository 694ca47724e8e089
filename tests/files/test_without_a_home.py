"""A container: no HOME, a number without a name; a state folder that cannot be written."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

import kadmin_nb as kn
from kadmin_nb import files, paths
from kadmin_nb.commands import terminal
from kadmin_nb.local import runs
from kadmin_nb.plans.approval import author
from kadmin_nb.profiles import targets


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user without a home folder and without a name."""
    for name in ("HOME", "USER", "LOGNAME", "LNAME", "USERNAME", "KADMIN_STATE", "KADMIN_CACHE", "KADMIN_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54_321)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("words", [["plan", "log"], ["local"], ["plan", "log", "abcdef"]])
def test_what_keeps_files_says_where_it_could(words, capsys):
    """In a container `plan log` was a stack of twenty lines: Could not determine home directory."""
    assert terminal.run_line(words) == 1
    assert capsys.readouterr().err.splitlines() == [
        "NotFound: no home folder to keep files in: HOME is not set",
        "Hint: Set KADMIN_STATE=/a/folder to a folder that you can write to.",
    ]


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("name", ["HOME", "XDG_STATE_HOME"])
def test_a_home_that_is_not_a_whole_path_is_none(name, monkeypatch, capsys):
    """HOME=. of a container was a stack of platformdirs: could not determine the home directory."""
    monkeypatch.setenv(name, "relative")
    assert terminal.run_line(["plan", "log"]) == 1
    says, hint = capsys.readouterr().err.splitlines()
    assert says.startswith("NotFound: no home folder to keep files in: HOME is ")
    assert hint == "Hint: Set KADMIN_STATE=/a/folder to a folder that you can write to."


def test_a_kafka_of_somebody_else_is_not_stopped(monkeypatch, tmp_path):
    """`local stop` of another user's Kafka was a stack: PermissionError."""
    monkeypatch.setattr(runs, "load_run", lambda folder: SimpleNamespace(run_id="id"))
    monkeypatch.setattr(runs, "ENDED", "not-there/ended")
    with pytest.raises(kn.NotFound, match="not-there/ended cannot be written: No such file or directory"):
        runs.end(tmp_path, "id")
    assert tmp_path.is_dir()


@pytest.mark.usefixtures("nobody")
def test_what_keeps_none_works_without_a_home(monkeypatch, tmp_path):
    """A plan could not even be shown in a container."""
    assert author().startswith("uid 54321@")
    assert targets.load_profiles().path is None
    with pytest.raises(kn.errors.ConnectionFailed):
        kn.connect("localhost:1", timeout=5)
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path))
    assert paths.state_dir() == tmp_path


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("path", ["~/p.toml", "~nobody-is-called-so/p.toml"])
def test_a_tilde_that_stands_for_nothing(path, monkeypatch):
    """`policy = "~/p.toml"` was a stack trace of the standard library."""
    with pytest.raises(kn.UsageError, match=f"{path} begins with a home folder that is not known here"):
        files.expanded(path)
    monkeypatch.setenv("KADMIN_CONFIG", path)
    with pytest.raises(kn.UsageError, match="not known here"):
        targets.find_file()


@pytest.mark.parametrize("state", ["/proc/kadmin-nb", "file"])
def test_a_state_folder_that_cannot_be_written(state, monkeypatch, tmp_path):
    """`local start` where the state folder is read-only was a stack trace."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / state))
    with pytest.raises(kn.KadminError, match=r"local cannot be written: "), runs.claim("one", unique=False):
        pass
