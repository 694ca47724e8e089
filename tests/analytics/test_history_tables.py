"""Histories in a session without Delta; with it they are tried in `tests/history/test_both_places.py`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import new_table, to_spark
from tests.history.hours import taken

pytestmark = pytest.mark.spark


@pytest.fixture
def schema(spark, tmp_path: Path) -> Iterator[str]:
    """The name of a schema of its own, which is dropped afterwards."""
    spark.sql(f"CREATE DATABASE kept LOCATION '{tmp_path}/kept'")
    yield "spark_catalog.kept"
    spark.sql("DROP DATABASE kept CASCADE")
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)


def test_a_session_without_delta_is_one_line(spark, schema: str) -> None:
    """MERGE INTO TABLE is not supported temporarily, said Spark, and forty lines more."""
    history = kn.open_history(schema)
    assert len(history.snapshots()) == 0
    with pytest.raises(kn.errors.Unsupported, match="this Spark session has no Delta") as refused:
        history.record(taken(0, {"alice": 1.0}))
    assert "\n" not in str(refused.value)
    assert "kn.spark_session(delta=True)" in str(refused.value.hint)
    assert not [row for row in spark.sql(f"SHOW TABLES IN {schema}").collect() if not row.isTemporary]


def test_a_table_is_no_place_for_a_history(spark) -> None:
    """It is several tables now, and the name of the old one was taken for a path."""
    with pytest.raises(kn.UsageError, match=r"main\.kafka\.history is a table's name") as refused:
        kn.open_history("main.kafka.history", spark)
    assert refused.value.hint == "Give main.kafka."


@pytest.mark.parametrize("name", ["USAGE", "UTILISATION", "QUOTAS_HISTORY"])
def test_a_table_of_spark_says_what_its_columns_are(spark, schema: str, name: str) -> None:
    """Half a year later nobody knew in which unit `throttle_ms` of the usage's table was, or whose the longest."""
    frame, table = schemas.FRAMES[name], f"{schema}.table"
    spark.sql(new_table(table, to_spark(frame.empty(), spark), frame, "USING parquet"))
    said = {row[0]: row[2] for row in spark.sql(f"DESCRIBE TABLE {table}").collect()}
    assert {column: text or "" for column, text in said.items()} == {f.name: f.comment for f in frame.fields.values()}
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    assert described["Comment"] == frame.comment()
