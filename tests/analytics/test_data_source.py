"""Clusters as tables of Spark's: the rows that the verbs give, and one line where something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.ports import EXACT
from kadmin_nb.frames.given_frames import plain
from kadmin_nb.local.local_kafka import _free_ports
from kadmin_nb.sql import data_source
from tests.analytics.conftest import CONNECT
from tests.analytics.fleets import rows

pytestmark = pytest.mark.spark
needs_wheel = pytest.mark.skipif(CONNECT, reason="the workers of this session have no kadmin_nb")


@pytest.fixture
def read(spark):
    """The data source, with options."""
    kn.sql.register(spark)
    return lambda **options: spark.read.format("kadmin_nb").options(**options).load()


@pytest.fixture(scope="module")
def stored(request) -> tuple[str, kn.Cluster]:
    """A cluster with a few quotas, and its address."""
    kafka, cluster = request.getfixturevalue("kafka"), request.getfixturevalue("cluster")
    stage = cluster.new_stage()
    for user in ("sql-alice", "sql-bob"):
        stage.set_quota("producer_byte_rate", "1MB", user=user)
        stage.set_quota("producer_byte_rate", "2MB", user=user, client_id="app")
    stage.set_quota("connection_creation_rate", 20, ip="10.9.8.7")
    cluster.apply(stage.plan()).raise_for_errors()
    return kafka.bootstrap, cluster


def _verbs(cluster: kn.Cluster) -> dict[str, kn.Answer]:
    every = {"topic": kn.ANY, "broker": [kn.DEFAULT, kn.ANY], "client_metrics": kn.ANY, "group": kn.ANY}
    return {
        "quotas": cluster.quotas.describe(),
        "configs": cluster.configs.describe(**every),
        "brokers": cluster.brokers,
    }


@needs_wheel
@pytest.mark.broker
@pytest.mark.parametrize("frame", data_source.FRAMES)
def test_a_frame_is_what_its_verb_gives(read, stored, frame):
    """SQL showed other quotas than the notebook above it."""
    address, cluster = stored
    found = read(frame=frame, cluster=address).toArrow()
    assert set(found["cluster"].to_pylist()) <= {address}
    assert set(found["cluster_id"].to_pylist()) <= {cluster.id}
    assert rows(found.drop_columns(["cluster", "cluster_id"])) == rows(plain(_verbs(cluster)[frame].to_arrow()))


@needs_wheel
@pytest.mark.broker
def test_effective_quotas_of_what_a_cluster_has_now(spark, read, stored):
    """Quotas had to be saved before SQL could see them."""
    address, _ = stored
    kn.sql.register(spark, quotas=read(frame="quotas", cluster=address).drop("cluster_id"))
    clients = "SELECT 'sql-bob' AS user, 'app' AS client_id"
    found = spark.sql(f"SELECT key, kafka_units(key, value) FROM kafka_effective(TABLE({clients})) WHERE level > ''")
    assert [tuple(row) for row in found.collect()] == [("producer_byte_rate", "2 MB/s")]


@needs_wheel
@pytest.mark.broker
def test_options_reach_the_broker(spark, read, stored, monkeypatch):
    """All 300,000 quotas crossed the network for those of one user."""
    address, cluster = stored
    of_bob = {"frame": "quotas", "cluster": address, "user": "sql-bob"}
    assert read(**of_bob).count() == 2
    assert read(**of_bob, client_id="app").count() == 1
    a_broker = {"frame": "configs", "cluster": address, "resource_type": "BROKER", "resource_name": "1"}
    assert {row.resource_name for row in read(**a_broker).select("resource_name").collect()} == {"1"}
    asked = []
    monkeypatch.setattr(type(cluster.port.quotas), "describe", _noting(asked, type(cluster.port.quotas).describe))
    monkeypatch.setattr(type(cluster.port.configs), "describe", _noting(asked, type(cluster.port.configs).describe))
    data_source.rows("quotas", address, {"user": ["sql-bob"]})
    data_source.rows("configs", address, {"resource_type": ["BROKER"], "resource_name": ["1"]})
    (component,), (broker,) = asked
    assert (component.match, component.name) == (EXACT, "sql-bob")
    assert (broker.type, broker.name) == ("BROKER", "1")


def _noting(asked: list, describe):
    def noted(self, of, *rest, **more):
        asked.append(list(of))
        return describe(self, of, *rest, **more)

    return noted


@needs_wheel
@pytest.mark.broker
def test_several_clusters_are_a_partition_each(spark, read, stored):
    """One broker that was down, and nobody knew which."""
    address, _ = stored
    both = read(frame="brokers", cluster=f"{address}; 127.0.0.1:1")
    with pytest.raises(Exception, match=r"ConnectionFailed: 127\.0\.0\.1:1: .*Connection refused"):
        both.collect()
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW b USING kadmin_nb OPTIONS (frame 'brokers', cluster '{address}')")
    assert spark.sql("SELECT count(*) FROM b").collect()[0][0] == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "the option frame is missing. One of quotas, configs, brokers."),
        ({"frame": "quota"}, "kadmin_nb has no frame 'quota'. Did you mean quotas?"),
        ({"frame": "quotas"}, "the option cluster is missing. A profile,"),
        ({"frame": "quotas", "cluster": " ;"}, "the option cluster is missing"),
        ({"frame": "quotas", "claster": "prod"}, "kadmin_nb has no option claster. Did you mean cluster?"),
        ({"frame": "brokers", "cluster": "prod", "user": "alice"}, "brokers has no column user"),
    ],
    ids=["nothing", "frame", "cluster", "no cluster", "unknown", "column"],
)
def test_wrong_options_are_one_line(read, options, problem):
    """[PYTHON_DATA_SOURCE_ERROR], a traceback of PySpark's, and at its end ours."""
    with pytest.raises(Exception, match=r"kadmin_nb\.errors\.UsageError: ") as raised:
        read(**options).collect()
    assert problem in str(raised.value)
    assert "Traceback" not in str(raised.value)


