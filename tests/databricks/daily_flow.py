"""A process with a Spark that has Delta: the tasks of `kadmin_nb daily` in their order, of two clusters at once, twice.

    daily_flow.py FOLDER LOGS CLUSTER CLUSTER

The clusters are addresses of brokers. In the first round the utilisation of one of them fails. The last line that it
prints is JSON: the errors of each round, the number of rows of each table after each, and what each query of
databricks/sql gives.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

import kadmin_nb as kn
from kadmin_nb.usage import tables
from tests.databricks.tasks import TESTS, as_task

BUNDLE = TESTS.parent / "databricks"
SCHEMA = "spark_catalog.lake"
BEFORE = datetime(2026, 11, 20, tzinfo=UTC)
"""The limits of the recorded logs are recorded as of then."""
ROUNDS = 2


def main(folder: Path, logs: str, clusters: list[str]) -> None:
    spark = kn.spark_session(delta=True)
    for setting, value in {"spark.databricks.delta.snapshotPartitions": "1", "spark.sql.shuffle.partitions": "1",
                           "spark.sql.codegen.wholeStage": "false"}.items():  # fmt: skip
        spark.conf.set(setting, value)
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder}'")
    os.environ["DATABRICKS_RUNTIME_VERSION"] = "17.3"
    for address in clusters:
        with kn.connect(address) as cluster:
            kn.open_history(SCHEMA).record(replace(cluster.snapshot(), taken_at=BEFORE))
    rounds = [_round(clusters, logs, fails=number == 0) for number in range(ROUNDS)]
    spark.sql("USE lake")
    answers = {file.stem: _answer(spark, file) for file in sorted(BUNDLE.glob("sql/*.sql"))}
    print(json.dumps({"rounds": rounds, "answers": answers}, default=str))


def _round(clusters: list[str], logs: str, fails: bool) -> dict[str, Any]:
    """All tasks of each cluster, side by side."""
    store, failing = tables.store_utilisation, threading.Event()
    if fails:
        failing.set()

    def store_or_fail(*given: Any) -> None:
        if failing.is_set():
            failing.clear()
            raise kn.TimedOut("the machine was taken away")
        store(*given)

    tables.store_utilisation = store_or_fail
    with ThreadPoolExecutor(len(clusters)) as threads:
        errors = [*threads.map(lambda address: _flow(address, logs), clusters)]
    tables.store_utilisation = store
    spark = kn.spark_session()
    names = sorted(row.tableName for row in spark.sql("SHOW TABLES IN lake").collect())
    return {"errors": errors, "rows": {name: spark.table(f"lake.{name}").count() for name in names}}


def _flow(address: str, logs: str) -> list[str]:
    """The tasks of the bundle in their order, up to the first that fails; its error."""
    job = yaml.safe_load((BUNDLE / "resources/daily.job.yml").read_text())["resources"]["jobs"]["kadmin_nb_daily"]
    for task in job["tasks"]:
        notebook = (BUNDLE / "resources" / task["notebook_task"]["notebook_path"]).resolve()
        given = {**task["notebook_task"]["base_parameters"], **_put_in(address, logs)}
        known = {name: value for name, value in given.items() if name in task["notebook_task"]["base_parameters"]}
        try:
            as_task(notebook, **{name: value.replace(_IN_BUNDLE, SCHEMA) for name, value in known.items()})
        except kn.KadminError as error:
            return [task["task_key"], str(error)]
    return []


_IN_BUNDLE = "${var.catalog}.${resources.schemas.kafka.name}"


def _put_in(address: str, logs: str) -> dict[str, str]:
    """What is another thing here than on Databricks."""
    with kn.connect(address) as cluster:
        whose = cluster.id
    here = {"cluster": address, "profiles": "", "cluster_id": whose, "logs": f"{logs}/*/*", "day": "2026-11-21"}
    return {**here, "broker": r"broker-(\d+)/", "tz": "UTC", "every": "1 second", "always_on": "false"}


def _answer(spark: Any, file: Path) -> dict[str, Any]:
    """What a query gives; Delta 4.4 binds no parameters, so the time stands in it."""
    answer = spark.sql(file.read_text().replace(":at ", "'2026-11-21T12:00:00Z' "))
    return {"columns": answer.columns, "rows": [[str(cell) for cell in row] for row in answer.collect()]}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
