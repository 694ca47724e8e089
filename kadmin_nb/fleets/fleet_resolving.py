"""`kn.resolve` over Spark DataFrames: the same look-ups, on the workers.

The quotas are small: they are read on the driver, laid out once, and travel inside the plan. The pairs stay where
they are. Only when the quotas of exact (user, client-id) pairs outgrow that are these joined to the pairs instead,
both partitioned by a hash of the two names; and where those of users or of client-ids do, all that have names.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, IntegerType, StringType, StructField, StructType

from ..errors import Invalid, UsageError
from ..frames.relational import TEXT, cluster_of, of_kinds, read_columns, without_null
from ..frames.spark import missing_package_named, row_as_json, to_spark
from ..model.levels import LEVELS, Level
from ..resolution.input_columns import CLUSTER, QUOTA_COLUMNS, QUOTAS_LABEL, check_clusters
from ..resolution.kernel import PAIRS, Index, Shape, asked_keys, check_shape
from ..resolution.lookup import Ints, Tables
from ..resolution.lookup import resolve as look_up
from .workers import Batches, by_value

OVERRIDDEN = ArrayType(StructType([StructField("level", StringType()), StructField("value", DoubleType())]))

PAIR = LEVELS[0]
NAMED = [level for level in LEVELS if "name" in (level.user, level.client_id)]
"""The levels that may have many quotas."""
OF_DEFAULT_USER = [level for level in LEVELS if level.user == "default"]
"""The levels by which an empty user has no limit at all, whatever its client-id has."""

SENT_BYTES = 256 << 20
"""The memory that quotas with names may take in a worker; sent they are a third of that at most."""
PLAIN_BYTES = 256 << 20
"""The size up to which all quotas reach the driver uncompressed, at once."""
JOINED_BYTES = 16 << 20
"""Their size limit in one partition of the join, which holds them in memory."""
_ENTITY, _VALUE = 128, 12
"""Bytes that an entity takes beside its names, and each of its keys."""
_SHORT = 256
"""Bytes that the texts of a row may have, all together, to be fetched without a look at their sizes."""

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
        QUOTAS: a Spark DataFrame, or anything that `kn.resolve` takes. They are read at once. If they are too many to
        send to the workers (about a million), those with names stay in Spark, exact pairs first.
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
        An entity and key twice in the quotas, a level that is unknown or does not fit its names.
    pyspark.errors.SparkRuntimeException
        When the result is read: a null user, with its row; a quota that occurs twice, if quotas stay in Spark.

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


def bound(rows: DataFrame, quotas: DataFrame | pa.Table, keys: Sequence[str], overridden: bool = False) -> ResolvedRows:
    """The effective quotas of each row's client; `quotas` as `read_columns` gives them."""
    stored = SplitQuotas.of(quotas, rows.sparkSession, len(keys))
    joined_rows = rows if stored.joined is None else stored.join_to(rows, keys)
    tables = Index.of(stored.sent, keys, overridden=overridden).tables
    kinds = {"value": DoubleType(), **({"overridden": OVERRIDDEN} if overridden else {})}
    fields = [StructField(f"{name} {number}", kind) for number in range(len(keys)) for name, kind in kinds.items()]
    levels = [StructField(f"levels {number}", IntegerType()) for number in range(0, len(keys), IN_A_WORD)]
    schema = StructType([*rows.schema, *fields, *levels])
    work = by_value(on_workers, (tables, stored.levels, rows.columns, schema.names))
    return ResolvedRows(joined_rows.mapInArrow(work, schema), rows.columns, keys, overridden)


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


Carried = tuple[Tables, Sequence[Level], Sequence[str], Sequence[str]]
"""The tables; the levels that were joined; the columns that stay, and all that come out."""


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
    tables, joined, kept, names = carried
    table = pa.Table.from_batches(batch_list)
    texts = {
        name: pa.chunked_array([table.column(name).cast(pa.string()).combine_chunks()], pa.string())
        for name in ("user", "client_id", "cluster_id")
        if name in kept
    }
    answers, levels = [], []
    for number, (value, level, _, _, *overridden) in enumerate(look_up(tables, *texts.values())):
        level_numbers = np.asarray(level.indices.fill_null(NO_LEVEL))
        if joined:
            quotas = {level: table.column(_exact(level, number)) for level in joined}
            value, level_numbers, *overridden = _with_joined(value, level_numbers, overridden, quotas, texts)
        answers += [value, *overridden]
        levels.append(level_numbers)
    answers += _packed(levels)
    start = 0
    for batch in batch_list:
        columns = [*map(batch.column, kept), *(answer.slice(start, batch.num_rows) for answer in answers)]
        yield pa.RecordBatch.from_arrays(columns, names=names)
        start += batch.num_rows


