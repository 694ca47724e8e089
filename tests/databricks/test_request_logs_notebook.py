"""The bundle's notebook over request logs, run as Databricks runs it, on a Spark of our own with Delta."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from tests.databricks.delta_lake import NOTEBOOK, USAGE
from tests.databricks.tasks import TESTS, as_task
from tests.history.hours import taken

RECORDED = TESTS / "analytics" / "recorded"
HOUR = "request.log.2026-11-21-12"
"""A file that log4j rolled by the hour."""
KILLED = -9


def in_delta(folder: Path, *runs: dict[str, str], kill: bool = False) -> dict[str, Any] | None:
    """What a process with Delta says of these runs; None where it was killed."""
    words = [sys.executable, str(Path(__file__).with_name("delta_lake.py")), str(folder), *(["kill"] if kill else [])]
    done = subprocess.run(
        words, input=json.dumps(runs), capture_output=True, text=True, start_new_session=True, env=_environment()
    )
    if kill and done.returncode == KILLED:
        return None
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def _environment() -> dict[str, str]:
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def log_of(folder: Path, *files: Path) -> str:
    """A folder with these recorded files, where the brokers are told by the folders."""
    for file in files:
        place = folder / file.relative_to(RECORDED)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    return str(folder)


def usage_here(cluster_id: str) -> list[list[str]]:
    """The USAGE of all recorded files, worked out in this process, as `in_delta` writes it."""
    read = kn.usage.requests(RECORDED, broker=r"broker-(\d+)/", tz="UTC", cluster_id=cluster_id)
    rows = kn.usage.usage(read, "1 second").to_pylist()
    return sorted([str(_without_zone(row[name])) for name in USAGE] for row in rows)


def _without_zone(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def recorded(snapshot: kn.Snapshot, folder: Path) -> str:
    """A history that has this snapshot."""
    kn.open_history(folder / "limits").record(snapshot)
    return str(folder / "limits")


def windows(rows: Sequence[Sequence[str]]) -> set[tuple[str, ...]]:
    return {(row[1], row[5]) for row in rows}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_a_job_that_was_killed_is_simply_run_again(tmp_path: Path) -> None:
    """The job was killed, ran again, and yesterday was there twice; or it ran once, and yesterday was gone."""
    lake, snapshot = tmp_path / "lake", taken(1, {"admin": 1000.0})
    limits = recorded(snapshot, tmp_path)
    one, two = RECORDED / "broker-1", RECORDED / "broker-2"
    first = log_of(tmp_path / "first", one / "request.log", one / HOUR)
    later = log_of(tmp_path / "later", one / "request.log", two / "request.log", two / HOUR)
    given = {
        "broker": r"broker-(\d+)/", "tz": "UTC", "every": "1 second", "limits": limits,
        "usage": "lake.usage", "utilisation": "lake.utilisation",
    }  # fmt: skip

    assert in_delta(lake, {**given, "logs": first}, {**given, "logs": later}, kill=True) is None
    again = in_delta(lake, {**given, "logs": later})
    assert again["refusals"] == [[]]
    whole = usage_here(snapshot.cluster_id)
    assert 0 < len(windows(again["before"])) < len(windows(whole))  # what the first run had stored is there
    assert set(map(tuple, again["before"])) < set(map(tuple, whole))
    assert again["usage"] == whole
    assert [name for name in again["tables"] if "_incoming_" not in name] == ["usage", "utilisation"]
    assert len(again["tables"]) == 3  # that of the killed run is dropped when it is a day old
    key = [(row["broker"], row["key"], row["bucket_user"]) for row in again["utilisation"]]
    assert len(key) == len(set(key)) > 0
    assert max(row["peak"] / row["limit"] for row in again["utilisation"]) > 1
    assert {row["day"] for row in again["utilisation"]} == {"2026-11-21"}


OTHER_LENGTH = (
    "UsageError: lake.usage has windows of 1 second of cluster here, and these would be of 1 minute",
    "Hint: Use every='1 second', or another table; nothing was written.",
)
BOTH = ("UsageError: lake.usage has the columns cluster_id, broker, user",)
NO_NAME = "UsageError: 'my-lake.usage' is not the name of a table"
NO_SCHEMA = (
    "Invalid: lake2.usage cannot be written: [SCHEMA_NOT_FOUND] The schema `spark_catalog`.`lake2` cannot be found."
)
HALF = (
    "Invalid: lake.half cannot be made: its folder is there, and is not a Delta table",
    "Hint: A run that was killed while it made the table leaves such a folder: if no run is making it, remove it.",
)
OTHER_COLUMNS = "UsageError: lake.utilisation has the columns cluster_id, day, broker, key, bucket_user"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_what_tables_cannot_take_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """The job ran once with another `every`, and all usage was there twice; a hyphen ended in lines of the JVM."""
    snapshot = taken(1, {"admin": 1000.0})
    given = {
        "logs": str(RECORDED), "broker": r"broker-(\d+)/", "tz": "UTC", "every": "1 second",
        "limits": recorded(snapshot, tmp_path),
        "usage": "lake.usage", "utilisation": "lake.utilisation",
    }  # fmt: skip
    wrong = [
        ({"every": "1 minute"}, OTHER_LENGTH),
        ({"utilisation": "lake.usage"}, BOTH),
        ({"usage": "my-lake.usage"}, (NO_NAME,)),
        ({"utilisation": "my-lake.usage"}, (NO_NAME,)),
        ({"usage": "lake2.usage"}, (NO_SCHEMA,)),
        ({"usage": "lake.utilisation", "utilisation": ""}, (OTHER_COLUMNS,)),
        ({"usage": "lake.half"}, HALF),
        ({"usage": "lake.texts"}, ("UsageError: broker of lake.texts is string, not int",)),
    ]
    of_a_day = {"logs": f"{RECORDED}/*/*{{day}}*", "day": "2026-11-21"}
    right = [{"every": "1000 milliseconds"}, {**of_a_day, "every": "1 minute", "cluster_id": "there", "limits": ""}]
    texts = {name: pa.nulls(0, pa.string()) for name in ("cluster_id", *schemas.USAGE_TABLE.names)}
    (tmp_path / "lake" / "half" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    write_deltalake(tmp_path / "lake" / "texts", pa.table(texts))
    done = in_delta(tmp_path / "lake", given, *({**given, **change} for change in [*(w for w, _ in wrong), *right]))
    assert [done["refusals"][0], *done["refusals"][-len(right) :]] == [[], [], []]
    for refusal, (_, expected) in zip(done["refusals"][1:], wrong, strict=False):
        assert all(line.startswith(start) for line, start in zip(refusal, expected, strict=False)), refusal
        assert len(refusal) >= len(expected)
        assert not any("\n" in line for line in refusal)
    assert [row for row in done["usage"] if row[0] == "here"] == usage_here(snapshot.cluster_id)
    assert {row[5] for row in done["usage"] if row[0] == "there"} == {"2026-11-21 12:05:00"}  # of the files of that day
    assert done["tables"] == ["texts", "usage", "utilisation"]


@pytest.mark.spark
def test_without_delta_it_is_one_line(tmp_path: Path) -> None:
    """[DATA_SOURCE_NOT_FOUND], and sixty lines of the JVM."""
    log = kn.usage.requests(RECORDED, spark=kn.spark_session(), broker=r"broker-(\d+)/", tz="UTC")
    with pytest.raises(kn.errors.Unsupported, match="this Spark session has no Delta"):
        kn.usage.store_usage(log, "default.usage")


@pytest.mark.spark
@pytest.mark.usefixtures("on_databricks")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"logs": str(RECORDED)}, "the broker that wrote the log is not named"),
        ({"logs": str(RECORDED), "broker": "1", "tz": "Berlin"}, "Berlin is not a time zone"),
        ({"logs": str(RECORDED), "brokre": "1"}, "brokre"),
    ],
    ids=["nobody's", "zone", "misspelt"],
)
def test_a_wrong_parameter_fails_the_job(given: dict[str, str], said: str) -> None:
    """It ended with success and a stack trace."""
    with pytest.raises(kn.UsageError, match=said):
        as_task(NOTEBOOK, **given)


@pytest.mark.spark
@pytest.mark.usefixtures("on_databricks")
def test_lines_of_a_table_without_any_table_to_write_to() -> None:
    """Our log is in a table, and the job took files only."""
    spark = kn.spark_session()
    lines = (RECORDED / "broker-1" / "request.log").read_text().splitlines()
    spark.createDataFrame([(line,) for line in lines], "line string").createOrReplaceTempView("logged_lines")
    said = as_task(NOTEBOOK, logs="logged_lines", broker="1", tz="UTC", cluster_id="c")
    assert (said["runbook"], said["ok"]) == ("request_logs", True)
    assert "append" not in said["parameters"]
