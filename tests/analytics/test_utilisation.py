"""What was used of each limit, broker by broker and bucket by bucket; by hand, beside plain Python, misshapen."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import SparkRuntimeException

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import OF_BUCKETS
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.resolution.rules import resolve_client, stored_of
from tests.analytics.fleets import CLIENTS, USERS, in_clusters, quotas_of_a_fleet

pytestmark = pytest.mark.spark

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
REFUSED = (SparkRuntimeException, kn.Invalid)
"""How what is wrong with rows is told: by Spark when it reads them, and in this process."""
PRODUCE, FETCH, REQUEST, MUTATION = USER_CLIENT_KEYS
IN_CLUSTERS = pa.schema([pa.field("cluster_id", pa.string()), *schemas.USAGE.schema])


def used(at: float, value: float, user: str = "alice", client_id: str = "app", **rest: object) -> dict[str, object]:
    """A row of USAGE: a window of a second, `at` seconds past noon."""
    seconds = float(rest.pop("seconds", 1))
    start = NOON + timedelta(seconds=at)
    own = {"window_start": start, "window_end": start + timedelta(seconds=seconds), "value": value}
    return {"broker": 1, "user": user, "client_id": client_id, "key": PRODUCE, "source": "test", **own, **rest}


def usage_of(spark, *rows: dict[str, object], schema: pa.Schema = schemas.USAGE.schema):
    return to_spark(schemas.table(schema, rows), spark)


def quota(level: str, value: float, user: str | None = None, client_id: str | None = None, key: str = PRODUCE):
    return {"entity": "", "level": level, "user": user, "client_id": client_id, "key": key, "value": value}


def quotas_of(*rows: dict[str, object]) -> pa.Table:
    return schemas.table(schemas.QUOTAS, rows)


@pytest.fixture(params=["spark", "arrow"])
def utilisation(request, spark):
    """UTILISATION of a usage in Spark, worked out there, and in this process."""

    def worked_out(usage, quotas, **how):
        if request.param == "spark":
            return kn.usage.utilisation(usage, quotas, **how)
        return to_spark(kn.usage.utilisation(usage.toArrow(), quotas, **how), spark)

    return worked_out


def rows_of(frame, *by: str) -> list[dict[str, object]]:
    """The rows without what is null, in the order of these columns."""
    rows = [{name: value for name, value in row.items() if value is not None} for row in frame.toArrow().to_pylist()]
    return sorted(rows, key=lambda row: tuple(str(row.get(name, "")) for name in by))


ALICE = quota("USER", 100.0, "alice")


def test_clients_of_a_bucket_are_added_up_window_by_window(spark, utilisation):
    """Each of the two was at 60 % of the limit, both were throttled, and the report said that all was well."""
    usage = usage_of(
        spark,
        used(0, 60, client_id="app"),
        used(0, 50, client_id="job"),  # 110
        used(1, 101, client_id="app", throttle_ms=7.0),
        used(2, 50, client_id="app", throttle_ms=900.0),
        used(2, 50, client_id="job", throttle_ms=0.0),  # 100 is not above 100
        used(3, 90, client_id="job"),
        used(9, 200, client_id="app"),
        used(18, 1, "bob", "free"),
        used(3, 40, client_id="app", broker=2),
        used(4, 80, client_id="app", broker=2),
        used(0, math.nan),
        used(0, math.inf),
        used(0, -1),
        used(19, 1, key="connection_creation_rate"),  # of the broker's 20 windows
    )
    bucket = {"broker": 1, "key": PRODUCE, "bucket_user": "alice", "bucket_client_id": "", "level": "USER"}
    limit = {"limit": 100.0, "brokers": 2}
    whole = {"since": NOON, "until": NOON + timedelta(seconds=20), "watched_s": 20.0}
    part = {"since": NOON + timedelta(seconds=3), "until": NOON + timedelta(seconds=5), "watched_s": 2.0}
    first = {
        **bucket, **limit, "clients": 2, "windows": 20, "windows_seen": 5, "windows_unknown": 0, "peak": 200.0,
        "p95": 110.0, "mean": (110 + 101 + 100 + 90 + 200) / 20, "utilisation": 200.0,
        "share_above_80": 5 / 20, "share_above_100": 3 / 20, "longest_above_100_s": 2.0, "throttle_ms": 900.0,
        "share_throttled": 2 / 20, **whole,
    }  # fmt: skip
    free = {
        "broker": 1, "key": PRODUCE, "user": "bob", "client_id": "free", "brokers": 2, "clients": 1, "windows": 20,
        "windows_seen": 1, "windows_unknown": 0, "peak": 1.0, "p95": 0.0, "mean": 1 / 20, **whole,
    }  # fmt: skip
    second = {
        **bucket, **limit, "broker": 2, "clients": 1, "windows": 2, "windows_seen": 2, "windows_unknown": 0,
        "peak": 80.0, "p95": 80.0, "mean": 60.0, "utilisation": 80.0,
        "share_above_80": 0.0, "share_above_100": 0.0, "longest_above_100_s": 0.0, **part,
    }  # fmt: skip
    found = utilisation(usage, quotas_of(ALICE))
    assert rows_of(found, "broker", "user") == [first, free, second]
    assert found.dtypes == to_spark(schemas.table(schemas.UTILISATION, []), spark).dtypes


def test_time_that_nobody_watched_is_not_idle_time(spark, utilisation):
    """I observed for 20 s, and five minutes later once more: 178 kB/s were used, and it showed 20.8."""
    seconds = [*range(20), *range(320, 340)]
    usage = usage_of(
        spark,
        *(used(at, 178) for at in seconds),
        *(used(at, 50, broker=2) for at in (0, 60)),  # one quiet minute between two windows is idle
        *(used(at, 50, broker=3) for at in (0, 62)),
    )
    names = ("broker", "windows", "windows_seen", "mean", "p95", "share_above_100", "longest_above_100_s")

    def figures(**how: float) -> list[tuple[float, ...]]:
        found = utilisation(usage, quotas_of(ALICE), **how).select(*names).orderBy("broker")
        return [tuple(row) for row in found.collect()]

    assert figures() == [
        (1, 40, 40, 178.0, 178.0, 1.0, 20.0),
        (2, 61, 2, 100 / 61, 0.0, 0.0, 0.0),
        (3, 2, 2, 50.0, 50.0, 0.0, 0.0),
    ]
    assert [row[1] for row in figures(unwatched_after=math.inf)] == [340, 61, 63]


def test_a_bucket_that_the_broker_measured_stands_for_itself(spark, utilisation):
    """The whole user's rate was added to those of its clients, and the bucket was twice as full."""
    quotas = quotas_of(
        ALICE,
        quota("DEFAULT_CLIENT_OF_DEFAULT_USER", 10.0, key=FETCH),
        quota("CLIENT", 20.0, client_id="app"),
        quota("USER", 5.0, "carol", key=FETCH),
        quota("USER", 200.0, "alice", key=REQUEST),
        quota("DEFAULT_USER", 4.0, key=MUTATION),
    )
    measured = {"seconds": 11, "source": OF_BUCKETS}
    usage = usage_of(
        spark,
        used(0, 70),
        used(0, 150, "alice", "", **measured),
        used(15, 50, "alice", "", **measured),
        used(20, 120, "alice", "", **measured),  # 20 to 31 overlaps 15 to 26
        used(22, 130, "alice", "", **measured),
        used(0, 15, "", "app", **measured, throttle_ms=3.0),
        used(0, 9, "carol", "app", **measured, key=FETCH),  # carol's clients have one bucket, not this one
        used(0, 9, "bob", "app", **measured, key=FETCH),
        used(0, 150, "alice", "", **measured, key=REQUEST),
        used(0, 5, "alice", "app", key=MUTATION),
        used(1, 3, "alice", "app", key=MUTATION),
    )
    found = utilisation(usage, quotas).select(
        "key", "bucket_user", "bucket_client_id", "user", "limit", "clients", "windows", "windows_seen", "peak",
        "utilisation", "longest_above_100_s",
    )  # fmt: skip
    rows = [tuple(row.values()) for row in found.toArrow().to_pylist()]
    assert sorted(rows, key=repr) == sorted(
        [
            (PRODUCE, "alice", "", None, 100.0, 1, 2, 1, 70.0, 70.0, 0.0),
            (PRODUCE, "alice", "", None, 100.0, None, 4, 4, 150.0, 150.0, 13.0),
            (PRODUCE, "", "app", None, 20.0, None, 4, 1, 15.0, 75.0, 0.0),
            (FETCH, None, None, "carol", None, None, 4, 1, 9.0, None, None),
            (FETCH, "bob", "app", None, 10.0, None, 4, 1, 9.0, 90.0, 0.0),
            (REQUEST, "alice", "", None, 200.0, None, 4, 1, 150.0, 75.0, 0.0),
            (MUTATION, "alice", "", None, 4.0, 1, 2, 2, 5.0, 125.0, 1.0),
        ],
        key=repr,
    )


