"""Which clients in Spark a change of quotas touches: the rules of `resolution.effects`, by a plan of Spark's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..fleets.fleet_resolving import bound, names_of
from ..frames import schemas
from ..frames.relational import cluster_of, read_columns
from ..model.levels import LEVELS
from ..resolution.effects import BY_CLIENT, BY_USER, EFFECTS, SAME, SAME_VALUE, SHARING, effect_cases, sharing_cases
from ..resolution.input_columns import QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import PAIRS, asked_keys

SIDES = ("before", "after")
_BOUND = ("value", "level", "bucket_user", "bucket_client_id")
_BY_USER = [level.name for level in LEVELS if level.user and not level.client_id]
_BY_CLIENT = [level.name for level in LEVELS if level.client_id and not level.user]


def touched(before: Any, after: Any, pairs: DataFrame, keys: str | Iterable[str] | None) -> DataFrame:
    """IMPACT of the way from one QUOTAS to another, on clients in Spark.

    Raises
    ------
    UsageError, Invalid
        As `resolve`.
    """
    chosen, sides = asked_keys(keys), [read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL) for quotas in (before, after)]
    by_cluster = bool(cluster_of(sides[0]))
    check_clusters(cluster_of(sides[1]), "the quotas after", by_cluster, "the quotas before")
    clients = names_of(pairs, PAIRS, by_cluster).distinct()
    both_sides = clients
    for side, quotas in zip(SIDES, sides, strict=True):
        places = (f"{side} {number}" for number in range(len(chosen)))
        both_sides = bound(both_sides, quotas, chosen).wide().toDF(*both_sides.columns, *places)
    rows, cluster = _long(both_sides, clients.columns, chosen), cluster_of(clients)
    for side in SIDES:  # how many share the bucket; who has none is by itself
        free = F.isnull(f"level_{side}")
        bucket = [F.coalesce(f"bucket_{name}_{side}", name) for name in ("user", "client_id")]
        sharing = Window.partitionBy(*cluster, "key", free, *bucket)
        rows = rows.withColumn(f"clients_{side}", F.when(~free, F.count("*").over(sharing)))
    judged = rows.withColumns({"effect": _effect(), "sharing": _sharing()})
    is_same = (F.col("effect") == SAME_VALUE) & (F.coalesce("sharing", F.lit(SAME)) == SAME)
    touched = judged.where(~(is_same & F.col("level_before").eqNullSafe(F.col("level_after"))))
    return touched.select(*cluster, *schemas.IMPACT.names)


def _long(wide: DataFrame, names: Sequence[str], keys: Sequence[str]) -> DataFrame:
    """One row per client and key: `value_before`, …, `bucket_client_id_after`."""
    both = [
        F.struct(F.lit(key).alias("key"), *(F.col(f"{side} {number}").alias(side) for side in SIDES))
        for number, key in enumerate(keys)
    ]
    rows = wide.select(*names, F.inline(F.array(*both)))
    side_columns = [F.col(f"{side}.{name}").alias(f"{name}_{side}") for side in SIDES for name in _BOUND]
    return rows.select(*names, "key", *side_columns)


def _effect() -> Column:
    was, will = F.col("value_before"), F.col("value_after")
    free, is_free = F.isnull("level_before"), F.isnull("level_after")
    ordered = ~F.isnan(was) & ~F.isnan(will)
    return _first_case(effect_cases(free, is_free, ordered & (will < was), ordered & (will > was)), EFFECTS)


def _sharing() -> Column:
    was, will = (
        F.when(level.isin(*_BY_USER), BY_USER)
        .when(level.isin(*_BY_CLIENT), BY_CLIENT)
        .when(level.isNotNull(), BY_USER + BY_CLIENT)
        for level in (F.col(f"level_{side}") for side in SIDES)
    )
    cases = sharing_cases(was, will, F.col("clients_before"), F.col("clients_after"))
    return F.when(was.isNotNull() & will.isNotNull(), _first_case(cases, SHARING))


def _first_case(cases: Sequence[Column], words: Sequence[str]) -> Column:
    """The word of the first case that holds; the last word where none does."""
    ranked = list(zip(cases, words, strict=False))
    return reduce(
        lambda otherwise, case: F.when(case[0], case[1]).otherwise(otherwise), reversed(ranked), F.lit(words[-1])
    )
