"""`kn.resolve` over Spark DataFrames: the same look-ups, on the workers.

The quotas are small: they are read on the driver, laid out once, and travel inside the plan. The pairs stay where
they are. Only when the quotas of exact (user, client-id) pairs outgrow that are these joined to the pairs instead,
both partitioned by a hash of the two names; all other levels still travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, IntegerType, StringType, StructField, StructType

from ..errors import UsageError
from ..model.levels import LEVELS
from ..resolution.kernel import PAIRS, Index, Shape, asked_keys
from . import resolve_worker, worker_code
from .input_columns import names_of
from .quota_tables import SplitQuotas, has_clusters, read_columns
from .resolve_worker import NO_LEVEL

OVERRIDDEN = ArrayType(StructType([StructField("level", StringType()), StructField("value", DoubleType())]))


def resolve(
    quotas: Any,
    pairs: DataFrame,
    *,
    keys: str | Iterable[str] | None = None,
    overridden: bool = False,
    shape: Shape = "long",
) -> DataFrame:
    """The quota that binds each client, key by key, as EFFECTIVE: `kn.resolve` over a Spark DataFrame of any size.

    Parameters
    ----------
    quotas
        QUOTAS: a Spark DataFrame, or anything that `kn.resolve` takes. They are read at once; those of exact
        pairs stay in Spark when they are too many to send to the workers (about a million).
    pairs
        PAIRS: a Spark DataFrame with `user` and `client_id`; other columns are passed over. It is read when the
        result is. With a `cluster_id` on both sides it is part of the match.
    keys
        The keys to resolve, any name; the four of users and clients unless said. Fewer keys are less work.
    overridden
        Also the column `overridden`: the quotas that fit and lost, most specific first. Long form only.
    shape
        "long": a row a key and pair, in no order. "wide": a row a pair, a struct a key.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of `kn.resolve`, words as strings. Lazy; the long form is a projection of the wide one.

    Raises
    ------
    UsageError
        Not a frame, a missing column or one of another type, `cluster_id` on one side only.
    Invalid
        An entity and key twice in the quotas, a level that is unknown or does not fit its names.
    pyspark.errors.SparkRuntimeException
        When the result is read: a null user, with its row; a quota that is there twice, where quotas stay in Spark.

    Examples
    --------
    >>> resolve(quotas, pairs, keys="producer_byte_rate").where("value is null")  # doctest: +SKIP
    """
    if shape not in ("long", "wide"):
        raise UsageError(f"shape={shape!r} is not known", hint='It is "long" or "wide".')
    if shape == "wide" and overridden:
        raise UsageError("overridden quotas come in the long form only", hint='Leave shape="wide" out.')
    chosen, quotas_read = asked_keys(keys), read_columns(quotas)
    bound_pairs = bound(names_of(pairs, PAIRS, has_clusters(quotas_read)), quotas_read, chosen, overridden)
    return bound_pairs.wide() if shape == "wide" else bound_pairs.long()


def bound(rows: DataFrame, quotas: DataFrame | pa.Table, keys: Sequence[str], overridden: bool = False) -> ResolvedRows:
    """The effective quotas of each row's client; `quotas` as `read_columns` gives them."""
    stored = SplitQuotas.of(quotas, rows.sparkSession, len(keys))
    joined_rows = rows if stored.joined is None else stored.join_to(rows, keys)
    resolved = _with_results(joined_rows, Index.of(stored.sent, keys, overridden=overridden), overridden)
    return ResolvedRows(resolved, rows.columns, keys, stored.joined is not None, overridden)


def _with_results(rows: DataFrame, index: Index, overridden: bool) -> DataFrame:
    """The rows with `value i` and perhaps `overridden i` for the i-th key, and `levels i` for it and those after it."""
    kinds = {"value": DoubleType(), **({"overridden": OVERRIDDEN} if overridden else {})}
    keys = range(len(index.tables.keys))
    result_fields = [StructField(f"{name} {number}", kind) for number in keys for name, kind in kinds.items()]
    result_fields += [
        StructField(f"levels {number}", IntegerType()) for number in range(0, len(keys), resolve_worker.IN_A_WORD)
    ]
    schema = StructType([*rows.schema, *result_fields])
    work = worker_code.by_value(resolve_worker.bound, (index.tables, schema.names))
    return rows.mapInArrow(work, schema)