def usage_of_a_fleet(seed: int, quotas: pa.Table, count: int = 3_000) -> pa.Table:
    """Windows of 5 s over some minutes, of clients with a quota of their own and of others."""
    rng = random.Random(seed)
    clients = [(rng.choice([*USERS[:9], "nobody"]), rng.choice([*CLIENTS[:9], "nothing", ""])) for _ in range(30)]
    own = quotas.filter(pc.equal(quotas["level"].cast(pa.string()), LEVELS[0].name)).to_pylist()
    clients += [(row["user"], row["client_id"]) for row in own[:5]]
    rows = (
        used(
            rng.randrange(40) * 5, rng.choice([None, 0.0, math.nan, *[10 ** rng.uniform(4, 9)] * 4]),
            *rng.choice(clients), broker=rng.choice([1, 1, 2]), key=rng.choice(USER_CLIENT_KEYS), seconds=5,
            throttle_ms=rng.choice([None, 0.0, math.nan, 50.0 * rng.random()]),
        )
        for _ in range(count)
    )  # fmt: skip
    return schemas.table(schemas.USAGE, rows)


def without_user_defaults(seed: int) -> pa.Table:
    """So that what comes after them has its turn."""
    quotas = quotas_of_a_fleet(seed)
    of_default = pc.match_substring(quotas["level"].cast(pa.string()), "DEFAULT_USER")
    return quotas.filter(pc.invert(of_default))


