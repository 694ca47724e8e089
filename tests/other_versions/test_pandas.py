"""A pandas newer than Spark takes: all that needs no Spark works with it."""

from __future__ import annotations

import subprocess

import pytest

from tests.environments import run_tests, with_newer
from tests.other_versions import NEEDS_NOTHING

pytestmark = pytest.mark.long

NEWEST = "3.1.1"


def test_what_needs_no_spark_works_with_the_newest_pandas(request):
    """pip took pandas 3 beside us, and a runbook failed that had been run with 2.3 alone."""
    programs = with_newer("pandas", NEWEST)
    said = subprocess.run([programs / "python", "-c", "import pandas; print(pandas.__version__)"], capture_output=True)
    assert said.stdout.decode() == f"{NEWEST}\n"
    run_tests(programs, [*NEEDS_NOTHING, "-n", "2", "--dist", "loadscope"], request.config.option.tried)
