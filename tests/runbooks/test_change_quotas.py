"""The shipped runbook on a real broker, at every entry point: the launcher, papermill, Jupyter, a Databricks task."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import javaproperties
import nbformat
import pytest
from click.testing import CliRunner

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from tests.runbooks.databricks_stand_in import as_task

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.filterwarnings("ignore:.*on the disk of this compute")]

RUNBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "runbooks" / "change_quotas.ipynb"
Unique = Callable[[str], str]
Outputs = Callable[[Path], str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stored(cluster: kn.Cluster, user: str) -> dict[str, float]:
    rows = cluster.quotas.describe(user=user).to_arrow().to_pylist()
    return {f"{row['entity']} {row['key']}": row["value"] for row in rows}


def papermill(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "papermill", *papermill_words(*words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def papermill_words(*words: str) -> list[str]:
    return [str(RUNBOOK), "out.ipynb", "--no-progress-bar", *words]


def status_of_papermill(*words: str) -> int:
    """The same command in this process, its kernel in another: without the start of one more Python."""
    from papermill.cli import papermill as command

    return CliRunner().invoke(command, papermill_words(*words)).exit_code


def test_apply_false_shows_the_plan_and_changes_nothing(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, outputs: Outputs
) -> None:
    """I wanted to look first; "false" was true."""
    user = unique("user")
    given = {"cluster": kafka.bootstrap, "changes": f'["set producer_byte_rate=5MB/s user={user}"]', "apply": "false"}
    run = kn.runbooks.run("change_quotas", given)
    assert (run.result.state, run.result.changed, run.result.outcomes) == ("planned", False, [])
    assert [(row["after"], row["validated"]) for row in run.result.plan] == [("5000000", "ok")]
    assert f"plan {run.result.plan_id[:8]}" in outputs(run.document)
    assert stored(cluster, user) == {}


def test_what_was_reviewed_is_applied_and_verified_and_a_second_run_does_nothing(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique
) -> None:
    """The nightly job ran twice and failed the second time."""
    user = unique("user")
    changes = [f"set producer_byte_rate=5MB/s user={user} client-id=app", f"set request_percentage=50% user={user}"]
    given = {"cluster": kafka.bootstrap, "changes": changes, "cluster_id": cluster.id, "reason": "KAFKA-1"}
    reviewed = kn.runbooks.run("change_quotas", given).result.changes_id
    given |= {"apply": True, "changes_id": reviewed}
    states = [kn.runbooks.run("change_quotas", given).result for _ in range(2)]
    assert [said.state for said in states] == ["applied", "nothing to do"]
    assert [row["state"] for row in states[0].outcomes] == ["verified", "verified"]
    assert (states[0].cluster_id, states[0].reason) == (cluster.id, "KAFKA-1")
    assert stored(cluster, user) == {
        f"user={user} client-id=app producer_byte_rate": 5e6,
        f"user={user} request_percentage": 50.0,
    }


@pytest.mark.parametrize(
    ("parameters", "kind", "words"),
    [
        ({"changes": ["set producer_byte_rate=5MB/s user={user}", "sett x=1"]}, kn.UsageError, "line 2"),
        pytest.param(
            {"cluster_id": "another"}, kn.errors.WrongCluster, "meant for cluster another", marks=pytest.mark.long
        ),
        pytest.param({"limit": 0}, kn.PlanRefused, "the limit is 0", marks=pytest.mark.long),
        ({"changes_id": "000000"}, kn.errors.Conflict, "but 000000 were reviewed"),
        pytest.param({"cluster": "127.0.0.1:1"}, kn.errors.ConnectionFailed, "127.0.0.1:1", marks=pytest.mark.long),
    ],
    ids=["grammar", "cluster", "limit", "review", "connection"],
)
def test_what_is_refused_changes_nothing_and_is_told(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, parameters: dict[str, Any], kind: type, words: str
) -> None:
    """Half of it had been done before it complained."""
    user = unique("user")
    given = {"cluster": kafka.bootstrap, "changes": ["set producer_byte_rate=5MB/s user={user}"], **parameters}
    given["changes"] = [line.format(user=user) for line in given["changes"]]
    with pytest.raises(kind) as refused:
        kn.runbooks.run("change_quotas", given | {"apply": True}, output="out.ipynb")
    assert words in str(refused.value)
    said = json.loads(Path("out.json").read_text())
    assert (said["state"], said["changed"], said["error"]["type"]) == ("failed", False, kind.__name__)
    assert stored(cluster, user) == {}


def test_what_the_broker_refuses_is_in_the_document(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, outputs: Outputs
) -> None:
    """The broker said no, and the run was green."""
    user = unique("user")
    changes = [f"set producer_byte_rate=5MB/s user={user}", "set message.max.bytes=-5 broker=<default>"]
    given = {"cluster": kafka.bootstrap, "changes": changes, "apply": True}
    with pytest.raises(kn.PlanRefused, match="the broker refuses 1 of 2 rows"):
        kn.runbooks.run("change_quotas", given, output="out.ipynb")
    assert "INVALID_" in outputs(Path("out.ipynb"))
    assert stored(cluster, user) == {}


@pytest.mark.secure
def test_who_may_not_is_told_before_anything_is_sent(tmp_path: Path) -> None:
    """It asked for authorised operations, got none, and went ahead."""
    with kn.local.start(secure=True, users=["limited"]) as kafka:
        given = {"cluster": str(kafka.user_properties("limited")), "changes": ["set producer_byte_rate=5MB/s user=x"]}
        with pytest.raises(kn.NotAuthorized):
            kn.runbooks.run("change_quotas", given, output="out.ipynb")
        login = javaproperties.loads(kafka.user_properties("limited").read_text())["sasl.jaas.config"]
        password = login.split('password="')[1].split('"')[0]
    assert not [path for path in tmp_path.rglob("*.*") if path.is_file() and password in path.read_text()]


def test_papermill_alone_applies_and_records(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, folder: Path
) -> None:
    """Our scheduler runs papermill, not kadmin-nb."""
    user = unique("user")
    changes = f'["set producer_byte_rate=5MB/s user={user}"]'
    words = ("-p", "cluster", kafka.bootstrap, "-p", "changes", changes)
    for apply, state, rows in (
        ("false", "planned", {}),
        ("true", "applied", {f"user={user} producer_byte_rate": 5e6}),
    ):
        done = papermill(*words, "-p", "apply", apply)
        assert done.returncode == 0, done.stderr
        (record,) = folder.glob("change_quotas-*Z.json")
        assert json.loads(record.read_text())["state"] == state
        record.unlink()
        assert stored(cluster, user) == rows


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "clutser", "prod", "-p", "apply", "True"), "unknown parameter clutser"),
        (("-p", "reason", "007", "-p", "apply", "True"), "reason is declared str and got 7"),
        pytest.param(("-p", "reason", "nan"), "str and got nan", marks=pytest.mark.long),
        pytest.param(("-p", "apply", "yes"), "apply is declared bool", marks=pytest.mark.long),
        (("-r", "sasl_password", "x"), "its name says that it is a secret"),
        pytest.param(("-r", "changes", '["sett x"]'), "line 1: unknown quota change 'sett'", marks=pytest.mark.long),
        (("-r", "changes", '["set message.max.bytes=-5 broker=<default>"]'), "the broker refuses 1 of 1 rows"),
    ],
    ids=["misspelt", "007", "nan", "yes", "secret", "grammar", "broker"],
)
def test_papermill_alone_fails_with_status_1_and_the_error_in_the_document(
    kafka: LocalKafka, outputs: Outputs, words: tuple[str, ...], said: str, folder: Path
) -> None:
    """papermill wrote a warning into a log and returned 0."""
    assert status_of_papermill("-r", "cluster", kafka.bootstrap, *words) == 1
    assert said in outputs(folder / "out.ipynb")
    assert "Traceback" not in outputs(folder / "out.ipynb")


@pytest.mark.long
def test_a_process_of_papermill_ends_with_status_1(kafka: LocalKafka) -> None:
    """The scheduler looks at the status of the process, which was 0."""
    assert papermill("-r", "cluster", kafka.bootstrap, "-r", "changes", '["sett x"]').returncode == 1


def test_in_jupyter_the_edited_cell_counts(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, folder: Path
) -> None:
    """In Jupyter there is no papermill."""
    from nbclient import NotebookClient

    user, document = unique("user"), nbformat.read(RUNBOOK, as_version=4)
    first = next(cell for cell in document.cells if cell.cell_type == "code")
    first.source = (
        first.source.replace('cluster: str = ""', f'cluster: str = "{kafka.bootstrap}"')
        .replace("changes: list[str] = []", f'changes: list[str] = ["set producer_byte_rate=5MB/s user={user}"]')
        .replace("apply: bool = False", "apply: bool = True")
    )
    NotebookClient(document).execute()
    assert stored(cluster, user) == {f"user={user} producer_byte_rate": 5e6}
    assert [json.loads(path.read_text())["state"] for path in folder.glob("change_quotas-*.json")] == ["applied"]


def test_in_jupyter_without_any_changes_it_does_nothing(
    kafka: LocalKafka, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I opened it and ran all cells, to see what it is."""
    from nbclient import NotebookClient

    (folder / "kadmin-nb.toml").write_text(f'[profiles.mine]\nbootstrap = "{kafka.bootstrap}"\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(folder / "kadmin-nb.toml"))
    NotebookClient(nbformat.read(RUNBOOK, as_version=4)).execute()
    said = [json.loads(path.read_text()) for path in folder.glob("change_quotas-*.json")]
    assert [(one["state"], one["plan_id"]) for one in said] == [("nothing to do", None)]


def test_the_terminal_runs_it(kafka: LocalKafka, cluster: kn.Cluster, unique: Unique) -> None:
    """-p user=007 is text there as well."""
    from kadmin_nb.commands import run
    from kadmin_nb.commands.session import Session

    changes = json.dumps([f"set producer_byte_rate=5MB/s user={(user := unique('user'))}"])
    words = ["-p", f"cluster={kafka.bootstrap}", "-p", f"changes={changes}", "-p", "reason=007", "-o", "out.ipynb"]
    value = run(["runbook", "run", "change_quotas", *words], Session()).value
    assert (value.result.state, value.result.reason) == ("planned", "007")
    assert stored(cluster, user) == {}


def test_as_a_task_the_result_goes_back_to_the_job(
    kafka: LocalKafka, cluster: kn.Cluster, unique: Unique, folder: Path
) -> None:
    """Every parameter is text there, and there is no place for a file."""
    user = unique("user")
    changes = json.dumps([f"set producer_byte_rate=5MB/s user={user}"])
    given = {"cluster": kafka.bootstrap, "changes": changes}
    assert as_task("change_quotas", **given, apply="false")["state"] == "planned"
    assert stored(cluster, user) == {}
    said = as_task("change_quotas", **given, apply="true")
    assert (said["state"], said["parameters"]["apply"]) == ("applied", True)
    assert stored(cluster, user) == {f"user={user} producer_byte_rate": 5e6}
    assert not list(folder.iterdir())


def test_a_failed_task_is_a_failed_job(kafka: LocalKafka) -> None:
    """exit() made the job green."""
    with pytest.raises(kn.UsageError, match="line 1"):
        as_task("change_quotas", cluster=kafka.bootstrap, changes='["sett x"]', apply="true")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-p", 'changes=["set message.max.bytes=-5 broker=<default>"]'], 5),
        (["-p", 'changes=["sett x"]'], 1),
        pytest.param(["-p", "cluster=127.0.0.1:1"], 1, marks=pytest.mark.long),
        (["-p", "clutser=prod"], 2),
        (["-p", "apply=perhaps"], 2),
    ],
    ids=["broker", "grammar", "connection", "misspelt", "type"],
)
def test_the_terminal_tells_a_failed_run_from_a_wrong_call(kafka: LocalKafka, words: list[str], code: int) -> None:
    """The scheduler took a refused plan for a typing error."""
    given = [] if any("cluster" in word for word in words) else ["-p", f"cluster={kafka.bootstrap}"]
    assert terminal.run_line(["runbook", "run", "change_quotas", *given, *words, "-o", "out.ipynb"]) == code
    assert Path("out.ipynb").exists() == (code != 2)
