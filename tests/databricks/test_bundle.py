"""The asset bundle, as far as it can be judged without Databricks: what it names is there, and fits.

Nothing here speaks to a workspace. The files were also held against the JSON schema of the Databricks CLI 1.9, by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kadmin_nb.profiles import toml
from kadmin_nb.runbooks.catalogue import Runbook

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "databricks"
FILES = sorted([BUNDLE / "databricks.yml", *BUNDLE.glob("resources/*.yml")])
MAIN: dict[str, Any] = yaml.safe_load((BUNDLE / "databricks.yml").read_text())
JOBS = {
    name: (file, job)
    for file in FILES[1:] if file.parent.name == "resources"
    for name, job in yaml.safe_load(file.read_text())["resources"]["jobs"].items()
}  # fmt: skip


def _notebook(name: str) -> Path:
    file, job = JOBS[name]
    (task,) = job["tasks"]
    return (file.parent / task["notebook_task"]["notebook_path"]).resolve()


def test_the_jobs_are_those_that_are_promised() -> None:
    """A job was in the docs and nowhere else."""
    assert MAIN["include"] == ["resources/*.yml"]
    assert {name: str(_notebook(name).relative_to(ROOT)) for name in JOBS} == {
        "quota_audit": "notebooks/runbooks/quota_audit.ipynb",
        "record_history": "notebooks/runbooks/record_history.ipynb",
        "request_logs": "databricks/request_logs.ipynb",
    }


def test_the_history_is_recorded_before_limits_are_read_from_it() -> None:
    """request_logs took its limits from a history that nothing ever wrote."""
    given = {name: {one["name"]: one["default"] for one in job["parameters"]} for name, (_, job) in JOBS.items()}
    assert given["record_history"]["history"] == given["request_logs"]["limits"]
    when = {name: job["schedule"]["quartz_cron_expression"].split() for name, (_, job) in JOBS.items()}
    assert int(when["record_history"][2]) < int(when["request_logs"][2])
    assert JOBS["record_history"][1]["schedule"]["timezone_id"] == JOBS["request_logs"][1]["schedule"]["timezone_id"]


@pytest.mark.parametrize("name", JOBS)
def test_a_job_passes_what_its_notebook_declares(name: str) -> None:
    """The notebook refused the first run: there is no parameter clutser."""
    given = {one["name"]: one["default"] for one in JOBS[name][1]["parameters"]}
    declared = Runbook.read(_notebook(name)).parameters
    assert list(given) == [one.name for one in declared]
    for one in declared:
        one.bind(given[one.name])


@pytest.mark.parametrize("name", JOBS)
def test_the_notebook_goes_to_the_workspace(name: str) -> None:
    """Notebook not found: only the bundle's own folder had been synced."""
    folders = [(BUNDLE / path).resolve() for path in MAIN["sync"]["paths"]]
    assert any(_notebook(name).is_relative_to(folder) for folder in folders)
    assert ROOT not in folders


@pytest.mark.parametrize("name", JOBS)
def test_each_task_has_compute_and_the_wheel(name: str) -> None:
    """ModuleNotFoundError: kadmin_nb."""
    file, job = JOBS[name]
    (task,) = job["tasks"]
    clusters = {one["job_cluster_key"]: one["new_cluster"] for one in job.get("job_clusters", [])}
    environments = {one["environment_key"]: one["spec"] for one in job.get("environments", [])}
    if key := task.get("environment_key"):
        wheels = environments[key]["dependencies"]
        assert int(environments[key]["environment_version"]) >= 4
    else:
        assert clusters[task["job_cluster_key"]]["spark_version"] == "${var.spark_version}"
        wheels = [library["whl"] for library in task["libraries"]]
    (built,) = MAIN["artifacts"]["kadmin_nb"]["files"]
    assert [(file.parent / wheel).resolve() for wheel in wheels] == [(BUNDLE / built["source"]).resolve()]


def test_the_runtime_has_the_spark_that_we_need() -> None:
    """createDataFrame() knew no Arrow table: it was Spark 3.5."""
    major, minor = MAIN["variables"]["spark_version"]["default"].split(".")[:2]
    assert (int(major), int(minor)) >= (17, 3)


def test_what_is_referred_to_is_declared() -> None:
    """reference does not exist: ${var.schama}."""
    said = {one for file in FILES for one in re.findall(r"\$\{([^}]+)\}", file.read_text())}
    known = {f"var.{name}" for name in MAIN["variables"]}
    theirs = {"bundle.name", "bundle.target", "workspace.current_user.userName", "workspace.file_path"}
    assert said <= known | theirs
    assert known <= said


def test_there_is_a_target_to_try_and_one_to_trust() -> None:
    """The first try ran each morning under the colleagues' eyes."""
    modes = {name: (target["mode"], target.get("default", False)) for name, target in MAIN["targets"].items()}
    assert modes == {"dev": ("development", True), "prod": ("production", False)}


def test_no_workspace_and_no_secret_stands_in_it() -> None:
    """The bundle that everybody copied deployed to ours."""
    for file in (*FILES, BUNDLE / "request_logs.ipynb"):
        assert not re.search(r"https?://|\bhost:|password|token|secret\w*:", file.read_text()), file.name


def test_the_profile_keeps_its_secret_in_a_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example had a password in it, and was used as it was."""
    monkeypatch.setenv("KADMIN_CONFIG", str(BUNDLE / "kadmin-nb.toml"))
    text = (BUNDLE / "kadmin-nb.toml").read_text()
    assert JOBS["quota_audit"][1]["parameters"][0] == {"name": "cluster", "default": "prod"}
    assert toml.find_file() == BUNDLE / "kadmin-nb.toml"
    assert re.findall(r'password = "(.*)"', text) == ["databricks:kafka/quota-audit"]
