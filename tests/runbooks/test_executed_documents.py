"""Every shipped runbook under papermill, one after the other on a real broker, and what their documents hold.

A person's home folder has the login, the journals and the inputs in it; a client has a name that is a script.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import javaproperties
import pyarrow as pa
import pytest
from pyarrow import parquet

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.schemas import table
from kadmin_nb.local import LocalKafka
from kadmin_nb.runbooks import Run
from kadmin_nb.runbooks.run_record import RunRecord
from tests.persons import let_in
from tests.runbooks.databricks_stand_in import RUNBOOKS, as_task
from tests.runbooks.notebook_output import page_of

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.secure]

NAMES = sorted(place.stem for place in RUNBOOKS.glob("*.ipynb"))
OLD_CLIENTS = RUNBOOKS.parents[1] / "docs" / "examples" / "kafka-request.log"
STATES = {
    **dict.fromkeys(["apply_plan", "rollback_plan"], "applied"),
    **dict.fromkeys(["change_configs", "change_quotas", "onboard_client"], "planned"),
    **dict.fromkeys(["drift_report", "quota_audit", "record_history", "rightsizing", "capacity", "reach"], "finished"),
    **dict.fromkeys(["showback", "upgrade_check"], "finished"),
}
"""What each run ends with, but for `offboard_client`: it runs beside the one that it looks for."""
HOSTILE = "</script><img src=x onerror=alert(1)>"
CANARY = "canary-7f3a-of-the-environment"


@pytest.fixture(scope="module")
def home(secure_kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home folder of somebody who logs in with a password."""
    home = tmp_path_factory.mktemp("home-of-mia")
    shutil.copy(secure_kafka.client_properties, home / "prod.properties")
    parquet.write_table(pa.table({"user": [HOSTILE, "bob"], "client_id": ["app", "app"]}), home / "clients.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("KADMIN_STATE", str(home / "state"))
        patch.setenv("KADMIN_CANARY", CANARY)
        patch.chdir(home)
        yield home


def _used(user: str) -> pa.Table:
    """USAGE of a client: one window."""
    start = datetime(2026, 11, 21, 12, tzinfo=UTC)
    window = {"window_start": start, "window_end": start + timedelta(seconds=1), "value": 5.0, "source": "test"}
    return table(schemas.USAGE, [{"broker": 1, "user": user, "client_id": "", "key": "producer_byte_rate", **window}])


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.long)], ids=["some", "all"])
def runs(home: Path, secure_kafka: LocalKafka, request: pytest.FixtureRequest) -> dict[str, Run]:
    """Runs, two at a time: a client's plan is made, applied and taken back; an audit looks, and of all each other."""
    done: dict[str, Run] = {}

    def run(name: str, **given: object) -> RunRecord:
        given = given if name in ("showback", "upgrade_check") else {"cluster": str(home / "prod.properties"), **given}
        done[name] = kn.runbooks.run(name, given, output=home / f"{name}.ipynb")
        return done[name].result

    def in_and_out() -> None:
        saved, clients = str(home / "p.json"), str(home / "clients.parquet")
        whom = {"user": HOSTILE, "client_id": "app", "producer_byte_rate": "5MB/s", "clients": clients}
        planned = run("onboard_client", **whom, save=saved, reason="new")
        with secure_kafka.connect("bob") as bobs:
            bobs.plans.approve(kn.Plan.load(saved), "read it").save(saved)
        run("apply_plan", plan=saved, plan_id=planned.plan_id, apply=True, require_approval=True)
        run("rollback_plan", plan_id=planned.plan_id, apply=True)

    def looking() -> None:
        run("quota_audit", clients=str(home / "clients.parquet"))
        if not request.param:
            return
        run("drift_report", against=f"history:{home / 'before'}")
        run("change_quotas", changes=["set request_percentage=50% user=mia"])
        run("change_configs", changes=["set consumer.session.timeout.ms=50000 group=mia"])
        run("offboard_client", user=HOSTILE)
        run("showback", usage=str(home / "usage.parquet"), owners=str(home / "owners.csv"))
        run("upgrade_check", log=str(OLD_CLIENTS), broker="1", tz="UTC")
        run("rightsizing", usage=str(home / "usage.parquet"), days=0)
        run("capacity", usage=str(home / "usage.parquet"))
        run("reach", user=HOSTILE, usage=str(home / "usage.parquet"))
        run("record_history", history=str(home / "history"))

    parquet.write_table(_used(HOSTILE), home / "usage.parquet")
    (home / "owners.csv").write_text("user,client_id,team\nbob,,bobs\n")
    with kn.connect(str(home / "prod.properties")) as cluster:
        kn.open_history(home / "before").record(cluster.snapshot())
    let_in(secure_kafka, "bob")
    with ThreadPoolExecutor(2) as pool:
        for chain in [pool.submit(one) for one in (in_and_out, looking)]:
            chain.result()
    return done


