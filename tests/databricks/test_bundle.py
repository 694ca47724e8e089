"""The bundle, as far as it can be judged without Databricks: what it names is there, and fits.

Nothing here speaks to a workspace. `databricks-bundles` knows the fields of its resources; where `$BUNDLE_SCHEMA` names
the JSON schema that `databricks bundle schema` prints, the files are held against it too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from copy import deepcopy
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import kadmin_nb as kn
from kadmin_nb.profiles import targets
from kadmin_nb.runbooks.catalogue import Runbook

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "databricks"
FILES = [BUNDLE / "databricks.yml", *sorted(BUNDLE.glob("resources/*.yml"))]
MAIN: dict[str, Any] = yaml.safe_load((BUNDLE / "databricks.yml").read_text())
TASKS = ("record_history", "usage", "utilisation", "audit")
JOBS = ("kadmin_nb_cluster",)
"""The jobs whose tasks are notebooks."""
GIVEN = {"catalog": "main", "warehouse_id": "0123456789abcdef", "notify": "ann@example.com"}
"""What nobody but who deploys can know."""
KNOWN = {
    "workspace.current_user.userName": "ann@example.com",
    "workspace.file_path": "/Workspace/files",
    "bundle.name": "kadmin_nb",
    "bundle.target": "prod",
}
"""What Databricks puts in."""


def _resources() -> dict[str, dict[str, Any]]:
    """The resources of all files by kind and key."""
    found: dict[str, dict[str, Any]] = {}
    for file in FILES[1:]:
        for kind, resources in yaml.safe_load(file.read_text()).get("resources", {}).items():
            for key, resource in resources.items():
                found.setdefault(kind, {})[key] = resource
    return found


def deployed(target: str, **given: str) -> dict[str, dict[str, Any]]:
    """The resources as a target has them, all references resolved; with these variables, besides those that must be."""
    resources, chosen = deepcopy(_resources()), MAIN["targets"][target]
    for kind, changed in chosen.get("resources", {}).items():
        for key, more in changed.items():
            resources[kind][key] = _merged(resources[kind][key], more)
    variables = {name: variable["default"] for name, variable in MAIN["variables"].items() if "default" in variable}
    variables |= chosen.get("variables", {}) | {"node_type_id": "m5d.large"} | GIVEN | given
    return _resolved(resources, {f"var.{name}": value for name, value in variables.items()}, resources)


def _merged(job: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """As the CLI merges a job: tasks by their key."""
    tasks = {task["task_key"]: task for task in more.get("tasks", ())}
    whole = [task | tasks.pop(task["task_key"], {}) for task in job["tasks"]]
    assert tasks == {}
    return {**job, **more, "tasks": whole}


def _resolved(value: Any, variables: Mapping[str, Any], resources: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(item, variables, resources) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, variables, resources) for item in value]
    if not isinstance(value, str):
        return value
    if whole := re.fullmatch(r"\$\{([^}]+)\}", value):
        return _referred(whole[1], variables, resources)
    return re.sub(r"\$\{([^}]+)\}", lambda found: str(_referred(found[1], variables, resources)), value)


def _referred(name: str, variables: Mapping[str, Any], resources: Mapping[str, Any]) -> Any:
    """What a reference leads to; a name that nothing has is an error."""
    if name.startswith("resources."):
        _, kind, key, field = name.split(".")
        if field == "id":  # which Databricks gives: here the number in their order
            return [*resources[kind]].index(key) + 1
        return _resolved(resources[kind][key][field], variables, resources)
    return _resolved((KNOWN | variables)[name], variables, resources)


DAILY, JOB = (deployed("dev")["jobs"][name] for name in ("kadmin_nb_daily", "kadmin_nb_cluster"))
BY_KEY = {task["task_key"]: task for job in JOBS for task in deployed("dev")["jobs"][job]["tasks"]}


def _notebook(task: Mapping[str, Any]) -> Path:
    return (BUNDLE / "resources" / task["notebook_task"]["notebook_path"]).resolve()


def test_the_daily_job_is_one_flow():
    """Utilisation was judged by limits that were recorded an hour later."""
    assert [task["task_key"] for task in JOB["tasks"]] == [*TASKS]
    before = [[one["task_key"] for one in task.get("depends_on", ())] for task in JOB["tasks"]]
    assert before == [[], ["record_history"], ["usage"], ["utilisation"]]
    assert all(task["max_retries"] for task in JOB["tasks"])
    assert JOB["queue"] == DAILY["queue"] == {"enabled": True}
    assert {"health", "email_notifications", "permissions", "tags", "schedule"} <= set(DAILY)


def test_one_job_file_runs_all_clusters():
    """For the second cluster we copied the job, and for the tenth; and corrected one of them."""
    (task,) = DAILY["tasks"]
    run = task["for_each_task"]["task"]["run_job_task"]
    assert [*deployed("dev")["jobs"]][run["job_id"] - 1] == "kadmin_nb_cluster"
    (cluster,) = json.loads(task["for_each_task"]["inputs"])
    assert run["job_parameters"] == {name: f"{{{{input.{name}}}}}" for name in cluster}
    assert [parameter["name"] for parameter in JOB["parameters"]] == [*cluster]
    assert JOB["max_concurrent_runs"] >= task["for_each_task"]["concurrency"]


def test_the_id_is_that_of_the_cluster_that_was_read():
    """With a second cluster in the schema both jobs stopped: snapshots of several clusters are kept here."""
    ids = {task["task_key"]: task["notebook_task"]["base_parameters"]["cluster_id"] for task in JOB["tasks"]}
    told = "{{tasks.record_history.values.cluster_id}}"
    assert ids == {"record_history": "", "usage": told, "utilisation": told, "audit": told}


@pytest.mark.parametrize("key", BY_KEY)
def test_a_task_passes_what_its_notebook_declares(key):
    """The notebook refused the first run: there is no parameter clutser."""
    task = BY_KEY[key]
    given, declared = task["notebook_task"]["base_parameters"], Runbook.read(_notebook(task)).parameters
    assert list(given) == [parameter.name for parameter in declared]
    for parameter in declared:
        parameter.bind(given[parameter.name])


def test_what_one_task_writes_the_next_one_reads():
    """The table had another name in the task behind."""
    given = {key: task["notebook_task"]["base_parameters"] for key, task in BY_KEY.items()}
    schema = given["record_history"]["history"]
    assert schema == given["usage"]["limits"] == given["utilisation"]["history"] == "main.kafka"
    assert given["usage"]["usage"] == given["utilisation"]["usage"] == f"{schema}.usage"
    assert given["utilisation"]["utilisation"] == f"{schema}.utilisation_daily"
    cluster = "{{job.parameters.cluster}}"
    assert given["usage"]["logs"] == f"/Volumes/main/kafka/kadmin_nb/logs/{cluster}/*/*{{day}}*"
    assert given["record_history"]["cluster"] == given["audit"]["cluster"] == cluster
    assert given["usage"]["tz"] == given["utilisation"]["tz"] == "{{job.parameters.tz}}"
    assert given["record_history"]["profiles"] == "/Workspace/files/databricks/kadmin-nb.toml"


@pytest.mark.parametrize("key", BY_KEY)
def test_the_notebook_goes_to_the_workspace(key):
    """Notebook not found: only the bundle's own folder had been synced."""
    folders = [(BUNDLE / path).resolve() for path in MAIN["sync"]["paths"]]
    assert any(_notebook(BY_KEY[key]).is_relative_to(folder) for folder in folders)
    assert ROOT not in folders


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize("target", MAIN["targets"])
def test_each_task_has_compute_and_the_wheel(target, name):
    """ModuleNotFoundError: kadmin_nb."""
    job = deployed(target)["jobs"][name]
    clusters = {one["job_cluster_key"]: one["new_cluster"] for one in job.get("job_clusters", [])}
    environments = {one["environment_key"]: one["spec"] for one in job["environments"]}
    (built,) = MAIN["artifacts"]["kadmin_nb"]["files"]
    for task in job["tasks"]:
        assert ("environment_key" in task) != ("job_cluster_key" in task)
        if "environment_key" in task:
            spec, folder = environments[task["environment_key"]], BUNDLE / "resources"
            wheels = spec["dependencies"]
            assert int(spec["environment_version"]) >= 4
        else:
            assert clusters[task["job_cluster_key"]]["is_single_node"] is True
            wheels, folder = [library["whl"] for library in task["libraries"]], BUNDLE
        assert [(folder / wheel).resolve() for wheel in wheels] == [(BUNDLE / built["source"]).resolve()]


