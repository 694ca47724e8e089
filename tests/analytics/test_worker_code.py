"""What travels to Spark's workers by value, and what a worker says that Spark has left."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from kadmin_nb.fleets import workers

LIMITED = """
import time
import pyarrow as pa
import kadmin_nb as kn
from kadmin_nb.fleets import workers

def work(seconds, batches):
    for batch in batches:
        yield from [pa.RecordBatch.from_pydict({"text": ["x" * 1000] * 1000})] * (1 if seconds else 50)
    time.sleep(seconds)

spark = kn.spark_session()
for seconds in (0.3, 0, 0.05) * 4:
    rows = spark.range(1, numPartitions=1).mapInArrow(workers.by_value(work, seconds), "text string")
    assert len(rows.limit(1).collect()) == 1
spark.stop()  # its workers are gone
"""


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.slow
def test_workers_that_spark_has_left_say_nothing() -> None:
    """BrokenPipeError, above every table: once more of a worker that had just finished."""
    classic = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_") or k == "SPARK_SUBMIT_OPTS"}
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, env=classic)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "incubator" not in line] == []


DAEMON = """
import sys
import pyspark.daemon
from kadmin_nb.fleets import workers

sys.modules["__main__"] = daemon = pyspark.daemon
workers.silence()
try:
    raise {error}("of a worker")
except BaseException:
    exec("print('failed to flush', file=sys.stderr); traceback.print_exc()", vars(daemon))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "lines"), [("BrokenPipeError", 0), ("ConnectionResetError", 0), ("EOFError", 0), ("ValueError", 4)]
)
def test_other_failures_are_told(error: str, lines: int) -> None:
    """A worker fell silent, and nobody knew why."""
    words = [sys.executable, "-c", DAEMON.replace("{error}", error)]
    said = subprocess.run(words, capture_output=True, text=True).stderr
    assert len(said.splitlines()) == lines, said
    assert ("ValueError: of a worker" in said) == bool(lines)


ELSEWHERE = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "kadmin_nb":
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Nowhere())
sys.path[:] = [place for place in sys.path if place]
import pickle
silence, work = pickle.loads(sys.stdin.buffer.read())
assert callable(work)
"""

WORKS = (
    "fleets.fleet_resolving.on_workers",
    "fleets.workers._part_by_part",
    "resolution.demand.judged",
    "sql.data_source.ClusterFrames",
    "sql.functions.effective_rows",
    "sql.functions.request_structs",
    "sql.functions.values_for_people",
    "usage.bucket_figures.bucket_figures",
    "usage.bucket_figures.watched_windows",
    "usage.spark_lines.rows_of_batches",
)
"""What is sent to workers: all that it uses has to arrive, also where there is nothing to do."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_the_work_arrives_where_nothing_of_ours_is_installed(name: str) -> None:
    """A class with slots was added to a module, and no findings came out of Spark any more."""
    module, _, function = name.rpartition(".")
    work = getattr(importlib.import_module(f"kadmin_nb.{module}"), function)
    packed = workers._packed((workers.silence, work))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=packed, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
