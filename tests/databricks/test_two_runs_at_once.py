"""Runs that store into the same Delta tables, one after the other and at once; this file is the child, too, whose Spark
has Delta."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.usage import tables
from tests.databricks.tasks import TESTS

RECORDED = TESTS / "analytics" / "recorded"
LEFT = "usage_incoming_20200101000000_0123456789ab"
"""The table of a run that was killed years ago."""
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
CUT = 3
"""Lines in the first half of a log: the one of PRODUCE after them is in the same minute, and of the same client."""
SUMS = "SELECT broker, user, client_id, key, sum(value), count(*) FROM {} GROUP BY ALL ORDER BY ALL"


def main(folder: Path) -> None:
    """Each of the parts, on tables of its own; prints what it finds, by the part's name."""
    spark = kn.spark_session(delta=True)
    spark.conf.set("spark.databricks.delta.snapshotPartitions", "1")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder}'")
    spark.sql(f"CREATE TABLE lake.{LEFT} (a INT) USING delta")
    parts = (at_once, a_hundred_clusters, halves, days_of_utilisation, refused, with_a_column_more)
    print(json.dumps({part.__name__: part(spark, folder) for part in parts}, default=str))


def log_of(spark: Any, broker: int, cluster_id: str | None = None, path: Path | None = None) -> Any:
    """The requests of one broker."""
    place = str(path or RECORDED / f"broker-{broker}")
    return kn.usage.requests(place, spark=spark, broker=broker, tz="UTC", cluster_id=cluster_id)


def together(*runs: Callable[[], object]) -> list[str]:
    """The errors of runs that all write at the same moment for the first time."""
    all_read, alone, threads = threading.Barrier(len(runs), timeout=300), tables._alone, threading.local()

    def at_the_same_time(table: str, write: Callable[[], object]) -> None:
        def once_all_are_there() -> None:
            if not getattr(threads, "waited", False):
                threads.waited = True
                all_read.wait()
            write()

        alone(table, once_all_are_there)

    tables._alone = at_the_same_time
    try:
        with ThreadPoolExecutor(len(runs)) as pool:
            return [str(it.exception()) for it in [pool.submit(run) for run in runs] if it.exception()]
    finally:
        tables._alone = alone


def at_once(spark: Any, folder: Path) -> dict[str, Any]:
    """Two brokers of one cluster, one of them twice, and another cluster, into a table that none of them finds."""
    pairs = [(1, "here"), (2, "here"), (2, "here"), (1, "there")]
    errors = together(*(lambda of=of: kn.usage.store_usage(log_of(spark, *of), "lake.usage") for of in pairs))
    stored = spark.sql("SELECT cluster_id, broker, count(*) FROM lake.usage GROUP BY ALL ORDER BY ALL").collect()
    names = sorted(row.tableName for row in spark.sql("SHOW TABLES IN lake").collect())
    return {"errors": errors, "stored": [list(row) for row in stored], "tables": names}


def a_hundred_clusters(spark: Any, folder: Path) -> dict[str, Any]:
    """The files that a run of one cluster touches, in the table of `at_once` with 98 clusters more."""
    columns = [name for name in spark.table("lake.usage").columns if name != "cluster_id"]
    spark.sql(
        f"INSERT INTO lake.usage BY NAME SELECT concat('c', id) cluster_id, {', '.join(columns)} FROM lake.usage"
        " CROSS JOIN (SELECT explode(sequence(1, 98)) id) WHERE cluster_id = 'there'"
    )
    log = folder / "usage" / "_delta_log"
    before = {*log.glob("*.json")}
    kn.usage.store_usage(log_of(spark, 1, "there"), "lake.usage")
    actions = [
        json.loads(line) for commit in {*log.glob("*.json")} - before for line in commit.read_text().splitlines()
    ]
    touched = [action[kind]["path"] for action in actions for kind in ("add", "remove") if kind in action]
    clusters = {path.split("/")[0] for path in touched}
    [row] = spark.sql("SELECT count(DISTINCT cluster_id), count(*) FROM lake.usage").collect()
    return {"touched": sorted(clusters), "files": len(touched), "rows": list(row)}


def halves(spark: Any, folder: Path) -> dict[str, Any]:
    """The sums of a log whose file ended within a window: of its parts, and of the whole in their place."""
    log = RECORDED / "broker-2" / "request.log"
    lines = log.read_text().splitlines(keepends=True)
    for name, part in (("first", lines[:CUT]), ("second", lines[CUT:])):
        (folder.parent / name).write_text("".join(part))
    for name in ("first", "second"):
        kn.usage.store_usage(log_of(spark, 2, "here", folder.parent / name), "lake.halves", "1 minute")
    parts = [list(row) for row in spark.sql(SUMS.format("lake.halves")).collect()]
    kn.usage.store_usage(log_of(spark, 2, "here", log), "lake.halves", "1 minute")
    whole = [list(row) for row in spark.sql(SUMS.format("lake.halves")).collect()]
    return {"parts": parts, "whole": whole}


