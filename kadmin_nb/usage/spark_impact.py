"""The clients in Spark that a change of quotas affects: `resolution.effects.compare`, by a plan of Spark's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ..fleets.fleet_resolving import bound, names_of
from ..frames import schemas
from ..frames.relational import cluster_of, read_columns
from ..resolution.effects import BOUND, EFFECTS
from ..resolution.input_columns import QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import PAIRS, asked_keys

SIDES = ("before", "after")


def touched(before: Any, after: Any, pairs: DataFrame, keys: str | Iterable[str] | None) -> DataFrame:
    """IMPACT of the way from one QUOTAS to another, on clients in Spark.

    Raises
    ------
    UsageError, Invalid
        As `resolve`.
    """
    chosen, sides = asked_keys(keys), [read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL) for quotas in (before, after)]
    check_clusters(cluster_of(sides[1]), "the quotas after", bool(cluster_of(sides[0])), "the quotas before")
    clients = names_of(pairs, PAIRS, bool(cluster_of(sides[0]))).distinct()
    wide = clients
    for side, quotas in zip(SIDES, sides, strict=True):
        wide = (
            bound(wide, quotas, chosen).wide().toDF(*wide.columns, *(f"{side} {place}" for place in range(len(chosen))))
        )
    keyed = [
        F.struct(F.lit(key).alias("key"), *(F.col(f"{side} {place}").alias(side) for side in SIDES))
        for place, key in enumerate(chosen)
    ]
    rows = wide.select(*clients.columns, F.inline(F.array(*keyed)))
    for side in SIDES:  # a client without a limit shares no bucket
        bucket = [F.coalesce(f"{side}.bucket_{name}", name) for name in ("user", "client_id")]
        has_bucket = F.isnotnull(f"{side}.level")
        sharing = Window.partitionBy(*cluster_of(clients), "key", has_bucket, *bucket)
        rows = rows.withColumn(f"clients_{side}", F.when(has_bucket, F.count("*").over(sharing)))
    return _with_effects(rows).select(*cluster_of(clients), *schemas.IMPACT.names)


def _with_effects(rows: DataFrame) -> DataFrame:
    """The rows that the change touches, each with its effect."""
    sides = [F.col(f"{side}.{name}").alias(f"{name}_{side}") for side in SIDES for name in BOUND]
    rows = rows.select("*", *sides)
    was, will = F.col("value_before"), F.col("value_after")
    effect = F.when(F.isnull("level_before") & F.isnotnull("level_after"), EFFECTS[0]).when(will < was, EFFECTS[1])
    effect = effect.when(will > was, EFFECTS[2])
    effect = effect.when(F.isnotnull("level_before") & F.isnull("level_after"), EFFECTS[3]).otherwise(EFFECTS[4])
    is_same = F.col("level_before").eqNullSafe(F.col("level_after")) & (
        F.col("clients_before").eqNullSafe(F.col("clients_after"))
    )
    return rows.withColumn("effect", effect).where(~((F.col("effect") == EFFECTS[4]) & is_same))
