"""Tab in the real bash, zsh and fish; where a shell is not installed, what it would be told."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

from kadmin_nb.commands.completions import names_file

pytestmark = pytest.mark.slow

TARGET = "127.0.0.1:1"
"""Nobody answers there."""

HOSTILE = ("b c", "it's", "x$(id)", "CN=Zoë, O=y", "z\\slash;*")
NAMES = {
    "user": ("alice", *HOSTILE),
    "client-id": ("app-one",),
    "topic": ("orders",),
    "group": ("billing",),
    "broker": ("17",),
}
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
    """That of a person with a home of their own, and names that another process left a moment ago."""
    monkeypatch.chdir(tmp_path)
    for name in ("KADMIN_CACHE", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, map(Path, sys.path))))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("KADMIN_PROFILE", raising=False)
    return dict(os.environ)


@pytest.fixture
def known(environment: dict[str, str]) -> None:
    """The names of the target, as of now."""
    place = names_file(TARGET)
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps(NAMES))


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


@pytest.mark.usefixtures("known")
def test_tab_completes_names_and_keys_in_the_real_shell(shell) -> None:
    """Completion was tested by its functions, and in my zsh Tab did nothing."""
    for line, word in (
        ("quota describe --cluster {} user=al", "user=alice"),
        ("quota describe --cluster {} client-id=ap", "client-id=app-one"),
        ("config describe --cluster {} topic=or", "topic=orders"),
        ("config describe --cluster {} group=bi", "group=billing"),
        ("config describe --cluster {} broker=1", "broker=17"),
    ):
        typed = f"kadmin-nb {line.format(TARGET)}"
        assert shell.completed(typed) == [*typed.split()[:-1], word]


@pytest.mark.usefixtures("known")
def test_a_key_waits_for_its_value(shell) -> None:
    """After producer_byte_rate= Tab put a space, and I deleted it each time."""
    assert shell.completed("kadmin-nb quota set prod", "5MB/s")[-1] == "producer_byte_rate=5MB/s"


@pytest.mark.usefixtures("known")
def test_a_hostile_name_stays_one_word_of_the_line(shell) -> None:
    """Tab put $(id) on my line, and the shell ran it."""
    for name in HOSTILE:
        line = f"kadmin-nb quota describe --cluster {TARGET} user={name[0]}"
        assert shell.completed(line)[-1] == f"user={name}"


def test_a_cluster_that_is_dead_costs_nothing_on_tab(shell) -> None:
    """Tab hung for half a minute when the broker was down, and wrote a stack trace over my line."""
    line = f"kadmin-nb quota describe --cluster {TARGET} user=al"
    assert shell.completed(line) == line.split()


def test_a_broken_profiles_file_prints_nothing_on_tab(shell, tmp_path) -> None:
    """The error of the profiles file stood in the middle of the line that I was typing."""
    (tmp_path / "kadmin-nb.toml").write_text("[profiles\n")
    line = "kadmin-nb quota describe user=al"
    assert shell.completed(line) == line.split()


@pytest.fixture
def asked(environment: dict[str, str]) -> Callable[[str, str], list[str]]:
    """`asked("zsh", line)`: what completion prints for that shell, which needs not be here."""

    def ask(shell: str, line: str) -> list[str]:
        words = line.split(" ")
        place = words[-1] if shell == "fish" else str(len(words) - 1)
        protocol = {"_KADMIN_NB_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place}
        done = subprocess.run(["kadmin-nb"], env=environment | protocol, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return list(filter(None, done.stdout.splitlines()))

    return ask


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("shell", "lines"),
    [("bash", ["plain,user=alice"]), ("zsh", ["plain", "user=alice", "_"]), ("fish", ["plain,user=alice"])],
)
def test_each_shell_is_told_the_names_in_its_protocol(asked, shell, lines) -> None:
    """A release broke Tab in fish, and nobody of us has fish."""
    assert asked(shell, f"kadmin-nb quota describe --cluster {TARGET} user=al") == lines
    assert asked(shell, "kadmin-nb quota describe --cluster nowhere.properties user=zz") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_is_one_that_it_reads(environment, shell) -> None:
    """The script for my shell had a syntax error."""
    script = subprocess.run(
        ["kadmin-nb"], env=environment | {"_KADMIN_NB_COMPLETE": f"{shell}_source"}, capture_output=True, text=True
    ).stdout
    assert f"{shell}_complete" in script
    if shell in INSTALLED:
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
