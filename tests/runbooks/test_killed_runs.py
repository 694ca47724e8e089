"""Runs that were killed: what their record says. No broker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import eventually

pytest.importorskip("papermill")

pytestmark = pytest.mark.slow

RECORD = "record = kn.runbooks.record('mine', params, globals())\nwith record:\n    print('looked')"
PLANNED = "from tests.runbooks.test_record import PLAN\nwith record:\n    record.plan = PLAN"
APPLYING = """
import time
class Cluster:
    id = "cluster-1"
    def apply(self, plan, options=None):
        import os
        with open("applying.new", "w") as file:
            file.write(str(os.getpid()))
        os.rename("applying.new", "applying")
        time.sleep(600)
record.cluster = Cluster()
with record:
    record.apply()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def killed(mine: Path, folder: Path, mark: str) -> None:
    """Run it as `out.ipynb`, and kill the launcher when the notebook has made this file."""
    code = f"import kadmin_nb as kn; kn.runbooks.run({str(mine)!r}, output='out.ipynb')"
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as running:
        eventually((folder / mark).exists, True, seconds=60)
        assert read(folder / "out.json")["ok"] is None
        running.send_signal(signal.SIGKILL)
    kernel = (folder / mark).read_text()
    eventually(lambda: Path(f"/proc/{kernel}").exists(), False, seconds=30)


def test_a_run_that_was_killed_while_it_applied_has_not_ended(written: Callable[..., Path], folder: Path) -> None:
    """The worker was killed; the record said "ok": true for ever."""
    killed(written("apply: bool = True\n", RECORD, PLANNED, APPLYING), folder, "applying")
    found = read(folder / "out.json")
    assert (found["state"], found["ok"], found["changed"]) == ("applying", None, None)
