"""The same notebooks by cron and by Airflow: each line has what its notebook declares."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def test_cron_mails_what_failed_and_nothing_else(tmp_path):
    """A mail each morning, that all was well; and where it was not, cron did not find kadmin-nb."""
    crontab = EXAMPLES / "cron.d" / "kadmin-nb"
    assert "." not in crontab.name  # cron passes over it
    *lines, last = [line for line in crontab.read_text().splitlines() if line and not line.startswith("#")]
    *when, user, command = last.split(maxsplit=6)
    assert (when, user, command) == ([*"04***"], "kadmin", "/srv/kadmin_nb/docs/examples/daily.sh")
    variables = dict(line.split("=", 1) for line in lines)
    assert variables["PATH"].startswith("/opt/kadmin_nb/bin:")
    program = tmp_path / "kadmin-nb"
    program.write_text('#!/bin/sh\necho "$3 is seen"; [ "$3" != "$FAILS" ] || exit 3\n')
    program.chmod(0o755)
    here = {"PATH": f"{tmp_path}:{variables['PATH']}", "RUNS": str(tmp_path / "runs"), "KADMIN_NB": str(ROOT)}
    for fails, ended, mailed in (
        ("", 0, ""),
        ("quota_audit", 3, "audit ended with exit status 3:\nquota_audit is seen\n"),
    ):
        done = subprocess.run(
            ["/bin/sh", "-c", f"exec {EXAMPLES}/daily.sh"],
            env={**variables, **here, "FAILS": fails}, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (ended, mailed, "")


def test_the_lines_of_the_dag_of_airflow_have_what_their_notebooks_declare():
    """A task had a parameter that its notebook did not."""
    tree = ast.parse((EXAMPLES / "airflow_dag.py").read_text())
    tree.body = [statement for statement in tree.body if isinstance(statement, ast.Assign)]
    values: dict[str, Any] = {"os": os}
    exec(compile(tree, "airflow_dag.py", "exec"), values)
    lines = [line.replace(values["DAY"], "2026-11-24") for line in values["LINES"].values()]
    assert [bind(f"kadmin-nb runbook run {line}") for line in lines] == [*NOTEBOOKS]


@pytest.mark.broker
def test_a_pull_request_is_planned_and_judged_by_the_workflow(kafka, tmp_path, monkeypatch, unique):
    """The workflow called a verb by the name that it had a year ago."""
    user = unique("user")
    (tmp_path / "kadmin-nb.toml").write_text(f'[profiles.review]\nbootstrap = "{kafka.bootstrap}"\n')
    (tmp_path / "quotas.yaml").write_text(f"kadmin: 1\nquotas:\n  user={user}: {{producer_byte_rate: 5MB/s}}\n")
    shutil.copy(ROOT / "kadmin-nb.policies.example.py", tmp_path / "policies.py")
    (tmp_path / "policies.py").chmod(0o644)
    workflow = yaml.safe_load((EXAMPLES / "ci" / "quotas.yml").read_text())["jobs"]["plan"]
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    for name, value in workflow["env"].items():
        monkeypatch.setenv(name, value)
    lines = [step["run"] for step in workflow["steps"] if step.get("run", "").startswith("kadmin-nb")]
    planned, judged = (subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True) for line in lines)
    assert (planned.returncode, judged.returncode in (0, 1)) == (0, True), planned.stderr + judged.stderr
    assert user in (tmp_path / "comment.md").read_text()


@pytest.mark.slow
def test_what_pre_commit_runs_reads_the_files(tmp_path):
    """The hook passed a file that `plan from` refused."""
    hooks = yaml.safe_load((EXAMPLES / "ci" / "pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (schema,) = (hook["entry"] for hook in hooks)
    run = partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True)
    env = {**os.environ, "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (tmp_path / "check-jsonschema").write_text('#!/bin/sh\necho "$@"\n')  # which is the library's own matter
    (tmp_path / "check-jsonschema").chmod(0o755)
    (tmp_path / ".git").mkdir()
    checked = run([*shlex.split(schema), "quotas.yaml"], env=env)
    assert checked.stdout.split() == ["--schemafile", ".git/declared.json", "quotas.yaml"]
    assert json.loads((tmp_path / ".git" / "declared.json").read_text())["required"] == ["kadmin"]
