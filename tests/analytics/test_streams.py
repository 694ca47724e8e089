"""A request log that goes on: the same figures as of the whole log, window by window, once each."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import spark_schema
from tests.analytics.rolled_logs import NOON, RolledLogs, request_line

pytestmark = pytest.mark.spark

BROKER = r"/broker-(\d+)/"
QUOTAS = schemas.table(
    schemas.QUOTAS,
    [
        {"entity": f"client-id={name}", "level": "CLIENT", "client_id": name, "key": key, "value": value}
        for name in ("app-0", "app-1")
        for key, value in (("producer_byte_rate", 2e6), ("request_percentage", 1.0))
    ]
    + [
        {
            "entity": "user=svc",
            "level": "USER",
            "user": "svc",
            "key": "producer_byte_rate",
            "value": 2.5e6,
        }
    ],
)


@pytest.fixture
def logs(tmp_path) -> RolledLogs:
    """Two brokers' files of a minute, and a last line with which the minute is over."""
    made = RolledLogs(tmp_path / "logs")
    for number in range(3):
        made.roll(number, 1 + number % 2)
    made.close(1)
    return made


@pytest.fixture
def lines_of(spark):
    """The lines of a folder as a stream, so many files at a time."""

    def read(folder: Path, files: int = 2):
        source = spark.readStream.option("recursiveFileLookup", "true").option("maxFilesPerTrigger", files)
        return source.text(str(folder)).select("value", F.col("_metadata.file_path").alias("path"))

    return read


@pytest.fixture
def out(spark, tmp_path):
    """The rows that a stream has written when all that is there is read, and the progress of its query."""

    def run(frame, name: str = "out", checkpoint: str | None = None):
        place = tmp_path / name
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / (checkpoint or f"{name}.checkpoint")))
        query = writer.trigger(availableNow=True).format("parquet").option("path", str(place)).start()
        try:
            query.awaitTermination()
            progress = query.recentProgress
        finally:
            query.stop()
        return sorted(map(tuple, spark.read.parquet(str(place)).select(*frame.columns).collect())), progress

    return run


def counts_of(batch) -> dict:
    """The counts of a batch's lines; over Connect Spark 4.2 gives them without names."""
    counts = batch["observedMetrics"].get("request_log")
    if counts is None:
        return {"lines": 0, "quarantined": 0}
    return dict(zip(("lines", "quarantined", "left_out"), getattr(counts, "values", counts), strict=True))


def sums_of(rows) -> dict:
    """As `RolledLogs.sums`; a window that is there twice is an error."""
    found = {}
    for broker, _, client_id, key, start, _, value, *_ in rows:
        place = (broker, client_id, key, start.replace(tzinfo=UTC))
        assert place not in found, f"twice: {place}"
        found[place] = value
    return found


def test_a_stream_gives_what_the_whole_log_does(spark, logs, lines_of, out):
    """The windows were arithmetic, and Spark refused: STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION."""
    usage = kn.usage.usage(kn.usage.requests(lines_of(logs.folder), broker=BROKER, tz="UTC"), late="1 minute")
    rows, progress = out(usage)
    batch = kn.usage.usage(kn.usage.requests(str(logs.folder), spark=spark, broker=BROKER, tz="UTC"))
    assert (usage.columns, usage.dtypes) == (batch.columns, batch.dtypes)
    assert rows == sorted(map(tuple, batch.where("client_id != 'last'").collect()))
    assert sums_of(rows) == pytest.approx(logs.sums)
    counted = [counts_of(batch) for batch in progress]
    assert sum(row["lines"] for row in counted) == logs.lines
    assert sum(row["quarantined"] for row in counted) == logs.cut > 0


def test_what_comes_too_late_is_counted(tmp_path, lines_of, out):
    """An hour-old file was shipped, and its requests were neither in a window nor anywhere else."""
    logs = RolledLogs(tmp_path / "logs")
    for minute in (0, 60, 61, 5, 62):
        at = NOON + timedelta(minutes=minute)
        logs.add([request_line(at, f"at-{minute}", minute, 10)], 1, f"request.log.{minute}")
    logs.close(1)
    usage = kn.usage.usage(kn.usage.requests(lines_of(logs.folder, 1), broker=BROKER, tz="UTC"), late="10 minutes")
    rows, progress = out(usage)
    assert {row[2] for row in rows} == {"at-0", "at-60", "at-61", "at-62"}
    dropped = [state["numRowsDroppedByWatermark"] for batch in progress for state in batch["stateOperators"]]
    assert sum(dropped) == 1


