"""A history at a path and one in a catalog are the same.

The tests run at paths. `KADMIN_TEST_HISTORY=catalog` runs them in a Spark with Delta, as a process of their own does,
since the Spark of other tests has none; `connect` runs them over Spark Connect.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames import spark as spark_sessions
from kadmin_nb.java import spark_java_home
from kadmin_nb.local.local_kafka import _free_ports
from kadmin_nb.state import History
from kadmin_nb.state.intervals import FRAMES
from tests.history.hours import at, limits_of, taken, topic
from tests.history.model import Seen, are_maximal, changes, state, told, told_changes
from tests.history.plans import Applied, after_plans
from tests.history.plans import limit as quota

MODE = os.environ.get("KADMIN_TEST_HISTORY", "path")
IN_CATALOG = MODE != "path"
DOCS = Path(__file__).parents[2] / "docs" / "history.md"

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def spark() -> Any:
    """A session with Delta, where the tests are in a catalog."""
    if not IN_CATALOG:
        return None
    session = over_connect() if MODE == "connect" else kn.spark_session(delta=True)
    session.conf.set("spark.databricks.delta.snapshotPartitions", "1")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return session


def over_connect() -> Any:
    """A session of Spark Connect, whose server is started here and has Delta."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client import DefaultChannelBuilder

    os.environ["JAVA_HOME"] = str(spark_java_home())
    (port,) = _free_ports(1)
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)
    settings = spark_sessions._SETTINGS | spark_sessions._DELTA_SETTINGS
    settings["spark.driver.extraClassPath"] = os.pathsep.join(map(str, spark_sessions.DELTA.jars()))
    settings["spark.connect.grpc.binding.port"] = str(port)
    builder = SparkSession.builder.remote("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():  # what the server was started with cannot be set once more
        warnings.simplefilter("ignore", UserWarning)
        return builder.getOrCreate()


@pytest.fixture
def where(spark: Any, tmp_path: Path) -> Iterator[str]:
    """A place for a history."""
    if not IN_CATALOG:
        yield str(tmp_path / "history")
        return
    schema = f"kept{next(_numbers)}"
    spark.sql(f"CREATE DATABASE {schema} LOCATION '{tmp_path}/{schema}'")
    yield f"spark_catalog.{schema}"
    spark.sql(f"DROP DATABASE {schema} CASCADE")


@pytest.fixture
def history(where: str, spark: Any) -> History:
    return kn.open_history(where, spark)


def _table(history: History) -> pa.Table:
    """The intervals of quotas as Arrow, wherever they are."""
    rows = history.intervals("quotas")
    return rows if isinstance(rows, pa.Table) else rows.toArrow()


@pytest.fixture
def query(where: str, spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    """What a statement over `quotas_history` answers: of DuckDB at a path, of Spark in a catalog; far from UTC."""

    def rows(statement: str) -> list[tuple[Any, ...]]:
        if IN_CATALOG:
            spark.sql(f"USE {where}")
            spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
            try:
                return [tuple(row) for row in spark.sql(statement).collect()]
            finally:
                spark.conf.set("spark.sql.session.timeZone", "UTC")
                spark.sql("USE spark_catalog.default")
        import duckdb
        from deltalake import DeltaTable

        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'Asia/Kolkata'")
            connection.register("quotas_history", DeltaTable(f"{where}/quotas_history").to_pyarrow_dataset())
            return connection.sql(statement).fetchall()

    return rows


def test_a_day_with_all_that_happens(history: History, where: str, query, spark: Any) -> None:
    """The lake said something else than the folder did, or than the SQL that is in the docs."""
    odd = 'it\'s "odd" \\ é'
    seen = [
        Seen(1, 1, {"alice": 0.1, "<default>": 2.0, "new\nline": 3.0, 'it\'s \\ "q"': 4.0}, {"orders": "1", "1": "5"}),
        Seen(2, 3, {"alice": 7.0}, {"orders": "1", "1": "6"}),
        Seen(3, 2, {"alice": 0.1}, {"orders": "2"}, ("QUOTAS", "TOPIC")),
        Seen(4, 4, {}, {"1": "6"}, ("QUOTAS", "BROKER")),
    ]
    anns = Applied("7f3a" * 16, (quota("alice", 0.1, 7.0), quota("<default>", 2.0, None)), "ann@laptop")
    assert len(history.snapshots()) == 0
    for one in seen:
        history.record(after_plans(one.snapshot, *[anns] * (one.number == 3)))
    assert history.record(Seen(3.5, 6, {"alice": 9.0}).snapshot).notes[0].endswith("recorded: quotas, configs")
    history.record(Seen(2, 5, {"x": 1.0}, scopes=("QUOTAS",), cluster_id=odd).snapshot)
    hours = [0, 1, 1.5, 2, 2.5, 3, 9]
    assert [told(history, hour) for hour in hours] == [state(seen, hour) for hour in hours]
    assert told_changes(history) == changes(seen)
    assert are_maximal(history)
    assert history.clusters == ("here", odd)
    assert limits_of(history.as_of(at(9), odd)) == {"x": 1.0}
    planned = [row for row in history.changes((None, None), "here") if row["plan_id"]]
    who = {(row["resource"], row["new"], row["author"]) for row in planned}
    assert who == {("user=alice", "7", "ann@laptop"), ("user==<default>", None, "ann@laptop")}
    first = seen[0].snapshot
    assert history.as_of(at(1), "here").quotas.to_arrow().equals(first.quotas.to_arrow())
    assert history.as_of(at(1), "here").configs.to_arrow().equals(first.configs.to_arrow())
    assert _table(history).column_names == schemas.QUOTAS_HISTORY.names
    _ask_as_the_docs_do(history, query, [1.5, 2, 2.5, 9])
    _ask_again_with_two_open(history, where, spark)


def test_two_times_are_compared_by_diff(history: History, where: str) -> None:
    """Compare Monday with Tuesday: one side of it was always now."""
    for hour in (1, 3):
        history.record(taken(hour, {"alice": float(hour)}))
    found = kn.diff(*(f"history:{where}@{at(hour).isoformat()}" for hour in (1, 3)))
    rows = [(row["resource"], row["state"], row["a"], row["b"]) for row in found]
    assert rows == [("user=alice", "changed", "1", "3")]


def test_a_table_that_an_older_version_did_not_make_is_made(history: History, where: str, spark: Any) -> None:
    """The history of last year could not be opened any more: it has no table of credentials."""
    history.record(taken(1, {"alice": 1.0}))
    if IN_CATALOG:
        spark.sql(f"DROP TABLE {where}.credentials_history")
    else:
        assert not Path(where, "credentials_history").exists()
    before = history.intervals("credentials")
    assert (before if isinstance(before, pa.Table) else before.toArrow()).num_rows == 0
    assert limits_of(history.as_of(at(1))) == {"alice": 1.0}
    history.record(taken(2, {"alice": 2.0}))
    assert limits_of(history.as_of(at(2))) == {"alice": 2.0}
    assert [row["new"] for row in history.changes((None, None))] == ["2"]


def _ask_as_the_docs_do(history: History, query: Callable[[str], list[tuple[Any, ...]]], hours: list[float]) -> None:
    [statement] = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.S)
    [cluster] = re.findall(r"cluster_id = '(.*?)'", statement)
    [time] = set(re.findall(r"'(\d{4}-.*?)'", statement))
    for hour in hours:
        rows = history.as_of(at(hour), "here").quotas.to_arrow().to_pylist()
        asked = statement.replace(cluster, "here").replace(time, at(hour).isoformat(sep=" "))
        assert sorted(query(asked)) == sorted((row["entity"], row["key"], row["value"]) for row in rows)


def _ask_again_with_two_open(history: History, where: str, spark: Any) -> None:
    """A row that somebody wrote by hand."""
    history.record(taken(5, {"alice": 1.0}, scopes=["QUOTAS"]))
    row = next(row for row in _table(history).to_pylist() if row["valid_from"] == at(5))
    rows = pa.Table.from_pylist([{**row, "valid_from": at(5.5)}], schema=_table(history).schema)
    if IN_CATALOG:
        from kadmin_nb.frames.spark import to_spark

        to_spark(rows, spark).write.insertInto(f"{where}.quotas_history")
    else:
        from deltalake import write_deltalake

        write_deltalake(f"{where}/quotas_history", rows, mode="append")
    before = _table(history).num_rows
    with pytest.raises(kn.Invalid, match="quotas_history has two intervals of user=alice") as refused:
        history.record(taken(6, {"alice": 1.0}, scopes=["QUOTAS"]))
    assert "\n" not in str(refused.value)
    assert _table(history).num_rows == before


def test_two_recorders_at_once(where: str, spark: Any) -> None:
    """Two jobs recorded at the same minute, and one snapshot was gone."""
    seen = [
        [Seen(hour, n * 10 + hour, {"alice": hour * n + 1.0}, scopes=("QUOTAS",)) for hour in (n, n + 2)]
        for n in (0, 1)
    ]
    errors: list[BaseException] = []

    def write(snapshots: list[Seen]) -> None:
        try:
            for one in snapshots:
                kn.open_history(where, spark).record(one.snapshot)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=[part]) for part in seen]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(300)
    assert not errors
    history = kn.open_history(where, spark)
    numbers = {int(row["snapshot_id"]) for row in history.snapshots()}
    recorded = [one for one in (*seen[0], *seen[1]) if one.number in numbers]
    assert max(one.hour for one in recorded) == 3  # one that came after a later one is left out
    hours = [0, 1, 2, 3]
    assert [told(history, hour) for hour in hours] == [state(recorded, hour) for hour in hours]