def _with_joined(
    value: pa.Array, sent: Ints, overridden: list[pa.Array], joined: dict[Level, Any], texts: dict[str, Any]
) -> tuple[Any, ...]:
    """What binds each row, its level and perhaps what it overrides, of the quotas of a key that were sent or joined.

    A row without a name takes nothing from a level that speaks of it; and where of those that speak of users a default
    user's alone fits, Kafka finds nothing for an empty user. Of what was sent the look-ups know it.
    """
    rows, names = np.arange(len(sent)), pa.array([level.name for level in LEVELS])
    fits, values = np.zeros((len(LEVELS), len(rows)), bool), np.zeros((len(LEVELS), len(rows)))

    def add(numbers: Ints, at: Any, quotas: pa.Array) -> None:
        fits[numbers, at], values[numbers, at] = True, quotas

    bound = np.flatnonzero(sent != NO_LEVEL)
    add(sent[bound], bound, value.drop_null())
    for lists in overridden:
        lost = lists.flatten()
        numbers = np.asarray(pc.index_in(lost.field("level"), names))
        add(numbers, np.repeat(rows, lists.value_lengths()), lost.field("value"))
    for level, quotas in joined.items():
        fits[level.number], values[level.number] = quotas.is_valid(), quotas.fill_null(0)
    is_empty = {name: np.asarray(pc.equal(texts[name], "")) for name in ("user", "client_id")}
    *others, default_user = (fits[level.number] for level in OF_DEFAULT_USER)
    fits[:, is_empty["user"] & default_user & ~np.logical_or(*others)] = False
    for level in joined:
        for name in (name for name in is_empty if getattr(level, name)):
            fits[level.number] &= ~is_empty[name]
    closest = fits.argmax(axis=0)
    is_bound = fits[closest, rows]
    answer = pa.array(values[closest, rows], mask=~is_bound), np.where(is_bound, closest, NO_LEVEL).astype(np.int32)
    if not overridden:
        return answer
    fits[closest, rows] = False
    at, numbers = np.nonzero(fits.T)
    quotas = pa.StructArray.from_arrays([names.take(numbers), pa.array(values[numbers, at])], ["level", "value"])
    return *answer, pa.ListArray.from_arrays(np.cumsum([0, *fits.sum(axis=0)], dtype=np.int32), quotas)


def _packed(levels: list[Ints]) -> list[pa.Array]:
    """The numbers of levels, several in a word: columns are what takes time here."""
    words = [levels[first : first + IN_A_WORD] for first in range(0, len(levels), IN_A_WORD)]
    return [pa.array(sum((n << (BITS * place) for place, n in enumerate(word)), start=np.int32(0))) for word in words]


@dataclass(frozen=True)
class SplitQuotas:
    """QUOTAS, split: `sent` goes to the workers with the plan; `joined`, of some `levels` only, stays in Spark.

    `bytes` is what the joined ones would take in the memory of a worker.
    """

    sent: pa.Table
    joined: DataFrame | None = None
    levels: Sequence[Level] = ()
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
        sizes = _measured(quotas, keys)
        if sum(sizes.values()) <= SENT_BYTES:
            return cls(_fetched(quotas))
        levels = [PAIR] if sum(sizes.values()) - sizes[PAIR] <= SENT_BYTES else [*{*NAMED, *OF_DEFAULT_USER}]
        names = [level.name for level in levels]
        _refuse_unfit(quotas, levels)
        sent = quotas.where(~F.coalesce(F.col("level").isin(names), F.lit(False)))
        size = sum(sizes[level] for level in levels if level in sizes)
        return cls(_fetched(sent), quotas.where(F.col("level").isin(names)), levels, size)

    def join_to(self, pairs: DataFrame, keys: Sequence[str]) -> DataFrame:
        """The pairs, with whatever else is in their rows, and `exact l i`: what level l has of the i-th key for them.

        Both sides are partitioned by the hash of the names; these partitions are so many that the quotas of each fit
        into memory. By both names comes last, so that one user with half of all pairs is in all partitions then.
        """
        parts = max(math.ceil(self.bytes / JOINED_BYTES), _partitions(pairs.sparkSession))
        of_names = defaultdict[tuple[str, ...], list[Level]](list)
        for level in self.levels:
            named = tuple(name for name in ("user", "client_id") if getattr(level, name) == "name")
            of_names[named].append(level)
        for named in sorted(of_names, key=len):
            pairs = self._joined_to(pairs, named, of_names[named], keys, parts)
        return pairs

    def _joined_to(
        self, pairs: DataFrame, named: Sequence[str], levels: Sequence[Level], keys: Sequence[str], parts: int
    ) -> DataFrame:
        """With the quotas of levels that have these names."""
        assert self.joined is not None
        entities = self.joined.where(F.col("level").isin([level.name for level in levels]) & F.col("key").isin(*keys))
        names = [*cluster_of(pairs), *named]
        values = [_only_value(names, key, level, number) for level in levels for number, key in enumerate(keys)]
        if not names:
            return pairs.crossJoin(F.broadcast(entities.agg(*values)))
        if not named:
            return pairs.join(F.broadcast(entities.groupBy(*names).agg(*values)), names, "left")
        exact = entities.repartition(parts, *names).groupBy(*names).agg(*values)
        return pairs.repartition(parts, *names).join(exact.hint("shuffle_hash"), names, "left")