CANARY = "pa55word-of-the-readers"
LOGIN = f"""
bootstrap.servers=127.0.0.1:1
security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="{CANARY}";
"""


@needs_wheel
@pytest.mark.parametrize(
    ("text", "problem"),
    [(LOGIN, r"ConnectionFailed: 127\.0\.0\.1:1: "), (None, "NotFound: ")],
    ids=["closed", "no file"],
)
def test_what_a_reader_cannot_reach_is_one_line(read, tmp_path, capsys, text, problem):
    """The password stood in the plan, and in the error below it."""
    file = tmp_path / "client.properties"
    if text:
        file.write_text(text)
    quotas = read(frame="quotas", cluster=str(file))
    quotas.explain("extended")
    with pytest.raises(Exception, match=problem) as raised:
        quotas.collect()
    assert "Traceback" not in str(raised.value)
    assert CANARY not in capsys.readouterr().out + str(raised.value)


def test_references_are_resolved_where_the_reader_runs(tmp_path, monkeypatch):
    """Whoever wrote the query had to know the password, and the plan had it."""
    profiles = tmp_path / "kadmin-nb.toml"
    profiles.write_text(
        '[profiles.prod]\nbootstrap = "127.0.0.1:1"\nsecurity.protocol = "SASL_PLAINTEXT"\n'
        'sasl.mechanism = "SCRAM-SHA-512"\nusername = "a"\npassword = "env:NOBODY_HAS_SET_IT"\n'
    )
    monkeypatch.setenv("KADMIN_CONFIG", str(profiles))
    with pytest.raises(kn.NotFound, match="env:NOBODY_HAS_SET_IT: the environment variable is not set"):
        data_source.rows("quotas", "prod", {})


def test_workers_without_the_wheel_say_so(spark, read):
    """ModuleNotFoundError, thirty lines down."""
    if not CONNECT:
        pytest.skip("the workers of this session have kadmin_nb")
    with pytest.raises(Exception, match=r"kadmin_nb is not on Spark's workers: .*Install it where Spark's workers run"):
        read(frame="quotas", cluster="127.0.0.1:1").collect()


QUICK = "SPARK_SUBMIT_OPTS"
OVER_CONNECT = """
import os, sys
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder
import kadmin_nb as kn
from kadmin_nb.java import spark_java_home

os.environ.update(JAVA_HOME=str(spark_java_home()), PYSPARK_PYTHON=sys.executable)
DefaultChannelBuilder.default_port = staticmethod(lambda: int(sys.argv[1]))
spark = SparkSession.builder.remote("local[1]").config("spark.connect.grpc.binding.port", sys.argv[1]).getOrCreate()
kn.sql.register(spark)
quotas = spark.read.format("kadmin_nb").options(frame="quotas", cluster=sys.argv[2]).load()
print(sorted(row.entity for row in quotas.where("user = 'sql-bob'").collect()))
spark.stop()
"""


@pytest.mark.long
@needs_wheel
@pytest.mark.broker
@pytest.mark.slow
def test_a_connect_session_reads_clusters_too(stored, tmp_path):
    """It worked in the notebook, and nowhere on Databricks."""
    address, _ = stored
    classic = {name: value for name, value in os.environ.items() if name == QUICK or not name.startswith("SPARK_")}
    words = [sys.executable, "-c", OVER_CONNECT, str(*_free_ports(1)), address]
    done = subprocess.run(words, capture_output=True, text=True, env=classic, cwd=tmp_path, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["['user=sql-bob', 'user=sql-bob client-id=app']"], done.stderr
