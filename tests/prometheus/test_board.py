"""Every query of the board and of the alerts, in a real Prometheus that has scraped our endpoint on a real Kafka."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIServer

import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.exporter import BOUND, LARGEST_MOST, ClusterCollector, serve
from kadmin_nb.frames import schemas
from kadmin_nb.usage.broker_metrics import usage_from_metrics
from tests.dangerous_plans import applied
from tests.hostile_names import HOSTILE
from tests.prometheus.installed import prometheus
from tests.prometheus.monitoring import ALERTS, alert_queries, board_queries
from tests.prometheus.server import RealPrometheus, running
from tests.waiting import eventually

pytestmark = pytest.mark.broker
KEY = "producer_byte_rate"
FIRING = {"KafkaQuotaNearLimit", "KafkaQuotaThrottled"}
"""The alerts for which there is a reason in the cluster of this file; they are pending at once."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prometheus")


@pytest.fixture(scope="module")
def endpoint(cluster: kn.Cluster, folder: Path) -> Iterator[WSGIServer]:
    """Our endpoint on a cluster with something of everything: hostile names, usage, a plan."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KADMIN_STATE", str(folder / "state"))
        patch.setenv("no_proxy", "*")
        stage = cluster.new_stage()
        for name in HOSTILE:
            stage.set_quota(KEY, 1, user=name)  # other tests leave quotas, and the lowest limits are shown
        stage.set_quota("connection_creation_rate", 10, ip="10.9.8.7")
        stage.set_quota("controller_mutation_rate", 3, user="board")
        stage.set_quota("request_percentage", 50, user="board")
        stage.set_quota(KEY, 1e6, user="board")
        plan = stage.plan("a board")
        applied(plan).raise_for_errors()
        exporter = ClusterCollector(cluster, metrics_now, most=LARGEST_MOST, within=30)
        exporter.collect()
        exporter.within = BOUND
        with serve(exporter, "127.0.0.1:0") as served:
            yield served
            served.shutdown()
        undo = cluster.rollback(plan)
        applied(undo).raise_for_errors()


def metrics_now() -> object:
    """The usage that metrics tell of, of a bucket near its limit and throttled."""
    whose: dict[str, Any] = {"time": datetime.now(UTC), "broker": 1, "user": "board", "client_id": None}
    produced = {"byte-rate": 9e5, "throttle-time": 540.0}
    requested = {"request-time": 45.0, "throttle-time": 0.0}
    of_types = {"Produce": produced, "Request": requested}
    rows = [
        {**whose, "type": kind, "name": name, "value": value}
        for kind, values in of_types.items()
        for name, value in values.items()
    ]
    return usage_from_metrics(schemas.table(schemas.METRICS, rows))


@pytest.fixture(scope="module")
def scraped(endpoint: WSGIServer, folder: Path) -> Iterator[RealPrometheus]:
    """A Prometheus that has scraped it."""
    program, _ = prometheus()
    target = f"127.0.0.1:{endpoint.server_port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "*")
        with running(program, target, ALERTS, folder) as server:
            parts = "2"  # limits, usage
            eventually(lambda: [row["value"][1] for row in server.value("kadmin_nb_up")], ["1"])
            eventually(lambda: [row["value"][1] for row in server.value("sum(kadmin_nb_part_success)")], [parts])
            yield server


@pytest.mark.long
def test_prometheus_reads_our_text(endpoint, scraped):
    """invalid UTF-8 label value: the whole scrape was thrown away."""

    def unread() -> set[str]:
        users = {row["metric"].get("user") for row in scraped.value("kadmin_nb_limit_bytes_per_second")}
        return {name for name in HOSTILE if len(name) < 200} - users

    eventually(
        lambda: [(one["health"], one["lastError"]) for one in scraped.get("targets")["activeTargets"]], [("up", "")]
    )
    eventually(unread, set())
    _, promtool = prometheus()
    text = subprocess.run(
        [promtool, "query", "instant", scraped.url, "count({__name__=~'kadmin_nb_.*'})"],
        capture_output=True, text=True, timeout=30,
    ).stdout  # fmt: skip
    assert 100 < int(text.split("=>")[1].split()[0]) < 5000


@pytest.mark.parametrize("query", board_queries().values(), ids=board_queries())
def test_a_query_of_the_board_has_an_answer(scraped, query):
    """The panel said No data."""
    eventually(lambda: scraped.value(query) != [], True)  # a part that is slow now is missing from a scrape


@pytest.mark.parametrize("name", alert_queries())
def test_an_alert_has_a_reason_where_there_is_one(scraped, name):
    """It was full, and nobody was told."""
    eventually(lambda: bool(scraped.value(alert_queries()[name])), name in FIRING)


def test_prometheus_has_loaded_the_alerts(scraped):
    """The rules were there, and it had not read them."""

    def pending() -> set[str]:
        return {alert["labels"]["alertname"] for alert in scraped.get("alerts")["alerts"]}

    eventually(pending, FIRING)
