"""A PySpark for which there is no Delta yet: streams, SQL functions, the data source and resolve work on it."""

from __future__ import annotations

import subprocess

import pytest

from tests.environments import run_tests, with_newer

pytestmark = pytest.mark.long

NEWEST = "4.3.0"
PARTS = ("streams", "sql_functions", "data_source", "fleet_resolve")


def test_what_needs_no_delta_works_on_the_newest_pyspark(request):
    """One of 107 tests hung, as Delta has no jar for it; nobody knew which of the others were run."""
    programs = with_newer("pyspark", NEWEST)
    said = subprocess.run(
        [programs / "python", "-c", "import pyspark; print(pyspark.__version__)"], capture_output=True
    )
    assert said.stdout.decode() == f"{NEWEST}\n"
    files = [f"tests/analytics/test_{part}.py" for part in PARTS]
    run_tests(programs, [*files, "-n", "0"], request.config.option.tried)
