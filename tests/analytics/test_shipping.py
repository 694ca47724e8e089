"""What travels to Spark's workers by value, tried in a process as a worker is one."""

from __future__ import annotations

import subprocess
import sys

HUNG_UP = """
import traceback
import pyarrow as pa
from kadmin_nb.analytics import shipping

def work(given, batches):
    yield from batches

def batches():
    yield pa.RecordBatch.from_pydict({"n": [1]})
    raise {error}("Expected to be able to read 8 bytes for message body, got 0")

try:
    print(sum(batch.num_rows for batch in shipping.by_value(work, None)(batches())))
except Exception:
    traceback.print_exc()
"""


def ended(error: str) -> str:
    """What a worker leaves on the terminal whose input ends like this."""
    return subprocess.run(
        [sys.executable, "-c", HUNG_UP.replace("{error}", error)], capture_output=True, text=True
    ).stderr


def test_a_worker_that_spark_has_left_says_nothing() -> None:
    """BrokenPipeError, from a worker whose rows nobody wanted any more, above every table."""
    assert ended("OSError") == ""


def test_other_failures_are_told() -> None:
    """A worker fell silent, and nobody knew why."""
    assert "ValueError: Expected to be able" in ended("ValueError")
