"""The folders of local clusters, one a name, and their processes: what was started, what still lives, who ends it.

<state>/local/NAME/run.json          what was started (no secret in it)
                   watchdog          process id of the watchdog, where the cluster dies with its starter
                   users/            how a Java client connects, a properties file (0600) a user
                   node-1/           server.properties (0600), data, server.log, console.log, pid
                   traffic/          console.log and pid of the demo's clients

A process id alone may by now belong to somebody else. Each process we start carries a token that no other
has, and is only signalled while the process behind the id still shows that token. (A start time would say the
same, but is read differently on every system.)
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import UsageError
from kadmin_nb.local_runs import all_runs, load_run, run_folder
from kadmin_nb.paths import state_dir

# --- processes ---


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


def wait_until_dead(pid_files: Sequence[Path], seconds: float) -> bool:
    """Wait for every process in the pid files to be gone; False when one still lives after `seconds`."""
    end = time.monotonic() + seconds
    while any(living(file) for file in pid_files):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


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


# --- runs ---


@contextmanager
def claim(name: str, *, unique: bool) -> Iterator[Path]:
    """An empty folder for a new run, and the sole right to start under this name until the block ends.

    A name drawn at random is `unique` and needs no lock. Leftovers are removed: of this name, and of every
    cluster that should have died with its starter and did (after a power cut nobody else does).

    Raises
    ------
    UsageError
        A cluster of this name runs, or is being started.
    """
    folder = run_folder(name)
    files.make_folder(folder.parent, mode=0o700)
    with nullcontext() if unique else _starting(name):
        if _lives(folder):
            ways = f"kadmin-nb local lists it, or kadmin-nb local stop --name {name}"
            raise UsageError(f"a local Kafka {name!r} runs already", hint=ways)
        for other, run in all_runs():
            if not run.outlives and not _lives(other):
                shutil.rmtree(other, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        files.make_folder(folder, mode=0o700)
        yield folder


@contextmanager
def _starting(name: str) -> Iterator[None]:
    path = state_dir() / "local" / f".{name}.lock"
    with files.locking(path) as is_ours:
        if not is_ours:
            raise UsageError(f"a local Kafka {name!r} is being started by another process",
                             hint="wait for it, or choose another name")  # fmt: skip
        yield


def _lives(folder: Path) -> bool:
    """A node lives, or the watchdog: then its Python process does, and may restart its nodes."""
    return any(living(file) for file in [*_pid_files(folder), folder / "watchdog"])


def _pid_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/pid"))


def kill_nodes(folder: Path) -> None:
    """Kill every node of a run, and the clients of a demo.

    By SIGKILL: three nodes asked politely wait 5 s for a quorum that is gone.
    """
    pid_files = _pid_files(folder)
    for file in pid_files:
        send(file, signal.SIGKILL)
    wait_until_dead(pid_files, 10.0)


def end(folder: Path, run_id: str) -> None:
    """Kill every node of a run and remove its folder; nothing when another run has it by now."""
    run = load_run(folder)
    if run is None or run.run_id != run_id:
        return
    try:
        (folder / ENDED).touch()
    except OSError as error:
        raise files.not_written(folder / ENDED, error) from None
    kill_nodes(folder)
    shutil.rmtree(folder, ignore_errors=True)


_watching: set[subprocess.Popen[bytes]] = set()
"""Keeps the pipes open when nobody keeps the `LocalKafka`, as in `kn.local.start().bootstrap`."""


def watch(folder: Path, run_id: str) -> subprocess.Popen[bytes]:
    """The process that ends a run when the Python process that started it is gone, however that happened.

    Its standard input is a pipe that only we hold open. The parent's id is looked at too: a forked child of ours may
    hold the pipe open as well.
    """
    dog = subprocess.Popen(
        [sys.executable, "-m", "kadmin_nb.local.runs", str(folder), run_id],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.parent,
        env=environment(), start_new_session=True,
    )  # fmt: skip
    files.write(folder / "watchdog", f"{dog.pid} {run_id}\n")
    _watching.add(dog)
    return dog


def release(dog: subprocess.Popen[bytes]) -> None:
    """Let the watchdog end, after its cluster has."""
    if dog.stdin:
        dog.stdin.close()
    dog.wait(timeout=15)
    _watching.discard(dog)


if __name__ == "__main__":
    parent, (run_folder_name, its_id) = os.getppid(), sys.argv[1:]
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 1.0)[0]:
        pass
    end(Path(run_folder_name), its_id)
