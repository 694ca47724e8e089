"""Connections that nobody uses any more end, and those that somebody may yet use do not."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.waiting import eventually

pytestmark = pytest.mark.broker

FOLDER = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")


def held() -> tuple[int, int]:
    """The connections' threads and all descriptors of this process."""
    return sum("kafka-io" in thread.name for thread in threading.enumerate()), len(os.listdir(FOLDER))


def _settled(before: tuple[int, int]) -> None:
    gc.collect()
    eventually(lambda: all(now <= then for now, then in zip(held(), before, strict=True)), True)


def planned(stage: kn.Stage) -> kn.Plan:
    stage.set_quota("producer_byte_rate", "5MB/s", user="nobody")
    return stage.plan()


def _looks(kafka: LocalKafka) -> None:
    cluster = kn.connect(kafka.bootstrap)
    assert len(cluster.brokers) == 1


def _plans(kafka: LocalKafka) -> None:
    assert len(planned(kn.connect(kafka.bootstrap).stage)) == 1


def _reviews(kafka: LocalKafka) -> None:
    cluster = kn.connect(kafka.bootstrap)
    planned(cluster.new_stage()).review()


def _scrapes(kafka: LocalKafka) -> None:
    assert "kadmin_nb_up 1.0" in kn.connect(kafka.bootstrap).metrics()


def _fails(kafka: LocalKafka) -> None:
    cluster = kn.connect(kafka.bootstrap)
    with pytest.raises(kn.NotFound):
        cluster.configs.describe(topic="no-such-topic").raise_for_errors()


@pytest.mark.long
@pytest.mark.parametrize(
    ("uses", "times"),
    [(_looks, 300), (_plans, 30), (_reviews, 10), (_scrapes, 10), (_fails, 30)],
    ids=["looks", "plans", "reviews", "scrapes", "fails"],
)
def test_clusters_that_are_forgotten_hold_no_thread_and_no_descriptor(
    kafka: LocalKafka, uses: Callable[[LocalKafka], None], times: int
) -> None:
    """The 240th run of a cell with kn.connect was the last: Too many open files."""
    uses(kafka)
    before = held()
    for _ in range(times):
        uses(kafka)
        assert held()[1] < before[1] + 100
    _settled(before)


def test_a_cell_that_connects_runs_as_often_as_one_likes(notebook, kafka: LocalKafka) -> None:
    """I ran the cell again, and again; the kernel had to be restarted."""
    cell = f"import kadmin_nb as kn\ncluster = kn.connect({kafka.bootstrap!r})\nrows = len(cluster.brokers)"
    notebook.shell.run_cell(cell)
    before = held()
    for _ in range(300):
        assert notebook.shell.run_cell(cell).success
    _settled(before)
    assert len(notebook["cluster"].brokers) == 1


def test_use_ends_what_it_replaces(notebook, kafka: LocalKafka) -> None:
    """Each %kadmin use left the connection before open."""
    before = held()
    for number in range(20):
        line = f"%kadmin use {kafka.bootstrap} --property client.id=c{number}"
        assert notebook.shell.run_cell(f"{line};", store_history=False).success
    gc.collect()
    eventually(lambda: held()[0] <= before[0] + 2, True)


@pytest.mark.parametrize(
    "kept",
    [
        "kept = cluster",
        "kept = {'prod': [cluster]}",
        "kept = cluster.new_stage()",
        "kept = planned(cluster.new_stage())",
        "import kadmin_nb as kn; kept = kn.widgets.edit_quotas(cluster)",
        "kept = cluster.quotas.describe",
    ],
)
def test_use_leaves_open_what_a_variable_holds(notebook, kafka: LocalKafka, kept: str) -> None:
    """I kept the plan, and it said that its connection was closed."""
    notebook(f"%kadmin use {kafka.bootstrap}")
    notebook["cluster"] = cluster = notebook.shell.magics_manager.registry["KAdmin"].session.connected
    notebook["planned"] = planned
    assert notebook.shell.run_cell(f"{kept}\ndel cluster").success
    port = cluster.port
    notebook(f"%kadmin use {kafka.bootstrap} --property client.id=other")
    assert len(port.brokers()) == 1


def test_a_plan_keeps_its_connection(kafka: LocalKafka) -> None:
    """The cluster was forgotten, and the plan could not be applied."""
    stage = kn.connect(kafka.bootstrap).new_stage()
    stage.set_quota("producer_byte_rate", "5MB/s", user="kept-by-its-plan")
    plan = stage.plan()
    del stage
    gc.collect()
    assert len(plan.apply()) == 1
