"""databricks/sql/: the queries of the dashboard, of the alerts and of the docs, over tables whose rows are known."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.resources import Resource
from kadmin_nb.state import History
from tests.history.hours import taken, topic
from tests.history.memory import InMemory
from tests.history.plans import after_plans, limit, plan, row_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FOLDER = Path(__file__).parents[2] / "databricks/sql"
QUERIES = {file.stem: file.read_text() for file in sorted(FOLDER.glob("*.sql"))}
MON, TUE, WED = (datetime(2026, 11, day, 4, tzinfo=UTC) for day in (23, 24, 25))


def quota(cluster: str, user: str, value: float, since: datetime, until: datetime | None = None) -> dict[str, Any]:
    entity = {"entity": f"user={user}", "level": "USER", "user": user, "client_id": None, "ip": None}
    interval = {"valid_from": since, "valid_to": until}
    return {"cluster_id": cluster, **entity, "key": "producer_byte_rate", "value": value, **interval}


def config(cluster: str, topic: str, value: str, since: datetime, until: datetime | None = None) -> dict[str, Any]:
    resource = {"resource_type": "TOPIC", "resource_name": topic, "key": "retention.ms", "value": value}
    return {"cluster_id": cluster, **resource, "is_sensitive": False, "valid_from": since, "valid_to": until}


def snapshot(cluster: str, kind: str, at: datetime) -> dict[str, Any]:
    read = {"scopes": "TOPIC" if kind == "configs" else "QUOTAS", "rows": 2}
    return {"cluster_id": cluster, "kind": kind, "taken_at": at, "snapshot_id": f"{at}", **read}


def planned(frame: str, name: str, key: str, value: str | None, since: datetime, until: datetime) -> dict[str, Any]:
    resource = {"resource_type": "TOPIC" if frame == "configs" else None, "resource_name": name, "key": key}
    window = {"taken_at": until, "applied_from": since, "applied_until": until}
    of_plan = {"plan_id": "3f9a27", "author": "ann"}
    return {"cluster_id": "one", "frame": frame, **resource, "value": value, **of_plan, **window}


def used(day: date, user: str, above: int, throttled: int, limit: float | None = 1000.0, **more: Any) -> dict[str, Any]:
    bucket = {"bucket_user": user, "bucket_client_id": "", "level": "USER"} if limit else {"user": user}
    windows = {"windows": 1440, "windows_seen": 60, "windows_unknown": 0, "windows_above_80": above}
    figures = {"windows_above_100": above // 2, "windows_throttled": throttled, "used_sum": 720_000.0, "peak": 1200.0}
    longest = {"longest_above_100_s": 120.0, "throttle_ms": 500.0 if throttled else 0.0, "histogram": []}
    where = {"cluster_id": "one", "day": day, "broker": 1, "key": "producer_byte_rate", "limit": limit}
    return {**where, **bucket, "window_s": 60.0, "brokers": 1, "clients": 1, **windows, **figures, **longest, **more}


LATEST = date(2026, 11, 24)
TABLES = {
    "quotas_history": [
        quota("one", "alice", 1000.0, MON, TUE),
        quota("one", "alice", 2000.0, TUE),
        quota("one", "bob", 500.0, MON),
        quota("one", "carol", 1.0, MON, WED),
        quota("one", "dora", 7.0, MON, TUE),
        quota("one", "erin", 7.0, TUE),
        quota("two", "bob", 600.0, MON),
        quota("two", "alice", 2000.0, TUE),
    ],
    "configs_history": [
        config("one", "orders", "1000", MON, WED),
        config("one", "orders", "2000", WED),
        config("two", "orders", "2000", MON),
    ],
    "client_configs_history": [],
    "credentials_history": [],
    "snapshots": [
        *(snapshot("one", kind, at) for kind in ("quotas", "configs") for at in (MON, TUE, WED)),
        *(snapshot("two", kind, at) for kind in ("quotas", "configs") for at in (MON, TUE)),
    ],
    "planned_changes": [
        planned("quotas", "user=alice", "producer_byte_rate", "2000", MON, TUE),
        planned("quotas", "user=bob", "producer_byte_rate", "500", TUE, WED),
        planned("quotas", "user=dora", "producer_byte_rate", None, MON, TUE),
        planned("quotas", "user=erin", "producer_byte_rate", "8", MON, TUE),
        planned("configs", "orders", "retention.ms", "2000", MON, TUE),
    ],
    "utilisation_daily": [
        used(LATEST, "alice", 144, 30),
        used(LATEST, "bob", 0, 0, peak=100.0),
        used(LATEST - timedelta(days=1), "alice", 14, 0, peak=1500.0),
        used(LATEST, "dora", 0, 5, None, windows_above_80=None, windows_above_100=None),
        used(LATEST - timedelta(days=20), "bob", 100, 50),
    ],
}
FRAMES = {
    "quotas_history": schemas.QUOTAS_HISTORY,
    "configs_history": schemas.CONFIGS_HISTORY,
    "client_configs_history": schemas.CLIENT_CONFIGS_HISTORY,
    "credentials_history": schemas.CREDENTIALS_HISTORY,
    "snapshots": schemas.SNAPSHOTS,
    "planned_changes": schemas.PLANNED_CHANGES,
    "utilisation_daily": schemas.UTILISATION_DAILY,
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session whose current schema has the tables."""
    spark = kn.spark_session()
    spark.sql(f"CREATE DATABASE queries LOCATION '{tmp_path_factory.mktemp('lake').as_uri()}'")
    before = spark.catalog.currentDatabase()
    spark.sql("USE queries")
    for name, rows in TABLES.items():
        fields = {**schemas.COMMON, **FRAMES[name].fields}
        table = pa.Table.from_pylist(rows, pa.schema([(field, of.type) for field, of in fields.items()]))
        kn.Answer(table).to_spark(spark).write.saveAsTable(name)
    yield spark
    spark.sql(f"USE {before}")
    spark.sql("DROP DATABASE queries CASCADE")


