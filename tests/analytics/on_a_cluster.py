"""A program as a team has it, for a Spark that something else names; it knows nothing of where it runs.

    on_a_cluster.py FOLDER PART …

Each part gives the rows of Spark and those of Arrow in this process. The last line is JSON: the `master`, and of each
part how many rows there are, and whether they are the same. The part `killed` ends the process of the worker whose id
the file FOLDER/worker has.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.given_frames import plain
from kadmin_nb.frames.spark import to_spark
from tests.analytics.fleets import pairs_of_a_fleet, quotas_of_a_fleet, rows
from tests.analytics.rolled_logs import RolledLogs

RECORDED, BROKER = Path(__file__).parent / "recorded", r"broker-(\d+)/"
QUOTAS, PAIRS = quotas_of_a_fleet(1), pairs_of_a_fleet(2)
LIMITS = schemas.table(
    schemas.QUOTAS,
    [{"entity": "user=<default>", "level": "DEFAULT_USER", "key": key, "value": 1000.0}
     for key in ("producer_byte_rate", "consumer_byte_rate", "request_percentage")],
)  # fmt: skip

Both = tuple[pa.Table, pa.Table]
"""The rows of Spark, and of this process."""


def resolve(spark: Any, folder: Path) -> Both:
    """Quotas that travel to the workers, and pairs in several partitions."""
    found = kn.fleets.resolve(QUOTAS, to_spark(PAIRS, spark).repartition(4))
    return found.toArrow(), kn.resolve(QUOTAS, PAIRS)


def usage(spark: Any, folder: Path) -> Both:
    """Files that the workers read."""
    return kn.usage.usage(_log(spark)).toArrow(), kn.usage.usage(_log(None))


def utilisation(spark: Any, folder: Path) -> Both:
    """Buckets that are brought together by a shuffle."""
    found, here = (kn.usage.utilisation(kn.usage.usage(_log(of)), LIMITS) for of in (spark, None))
    return found.toArrow(), here


def sql(spark: Any, folder: Path) -> Both:
    """Functions of SQL with our code in them."""
    kn.sql.register(spark, quotas=QUOTAS, broker=BROKER, tz="UTC")
    to_spark(PAIRS, spark).createOrReplaceTempView("clients")
    return spark.sql("SELECT * FROM kafka_effective(TABLE(clients))").toArrow(), kn.resolve(QUOTAS, PAIRS)


def stored(spark: Any, folder: Path) -> Both:
    """One log twice into one Delta table."""
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder / 'lake'}'")
    for _ in range(2):
        kn.usage.store_usage(_log(spark), "lake.usage")
    table = spark.table("lake.usage").drop("day", "read_from", "read_to")
    return table.toArrow(), kn.usage.usage(_log(None))


def stream(spark: Any, folder: Path) -> Both:
    """Files of two brokers, some at a time, into a Delta table."""
    from pyspark.sql import functions as F

    logs = _logs(folder / "logs")
    lines = spark.readStream.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", 2).text(str(logs))
    lines = lines.select("value", F.col("_metadata.file_path").alias("path"))
    found = kn.usage.usage(kn.usage.requests(lines, broker=r"/broker-(\d+)/", tz="UTC"), late="1 minute")
    writer = found.writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "stream")).awaitTermination()
    table = spark.read.format("delta").load(str(folder / "stream"))
    here = kn.usage.usage(kn.usage.requests(logs, broker=r"/broker-(\d+)/", tz="UTC"))
    return table.toArrow(), here.filter(pa.compute.not_equal(here["client_id"].cast(pa.string()), "last"))


def killed(spark: Any, folder: Path) -> Both:
    """A worker is killed, with its executor, while the others read: its part is read again elsewhere."""
    logs = _logs(folder / "killed", files=30)
    found = kn.usage.usage(kn.usage.requests(str(logs), spark=spark, broker=r"/broker-(\d+)/", tz="UTC"))

    def kill() -> None:
        while _tasks_at_work(spark) < 2:  # one on each worker
            time.sleep(0.02)
        os.kill(int((folder / "worker").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    there = found.toArrow()
    killer.join(timeout=1)
    return there, kn.usage.usage(kn.usage.requests(logs, broker=r"/broker-(\d+)/", tz="UTC"))


def _tasks_at_work(spark: Any) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = filter(None, map(tracker.getJobInfo, tracker.getActiveJobsIds()))
    stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
    return sum(stage.numActiveTasks for stage in stages)


def _log(spark: Any) -> Any:
    return kn.usage.requests(str(RECORDED), spark=spark, broker=BROKER, tz="UTC")


def _logs(folder: Path, files: int = 3) -> Path:
    made = RolledLogs(folder)
    for number in range(files):
        made.roll(number, 1 + number % 2)
    made.close(1)
    return made.folder


PARTS: dict[str, Callable[[Any, Path], Both]] = {
    part.__name__: part for part in (resolve, usage, utilisation, sql, stored, stream, killed)
}


def main(folder: Path, parts: list[str]) -> None:
    spark = kn.spark_session(delta={"stored", "stream"} & {*parts} != set())
    said: dict[str, Any] = {"master": spark.conf.get("spark.master", ""), "workers": _imports(spark)}
    for name in parts:
        there, here = PARTS[name](spark, folder)
        said[name] = [len(there), rows(plain(there)) == rows(plain(here))]
        print(name, said[name], file=sys.stderr, flush=True)
    print(json.dumps(said))


def _imports(spark: Any) -> str:
    """What workers say when they are to import kadmin_nb."""

    def imports(batches: Any) -> Any:
        import importlib.util

        import pyarrow

        for _ in batches:
            found = importlib.util.find_spec("kadmin_nb")
            yield pyarrow.RecordBatch.from_pydict({"found": ["none" if found is None else str(found.origin)]})

    return str(spark.range(1).mapInArrow(imports, "found string").first()[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
