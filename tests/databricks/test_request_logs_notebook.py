"""The bundle's notebook over request logs, run as Databricks runs it, on a Spark of our own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tasks import TESTS, as_task

import kadmin_nb as kn

sys.path.insert(0, str(Path(__file__).parents[1] / "history"))
from hours import taken

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("on_databricks")]

NOTEBOOK = TESTS.parent / "databricks" / "request_logs.ipynb"
LOGS = str(TESTS / "analytics" / "recorded")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A schema of its own, `lake`, which is dropped afterwards; its folder."""
    folder = tmp_path_factory.mktemp("lake")
    spark = kn.spark_session()
    spark.sql(f"CREATE DATABASE lake LOCATION '{folder}/lake'")
    yield folder
    spark.sql("DROP DATABASE lake CASCADE")
    shutil.rmtree(folder, ignore_errors=True)


def test_logs_become_usage_and_the_use_of_limits(lake: Path) -> None:
    """The job was green, and the tables were empty."""
    snapshot = taken(1, {"admin": 1000.0})
    limits = snapshot.save(lake / "limits.parquet")
    given = {"logs": LOGS, "broker": r"broker-(\d+)/", "tz": "UTC", "every": "1 second", "limits": str(limits)}
    said = as_task(NOTEBOOK, **given, usage="lake.usage", utilisation="lake.utilisation")
    assert (said["runbook"], said["ok"], said["parameters"]["append"]) == ("request_logs", True, False)
    spark = kn.spark_session()
    used = spark.table("lake.usage")
    assert {row.broker for row in used.select("broker").distinct().collect()} == {1, 2}
    rows = spark.table("lake.utilisation").where("bucket_user = 'admin' and limit = 1000").collect()
    assert [row.key for row in rows] == ["producer_byte_rate"] * len(rows)
    assert max(row.utilisation for row in rows) > 100

    before = used.count()
    lines = (Path(LOGS) / "broker-1" / "request.log").read_text().splitlines()
    spark.createDataFrame([(line,) for line in lines], "line string").write.saveAsTable("lake.lines")
    given = {"logs": "lake.lines", "broker": "1", "tz": "UTC", "cluster_id": snapshot.cluster_id}
    as_task(NOTEBOOK, **given, usage="lake.usage", append="true")
    assert spark.table("lake.usage").count() > before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"logs": LOGS}, "nobody said which broker wrote the log"),
        ({"logs": LOGS, "broker": "1", "tz": "Berlin"}, "Berlin is not a time zone"),
        ({"logs": LOGS, "brokre": "1"}, "brokre"),
    ],
    ids=["nobody's", "zone", "misspelt"],
)
def test_a_wrong_parameter_fails_the_job(given: dict[str, str], said: str) -> None:
    """It ended with success and a stack trace."""
    with pytest.raises(kn.UsageError, match=said):
        as_task(NOTEBOOK, **given)