def answer(lake: SparkSession, name: str, **parameters: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in lake.sql(QUERIES[name], parameters or None).collect()]


def test_who_is_near(lake):
    """The list began with whoever comes first in the alphabet."""
    (row,) = answer(lake, "near")
    assert row == (
        *("one", "producer_byte_rate", "alice", "every client-id", "user", 1000.0, 1500.0, 150.0),
        *(round(100 * 158 / 2880, 2), LATEST),
    )


def test_who_is_throttled_and_since_when(lake):
    """Who has no limit of their own was not in the list."""
    assert [row[2:] for row in answer(lake, "throttled")] == [
        ("bob", "every client-id", 1000.0, 3000.0, 500.0, 120.0, date(2026, 11, 4), date(2026, 11, 4)),
        ("alice", "every client-id", 1000.0, 1800.0, 500.0, 120.0, LATEST, LATEST),
        ("dora", "every client-id", None, 300.0, 500.0, 120.0, LATEST, LATEST),
    ]


def test_day_by_day(lake):
    """A bucket of two brokers was two buckets."""
    assert [row[1:] for row in answer(lake, "days")] == [
        (date(2026, 11, 4), 1, 1, 1),
        (date(2026, 11, 23), 1, 1, 0),
        (LATEST, 1, 1, 2),
    ]


def test_what_changed(lake):
    """Everything had been added on the day of the first snapshot, and what others changed had the plan's author."""
    found = [row[1:] for row in answer(lake, "changes")]
    assert found == [
        ("one", "configs", "topic=orders", "retention.ms", "1000", "2000", "changed", None, None),
        ("one", "quotas", "user=carol", "producer_byte_rate", "1", None, "removed", None, None),
        ("one", "quotas", "user=alice", "producer_byte_rate", "1000", "2000", "changed", "ann", "3f9a27"),
        ("one", "quotas", "user=dora", "producer_byte_rate", "7", None, "removed", "ann", "3f9a27"),
        ("one", "quotas", "user=erin", "producer_byte_rate", None, "7", "added", None, None),
        ("two", "quotas", "user=alice", "producer_byte_rate", None, "2000", "added", None, None),
    ]


def group(name: str, value: str) -> dict[str, Any]:
    return topic(name, "consumer.session.timeout.ms", value, resource_type="GROUP", source="DYNAMIC_GROUP_CONFIG")


def of_broker(value: str, source: str) -> dict[str, Any]:
    return topic("1", "num.io.threads", value, resource_type="BROKER", source=source)


def recorded() -> tuple[History, InMemory]:
    """Hours in which groups can be read at last, a quota cannot for once, and of each kind something changes."""
    place = InMemory()
    history = History(place)
    topics, all_read = ["QUOTAS", "TOPIC", "BROKER"], ["QUOTAS", "TOPIC", "BROKER", "GROUP"]
    secret = topic("orders", "sasl.jaas.config", None, is_sensitive=True)
    file, dynamic = "STATIC_BROKER_CONFIG", "DYNAMIC_BROKER_CONFIG"
    history.record(taken(0, {"alice": 1000.0, "bob": 0.5}, [of_broker("9", dynamic)], scopes=topics))
    anns = plan(1, limit("alice", 1000.0, 1e7), row_of(Resource("BROKER", "1"), "num.io.threads", "9", None))
    second = taken(1, {"alice": 1e7}, [of_broker("8", file), group("g", "5")], scopes=all_read)
    history.record(after_plans(second, anns))
    history.record(taken(2, {}, [of_broker("8", dynamic)], scopes=topics[1:]))
    history.record(taken(3, {"bob": 0.5}, [of_broker("8", dynamic), group("g", "6"), secret], scopes=all_read))
    return history, place  # fmt: skip


