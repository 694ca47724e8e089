"""The functions `kafka_effective`, `kafka_level`, `kafka_units` and `kafka_request` of Spark's SQL.

Those of Python are Arrow functions, and travel to the workers by value, quotas included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import KadminError, Unsupported
from ..fleets.fleet_resolving import sendable
from ..fleets.workers import Batches, Work, by_value, loader, with_message_alone
from ..frames import schemas
from ..frames.given_frames import plain_schema
from ..frames.relational import SparkWords, added_up, taken, with_further
from ..frames.spark import errors_in_one_line, spark_schema, spark_session, spark_type
from ..model.quota_keys import readable
from ..resolution.input_columns import CLUSTER, led
from ..resolution.kernel import Index
from ..usage.arithmetic import window_start
from ..usage.request_rows import INTER_BROKER, LogReader
from ..usage.usage_windows import batch_ends, client_columns, length_of, usage_rows, window_totals
from .data_source import register_source

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.sql.udtf import UserDefinedTableFunction

PAIRS_AT_ONCE = 1 << 18
"""Each call of the kernel hashes the names of all quotas anew, and Spark's batches are of 10,000 rows."""

_LEVEL = """CREATE OR REPLACE TEMPORARY FUNCTION kafka_level(level STRING) RETURNS STRING
COMMENT 'a level of the quota hierarchy as words' RETURN lower(replace(level, '_', ' '))"""


def register(
    spark: SparkSession | None = None,
    *,
    quotas: Any = None,
    keys: str | Iterable[str] | None = None,
    broker: int | str | Any = None,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
) -> tuple[str, ...]:
    """Register kadmin_nb's functions and data source in a Spark session; returns their names.

    - `kafka_level(level)`: a level as words, `default client of user`.
    - `kafka_units(key, value)`: a quota's value for people, `10 MB/s`.
    - `kafka_effective(TABLE(clients))`, where there are `quotas`: EFFECTIVE of a table of clients, equal to
      `kn.resolve`; `cluster_id` leads where the quotas have it.
    - `kafka_request(path, line)`, where a `broker` is told: a line of a request log as a struct, see `kafka_request`.
    - the data source: `spark.read.format("kadmin_nb").option("frame", "quotas").option("cluster", "prod")`, a row a
      quota, led by the `cluster` as it was written, and its `cluster_id`; `frame` is `quotas`, `configs` (without those
      of loggers) or `brokers`, `cluster` what `kn.connect` takes, several parted by `;`.
      Workers read it, which need the wheel for it, the profiles and a network to the brokers: a partition a cluster.

    All of them last as long as the session. Register anew for other quotas.

    Parameters
    ----------
    spark
        The session; default: the active one.
    quotas, keys
        QUOTAS and keys, as of `kn.resolve`: an answer, any frame, Spark's too, or what a history had,
        `kn.open_history("main.kafka").as_of("now").quotas`. They are read now, and sent with the function.
    broker, tz, cluster_id, inter_broker
        As of `kn.usage.requests`.

    Raises
    ------
    Unsupported
        Spark 4.0 has no Arrow functions, and quotas or a broker were given. Without them the rest is registered.
    Invalid
        Too many quotas; whatever `kn.resolve` refuses.
    """
    session = spark or spark_session()
    with errors_in_one_line("Spark could not register kadmin_nb's functions"):
        register_source(session)
        session.sql(_LEVEL).collect()
        missing = _missing()
        if missing and (quotas is not None or broker is not None):
            raise missing
        functions = {} if missing else {"kafka_units": _scalar(by_value(_told(values_for_people), None), pa.string())}
        if broker is not None:
            functions["kafka_request"] = _request(broker, tz, cluster_id, inter_broker)
        for name, function in functions.items():
            session.udf.register(name, function)
        if quotas is not None:
            session.udtf.register("kafka_effective", _effective(quotas, keys))
    return "kafka_level", *functions, *(["kafka_effective"] if quotas is not None else []), "kadmin_nb"


def kafka_request(
    *,
    broker: int | str | Any,
    tz: str | None = None,
    cluster_id: str | None = None,
    inter_broker: str | Iterable[str] = INTER_BROKER,
) -> Callable[..., Column]:
    """`kafka_request(path, line)` as a function of columns: for streams, views and declarative pipelines.

    Returns ------- A function of two columns. Its column is a struct: `fault`, why the line is not a request, or null;
    `reason`, why the request is not a client's, or null; `unsized`, `ambiguous`; `cluster_id` if it was given; and the
    columns of REQUESTS. A request whose line occurs twice is counted twice: `kn.usage.requests` drops the second.

    Parameters
    ----------
    broker, tz, cluster_id, inter_broker
        As of `kn.usage.requests`.

    Raises
    ------
    Unsupported
        Spark 4.0 has no Arrow functions.
    UsageError
        No broker, or not a time zone.

    Examples
    --------
    >>> request = kn.sql.kafka_request(broker=1, tz="UTC")  # doctest: +SKIP
    >>> rows = lines.select(request("path", "line").alias("request")).select("request.*")  # doctest: +SKIP
    """
    if missing := _missing():
        raise missing
    return _request(broker, tz, cluster_id, inter_broker)


