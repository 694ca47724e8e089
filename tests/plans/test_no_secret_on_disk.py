"""S1: a secret goes to the broker, and nowhere else: no file, log, screen, object or error has it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import javaproperties
import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.model.changes import Refusal
from tests.command_result import CommandResult
from tests.dangerous_plans import applied
from tests.persons import give_password
from tests.plans.plan_rows import rows
from tests.plans.secret_cells import cells
from tests.plans.secret_search import CORE, SECRET, shown, sings, variables

pytestmark = pytest.mark.broker

KEY = "listener.name.internal.ssl.key.password"
REFERENCE = "env:CANARY"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """A folder for all that is written; everything is logged."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("CANARY", SECRET)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    for name in ("kafka", "kadmin_nb", "confluent_kafka"):
        caplog.set_level(logging.DEBUG, logger=name)
    return tmp_path


@pytest.fixture
def silence(place: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """`silence(objects…)`: neither they, nor a file, the log or the screen have the secret."""

    def check(*objects: object) -> None:
        logging.getLogger("kadmin_nb").debug("still listening")
        assert caplog.records
        said = capfd.readouterr()
        assert sings(shown(*objects), caplog.text, said.out, said.err, place) == []

    return check


@pytest.fixture
def repeating(cluster: kn.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker, or a policy of it, that repeats what it refuses, whole and in pieces."""

    def refuse(changes, *, validate_only=False):
        said = [o.text for operations in changes.values() for o in operations if o.value]
        words = f"Invalid value {' '.join(said)} ({CORE}) {said[0]!r}"
        return dict.fromkeys(changes, Refusal("INVALID_CONFIG", words))

    monkeypatch.setattr(cluster.port.configs, "alter", refuse)


@pytest.fixture
def kadmin(kafka, capfd: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """The terminal, at the local Kafka: what it printed is told, and heard by nobody else."""

    def run(*words: str) -> CommandResult:
        code = terminal.run_line([*words, "--cluster", kafka.bootstrap])
        captured = capfd.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def cell(kafka) -> Iterator[Callable[..., object]]:
    """Runs a cell in a real shell, at the local Kafka; its result has the value and the error."""
    with cells(kafka.bootstrap, SECRET) as run:
        yield run


def staged(cluster: kn.Cluster, value: str, key: str = KEY):
    stage = cluster.new_stage()
    edit = stage.set_config(key, value, broker=1)
    return stage, edit


def test_what_is_written_down_is_the_reference(cluster, clean_broker, silence, place):
    """The plan that I mailed around had the password of the keystore."""
    stage, edit = staged(cluster, REFERENCE)
    plan = stage.plan("rotation")
    plan.save(place / "p.json")
    outcomes = applied(plan).raise_for_errors()
    again, seen = kn.Plan.load(place / "p.json"), cluster.verify(plan)
    assert again == replace(plan, _live=None)
    assert rows(again, "wanted", "after") == [(REFERENCE, REFERENCE)]
    back = cluster.rollback(outcomes.plan_id)
    log = cluster.plans.log(plan)
    undone = applied(back).raise_for_errors()
    assert rows(undone, "state") == [("verified",)]
    assert list((place / "state").rglob("*.json*"))
    silence(stage, edit, plan, again, outcomes, seen, log, cluster.plans.log(), back, undone, cluster, cluster.settings)


def test_the_broker_gets_the_secret_itself(cluster, clean_broker, monkeypatch):
    """The keystore's password was env:CANARY, literally."""
    sent, real = [], cluster.port.configs.alter

    def noted(changes, **options):
        sent.extend(o.text for operations in changes.values() for o in operations if o.value)
        return real(changes, **options)

    monkeypatch.setattr(cluster.port.configs, "alter", noted)
    applied(staged(cluster, REFERENCE)[0].plan("a test")).raise_for_errors()
    assert sent == [SECRET, SECRET]


@pytest.mark.parametrize("key", [KEY, "listener.name.internal.plain.sasl.jaas.config", "my.plugin.pin"])
def test_a_secret_given_as_text_is_refused(cluster, silence, key):
    """It told everybody what it refused."""
    stage, edit = staged(cluster, SECRET, key)
    with pytest.raises(kn.UsageError, match=", so it is given only by reference") as refused:
        stage.plan(allow_unknown=["my.plugin.pin"])
    assert f"Write {key}=env:NAME" in (refused.value.hint or "")
    assert "[secure]" in repr(stage)
    silence(stage, refused.value, *([edit] if key != "my.plugin.pin" else []))


def test_a_staged_secret_that_is_replaced_is_not_in_the_note(cluster, silence):
    """'replaces the earlier set hunter2'."""
    stage, _ = staged(cluster, SECRET)
    stage.set_config(KEY, REFERENCE, broker=1)
    assert rows(stage, "wanted", "note") == [(REFERENCE, "replaces the earlier set [secure]")]
    silence(stage)


def test_a_refusal_that_repeats_it_is_told_with_the_reference(cluster, repeating, silence, place):
    """The broker said 'Invalid value hunter2', and so did the pull request."""
    stage, _ = staged(cluster, REFERENCE)
    plan = stage.plan()
    plan.save(place / "p.json")
    assert REFERENCE in rows(plan, "validated")[0][0]
    with pytest.raises(kn.PlanRefused) as refused:
        plan.apply()
    silence(stage, plan, refused.value, variables(refused.value))


def test_a_refusal_after_the_validation_is_in_no_journal(cluster, clean_broker, silence, request):
    """The validation passed, and what failed then went into the journal."""
    plan = staged(cluster, REFERENCE)[0].plan("a test")
    request.getfixturevalue("repeating")
    outcomes = applied(plan)
    assert rows(outcomes, "state", "error") == [("failed", "INVALID_CONFIG")]
    assert REFERENCE in rows(outcomes, "message")[0][0]
    with pytest.raises(kn.PartlyFailed) as failed:
        outcomes.raise_for_errors()
    silence(plan, outcomes, failed.value, variables(failed.value), cluster.plans.log(plan))


def test_a_secret_that_is_not_there_is_told_before_anything_is_sent(cluster, clean_broker, tells, monkeypatch):
    """Half of the plan was applied, and then a variable was missing."""
    stage, _ = staged(cluster, REFERENCE)
    stage.set_config("log.retention.ms", 60_000, broker=1)
    plan = stage.plan()
    monkeypatch.delenv("CANARY")
    with pytest.raises(kn.NotFound, match="env:CANARY: the environment variable is not set"):
        stage.plan()
    with pytest.raises(kn.PlanRefused, match="cannot be read: env:CANARY: the environment variable is not set") as gone:
        plan.apply()
    assert gone.value.code == "SECRET_NOT_FOUND"
    assert tells == []


def test_a_secret_in_a_file_counts_from_the_current_folder(cluster, clean_broker, silence, place, tmp_path_factory):
    """file:key.txt was looked for beside my profiles."""
    elsewhere = tmp_path_factory.mktemp("secrets")
    (elsewhere / "key.txt").write_text(SECRET + "\n")
    reference = f"file:../{elsewhere.name}/key.txt"
    if elsewhere.parent != place.parent:
        reference = f"file:{elsewhere / 'key.txt'}"
    plan = staged(cluster, reference)[0].plan("a test")
    assert "looked up when it is sent" in rows(plan, "note")[0][0]
    silence(plan, applied(plan).raise_for_errors())


def test_a_file_that_is_no_text_is_not_repeated(cluster, silence, place, tmp_path_factory):
    """The traceback had the bytes of the key."""
    key = tmp_path_factory.mktemp("secrets") / "key.der"
    key.write_bytes(CORE.encode() + b"\xff\xfe")
    stage, _ = staged(cluster, f"file:{key}")
    with pytest.raises(kn.Invalid, match="it is not UTF-8") as broken:
        stage.plan()
    silence(broken.value, variables(broken.value), stage)


LINES = [
    f"set {KEY}={{}} broker=1",
    f"set {KEY}={{}} broker=1 topic=x",
    f"set {KEY}={{}}",
    f"set {KEY}=={{}} broker=1",
    f"set {KEY}~={{}} broker=1",
    f"set {KEY}={{}} user=alice",
    f"sett {KEY}={{}} broker=1",
    f"set {KEY} {{}} broker=1",
    f"set {KEY} = {{}} broker=1",
    f"set {KEY}:{{}} broker=1",
    f"set {KEY}= {{}} broker=1",
    f"set broker=1 {KEY}='{{}}",
    f"{KEY}={{}} broker=1",
    f"set {KEY}={{}} broker=1 --reasn x",
    f"set {KEY}={{}} --broker 1",
    f"set --{KEY}={{}} broker=1",
    f"reset {KEY}={{}} broker=1",
    f"append {KEY}={{}} broker=1",
    "set ssl.key.pasword={} broker=1",
    "set sasl.jaas.config={} broker=<default>",
    f"set producer_byte_rate=1 {KEY}={{}} user=alice",
    "set 'consumer.session.timeout.ms=1d password={}' group=a",
]  # fmt: skip

SCRAM = [
    "set SCRAM-SHA-256=[iterations=8192,password={}] user=alice",
    "set SCRAM-SHA-512={} user=alice",
    "set SCRAM-SHA-256=[password={}] broker=1",
    "set SCRAM-SHA-256 [iterations=8192,password={}] user=alice",
    "set SCRAM-SHA-256 = {} user=alice",
    "set [iterations=8192,password={}] user=alice",
    "set iterations=8192,password={} user=alice",
    "set password={} user=alice",
    "set password {} user=alice",
    "set my_key={} user=alice",
    "remove SCRAM-SHA-256=[password={}] user=alice",
    "set producer_byte_rate=1 user=alice password={}",
    "describe SCRAM-SHA-256=[password={}] user=alice",
    "describe password {}",
    "resolve password {}",
    "set broker=1 sasl.jaas.config=org.apache.kafka.ScramLoginModule required username=alice password={};",
    "set broker=1 x=org.apache.kafka.ScramLoginModule required username=alice password={};",
    "describe --property sasl.jaas.config=ScramLoginModule required username=alice password={};",
    "apply p.json ssl.key.password {}",
    "apply p.json password={}",
    "password={}",
]  # fmt: skip
"""Credentials as Kafka's own tool takes them, and slips around them."""


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("way", ["words", "file"])
def test_a_line_of_the_terminal(kadmin, place, silence, tmp_path_factory, line, way):
    """I typed the password itself once, and the CI log has it for ever."""
    line = line.format(CORE)
    lines = tmp_path_factory.mktemp("typed") / "lines.txt"
    lines.write_text(line + "\n")
    words = ["config", *line.split()] if way == "words" else ["plan", "-f", str(lines)]
    said = kadmin(*words, "--save", "p.json")
    assert said.code in (1, 2)
    assert sings(said.text) == [], said.text
    silence()


@pytest.mark.parametrize("way", ["quota", "config", "plan", "plan -f"])
def test_a_credential_typed_into_the_terminal(kadmin, silence, tmp_path_factory, way):
    """'SCRAM-SHA-256=[iterations=8192,password=hunter2] is not a number with a unit'."""
    file = tmp_path_factory.mktemp("typed") / "lines.txt"
    for line in (line.format(CORE) for line in SCRAM):
        file.write_text(line)
        said = kadmin(*way.split(), *([str(file)] if way == "plan -f" else line.split()))
        assert (said.code in (1, 2), sings(said.text)) == (True, []), said.text
    silence()


@pytest.mark.parametrize("magic", ["%kquota {}", "%kconfig {}", "%%kquota\n{}", "%%kadmin\n{}", "%%kquota {}\nset x"])
def test_a_credential_in_a_notebook(cell, silence, magic):
    """The error below my cell had the password that the cell sets for alice."""
    errors = [cell(magic.format(line.format(secret))).error_in_exec for line in SCRAM for secret in (CORE, "{s}")]
    silence(*("\n".join(error._render_traceback_()) for error in errors))


def test_a_secret_that_python_sets_as_a_quota(cluster, silence):
    """stage.set_quota said which password is not a number."""
    for key, value in (("SCRAM-SHA-256", f"[password={CORE}]"), ("my_key", CORE), ("my_key", [CORE])):
        with pytest.raises(kn.UsageError, match=f"{key}(=…)? is not a number") as refused:
            cluster.new_stage().set_quota(key, value, user="alice")
        silence(refused.value)


def test_the_terminal_with_a_reference(kadmin, clean_broker, silence):
    """--json and --out had more than the table."""
    change = ["config", "set", f"{KEY}={REFERENCE}", "broker=1"]
    said = [kadmin(*change, "--save", "p.json", "--out", "p.csv", "--reason", "rotation"), kadmin(*change, "--json")]
    said.append(kadmin("plan", "show", "p.json", "--print", "markdown"))
    said += [kadmin("plan", "apply", "p.json", "--allow", f"{KEY} broker=1", "--out", "o.json")]
    said += [kadmin("plan", "log", "p.json", "--json")]
    said += [kadmin("config", "describe", "broker=1", "--out", f"c.{kind}") for kind in ("csv", "parquet", "json")]
    assert [one.code for one in said] == [0] * len(said), said
    assert sings(*(one.text for one in said)) == []
    silence()


@pytest.mark.parametrize("line", ["%kconfig {}", "%%kconfig\n{}", "%%kadmin\n{}"])
def test_a_variable_of_a_notebook(cell, silence, line):
    """The document on the share has the password in an output."""
    kept = [cell(line.format(f"set {KEY}={{s}} broker=1")).result, cell("%kconfig plan")]
    assert len(kept[0]) == 1
    assert isinstance(kept[1].error_in_exec, kn.UsageError)
    for wrong in ("reset", "sett", "describe"):
        kept.append(cell(line.format(f"{wrong} {KEY}={{s}} broker=1")))
        assert kept[-1].error_in_exec
    silence(*kept, *(one.error_in_exec for one in kept[1:]), cell("%kconfig discard").result)


RUNBOOK = """%load_ext kadmin_nb
%kadmin use {bootstrap}
import logging, os; logging.basicConfig(level=logging.DEBUG); s = os.environ['CANARY']
%kconfig set {key}={{s}} broker=1
%kconfig discard
%kconfig set {key}=env:CANARY broker=1
%kconfig plan --reason rotation
%kconfig apply --allow '{key} broker=1'
%kconfig set {key}={{s}} broker=1
%kconfig plan"""

CREDENTIAL = """%load_ext kadmin_nb
%kadmin use {bootstrap}
import os; s = os.environ['CANARY']
%kquota set SCRAM-SHA-256=[iterations=8192,password={{s}}] user=alice"""


@pytest.mark.parametrize(("notebook", "says"), [(RUNBOOK, "given only by reference"), (CREDENTIAL, "credential")])
def test_an_executed_notebook(kafka, clean_broker, place, silence, notebook, says):
    """The nightly run left the password in the notebook and the record."""
    import nbformat

    pytest.importorskip("papermill")
    cells = notebook.format(bootstrap=kafka.bootstrap, key=KEY).splitlines()
    first = nbformat.v4.new_code_cell("user: str = ''", metadata={"tags": ["parameters"]})
    book = nbformat.v4.new_notebook(cells=[first, *map(nbformat.v4.new_code_cell, cells)])
    nbformat.write(book, place / "mine.ipynb")
    with pytest.raises(kn.KadminError, match=says) as refused:
        kn.runbooks.run(place / "mine.ipynb", output=place / "out.ipynb")
    assert {"out.ipynb", "out.json"} <= {file.name for file in place.iterdir()}
    assert says in (place / "out.json").read_text() + (place / "out.ipynb").read_text()
    assert (notebook is not RUNBOOK) or "verified" in (place / "out.ipynb").read_text()
    silence(refused.value)


@pytest.mark.parametrize("parameters", [{"password": SECRET}, {"text": f"x.LoginModule required password={SECRET}"}])
def test_a_parameter_of_a_runbook(place, silence, parameters):
    """papermill wrote it into the document, twice."""
    import nbformat

    cell = nbformat.v4.new_code_cell("password: str = ''\ntext: str = ''", metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), place / "mine.ipynb")
    with pytest.raises(kn.UsageError, match="secret") as refused:
        kn.runbooks.run(place / "mine.ipynb", parameters)
    silence(refused.value)


def jaas(user: str, password: str) -> str:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    return f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{user}" password="{escaped}";'


@pytest.mark.secure
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_login(secure_kafka, silence, mechanism):
    """The error of the login had the login."""
    module = jaas("admin", CORE).replace("plain.Plain", "scram.Scram" if mechanism != "PLAIN" else "plain.Plain")
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": module}
    with pytest.raises(kn.errors.AuthenticationFailed) as refused:
        kn.connect(secure_kafka.bootstrap, properties=properties)
    silence(refused.value)


@pytest.mark.secure
def test_a_right_login(secure_kafka, caplog, silence):
    """At DEBUG the library wrote every byte that it sent, the login's too."""
    password = javaproperties.loads(secure_kafka.client_properties.read_text())["sasl.jaas.config"].split('"')[3]
    with secure_kafka.connect() as admin:
        kept = shown(admin, admin.settings, admin.brokers)
        give_password(admin.port, "canary", CORE)
    assert password not in kept + caplog.text
    assert "Connected" in caplog.text
    assert "SaslAuthenticateRequest" not in caplog.text
    silence()
