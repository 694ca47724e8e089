"""A process with a Spark of its own that has Delta, and runs the notebook over request logs as the task of a job.

    delta_lake.py FOLDER [kill] < a JSON list of the parameters of each run

The schema `lake` lies in the folder; tables that are there already belong to it. The last line that it prints is JSON:
the tables, the rows of `usage` before the runs, and those of `usage` and `utilisation` after them; `refusals` has the
lines of each run's error, none where it ran. With `kill` the process and its JVM get SIGKILL as soon as the last run
has written a file of the usage.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import kadmin_nb as kn
from tests.databricks.tasks import TESTS, as_task

NOTEBOOK = TESTS.parent / "databricks" / "request_logs.ipynb"
USAGE = ("cluster_id", "broker", "user", "client_id", "key", "window_start", "value")


def main(folder: Path, runs: list[dict[str, str]], kill: bool) -> None:
    spark = kn.spark_session(delta=True)
    spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")  # of a few rows, compiling a query is a third of the time
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder}'")
    for place in folder.glob(f"*/_delta_log/{0:020}.json"):
        table = place.parents[1]
        spark.sql(f"CREATE TABLE lake.{table.name} USING delta LOCATION '{table}'")
    os.environ["DATABRICKS_RUNTIME_VERSION"] = "17.3"
    before, refusals = _usage(spark), []
    for number, given in enumerate(runs, 1):
        if kill and number == len(runs):
            threading.Thread(target=_kill_at_the_next_file, args=(folder / "usage",), daemon=True).start()
        refusals.append(_refusal(given))
    found = {"before": before, "usage": _usage(spark), "refusals": refusals}
    tables = sorted(row.tableName for row in spark.sql("SHOW TABLES IN lake").collect())
    full = [row.asDict() for row in spark.table("lake.utilisation").where("limit is not null").collect()]
    print(json.dumps({**found, "tables": tables, "utilisation": full}, default=str))


def _refusal(given: dict[str, str]) -> list[str]:
    """The lines of the error that the notebook ends with; none where it runs."""
    try:
        assert as_task(NOTEBOOK, **given)["ok"]
    except kn.KadminError as error:
        return error.lines()
    return []


def _usage(spark: Any) -> list[list[str]]:
    if not spark.catalog.tableExists("lake.usage"):
        return []
    return sorted([str(row[name]) for name in USAGE] for row in spark.table("lake.usage").collect())


def _kill_at_the_next_file(table: Path) -> None:
    before = set(table.rglob("*.parquet"))
    while set(table.rglob("*.parquet")) <= before:
        time.sleep(0.001)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.load(sys.stdin), "kill" in sys.argv)