def by_hand(cluster: str, usage: list[dict[str, object]], quotas: list[dict[str, object]]) -> dict[object, object]:
    """The same figures, one bucket after the other: 5 s windows in a dict."""
    held, of, buckets = stored_of(quotas), defaultdict(set), defaultdict(lambda: defaultdict(list))
    usage = [row for row in usage if row["value"] is None or row["value"] >= 0]  # not of NaN
    for row in usage:
        bound = resolve_client(held, row["user"], row["client_id"], row["key"])
        names = bound.bucket if bound.level else (None, None, row["user"], row["client_id"])
        at = (cluster, row["broker"], row["key"], bound.value, bound.level, *names)
        buckets[at][row["window_start"]].append(row)
        of[at].add((row["user"], row["client_id"]))
    starts = defaultdict(list)
    for row in usage:
        starts[row["broker"]].append(row["window_start"])
    return {at: figures(at[3], starts[at[1]], buckets[at], len(of[at])) for at in buckets}


def figures(limit, starts, windows, clients) -> list[object]:
    count = int((max(starts) - min(starts)).total_seconds()) // 5 + 1
    sums = {start: sum(row["value"] or 0 for row in rows) for start, rows in windows.items()}
    unknown = sum(any(row["value"] is None for row in rows) for rows in windows.values())
    is_known = any(row["value"] is not None for rows in windows.values() for row in rows)
    each = sorted([0.0] * (count - len(sums)) + list(sums.values()))
    told = [row["throttle_ms"] for rows in windows.values() for row in rows if (row["throttle_ms"] or 0) >= 0]
    told = [ms for ms in told if ms is not None]
    throttled = sum(any((row["throttle_ms"] or 0) > 0 for row in rows) for rows in windows.values())
    run = longest = 0
    for n in range(count):
        run = run + 1 if limit and sums.get(min(starts) + timedelta(seconds=5 * n), 0) > limit else 0
        longest = max(longest, run)
    above = [sum(use > part * limit for use in each) / count if limit else None for part in (0.8, 1)]
    of_use = [
        each[-1], each[math.ceil(0.95 * count) - 1], sum(each) / count, 100 * each[-1] / limit if limit else None,
        *above, 5.0 * longest if limit else None,
    ]  # fmt: skip
    known = of_use if is_known else [None] * len(of_use)
    return [
        clients, count, len(sums), unknown, *known, max(told, default=None), throttled / count if told else None,
    ]  # fmt: skip


