"""A password that a plan sets is the one to log in with; it stands nowhere on this machine."""

from __future__ import annotations

import getpass
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from tests.admin.logins import admin_client
from tests.command_result import CommandResult
from tests.persons import let_in
from tests.plans.plan_rows import rows
from tests.plans.secret_search import CORE, shown, sings, variables
from tests.waiting import eventually

pytestmark = pytest.mark.secure

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """A folder for all that is written; everything is logged."""
    monkeypatch.setenv("KADMIN_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("CANARY", CORE)
    monkeypatch.chdir(tmp_path)
    for name in ("kafka", "kadmin_nb", "confluent_kafka"):
        caplog.set_level(logging.DEBUG, logger=name)
    return tmp_path


@pytest.fixture
def admin(secure_kafka: LocalKafka) -> Iterator[kn.Cluster]:
    with secure_kafka.connect() as cluster:
        yield cluster


@pytest.fixture
def kadmin(secure_kafka: LocalKafka, capfd: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """The terminal, as the super user."""

    def run(*words: str) -> CommandResult:
        code = terminal.run_line([*words, "--cluster", str(secure_kafka.client_properties)])
        captured = capfd.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def logs_in(secure_kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bool]:
    """`logs_in("alice", "SCRAM-SHA-512")`: whether that user does, with the password of these tests."""

    def attempt(user: str, mechanism: str) -> bool:
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        properties = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{CORE}";',
        }
        try:
            kn.connect(secure_kafka.bootstrap, properties=properties).close()
        except kn.errors.AuthenticationFailed:
            return False
        return True

    return attempt


def test_a_new_password_logs_in_until_it_is_deleted(admin, logs_in, unique, caplog, place):
    """The plan was verified, and nobody could log in."""
    alice, stage = unique("alice"), admin.new_stage()
    for mechanism in (SHA_256, SHA_512):
        stage.set_scram(alice, mechanism, password="env:CANARY", iterations=8192)
    plan = stage.plan("a new login")
    plan.save(place / "p.json")
    done = plan.apply().raise_for_errors()
    assert rows(done, "key", "state", "validated") == [(m, "verified", "not possible") for m in (SHA_256, SHA_512)]
    assert rows(admin.scram.describe(user=alice), "mechanism", "iterations") == [(SHA_256, 8192), (SHA_512, 8192)]
    for mechanism in (SHA_256, SHA_512):
        eventually(lambda mechanism=mechanism: logs_in(alice, mechanism), True)
    stage = admin.new_stage()
    stage.delete_scram(alice, SHA_512)
    gone = stage.plan()
    assert "cannot be restored" in repr(gone)
    gone.apply().raise_for_errors()
    eventually(lambda: logs_in(alice, SHA_512), False)
    assert logs_in(alice, SHA_256)
    back = admin.rollback(done.plan_id)
    log = [admin.plans.log(plan), admin.plans.log(gone), admin.plans.log()]
    assert list((place / "state").rglob("*.json*"))
    assert sings(shown(stage, plan, done, gone, back, *log), caplog.text, place) == []
    with pytest.raises(kn.PlanRefused, match="nothing to roll back") as lost:
        admin.rollback(gone)
    assert "the old value is sensitive and was never seen" in str(lost.value)


def test_the_terminal_sets_both_and_says_it_in_every_format(kadmin, logs_in, unique, place, caplog):
    """--json and the journal had more than the table."""
    alice = unique("alice")
    change = ["scram", "set", f"{SHA_256}=env:CANARY", f"{SHA_512}=env:CANARY", f"user={alice}"]
    outputs = [kadmin(*change, "--save", "p.json"), kadmin(*change, "--json")]
    outputs.append(kadmin("plan", "show", "p.json", "--print", "markdown"))
    outputs += [kadmin("plan", "apply", "p.json", "--out", "o.json"), kadmin("plan", "apply", "p.json")]
    outputs += [kadmin("plan", "log", "p.json", "--json"), kadmin("scram", "describe", f"user={alice}")]
    assert [one.code for one in outputs] == [0] * len(outputs), outputs
    assert "2 unchanged" in outputs[-3].out
    assert outputs[-1].out.splitlines()[-1].split() == [f"user={alice}", SHA_512, "4096"]
    eventually(lambda: logs_in(alice, SHA_512), True)
    assert sings(*(one.text for one in outputs), caplog.text, place) == []


def test_a_password_is_asked_for_when_it_is_sent(kadmin, logs_in, unique, place, monkeypatch):
    """It had to be put into a variable first, where ps shows it."""
    alice, prompts = unique("alice"), []

    def typed(prompt: str) -> str:
        prompts.append(prompt)
        return CORE

    monkeypatch.setattr(getpass, "getpass", typed)
    typed.__module__ = "a kernel's"
    change = ["scram", "set", SHA_256, SHA_512, f"user={alice}"]
    looked = kadmin(*change)
    assert (looked.code, prompts) == (0, [])
    assert f"password=prompt:{alice}" in looked.out
    done = kadmin(*change, "--apply")
    assert (done.code, prompts) == (0, [f"Password for {alice}: ", "Repeat it: "])
    eventually(lambda: logs_in(alice, SHA_512), True)
    assert sings(looked.text, done.text, place) == []


@pytest.mark.parametrize("where", ["terminal", "python"])
def test_the_lease_is_free_while_a_password_is_asked_for(where, kadmin, admin, unique, monkeypatch):
    """She was asked for the password, went for lunch, and held the cluster's lease."""
    alice, free = unique("alice"), []

    def typed(prompt: str) -> str:
        lease = admin.port.lease("another plan", "bob")
        free.append(lease.note is None)
        lease.release()
        return CORE

    monkeypatch.setattr(getpass, "getpass", typed)
    typed.__module__ = "a kernel's"
    if where == "terminal":
        assert kadmin("scram", "set", SHA_256, SHA_512, f"user={alice}", "--apply").code == 0
    else:
        stage = admin.new_stage()
        stage.set_scram(alice, SHA_512)
        stage.plan().apply().raise_for_errors()
    assert free == [True, True]


def test_nobody_can_be_asked_without_a_terminal(kadmin, unique):
    """The job hung at a prompt for a night."""
    refused = kadmin("scram", "set", SHA_512, f"user={unique('alice')}", "--apply")
    assert (refused.code, refused.out) == (5, "")
    assert "there is no terminal to ask in" in refused.err


def test_two_that_differ_set_nothing(kadmin, admin, unique, monkeypatch):
    """A slip of the finger locked alice out."""
    alice, answers = unique("alice"), iter([CORE, CORE + "x"])

    def typed(prompt: str) -> str:
        return next(answers)

    typed.__module__ = "a kernel's"
    monkeypatch.setattr(getpass, "getpass", typed)
    refused = kadmin("scram", "set", SHA_512, f"user={alice}", "--apply")
    assert (refused.code, "the two entries differ" in refused.err) == (5, True)
    assert sings(refused.text) == []
    assert rows(admin.scram.describe(user=alice), "error") == [("RESOURCE_NOT_FOUND",)]


def test_a_user_that_is_not_there_is_one_clear_line(kadmin, unique):
    """NotFound: RESOURCE_NOT_FOUND for None."""
    nobody = unique("nobody")
    said = kadmin("scram", "describe", f"user={nobody}")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"NotFound: RESOURCE_NOT_FOUND for user={nobody}: ")


