"""The daily job, played in order: two clusters at once, twice, a failure in between; and queries over its tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.databricks.tasks import TESTS
from tests.databricks.test_bundle import _generated

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.broker]

RECORDED = TESTS / "analytics" / "recorded"
LIMIT = 1000.0


def _set_up(kafka: LocalKafka, limit: float) -> str:
    """Quotas of the users of the recorded logs; the cluster's id."""
    with kafka.connect() as cluster:
        stage = cluster.new_stage()
        for user in ("admin", "alice"):
            stage.set_quota("producer_byte_rate", limit, user=user)
        cluster.apply(stage.plan()).raise_for_errors()
        return cluster.id


@pytest.fixture(scope="module")
def played(kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the process says that has played it."""
    folder = tmp_path_factory.mktemp("flow")
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    with kn.local.start() as other:
        ids = [_set_up(kafka, LIMIT), _set_up(other, 2 * LIMIT)]
        words = [sys.executable, str(Path(__file__).with_name("daily_flow.py")), str(folder / "lake"), str(RECORDED)]
        done = subprocess.run(
            [*words, kafka.bootstrap, other.bootstrap],
            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=folder, timeout=900,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-6000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**said, "ids": ids}


def test_a_failure_is_mended_by_the_next_run(played):
    """The job failed once, and what its next run found was there twice."""
    first, second = played["rounds"]
    assert sorted(first["errors"]) == [[], ["utilisation", "the machine was taken away"]]
    assert second["errors"] == [[], []]
    assert second["rows"]["usage"] == first["rows"]["usage"] > 0
    assert second["rows"]["utilisation_daily"] == 2 * first["rows"]["utilisation_daily"] > 0
    histories = [name for name in second["rows"] if name.endswith("_history")]
    assert {name: second["rows"][name] for name in histories} == {name: first["rows"][name] for name in histories}


def test_the_tables_are_those_that_the_queries_read(played):
    """A table had another name in the dashboard."""
    tables = {name for name in played["rounds"][-1]["rows"] if "_incoming_" not in name}
    assert tables == {*_generated().TABLES, "usage"}


def test_the_dashboard_shows_columns_that_its_queries_have(played):
    """A column of the dashboard was empty."""
    made = _generated()
    for part in (made.LINES, *(part for page in made.PAGES.values() for part in page)):
        assert set(part.columns) <= set(played["answers"][part.query]["columns"]), part.query


def test_the_queries_find_what_the_jobs_stored(played):
    """The dashboard was empty on the day of the demonstration."""
    answers = {name: answer["rows"] for name, answer in played["answers"].items()}
    assert {row[0] for row in answers["since"]} == {*played["ids"]}
    assert {row[0] for row in answers["near"]} == {*played["ids"]}
    assert {(row[0], float(row[5])) for row in answers["near"]} == {
        *zip(played["ids"], (LIMIT, 2 * LIMIT), strict=True)
    }
    assert {row[1] for row in answers["drift"]} >= {"user=admin", "user=alice"}
    assert {row[0] for row in answers["limits_at"]} == {*played["ids"]}
    assert answers["changes"] == []
    assert [int(answers[name][0][0]) for name in ("alert_changed", "alert_not_recorded")] == [0, 0]
    assert int(answers["alert_near"][0][0]) == 0  # some minutes of a day that was watched from end to end
