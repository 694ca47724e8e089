"""papermill as people have it, with kadmin_nb installed beside it: its own command and its own function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

pytest.importorskip("papermill")

pytestmark = pytest.mark.slow

RECORD = "record = kn.runbooks.record('mine', params, globals())\nrecord.finish()"
CALL = "import sys, papermill; papermill.execute_notebook(*sys.argv[1:], kernel_name='python3', progress_bar=False)"


@pytest.fixture
def installed(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which papermill finds the entry points that pyproject.toml has."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["papermill.engine"]
    metadata = tmp_path / "site" / "kadmin_nb_of_this_test-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kadmin_nb_of_this_test\nVersion: 1\n")
    lines = [f"{name} = {place}" for name, place in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[papermill.engine]", *lines, ""]))
    env = {name: value for name, value in os.environ.items() if name != "KADMIN_RUNBOOK_RECORD"}
    return {**env, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("way", ["command", "function"])
def test_the_record_lies_beside_the_document(
    way: str, written: Callable[..., Path], installed: Mapping[str, str], tmp_path: Path
) -> None:
    """The task ran in the worker's folder, and left its record there, where nobody looks and nobody may write."""
    mine, worker, runs = written("a: int = 1\n", RECORD), tmp_path / "worker", tmp_path / "runs"
    worker.mkdir()
    runs.mkdir()
    words = {
        "command": [sys.executable, "-m", "papermill", str(mine), "../runs/out.ipynb", "-k", "python3"],
        "function": [sys.executable, "-c", CALL, str(mine), str(runs / "out.ipynb")],
    }
    subprocess.run(words[way], cwd=worker, env=dict(installed), check=True, capture_output=True)
    assert (left(worker), left(runs)) == ([], ["out.ipynb", "out.json"])
    assert json.loads((runs / "out.json").read_text())["ok"] is True


def test_a_notebook_that_is_none_of_ours_runs_as_before(
    written: Callable[..., Path], installed: Mapping[str, str], tmp_path: Path
) -> None:
    """I installed kadmin_nb, and all our other notebooks had a variable more."""
    theirs = written("a: int = 1\n", "import os; assert 'KADMIN_RUNBOOK_RECORD' not in os.environ")
    words = [sys.executable, "-m", "papermill", str(theirs), str(tmp_path / "out.ipynb"), "-k", "python3"]
    subprocess.run(words, cwd=tmp_path, env=dict(installed), check=True, capture_output=True)
    assert "out.json" not in left(tmp_path)
