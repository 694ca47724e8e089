"""Scrapes of a real cluster: in Python, at the endpoint, as a file."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from urllib.request import Request, urlopen

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import kadmin_nb as kn
from kadmin_nb.cluster.exporter import ClusterCollector, serve, text_of
from kadmin_nb.errors import ConnectionFailed
from kadmin_nb.frames import schemas
from tests.dangerous_plans import applied
from tests.notebook.conftest import notebook  # noqa: F401  # a fixture
from tests.terminal.conftest import kadmin, live  # noqa: F401  # fixtures
from tests.terminal.pseudo_terminal import MAIN
from tests.waiting import eventually

pytestmark = pytest.mark.broker
KEY = "producer_byte_rate"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def user(cluster: kn.Cluster, unique: Callable[[str], str]) -> Iterator[str]:
    """A user with a limit of 1 MB/s."""
    name = unique("user")
    change(cluster, lambda stage: stage.set_quota(KEY, 1e6, user=name))
    eventually(lambda: len(cluster.quotas.describe(user=name)), 1)
    yield name
    change(cluster, lambda stage: stage.remove_quota(KEY, user=name))


def change(cluster: kn.Cluster, staged: Callable[[kn.Stage], object]) -> None:
    stage = cluster.new_stage()
    staged(stage)
    applied(stage.plan("a test")).raise_for_errors()


def series(text: str) -> dict[tuple[str, ...], float]:
    """The value of each series, by its name and the values of its labels."""
    read = text_string_to_metric_families(text)
    return {(s.name, *sorted(filter(None, s.labels.values()))): s.value for family in read for s in family.samples}


def used_by(user: str, end: datetime = NOON, value: float = 9e5) -> object:
    row = {"broker": 1, "user": user, "client_id": "app", "key": KEY, "source": "request log"}
    windows = {"window_start": end - timedelta(seconds=1), "window_end": end}
    return schemas.table(schemas.USAGE, [{**row, **windows, "value": value, "throttle_ms": 540.0}])


def test_one_scrape_has_all_parts(cluster, user):
    """I had the limits, and not how full they were."""
    change(cluster, lambda stage: stage.set_quota(KEY, 2e6, user=user))
    eventually(lambda: cluster.quotas.describe(user=user)["value"].to_pylist(), [2e6])
    found = series(cluster.metrics(used_by(user), most=150))
    assert found["kadmin_nb_up",] == 1
    assert found["kadmin_nb_limit_bytes_per_second", "USER", KEY, user] == 2e6
    assert found["kadmin_nb_utilisation_ratio", "1", "USER", KEY, user] == 0.45
    assert found["kadmin_nb_throttle_seconds", "1", "USER", KEY, user] == 0.54
    assert found["kadmin_nb_usage_timestamp_seconds",] == NOON.timestamp()
    assert {value for name, value in found.items() if name[0] == "kadmin_nb_part_success"} == {1.0}


def test_only_the_last_minutes_of_usage_count(cluster, user):
    """It was full yesterday, and the alert was still there."""
    import pyarrow as pa

    rows = [used_by(user, NOON - timedelta(minutes=6), 1e6), used_by(user, NOON, 1e5)]
    found = series(cluster.metrics(pa.concat_tables(rows), most=150))
    assert found["kadmin_nb_utilisation_ratio", "1", "USER", KEY, user] == 0.1


def test_two_scrapes_at_a_time_ask_once(cluster, monkeypatch):
    """Each Prometheus of the pair made the brokers walk 100,000 quotas."""
    asked, go_on = [], Event()
    describe = cluster.port.quotas.describe

    def slow(*how: object, **more: object) -> object:
        asked.append(1)
        assert go_on.wait(30)
        return describe(*how, **more)

    monkeypatch.setattr(cluster.port.quotas, "describe", slow)
    exporter, texts = ClusterCollector(cluster, within=30), []
    exporter._readings = [reading for reading in exporter._readings if reading.name == "limits"]
    threads = [Thread(target=lambda: texts.append(text_of(exporter))) for _ in range(2)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(asked), 1)
    time.sleep(0.1)
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(asked) == 1
    assert len({*texts}) == 1


def test_a_cluster_that_is_gone_is_down(cluster, monkeypatch):
    """The exporter ended with the first broker that restarted."""
    lines = []

    def gone(*how: object, **more: object) -> object:
        raise ConnectionFailed("no broker answers")

    exporter = ClusterCollector(cluster, say=lines.append, within=30)
    with monkeypatch.context() as patch:
        patch.setattr(cluster.port.quotas, "describe", gone)
        assert series(text_of(exporter))["kadmin_nb_up",] == 0
    assert "limits: ConnectionFailed: no broker answers" in lines
    assert series(text_of(exporter))["kadmin_nb_up",] == 1


def test_a_source_that_cannot_be_read_is_one_part(cluster, tmp_path):
    """The limits were missing, as the usage was not there yet."""

    def absent() -> object:
        raise kn.NotFound("no such file: usage.parquet")

    with pytest.warns(UserWarning, match="usage: NotFound: no such file"):
        found = series(cluster.metrics(absent))
    assert found["kadmin_nb_part_success", "usage"] == 0
    assert found["kadmin_nb_scrape_errors_total", "usage"] == 1
    assert found["kadmin_nb_up",] == 1


def test_a_textfile_is_whole_or_not_there(cluster, tmp_path):
    """node_exporter read half a file."""
    place = tmp_path / "kadmin.prom"
    cluster.metrics(textfile=place)
    assert place.read_text().startswith("# HELP kadmin_nb_up ")
    assert "# TYPE kadmin_nb_scrape_errors_total counter" in place.read_text()
    with pytest.raises(kn.NotFound):
        cluster.metrics(textfile=tmp_path / "nowhere" / "kadmin.prom")
    assert [*tmp_path.glob("*.prom*")] == [place]


REFUSED = {
    "too many": {"most": 151},
    "none": {"most": -1},
}


@pytest.mark.parametrize("how", REFUSED.values(), ids=REFUSED)
def test_nonsense_is_refused(cluster, how):
    """A million series, it was asked for, and made them."""
    with pytest.raises(kn.UsageError):
        cluster.metrics(**how)


# --- the endpoint ---


def ask(url: str, accept: str = "application/openmetrics-text; version=1.0.0") -> tuple[str, str]:
    with urlopen(Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_endpoint_serves_until_ctrl_c(kafka, tmp_path):
    """Ctrl-C printed forty lines, and the port was still taken."""
    line = [sys.executable, "-c", MAIN, "metrics", "--cluster", kafka.bootstrap, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        told = process.stderr.readline()
        url = next(word for word in told.split() if word.startswith("http://")).rstrip(";")
        kind, text = ask(url)
        assert kind.startswith("application/openmetrics-text")
        assert text.endswith("# EOF\n")
        assert ask(url, "text/plain")[0].startswith("text/plain")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_in_use_is_one_line(live):  # noqa: F811
    """OSError: [Errno 98], and a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = live("metrics", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert said.code == 1
    assert len(said.err.splitlines()) == 2
    assert "cannot listen on 127.0.0.1:" in said.err


@pytest.mark.parametrize("listen", ["9649", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "somewhere:1", ":1"])
def test_an_address_that_is_none_is_refused(live, listen):  # noqa: F811
    """It looked somewhere's address up, and listened there."""
    assert live("metrics", "--listen", listen).code == 2


def test_metrics_that_cannot_be_made_are_an_error(cluster, monkeypatch):
    """The connection was closed, and Prometheus said that it was up."""
    collector = ClusterCollector(cluster)
    monkeypatch.setattr(collector, "collect", lambda: 1 / 0)
    with serve(collector, "127.0.0.1:0") as endpoint:
        with pytest.raises(OSError, match="500"):
            ask(f"http://127.0.0.1:{endpoint.server_port}/metrics")
        endpoint.shutdown()


def test_once_prints_it(live, tmp_path):  # noqa: F811
    """I only wanted to see it."""
    said = live("metrics", "--textfile", "-")
    assert said.code == 0
    assert said.out.endswith("# EOF\n")
    assert live("metrics", "--textfile", str(tmp_path / "x.prom")).code == 0
    assert (tmp_path / "x.prom").exists()


def test_a_notebook_shows_one_scrape(notebook, kafka):  # noqa: F811
    """The cell never ended."""
    notebook(f"%kadmin use {kafka.bootstrap}")
    assert "kadmin_nb_up 1.0" in str(notebook("%kadmin metrics --textfile -"))
    notebook.refused("%kadmin metrics", kn.UsageError)


@pytest.mark.long
def test_a_cluster_that_is_frozen_or_stopped_is_down_in_time():
    """The scrape hung for as long as the brokers were away."""
    with kn.local.start() as kafka, kafka.connect() as cluster:
        lines = list[str]()
        exporter = ClusterCollector(cluster, say=lines.append)

        def is_up(within: float = 3.0) -> float:
            began = time.monotonic()
            exporter.within = within
            found = series(text_of(exporter))
            assert time.monotonic() - began < within + 3
            return found["kadmin_nb_up",]

        assert is_up(30) == 1
        kafka.nodes[0].pause()
        assert [is_up(), is_up()] == [0, 0]
        kafka.nodes[0].resume()
        eventually(is_up, 1.0, seconds=60)
        assert len([line for line in lines if line.startswith("limits: ")]) <= 3
        kafka.stop()
        assert is_up() == 0