def test_users_are_found_by_pattern(admin, unique):
    """All credentials of the cluster, and mine were three pages down."""
    one, two = sorted(unique("team-red") for _ in "12")
    stage = admin.new_stage()
    for user in (one, two):
        stage.set_scram(user, SHA_512, password="env:CANARY")
    stage.plan().apply().raise_for_errors()
    pattern = kn.Pattern(f"{one}*")
    assert rows(admin.scram.describe(user=[pattern, two]), "user") == [(one,), (two,)]
    assert {(one,), (two,)} <= {*rows(admin.scram.describe(), "user")}
    assert len(admin.scram.describe(user=[])) == 0


@pytest.fixture
def trainee(
    secure_kafka: LocalKafka, admin: kn.Cluster, unique
) -> Iterator[tuple[kn.Cluster, Callable[[AclOperation], None]]]:
    """A user without rights, and what gives one."""
    name = unique("trainee")
    login = let_in(secure_kafka, name)
    java = admin_client(admin.settings)

    def give(operation: AclOperation) -> None:
        who = (ResourcePatternType.LITERAL, f"User:{name}", "*", operation, AclPermissionType.ALLOW)
        for future in java.create_acls([AclBinding(ResourceType.BROKER, "kafka-cluster", *who)]).values():
            future.result()

    with kn.connect(str(login)) as cluster:
        yield cluster, give


