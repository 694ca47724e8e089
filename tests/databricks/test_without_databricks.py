"""The same notebooks by cron and by Airflow: each line has what its notebook declares."""

from __future__ import annotations

import runpy
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

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
