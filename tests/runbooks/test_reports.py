"""quota_audit and drift_report on a real broker, as Databricks tasks: what they find, and that they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from kadmin_nb.runbooks.checks import Verdicts
from tests.runbooks.databricks_stand_in import as_task
from tests.runbooks.notebook_output import page_of

pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

Unique = Callable[[str], str]
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def limited(cluster: kn.Cluster, unique: Unique) -> str:
    """A user with a limit of 1 MB/s."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1e6, user=(user := unique("user")))
    cluster.apply(stage.plan()).raise_for_errors()
    return user


def usage_of(user: str, rate: float) -> str:
    """A USAGE file: what a user produced in ten seconds."""
    window = {"window_start": START, "window_end": START + timedelta(seconds=10), "source": "test"}
    row = {"broker": 1, "user": user, "client_id": "app", "key": "producer_byte_rate", "value": rate, **window}
    parquet.write_table(schemas.table(schemas.USAGE, [row]), "usage.parquet")
    return "usage.parquet"


POLICY = '''def no_free_lunch(quotas):
    """because"""
    return quotas[(quotas.key == "producer_byte_rate") & (quotas.value < 1)]
'''

OK = {
    "custom callbacks": "There are none: these quotas decide.",
    "quotas": "Each quota can apply, and default quotas limit how much any client may produce and consume.",
    "known clients without a limit": "Each of them has a limit to produce and to consume.",
    "configs": "Nothing in the configs needs a look.",
    "clients that their limits throttle": "No client would have been throttled.",
    "the policy": "Every rule is kept.",
}
"""What each check of an audit says where all is well."""


def verdicts(said: dict[str, Any]) -> dict[str, str]:
    return {row["check"]: row["verdict"] for row in said["verdicts"]}


def test_the_audit_says_what_wants_a_look(kafka: LocalKafka, cluster: kn.Cluster, limited: str) -> None:
    """The quarterly review was a screenshot."""
    before = cluster.quotas.describe().to_arrow()
    said = as_task("quota_audit", cluster=kafka.bootstrap, usage=usage_of(limited, 3e6))
    assert (said["state"], said["changed"], said["plan"]) == ("finished", False, [])
    found = verdicts(said)
    assert found["clients that their limits throttle"] == "look"
    assert found["known clients without a limit"] == "look"
    assert found["custom callbacks"] == "ok"
    assert found["the policy"] == "not looked"
    assert cluster.quotas.describe().to_arrow().equals(before)


def test_a_check_that_is_ok_says_what_is_well(kafka: LocalKafka, limited: str, folder: Path) -> None:
    """custom callbacks: ok. They decide on the limits, not these quotas."""
    (folder / "policies.py").write_text(POLICY)
    given = {"usage": usage_of(limited, 1.0), "policy": "policies.py"}
    said = as_task("quota_audit", cluster=kafka.bootstrap, **given)["verdicts"]
    assert {row["check"] for row in said} == {*OK}
    assert {row["verdict"] for row in said} == {"ok", "look"}
    assert [row for row in said if (row["verdict"] == "ok") != (row["message"] == OK[row["check"]])] == []


def test_what_was_not_given_is_not_called_well(kafka: LocalKafka) -> None:
    """It was green, and nobody had looked at the usage."""
    found = verdicts(as_task("quota_audit", cluster=kafka.bootstrap))
    assert found["clients that their limits throttle"] == "not looked"
    assert found["known clients without a limit"] == "not looked"


def test_a_job_may_fail_where_something_wants_a_look(kafka: LocalKafka, limited: str, folder: Path) -> None:
    """Nobody reads a green report."""
    parquet.write_table(pa.table({"user": ["free"], "client_id": ["x"]}), "clients.parquet")
    with pytest.raises(kn.KadminError, match=r"checks needs? a look: .*known clients without a limit"):
        as_task("quota_audit", cluster=kafka.bootstrap, clients="clients.parquet", fail=True)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"usage": "none.parquet"}, kn.NotFound, "no such file: none.parquet"),
        ({"usage": "main.fleet.usage"}, kn.KadminError, "main.*fleet.*usage"),  # Spark says it where it is active
        ({"usage": "text.parquet"}, kn.Invalid, "text.parquet cannot be read"),
        ({"clients": "other.csv"}, kn.UsageError, "no column user"),
        ({"policy": "none.py"}, kn.NotFound, "none.py"),
        ({"policy": "other.csv"}, kn.KadminError, "other.csv"),
        ({"cluster_id": "another"}, kn.errors.WrongCluster, "meant for cluster another"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else None,
)
def test_a_file_that_is_none_is_one_line(
    kafka: LocalKafka, folder: Path, given: dict[str, str], kind: type, words: str
) -> None:
    """ArrowInvalid: Parquet magic bytes not found."""
    (folder / "text.parquet").write_text("no")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(kind, match=words) as refused:
        as_task("quota_audit", cluster=kafka.bootstrap, **given)
    assert "\n" not in str(refused.value)


