"""`kn.usage.totals` on Spark beside the plain `groupBy` of 20 million rows of USAGE (50 with `full`); and
`kn.usage.utilisation` of 2 million beside the two that add up windows, and then the windows of a user.

The rows are made by Spark out of a seed and kept as Parquet; both works read the files. The machine may be busy, so CPU
seconds are compared, of this process and all below it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import psutil
import pyarrow as pa

from benchmarks.resolve import _timed
from benchmarks.timing import Row
from kadmin_nb.frames import schemas

ROUNDS = 2
USERS, CLIENT_IDS, TEAMS = 2_000, 5, 50
KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")


def run(full: bool = False) -> list[Row]:
    """The figures."""
    import kadmin_nb as kn

    millions = 50 if full else 20
    with tempfile.TemporaryDirectory(prefix="kadmin-nb-bench-") as folder:
        spark = kn.spark_session()
        usage, less = (_kept(usage_of(spark, count * 10**6), folder) for count in (millions, 2))
        works = (
            lambda: kn.usage.totals(usage, ["user", "client_id"]),
            lambda: plain_groups(usage),
            lambda: kn.usage.utilisation(less, limits()),
            lambda: plain_windows(less),
        )
        _, *turns = [[_cpu(work) for work in works] for _ in range(ROUNDS + 1)]
        added, plain, used, windows = ([turn[number] for turn in turns] for number in range(len(works)))
    figure = f"usage.totals, {millions} million rows of USAGE, to"
    return [
        _timed(f"{figure} the plain groupBy of the same rows", added, plain, 2.0, "CPU"),
        _timed("usage.utilisation, 2 million rows of USAGE, to plain groupBys", used, windows, 2.5, "CPU"),
    ]


def _kept(usage: Any, folder: str) -> Any:
    place = tempfile.mkdtemp(dir=folder)
    usage.write.mode("overwrite").parquet(place)
    return usage.sparkSession.read.parquet(place)


def limits() -> pa.Table:
    """QUOTAS: one key of each user, another of all of them."""
    users = (f"team-{team}-{number}" for team in range(TEAMS) for number in range(USERS // TEAMS))
    rows = [{"level": "USER", "user": user, "key": KEYS[0], "value": 1e6} for user in users]
    rows.append({"level": "DEFAULT_USER", "user": None, "key": KEYS[1], "value": 2e6})
    return schemas.table(schemas.QUOTAS, [{"entity": "", "client_id": None, **row} for row in rows])


def plain_windows(usage: Any) -> Any:
    """What somebody would write by hand, who knows that limits are of users: each window, and then all of them."""
    from pyspark.sql import functions as F

    by = ("broker", "user", "key")
    windows = usage.groupBy(*by, "window_start").agg(F.sum("value").alias("used"), F.max("throttle_ms").alias("ms"))
    figures = F.count("used"), F.max("used"), F.avg("used"), F.percentile_approx("used", 0.95), F.max("ms")
    return windows.groupBy(*by).agg(*figures)


def usage_of(spark: Any, rows: int) -> Any:
    """USAGE."""
    return spark.range(rows).selectExpr(
        "cast(id % 3 as int) broker",
        f"concat('team-', pmod(hash(id, 1), {TEAMS + TEAMS // 4}), '-', pmod(hash(id, 2), {USERS // TEAMS})) user",
        f"concat('app-', pmod(hash(id, 3), {CLIENT_IDS})) client_id",
        f"element_at(array({', '.join(map(repr, KEYS))}), pmod(hash(id, 4), 3) + 1) key",
        "timestamp_micros(1793491200000000 + (id div 100) * 1000000) window_start",
        "timestamp_micros(1793491200000000 + (id div 100 + 1) * 1000000) window_end",
        "cast(pmod(hash(id, 5), 1000000) as double) value",
        "if(id % 50 = 0, 12.0, 0.0) throttle_ms",
        "'request log' source",
    )


def plain_groups(usage: Any) -> Any:
    """What somebody would write by hand: sums of the values of each client and key by month."""
    from pyspark.sql import functions as F

    month = F.date_trunc("month", "window_start").alias("month")
    return usage.groupBy("user", "client_id", "key", month).agg(F.sum("value"), F.sum("throttle_ms"))


def _cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of Spark, its workers and this process for all rows of a frame."""
    before = _spent()
    work().write.format("noop").mode("overwrite").save()
    return _spent() - before


def _spent() -> float:
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (me, *me.children(recursive=True)))
