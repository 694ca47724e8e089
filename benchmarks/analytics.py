"""`kn.fleets.resolve` beside a pass-through and broadcast joins, and over Connect.

Spark runs in processes of its own, one a mode, which do one work after the other as they are told: so runs are
interleaved, and both modes are measured in turns. Data as in `benchmarks.resolve`, as Parquet. All results go to
Spark's `noop`, which reads every column and keeps none.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from benchmarks import resolve as fleet
from benchmarks.resolve import KEYS, _timed
from benchmarks.timing import Row, interleaved

PAIRS, DEFAULT = "CLIENT_OF_USER", "DEFAULT_CLIENT"
CONNECT = 10
"""Millions of pairs that Connect is measured with; a small query is mostly what any query costs it."""
ROUNDS = 3


def run(full: bool = False) -> list[Row]:
    """The figures; `full` takes 10 million pairs, and 5 and 30 million for the growth, instead of 2, 1 and 4."""
    many, few, most = (10, 5, 30) if full else (2, 1, 4)
    with tempfile.TemporaryDirectory(prefix="kadmin-nb-bench-") as folder:
        place = Path(folder)
        _write(place, {many, few, most, CONNECT})
        with _spark("classic", place) as classic:
            rows = [*_costs(classic, many), _growth(classic, few, most)]
            with _spark("connect", place) as connect:
                rows.append(_over_connect(classic, connect))
    return rows


def _write(place: Path, millions: set[int]) -> None:
    parquet.write_table(fleet.quotas_of_a_fleet(), place / "quotas.parquet")
    pairs = fleet.pairs_of_a_fleet(max(millions) * 10**6)
    for count in millions:
        _pairs(pairs.slice(0, count * 10**6), place / f"pairs-{count}.parquet")


def _pairs(pairs: pa.Table, place: Path) -> None:
    parquet.write_table(pairs, place, row_group_size=250_000)


Work = Callable[..., Callable[[], object]]


def _costs(spark: Work, many: int) -> list[Row]:
    spark("same", many)()
    names = ("resolve", "pass", "pass-narrow", "joins", "resolve-ready", "joins-ready")
    ours, through, narrow, joins, ours_ready, joins_ready = interleaved([spark(name, many) for name in names], ROUNDS)
    figure = f"analytics.resolve, wide, {many} million pairs, 4 keys, to"
    return [
        _timed(f"{figure} a pass-through of constants", ours, through, 1.8, "the same columns out of mapInArrow"),
        _timed(f"{figure} a pass-through of what the kernel hands out", ours, narrow, 2.7, "no names of buckets"),
        _timed(f"{figure} three broadcast joins", ours, joins, AS_QUICK, f"{_AIM}; both start with the quotas"),
        _timed(f"{figure} the joins, quotas and small tables ready", ours_ready, joins_ready, AS_QUICK, _READY),
    ]


AS_QUICK = 1.15
"""As quick as the joins: from one process to the next their ratio was seen between 0.87 and 1.15."""
_AIM = "aim 1.0"
_READY = f"{_AIM}; ours in Arrow, theirs in Parquet, made beforehand and not counted"


def _growth(spark: Work, few: int, most: int) -> Row:
    long, short = interleaved([spark("resolve", most), spark("resolve", few)], ROUNDS)
    figure = f"analytics.resolve, time a pair at {most} million to {few} million"
    a_million = [t / most for t in long], [t / few for t in short]
    return _timed(figure, *a_million, 1.1, "s a million pairs")


def _over_connect(classic: Work, connect: Work) -> Row:
    there, here = interleaved([connect("resolve", CONNECT), classic("resolve", CONNECT)], ROUNDS)
    return _timed(f"analytics.resolve, {CONNECT} million pairs, Connect to classic", there, here, 1.3, "after start-up")


@contextmanager
def _spark(mode: str, place: Path) -> Iterator[Work]:
    """A process with a session of this mode, that does what it is told."""
    command = [sys.executable, "-m", "benchmarks.analytics", mode, str(place)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with (place / f"{mode}.log").open("w") as log, subprocess.Popen(command, stderr=log, **pipes) as process:

        def work(*words: object) -> Callable[[], object]:
            def told() -> None:
                print(*words, file=process.stdin, flush=True)
                if process.stdout.readline().strip() != "done":
                    raise RuntimeError((place / f"{mode}.log").read_text()[-3000:])

            return told

        yield work
        process.stdin.close()


def _serve(mode: str, place: Path) -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    spark = _session(mode, place)
    for line in sys.stdin:
        name, millions = line.split()
        frame = WORKS[name](spark, place, millions)
        frame.write.format("noop").mode("overwrite").save()
        print("done", file=out, flush=True)


def _session(mode: str, place: Path) -> Any:
    import kadmin_nb as kn

    if mode == "classic":
        return kn.spark_session()
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    from kadmin_nb.frames.spark import _SETTINGS
    from kadmin_nb.java import spark_java_home

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(spark_java_home())
    builder = SparkSession.builder.remote("local[2]").config("spark.connect.grpc.binding.port", str(port))
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _resolve(spark: Any, place: Path, millions: str) -> Any:
    return _resolved(spark, place / "quotas.parquet", place / f"pairs-{millions}.parquet")


def _resolved(spark: Any, quotas: Path, pairs: Path) -> Any:
    return _resolved_of(spark.read.parquet(str(quotas)), spark.read.parquet(str(pairs)))


def _resolved_of(quotas: Any, pairs: Any) -> Any:
    import kadmin_nb as kn

    return kn.fleets.resolve(quotas, pairs, shape="wide")


def _resolve_ready(spark: Any, place: Path, millions: str) -> Any:
    """Quotas that are at hand, as `cluster.quotas.describe()` gives them: no job of Spark fetches them."""
    return _resolved_of(
        _at_hand(place / "quotas.parquet"), spark.read.parquet(str(place / f"pairs-{millions}.parquet"))
    )


_at_hand = cache(parquet.read_table)


def _pass(spark: Any, place: Path, millions: str) -> Any:
    """The columns of the wide form, filled with constants."""
    struct = "struct<value: double, level: string, bucket_user: string, bucket_client_id: string>"
    names = ["user", "client_id", *KEYS]

    def constants(batches: Any) -> Any:
        import pyarrow as pa

        for batch in batches:
            words = [pa.repeat(word, batch.num_rows) for word in (1.5e6, "USER", "user-000042@example", "")]
            answer = pa.StructArray.from_arrays(words, ["value", "level", "bucket_user", "bucket_client_id"])
            yield pa.RecordBatch.from_arrays([*batch.columns, *[answer] * (len(names) - 2)], names=names)

    schema = ", ".join(["user string", "client_id string", *(f"{key} {struct}" for key in KEYS)])
    return spark.read.parquet(str(place / f"pairs-{millions}.parquet")).mapInArrow(constants, schema)


def _pass_narrow(spark: Any, place: Path, millions: str) -> Any:
    """A value and a number for each key, filled with constants."""
    names = ["user", "client_id", *(f"{word}_{i}" for i in range(len(KEYS)) for word in ("value", "level"))]

    def constants(batches: Any) -> Any:
        import pyarrow as pa

        for batch in batches:
            answer = [pa.repeat(pa.scalar(1.5e6), batch.num_rows), pa.repeat(pa.scalar(2, pa.int32()), batch.num_rows)]
            yield pa.RecordBatch.from_arrays([*batch.columns, *answer * ((len(names) - 2) // 2)], names=names)

    kinds = [f"{name} {'double' if name.startswith('value') else 'int'}" for name in names[2:]]
    schema = ", ".join(["user string", "client_id string", *kinds])
    return spark.read.parquet(str(place / f"pairs-{millions}.parquet")).mapInArrow(constants, schema)


def _joins(spark: Any, place: Path, millions: str) -> Any:
    """The same columns out of the same quotas by three broadcast joins; default client-ids are literals."""
    return _joined(spark, place, millions, _small(spark, place))


def _joins_ready(spark: Any, place: Path, millions: str) -> Any:
    """The joins alone: their small tables are kept as Parquet by whoever came first."""
    tables = {name: place / f"{name}.parquet" for name in ("by-pair", "by-user", "by-client")}
    if not tables["by-pair"].exists():
        for name, frame in _small(spark, place).items():
            frame.write.parquet(str(tables[name]))
    return _joined(spark, place, millions, {name: spark.read.parquet(str(where)) for name, where in tables.items()})


def _joined(spark: Any, place: Path, millions: str, small: dict[str, Any]) -> Any:
    from pyspark.sql import functions as F

    pairs = spark.read.parquet(str(place / f"pairs-{millions}.parquet"))
    joined = (
        pairs.join(F.broadcast(small["by-pair"]), ["user", "client_id"], "left")
        .join(F.broadcast(small["by-user"]), "user", "left")
        .join(F.broadcast(small["by-client"]), "client_id", "left")
    )
    quotas = parquet.read_table(place / "quotas.parquet", filters=[("level", "=", DEFAULT)])
    defaults = dict(zip(quotas["key"].to_pylist(), quotas["value"].to_pylist(), strict=True))
    return joined.select("user", "client_id", *(_coalesced(key, defaults.get(key)) for key in KEYS))


def _coalesced(key: str, default: float | None) -> Any:
    from pyspark.sql import functions as F

    pair, user, client = (F.col(f"{side}_{key}") for side in "puc")
    value = F.coalesce(pair, user, client, F.lit(default))
    level = F.when(pair.isNotNull(), PAIRS).when(user.isNotNull(), F.col(f"ul_{key}"))
    level = level.when(client.isNotNull(), F.col(f"cl_{key}")).otherwise(None if default is None else DEFAULT)
    shares_user, shares_client = level.isin("CLIENT", DEFAULT), level == "USER"
    bucket_user = F.when(level.isNotNull(), F.when(shares_user, "").otherwise(F.col("user")))
    bucket_client = F.when(level.isNotNull(), F.when(shares_client, "").otherwise(F.col("client_id")))
    parts = {"value": value, "level": level, "bucket_user": bucket_user, "bucket_client_id": bucket_client}
    return F.struct(*(part.alias(name) for name, part in parts.items())).alias(key)


def _same(spark: Any, place: Path, millions: str) -> Any:
    """Nothing, if the joins found the same, row for row; or the comparison is worth nothing."""
    from pyspark.sql import functions as F

    ours, theirs = (
        work(spark, place, millions).agg(F.sum(F.xxhash64("*").cast("decimal(38, 0)"))) for work in (_resolve, _joins)
    )
    if ours.collect() != theirs.collect():
        raise AssertionError("the joins and resolve differ")
    return ours


def _small(spark: Any, place: Path) -> dict[str, Any]:
    """The three small tables: a column a key, for users and client-ids with the level that wins among two."""
    from pyspark.sql import functions as F

    quotas = spark.read.parquet(str(place / "quotas.parquet"))
    exact = quotas.where(F.col("level") == PAIRS).groupBy("user", "client_id")
    return {
        "by-pair": exact.agg(*(_held(key).alias(f"p_{key}") for key in KEYS)),
        "by-user": _by_name(quotas, "user", "u", ("DEFAULT_CLIENT_OF_USER", "USER")),
        "by-client": _by_name(quotas, "client_id", "c", ("CLIENT_OF_DEFAULT_USER", "CLIENT")),
    }


def _by_name(quotas: Any, name: str, side: str, levels: tuple[str, str]) -> Any:
    from pyspark.sql import functions as F

    firsts = [_first_of(key, side, levels) for key in KEYS]
    return quotas.where(F.col("level").isin(*levels)).groupBy(name).agg(*reduce(list.__add__, firsts))


def _held(key: str, level: str | None = None) -> Any:
    from pyspark.sql import functions as F

    its = F.col("key") == key
    return F.max(F.when(its if level is None else its & (F.col("level") == level), F.col("value")))


def _first_of(key: str, side: str, levels: tuple[str, str]) -> list[Any]:
    from pyspark.sql import functions as F

    one, other = (_held(key, level) for level in levels)
    level = F.when(one.isNotNull(), levels[0]).when(other.isNotNull(), levels[1])
    return [F.coalesce(one, other).alias(f"{side}_{key}"), level.alias(f"{side}l_{key}")]


WORKS: dict[str, Callable[..., Any]] = {
    "resolve": _resolve,
    "pass": _pass,
    "pass-narrow": _pass_narrow,
    "joins": _joins,
    "resolve-ready": _resolve_ready,
    "joins-ready": _joins_ready,
    "same": _same,
}


if __name__ == "__main__":
    if sys.argv[1:2] in (["classic"], ["connect"]):
        _serve(sys.argv[1], Path(sys.argv[2]))
    else:
        for line in run("--full" in sys.argv):
            print(json.dumps(line))
