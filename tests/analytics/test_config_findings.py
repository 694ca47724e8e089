"""What in the configs of many clusters somebody should look at, on Spark: the same rows as the rules on Arrow."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.advice.config_rules import config_findings, findings_frame
from kadmin_nb.frames import schemas

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        *schemas.CONFIGS.schema,
        *(schemas.SNAPSHOT_CONFIGS.schema.field(n) for n in ("cluster_id", "taken_at", "snapshot_id")),
    ]
)


def row(kind: str, name: str, key: str, value: str, source: str) -> dict[str, object]:
    synonyms = [{"source": source, "key": key, "value": value}]
    where = {"resource_type": kind, "resource_name": name, "key": key, "value": value, "source": source}
    return {**where, "synonyms": synonyms, "type": "LONG"}


def fleet() -> pa.Table:
    """Two clusters, the first of them twice; one broker of the first differs."""
    brokers = [
        row("BROKER", str(n), "num.io.threads", "16" if n == 3 else "8", "STATIC_BROKER_CONFIG") for n in (1, 2, 3)
    ]
    keys = (("retention.ms", "604800000"), ("leader.replication.throttled.replicas", "*"))
    topic = [row("TOPIC", "t", key, value, "DYNAMIC_TOPIC_CONFIG") for key, value in keys]
    places = (("a", "s1", brokers), ("a", "s2", brokers), ("b", "s3", brokers[:2]))
    return schemas.table(
        SCHEMA,
        (
            {
                **one,
                "cluster_id": cluster,
                "snapshot_id": taken,
                "taken_at": datetime(2026, 11, int(taken[1]), tzinfo=UTC),
            }
            for cluster, taken, of_brokers in places
            for one in (*of_brokers, *topic)
        ),
    )


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_on_spark_the_same_rows(spark, zone):
    """Two clusters' brokers were compared with each other, and yesterday's with today's."""
    table = fleet()
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        rows = kn.fleets.config_findings(kn.Answer(table).to_spark(spark)).toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    wanted = findings_frame(table)
    assert rows.column_names == wanted.column_names
    assert sorted(map(str, rows.cast(wanted.schema).to_pylist())) == sorted(map(str, wanted.to_pylist()))
    assert len(wanted) == 2 * 3 + 2


def test_in_this_process_the_same_rows():
    """For the configs of one evening I waited for Spark."""
    assert config_findings(fleet().to_pandas()).to_pylist() == findings_frame(fleet()).to_pylist()
    with pytest.raises(kn.UsageError, match="the configs are a list, not a frame"):
        config_findings([])


def test_on_spark_what_is_missing_is_said_at_once(spark):
    """The job ran for an hour and then there was no column."""
    with pytest.raises(kn.UsageError, match="the configs have no column source"):
        kn.fleets.config_findings(kn.Answer(fleet().drop_columns(["source"])).to_spark(spark))
    with pytest.raises(kn.UsageError, match="not a Spark DataFrame"):
        kn.fleets.config_findings(fleet())