def days_of_utilisation(spark: Any, folder: Path) -> dict[str, Any]:
    """A day that is stored again, and a new one, by two runs at once, beside another day and another cluster."""

    def store(limit: float, *of: tuple[str, int]) -> None:
        usage = schemas.table(USAGE, [used(cluster, day) for cluster, day in of])
        limits = [
            {
                "cluster_id": cluster,
                "entity": "",
                "level": "USER",
                "user": "alice",
                "key": "producer_byte_rate",
                "value": limit,
            }
            for cluster in ("here", "there")
        ]
        quotas = schemas.table(QUOTAS, limits)
        kn.usage.store_utilisation(kn.usage.utilisation_daily(to_spark(usage, spark), quotas), "lake.days")

    store(10.0, ("here", 0), ("here", 1), ("there", 0))
    errors = together(*[lambda: store(20.0, ("here", 1), ("here", 2))] * 2)
    rows = spark.table("lake.days").select("cluster_id", "day", "limit", "windows").orderBy("cluster_id", "day")
    return {
        "errors": errors,
        "rows": [list(map(str, row)) for row in rows.collect()],
    }


def with_a_column_more(spark: Any, folder: Path) -> dict[str, Any]:
    """Tables to which a column was added, the cluster's rows of which are stored once more."""
    for table in ("lake.usage", "lake.days"):
        spark.sql(f"ALTER TABLE {table} ADD COLUMN (note STRING FIRST)")
        spark.sql(f"UPDATE {table} SET note = 'seen'")
    kn.usage.store_usage(log_of(spark, 1, "there"), "lake.usage")
    usage, nothing = to_spark(schemas.table(USAGE, [used("there", 0)]), spark), schemas.table(QUOTAS, [])
    kn.usage.store_utilisation(kn.usage.utilisation_daily(usage, nothing), "lake.days")
    count = "SELECT note, count(*) FROM {} WHERE cluster_id IN ('here', 'there') GROUP BY ALL ORDER BY ALL"
    tables = ("usage", "days")
    return {table: [list(row) for row in spark.sql(count.format(f"lake.{table}")).collect()] for table in tables}


USAGE, QUOTAS = (
    pa.schema([pa.field("cluster_id", pa.string()), *frame.schema]) for frame in (schemas.USAGE, schemas.QUOTAS)
)


def used(cluster: str, day: int) -> dict[str, object]:
    start = NOON + timedelta(days=day)
    return {
        "cluster_id": cluster, "broker": 1, "user": "alice", "client_id": "app", "key": "producer_byte_rate",
        "window_start": start, "window_end": start + timedelta(seconds=1), "value": 8.0, "source": "test",
    }  # fmt: skip


def refused(spark: Any, folder: Path) -> dict[str, list[str]]:
    """Tables of an older shape, of no partitions, and of no cluster; and UTILISATION where its days should be."""
    store = kn.usage.store_usage
    stored = spark.table("lake.usage")
    stored.drop("day", "read_from", "read_to").write.format("delta").saveAsTable("lake.old")
    stored.write.format("delta").saveAsTable("lake.flat")
    usage, quotas = to_spark(schemas.table(USAGE, [used("here", 0)]), spark), schemas.table(schemas.QUOTAS, [])
    whole = kn.usage.utilisation(usage.drop("cluster_id"), quotas)
    asked = {
        "old": lambda: store(log_of(spark, 1, "here"), "lake.old"),
        "flat": lambda: store(log_of(spark, 1, "here"), "lake.flat"),
        "nobody": lambda: store(log_of(spark, 1), "lake.usage"),
        "whole": lambda: kn.usage.store_utilisation(whole, "lake.whole"),
    }
    return {name: _lines(verb) for name, verb in asked.items()}


