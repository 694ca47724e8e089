"""The folders of local clusters, one a name: what was started, what still lives, who may start or end it.

<state>/local/NAME/run.json          what was started (no secret in it)
                   watchdog          process id of the watchdog, where the cluster dies with its starter
                   users/            how a Java client connects, a properties file (0600) a user
                   node-1/           server.properties (0600), data, server.log, console.log, pid
                   traffic/          console.log and pid of the demo's clients
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import NotFound, UsageError
from kadmin_nb.local import process
from kadmin_nb.local_runs import Run, all_runs, load_run, run_folder
from kadmin_nb.paths import state_dir


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
    return any(process.living(file) for file in [*_pid_files(folder), folder / "watchdog"])


def _pid_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/pid"))


def kill_nodes(folder: Path) -> None:
    """Kill every node of a run, and the clients of a demo.

    By SIGKILL: three nodes asked politely wait 5 s for a quorum that is gone.
    """
    process.kill(_pid_files(folder))


def remove_nodes(folder: Path) -> None:
    for node in folder.glob("node-*"):
        shutil.rmtree(node, ignore_errors=True)


def end(folder: Path, run_id: str) -> None:
    """Kill every node of a run and remove its folder; nothing when another run has it by now."""
    run = load_run(folder)
    if run is None or run.run_id != run_id:
        return
    try:
        (folder / process.ENDED).touch()
    except OSError as error:
        raise files.not_written(folder / process.ENDED, error) from None
    kill_nodes(folder)
    shutil.rmtree(folder, ignore_errors=True)


def known(name: str) -> tuple[Path, Run]:
    """The folder and the run of a name.

    Raises
    ------
    NotFound
        No local Kafka of this name; the hint lists those there are.
    """
    folder = run_folder(name)
    run = load_run(folder)
    if run is None:
        there = ", ".join(run.name for _, run in all_runs())
        hint = f"there are: {there}" if there else "kadmin-nb local start starts one"
        raise NotFound(f"no local Kafka {name!r}", hint=hint)
    return folder, run


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
        env=process.environment(), start_new_session=True,
    )  # fmt: skip
    process.remember(folder / "watchdog", dog.pid, run_id)
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
