"""Rules over the frames of many clusters, on Spark: the same functions as for one cluster."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from tests.policy.judged_snapshots import MB, configs, held, pairs, quotas

pytestmark = pytest.mark.spark

RATE, LOW = "producer_byte_rate", ["min.insync.replicas"]


def too_high(quotas):
    """Ask first."""
    return quotas[(quotas.level == "USER") & (quotas.key == RATE) & (quotas.value > 50 * MB)]


def in_sync(configs):
    """Two have to acknowledge."""
    return configs[(configs.key == "min.insync.replicas") & configs.value.isin(["0", "1"])]


def slow(effective):
    """Nobody below 1 MB/s."""
    return effective[(effective.key == RATE) & (effective.value < MB)]


FLEET = [
    held(quotas(("user=alice", RATE, 60 * MB), ("user=bob", RATE, MB / 2)), configs(("topic=t", *LOW, "1")), "a"),
    held(quotas(("user=alice", RATE, 40 * MB)), configs(("topic=t", *LOW, "2")), "b"),
    held(quotas(("user=<default>", RATE, MB / 4), ("user=carol", RATE, 90 * MB)), None, "c"),
]  # fmt: skip


def on_spark(spark, kind: str, fleet=FLEET):
    return kn.Answer(pa.concat_tables([one.frames[kind].to_arrow() for one in fleet])).to_spark(spark)


def told(answer: kn.Answer) -> list[tuple[object, ...]]:
    rows = answer.to_arrow().to_pylist()
    return sorted((r["cluster_id"], r["rule"], r["state"], r["resource"], r["value"]) for r in rows if r["ok"] is False)


def test_a_fleet_is_judged_as_each_snapshot_is(spark) -> None:
    """The report of the fleet said other things than the check of the one cluster."""
    frames = {"quotas": on_spark(spark, "quotas"), "configs": on_spark(spark, "configs")}
    found = told(kn.check([too_high, in_sync], frames))
    assert found == [
        ("a", "in_sync", "broken", "topic=t", "1"),
        ("a", "too_high", "broken", "user=alice", "60000000"),
        ("c", "too_high", "broken", "user=carol", "90000000"),
    ]
    alone = [
        (one.cluster_id, *row[1:]) for one in FLEET for row in told_without_cluster(kn.check([too_high, in_sync], one))
    ]
    assert sorted(alone) == found


def told_without_cluster(answer: kn.Answer) -> list[tuple[object, ...]]:
    rows = answer.to_arrow().to_pylist()
    return [(None, r["rule"], r["state"], r["resource"], r["value"]) for r in rows if r["ok"] is False]


def test_what_was_not_read_of_a_fleet_is_not_known(spark) -> None:
    """One of forty snapshots was not complete, and every rule was kept."""
    part = schemas.table(schemas.CONFIGS, [{"resource_type": "TOPIC", "resource_name": "h", "error": "NOT_ALLOWED"}])
    fleet = [FLEET[1], held(None, part, "d")]
    answer = kn.check([in_sync, slow], {"configs": on_spark(spark, "configs", fleet)})
    assert [(r["rule"], r["state"], r["message"]) for r in answer.to_arrow().to_pylist()] == [
        ("in_sync", "unknown", "the snapshot of cluster d is not complete"),
        ("slow", "unknown", "no frame effective was given"),
    ]
    assert not answer.ok


def test_clients_may_be_in_spark(spark) -> None:
    """The clients of a day were in the lake, and the check wanted a file; or all of them were fetched."""
    clients = kn.Answer(pairs(("bob", "x"), ("alice", "y"))).to_spark(spark)
    answer = kn.check(slow, FLEET[0], pairs=clients.toArrow())
    assert told_without_cluster(answer) == [(None, "slow", "broken", "user=bob client-id=x", "500000")]
    effective = kn.fleets.resolve(FLEET[0].frames["quotas"].to_arrow().drop_columns(["cluster_id"]), clients)
    [row] = kn.check(slow, {"effective": effective}).to_arrow().to_pylist()
    assert (row["state"], row["resource"]) == ("broken", "user=bob client-id=x")


def test_a_rule_that_fails_on_spark_is_one_line(spark) -> None:
    """The job ran for an hour and then there was a page of Java."""

    def wrong(quotas):
        """It has a slip."""
        return quotas.where("valu > 3")

    with pytest.raises(kn.UsageError, match=r"test_policy_fleet\.py:\d+: rule wrong: ") as caught:
        kn.check(wrong, {"quotas": on_spark(spark, "quotas")})
    assert "\n" not in str(caught.value)
    assert told(kn.check(too_high, {"quotas": on_spark(spark, "quotas")}))
