"""The runbook rightsizing on a real broker, with limits whose needs are worked out by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
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

PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
HOURS = 24 * 8
ASKED = "percentile 99, headroom 20 %; in the later half proposals throttle at most"


def flat(user: str, value: float | None, broker: int = 1, key: str = PRODUCE, **of: Any) -> list[dict[str, Any]]:
    """The same use in each hour of eight days; `later` in the last six hours, and `between` from the fifth day on."""
    throttle_ms, later, hours = of.get("throttle_ms", 0.0), of.get("later", value), of.get("hours", HOURS)
    between = of.get("between", value)
    return [
        {
            "broker": broker, "user": user, "client_id": "app", "key": key, "source": "test",
            "value": value if hour < HOURS // 2 else between if hour < HOURS - 6 else later, "throttle_ms": throttle_ms,
            "window_start": BEGIN + timedelta(hours=hour), "window_end": BEGIN + timedelta(hours=hour + 1),
        }
        for hour in range(hours)
    ]  # fmt: skip


@pytest.fixture
def limit(cluster: kn.Cluster, unique: Callable[[str], str]) -> Callable[..., str]:
    """A user with this limit, which no other test uses."""

    def make(value: float, key: str = PRODUCE) -> str:
        stage = cluster.new_stage()
        stage.set_quota(key, value, user=(user := unique("sized")))
        cluster.apply(stage.plan()).raise_for_errors()
        return user

    return make


@pytest.fixture
def sized(kafka: LocalKafka, cluster: kn.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs it on rows of usage; what its verdict says, and what its plan does to these users.

    Other tests leave quotas on the broker: the numbers of limits that fit or are unused are left out.
    """
    monkeypatch.chdir(tmp_path)

    def run(*parts: list[dict[str, Any]], **given: object) -> tuple[str, dict[str, str | None]]:
        of, rows = given.pop("of", []), [row for part in parts for row in part]
        Path("plan.json").unlink(missing_ok=True)
        parquet.write_table(schemas.table(schemas.USAGE, rows), "usage.parquet")
        given = {"cluster": kafka.bootstrap, "usage": "usage.parquet", "save": "plan.json", **given}
        said = as_task("rightsizing", **given)
        assert (said["state"], said["changed"]) == ("finished", False)
        plan = kn.Plan.load("plan.json").to_arrow().to_pylist() if Path("plan.json").exists() else []
        users = {row["user"] for row in rows} | {*of}
        planned = {row["resource"].removeprefix("user="): (row["op"], row["after"]) for row in plan}
        message = next(row["message"] for row in said["verdicts"] if row["check"] == "limits that do not fit")
        return message, {name: change for name, change in planned.items() if name in users}

    return run


def test_each_limit_has_what_its_clients_needed(sized, limit) -> None:
    """Each of these limits needed another answer."""
    high, fits, slow, gone = limit(50e6), limit(1.5e6), limit(1e6), limit(7e6)
    message, planned = sized(flat(high, 1e6), flat(fits, 1e6), flat(slow, 1e6, throttle_ms=5.0), of=[gone])
    assert planned == {high: ("set", "1200000"), slow: ("set", "2000000"), gone: ("delete", None)}
    assert f"{ASKED} 0.00% of the active time" in message


def test_the_percentile_is_of_the_windows_with_use(sized, limit) -> None:
    """One burst of a week was the limit of all time."""
    user = limit(1e9)
    rows = flat(user, 1e6)
    rows[5]["value"] = 10e6  # one window of 96 is more than 1 %, and less than 2 %
    assert sized(rows)[1] == {user: ("set", "12000000")}
    assert sized(rows, percentile=98.0)[1] == {user: ("set", "1204944")}  # 1e6 is in the bin up to 2^(638/32)
    assert sized(rows, percentile=98.0, headroom=0.0)[1] == {user: ("set", "1004120")}


def test_what_throttles_in_the_later_half_is_not_proposed(sized, limit) -> None:
    """The limits that a tool proposed throttled half of the fleet a week later."""
    user = limit(50e6)
    message, planned = sized(flat(user, 1e6, later=4e6))
    assert (planned, "1 would throttle" in message) == ({}, True)


def test_what_the_backtest_throttled_is_said(sized, limit) -> None:
    """It said what was hoped for."""
    user = limit(1e6)
    message, planned = sized(flat(user, 4e6, between=0.0, throttle_ms=5.0))  # twice the limit is half of what it wanted
    assert planned == {user: ("set", "2000000")}
    (share,) = re.findall(rf"{ASKED} ([\d.]+)% of the active time", message)
    assert float(share) > 99


def test_where_usage_is_missing_what_was_needed_is_a_lower_bound(sized, limit) -> None:
    """A share consumer's use was unknown, and its limit was lowered to what was known; so it was without a broker."""
    user = limit(50e6)
    rows = flat(user, 1e6)
    rows[3]["value"] = None
    message, planned = sized(rows)
    assert (planned, "1 lower bound" in message) == ({}, True)
    message, planned = sized(flat(user, 1e6, broker=7))
    assert (planned, "not known for broker 1" in message) == ({}, True)


def test_a_default_is_judged_by_the_user_that_needs_most_on_the_busiest_broker(kafka, cluster, sized, unique) -> None:
    """The default was lowered to what most users need."""
    app = unique("app")
    stage = cluster.new_stage()
    stage.set_quota(PRODUCE, 100e6, user=kn.DEFAULT, client_id=app)
    cluster.apply(stage.plan()).raise_for_errors()
    rows = [{**row, "client_id": app} for name, use in (("a", 1e6), ("b", 3e6)) for row in flat(unique(name), use)]
    sized(rows)
    row = next(row for row in kn.Plan.load("plan.json").to_arrow().to_pylist() if app in row["resource"])
    assert (row["resource"], row["op"], row["after"]) == (f"user=<default> client-id={app}", "set", "3600000")


def test_a_limit_that_a_client_has_and_does_not_use_stays(sized, limit) -> None:
    """A consumer's limit on producing was removed, as it had never produced."""
    user = limit(5e6)
    assert sized(flat(user, 1e6, key=FETCH))[1] == {}


def test_a_few_days_are_refused(sized, limit) -> None:
    """An hour of log proposed limits for the year."""
    with pytest.raises(kn.UsageError, match="the usage has less than 7 days"):
        sized(flat(limit(5e6), 1e6, hours=24))


def test_usage_without_rows_is_one_line(sized) -> None:
    """No usage was an error of numpy."""
    with pytest.raises(kn.UsageError, match="the usage has less than 7 days"):
        sized([])


@pytest.mark.long
@pytest.mark.spark
def test_usage_in_spark_has_the_same_proposals(sized, limit) -> None:
    """Two engines gave two limits."""
    high, slow = limit(50e6), limit(1e6)
    rows = [flat(high, 1e6), flat(slow, 1e6, throttle_ms=5.0), flat(high, 2e6, key=FETCH)]
    here = sized(*rows)
    kn.spark_session().read.parquet(str(Path("usage.parquet").absolute())).createOrReplaceGlobalTempView("sized")
    assert here == sized(*rows, usage="global_temp.sized")
    assert here[1] == {high: ("set", "1200000"), slow: ("set", "2000000")}


def test_the_shipped_runbook_is_short() -> None:
    """Nobody reads a report of three hundred lines before it is changed."""
    cells = json.loads(kn.runbooks.find("rightsizing").path.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 80