def test_drift_is_told_and_nothing_is_changed(
    kafka: LocalKafka, cluster: kn.Cluster, limited: str, folder: Path
) -> None:
    """Somebody had changed a limit by hand, and the next deployment took it back."""
    kn.open_history("then").record(cluster.snapshot())
    given = {"cluster": kafka.bootstrap, "against": "history:then"}
    assert verdicts(as_task("drift_report", **given)) == {"drift": "ok"}
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 2e6, user=limited)
    cluster.apply(stage.plan()).raise_for_errors()
    said = as_task("drift_report", **given)
    assert [(row["verdict"], row["found"]) for row in said["verdicts"]] == [("look", 1)]
    with pytest.raises(kn.KadminError, match="1 of 1 checks needs a look: drift"):
        as_task("drift_report", **given, fail=True)


def test_drift_against_a_history(kafka: LocalKafka, cluster: kn.Cluster, folder: Path) -> None:
    """The history was there, and the report could not read it."""
    pytest.importorskip("deltalake")
    kn.open_history(folder / "past").record(cluster.snapshot())
    said = as_task("drift_report", cluster=kafka.bootstrap, against=f"history:{folder / 'past'}@now")
    assert verdicts(said) == {"drift": "ok"}


def test_a_history_is_recorded(kafka: LocalKafka, cluster: kn.Cluster, limited: str, folder: Path) -> None:
    """The report read its limits from a history, and nothing recorded one."""
    pytest.importorskip("deltalake")
    said = as_task("record_history", cluster=kafka.bootstrap, history=str(folder / "recorded"))
    assert (said["ok"], said["changed"], said["cluster_id"]) == (True, False, cluster.id)
    as_task("record_history", cluster=kafka.bootstrap, history=str(folder / "recorded"))
    now = kn.open_history(folder / "recorded").as_of("now")
    stored = cluster.quotas.describe().to_arrow()
    assert now.quotas.to_arrow().select(stored.column_names).to_pylist() == stored.to_pylist() != []
    with pytest.raises(kn.UsageError, match="history is not set"):
        as_task("record_history", cluster=kafka.bootstrap)
    with pytest.raises(kn.errors.WrongCluster, match="meant for cluster another"):
        as_task("record_history", cluster=kafka.bootstrap, history=str(folder / "recorded"), cluster_id="another")


@pytest.mark.parametrize(
    ("against", "kind"), [("", kn.UsageError), ("none.parquet", kn.NotFound), ("history:none@now", kn.NotFound)]
)
def test_without_anything_to_compare_with_it_is_one_line(kafka: LocalKafka, against: str, kind: type) -> None:
    """It compared the cluster with nothing, and found no drift."""
    with pytest.raises(kind):
        as_task("drift_report", cluster=kafka.bootstrap, against=against)


def test_verdicts_show_themselves() -> None:
    """The table was a list of dictionaries."""
    verdicts = Verdicts()
    verdicts.look("one", [1, 2], look="two", ok="none")
    verdicts.pass_over("three", "\x1bfour")
    assert "look" in repr(verdicts)
    assert "\x1b" not in repr(verdicts)
    assert "<table" in verdicts._repr_html_()


def test_a_hostile_name_stays_a_name_in_the_page(kafka: LocalKafka, cluster: kn.Cluster, tmp_path: Path) -> None:
    """A user's name ran a script in my browser."""
    name, stage = '<b onmouseover="alert(1)">bold</b>', cluster.new_stage()
    stage.set_quota("producer_byte_rate", 740_000, user=name)
    stage.plan().apply().raise_for_errors()
    try:
        text = page_of(kn.runbooks.run("quota_audit", {"cluster": kafka.bootstrap}, output=tmp_path).document)
        assert "onmouseover" in text
        assert "<b onmouseover" not in text
    finally:
        stage = cluster.new_stage()
        stage.remove_quota("producer_byte_rate", user=name)
        stage.plan().apply()