def test_serverless_compute_asks_for_no_machine():
    """no value assigned to required variable node_type_id."""
    assert "default" in MAIN["variables"]["node_type_id"]
    assert "node_type_id" not in json.dumps([deployed(target) for target in ("dev", "prod")])


def test_what_differs_from_workspace_to_workspace_is_given():
    """There was no catalog main, no warehouse of that name, and the service principal that deployed was no user."""
    asked_for = {name: one["description"] for name, one in MAIN["variables"].items() if "default" not in one}
    assert {*asked_for} == {*GIVEN}
    assert all(description.startswith("Give the ") for description in asked_for.values())
    assert not any("lookup" in variable for variable in MAIN["variables"].values())
    for file in FILES:
        lines = [line for line in file.read_text().splitlines() if "user_name" in line or "current_user" in line]
        assert all("root_path:" in line for line in lines), file.name


def test_the_runtime_has_the_spark_that_we_need():
    """createDataFrame() knew no Arrow table: it was Spark 3.5."""
    major, minor = MAIN["variables"]["spark_version"]["default"].split(".")[:2]
    assert (int(major), int(minor)) >= (17, 3)


def test_all_variables_are_used():
    """A variable was set, and nothing followed."""
    said = {one for file in FILES for one in re.findall(r"\$\{var\.([^}]+)\}", file.read_text())}
    assert said == set(MAIN["variables"])


