"""The runbook showback under papermill, on usage whose figures are worked out by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from tests.runbooks.databricks_stand_in import as_task
from tests.runbooks.notebook_output import page_of, shown_by

pytest.importorskip("papermill")
pytestmark = pytest.mark.filterwarnings("ignore:.*on the disk of this compute")

PRODUCE, FETCH, REQUEST = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=alert(1)>"
OWNERS = """user,client_id,team
pay-*,,payments
bill-*,,payments
etl,nightly-*,data
etl,,reports
"""
PRICES = {"gb_in": 2.0, "gb_out": 1.0, "request_hour": 3600.0}


def used(user: str, value: float | None, key: str = PRODUCE, client_id: str = "app", **rest: Any) -> dict[str, Any]:
    """A window of one second from noon on."""
    start = rest.pop("at", NOON)
    end = start + timedelta(seconds=rest.pop("seconds", 1))
    own = {"broker": 1, "user": user, "client_id": client_id, "key": key, "value": value, "source": "test"}
    return {**own, "window_start": start, "window_end": end, **rest}


MANY = [
    used("pay-1", 1e9, seconds=2),
    used("bill-1", 5e8, FETCH, throttle_ms=250.0),
    used("bill-1", 50.0, REQUEST, seconds=2, throttle_ms=1500.0),
    used("etl", 3e8, client_id="nightly-7"),
    used("etl", 2e8, client_id="nightly"),
    used(HOSTILE, 1e8),
    used("pay-1", 4e8, at=NOON + timedelta(days=1)),
]


@pytest.fixture
def showback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs its cells on rows of usage; the rows of the costs, and what its verdict says."""
    monkeypatch.chdir(tmp_path)

    def run(rows: list[dict[str, Any]], owners: str = OWNERS, **given: object) -> tuple[list[dict[str, Any]], str]:
        said = as_task("showback", **_files(tmp_path, rows, owners), **given)
        (verdict,) = said["verdicts"]
        return csv.read_csv(tmp_path / "costs.csv").to_pylist(), verdict["message"]

    return run


def _files(folder: Path, rows: list[dict[str, Any]], owners: str = OWNERS) -> dict[str, str]:
    """The parameters that name files."""
    parquet.write_table(schemas.table(schemas.USAGE, rows), folder / "usage.parquet")
    (folder / "owners.csv").write_text(owners)
    places = {"usage": "usage.parquet", "owners": "owners.csv", "save": "costs.csv"}
    return {name: str(folder / place) for name, place in places.items()}


def test_it_runs_under_papermill_and_a_name_is_no_script_in_its_page(tmp_path: Path) -> None:
    """The page of all teams ran the name of a client."""
    done = kn.runbooks.run("showback", _files(tmp_path, MANY), output=tmp_path / "done.ipynb")
    page = page_of(done.document)
    assert (HOSTILE in page, "onerror=alert(1)" in page, "<svg" in page or "image/svg+xml" in page) == (
        False,
        True,
        True,
    )
    assert "3.00 GB in; payments used most" in shown_by(done.document)


def test_each_team_pays_for_what_its_clients_used(showback) -> None:
    """Of two patterns of one team's users the second alone counted, and half of its use was not on its bill."""
    rows, says = showback(MANY, **PRICES)
    figures = {(str(row["day"]), row["team"]): row for row in rows}
    assert figures["2026-11-01", "payments"] == {
        "day": figures["2026-11-01", "payments"]["day"], "team": "payments", "clients": 2,
        "bytes_in": 2_000_000_000, "bytes_out": 500_000_000, "request_s": 1.0, "throttled_s": 1.75, "unknown": 0,
        "cost": 2 * 2.0 + 0.5 + 1.0, "figures": "complete",
    }  # fmt: skip
    assert {place: row["bytes_in"] for place, row in figures.items()} == {
        ("2026-11-01", "(no owner)"): 100_000_000,
        ("2026-11-01", "data"): 300_000_000,
        ("2026-11-01", "payments"): 2_000_000_000,
        ("2026-11-01", "reports"): 200_000_000,
        ("2026-12-01", "payments"): 400_000_000,
    }
    assert (
        says.split("; broker")[0].split("; line")[0].split("; clients")[0].split("; 5 w")[0]
        == "7.50 EUR; payments used most"
    )
    assert "clients without an owner used 0.20 of cost" in says


def test_a_team_with_more_than_nine_petabytes_has_its_bytes_to_the_last(showback) -> None:
    """The largest team's month ended with: ArrowInvalid: Integer value 10368000000000000 not in range."""
    days = [
        used("pay-1", 120_000_000_001.0, at=datetime(2026, 11, day, tzinfo=UTC), seconds=3600) for day in range(1, 31)
    ]
    rows, says = showback(days, gb_in=0.01)
    assert [(row["bytes_in"], row["figures"]) for row in rows] == [(30 * 3600 * 120_000_000_001, "complete")]
    assert (
        says.split("; broker")[0].split("; line")[0].split("; clients")[0].split("; 5 w")[0]
        == "129,600.00 EUR; payments used most"
    )


def test_without_the_usage_of_a_broker_figures_are_a_lower_bound(showback) -> None:
    """The log of a broker was lost, and the bill looked like the others."""
    rows = [used("pay-1", 1e9), used("pay-1", 1e9, at=NOON - timedelta(days=1)), used("pay-1", 1e9, broker=2)]
    costs, says = showback(rows, brokers=[1, 2, 3], **PRICES)
    assert [(row["cost"], row["figures"]) for row in costs] == [(6.0, "lower bound")]
    assert (
        says.split("; broker")[0].split("; line")[0].split("; clients")[0].split("; 5 w")[0]
        == "at least 6.00 EUR; payments used most"
    )
    assert "broker 2 has no usage on 1 days, first on 2026-11-29: figures are a lower bound" in says
    assert "broker 3 has no usage on 2 days, first on 2026-11-29: figures are a lower bound" in says


def test_use_that_is_unknown_is_counted_and_not_guessed(showback) -> None:
    """One broken sample made the bill infinite; share consumers looked as if they were free."""
    values = [None, float("nan"), float("inf"), -1.0, 1e300, 5e9]
    costs, says = showback([used("pay-1", value, FETCH) for value in values], **PRICES)
    assert [(row["bytes_out"], row["unknown"], row["figures"]) for row in costs] == [(5_000_000_000, 5, "lower bound")]
    assert (
        says.split("; broker")[0].split("; line")[0].split("; clients")[0].split("; 5 w")[0]
        == "at least 5.00 EUR; payments used most"
    )
    assert "5 windows are unknown: figures are a lower bound" in says


def test_an_owners_line_that_owns_no_client_is_named(showback) -> None:
    """The team was renamed, its pattern was not, and its use went to another for a year."""
    _, says = showback([used("pay-1", 1e9)], "user,client_id,team\npay-*,,payments\npay-1,,hidden\n", every="day")
    assert (
        says.split("; broker")[0].split("; line")[0].split("; clients")[0].split("; 5 w")[0]
        == "1.00 GB in; payments used most"
    )
    assert "line 3 of hidden owns no client: user pay-1, client-id *" in says


def test_the_shipped_runbook_is_short() -> None:
    """Nobody reads a report of three hundred lines before it is changed."""
    cells = json.loads(kn.runbooks.find("showback").path.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 80
