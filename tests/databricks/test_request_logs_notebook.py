"""The bundle's notebook over request logs, run as Databricks runs it, on a Spark of our own."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

import kadmin_nb as kn

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "history"), str(TESTS / "runbooks")]
from databricks_stand_in import Dbutils, Exit  # noqa: E402
from hours import taken  # noqa: E402

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


def as_task(**parameters: str) -> dict[str, Any]:
    """Run the cells in one namespace with a dbutils; what the job gets."""
    space: dict[str, Any] = {"dbutils": Dbutils(**parameters), "In": [""]}
    with pytest.raises(Exit) as ended:
        _run_cells(space)
    said: dict[str, Any] = json.loads(str(ended.value))
    return said


def _run_cells(space: dict[str, Any]) -> None:
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            space["In"].append(cell.source)
            exec(cell.source, space)


def test_logs_become_usage_and_the_use_of_limits(lake: Path) -> None:
    """The job was green, and the tables were empty."""
    limits = taken(1, {"admin": 1000.0}).save(lake / "limits.parquet")
    given = {"logs": LOGS, "broker": r"broker-(\d+)/", "tz": "UTC", "every": "1 second", "limits": str(limits)}
    said = as_task(**given, usage="lake.usage", utilisation="lake.utilisation")
    assert (said["runbook"], said["ok"], said["parameters"]["append"]) == ("request_logs", True, False)
    used = kn.spark_session().table("lake.usage")
    assert {row.broker for row in used.select("broker").distinct().collect()} == {1, 2}
    rows = kn.spark_session().table("lake.utilisation").where("bucket_user = 'admin' and limit = 1000").collect()
    assert [row.key for row in rows] == ["producer_byte_rate"] * len(rows)
    assert max(row.utilisation for row in rows) > 100


def test_lines_of_a_table_are_added_to_the_usage(lake: Path) -> None:
    """The second day took the place of the first."""
    spark = kn.spark_session()
    lines = (Path(LOGS) / "broker-1" / "request.log").read_text().splitlines()
    spark.createDataFrame([(line,) for line in lines], "line string").write.saveAsTable("lake.lines")
    given = {"logs": "lake.lines", "broker": "1", "tz": "UTC", "usage": "lake.days", "append": "true"}
    as_task(**given)
    once = spark.table("lake.days").count()
    as_task(**given)
    assert spark.table("lake.days").count() == 2 * once > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"logs": LOGS}, "nobody said which broker wrote the log"),
        ({"logs": LOGS, "broker": "1", "tz": "Berlin"}, "tz is no time zone"),
        ({"logs": LOGS, "broker": "1", "tz": "UTC", "every": "often"}, "every is no length"),
        ({"logs": LOGS, "brokre": "1"}, "brokre"),
    ],
    ids=["nobody's", "zone", "window", "misspelt"],
)
def test_a_wrong_parameter_fails_the_job(given: dict[str, str], said: str) -> None:
    """It ended with success and a stack trace."""
    with pytest.raises(kn.UsageError, match=said):
        as_task(**given)
