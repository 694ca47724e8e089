"""The examples under the real Airflow, Dagster and Prefect: a job ends well, one is refused, one is killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from tests.environments import ROOT, programs
from tests.waiting import eventually

pytestmark = [pytest.mark.long, pytest.mark.broker]

EXAMPLES = ROOT / "docs/examples"
LONGEST = 900
"""Seconds that a tool may take, on a busy machine too."""
OTHERS = {
    "cluster": "prod",
    "apply": True,
    "changes": ["set producer_byte_rate=5MB/s user=mia"],
    "changes_id": "0" * 12,
}
"""Parameters of `change_quotas` that are refused: these are not the changes that were reviewed."""
REFUSED = "but 000000000000 were reviewed"
WAITS = """
import os, time
from pathlib import Path
import kadmin_nb as kn

given = kn.runbooks.bind(globals())
with kn.runbooks.record("waits", given):
    Path(given.says).write_text(str(os.getpid()))
    time.sleep(3600)
"""


class Place:
    """The folder of a test, in which the examples lie, with delays that a test can wait for, and what a tool needs."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.runs, self.clone = folder, folder / "runs", folder / "clone"
        for name in ("runs", "clone", "examples", "dagster", "airflow"):
            (folder / name).mkdir()
        (folder / "kadmin-nb.toml").write_text(f'[profiles.prod]\nbootstrap = "{bootstrap}"\n')
        (folder / "dagster/dagster.yaml").write_text("telemetry: {enabled: false}\n")
        self.env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "magics", folder / "examples"))),
            **{"KADMIN_CONFIG": str(folder / "kadmin-nb.toml"), "KADMIN_STATE": str(folder / "state")},
            **{"RUNS": str(self.runs), "KADMIN_NB": str(self.clone), "DO_NOT_TRACK": "1"},
            **{"AIRFLOW_HOME": str(folder / "airflow"), "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "examples")},
            **{"AIRFLOW__CORE__LOAD_EXAMPLES": "false", "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "false"},
            **{"DAGSTER_HOME": str(folder / "dagster"), "PREFECT_HOME": str(folder / "prefect")},
            **{"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300"},
        }

    def example(self, name: str, changes: Mapping[str, str]) -> Path:
        """A copy of an example with these texts replaced."""
        text = (EXAMPLES / name).read_text()
        for before, after in changes.items():
            assert before in text, before
            text = text.replace(before, after)
        return self.write(name, text)

    def write(self, name: str, text: str) -> Path:
        """A file beside the examples."""
        file = self.folder / "examples" / name
        file.write_text(text)
        return file

    def run(self, *words: object) -> tuple[int, str]:
        """How a program ended, and what it printed."""
        done = subprocess.run(
            [*map(str, words)], env=self.env, cwd=self.folder, text=True, timeout=LONGEST, **_TOGETHER
        )
        return done.returncode, done.stdout

    def waits(self) -> dict[str, Any]:
        """The name and parameters of a runbook that waits, and says in which process."""
        cell = nbformat.v4.new_code_cell('says: str = ""  # a file for the number of the process')
        cell.metadata.tags = ["parameters"]
        notebook = nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell(WAITS)])
        nbformat.write(notebook, self.folder / "waits.ipynb")
        return {"name": str(self.folder / "waits.ipynb"), "parameters": {"says": str(self.folder / "says")}}

    def end(self, *words: object) -> None:
        """Start a program, and end it as a tool's own cancel does, as soon as its runbook waits: no kernel stays."""
        says, log = self.folder / "says", self.folder / "log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [*map(str, words)], env=self.env, cwd=self.folder, stdout=file, stderr=file, start_new_session=True
            )
            try:
                eventually(lambda: says.exists() or process.poll() is not None, True, LONGEST)
                assert process.poll() is None, log.read_text()
                process.send_signal(signal.SIGTERM)
                assert process.wait(LONGEST) != 0
                eventually(lambda: _is_there(int(says.read_text())), False, 60)
            finally:
                with contextlib.suppress(ProcessLookupError):  # a server that Prefect starts stays without it
                    os.killpg(process.pid, signal.SIGKILL)

    def records(self) -> list[dict[str, Any]]:
        """The records of all tries, in the order of their ends."""
        files = sorted(self.runs.rglob("*.json"), key=lambda file: file.stat().st_mtime)
        assert all(file.with_suffix(".ipynb").exists() for file in files)
        assert not [*self.clone.iterdir()], "a document went into the clone"
        return [json.loads(file.read_text()) for file in files]


