"""Request lines to USAGE in a declarative pipeline, whose query functions may ask Spark nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kadmin_nb as kn
from kadmin_nb.java import spark_java_home
from tests.analytics.conftest import CONNECT
from tests.analytics.fleets import rows

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/pipeline"
RECORDED = Path(__file__).parent / "recorded"
BROKER = r"broker-(\d+)/"


def of_the_recorded_logs(every: str):
    return kn.usage.usage(kn.usage.requests(str(RECORDED), broker=BROKER, tz="UTC"), every)


@pytest.mark.spark
def test_usage_of_a_table_that_is_not_there_yet(spark, monkeypatch):
    """[ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION]: it had looked at the columns."""
    asked = []
    if CONNECT:
        client = type(spark.client)
        monkeypatch.setattr(client, "_analyze", lambda *words, **more: asked.append(words) or 1 / 0)
    request = kn.sql.kafka_request(broker=BROKER, tz="UTC", cluster_id="here")
    files = spark.read.option("recursiveFileLookup", "true").text(str(RECORDED))
    lines = files.selectExpr("_metadata.file_path AS path", "value AS line")
    parsed = lines.unionAll(lines).select(request("path", "line").alias("request"))
    requests = parsed.where("request.fault IS NULL AND request.reason IS NULL").select("request.*")
    used = kn.sql.usage_of(requests, "1 second", by_cluster=True)
    monkeypatch.undo()
    assert asked == []
    found = used.toArrow()
    assert set(found["cluster_id"].to_pylist()) == {"here"}
    assert rows(found.drop_columns(["cluster_id"])) == rows(of_the_recorded_logs("1 second"))


@pytest.mark.long
def test_the_example_is_a_pipeline_that_runs(tmp_path):
    """The example was of another version of Spark."""
    for file in EXAMPLE.rglob("*.*"):
        copy = tmp_path / file.relative_to(EXAMPLE)
        copy.parent.mkdir(exist_ok=True)
        text = file.read_text().replace("/tmp/kadmin_nb-pipeline", str(tmp_path / "store"))
        copy.write_text(text.replace("/logs/kafka", str(tmp_path / "logs")))
    shutil.copytree(RECORDED, tmp_path / "logs")
    (tmp_path / "logs/broker-1/request.log.other").write_text("no request\n")
    import pyspark

    home = Path(pyspark.__file__).parent
    spark = {"SPARK_HOME": str(home), "JAVA_HOME": str(spark_java_home())}
    pythons = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    words = [str(home / "bin/spark-pipelines"), "run", "--spec", "spark-pipeline.yml"]
    environment = os.environ | spark | pythons
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stderr[-4000:]
    tables = tmp_path / "spark-warehouse"
    assert _rounded(pq.read_table(tables / "usage")) == _rounded(of_the_recorded_logs("1 minute"))
    assert pq.read_table(tables / "rejected_lines").to_pylist()[0]["line"] == "no request"


def _rounded(usage: pa.Table) -> list[tuple[object, ...]]:
    """The rows in one order; Parquet has Spark's times without a zone, and sums differ in their last digits."""
    starts = [str(start)[:19] for start in usage["window_start"].to_pylist()]
    values = [value and round(value, 9) for value in usage["value"].to_pylist()]
    names = [usage[name].to_pylist() for name in ("broker", "user", "client_id", "key", "throttle_ms", "source")]
    return sorted(zip(starts, *names, values, strict=True), key=str)
