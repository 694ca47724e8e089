"""The runbook capacity on a real broker, with sums that are worked out by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.runbooks.databricks_stand_in import as_task

pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

PRODUCE, FETCH, REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def used(user: str, value: float | None, client_id: str = "app", key: str = PRODUCE, broker: int = 1) -> dict[str, Any]:
    """A window of ten seconds."""
    window = {"window_start": NOON, "window_end": NOON + timedelta(seconds=10), "source": "test"}
    return {"broker": broker, "user": user, "client_id": client_id, "key": key, "value": value, **window}


@pytest.fixture
def names(cluster: kn.Cluster, unique):
    """Users with limits: one of 30 MB/s that two clients share, one of 20 MB/s; and one that no quota names."""
    first, second, free = unique("first"), unique("second"), unique("free")
    stage = cluster.new_stage()
    for user, rate in ((first, 30e6), (second, 20e6)):
        for key, value in ((PRODUCE, rate), (FETCH, rate), (REQUEST, 100.0)):
            stage.set_quota(key, value, user=user)
    stage.plan().apply().raise_for_errors()
    return first, second, free


@pytest.fixture
def capacity(kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs it on rows of usage; what its verdict says."""
    monkeypatch.chdir(tmp_path)

    def run(*rows: dict[str, Any], **given: object) -> str:
        parquet.write_table(schemas.table(schemas.USAGE, rows), tmp_path / "usage.parquet")
        said = as_task("capacity", cluster=kafka.bootstrap, usage="usage.parquet", **given)
        assert said["changed"] is False
        return next(row["message"] for row in said["verdicts"] if row["check"] == "limits beside brokers")

    return run


def test_a_bucket_counts_once_and_more_than_a_broker_can_do_is_a_finding(capacity, names) -> None:
    """Each limit was fine by itself; together they were more than the disks could write."""
    first, second, _ = names
    rows = [used(first, 1e6, "a"), used(first, 1e6, "b"), used(second, 2e6)]
    able = {"bytes_out": 60e6, "threads": 16.0}
    assert capacity(*rows, bytes_in=60e6, **able) == "The limits fit."
    says = capacity(*rows, bytes_in=40e6, **able)
    assert says == "producer_byte_rate: limits of 50,000,000 are 125% of 40,000,000, stated of broker 1"


def test_without_a_capacity_the_sum_is_compared_with_what_was_used_at_most(capacity, names) -> None:
    """It said that nothing was known of a broker whose usage had been given."""
    first, second, _ = names
    says = capacity(used(first, 9e6, "a"), used(second, 16e6), bytes_out=60e6, threads=16.0)
    assert says == "producer_byte_rate: limits of 50,000,000 are 200% of 25,000,000, used at most of broker 1"


def test_a_client_without_a_limit_makes_the_sum_infinite(capacity, names) -> None:
    """*86 % of what broker 1 can do*, beside a client that may produce at any rate."""
    first, _, free = names
    says = capacity(used(first, 1e6), used(free, 1e6), bytes_in=90e6, bytes_out=90e6, threads=16.0)
    assert says.split("; producer")[0].split("; consumer")[0] == (
        "producer_byte_rate: the sum is infinite, 1 clients have no limit; others 30,000,000"
    )


def test_a_broker_without_usage_makes_the_sums_a_lower_bound(capacity, names) -> None:
    """The log of the broker was lost, and its clients were not in the sum."""
    first, _, _ = names
    says = capacity(used(first, 1e6, broker=7), bytes_in=20e6, bytes_out=90e6, threads=16.0)
    assert says == (
        "broker 1 has no usage: sums are a lower bound; "
        "producer_byte_rate: limits of at least 30,000,000 are 150% of 20,000,000, stated of broker 1"
    )


def test_without_any_client_there_is_nothing_to_add_up(kafka: LocalKafka) -> None:
    """Without clients all limits fitted."""
    with pytest.raises(kn.UsageError, match="neither clients nor usage is set"):
        as_task("capacity", cluster=kafka.bootstrap)


def test_the_shipped_runbook_is_short() -> None:
    """Nobody reads a report of three hundred lines before it is changed."""
    cells = json.loads(kn.runbooks.find("capacity").path.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 80
