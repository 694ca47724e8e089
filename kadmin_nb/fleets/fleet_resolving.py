"""`kn.resolve` over Spark DataFrames: the same look-ups, on the workers.

The quotas are small: they are read on the driver, laid out once, and travel inside the plan. The pairs stay where
they are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, IntegerType, StringType, StructField, StructType

from ..errors import Invalid, UsageError
from ..frames.relational import TEXT, cluster_of, in_arrow, of_kinds, read_columns, without_null
from ..model.levels import LEVELS
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import PAIRS, Index, Shape, asked_keys, check_shape
from ..resolution.lookup import Ints, Tables
from ..resolution.lookup import resolve as look_up
from .workers import Batches, by_value

OVERRIDDEN = ArrayType(StructType([StructField("level", StringType()), StructField("value", DoubleType())]))

MOST_QUOTAS = 1_000_000
"""Rows of quotas that are sent to the workers: Spark Connect refuses a message of 128 MB."""

BITS, IN_A_WORD, NO_LEVEL = 4, 7, 15
"""A level number takes so many bits, an int32 holds so many of them; and the number that stands for none: all bits."""
ROWS = 1 << 18
"""Pairs worked on at once: Spark's batches are of 10,000, and each call hashes the names of all quotas anew."""


def resolve(
    quotas: Any,
    pairs: DataFrame,
    *,
    keys: str | Iterable[str] | None = None,
    overridden: bool = False,
    shape: Shape = "long",
) -> DataFrame:
    """The quota that applies to each client, key by key, as EFFECTIVE: `kn.resolve` for a Spark DataFrame of any size.

    Parameters
    ----------
    quotas
        QUOTAS: a Spark DataFrame, or anything that `kn.resolve` takes. They are read at once, and sent to the workers:
        at most a million rows.
    pairs
        PAIRS: a Spark DataFrame with `user` and `client_id`; other columns are ignored. It is read when the result is
        read. A `cluster_id` on both sides is part of the match.
    keys
        The keys to resolve, any name; default: the four of users and clients. Fewer keys are less work.
    overridden
        Also the column `overridden`: the quotas that match but lost, most specific first. Long form only.
    shape
        "long": a row for each key and pair, unordered. "wide": a row for each pair, a struct for each key.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of `kn.resolve`, words as strings. Lazy; the long form is a projection of the wide one.

    Raises
    ------
    UsageError
        Not a frame, a missing column or one of another type, `cluster_id` on one side only.
    Invalid
        An entity and key twice in the quotas, a level that is unknown or does not fit its names, too many quotas.
    pyspark.errors.SparkRuntimeException
        When the result is read: a null user, with its row.

    Examples
    --------
    >>> resolve(quotas, pairs, keys="producer_byte_rate").where("value is null")  # doctest: +SKIP
    """
    check_shape(shape, overridden)
    chosen, quotas_read = asked_keys(keys), read_columns(quotas, QUOTA_COLUMNS, QUOTAS_LABEL)
    clients = names_of(pairs, PAIRS, bool(cluster_of(quotas_read)))
    bound_pairs = bound(clients, quotas_read, chosen, overridden)
    return bound_pairs.wide() if shape == "wide" else bound_pairs.long()


def names_of(pairs: Any, frame_name: str, by_cluster: bool) -> DataFrame:
    """`user`, `client_id` and perhaps `cluster_id` of the pairs, as strings; a null client-id is the empty one.

    A null user stops the query that reads it; the message has the row.

    Raises
    ------
    UsageError
        Not a Spark DataFrame, a column is missing or is not text, `cluster_id` on one side only.
    """
    if not isinstance(pairs, DataFrame):
        raise UsageError(
            f"{frame_name} are a {type(pairs).__name__}, not a Spark DataFrame", hint="kn.resolve takes others."
        )
    names = of_kinds(pairs, dict.fromkeys((CLUSTER, "user", "client_id"), TEXT), frame_name, (CLUSTER,))
    check_clusters(names.columns, frame_name, by_cluster)
    columns = [*cluster_of(names), "user", "client_id"]
    rows: DataFrame = without_null(names, columns[:-1], frame_name, columns)
    return rows.withColumn("client_id", F.coalesce("client_id", F.lit("")))


def bound(rows: DataFrame, quotas: Any, keys: Sequence[str], overridden: bool = False) -> ResolvedRows:
    """The effective quotas of each row's client; `quotas` as `read_columns` gives them."""
    tables = Index.of(sendable(quotas), keys, overridden=overridden).tables
    kinds = {"value": DoubleType(), **({"overridden": OVERRIDDEN} if overridden else {})}
    fields = [StructField(f"{name} {number}", kind) for number in range(len(keys)) for name, kind in kinds.items()]
    levels = [StructField(f"levels {number}", IntegerType()) for number in range(0, len(keys), IN_A_WORD)]
    schema = StructType([*rows.schema, *fields, *levels])
    work = by_value(on_workers, (tables, rows.columns, schema.names))
    return ResolvedRows(rows.mapInArrow(work, schema), rows.columns, keys, overridden)