@dataclass(frozen=True)
class ResolvedRows:
    """The workers' results, beside the columns `names`; `joined` says that quotas of exact pairs stand there too."""

    found: DataFrame
    names: Sequence[str]
    keys: Sequence[str]
    joined: bool
    overridden: bool

    def wide(self) -> DataFrame:
        """EFFECTIVE, a struct a key."""
        structs = [
            F.struct(F.expr(f"{value} as value"), *_level_and_bucket(level)).alias(key)
            for key, (value, level) in zip(self.keys, self._answers(), strict=True)
        ]
        return self.found.select(*self.names, *structs)

    def of_key(self) -> DataFrame:
        """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own `key`."""
        limit, level = F.lit(None).cast("double"), F.lit(NO_LEVEL)
        for key, (its_value, its_level) in zip(self.keys, self._answers(), strict=True):
            is_it = F.col("key") == key
            limit = F.when(is_it, F.expr(its_value)).otherwise(limit)
            level = F.when(is_it, F.expr(its_level)).otherwise(level)
        rows = self.found.select(*self.names, limit.alias("limit"), level.alias("level"))
        return rows.select(*self.names, "limit", *_level_and_bucket("level"))

    def long(self) -> DataFrame:
        """EFFECTIVE, a row a key: the answers of a row, one below the other."""
        items = F.array(*(self._row(number) for number in range(len(self.keys))))
        rows = self.found.select(*self.names, F.inline(items if self.keys else items.cast(self._no_rows())))
        extra_columns = ["overridden"] if self.overridden else []
        return rows.select(*self.names, "key", "value", *_level_and_bucket("level"), *extra_columns)

    def _row(self, number: int) -> Column:
        value, level = self._answer(number)
        lost = [F.expr(f"{self._lost(number)} as overridden")] if self.overridden else []
        key = F.lit(self.keys[number]).alias("key")
        return F.struct(key, F.expr(f"{value} as value"), F.expr(f"{level} as level"), *lost)

    def _no_rows(self) -> ArrayType:
        kinds: dict[str, DataType] = {"key": StringType(), "value": DoubleType(), "level": IntegerType()}
        if self.overridden:
            kinds["overridden"] = OVERRIDDEN
        return ArrayType(StructType([StructField(name, kind) for name, kind in kinds.items()]))

    def _answers(self) -> list[tuple[str, str]]:
        return [self._answer(number) for number in range(len(self.keys))]

    def _answer(self, number: int) -> tuple[str, str]:
        """Value and level number, `NO_LEVEL` for none, in SQL; what is stored for exactly this pair is closest."""
        value, level, exact = f"`value {number}`", self._level(number), f"`exact {number}`"
        if not self.joined:
            return value, level
        return f"coalesce({exact}, {value})", f"if({exact} is null, {level}, {LEVELS[0].number})"

    def _level(self, number: int) -> str:
        """The level number of the i-th key, or `NO_LEVEL`; `resolve_worker` packs several into a word."""
        place = number % resolve_worker.IN_A_WORD
        return f"(shiftright(`levels {number - place}`, {resolve_worker.BITS * place}) & {NO_LEVEL})"

    def _lost(self, number: int) -> str:
        """The overridden quotas; below that of exactly this pair, also what would bind without it."""
        lost, level = f"`overridden {number}`", self._level(number)
        if not self.joined:
            return lost
        first = f"array(struct({_level_name(level)} as level, `value {number}` as value))"
        return f"if(`exact {number}` is null or {level} = {NO_LEVEL}, {lost}, concat({first}, {lost}))"


def _level_and_bucket(level: str) -> list[Column]:
    """The level's name, and who shares the allowance: the names of the client that the level speaks of."""
    users = [a_level.number for a_level in LEVELS if a_level.user]
    clients = [a_level.number for a_level in LEVELS if a_level.client_id]
    return [
        F.expr(f"{_level_name(level)} as level"),
        F.expr(f"{_shared('user', level, users)} as bucket_user"),
        F.expr(f"{_shared('client_id', level, clients)} as bucket_client_id"),
    ]


def _level_name(level: str) -> str:
    """Null for `NO_LEVEL`, which is past the end of the names."""
    names = ", ".join(f"'{a_level.name}'" for a_level in LEVELS)
    return f"get(array({names}), {level})"


def _shared(name: str, level: str, levels: Sequence[int]) -> str:
    numbers = ", ".join(map(str, levels))
    return f"case when {level} in ({numbers}) then {name} when {level} != {NO_LEVEL} then '' end"