def test_there_is_a_target_to_try_and_one_to_trust():
    """The first try ran each morning under the colleagues' eyes."""
    modes = {name: (target["mode"], target.get("default", False)) for name, target in MAIN["targets"].items()}
    production = ("production", False)
    assert modes == {"dev": ("development", True), "prod": production, "own_network": production}


def test_no_workspace_and_no_secret_stands_in_it():
    """The bundle that everybody copied deployed to ours."""
    for file in (*FILES, *BUNDLE.glob("*.ipynb"), *BUNDLE.glob("*.json")):
        assert not re.search(r"https?://|\bhost:|password|token|\bsecret:", file.read_text()), file.name


def test_the_profile_keeps_its_secret_in_the_scope(monkeypatch):
    """The example had a password in it, and was used as it was."""
    monkeypatch.setenv("KADMIN_CONFIG", str(BUNDLE / "kadmin-nb.toml"))
    text = (BUNDLE / "kadmin-nb.toml").read_text()
    assert targets.find_file() == BUNDLE / "kadmin-nb.toml"
    for one in json.loads(MAIN["variables"]["clusters"]["default"]):
        assert f"[profiles.{one['cluster']}]" in text
    scope = deployed("prod")["secret_scopes"]["kafka"]["name"]
    assert re.findall(r'password = "(.*)"', text) == [f"databricks:{scope}/quota-audit"]


def test_the_profiles_file_is_a_parameter(monkeypatch, tmp_path):
    """Serverless compute has no environment variables: the job knew no profile."""
    monkeypatch.setenv("KADMIN_CONFIG", os.devnull)
    kn.runbooks.use_profiles("")
    assert targets.find_file() is None
    (tmp_path / "ours.toml").write_text('[profiles.prod]\nbootstrap = "127.0.0.1:9092"\n')
    kn.runbooks.use_profiles(str(tmp_path / "ours.toml"))
    assert targets.find_file() == tmp_path / "ours.toml"


# --- the dashboard and the alerts ---


def _generated() -> Any:
    spec = spec_from_file_location("generate", BUNDLE / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_dashboard_and_the_alerts_are_made_of_the_folder_of_sql():
    """The query was corrected in the docs, and the dashboard had the old one."""
    made = _generated()
    assert made.DASHBOARD.read_text() == made.dashboard()
    assert made.ALERTS.read_text() == made.alerts()
    for alert in deployed("prod")["alerts"].values():
        named_in_it = set(re.findall(r"\b(\w+) AS \(", alert["query_text"]))
        read = set(re.findall(r"\b(?:FROM|JOIN) (\w[\w.]*)", alert["query_text"])) - named_in_it
        assert read <= {f"main.kafka.{table}" for table in made.TABLES}


# --- the fields of the resources ---

CLASSES = {
    "jobs": "jobs.Job",
    "schemas": "schemas.Schema",
    "volumes": "volumes.Volume",
    "secret_scopes": "secret_scopes.SecretScope",
    "dashboards": "dashboards.Dashboard",
    "alerts": "alerts.Alert",
}


@pytest.mark.parametrize("target", MAIN["targets"])
@pytest.mark.parametrize("kind", CLASSES)
def test_resources_have_the_fields_of_their_kind(target, kind):
    """unknown field: max_retry."""
    pytest.importorskip("databricks.bundles", reason="databricks-bundles is not installed: make install brings it")
    module, _, name = CLASSES[kind].partition(".")
    model = getattr(import_module(f"databricks.bundles.{module}"), name)
    for resource in deployed(target)[kind].values():
        assert model.from_dict(resource).as_dict() == resource


def test_the_kinds_are_all_checked():
    """A pipeline was added, and nothing looked at it."""
    assert set(_resources()) == set(CLASSES)


@pytest.mark.skipif("BUNDLE_SCHEMA" not in os.environ, reason="$BUNDLE_SCHEMA names no schema of the Databricks CLI")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_is_as_the_cli_has_it(file):
    """The CLI refused the first deployment."""
    text = Path(os.environ["BUNDLE_SCHEMA"]).read_text()
    schema = json.loads(text.replace(r"\\p{L}", "a-zA-Z"))  # Python's `re` does not know it
    jsonschema.validate(yaml.safe_load(file.read_text()), schema)