def test_every_shipped_runbook_runs(runs: dict[str, Run]) -> None:
    """One had a typing error in its fourth cell."""
    states = {name: run.result.state for name, run in runs.items()}
    assert states.pop("offboard_client", "planned") in ("planned", "nothing to do")
    assert states == {name: state for name, state in STATES.items() if name in runs}
    assert len(runs) == 4 or sorted(runs) == NAMES


def test_a_document_has_no_secret_and_no_widget_state(runs: dict[str, Run], secure_kafka: LocalKafka) -> None:
    """The published report told my password."""
    login = javaproperties.loads(secure_kafka.client_properties.read_text())["sasl.jaas.config"]
    password = login.split('password="')[1].split('"')[0]
    for run in runs.values():
        for place in (run.document, run.record):
            text = place.read_text()
            assert not [word for word in (password, CANARY) if word in text], place
        metadata = json.loads(run.document.read_text())["metadata"]
        assert "widgets" not in metadata


def test_a_document_says_what_was_done_and_where_the_journal_is(runs: dict[str, Run], outputs: Any) -> None:
    """The auditor asked which plan it had been."""
    run = runs["apply_plan"]
    text, said = outputs(run.document), run.result
    assert "/state/journal/" in said.journal
    for fact in (
        said.plan_id,
        said.changes_id,
        said.journal,
        said.chain_head,
        "1 verified",
        "new",
        "User:bob",
    ):
        assert fact in text, fact
    assert "look" in outputs(runs["quota_audit"].document)


def test_a_name_is_no_script_in_the_page(runs: dict[str, Run]) -> None:
    """The report of all clients ran one of their names."""
    text = page_of(runs["onboard_client"].document)
    assert "onerror=alert(1)" in text
    assert "<img src=x" not in text
    assert HOSTILE not in text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"clutser": "prod"}, "unknown parameter clutser"),
        ({"cluster_id": 7}, "cluster_id is declared str"),
        ({"cluster_id": "a:b@c"}, "looks like a secret"),
    ],
    ids=["unknown", "wrong", "secret"],
)
def test_a_parameter_that_is_none_is_refused_before_anything_starts(
    name: str, given: dict[str, object], words: str, tmp_path: Path
) -> None:
    """It ran with the default instead."""
    with pytest.raises(kn.UsageError, match=words):
        kn.runbooks.run(name, given, output=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_tasks_parameter_that_is_none_is_refused(name: str) -> None:
    """It ran with the default instead, on Databricks too."""
    with pytest.raises(kn.UsageError, match="unknown parameter clutser"):
        as_task(name, clutser="prod")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "record_history"])  # which has no flag
def test_a_tasks_flag_is_true_or_false(name: str) -> None:
    """On Databricks everything is text, and perhaps was true."""
    reports = ("capacity", "quota_audit", "drift_report", "reach", "rightsizing", "showback", "upgrade_check")
    flag = "fail" if name in reports else "apply"
    with pytest.raises(kn.UsageError, match=f"{flag} is declared bool"):
        as_task(name, **{flag: "perhaps"})
