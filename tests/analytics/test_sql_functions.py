"""The functions of SQL: equal to what Python's verbs give, wherever workers have no kadmin_nb."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.meanings import word
from kadmin_nb.model.levels import LEVEL_NAMES
from kadmin_nb.model.quota_keys import QUOTA_KEYS, readable
from tests.analytics.fleets import in_clusters, pairs_of_a_fleet, quotas_of_a_fleet, rows

pytestmark = pytest.mark.spark

QUOTAS, PAIRS = quotas_of_a_fleet(1), pairs_of_a_fleet(2)
RECORDED = Path(__file__).parent / "recorded"
BROKER = r"broker-(\d+)/"


def view(spark, name: str, table: pa.Table) -> None:
    kn.Answer(table).to_spark(spark).createOrReplaceTempView(name)


@pytest.fixture(scope="module")
def sql(spark):
    """A session that has the functions; of quotas of a fleet, and of the recorded logs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        names = kn.sql.register(spark, quotas=QUOTAS, broker=BROKER, tz="UTC")
    assert names == ("kafka_level", "kafka_units", "kafka_request", "kafka_effective", "kadmin_nb")
    return spark.sql


@pytest.fixture(scope="module")
def lines(spark, sql) -> None:
    """The recorded lines as a view, `path` and `line`, and one that is none."""
    texts = [
        {"path": str(file.relative_to(RECORDED)), "line": line}
        for file in sorted(RECORDED.rglob("request.log*"))
        for line in file.read_text().splitlines()
    ]
    view(spark, "lines", pa.Table.from_pylist([*texts, {"path": "broker-1/x", "line": None}]))


@pytest.mark.parametrize("keys", [None, "producer_byte_rate"], ids=["all keys", "one key"])
def test_effective_quotas_in_sql_are_those_of_resolve(spark, sql, keys):
    """A BI user wrote eight left joins."""
    kn.sql.register(spark, quotas=kn.Answer(QUOTAS).to_spark(spark), keys=keys)
    view(spark, "clients", PAIRS)
    assert rows(sql("SELECT * FROM kafka_effective(TABLE(clients))").toArrow()) == rows(
        kn.resolve(QUOTAS, PAIRS, keys=keys)
    )


def test_clients_of_several_clusters_meet_their_own_quotas(spark, sql):
    """The quotas of one cluster bound the clients of all."""
    quotas = in_clusters([QUOTAS, quotas_of_a_fleet(3)])
    pairs = in_clusters([PAIRS, pairs_of_a_fleet(4)])
    kn.sql.register(spark, quotas=quotas)
    view(spark, "clients", pairs)
    assert rows(sql("SELECT * FROM kafka_effective(TABLE(clients))").toArrow()) == rows(kn.resolve(quotas, pairs))


@pytest.mark.parametrize(
    ("clients", "problem"),
    [
        ("SELECT 'alice' AS user, 'app' AS client", "the pairs have no column client_id"),
        ("SELECT cast(null AS string) AS user, 'app' AS client_id", "user is null in row 0 of the pairs"),
        ("SELECT 1 AS user, 'app' AS client_id", "row 1 of the pairs: user is of type int"),
    ],
    ids=["no client-id", "no user", "numbers"],
)
def test_wrong_clients_are_one_line(spark, sql, clients, problem):
    """Traceback (most recent call last), and forty lines more."""
    kn.sql.register(spark, quotas=QUOTAS)
    with pytest.raises(Exception, match=problem) as raised:
        sql(f"SELECT * FROM kafka_effective(TABLE({clients}))").collect()
    assert "Traceback" not in str(raised.value).replace("JVM stacktrace", "")
    assert len(str(raised.value).split("JVM stacktrace")[0].strip().splitlines()) <= 3


def test_too_many_quotas_do_not_travel(spark, monkeypatch):
    """The message of 300 MB was refused by gRPC."""
    monkeypatch.setattr("kadmin_nb.fleets.fleet_resolving.MOST_QUOTAS", 10)
    with pytest.raises(kn.Invalid, match="more than 10 quotas are too many"):
        kn.sql.register(spark, quotas=kn.Answer(QUOTAS).to_spark(spark))


def test_levels_and_values_as_people_read_them(spark, sql):
    """1048576.0 bytes/s, and DEFAULT_CLIENT_OF_USER."""
    texts = sql(f"SELECT level, kafka_level(level) AS text FROM explode(array{LEVEL_NAMES}) AS t(level)").collect()
    assert [row.text for row in texts] == [word(row.level) for row in texts]
    cases = [(key.name, value) for key in QUOTA_KEYS for value in (1.0, 12.5, 1048576.0, 2.5e9, float("inf"))]
    view(spark, "cases", pa.table({"key": [key for key, _ in cases], "value": [value for _, value in cases]}))
    found = sql("SELECT key, value, kafka_units(key, value) AS text FROM cases").collect()
    assert len(found) == len(cases)
    assert [row.text for row in found] == [readable(row.key, row.value) for row in found]
    [row] = sql("SELECT kafka_units('producer_byte_rate', 1048576), kafka_units('request_percentage', null)").collect()
    assert tuple(row) == ("1 MiB/s", None)


def test_a_line_is_the_request_that_python_reads(spark, sql, lines):
    """The stream had a parser of its own, which knew other faults."""
    found = sql("SELECT request.* FROM (SELECT kafka_request(path, line) AS request FROM lines)")
    usable = found.where("fault is null and reason is null").select(*schemas.REQUESTS.names)
    by_verb = kn.usage.requests(spark.table("lines"), broker=BROKER, tz="UTC", dedupe=False)
    assert rows(usable.toArrow()) == rows(by_verb.frame.toArrow())
    faults = found.where("fault is not null").groupBy("fault").count().collect()
    assert {row.fault: row["count"] for row in faults} == dict(by_verb.counts.quarantined)


def test_the_parser_is_a_function_of_columns(spark, lines):
    """mapInArrow is refused in the query function of a declarative pipeline."""
    request = kn.sql.kafka_request(broker=1, tz="UTC", cluster_id="here")
    kinds = spark.table("lines").select(request("path", F.col("line")).alias("request")).select("request.*")
    assert kinds.columns == ["fault", "reason", "unsized", "ambiguous", "cluster_id", *schemas.REQUESTS.names]
    assert {row.cluster_id for row in kinds.collect()} == {"here"}


def test_the_broker_is_required():
    """Every line was of broker null."""
    with pytest.raises(kn.UsageError, match="the broker that wrote the log is not named"):
        kn.sql.kafka_request(broker=None)


@pytest.mark.parametrize("name", ["arrow_udf", "arrow_udtf"])
def test_an_older_spark_says_what_is_missing(spark, monkeypatch, name):
    """AttributeError: module 'pyspark.sql.functions' has no attribute 'arrow_udf'."""
    monkeypatch.delattr(F, name)
    problem = "has no Arrow functions: kafka_effective, kafka_units and kafka_request need 4.1"
    assert kn.sql.register(spark) == ("kafka_level", "kadmin_nb")
    assert spark.sql("SELECT kafka_level('DEFAULT_USER')").collect()[0][0] == "default user"
    for argument in ({"quotas": QUOTAS}, {"broker": 1}):
        with pytest.raises(kn.errors.Unsupported, match=problem):
            kn.sql.register(spark, **argument)
    with pytest.raises(kn.errors.Unsupported, match=problem):
        kn.sql.kafka_request(broker=1)
