"""Spark's workers may have a Python of their own, without what ours has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CHILD = """
import sys
import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.lazy_answer import SparkAnswer
from kadmin_nb.frames.spark import spark_session, to_spark

spark = spark_session(delta=False)
spark.sparkContext.setLogLevel("OFF")
quota = {"entity": "user=a", "level": "USER", "user": "a", "key": "producer_byte_rate", "value": 5.0}
quotas = schemas.table(schemas.QUOTAS, [quota])
pairs = spark.createDataFrame([("a", "x")], "user string, client_id string")
for work in (
    lambda: SparkAnswer(kn.fleets.resolve(quotas, pairs)).to_arrow(),
    lambda: SparkAnswer(kn.fleets.resolve(to_spark(quotas, spark), pairs)).to_arrow(),
    lambda: kn.usage.requests(sys.argv[1], broker=1, tz="UTC", spark=spark),
):
    try:
        work()
        print("nothing was wrong")
    except kn.KadminError as error:
        print(*error.lines(), sep="\\n")
"""


@pytest.mark.long
def test_a_package_that_the_workers_lack_is_named(tmp_path):
    """`An exception was thrown from the Python worker: Traceback (most recent call last)…`, on forty lines."""
    without = tmp_path / "python"
    without.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without the folder of packages
    without.chmod(0o755)
    log = tmp_path / "request.log"
    log.write_text("[2026-11-26 12:00:00,000] DEBUG Completed request:{} (kafka.request.logger)\n")
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    environment = {**os.environ, "PYSPARK_PYTHON": str(without), "PYSPARK_DRIVER_PYTHON": sys.executable}
    run = subprocess.run(
        [sys.executable, script, log], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    line = "Invalid: Spark could not do it: ModuleNotFoundError: No module named 'pyarrow'"
    assert run.stdout.splitlines() == [line] * 3
