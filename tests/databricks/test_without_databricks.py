"""The same notebooks by cron and by Airflow: each line has what its notebook declares."""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import shlex
import shutil
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import MagicMock

import pytest
import yaml

import kadmin_nb as kn
from kadmin_nb.runbooks.catalogue import find

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs/examples"
NOTEBOOKS = ("record_history", "request_logs", "utilisation", "quota_audit")


def parameters_of(command: str) -> tuple[str, dict[str, str]]:
    """The notebook of a `kadmin-nb runbook run`, and its parameters."""
    program, verb, run, name, *words = shlex.split(command)
    assert (program, verb, run) == ("kadmin-nb", "runbook", "run")
    given = [word for before, word in pairwise(words) if before == "-p"]
    return name, dict(word.split("=", 1) for word in given)


def bind(command: str) -> str:
    """Bind the parameters of a command as its notebook does; the name of the notebook."""
    name, given = parameters_of(command)
    runbook = find(str(ROOT / name) if name.endswith(".ipynb") else name)
    declared = {parameter.name: parameter for parameter in runbook.parameters}
    assert set(given) <= set(declared), name
    for key, text in given.items():
        declared[key].bind(text)
    return Path(name).stem


def test_the_script_of_cron_runs_the_notebooks_in_their_order(tmp_path, monkeypatch):
    """The first line of the script was of a version before."""
    said = tmp_path / "said"
    program = tmp_path / "kadmin-nb"
    program.write_text(f'#!/bin/sh\nfor word; do printf "%s\\n" "$word"; done >> {said}; echo >> {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("KADMIN_NB", str(ROOT))
    monkeypatch.setenv("RUNS", str(tmp_path / "runs"))
    subprocess.run([EXAMPLES / "daily.sh"], check=True)
    commands = [shlex.join(["kadmin-nb", *lines.split("\n")]) for lines in said.read_text().strip().split("\n\n")]
    assert [bind(command) for command in commands] == [*NOTEBOOKS]


def test_cron_runs_the_script():
    """The crontab had the name of another folder."""
    lines = (EXAMPLES / "kadmin-nb.cron").read_text().splitlines()
    *_, line = lines
    assert line.split()[6] == "/srv/kadmin_nb/docs/examples/daily.sh"
    assert not any("password" in text.lower() for text in lines)


class Operator:
    """What a BashOperator is given; `>>` says which is first."""

    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **given: Any) -> None:
        self.made.append(given)
        self.task_id = given["task_id"]

    def __rshift__(self, other: Operator) -> None:
        self.made[-1]["after"] = self.task_id


class Dag:
    """A DAG that notes nothing."""

    def __init__(self, name: str, **given: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """As much of Airflow as the example imports."""
    for name in ("airflow", "airflow.sdk", "airflow.providers", "airflow.providers.standard"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    operators = ModuleType("airflow.providers.standard.operators")
    bash = ModuleType("airflow.providers.standard.operators.bash")
    bash.BashOperator, sys.modules["airflow.sdk"].DAG = Operator, Dag  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, operators.__name__, operators)
    monkeypatch.setitem(sys.modules, bash.__name__, bash)
    Operator.made.clear()
    return Operator.made


def test_the_dag_of_airflow_runs_the_notebooks_in_their_order(airflow):
    """A task had a parameter that its notebook did not."""
    runpy.run_path(str(EXAMPLES / "airflow_dag.py"))
    commands = [task["bash_command"].replace("{{ macros.ds_add(ds, -1) }}", "2026-11-24") for task in airflow]
    assert [bind(command) for command in commands] == [*NOTEBOOKS]
    assert [task.get("after") for task in airflow] == [None, "record_history", "usage", "utilisation"]


@pytest.mark.long
@pytest.mark.broker
def test_the_op_of_dagster_runs_the_audit(kafka, tmp_path, monkeypatch):
    """The op passed a parameter that the runbook did not have."""
    dagster = ModuleType("dagster")
    for name in ("Definitions", "OpExecutionContext", "RetryPolicy", "ScheduleDefinition", "MetadataValue"):
        setattr(dagster, name, MagicMock(name=name))
    dagster.job, dagster.op = (lambda work: None), (lambda **_: lambda work: work)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    space = runpy.run_path(str(EXAMPLES / "dagster_job.py"))
    audit, context = space["audit"], SimpleNamespace(run_id="1", add_output_metadata=lambda _: None)
    audit.__globals__.update(CLUSTER=kafka.bootstrap, RUNS=str(tmp_path))
    with contextlib.suppress(kn.KadminError):  # something in the tests' cluster always wants a look
        audit(context)
    assert (tmp_path / "quota_audit-1.ipynb").exists()
    assert json.loads((tmp_path / "quota_audit-1.json").read_text())["parameters"]["cluster"] == kafka.bootstrap


@pytest.mark.broker
def test_a_pull_request_is_planned_and_judged_by_the_workflow(kafka, tmp_path, monkeypatch, unique):
    """The workflow called a verb by the name that it had a year ago."""
    user = unique("user")
    (tmp_path / "kadmin-nb.toml").write_text(f'[profiles.review]\nbootstrap = "{kafka.bootstrap}"\n')
    (tmp_path / "quotas.yaml").write_text(f"kadmin: 1\nquotas:\n  user={user}: {{producer_byte_rate: 5MB/s}}\n")
    shutil.copy(ROOT / "kadmin-nb.policy.example.toml", tmp_path / "kadmin-nb.policy.toml")
    workflow = yaml.safe_load((EXAMPLES / "ci" / "quotas.yml").read_text())["jobs"]["plan"]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    for name, value in workflow["env"].items():
        monkeypatch.setenv(name, value)
    lines = [step["run"] for step in workflow["steps"] if step.get("run", "").startswith("kadmin-nb")]
    planned, judged = (subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True) for line in lines)
    assert (planned.returncode, judged.returncode in (0, 1)) == (0, True), planned.stderr + judged.stderr
    assert user in (tmp_path / "comment.md").read_text()
    assert json.loads((tmp_path / "policy.sarif").read_text())["version"] == "2.1.0"


@pytest.mark.slow
def test_what_pre_commit_runs_reads_the_files(tmp_path):
    """The hook passed a file that `plan from` refused."""
    hooks = yaml.safe_load((EXAMPLES / "ci" / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    schema, policy = (hook["entry"] for hook in hooks)
    shutil.copy(ROOT / "kadmin-nb.policy.example.toml", tmp_path / "our.policy.toml")
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True)
    env = {**os.environ, "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (tmp_path / "check-jsonschema").write_text('#!/bin/sh\necho "$@"\n')  # which is the library's own matter
    (tmp_path / "check-jsonschema").chmod(0o755)
    (tmp_path / ".git").mkdir()
    assert run([*shlex.split(policy), "our.policy.toml"], env=env).returncode == 0
    checked = run([*shlex.split(schema), "quotas.yaml"], env=env)
    assert checked.stdout.split() == ["--schemafile", ".git/declared.json", "quotas.yaml"]
    assert json.loads((tmp_path / ".git" / "declared.json").read_text())["required"] == ["kadmin"]
