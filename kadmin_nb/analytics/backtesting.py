"""`kn.backtest` over a Spark DataFrame: who would have been throttled, of a whole fleet.

Each bucket's rows are brought together by one shuffle, and replayed on the workers by the very code of `kn.backtest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, NumericType, TimestampType

from ..errors import UsageError
from ..frames import schemas
from ..resolution import demand
from ..resolution.backtesting import MEASURED_COLUMNS, TOKENS, USAGE
from ..resolution.input_columns import CLUSTER
from ..resolution.kernel import asked_keys
from .input_columns import check_clusters, check_text, given, of_types, row_as_json
from .output_columns import spark_schema
from .quota_tables import has_clusters, read_columns
from .resolving import bound
from .whole_groups import of_whole_groups

_TEXTS = (CLUSTER, "user", "client_id", "key")
_INPUT_TYPES: dict[str, tuple[type[DataType], str]] = {
    "broker": (IntegralType, "a whole number"),
    "window_start": (TimestampType, "a timestamp"),
    "window_end": (TimestampType, "a timestamp"),
    "value": (NumericType, "a number"),
}


def backtest(quotas: Any, usage: DataFrame, *, keys: str | Iterable[str] | None = None) -> DataFrame:
    """The clients that would have been throttled, had these limits been in force all along: `kn.backtest` over Spark.

    Parameters
    ----------
    quotas
        QUOTAS: a Spark DataFrame, or anything that `kn.resolve` takes; or a plan that is bound to its cluster.
    usage
        USAGE: a Spark DataFrame; of a plan's cluster alone.
    keys
        The keys to replay; the four of users and clients unless said.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of `kn.backtest`, words as strings, in no order. Lazy.

    Raises
    ------
    UsageError, Invalid
        As `resolve`; a column of another type.
    pyspark.errors.SparkRuntimeException
        When the result is read: a null broker or time, or a window that ends before it begins, with its row.
    """
    if hasattr(type(quotas), "quotas_after"):
        quotas = quotas.quotas_after()
    chosen, stored = asked_keys(keys), read_columns(quotas)
    rows = bound(_demand_rows(usage, chosen, has_clusters(stored)), stored, chosen).of_key().where("limit is not null")
    names = [name for name in (CLUSTER, *demand.BUCKET) if name in rows.columns]
    read_there = [name for name in (CLUSTER, *demand.READ) if name in rows.columns]
    columns = _measured_columns(names)
    replayed = of_whole_groups(
        rows.select(*read_there), names, demand.judged, (names, TOKENS), spark_schema(_judged_schema(names, columns))
    )
    return replayed.withColumn("first_throttled", F.timestamp_micros("first_throttled")).select(*columns)


def _measured_columns(names: Sequence[str]) -> list[str]:
    return [*([CLUSTER] if CLUSTER in names else []), *schemas.BACKTEST.names]


def _judged_schema(names: Sequence[str], columns: Sequence[str]) -> pa.Schema:
    """The columns of `demand.judged`'s result."""
    fields = {CLUSTER: pa.field(CLUSTER, pa.string()), **{field.name: field for field in schemas.BACKTEST.schema}}
    fields["first_throttled"] = pa.field("first_throttled", pa.int64())
    return pa.schema([fields[name] for name in (*names, *(name for name in columns if name not in names))])


def _demand_rows(usage: Any, keys: Sequence[str], by_cluster: bool) -> DataFrame:
    """The demand of all these keys, with times in microseconds; a null name is the empty one."""
    if not isinstance(usage, DataFrame):
        raise UsageError(
            f"{USAGE} is a {type(usage).__name__}, not a Spark DataFrame", hint="kn.backtest takes others."
        )
    types = of_types(usage, MEASURED_COLUMNS, USAGE)
    check_clusters(types, USAGE, by_cluster)
    _check_types(types)
    row = row_as_json(list(types))
    texts = [F.coalesce(F.col(name).cast("string"), F.lit("")).alias(name) for name in _TEXTS if name in types]
    broker, start, end = (given(F.col(name), name, row, USAGE) for name in ("broker", "window_start", "window_end"))
    start, end = F.unix_micros(start), F.unix_micros(end)
    backwards = F.raise_error(F.concat(F.lit(f"window_end is not after window_start in a row of {USAGE}: "), row))
    value = F.col("value").cast("double")
    is_any = F.col("key").isin(*keys) & (value > 0) & (value < float("inf"))
    return usage.where(is_any).select(
        *texts,
        broker.cast("int").alias("broker"),
        start.alias("start"),
        F.when(end > start, end).otherwise(backwards.cast("bigint")).alias("end"),
        value.alias("value"),
    )


def _check_types(types: dict[str, DataType]) -> None:
    for name, kind in types.items():
        if name in _TEXTS:
            check_text(name, kind, USAGE)
        elif not isinstance(kind, _INPUT_TYPES[name][0]):
            raise UsageError(f"{name} of {USAGE} is {kind.simpleString()}, not {_INPUT_TYPES[name][1]}")