_TOGETHER: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def _is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.fixture
def place(kafka: LocalKafka, tmp_path: Path) -> Place:
    return Place(tmp_path, kafka.bootstrap)


# Airflow


@pytest.fixture
def airflow(place: Place) -> Path:
    """The programs of Airflow, with a database; `kadmin-nb` is on its PATH, and notes what needs a Spark."""
    bin = place.folder / "bin"
    bin.mkdir()
    real = Path(sys.executable).parent / "kadmin-nb"
    note = f"""case $3 in databricks/*) printf '%s\\n' "$*" >>'{place.folder}/noted'; exit;; esac"""
    (bin / "kadmin-nb").write_text(f"""#!/bin/sh\n{note}\nexec '{real}' "$@"\n""")
    (bin / "kadmin-nb").chmod(0o755)
    place.env["PATH"] = f"{bin}:{place.env['PATH']}"
    tool = programs("apache-airflow")
    assert place.run(tool / "airflow", "db", "migrate")[0] == 0
    history = {'"spark_catalog.kafka"': repr(str(place.folder / "history")), "minutes=5": "seconds=1"}
    place.example("airflow_dag.py", {**history, "fail=true": "fail=false"})
    return tool


def test_a_day_of_airflow_without_a_logical_date_ends_well(place: Place, airflow: Path) -> None:
    """'ds' is undefined: the DAG could not be triggered by hand."""
    line = "from airflow_dag import dag; run = dag.test(logical_date=None); print(run.logical_date, run.state)"
    ended, said = place.run(airflow / "python", "-c", line)
    assert (ended, said.splitlines()[-1]) == (0, "None success"), said
    assert [(record["runbook"], record["ok"]) for record in place.records()] == [
        ("record_history", True),
        ("quota_audit", True),
    ]
    noted = (place.folder / "noted").read_text().splitlines()
    assert [re.findall(r"day=(\S+)", line) for line in noted] == [[f"{datetime.now(UTC) - timedelta(days=1):%F}"]] * 2


ONE_TASK = """
from datetime import timedelta
from airflow.sdk import DAG
from airflow_dag import RunbookOperator

with DAG("one_task", default_args={{"retries": {retries}, "retry_delay": timedelta(seconds=1)}}) as dag:
    RunbookOperator(task_id="one", line={line!r})
"""


def test_what_airflow_was_refused_is_not_tried_again(place: Place, airflow: Path) -> None:
    """The alarm came ten minutes late, after two more tries of what had been refused."""
    words = " ".join(shlex.quote(f"-p{name}={_typed(value)}") for name, value in OTHERS.items())
    place.write("one_task.py", ONE_TASK.format(line=f"change_quotas {words}", retries=2))
    ended, said = place.run(airflow / "airflow", "dags", "test", "one_task")
    assert ended != 0
    assert re.search(r"AirflowFailException: exit code 5: .* so does \S+/one-1.ipynb", said), said
    assert REFUSED in said
    assert "Hint: " in said
    assert [(record["ok"], REFUSED in record["error"]["message"]) for record in place.records()] == [(False, True)]


def test_what_airflow_ends_leaves_no_kernel_and_no_record_of_success(place: Place, airflow: Path) -> None:
    """ "ok": true for ever, of a run that was killed."""
    waits = place.waits()
    line = f"{waits['name']} -p says={waits['parameters']['says']}"
    place.write("one_task.py", ONE_TASK.format(line=line, retries=0))
    place.end(airflow / "airflow", "dags", "test", "one_task")
    assert [bool(record["ok"]) for record in place.records()] == [False]


# Dagster

METADATA = """
import json
from dagster import DagsterInstance
with DagsterInstance.get() as instance:
    (run,) = instance.get_runs()
    events = [entry.dagster_event for entry in instance.all_logs(run.run_id) if entry.dagster_event]
    ended = [event for event in events if event.is_step_failure or event.is_successful_output]
    data = [e.step_failure_data.user_failure_data if e.is_step_failure else e.step_output_data for e in ended]
    print(json.dumps([{name: value.value for name, value in each.metadata.items()} for each in data if each]))
"""


