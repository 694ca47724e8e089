"""Ends a local cluster when the Python process that started it is gone, however that happened.

Its standard input is a pipe that only the starter holds open. The parent's id is looked at too: a forked
child of the starter may hold the pipe open as well.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

from kadmin_nb.local import process, runs

_watching: set[subprocess.Popen[bytes]] = set()
"""Keeps the pipes open when nobody keeps the `LocalKafka`, as in `kn.local.start().bootstrap`."""


def watch(folder: Path, run_id: str) -> subprocess.Popen[bytes]:
    """Start the watchdog of a run; it acts when its standard input is closed, also by our death."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    dog = subprocess.Popen(
        [sys.executable, "-m", "kadmin_nb.local.watchdog", str(folder), run_id],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": path}, start_new_session=True,
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


def watch_parent(folder: str, run_id: str) -> None:
    parent = os.getppid()
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 1.0)[0]:
        pass
    runs.end(Path(folder), run_id)


if __name__ == "__main__":
    watch_parent(*sys.argv[1:])
