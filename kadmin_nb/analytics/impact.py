"""`kn.impact` over Spark DataFrames: whom a change of quotas touches, among the clients of a whole fleet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..errors import UsageError
from ..frames import schemas
from ..model.levels import LEVELS
from ..resolution.impact import EFFECTS, SAME, SAME_VALUE, SHARING
from ..resolution.input_columns import CLUSTER
from ..resolution.kernel import PAIRS, asked_keys
from .input_columns import names_of
from .quota_tables import has_clusters, read_columns
from .resolving import bound

SIDES = ("before", "after")
_BOUND = ("value", "level", "bucket_user", "bucket_client_id")
_BY_USER = [level.name for level in LEVELS if level.user and not level.client_id]
_BY_CLIENT = [level.name for level in LEVELS if level.client_id and not level.user]


def impact(before: Any, after: Any, pairs: DataFrame, *, keys: str | Iterable[str] | None = None) -> DataFrame:
    """The clients that a change of QUOTAS touches, as IMPACT: `kn.impact` over a Spark DataFrame of any size.

    Parameters
    ----------
    before
        QUOTAS: a Spark DataFrame, or anything that `kn.resolve` takes.
    after
        QUOTAS, or a plan, whose changes are made to `before`.
    pairs
        The known clients: a Spark DataFrame with `user` and `client_id`, such as USAGE; each counts once. Of usage
        that brokers measured by bucket, `known_clients(usage)` are clients.
    keys
        The keys to compare; the four of users and clients unless said.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of `kn.impact`, words as strings, in no order. Lazy. `groupBy("key", "effect").count()` sums it up.

    Raises
    ------
    UsageError, Invalid
        As `resolve`.

    Examples
    --------
    >>> impact(cluster.quotas.describe(), plan, usage).where("effect = 'lowered'")  # doctest: +SKIP
    """
    chosen, sides = asked_keys(keys), [read_columns(quotas) for quotas in before_and_after(before, after)]
    by_cluster = [has_clusters(quotas) for quotas in sides]
    if by_cluster[0] != by_cluster[1]:
        first, second = SIDES if by_cluster[0] else reversed(SIDES)
        raise UsageError(f"the quotas {first} have a cluster_id and those {second} have none", hint="Give it to both.")
    clients = names_of(pairs, PAIRS, by_cluster[0]).distinct()
    both_sides = clients
    for side, quotas in zip(SIDES, sides, strict=True):
        both_sides = bound(both_sides, quotas, chosen).wide().toDF(*both_sides.columns, *_place_columns(side, chosen))
    rows = _long(both_sides, clients.columns, chosen)
    for side in SIDES:
        rows = _with_clients(rows, clients.columns, side)
    return _touched_rows(rows, clients.columns)


def before_and_after(before: Any, after: Any) -> tuple[Any, Any]:
    """Both QUOTAS; of a plan those that it leaves behind, and of `before` then its cluster's."""
    if not hasattr(type(after), "quotas_after"):  # of a frame over Connect any name is a column
        return before, after
    table = before.toArrow() if isinstance(before, DataFrame) else before
    return table, after.quotas_after(table)


def _place_columns(side: str, keys: Sequence[str]) -> list[str]:
    return [f"{side} {number}" for number in range(len(keys))]


def _long(wide: DataFrame, names: Sequence[str], keys: Sequence[str]) -> DataFrame:
    """A row a client and key: `value_before`, …, `bucket_client_id_after`."""
    both = [
        F.struct(F.lit(key).alias("key"), *(F.col(f"{side} {number}").alias(side) for side in SIDES))
        for number, key in enumerate(keys)
    ]
    rows = wide.select(*names, F.inline(F.array(*both)))
    side_columns = [F.col(f"{side}.{name}").alias(f"{name}_{side}") for side in SIDES for name in _BOUND]
    return rows.select(*names, "key", *side_columns)


def _with_clients(rows: DataFrame, names: Sequence[str], side: str) -> DataFrame:
    """With `clients_before` or `clients_after`: how many share the bucket; who has none is by itself."""
    free = F.isnull(f"level_{side}")
    bucket = [F.coalesce(f"bucket_{name}_{side}", name) for name in ("user", "client_id")]
    sharing = Window.partitionBy(*(name for name in names if name == CLUSTER), "key", free, *bucket)
    return rows.withColumn(f"clients_{side}", F.when(~free, F.count("*").over(sharing)))


def _touched_rows(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """IMPACT out of both sides, without whom it does not touch."""
    effect, sharing = _effect(), _sharing()
    judged = rows.withColumns({"effect": effect, "sharing": sharing})
    is_same = (F.col("effect") == SAME_VALUE) & (F.coalesce("sharing", F.lit(SAME)) == SAME)
    touched = judged.where(~(is_same & F.col("level_before").eqNullSafe(F.col("level_after"))))
    return touched.select(*([CLUSTER] if CLUSTER in names else []), *schemas.IMPACT.names)


def _effect() -> Column:
    was, will = F.col("value_before"), F.col("value_after")
    free, is_free = F.isnull("level_before"), F.isnull("level_after")
    ordered = ~F.isnan(was) & ~F.isnan(will)
    return _first_case([free & ~is_free, ordered & (will < was), ordered & (will > was), is_free & ~free], EFFECTS)


def _sharing() -> Column:
    """As `resolution.impact` has it: 3 goes by both names, 1 by the user's, 2 by the client-id's."""
    was, will = (_bucket_kind(F.col(f"level_{side}")) for side in SIDES)
    more, fewer = F.col("clients_after") > F.col("clients_before"), F.col("clients_after") < F.col("clients_before")
    is_other = (was != will) & (was != 3) & (will != 3)
    cases = [(was == 3) & (will != 3), (was == will) & more, is_other, (was != 3) & (will == 3), (was == will) & fewer]
    return F.when(was.isNotNull() & will.isNotNull(), _first_case(cases, SHARING))


def _bucket_kind(level: Column) -> Column:
    return F.when(level.isin(*_BY_USER), 1).when(level.isin(*_BY_CLIENT), 2).when(level.isNotNull(), 3)


def _first_case(cases: Sequence[Column], words: Sequence[str]) -> Column:
    """The word of the first case that holds; the last word where none does."""
    ranked = list(zip(cases, words, strict=False))
    return reduce(
        lambda otherwise, case: F.when(case[0], case[1]).otherwise(otherwise), reversed(ranked), F.lit(words[-1])
    )
