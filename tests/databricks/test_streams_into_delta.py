"""Streams of request logs into a Delta table, killed at random moments; this file is the child, too."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.given_frames import plain
from tests.analytics.rolled_logs import RolledLogs
from tests.waiting import eventually

BROKERS = (1, 2)
STARTED = "started"
Kill = Callable[[Path, random.Random], None]


def main(folder: Path, to_the_end: bool) -> None:
    """Two queries, each of a broker's log and with a checkpoint of its own, append to one table."""
    from pyspark.sql import functions as F

    spark = kn.spark_session(delta=True)
    spark.conf.set("spark.databricks.delta.snapshotPartitions", "2")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.sql(f"CREATE TABLE usage USING delta LOCATION '{folder / 'usage'}'")
    queries = []
    for broker in BROKERS:
        lines = spark.readStream.option("maxFilesPerTrigger", 3).text(str(folder / "logs" / f"broker-{broker}"))
        lines = lines.select("value", F.col("_metadata.file_path").alias("path"))
        requests = kn.usage.requests(lines, broker=r"/broker-(\d+)/", tz="UTC")
        writer = kn.usage.usage(requests, late="30 seconds").writeStream
        writer = writer.format("delta").option("checkpointLocation", str(folder / f"checkpoint-{broker}"))
        queries.append((writer.trigger(availableNow=True) if to_the_end else writer).toTable("usage"))
    print(STARTED, flush=True)
    for query in queries:
        query.awaitTermination()


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, str(folder), *words]
    env = {**os.environ, "PYTHONPATH": path}
    log = (folder / "child.log").open("a")
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env, start_new_session=True)


@contextmanager
def killed(folder: Path) -> Iterator[int]:
    """The process group of queries that have started; JVM and workers too are killed at the end."""
    child = start(folder)
    try:
        assert child.stdout
        started = child.stdout.readline().strip()
        assert started == STARTED, (folder / "child.log").read_text()[-4000:]
        yield child.pid
        assert child.poll() is None
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def at_some_time(folder: Path, chance: random.Random) -> None:
    with killed(folder):
        time.sleep(chance.uniform(0.2, 5.0))


def inside_a_batch(folder: Path, chance: random.Random) -> None:
    with killed(folder) as group:
        while True:
            eventually(lambda: unfinished(folder) > 0, True)
            os.killpg(group, signal.SIGSTOP)
            if unfinished(folder):
                return
            os.killpg(group, signal.SIGCONT)


def unfinished(folder: Path) -> int:
    """The queries that were killed inside a batch: begun, and not committed."""
    logs = [(folder / f"checkpoint-{broker}" / name for name in ("offsets", "commits")) for broker in BROKERS]
    return sum(_last(begun) > _last(done) for begun, done in logs)


def _last(batches: Path) -> int:
    return max((int(file.name) for file in batches.glob("[0-9]*")), default=-1)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("kills", "kill"), [(1, inside_a_batch), (20, at_some_time)], ids=["once", "often"])
def test_every_window_is_there_once_however_often_the_queries_are_killed(
    tmp_path: Path, kills: int, kill: Kill
) -> None:
    """A node was preempted in the night: the minutes around it were there twice, or not at all."""
    chance, logs = random.Random(kills), RolledLogs(tmp_path / "logs", seed=kills)
    usage = str(tmp_path / "usage")
    write_deltalake(usage, plain(schemas.table(schemas.USAGE, [])))
    inside = 0
    for number in range(kills):
        for file in (2 * number, 2 * number + 1):
            for broker in BROKERS:
                logs.roll(file, broker)
        kill(tmp_path, chance)
        inside += unfinished(tmp_path)
    for broker in BROKERS:
        logs.close(broker, timedelta(days=1))
    finished = start(tmp_path, "to the end")
    finished.communicate(timeout=600)
    assert finished.returncode == 0, (tmp_path / "child.log").read_text()[-4000:]
    assert inside, "no kill hit a batch"
    assert sums_in(usage) == pytest.approx(logs.sums)


def sums_in(table: str) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for row in DeltaTable(table).to_pyarrow_table().to_pylist():
        place = (row["broker"], row["client_id"], row["key"], row["window_start"])
        assert place not in found, f"twice: {place}"
        found[place] = row["value"]
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), "to the end" in sys.argv)