def _dagster(place: Place, config: dict[str, Any]) -> list[object]:
    """The words that run the job with this config."""
    job = place.example("dagster_job.py", {"delay=300": "delay=1"})
    config_file = place.write("config.yaml", yaml.safe_dump({"ops": {"runbook": {"config": config}}}))
    return [
        *(programs("dagster") / "dagster", "job", "execute"),
        "-f",
        job,
        "-j",
        "kadmin_nb_runbook",
        "-c",
        config_file,
    ]


def _metadata(place: Place) -> list[dict[str, str]]:
    return list(json.loads(place.run(programs("dagster") / "python", "-c", METADATA)[1].splitlines()[-1]))


def test_a_run_of_dagster_ends_well_and_has_its_document(place: Place) -> None:
    """The op passed a parameter that the runbook did not have."""
    ended, said = place.run(*_dagster(place, {"parameters": {"cluster": "prod"}}))
    assert ended == 0, said
    assert [(record["runbook"], record["ok"]) for record in place.records()] == [("quota_audit", True)]
    assert [*map(str, place.runs.rglob("*.ipynb"))] == [line["document"] for line in _metadata(place)]


def test_a_failed_run_of_dagster_names_its_document_and_what_helps(place: Place) -> None:
    """Only a run that ended well had its document; one that failed had a stack trace of Dagster's."""
    ended, said = place.run(*_dagster(place, {"name": "change_quotas", "parameters": OTHERS}))
    assert (ended != 0, REFUSED in said) == (True, True), said
    assert [record["ok"] for record in place.records()] == [False]
    (metadata,) = _metadata(place)
    assert [metadata["document"]] == [*map(str, place.runs.rglob("*.ipynb"))]
    assert metadata["document"] in metadata["hint"]


@pytest.mark.parametrize(
    ("config", "tries"),
    [({}, 1), ({"parameters": {"cluster": "127.0.0.1:1"}}, 3)],
    ids=["the audit found something", "no broker answers"],
)
def test_dagster_tries_again_only_what_may_pass(place: Place, config: dict[str, Any], tries: int) -> None:
    """The alarm of an audit came ten minutes late, after two more audits that found the same."""
    assert place.run(*_dagster(place, config))[0] != 0
    assert [record["ok"] for record in place.records()] == [False] * tries


def test_what_dagster_ends_leaves_no_kernel_and_no_record_of_success(place: Place) -> None:
    """ "ok": true for ever, of a run that was killed."""
    place.end(*_dagster(place, place.waits()))
    assert [bool(record["ok"]) for record in place.records()] == [False]


# Prefect


def _prefect(place: Place, line: str) -> list[object]:
    """The words that run a line with the example's names."""
    place.example("prefect_flow.py", {"retry_delay_seconds=300": "retry_delay_seconds=1"})
    return [programs("prefect") / "python", "-c", f"from prefect_flow import *; {line}"]


def test_a_flow_of_prefect_applies_a_reviewed_plan_and_no_other(place: Place, cluster: kn.Cluster, unique) -> None:
    """A plan that was refused was tried two more times."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5e6, user=unique("user"))
    plan = stage.plan()
    plan.save(place.folder / "plan.json")
    for plan_id, ok in (("0" * 12, False), (plan.id, True)):
        line = f"apply_reviewed_plan({str(place.folder / 'plan.json')!r}, {plan_id!r})"
        ended, said = place.run(*_prefect(place, line))
        assert (ended == 0, "\nHint: Nothing was sent." in said) == (ok, not ok), said
    assert [(record["ok"], record["state"]) for record in place.records()] == [(False, "failed"), (True, "applied")]


def test_what_prefect_ends_leaves_no_kernel_and_no_record_of_success(place: Place) -> None:
    """ "ok": true for ever, of a run that was killed."""
    waits = place.waits()
    words = f"{waits['name']!r}, {waits['parameters']!r}"
    place.write(
        "waits.py", f"from prefect_flow import *\n\n@flow\ndef waits():\n    runbook.with_options(retries=0)({words})\n"
    )
    place.end(*_prefect(place, "import waits; waits.waits()"))
    assert [bool(record["ok"]) for record in place.records()] == [False]


def _typed(value: object) -> str:
    """A value as `-p` takes it."""
    return value if isinstance(value, str) else json.dumps(value)