def _fetched(frame: DataFrame) -> pa.Table:
    """`frame.toArrow()`, compressed by the workers to a tenth: Spark's default driver loses a result of 200 MB."""
    with missing_package_named():
        packed = frame.mapInArrow(by_value(_pack, None), "packed binary").toArrow()["packed"]
    if not len(packed):
        return frame.limit(0).toArrow()
    return pa.concat_tables(pa.ipc.open_stream(packed_table.as_buffer()).read_all() for packed_table in packed)


def _pack(_: None, batches: Batches) -> Iterator[pa.RecordBatch]:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"packed": [sink.getvalue().to_pybytes()]})


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


def _measured(frame: DataFrame, keys: int) -> dict[Level, float]:
    """Bytes that the quotas of each level with names take in a worker."""
    names = [*cluster_of(frame), "user", "client_id"]
    length = F.avg(reduce(add, (F.coalesce(F.octet_length(name), F.lit(0)) for name in names)))
    of_levels = frame.where(F.col("level").isin([level.name for level in NAMED])).groupBy("level")
    entities = F.approx_count_distinct(F.xxhash64(*names)).alias("entities")
    rows = of_levels.agg(entities, length.alias("length")).collect()
    found = {row.level: row.entities * (_ENTITY + _VALUE * keys + row.length) for row in rows}
    return {level: found.get(level.name, 0) for level in NAMED}


def _refuse_unfit(quotas: DataFrame, levels: Sequence[Level]) -> None:
    """Refuse quotas of levels that stay in Spark if one has no key or value, or not the names of its level.

    Raises
    ------
    Invalid
    """
    is_unfit = F.isnull("key") | F.isnull("value")
    for level in levels:
        for name in ("user", "client_id"):
            given = F.col(name)
            is_other = (given.isNull() | (given == "")) if getattr(level, name) == "name" else given != ""
            is_unfit |= (F.col("level") == level.name) & is_other
    if CLUSTER in quotas.columns:
        is_unfit |= F.isnull(CLUSTER)
    of_them = quotas.where(F.col("level").isin([level.name for level in levels]) & is_unfit)
    for row in of_them.select(row_as_json(quotas.columns).alias("text")).limit(1).collect():
        raise Invalid(
            f"user, client_id, key or value is null, empty or too much in a row of {QUOTAS_LABEL}: {row.text}"
        )


def _only_value(names: Sequence[str], key: str, level: Level, number: int) -> Column:
    """The value of a key within a group of quotas of a level, which has one at most."""
    its = F.when((F.col("key") == key) & (F.col("level") == level.name), F.col("value").cast("double"))
    whose = row_as_json(names) if names else F.lit(level.name)
    twice = F.concat(F.lit(f"{key} is twice in {QUOTAS_LABEL} for "), whose)
    one = F.when(F.count(its) > 1, F.raise_error(twice).cast("double")).otherwise(F.max(its))
    return one.alias(_exact(level, number))


def _exact(level: Level, number: int) -> str:
    """The column of a joined level's quota of the i-th key."""
    return f"exact {level.number} {number}"


def _partitions(spark: SparkSession) -> int:
    """The session's own number of partitions after a shuffle; Databricks may say "auto"."""
    setting = str(spark.conf.get("spark.sql.shuffle.partitions"))
    return int(setting) if setting.isdigit() else 1