@dataclass(frozen=True)
class ResolvedRows:
    """The workers' results, beside the columns `names`."""

    found: DataFrame
    names: Sequence[str]
    keys: Sequence[str]
    overridden: bool

    def wide(self) -> DataFrame:
        """EFFECTIVE, a struct a key."""
        structs = [
            F.struct(F.col(f"value {number}").alias("value"), *_level_and_bucket(_level(number))).alias(key)
            for number, key in enumerate(self.keys)
        ]
        return self.found.select(*self.names, *structs)

    def of_key(self) -> DataFrame:
        """The rows with `limit`, `level`, `bucket_user` and `bucket_client_id` of their own `key`."""
        limit, level = F.lit(None).cast("double"), F.lit(NO_LEVEL)
        for number, key in enumerate(self.keys):
            is_it = F.col("key") == key
            limit = F.when(is_it, F.col(f"value {number}")).otherwise(limit)
            level = F.when(is_it, F.expr(_level(number))).otherwise(level)
        rows = self.found.select(*self.names, limit.alias("limit"), level.alias("level"))
        return rows.select(*self.names, "limit", *_level_and_bucket("level"))

    def long(self) -> DataFrame:
        """EFFECTIVE, one row per key: the answers of a row, one below the other."""
        items = F.array(*(self._row(number) for number in range(len(self.keys))))
        if not self.keys:
            kinds: dict[str, DataType] = {"key": StringType(), "value": DoubleType(), "level": IntegerType()}
            kinds |= {"overridden": OVERRIDDEN} if self.overridden else {}
            items = items.cast(ArrayType(StructType([StructField(name, kind) for name, kind in kinds.items()])))
        rows = self.found.select(*self.names, F.inline(items))
        extra_columns = ["overridden"] if self.overridden else []
        return rows.select(*self.names, "key", "value", *_level_and_bucket("level"), *extra_columns)

    def _row(self, number: int) -> Column:
        columns = {"key": F.lit(self.keys[number]), "value": F.col(f"value {number}"), "level": F.expr(_level(number))}
        if self.overridden:
            columns["overridden"] = F.col(f"overridden {number}")
        return F.struct(*(column.alias(name) for name, column in columns.items()))


def _level(number: int) -> str:
    """The level number of the i-th key, or `NO_LEVEL`, in SQL; `on_workers` packs several into a word."""
    place = number % IN_A_WORD
    return f"(shiftright(`levels {number - place}`, {BITS * place}) & {NO_LEVEL})"


_NAMES = f"array({', '.join(repr(level.name) for level in LEVELS)})"


def _level_and_bucket(level: str) -> list[Column]:
    """The level's name, and who shares the allowance: the names of the client that the level speaks of."""
    users = [a_level.number for a_level in LEVELS if a_level.user]
    clients = [a_level.number for a_level in LEVELS if a_level.client_id]
    return [
        F.expr(f"get({_NAMES}, {level}) as level"),  # null for `NO_LEVEL`, which is past the end of the names
        F.expr(f"{_shared('user', level, users)} as bucket_user"),
        F.expr(f"{_shared('client_id', level, clients)} as bucket_client_id"),
    ]


def _shared(name: str, level: str, levels: Sequence[int]) -> str:
    numbers = ", ".join(map(str, levels))
    return f"case when {level} in ({numbers}) then {name} when {level} != {NO_LEVEL} then '' end"


Carried = tuple[Tables, Sequence[str], Sequence[str]]
"""The tables; the columns that stay, and all that come out."""


def on_workers(carried: Carried, batches: Batches) -> Iterator[pa.RecordBatch]:
    """The batches with what binds each row: each key's value, the overridden quotas if asked, and then all levels.

    Spark's workers run it. For each batch that is read about one is handed out: a worker that only wrote for a while,
    its input piling up, was seen to wedge a TCP connection.
    """
    ready: deque[pa.RecordBatch] = deque()
    batch_list: list[pa.RecordBatch] = []
    for batch in batches:
        batch_list.append(batch)
        if sum(batch.num_rows for batch in batch_list) >= ROWS:
            ready.extend(_answers(carried, batch_list))
            batch_list = []
        if ready:
            yield ready.popleft()
    yield from ready
    if batch_list:
        yield from _answers(carried, batch_list)


def _answers(carried: Carried, batch_list: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches put together, looked up at once, and taken apart again."""
    tables, kept, names = carried
    table = pa.Table.from_batches(batch_list)
    texts = {
        name: pa.chunked_array([table.column(name).cast(pa.string()).combine_chunks()], pa.string())
        for name in ("user", "client_id", "cluster_id")
        if name in kept
    }
    answers, levels = [], []
    for value, level, _, _, *overridden in look_up(tables, *texts.values()):
        answers += [value, *overridden]
        levels.append(np.asarray(level.indices.fill_null(NO_LEVEL)))
    answers += _packed(levels)
    start = 0
    for batch in batch_list:
        columns = [*map(batch.column, kept), *(answer.slice(start, batch.num_rows) for answer in answers)]
        yield pa.RecordBatch.from_arrays(columns, names=names)
        start += batch.num_rows


def _packed(levels: list[Ints]) -> list[pa.Array]:
    """The numbers of levels, several in a word: columns are what takes time here."""
    words = [levels[first : first + IN_A_WORD] for first in range(0, len(levels), IN_A_WORD)]
    return [pa.array(sum((n << (BITS * place) for place, n in enumerate(word)), start=np.int32(0))) for word in words]


def sendable(quotas: Any) -> pa.Table:
    """QUOTAS here, to be sent to the workers; Spark's are read.

    Raises
    ------
    Invalid
        They are too many.
    """
    table = in_arrow(quotas, MOST_QUOTAS + 1)
    if table.num_rows > MOST_QUOTAS:
        problem = f"more than {MOST_QUOTAS:,} quotas are too many to send to Spark's workers"
        raise Invalid(problem, hint="Take fewer clusters at a time: filter both frames by cluster_id.")
    return table