if IN_CATALOG:

    def test_tables_say_what_they_are(history: History, where: str, spark: Any) -> None:
        """Half a year later nobody knew what valid_to was."""
        history.record(taken(0, {"alice": 1.0}, [topic("orders", "retention.ms", "1")]))
        for name, frame in FRAMES.items():
            described = {
                row[0]: (row[1], row[2]) for row in spark.sql(f"DESCRIBE TABLE EXTENDED {where}.{name}").collect()
            }
            assert described["Comment"][0] == frame.comment()
            assert [described[field.name][1] or "" for field in frame.fields.values()] == [
                field.comment for field in frame.fields.values()
            ]
            edge = "valid_to" if "valid_to" in frame.names else "taken_at"
            assert f'clusteringColumns=[["cluster_id"],["{edge}"]]' in described["Table Properties"][0]


if IN_CATALOG:

    def test_what_is_no_history_in_a_catalog_is_one_line(where: str, spark: Any) -> None:
        """A page of the JVM's stack."""
        spark.sql(f"CREATE TABLE {where}.quotas_history (number INT, cluster_id STRING) USING delta")
        spark.sql(f"CREATE TABLE {where}.snapshots (content STRING, base STRING, delta STRING) USING delta")
        wrong = {
            where: (kn.UsageError, "is not a history: no column"),
            "spark_catalog.nowhere": (kn.Invalid, "nowhere.quotas_history cannot be made"),
        }
        for place, (kind, complaint) in wrong.items():
            with pytest.raises(kind, match=complaint) as refused:
                kn.open_history(place, spark).record(taken(0, {}))
            assert "\n" not in str(refused.value)
        spark.sql(f"DROP TABLE {where}.snapshots")
        with pytest.raises(kn.UsageError, match="quotas_history is not a history: no column entity"):
            kn.open_history(where, spark).record(taken(0, {}))


if not IN_CATALOG:

    @pytest.mark.long
    @pytest.mark.spark
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("mode", "chosen"),
        [("catalog", "test"), ("connect", "a_day_with_all")],
    )
    def test_the_same_in_a_catalog(mode: str, chosen: str) -> None:
        """These tests, in a process whose Spark has Delta."""
        words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen, __file__]
        environment = {**os.environ, "KADMIN_TEST_HISTORY": mode}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout[-6000:]
