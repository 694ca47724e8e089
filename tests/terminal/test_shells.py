"""Tab in the real bash, zsh and fish; where a shell is not installed, what it would be told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.slow

PATIENCE = 60.0
"""Seconds that a shell has on a machine with much else to do."""


@dataclass(frozen=True)
class Setup:
    """A shell: how it starts without anybody's settings, and the lines that turn completion on."""

    words: tuple[str, ...]
    lines: tuple[str, ...]


_SOURCE = 'eval "$(_KADMIN_NB_COMPLETE={}_source kadmin-nb)"'
SHELLS = {
    "bash": Setup(("--norc", "--noprofile", "-i"), ("bind 'set enable-bracketed-paste off'", _SOURCE.format("bash"))),
    "zsh": Setup(("-f", "-i"), ("autoload -Uz compinit; compinit -D -u", _SOURCE.format("zsh"))),
    "fish": Setup(("--no-config", "-i"), ("_KADMIN_NB_COMPLETE=fish_source kadmin-nb | source",)),
}
INSTALLED = [shell for shell in SHELLS if shutil.which(shell)]


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """That of a person with a home of their own."""
    monkeypatch.chdir(tmp_path)
    for name in ("KADMIN_CACHE", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, map(Path, sys.path))))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("KADMIN_PROFILE", raising=False)
    return dict(os.environ)


_PRINTED = re.compile(r"\[\[(.*?)\]\]")


class Shell:
    """A shell in a terminal of its own."""

    def __init__(self, name: str, environment: dict[str, str]) -> None:
        setup = SHELLS[name]
        options = {"env": environment, "encoding": "utf-8", "dimensions": (50, 300), "timeout": PATIENCE}
        self._child = pexpect.spawn(name, list(setup.words), **options)
        for line in setup.lines:
            self._enter(line)

    def _enter(self, line: str) -> None:
        """A line that was carried out when this returns."""
        self._child.send(f"{line}\r")
        self._child.send("echo do''ne\r")
        self._child.expect("done")

    def completed(self, line: str, more: str = "") -> list[str]:
        """The words of the line after Tab and `more`, as the shell would run them; nothing else may be printed."""
        self._child.send(f"{line}\t{more}")
        self._child.send("\x01printf '[[%s]]\\n' \x05\r")
        self._child.send("echo do''ne\r")
        self._child.expect("done")
        printed = self._child.before.replace("\r", "")
        assert "Error" not in printed, printed
        assert "Traceback" not in printed, printed
        return [word for word in _PRINTED.findall(printed) if word != "%s"]

    def close(self) -> None:
        self._child.close(force=True)


@pytest.fixture(params=INSTALLED)
def shell(request: pytest.FixtureRequest, environment: dict[str, str]) -> Iterator[Shell]:
    """Each shell that is installed here."""
    running = Shell(request.param, environment)
    yield running
    running.close()


def test_tab_completes_verbs_keys_and_types_in_the_real_shell(shell) -> None:
    """Completion was tested by its functions, and in my zsh Tab did nothing."""
    assert shell.completed("kadmin-nb quota desc") == ["kadmin-nb", "quota", "describe"]
    line = "kadmin-nb quota describe --cluster 127.0.0.1:1 client"
    assert shell.completed(line, "app")[-1] == "client-id=app"


def test_a_key_waits_for_its_value(shell) -> None:
    """After producer_byte_rate= Tab put a space, and I deleted it each time."""
    assert shell.completed("kadmin-nb quota set prod", "5MB/s")[-1] == "producer_byte_rate=5MB/s"


def test_a_broken_profiles_file_prints_nothing_on_tab(shell, tmp_path) -> None:
    """The error of the profiles file stood in the middle of the line that I was typing."""
    (tmp_path / "kadmin-nb.toml").write_text("[profiles\n")
    line = "kadmin-nb quota describe user=al"
    assert shell.completed(line) == line.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_is_one_that_it_reads(environment, shell) -> None:
    """The script for my shell had a syntax error."""
    script = subprocess.run(
        ["kadmin-nb"], env=environment | {"_KADMIN_NB_COMPLETE": f"{shell}_source"}, capture_output=True, text=True
    ).stdout
    assert f"{shell}_complete" in script
    if shell in INSTALLED:
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