def test_the_right_that_is_missing_is_named(trainee, unique):
    """The process was aborted; or the hint asked for DESCRIBE_CONFIGS, which nobody needs for it."""
    cluster, give = trainee
    stage = cluster.new_stage()
    stage.set_scram(unique("alice"), SHA_512, password="env:CANARY")
    for attempt in (cluster.scram.describe, lambda: cluster.scram.describe(user="alice"), stage.plan):
        with pytest.raises(kn.NotAuthorized, match="CLUSTER_AUTHORIZATION_FAILED while describing SCRAM") as refused:
            attempt()
        assert (refused.value.hint, "\n" in str(refused.value)) == ("It needs DESCRIBE on the cluster.", False)
    give(AclOperation.DESCRIBE)
    eventually(lambda: _may(cluster.scram.describe), True)
    plan = stage.plan()
    denied = plan.apply(lock=False)
    assert rows(denied, "state", "error") == [("failed", "CLUSTER_AUTHORIZATION_FAILED")]
    with pytest.raises(kn.PartlyFailed) as failed:
        denied.raise_for_errors()
    assert sings(shown(denied, failed.value), variables(failed.value)) == []
    give(AclOperation.ALTER)
    eventually(lambda: rows(stage.plan().apply(lock=False), "state"), [("verified",)])


def _may(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except kn.NotAuthorized:
        return False
    return True


def test_the_tool_of_kip_248_takes_its_own_example(kadmin, logs_in, unique, place):
    """DUPLICATE_RESOURCE: the KIP's own line, both mechanisms at once, never worked on KRaft."""
    alice = unique("alice")
    both = f"{SHA_256}=[iterations=8192,password=env:CANARY],{SHA_512}=[password=env:CANARY]"
    tool = ("scram-credentials", "--username", alice)
    planned = kadmin(*tool, "--add", both, "--dry-run")
    assert (planned.code, "2 to set" in planned.out) == (0, True)
    assert kadmin(*tool, "--describe").code == 1
    assert kadmin(*tool, "--add", both).code == 0
    assert [line.split() for line in kadmin(*tool, "--describe").out.splitlines()[-2:]] == [
        [f"user={alice}", SHA_256, "8192"],
        [f"user={alice}", SHA_512, "4096"],
    ]
    eventually(lambda: logs_in(alice, SHA_256), True)
    assert kadmin(*tool, "--delete", f"{SHA_256},{SHA_512}").code == 0
    eventually(lambda: logs_in(alice, SHA_256), False)
    assert sings(place) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--add", f"{SHA_256}=[iterations=8192,password={CORE}]"], "a password is given only by reference"),
        (["--add", f"{SHA_256}=[iterations=8192,password={CORE}"], "--add does not list credentials"),
        (["--add", f"{SHA_256}={CORE},{SHA_512}=env:CANARY"], "a password is given only by reference"),
        (["--add", CORE], "--add does not list credentials"),
        (["--delete", CORE], "that is not a SCRAM mechanism"),
        ([], "one of --describe, --add, --delete is required"),
        (["--delete", SHA_256, "--describe"], "--describe and --delete cannot be combined"),
        (["--add", SHA_256, "--delete", SHA_256], "--add and --delete cannot be combined"),
    ],
    ids=[
        *("bare", "open", "one bare", "no mechanism", "another mechanism"),
        *("no action", "two actions", "another two"),
    ],
)
def test_a_wrong_line_of_that_tool_changes_nothing(kadmin, words, says):
    """The error of the tool had the password of its own example."""
    said = kadmin("scram-credentials", "--username", "alice", *words)
    assert (said.code, said.out, says in said.err) == (1, "", True), said
    assert sings(said.text) == []


def test_that_tool_reaches_brokers_as_its_sisters_do(secure_kafka, capfd, unique):
    """It took none of the options that all of Kafka's tools have to name the brokers."""
    at = ("--bootstrap-server", secure_kafka.bootstrap, "--command-config", str(secure_kafka.client_properties))
    for words, code in (
        (("--list", *at), 0),
        (("--list", *at[2:]), 1),
        (("--delete", SHA_256, "--username", unique("alice")), 1),
    ):
        assert terminal.run_line(["scram-credentials", *words]) == code
        assert ("--bootstrap-server is required" in capfd.readouterr().err) == (code == 1)
