"""A Spark cluster of one's own: a standalone one, on loopback, whose workers have no kadmin_nb."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kadmin_nb.local.local_kafka import _free_ports
from tests.analytics import on_a_cluster
from tests.spark_archive import JARS
from tests.spark_cluster import Cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = str(Path(on_a_cluster.__file__))
SUBMIT = str(Path(JARS).parent / "bin" / "spark-submit")
PAIRS = len(on_a_cluster.PAIRS) * 4
"""Rows of EFFECTIVE: each pair with each key."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    started = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield started
    started.stop()


def run(folder: Path, env: Mapping[str, str], *parts: str, by: tuple[str, ...] = (sys.executable,)) -> Any:
    """What the program says."""
    done = subprocess.run([*by, PROGRAM, str(folder), *parts], env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-6000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
def test_a_program_runs_on_the_cluster_that_is_named(tmp_path: Path) -> None:
    """spark.master was in spark-defaults.conf, and 40 machines were idle while the driver worked alone."""
    cluster = Cluster(tmp_path / "cluster", workers=1)
    try:
        said = run(tmp_path, cluster.environment(), "resolve")
    finally:
        cluster.stop()
    assert said == {"master": cluster.master, "workers": "none", "resolve": [PAIRS, True]}


@pytest.mark.long
def test_everything_is_as_in_one_process(cluster: Cluster, tmp_path: Path) -> None:
    """On the cluster the sums were others, and the table had each window twice."""
    parts = ("usage", "utilisation", "sql", "stored", "stream")
    said = run(tmp_path, cluster.environment(), *parts)
    assert said.pop("master") == cluster.master
    assert said.pop("workers") == "none"
    assert {name: same for name, (_, same) in said.items()} == dict.fromkeys(parts, True)
    assert all(count for count, _ in said.values())


@pytest.mark.long
@pytest.mark.parametrize("way", ["spark-submit", "PYSPARK_SUBMIT_ARGS", "MASTER"])
def test_every_way_to_name_it_counts(cluster: Cluster, tmp_path: Path, way: str) -> None:
    """spark-submit --master spark://… ran on its driver, and nothing said so."""
    env = cluster.environment()
    by: tuple[str, ...] = (sys.executable,)
    defaults = Path(env["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    defaults.write_text(defaults.read_text().replace("spark.master ", "spark.not.master "))
    if way == "spark-submit":
        by = (SUBMIT, "--master", cluster.master)
        env = {**env, "PYSPARK_DRIVER_PYTHON": sys.executable}
    elif way == "MASTER":
        env = {**env, "MASTER": cluster.master}
    else:
        env = {**env, "PYSPARK_SUBMIT_ARGS": f"--master {cluster.master} pyspark-shell"}
    said = run(tmp_path, env, "resolve", by=by)
    assert said == {"master": cluster.master, "workers": "none", "resolve": [PAIRS, True]}


@pytest.fixture
def connect_server(cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server that works on the cluster."""
    (port,) = _free_ports(1)
    settings = {"spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1"}
    command = [SUBMIT, "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    env = {**cluster.environment(), "PYSPARK_PYTHON": str(cluster.python)}  # of a server the setting does not count
    with (tmp_path / "connect.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "spark-internal"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        _wait_for(port, server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 300
    while server.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the Connect server does not answer")


@pytest.mark.long
def test_a_connect_server_on_it(connect_server: str, cluster: Cluster, tmp_path: Path) -> None:
    """The server was one of two threads of its own."""
    said = run(tmp_path, {**cluster.environment(), "SPARK_REMOTE": connect_server}, "resolve", "usage", "sql")
    assert (said.pop("master"), said.pop("workers")) == (cluster.master, "none")
    assert [same for _, same in said.values()] == [True, True, True]


@pytest.mark.long
def test_a_worker_that_is_killed_costs_no_request(tmp_path: Path) -> None:
    """A machine was taken away in the middle of the night, and its part of the log was missing, or there twice."""
    cluster = Cluster(tmp_path / "cluster", workers=2)
    try:
        (tmp_path / "worker").write_text(str(cluster.workers[0].pid))
        said = run(tmp_path, cluster.environment(), "killed")
        assert cluster.workers[0].poll() is not None
    finally:
        cluster.stop()
    assert said["killed"][0] > 2_000
    assert said["killed"][1]


def version() -> str:
    """That of PySpark, without loading it."""
    from importlib import metadata

    return metadata.version("pyspark")
