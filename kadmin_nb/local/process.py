"""Processes that are ours: started detached, found again by a token on their command line.

A process id alone may by now belong to somebody else. Each process we start carries a token that no other
has, and is only signalled while the process behind the id still shows that token. (A start time would say the
same, but is read differently on every system.)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kadmin_nb import files

ENDED = "ended"
"""A file of this name in a run's folder says: what starts from now on must die at once."""

_SHIM = f"""
"$@" </dev/null >>console.log 2>&1 &
echo "$! $0" >pid && [ ! -e ../{ENDED} ] || kill -9 $!
"""


def environment() -> dict[str, str]:
    """Ours, with which a Python finds this kadmin_nb."""
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def spawn(folder: Path, token: str, command: Sequence[str], env: Mapping[str, str]) -> None:
    """Start a command detached, in `folder`, its output to `console.log`, its id and token to `pid`.

    `token` must be part of the command. The shell between us writes the id and then looks for the mark that
    the run has ended; whoever ends a run writes the mark and then reads the ids. So no process is missed,
    even when we are killed half-way.
    """
    subprocess.run(["/bin/sh", "-c", _SHIM, token, *command], cwd=folder, env=dict(env), check=True,
                   start_new_session=True, stdin=subprocess.DEVNULL)  # fmt: skip


def remember(file: Path, pid: int, token: str) -> None:
    files.write(file, f"{pid} {token}\n")


def forget(file: Path) -> None:
    file.unlink(missing_ok=True)


def living(file: Path) -> int | None:
    """The process id in a pid file, if that very process is still alive."""
    try:
        pid, token = file.read_text().split()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    if sys.platform == "linux":
        words = _proc_command_line(int(pid))
    else:
        line = ["ps", "-ww", "-o", "command=", "-p", pid]
        words = subprocess.run(line, capture_output=True, text=True, errors="replace").stdout
    return int(pid) if token in words else None


def send(file: Path, number: signal.Signals) -> bool:
    """Signal the process in a pid file; False when it is gone."""
    pid = living(file)
    if pid is None:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def freeze(file: Path, seconds: float = 10.0) -> None:
    """Freeze the process in a pid file (SIGSTOP), and wait until it is: on a busy machine it goes on for a while."""
    end = time.monotonic() + seconds
    send(file, signal.SIGSTOP)
    while (pid := living(file)) and _state(pid) != "T" and time.monotonic() < end:
        time.sleep(0.002)


def wait_until_dead(files: Sequence[Path], seconds: float) -> bool:
    """Wait for every process in the pid files to be gone; False when one still lives after `seconds`."""
    end = time.monotonic() + seconds
    while any(living(file) for file in files):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def kill(files: Sequence[Path], seconds: float = 10.0) -> bool:
    """Kill every process in the pid files and wait; False when one still lives after `seconds`."""
    for file in files:
        send(file, signal.SIGKILL)
    return wait_until_dead(files, seconds)


def _proc_command_line(pid: int) -> str:
    """The words that a process was started with; empty when there is none, or only its exit status is left.

    One that is just becoming another program (exec) has no words for a moment: it is asked again.
    """
    try:
        for _ in range(100):
            if words := Path(f"/proc/{pid}/cmdline").read_bytes():
                return words.decode(errors="replace")
            if _state(pid) in "ZX":
                break
            time.sleep(0.002)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass
    return ""


def _state(pid: int) -> str:
    """A letter as `ps` shows it: T is stopped, Z and X are dead; empty where there is no such process."""
    if sys.platform == "linux":
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return ""
    return subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True).stdout[:1]
