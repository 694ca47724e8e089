"""Two runs that store usage into one Delta table at once; this file is the child, too, whose Spark has Delta."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.usage import tables as delta
from tests.databricks.tasks import TESTS

RECORDED = TESTS / "analytics" / "recorded"
LEFT = "usage_incoming_20200101000000_0123456789ab"
"""The table of a run that was killed years ago."""


def main(folder: Path) -> None:
    """Store the log of each broker, each run at the same point at the same time; print what is there then."""
    spark = kn.spark_session(delta=True)
    spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder}'")
    spark.sql(f"CREATE TABLE lake.{LEFT} (a INT) USING delta")
    both_wrote, in_turn, replace = threading.Barrier(2, timeout=300), threading.Lock(), delta._replace

    def replace_in_turn(*arguments: Any) -> None:
        both_wrote.wait()
        with in_turn:
            replace(*arguments)

    delta._replace = replace_in_turn
    delta.make(spark, "lake.usage", kn.usage.usage(log_of(spark, 1)), schemas.USAGE)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(kn.usage.store_usage, log_of(spark, broker), "lake.usage") for broker in (1, 2)]
    assert [run.exception() for run in runs] == [None, None]
    stored = [list(row) for row in spark.sql("SELECT broker, count(*) FROM lake.usage GROUP BY 1 ORDER BY 1").collect()]
    tables = sorted(row.tableName for row in spark.sql("SHOW TABLES IN lake").collect())
    print(json.dumps({"stored": stored, "tables": tables}))


def log_of(spark: Any, broker: int) -> Any:
    """The requests of one broker."""
    return kn.usage.requests(str(RECORDED / f"broker-{broker}"), spark=spark, broker=broker, tz="UTC")


@pytest.mark.spark
@pytest.mark.slow
def test_each_run_stores_its_own_windows(tmp_path: Path) -> None:
    """One of two runs reported success, had stored the other's windows, and its own were nowhere."""
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, __file__, str(tmp_path / "lake")]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    wanted = [[broker, len(usage_here(broker))] for broker in (1, 2)]
    assert json.loads(done.stdout.splitlines()[-1]) == {"stored": wanted, "tables": ["usage"]}


def usage_here(broker: int) -> list[dict[str, object]]:
    """The USAGE of a broker's log, worked out in this process."""
    read = kn.usage.requests(RECORDED / f"broker-{broker}", broker=broker, tz="UTC")
    return kn.usage.usage(read).to_pylist()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
