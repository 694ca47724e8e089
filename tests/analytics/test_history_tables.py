"""Histories in a table of Spark's; without Delta, in Parquet."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import new_table, to_spark
from tests.history.hours import at, limits_of, taken, topic

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark, tmp_path: Path) -> Iterator[str]:
    """The name of a table in a schema of its own, which is dropped afterwards."""
    spark.sql(f"CREATE DATABASE kept LOCATION '{tmp_path}/kept'")
    yield "kept.snapshots"
    spark.sql("DROP DATABASE kept CASCADE")
    shutil.rmtree(tmp_path / "kept", ignore_errors=True)


def test_a_table_keeps_what_a_path_keeps(spark, table: str) -> None:
    """The lake has tables, and only paths were taken."""
    history = kn.open_history(table)
    assert len(history.snapshots()) == 0
    given = taken(1, {"alice": 0.1, "<default>": 2.0, "new\nline": 3.0}, [topic("orders", "retention.ms", "1")])
    history.record(given)
    said = history.record(taken(2, {"alice": 0.1, "<default>": 2.0, "new\nline": 3.0}), plan_id="7f3a" * 16)
    assert said.to_pandas()["unchanged"].tolist() == [True, False]
    history.record(taken(3, {"alice": 5.0, "<default>": 2.0, "new\nline": 3.0}))
    history.record(taken(4, {}))
    back = history.as_of(at(1.5))
    assert back.quotas.to_arrow().equals(given.quotas.to_arrow())
    assert back.configs.to_arrow().equals(given.configs.to_arrow())
    assert limits_of(history.as_of(at(3))) == {"alice": 5.0, "<default>": 2.0, "new\nline": 3.0}
    assert limits_of(history.as_of(at(9))) == {}
    moved = history.changes((at(1), at(3))).to_pandas()[["resource", "state", "old", "new"]].values.tolist()
    assert moved == [["topic=orders", "removed", "1", None], ["user=alice", "changed", "0.1", "5"]]
    assert history.who("7f3a").to_pandas()["resource"].tolist() == ["topic=orders"]
    assert history.drift(at(1), at(2)).to_pandas()["state"].tolist() == ["removed"]


def test_two_writers_at_once_lose_nothing(spark, table: str) -> None:
    """Two jobs recorded at the same minute, and one snapshot was gone."""
    kn.open_history(table).record(taken(0, {"alice": 1.0}))
    said: list[BaseException] = []

    def write(name: str) -> None:
        history = kn.open_history(table, spark)
        try:
            for hour in range(3):
                history.record(taken(hour, {"alice": hour + 1.0}, cluster_id=name, scopes=["QUOTAS"]))
        except BaseException as exc:
            said.append(exc)

    writers = [threading.Thread(target=write, args=[name]) for name in ("one", "two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert not said
    history = kn.open_history(table)
    assert len(history.snapshots()) == 2 + 3 + 3
    for name in ("one", "two"):
        assert [limits_of(history.as_of(at(hour), name)) for hour in range(3)] == [
            {"alice": 1.0},
            {"alice": 2.0},
            {"alice": 3.0},
        ]


def test_other_tables_are_not_taken_for_a_history(spark, table: str) -> None:
    """The name was that of another table."""
    spark.sql("CREATE TABLE kept.orders (number INT, cluster_id STRING) USING parquet")
    with pytest.raises(kn.UsageError, match=r"kept\.orders is not a history: no column taken_at") as raised:
        kn.open_history("kept.orders").record(taken(0, {}))
    assert raised.value.hint == "Found: number, cluster_id."


def test_a_schema_that_is_not_there_is_named(spark) -> None:
    """A page of the JVM's stack."""
    with pytest.raises(kn.Invalid, match=r"nowhere\.snapshots cannot be made") as raised:
        kn.open_history("nowhere.snapshots").record(taken(0, {}))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["USAGE", "UTILISATION", "HISTORY"])
def test_a_table_of_spark_says_what_its_columns_are(spark, table: str, name: str) -> None:
    """Half a year later nobody knew in which unit `throttle_ms` of the usage's table was, or whose the longest."""
    frame = schemas.FRAMES[name]
    spark.sql(new_table(table, to_spark(frame.empty(), spark), frame, "USING parquet"))
    said = {row[0]: row[2] for row in spark.sql(f"DESCRIBE TABLE {table}").collect()}
    assert {column: text or "" for column, text in said.items()} == {f.name: f.comment for f in frame.fields.values()}
    described = {row[0]: row[1] for row in spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()}
    assert described["Comment"] == frame.comment()