def _lines(verb: Callable[[], object]) -> list[str]:
    try:
        verb()
    except kn.KadminError as error:
        return [type(error).__name__, *error.lines()]
    return []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the child prints."""
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, __file__, str(tmp_path_factory.mktemp("tables") / "lake")]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


@pytest.mark.spark
@pytest.mark.long
class TestStored:
    """What the child has found, part by part."""

    def test_runs_at_once_lose_nothing_and_double_nothing(self, found):
        """One of two runs reported success, had stored the other's windows, and its own were nowhere."""
        wanted = [
            [cluster, broker, len(usage_here(broker))] for cluster, broker in (("here", 1), ("here", 2), ("there", 1))
        ]
        assert found["at_once"] == {"errors": [], "stored": wanted, "tables": ["usage"]}

    def test_no_byte_of_the_other_clusters_is_written_anew(self, found):
        """One cluster's job rewrote a day of a hundred clusters, and failed each time that another was at work."""
        assert found["a_hundred_clusters"]["touched"] == ["cluster_id=there"]
        assert found["a_hundred_clusters"]["files"] >= 2
        assert found["a_hundred_clusters"]["rows"] == [100, 100 * len(usage_here(1)) + len(usage_here(2))]

    def test_two_halves_of_a_window_add_up(self, found):
        """The file ended at half past, and of that hour's window the second half was all that there was."""
        parts, whole = found["halves"]["parts"], found["halves"]["whole"]
        assert [row[:4] for row in parts] == [row[:4] for row in whole]
        assert [row[4] for row in parts] == pytest.approx([row[4] for row in whole])
        assert {row[5] for row in whole} == {1}
        assert {row[5] for row in parts} == {1, 2}

    def test_a_day_of_utilisation_is_replaced_and_no_other(self, found):
        """A rerun of yesterday put all of last month in its place."""
        said = found["days_of_utilisation"]
        assert said["errors"] == []
        assert said["rows"] == [
            ["here", "2026-11-21", "10.0", "1"],
            ["here", "2026-11-22", "20.0", "1"],
            ["here", "2026-11-23", "20.0", "1"],
            ["there", "2026-11-21", "10.0", "1"],
        ]

    def test_a_table_may_have_further_columns(self, found):
        """Somebody added a column for a note to the table, and from then on each nightly job was refused."""
        here, there = len(usage_here(1)) + len(usage_here(2)), len(usage_here(1))
        assert found["with_a_column_more"] == {
            "usage": [[None, there], ["seen", here]],
            "days": [[None, 1], ["seen", 3]],
        }

    def test_what_does_not_fit_is_one_line(self, found):
        """A table of last year took half of the rows, with nulls in the new columns."""
        columns = "cluster_id, broker, user, client_id, key, window_start, window_end, value, throttle_ms, source"
        starts = {
            "old": [
                "UsageError",
                f"UsageError: lake.old has the columns {columns}",
                f"Hint: Name a table that has {columns}, day,",
            ],
            "flat": ["UsageError", "UsageError: lake.flat is partitioned by nothing", "Hint: Name another"],
            "nobody": [
                "UsageError",
                f"UsageError: lake.usage has the columns {columns}, day",
                "Hint: Name a table that has broker",
            ],
            "whole": [
                "UsageError",
                "UsageError: the rows of the utilisation of days have no column day",
                "Hint: They have",
            ],
        }
        for name, lines in starts.items():
            assert len(found["refused"][name]) == 3
            assert all(map(str.startswith, found["refused"][name], lines)), found["refused"][name]


def usage_here(broker: int) -> list[dict[str, object]]:
    """The USAGE of a broker's log, worked out in this process."""
    read = kn.usage.requests(RECORDED / f"broker-{broker}", broker=broker, tz="UTC")
    rows: list[dict[str, object]] = kn.usage.usage(read).to_pylist()
    return rows


def test_a_run_that_never_gets_its_turn_says_so(monkeypatch):
    """Sixty lines of the JVM ended with DELTA_CONCURRENT_APPEND."""
    tries = []
    monkeypatch.setattr(tables.time, "sleep", lambda seconds: None)

    def write() -> None:
        tries.append(1)
        raise RuntimeError("[DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT] …")

    with pytest.raises(kn.errors.TimedOut) as refused:
        tables._alone("lake.usage", write)
    assert len(tries) == tables.TRIES
    assert (
        str(refused.value)
        == "other runs changed lake.usage while this one wrote, 10 times in a row; nothing was written"
    )


@dataclass
class HalfMade:
    """A session in which another run is making a table, and needs so many looks for it."""

    looks_left: int

    def sql(self, statement: str) -> None:
        if self.looks_left:
            self.looks_left -= 1
            raise RuntimeError("[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] … file:/lake/usage …")


def test_a_table_that_another_run_is_making_is_looked_for_again(monkeypatch):
    """Two first runs began at four o'clock: one ended with the advice to remove the other's folder."""
    waits: list[float] = []
    monkeypatch.setattr(tables.time, "sleep", waits.append)
    tables._create(HalfMade(2), "CREATE TABLE IF NOT EXISTS lake.usage …", "lake.usage")
    assert len(waits) == 2
    with pytest.raises(kn.Invalid) as refused:
        tables._create(HalfMade(100), "CREATE TABLE IF NOT EXISTS lake.usage …", "lake.usage")
    assert refused.value.lines() == [
        "Invalid: lake.usage cannot be made: its folder is there, and is not a Delta table",
        "Hint: A run that was killed while it made the table leaves such a folder: if no run is making it, remove it.",
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
