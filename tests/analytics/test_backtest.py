"""Who would have been throttled, of a fleet: on Spark the same as on Arrow; and on a real broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import SparkRuntimeException

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from tests.analytics.fleets import CLIENTS, USERS, in_clusters, quotas_of_a_fleet, rows

pytestmark = pytest.mark.spark

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUOTAS = quotas_of_a_fleet(4, 200)


def usage_of_a_fleet(seed: int, count: int = 3_000) -> pa.Table:
    """USAGE of two minutes on three brokers; a third of it is above most limits of the fleet."""
    rng = np.random.default_rng(seed)
    names = [np.array(column)[rng.integers(0, len(column), count)] for column in (USERS, (*CLIENTS, ""))]
    start = rng.integers(0, 120, count)
    rows = (
        {
            "broker": broker, "user": user, "client_id": client, "key": key, "value": value, "source": "test",
            "window_start": NOON + timedelta(seconds=second), "window_end": NOON + timedelta(seconds=second + 1),
        }
        for broker, user, client, key, value, second in zip(
            rng.integers(1, 4, count).tolist(), *(column.tolist() for column in names),
            np.array(USER_CLIENT_KEYS)[rng.integers(0, 4, count)].tolist(),
            rng.exponential(3e9, count).tolist(), start.tolist(), strict=True,
        )
    )  # fmt: skip
    return schemas.table(schemas.USAGE, rows)


USAGE = usage_of_a_fleet(5)


def frame(spark, table: pa.Table):
    return kn.Answer(table).to_spark(spark)


def rounded(table: pa.Table) -> list[str]:
    """The rows, without the last digits, which depend on the order of additions, and times as numbers."""
    for name in (field.name for field in table.schema if pa.types.is_floating(field.type)):
        table = table.set_column(table.schema.get_field_index(name), name, pc.round(table[name], 4))
    first = table["first_throttled"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return rows(
        table.set_column(table.schema.get_field_index("first_throttled"), "first_throttled", pc.divide(first, 10))
    )


def test_it_is_kn_backtest(spark) -> None:
    """The lake's job named other clients than the notebook's magic."""
    found = kn.usage.backtest(frame(spark, QUOTAS), frame(spark, USAGE))
    wanted = kn.usage.backtest(QUOTAS, USAGE).to_arrow()
    assert found.columns == wanted.column_names
    assert found.schema.simpleString() == frame(spark, wanted.slice(0, 0)).schema.simpleString()
    assert pc.sum(pc.greater(wanted["throttled_s"], 0)).as_py() > 50
    assert rounded(found.toArrow()) == rounded(wanted)


def test_several_clusters_at_once(spark) -> None:
    """Two clusters' broker 1 were taken for one."""
    quotas, usage = in_clusters([QUOTAS, QUOTAS]), in_clusters([USAGE.slice(0, 500), USAGE.slice(300, 500)])
    found = kn.usage.backtest(quotas, frame(spark, usage), keys="producer_byte_rate")
    wanted = kn.usage.backtest(quotas, usage, keys="producer_byte_rate").to_arrow()
    assert found.columns == wanted.column_names
    assert rounded(found.toArrow()) == rounded(wanted)


def test_what_is_no_usage_is_refused_in_a_line(spark) -> None:
    """A job ran for an hour and then had no such column."""
    usage = frame(spark, USAGE)
    with pytest.raises(kn.UsageError, match="the usage's rows have no column window_end"):
        kn.usage.backtest(QUOTAS, usage.drop("window_end"))
    with pytest.raises(kn.UsageError, match="value of the usage's rows is string, not a number"):
        kn.usage.backtest(QUOTAS, usage.withColumn("value", usage["user"]))
    with pytest.raises(kn.UsageError, match="the quotas have a cluster_id and the usage's rows have none"):
        kn.usage.backtest(in_clusters([QUOTAS]), usage)
    with pytest.raises(kn.UsageError, match="the usage's rows are a list, not a frame"):
        kn.usage.backtest(QUOTAS, [])
    with pytest.raises(SparkRuntimeException, match="window_end is not after window_start in a row of the usage"):
        kn.usage.backtest(QUOTAS, usage.withColumn("window_end", usage["window_start"])).collect()


def test_nobody_and_nothing(spark) -> None:
    """An empty lake gave a frame with other columns."""
    for quotas, usage in ((QUOTAS.slice(0, 0), USAGE.slice(0, 50)), (QUOTAS, USAGE.slice(0, 0))):
        found = kn.usage.backtest(quotas, frame(spark, usage), keys="producer_byte_rate")
        assert (found.columns, found.count()) == (schemas.BACKTEST.names, 0)
