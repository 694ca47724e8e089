"""A PySpark for which there is no Delta yet: streams, SQL functions, the data source and resolve work on it."""

from __future__ import annotations

import os
import subprocess
import sysconfig

import pytest

from tests.environments import ROOT, made

pytestmark = [pytest.mark.long, pytest.mark.spark]

NEWEST = "4.3.0"
PARTS = ("streams", "sql_functions", "data_source", "fleet_resolve")


def test_what_needs_no_delta_works_on_the_newest_pyspark(tmp_path):
    """One of 107 tests hung, as Delta has no jar for it; nobody knew which of the others were run."""
    programs = made(f"pyspark-{NEWEST}", [f"pyspark=={NEWEST}"])
    (next(programs.parent.glob("lib/python*/site-packages")) / "lent.pth").write_text(sysconfig.get_path("purelib"))
    files = [str(ROOT / "tests" / "analytics" / f"test_{part}.py") for part in PARTS]
    script = "import pyspark, pytest, sys; print(pyspark.__version__); sys.exit(pytest.main(sys.argv[1:]))"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT}/magics"}
    done = subprocess.run(
        [programs / "python", "-c", script, *files, "-q", "-n", "0", "-p", "no:cacheprovider"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith(f"{NEWEST}\n")
    assert " passed" in done.stdout.splitlines()[-1]