def test_lines_of_a_topic_are_bytes(logs, lines_of, out):
    """Kafka's source has a key and a value, both bytes."""
    shipped = lines_of(logs.folder, 9).select(F.col("value").cast("binary").alias("value"))
    rows, _ = out(kn.usage.usage(kn.usage.requests(shipped, broker=7, tz="UTC", dedupe=False), "1 minute", late="5s"))
    assert {row[0] for row in rows} == {7}


def alerts_of(rows) -> list[tuple]:
    return sorted((*row[:4], row[6], round(row[8]), round(row[10], 6)) for row in rows)


@pytest.mark.parametrize("of", [pytest.param("requests", marks=pytest.mark.long), "a table"])
def test_alerts_come_as_soon_as_a_window_is_over(spark, logs, lines_of, out, tmp_path, of):
    """Who is over a limit was known in the morning, by the job of the night."""
    whole = kn.usage.usage(kn.usage.requests(str(logs.folder), broker=BROKER, tz="UTC"))
    wanted = kn.usage.alerts(whole, QUOTAS, 60)
    assert wanted.schema.names == schemas.ALERTS.names
    assert len(wanted) > 20
    if of == "requests":
        usage = kn.usage.usage(kn.usage.requests(lines_of(logs.folder), broker=BROKER, tz="UTC"), late="1 minute")
    else:
        kn.Answer(whole).to_spark(spark).write.parquet(str(tmp_path / "usage"))
        usage = spark.readStream.schema(spark_schema(schemas.USAGE.schema)).parquet(str(tmp_path / "usage"))
    rows, _ = out(kn.usage.alerts(usage, QUOTAS, 60, late="1 minute"))
    assert alerts_of(rows) == alerts_of(
        tuple(value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value for value in row.values())
        for row in wanted.to_pylist()
        if row["window_start"] < NOON + timedelta(hours=1)
    )
    here = kn.usage.alerts(kn.Answer(whole).to_spark(spark), QUOTAS, 60).toArrow()
    assert here.num_rows == len(wanted)


def test_a_checkpoint_of_another_query_doubles_nothing(logs, lines_of, out):
    """The query was changed, and went on with the old one's checkpoint."""

    def usage(**how):
        lines = lines_of(logs.folder, 9)
        return kn.usage.usage(kn.usage.requests(lines, broker=BROKER, tz="UTC", **how), late="1 minute")

    rows, _ = out(usage())
    assert out(usage())[0] == rows, "started anew, with nothing new"
    logs.add([request_line(NOON + timedelta(days=2), "more", 1, 1)], 1, "request.log.more")
    with pytest.raises(StreamingQueryException, match="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"):
        out(usage(dedupe=False))
    assert [row for row in out(usage())[0] if row[2] != "last"] == rows


def test_what_a_stream_cannot_do_is_one_line(spark, logs, lines_of):
    """A look at the first lines: Queries with streaming sources must be executed with writeStream.start()."""
    lines = lines_of(logs.folder)
    with pytest.raises(kn.UsageError, match="no column path, which should name the broker"):
        kn.usage.requests(lines.select("value"), broker=BROKER, tz="UTC")
    requests = kn.usage.requests(lines, broker=BROKER, tz="UTC")
    with pytest.raises(kn.UsageError, match="a stream has no end to count its lines at"):
        _ = requests.counts
    with pytest.raises(kn.UsageError, match="late=soon is not a length of time"):
        kn.usage.usage(requests, late="soon")
    assert all(frame.isStreaming for frame in (requests.frame, requests.quarantine))
    with pytest.raises(kn.UsageError, match="the lines have no column line"):
        kn.usage.requests(spark.createDataFrame(pa.table({"text": ["a"]})), broker=1)