FIGURES = (
    "clients", "windows", "windows_seen", "windows_unknown", "peak", "p95", "mean", "utilisation",
    "share_above_80", "share_above_100", "longest_above_100_s", "throttle_ms", "share_throttled",
)  # fmt: skip
KEYS = ("cluster_id", "broker", "key", "limit", "level", "bucket_user", "bucket_client_id", "user", "client_id")


def test_figure_for_figure_like_plain_python(spark, utilisation):
    """The sums were right for the buckets that somebody had looked at."""
    quotas = [quotas_of_a_fleet(3), without_user_defaults(4)]
    usage = [usage_of_a_fleet(n, held) for n, held in enumerate(quotas)]
    found = utilisation(to_spark(in_clusters(usage), spark), in_clusters(quotas)).toArrow().to_pylist()
    plain = {
        at: row
        for n in (0, 1)
        for at, row in by_hand(f"cluster-{n}", usage[n].to_pylist(), quotas[n].to_pylist()).items()
    }
    ours = {}
    for row in found:
        at = tuple(row[name] for name in KEYS)
        ours[at[:7] if row["level"] else at] = [row[name] for name in FIGURES]
    assert len(ours) == len(found)
    assert {key[4] for key in plain} == {None, *(level.name for level in LEVELS)}
    assert ours.keys() == plain.keys()
    for at, row in plain.items():
        assert ours[at] == pytest.approx(row), at
    assert {row["brokers"] for row in found} == {2}


def test_the_usage_is_read_and_shuffled_once(spark, capsys):
    """A terabyte of request log was parsed twice: for the windows, and for how many there are."""
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        kn.usage.utilisation(usage_of(spark, used(0, 1)), quotas_of(ALICE)).explain()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    plan = capsys.readouterr().out
    readers = [line for line in plan.splitlines() if "MapInArrow" in line and "levels 0" in line]
    assert (len(readers), plan.count("ReusedExchange")) == (1, 2)  # beside the windows, and beside the sums
    of_buckets = [line for line in plan.splitlines() if "Exchange hashpartitioning" in line and "bucket_user" in line]
    assert len([line for line in of_buckets if "Reused" not in line]) == 1


def test_nothing_used_is_no_row(spark, utilisation):
    """An empty log was an error."""
    assert utilisation(usage_of(spark), quotas_of(ALICE)).toArrow().num_rows == 0


def test_windows_of_several_lengths_are_refused(spark, utilisation):
    """A minute's rate was added to a second's."""
    usage = usage_of(spark, used(0, 1), used(0, 1, "bob", seconds=60))
    with pytest.raises(REFUSED, match=r"broker 1 has windows of 1\.0 s and of 60\.0 s"):
        utilisation(usage, quotas_of(ALICE)).collect()


def test_a_clock_that_ran_back(spark, utilisation):
    """It said *windows of -1.0 s and of 1.0 s*, and nothing of what was wrong."""
    usage = usage_of(spark, used(0, 1), used(1, 1, seconds=-1))
    with pytest.raises(
        REFUSED, match="broker 1 has a window whose end is not after its start, as after a clock that ran"
    ):
        utilisation(usage, quotas_of(ALICE)).collect()


def test_a_row_of_nobody_is_shown(spark, utilisation):
    """Somewhere in the usage there was a null."""
    usage = usage_of(spark, used(0, 1)).selectExpr("*", "null AS nobody").drop("user")
    usage = usage.withColumnRenamed("nobody", "user")
    with pytest.raises(REFUSED, match=r'user is null in a row of the usage\'s rows: .*"client_id":"app"'):
        utilisation(usage, quotas_of(ALICE)).collect()


