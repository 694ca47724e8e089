"""Whom a change of quotas touches, among the clients of a fleet: on Spark the same as on Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import DELETE, SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.plan_file import PlanHead
from tests.analytics.fleets import in_clusters, pairs_of_a_fleet, quotas_of_a_fleet, rows

pytestmark = pytest.mark.spark

BEFORE, PAIRS = quotas_of_a_fleet(1, 300), pairs_of_a_fleet(2, 1_000)


def merged(*tables: pa.Table) -> pa.Table:
    """QUOTAS of all of these, the later ones over the earlier."""
    found = {(row["entity"], row["key"]): row for table in tables for row in table.to_pylist()}
    return schemas.table(schemas.QUOTAS, found.values())


AFTER = merged(BEFORE.slice(60), quotas_of_a_fleet(3, 60))
"""Some quotas are gone, some are new, some have another value."""


def frame(spark, table: pa.Table):
    return kn.Answer(table).to_spark(spark)


def test_it_is_kn_impact(spark) -> None:
    """The fleet's report had other clients in it than the review of the plan."""
    keys = ["producer_byte_rate", "request_percentage"]
    found = kn.usage.impact(frame(spark, BEFORE), frame(spark, AFTER), frame(spark, PAIRS), keys=keys)
    wanted = kn.usage.impact(BEFORE, AFTER, PAIRS, keys=keys).to_arrow()
    assert found.columns == wanted.column_names
    assert found.schema.simpleString() == frame(spark, wanted.slice(0, 0)).schema.simpleString()
    assert wanted.num_rows > 200
    assert rows(found.toArrow()) == rows(wanted)


def test_several_clusters_at_once(spark) -> None:
    """One cluster's users were counted into another's buckets."""
    before, after = in_clusters([BEFORE, BEFORE]), in_clusters([BEFORE, AFTER])
    pairs = in_clusters([PAIRS.slice(0, 300), PAIRS.slice(200, 300)])
    found = kn.usage.impact(before, after, frame(spark, pairs), keys="producer_byte_rate")
    wanted = kn.usage.impact(before, after, pairs, keys="producer_byte_rate").to_arrow()
    assert set(wanted["cluster_id"].to_pylist()) == {"cluster-1"}
    assert found.columns == wanted.column_names
    assert rows(found.toArrow()) == rows(wanted)


def test_a_plan_says_what_comes_after(spark) -> None:
    """To see what my plan does to the fleet I had to apply it."""
    one = BEFORE.slice(0, 1).to_pylist()[0]
    whom = Entity.parse(one["entity"])
    changes = (
        Change(1, DELETE, whom, one["key"], str(one["value"]), level=whom.level),
        Change(2, SET, Entity.parse("user=alice"), "consumer_byte_rate", wanted="7", after="7", level="USER"),
    )
    plan = kn.Plan(PlanHead("here", "2026-05-01T12:00:00+00:00"), changes)
    keys = "consumer_byte_rate"
    found = kn.usage.impact(frame(spark, BEFORE), plan.quotas_after(BEFORE), frame(spark, PAIRS), keys=keys)
    wanted = kn.usage.impact(BEFORE, plan.quotas_after(BEFORE), PAIRS, keys=keys).to_arrow()
    assert rows(found.toArrow()) == rows(wanted)
    assert plan.impact(PAIRS, quotas=BEFORE).to_arrow().num_rows >= wanted.num_rows
    assert 7.0 in wanted["value_after"].to_pylist()


def test_nobody_and_nothing(spark) -> None:
    """An empty lake gave a frame with other columns."""
    for before, after, pairs in ((BEFORE, BEFORE, PAIRS), (BEFORE, AFTER, PAIRS.slice(0, 0))):
        found = kn.usage.impact(before, after, frame(spark, pairs), keys="producer_byte_rate")
        assert (found.columns, found.count()) == (schemas.IMPACT.names, 0)


def test_clusters_on_one_side_only(spark) -> None:
    """Quotas of two clusters were compared with those of nobody knows which."""
    led = in_clusters([BEFORE])
    with pytest.raises(kn.UsageError, match="the quotas before have a cluster_id and the quotas after have none"):
        kn.usage.impact(led, BEFORE, frame(spark, PAIRS))
    with pytest.raises(kn.UsageError, match="the quotas have a cluster_id and the pairs have none"):
        kn.usage.impact(led, led, frame(spark, PAIRS))
    with pytest.raises(kn.UsageError, match="the pairs have no column client_id"):
        kn.usage.impact(BEFORE, BEFORE, frame(spark, PAIRS.select(["user"])))