def usage_of(requests: DataFrame, every: str = "1 minute", *, by_cluster: bool = False) -> DataFrame:
    """`kn.usage.usage` of a table of requests, without running Spark: for query functions of pipelines.

    Parameters
    ----------
    requests
        The columns of `kafka_request` for clients' requests. A request that occurs twice counts once.
    every
        The length of the windows.
    by_cluster
        True to begin with `cluster_id`.

    Raises
    ------
    UsageError
        `every` is not a length.
    """
    length, words = length_of(every), SparkWords()
    names = [*([CLUSTER] if by_cluster else []), *schemas.REQUESTS.names]
    rows = added_up(requests, names, {"lines": ("count_rows", "")})  # Spark looks at what `distinct` is asked of
    rows = with_further(rows, {"start": window_start(words, words.column("time"), length)})
    totals = window_totals(rows, client_columns(by_cluster))
    used: DataFrame = usage_rows(totals, length, by_cluster, batch_ends(words, length))
    return used


def _missing() -> Unsupported | None:
    """The error of a Spark without Arrow functions."""
    import pyspark
    from pyspark.sql import functions as F

    if hasattr(F, "arrow_udf") and hasattr(F, "arrow_udtf"):
        return None
    return Unsupported(
        f"Spark {pyspark.__version__} has no Arrow functions: kafka_effective, kafka_units and kafka_request need 4.1",
        hint="kafka_level and the data source kadmin_nb are available.",
    )


def _request(
    broker: Any, tz: str | None, cluster_id: str | None, inter_broker: str | Iterable[str]
) -> UserDefinedFunction:
    reader = LogReader.of(broker, tz, cluster_id, inter_broker)
    return _scalar(by_value(_told(request_structs), reader), pa.struct(reader.request_schema))


def _scalar(function: Callable[..., Iterator[pa.Array]], kind: pa.DataType) -> UserDefinedFunction:
    functions: Any = import_module("pyspark.sql.functions")  # its stubs do not know arrow_udf
    function.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    made: UserDefinedFunction = functions.arrow_udf(function, spark_type(kind))
    return made


def _effective(quotas: Any, keys: str | Iterable[str] | None) -> UserDefinedTableFunction:
    functions: Any = import_module("pyspark.sql.functions")
    index = Index.of(sendable(taken(quotas, schemas.QUOTAS.names, "the quotas")), keys)
    schema = plain_schema(led(schemas.effective(False), () if index.tables.clusters is None else (CLUSTER,)))
    load = loader(_told(effective_rows), (index, schema))

    class Effective:
        """PySpark pickles a class of a function by value, and makes an object of it a partition."""

        def __init__(self) -> None:
            self.work, self.rows = load(), 0
            self.batches: list[pa.RecordBatch] = []

        def eval(self, clients: pa.RecordBatch) -> Iterator[pa.Table]:
            self.batches.append(clients)
            self.rows += clients.num_rows
            if self.rows >= PAIRS_AT_ONCE:
                yield from self.terminate()

        def terminate(self) -> Iterator[pa.Table]:
            batches, self.batches, self.rows = self.batches, [], 0
            yield from self.work(batches)

    made: UserDefinedTableFunction = functions.arrow_udtf(Effective, returnType=spark_schema(schema))
    return made


# --- run by Spark's workers ---


def _told(work: Work) -> Work:
    """The work, of whose errors only the message is shown: who reads SQL needs no traceback."""

    def run(argument: Any, batches: Batches) -> Iterator[Any]:
        try:
            yield from work(argument, batches)
        except KadminError as error:
            raise with_message_alone(error) from None

    return run


def values_for_people(_: None, columns: Iterable[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
    """The values of quotas' keys as people read them; null for null."""
    texts: dict[tuple[str | None, float | None], str | None] = {}
    for keys, values in columns:
        pairs = list(zip(keys.to_pylist(), values.cast(pa.float64()).to_pylist(), strict=True))
        texts |= {(key, value): None if value is None else readable(key or "", value) for key, value in set(pairs)}
        yield pa.array([texts[pair] for pair in pairs], pa.string())


def request_structs(reader: LogReader, columns: Iterable[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
    """The lines as requests, a struct each."""
    for paths, lines in columns:
        rows = reader.rows(paths, lines)
        fields = list(reader.request_schema)
        yield pa.StructArray.from_arrays([rows[field.name] for field in fields], fields=fields)


def effective_rows(job: tuple[Index, pa.Schema], batches: Batches) -> Iterator[pa.Table]:
    """EFFECTIVE of clients."""
    index, schema = job
    if batch_list := list(batches):
        found = index.resolve(pa.Table.from_batches(batch_list), threads=1)
        yield found.select(schema.names).cast(schema).combine_chunks()