def test_a_kind_that_can_be_read_at_last_was_not_added(lake):
    """We upgraded to Kafka 4.1, and the dashboard said that somebody had added a limit to every group that night."""
    history, place = recorded()
    names = ("taken_at", "cluster_id", "resource", "key", "old", "new", "state", "author", "plan_id")
    told = sorted(tuple(row[name] for name in names) for row in history.changes((None, None)))
    assert [(row[2], *row[4:8]) for row in told] == [
        ("broker=1", "9", "8", "changed", "ann@laptop"),
        ("user=alice", "1000", "10000000", "changed", "ann@laptop"),
        ("user=bob", "0.5", None, "removed", None),
        ("broker=1", "8", "8", "changed", None),
        ("group=g", "5", "6", "changed", None),
        ("topic=orders", None, "[secure]", "added", None),
        ("user=alice", "10000000", None, "removed", None),
        ("user=bob", None, "0.5", "added", None),
    ]
    for name, rows in place.tables.items():
        kn.Answer(rows).to_spark(lake).createOrReplaceTempView(name)
    try:
        by_query = answer(lake, "changes")
    finally:
        for name in place.tables:
            lake.catalog.dropTempView(name)
    of_query = [(row[0].replace(tzinfo=UTC), row[1], *row[3:]) for row in by_query]
    assert sorted(of_query, key=str) == sorted(told, key=str)


def test_where_clusters_differ(lake):
    """What is on one of two clusters only was no difference."""
    assert answer(lake, "drift") == [
        ("quotas", "user=bob", "producer_byte_rate", "one: 500.0, two: 600.0", "other values"),
        ("quotas", "user=erin", "producer_byte_rate", "one: 7.0", "not on all clusters"),
    ]


def test_the_limits_of_now_and_of_then(lake):
    """The limits of last week were those of today."""
    assert [(*row[:2], row[3], *row[5:]) for row in answer(lake, "since")] == [
        ("one", "user=alice", 2000.0, "ann", "3f9a27"),
        ("one", "user=erin", 7.0, None, None),
        ("two", "user=alice", 2000.0, None, None),
        ("one", "user=bob", 500.0, None, None),
        ("two", "user=bob", 600.0, None, None),
    ]
    then = answer(lake, "limits_at", at="2026-11-23T12:00:00Z")
    assert [(row[0], row[3], row[-1]) for row in then] == [
        *(("one", "alice", 1000.0), ("one", "bob", 500.0), ("one", "carol", 1.0), ("one", "dora", 7.0)),
        ("two", "bob", 600.0),
    ]


def test_what_was_recorded(lake):
    """The recorder had stopped a week ago."""
    assert [(row[0], row[1], row[2], row[4]) for row in answer(lake, "recorded")] == [
        *(("one", "configs", 3, WED.replace(tzinfo=None)), ("one", "quotas", 3, WED.replace(tzinfo=None))),
        *(("two", "configs", 2, TUE.replace(tzinfo=None)), ("two", "quotas", 2, TUE.replace(tzinfo=None))),
    ]


def test_an_alert_is_one_number(lake):
    """An alert of no rows is neither OK nor triggered."""
    found = {name: answer(lake, name) for name in QUERIES if name.startswith("alert_")}
    hours = found.pop("alert_not_recorded")[0][0]
    assert hours == (datetime.now(UTC) - TUE) // timedelta(hours=1)
    assert found == {"alert_changed": [(1,)], "alert_near": [(1,)], "alert_throttled": [(1,)]}


def test_the_metric_view(lake):
    """A mean of means was the mean."""
    lake.sql(QUERIES["utilisation_metrics"])
    measures = "MEASURE(peak_percent), MEASURE(percent_of_time_above_80), MEASURE(throttled_s), MEASURE(mean)"
    rows = lake.sql(
        f"SELECT day, {measures} FROM queries.utilisation_metrics WHERE bucket_user = 'alice' GROUP BY day ORDER BY day"
    ).collect()
    assert [tuple(row) for row in rows] == [
        (date(2026, 11, 23), 150.0, 100 * 14 / 1440, 0.0, 500.0),
        (LATEST, 120.0, 10.0, 1800.0, 500.0),
    ]
    assert lake.sql("SELECT MEASURE(peak) FROM queries.utilisation_metrics").collect()[0][0] == 1500.0
