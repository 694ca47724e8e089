"""The quotas: what of them the workers are sent, and what stays in Spark to be joined to the pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ..errors import Invalid
from ..frames.spark import to_spark
from ..model.levels import LEVELS
from ..resolution import input_columns as arrow
from ..resolution.input_columns import CLUSTER, QUOTAS_LABEL
from .input_columns import of_types, row_as_json

READ = ("level", "user", "client_id", "key", "value")
PAIR = LEVELS[0].name

SENT_BYTES = 256 << 20
"""The memory that quotas of exact pairs may take in a worker; sent they are a third of that at most."""
PLAIN_BYTES = 256 << 20
"""The size up to which all quotas reach the driver uncompressed, at once."""
JOINED_BYTES = 16 << 20
"""Their size limit in one partition of the join, which holds them in memory."""
_ENTITY, _VALUE = 128, 12
"""Bytes that an entity takes beside its names, and each of its keys."""
_SHORT = 256
"""Bytes that the texts of a row may have, all together, to be fetched without a look at their sizes."""


@dataclass(frozen=True)
class SplitQuotas:
    """QUOTAS, split: `sent` goes to the workers with the plan; `joined`, of exact pairs only, stays in Spark.

    `bytes` is what the joined ones would take in the memory of a worker.
    """

    sent: pa.Table
    joined: DataFrame | None = None
    bytes: float = 0

    @classmethod
    def of(cls, quotas: DataFrame | pa.Table, spark: SparkSession, keys: int) -> SplitQuotas:
        """Measure what `read` gave, and fetch what is to be sent.

        Raises
        ------
        Invalid
            A quota that stays in Spark has no user, client-id, key or value.
        """
        if isinstance(quotas, pa.Table):
            if 3 * quotas.get_total_buffer_size() <= SENT_BYTES:
                return cls(quotas)
            quotas = to_spark(quotas, spark)
        few = _if_few(quotas, min(SENT_BYTES, PLAIN_BYTES) // (_ENTITY + _VALUE * keys + _SHORT))
        if few is not None:
            return cls(few)
        size, unfit = _measured(quotas, keys)
        if size <= SENT_BYTES:
            return cls(_fetched(quotas))
        if unfit:
            raise Invalid(f"user, client_id, key or value is null or empty in a row of {QUOTAS_LABEL}: {unfit}")
        of_no_pair = quotas.where(~F.col("level").eqNullSafe(PAIR))
        return cls(_fetched(of_no_pair), quotas.where(F.col("level") == PAIR), size)

    def join_to(self, pairs: DataFrame, keys: Sequence[str]) -> DataFrame:
        """The pairs, with whatever else is in their rows, and `exact i`: what the i-th key has for exactly this client.

        Both sides are partitioned by the hash of all names, so one user with half of all pairs is in all
        partitions; these are so many that the quotas of each fit into memory.
        """
        assert self.joined is not None
        parts = max(math.ceil(self.bytes / JOINED_BYTES), _partitions(pairs.sparkSession))
        names = names_in(pairs)
        entities = self.joined.where(F.col("key").isin(*keys)).repartition(parts, *names)
        exact = entities.groupBy(*names).agg(*(_only_value(names, key, number) for number, key in enumerate(keys)))
        return pairs.repartition(parts, *names).join(exact.hint("shuffle_hash"), names, "left")


def read_columns(quotas: Any) -> DataFrame | pa.Table:
    """The columns the rules need of a Spark DataFrame, or of anything with `__arrow_c_stream__`; nothing runs.

    Raises
    ------
    UsageError
        No frame, or a column is missing.
    """
    if isinstance(quotas, DataFrame):
        return quotas.select(*of_types(quotas, READ, QUOTAS_LABEL))
    return arrow.read_columns(quotas, READ, QUOTAS_LABEL)


def has_clusters(quotas: DataFrame | pa.Table) -> bool:
    return CLUSTER in (quotas.columns if isinstance(quotas, DataFrame) else quotas.column_names)


def _fetched(frame: DataFrame) -> pa.Table:
    """`frame.toArrow()`, compressed by the workers to a tenth: Spark's default driver loses a result of 200 MB."""

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        options = pa.ipc.IpcWriteOptions(compression="zstd")
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"packed": [sink.getvalue().to_pybytes()]})

    packed = frame.mapInArrow(pack, "packed binary").toArrow()["packed"]
    if not len(packed):
        return frame.limit(0).toArrow()
    return pa.concat_tables(pa.ipc.open_stream(packed_table.as_buffer()).read_all() for packed_table in packed)


def _if_few(frame: DataFrame, most: int) -> pa.Table | None:
    """All rows in one job, if they are no more and their texts short, as they mostly are; None otherwise."""
    texts = [field.name for field in frame.schema if isinstance(field.dataType, StringType)]
    length = reduce(add, (F.coalesce(F.octet_length(name), F.lit(0)) for name in texts), F.lit(0))
    rows = frame.withColumn("is_long", length > _SHORT)
    rows = rows.withColumns({name: F.when(~F.col("is_long"), F.col(name)) for name in texts})
    first = rows.limit(most + 1).toArrow()
    if first.num_rows > most or pc.any(first["is_long"]).as_py():
        return None
    return first.drop_columns("is_long")


def _measured(frame: DataFrame, keys: int) -> tuple[float, str | None]:
    """Bytes that the quotas of exact pairs take in a worker, and a row of them that is not fit to be one."""
    names = names_in(frame)
    blank = reduce(or_, (F.col(name).isNull() | (F.col(name) == "") for name in names))
    missing = F.isnull("key") | F.isnull("value")
    row = frame.where(F.col("level") == PAIR).agg(
        F.approx_count_distinct(F.xxhash64(*names)),
        F.coalesce(F.avg(reduce(add, map(F.octet_length, names))), F.lit(0)),
        F.min(F.when(blank | missing, row_as_json(frame.columns))),
    )
    [(entities, length, unfit)] = row.collect()
    return entities * (_ENTITY + _VALUE * keys + length), unfit


def names_in(frame: DataFrame) -> list[str]:
    """The columns that say whose a quota is."""
    return [name for name in (CLUSTER, "user", "client_id") if name in frame.columns]


def _only_value(names: Sequence[str], key: str, number: int) -> Column:
    """The value of a key within a group of quotas, which has one at most."""
    its = F.when(F.col("key") == key, F.col("value").cast("double"))
    twice = F.concat(F.lit(f"{key} is twice in {QUOTAS_LABEL} for "), row_as_json(names))
    return F.when(F.count(its) > 1, F.raise_error(twice).cast("double")).otherwise(F.max(its)).alias(f"exact {number}")


def _partitions(spark: SparkSession) -> int:
    """The session's own number of partitions after a shuffle; Databricks may say "auto"."""
    setting = str(spark.conf.get("spark.sql.shuffle.partitions"))
    return int(setting) if setting.isdigit() else 1
