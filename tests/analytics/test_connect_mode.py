"""The Spark tests once more, over Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOUND = 1800
"""Seconds; far more than the tests take on a machine that does other things as well."""


@pytest.mark.spark
@pytest.mark.slow
def test_everything_works_over_connect(spark) -> None:
    """It worked in the notebook and failed on Databricks: a session there has no JVM."""
    if os.environ.get("KADMIN_TEST_SPARK") == "connect":
        assert "connect" in type(spark).__module__
        return
    words = ["-m", "spark", "-q", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env={**os.environ, "KADMIN_TEST_SPARK": "connect"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert "passed" in done.stdout
