"""A process with a Spark that has Delta: the job `kadmin_nb daily` over two clusters, side by side, twice.

    daily_flow.py FOLDER LOGS CLUSTER CLUSTER

It is what docs/databricks.md says of a second cluster: two profiles, the variable `clusters` of the bundle, and a
folder of logs for each; all other values are those of the bundle. The clusters are addresses of brokers. In the first
round the utilisation of one of them fails. The last line that it prints is JSON: the errors of each round, the number
of rows of each table after each, and what each query of databricks/sql gives.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import kadmin_nb as kn
from kadmin_nb.usage import tables
from tests.databricks.tasks import TESTS, with_values
from tests.databricks.test_bundle import deployed

BUNDLE = TESTS.parent / "databricks"
CATALOG, LAKE = "spark_catalog", "lake"
NAMES = ("prod", "staging")
"""The profiles of the clusters."""
RECORDED_ON = "2026-11-21"
ROUNDS = 2


def main(folder: Path, logs: Path, addresses: list[str]) -> None:
    spark = kn.spark_session(delta=True)
    for setting, value in {"spark.databricks.delta.snapshotPartitions": "1", "spark.sql.shuffle.partitions": "1",
                           "spark.sql.codegen.wholeStage": "false"}.items():  # fmt: skip
        spark.conf.set(setting, value)
    spark.sql(f"CREATE DATABASE {LAKE} LOCATION '{folder}'")
    os.environ["DATABRICKS_RUNTIME_VERSION"] = "17.3"
    place = folder.parent
    _profiles(place / "databricks" / "kadmin-nb.toml", addresses)
    before = datetime.now(UTC) - timedelta(days=3)
    for name, address in zip(NAMES, addresses, strict=True):
        _logs_of_yesterday(logs, place / "volume" / "logs" / name)
        with kn.connect(address) as cluster:
            kn.open_history(f"{CATALOG}.{LAKE}").record(replace(cluster.snapshot(), taken_at=before))
    clusters = json.dumps([{"cluster": name, "tz": "UTC"} for name in NAMES])
    jobs = deployed("prod", catalog=CATALOG, schema=LAKE, clusters=clusters, every="1 second")["jobs"]
    jobs = _here(jobs, {f"/Volumes/{CATALOG}/{LAKE}/kadmin_nb": str(place / "volume"), "/Workspace/files": str(place)})
    rounds = [_round(jobs, fails=number == 0) for number in range(ROUNDS)]
    spark.sql(f"USE {LAKE}")
    answers = {file.stem: _answer(spark, file) for file in sorted(BUNDLE.glob("sql/*.sql"))}
    print(json.dumps({"rounds": rounds, "answers": answers}, default=str))


def _profiles(file: Path, addresses: list[str]) -> None:
    """The connections, as a team writes them beside the bundle."""
    profiles = zip(NAMES, addresses, strict=True)
    file.parent.mkdir(parents=True)
    file.write_text("".join(f'[profiles.{name}]\nbootstrap = "{address}"\n' for name, address in profiles))


def _logs_of_yesterday(recorded: Path, folder: Path) -> None:
    """The recorded logs as if they had been written yesterday."""
    yesterday = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    for file in recorded.glob("broker-*/*"):
        copy = folder / file.parent.name / f"{file.name.replace(f'.{RECORDED_ON}', '')}.{yesterday}"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(file.read_text().replace(RECORDED_ON, yesterday))


def _here(value: Any, places: dict[str, str]) -> Any:
    """The bundle with the folders of this machine in place of those of a workspace."""
    text = json.dumps(value)
    for there, here in places.items():
        text = text.replace(there, here)
    return json.loads(text)


def _round(jobs: dict[str, Any], fails: bool) -> dict[str, Any]:
    """The daily job: its run of each cluster, side by side."""
    store, failing = tables.store_utilisation, threading.Event()
    if fails:
        failing.set()

    def store_or_fail(*given: Any) -> None:
        if failing.is_set():
            failing.clear()
            raise kn.errors.TimedOut("the machine was taken away")
        store(*given)

    tables.store_utilisation = store_or_fail
    (task,) = jobs["kadmin_nb_daily"]["tasks"]
    inputs = json.loads(task["for_each_task"]["inputs"])
    run = task["for_each_task"]["task"]["run_job_task"]
    job = [*jobs.values()][run["job_id"] - 1]
    given = [_filled(run["job_parameters"], {"input": one}) for one in inputs]
    with ThreadPoolExecutor(len(inputs)) as threads:
        errors = [*threads.map(lambda parameters: _flow(job, parameters), given)]
    tables.store_utilisation = store
    spark = kn.spark_session()
    names = sorted(row.tableName for row in spark.sql(f"SHOW TABLES IN {LAKE}").collect())
    return {"errors": errors, "rows": {name: spark.table(f"{LAKE}.{name}").count() for name in names}}


def _flow(job: dict[str, Any], parameters: dict[str, str]) -> list[str]:
    """The tasks of a job in their order, up to the first that fails; its error."""
    known: dict[str, Any] = {"job": {"parameters": parameters}, "tasks": {}}
    for task in job["tasks"]:
        notebook = (BUNDLE / "resources" / task["notebook_task"]["notebook_path"]).resolve()
        try:
            _, values = with_values(notebook, _filled(task["notebook_task"]["base_parameters"], known))
        except kn.KadminError as error:
            return [task["task_key"], str(error)]
        known["tasks"][task["task_key"]] = {"values": values}
    return []


def _filled(parameters: dict[str, str], known: dict[str, Any]) -> dict[str, str]:
    """Parameters with the values that Databricks puts in for `{{…}}` when a task begins."""

    def value(reference: re.Match[str]) -> str:
        found = known
        for name in reference[1].split("."):
            found = found[name]
        return str(found)

    return {name: re.sub(r"\{\{([\w.]+)\}\}", value, text) for name, text in parameters.items()}


def _answer(spark: Any, file: Path) -> dict[str, Any]:
    """What a query gives; Delta 4.4 binds no parameters, so the time stands in it."""
    answer = spark.sql(file.read_text().replace(":at ", f"'{datetime.now(UTC).isoformat()}' "))
    return {"columns": answer.columns, "rows": [[str(cell) for cell in row] for row in answer.collect()]}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