def test_what_is_no_usage_is_one_line(spark):
    """[UNRESOLVED_COLUMN.WITH_SUGGESTION], and a plan."""
    quotas, usage = quotas_of(ALICE), usage_of(spark, used(0, 1))
    of_cluster = usage_of(spark, {**used(0, 1), "cluster_id": "c"}, schema=IN_CLUSTERS)
    bad = [
        (to_spark(pa.table({"broker": [1]}), spark), quotas, "the usage's rows have no column user, client_id, key"),
        ([], quotas, "the usage's rows are a list, not a frame"),
        (usage.selectExpr("*", "'x' AS v").drop("value").withColumnRenamed("v", "value"), quotas, "value of .* string"),
        (usage.withColumn("window_end", usage.window_end.cast("string")), quotas, "is string, not a timestamp"),
        (usage, pa.table({"level": ["USER"]}), "the quotas have no column user, client_id, key, value"),
        (of_cluster, quotas, "the usage's rows have a cluster_id and the quotas have none"),
        (usage, in_clusters([quotas]), "the quotas have a cluster_id and the usage's rows have none"),
    ]
    for frame, stored_quotas, said in bad:
        with pytest.raises(kn.UsageError, match=said) as raised:
            kn.usage.utilisation(frame, stored_quotas)
        assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(kn.UsageError, match="the usage's rows have no column source"):
        kn.usage.known_clients(usage.drop("source"))


@pytest.mark.parametrize("seed", range(4))
def test_both_engines_say_the_same_of_any_usage(spark, seed):
    """The report of one evening came from Spark, the next from this process, and a client was in one of them only."""
    quotas = without_user_defaults(seed) if seed % 2 else quotas_of_a_fleet(seed)
    usage = usage_of_a_fleet(seed, quotas, count=10**seed)
    there = kn.usage.utilisation(to_spark(usage, spark), quotas).toArrow()
    here = kn.usage.utilisation(usage, quotas)
    assert here.schema.equals(schemas.UTILISATION.schema)
    ours, theirs = (sorted(map(_rounded, table.to_pylist()), key=repr) for table in (here, there))
    assert ours == theirs
    pairs = [kn.usage.known_clients(to_spark(usage, spark)).toArrow(), kn.usage.known_clients(usage)]
    assert sorted(map(str, pairs[0].to_pylist())) == sorted(map(str, pairs[1].to_pylist()))


def _rounded(row: dict[str, object]) -> dict[str, object]:
    """Sums of the same numbers in another order differ in their last digit."""
    return {name: float(f"{value:.10g}") if isinstance(value, float) else value for name, value in row.items()}


def test_known_clients_are_clients(spark):
    """The bucket of a whole user was a client without a client-id, and resolved as one."""
    usage = usage_of(
        spark,
        *(used(at, 1, client_id=name, cluster_id="c") for at in (0, 1) for name in ("app", "")),
        *(used(0, 1, *names, source=OF_BUCKETS, cluster_id="c") for names in (("bob", ""), ("", "x"), ("bob", "x"))),
        schema=IN_CLUSTERS,
    )  # fmt: skip
    pairs = kn.usage.known_clients(usage)
    assert pairs.columns == ["cluster_id", "user", "client_id"]
    assert sorted(map(tuple, pairs.collect())) == [("c", "alice", ""), ("c", "alice", "app"), ("c", "bob", "x")]
    quotas = in_clusters([quotas_of(ALICE)])
    assert kn.fleets.resolve(quotas, pairs, keys=PRODUCE).columns[0] == "cluster_id"


RECORDED = Path(__file__).parent / "recorded"


def test_what_two_real_brokers_wrote(spark, utilisation):
    """A limit of 500 kB/s was compared with what both brokers had let through together."""
    requests = kn.usage.requests(str(RECORDED), spark=spark, broker=r"/broker-(\d+)/", tz="UTC")
    quotas = quotas_of(quota("CLIENT", 100_000.0, client_id="slow"), quota("CLIENT", 1e9, client_id="fast"))
    found = utilisation(kn.usage.usage(requests), quotas, keys=PRODUCE)
    rows = {(row.broker, row.bucket_client_id): row for row in found.where("limit is not null").collect()}
    assert {at: (row.limit * row.brokers, row.throttle_ms) for at, row in rows.items()} == {
        (1, "fast"): (2e9, 0.0),
        (2, "slow"): (2e5, 9984.0),
    }
    assert rows[2, "slow"].mean * rows[2, "slow"].windows == pytest.approx(998967 + 410037 + 598977)
