"""Approvals: whose count, and that `--require-approval` sends nothing without one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, NewTopic, ResourceType

import kadmin_nb as kn
from kadmin_nb.cluster import permissions
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.changes import Change, Refusal
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.approval import approval_of, approved, author
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.plan import with_note
from kadmin_nb.plans.plan_file import PlanHead
from tests.admin.logins import admin_client
from tests.double import FakeKafka
from tests.persons import grant, let_in
from tests.plans.plan_rows import rows
from tests.plans.simulation import Pages, plan_of
from tests.waiting import eventually

AT = "2026-01-01T00:00:00+00:00"
ALICE, BOB = "User:alice (root@here)", "User:bob (root@here)"
PLAN = kn.Plan(PlanHead("cluster-1", AT, "why", author=ALICE), ())


def test_an_approval_stands_beside_the_plan_and_leaves_its_id(tmp_path: Path) -> None:
    """The plan that was approved had another id than the one that was reviewed."""
    plan = kn.Plan.load(approved(PLAN, BOB, AT, "looks right").save(tmp_path / "p.json"))
    assert plan.id == PLAN.id
    assert (approval_of(plan)["author"], approval_of(plan)["text"]) == (BOB, "looks right")
    assert "approval by User:bob (root@here): looks right" in repr(plan)


@pytest.mark.parametrize(
    ("made_by", "agreed_by", "words"),
    [
        (ALICE, "User:alice (mia@laptop)", "User:alice is its author"),
        (ALICE, "bob@laptop", "bob@laptop is not a verified login"),
        ("alice@laptop", BOB, "its author alice@laptop is not a verified login"),
        (ALICE, "databricks:bob@example.com (root@driver)", "confirmed by different systems"),
        ("", BOB, "its author unknown is not a verified login"),
        ("User:a (b (me@here)", "User:a (b (you@there)", "is its author"),
    ],
)
def test_whose_approval_does_not_count(made_by: str, agreed_by: str, words: str) -> None:
    """I approved my own plan, from my other machine."""
    plan = kn.Plan(PlanHead("cluster-1", AT, author=made_by), ())
    with pytest.raises(kn.PlanRefused) as refused:
        approved(plan, agreed_by, AT)
    assert words in str(refused.value)
    assert refused.value.code == "APPROVAL"
    with pytest.raises(kn.PlanRefused) as refused:
        approval_of(with_note(plan, "", author=agreed_by, at=AT, kind="approval"))
    assert words in str(refused.value)


def test_one_approval_that_counts_is_enough_and_a_note_is_none() -> None:
    """A comment on the plan was taken for a yes."""
    with pytest.raises(kn.PlanRefused, match="no one has approved"):
        approval_of(with_note(PLAN, "hm", author=BOB, at=AT))
    approval_of(
        with_note(with_note(PLAN, "", author=ALICE, at=AT, kind="approval"), "", author=BOB, at=AT, kind="approval")
    )


def test_an_approval_of_another_plan_is_refused(tmp_path: Path) -> None:
    """Bob's yes to last week's plan was pasted into this one."""
    other = approved(kn.Plan(PlanHead("cluster-1", AT, "else", author=ALICE), ()), BOB, AT)
    place = PLAN.save(tmp_path / "p.json")
    document = json.loads(place.read_text())
    document["notes"] = [dict(note) for note in other.notes]
    place.write_text(json.dumps(document))
    with pytest.raises(kn.Invalid, match="a note about another plan"):
        kn.Plan.load(place)


def test_who_we_are_is_what_others_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """It believed the name that I had typed."""

    class Session:
        def sql(self, text: str) -> Session:
            assert text == "SELECT current_user()"
            return self

        def first(self) -> tuple[str]:
            return ("mia@example.com",)

    login = Settings("h:1", "SASL_SSL", "SCRAM-SHA-512", "alice")
    assert permissions.user_in_words(Settings("h:1", username="alice")) is None
    assert permissions.user_in_words(login) == "User:alice"
    monkeypatch.setattr(permissions, "active_session", Session)
    assert permissions.user_in_words(login) == "User:alice"
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    assert permissions.user_in_words(login) == "databricks:mia@example.com"
    monkeypatch.setattr(permissions, "active_session", lambda: None)
    assert permissions.user_in_words(login) == "User:alice"
    assert author("User:alice").startswith("User:alice (")


@pytest.mark.broker
def test_over_a_connection_without_a_login_nobody_approves(cluster: kn.Cluster, unique) -> None:
    """Everybody is ANONYMOUS there, and so anybody could."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5e6, user=(user := unique("user")))
    plan = stage.plan()
    with pytest.raises(kn.PlanRefused, match="is not a verified login"):
        cluster.plans.approve(plan)
    with pytest.raises(kn.PlanRefused, match="is not approved"):
        cluster.apply(plan, require_approval=True)
    with pytest.raises(kn.errors.WrongCluster):
        cluster.plans.approve(kn.Plan(PlanHead("another", AT, author=ALICE), ()))
    assert not len(cluster.quotas.describe(user=user))


@pytest.mark.broker
@pytest.mark.secure
def test_the_broker_names_author_and_approver(
    secure_kafka: LocalKafka, unique, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same person planned, approved and applied."""

    def run(*words: str, login: Path = secure_kafka.client_properties) -> int:
        return terminal.run_line([*words, "--cluster", str(login)])

    file, user, bob = str(tmp_path / "p.json"), unique("user"), let_in(secure_kafka, unique("bob"))
    assert run("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", file) == 0
    assert run("plan", "apply", file, "--require-approval") == 5
    assert run("plan", "approve", file) == 5
    assert "User:admin is its author" in capsys.readouterr().err
    assert run("plan", "apply", file) == 0
    assert run("plan", "apply", file, "--require-approval") == 5
    assert run("plan", "approve", file, "--note", "read on the 3rd", login=bob) == 0
    assert run("plan", "apply", file, "--require-approval") == 0
    with secure_kafka.connect() as admin:
        assert admin.quotas.describe(user=user).to_arrow()["value"].to_pylist() == [5e6]
        assert "read on the 3rd" in repr(kn.Plan.load(file))


@pytest.mark.broker
@pytest.mark.secure
def test_a_profile_that_wants_approvals_has_them_wanted_in_every_door(
    secure_kafka: LocalKafka,
    unique,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who forgot --require-approval applied what nobody had read."""
    toml = tmp_path / "kadmin-nb.toml"
    toml.write_text(f'[profiles.careful]\nproperties = "{secure_kafka.client_properties}"\napply = "approved-only"\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(toml))
    file, user, bob = str(tmp_path / "p.json"), unique("user"), let_in(secure_kafka, unique("bob"))
    at = ("--cluster", "careful")
    setting = ("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", *at)
    assert terminal.run_line([*setting, "--apply"]) == 5
    said = capsys.readouterr().err
    assert "no one has approved it; profile careful in" in said
    assert "carries out approved plans only" in said
    assert terminal.run_line([*setting, "--save", file]) == 0
    drop_in = ("kafka-configs", "--alter", "--entity-type", "users", "--entity-name", user)
    assert terminal.run_line([*drop_in, "--add-config", "producer_byte_rate=1000000", *at]) != 0
    with kn.connect("careful") as careful:
        plan = kn.Plan.load(file)
        for refused in (lambda: careful.apply(plan), lambda: careful.plans.bind(plan).apply()):
            with pytest.raises(kn.PlanRefused, match="approved plans only"):
                refused()
        with pytest.raises(kn.PlanRefused, match="approved plans only, and these topics are in no plan"):
            careful.client_configs.setup().apply()
        with pytest.raises(kn.PlanRefused, match="registrations are in no plan"):
            careful.client_configs.forget("nobody")
        assert not len(careful.quotas.describe(user=user))
    run = ("runbook", "run", "apply_plan", "-p", "cluster=careful", "-p", f"plan={file}", "-p", f"plan_id={plan.id}")
    assert terminal.run_line([*run, "-p", "apply=true", "--output", str(tmp_path / "refused.ipynb")]) == 5
    assert terminal.run_line(["plan", "approve", file, "--cluster", str(bob)]) == 0
    assert terminal.run_line(["plan", "apply", file, *at]) == 0
    with kn.connect("careful") as careful:
        assert rows(careful.quotas.describe(user=user), "value") == [(5e6,)]
        undo = careful.rollback(kn.Plan.load(file))
        with pytest.raises(kn.PlanRefused, match="approved plans only"):
            careful.apply(undo)


def test_a_profile_says_approved_only_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`apply = "never"` was taken for a key of Java's."""
    (tmp_path / "kadmin-nb.toml").write_text('[profiles.x]\nbootstrap = "127.0.0.1:9"\napply = "never"\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(tmp_path / "kadmin-nb.toml"))
    with pytest.raises(kn.UsageError, match="apply: invalid enum value 'never'"):
        kn.connect("x")


@dataclass
class ThreePersons:
    """Mia may read, and proposes; Bob may nothing, and approves; the job alone may alter the topic, and the rest."""

    mia: Path
    bob: Path
    job: Path
    topic: str
    principals: tuple[str, str, str]


@pytest.fixture
def three(secure_kafka: LocalKafka, unique) -> ThreePersons:
    names = unique("mia"), unique("bob"), unique("job")
    logins = [let_in(secure_kafka, name) for name in names]
    topic = unique("orders")
    with secure_kafka.connect() as admin:
        java = admin_client(admin.settings)
        java.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    for name, operation in ((names[0], AclOperation.DESCRIBE_CONFIGS), (names[2], AclOperation.ALTER_CONFIGS)):
        grant(secure_kafka, name, ResourceType.BROKER, "kafka-cluster", operation)
        grant(secure_kafka, name, ResourceType.TOPIC, topic, operation)
    grant(secure_kafka, names[0], ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
    grant(secure_kafka, names[2], ResourceType.BROKER, "kafka-cluster", AclOperation.ALTER)
    with secure_kafka.connect(names[0]) as mia, secure_kafka.connect(names[2]) as job:
        eventually(lambda: mia.configs.describe(topic=topic).ok and mia.port.quotas.describe().num_rows >= 0, True)
        eventually(lambda: job.permissions(f"set retention.ms=1d topic={topic}").ok and job.permissions().ok, True)
    return ThreePersons(*logins, topic, tuple(f"User:{name}" for name in names))


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Types a line of the terminal with a login: its exit status, and what it printed."""

    def run(login: Path, *words: str) -> tuple[int, str]:
        status = terminal.run_line([*words, "--cluster", str(login)])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


DENIED = "CLUSTER_AUTHORIZATION_FAILED: Cluster authorization failed."


@pytest.mark.secure
def test_who_may_not_alter_proposes_another_approves_and_the_job_applies(
    secure_kafka: LocalKafka, three: ThreePersons, typed, unique, tmp_path: Path
) -> None:
    """Only our job may alter: no plan of a person could ever be applied, whoever approved it."""
    file, user, (mia, bob, _) = str(tmp_path / "p.json"), unique("user"), three.principals
    lines = tmp_path / "lines.txt"
    lines.write_text(f"set producer_byte_rate=5MB/s user={user}\nset max.message.bytes=5000 topic={three.topic}\n")
    status, said = typed(three.mia, "plan", "-f", str(lines), "--save", file)
    assert (status, "2 to set; 2 not validated" in said) == (0, True)
    needed = f"ALTER_CONFIGS on the cluster, ALTER_CONFIGS on the topic {three.topic}"
    author = kn.Plan.load(file).head.author
    line = (
        f"not validated: 2 of 2 rows, as its author, {author}, has no right to make them. "
        f"Whoever applies it needs {needed}; the broker validates it then."
    )
    assert author.startswith(f"{mia} (")
    assert line in " ".join(typed(three.bob, "plan", "show", file)[1].split())

    status, said = typed(three.mia, "plan", "apply", file)
    assert (status, DENIED in said, "Nothing was sent. It needs ALTER_CONFIGS on the cluster." in said) == (
        5,
        True,
        True,
    )
    assert typed(three.job, "plan", "apply", file, "--require-approval")[0] == 5
    assert typed(three.mia, "plan", "approve", file)[0] == 5
    status, said = typed(three.bob, "plan", "approve", file, "--note", "read it")
    assert (status, f"approval by {bob}" in said) == (0, True)
    status, said = typed(three.job, "plan", "apply", file, "--require-approval")
    assert (status, "2 verified" in said) == (0, True), said
    with secure_kafka.connect() as admin:
        assert rows(admin.quotas.describe(user=user), "value") == [(5e6,)]


@pytest.mark.secure
def test_the_rights_to_apply_a_plan_are_those_of_who_looks(three: ThreePersons, typed, unique, tmp_path: Path) -> None:
    """Who of us may apply it was found out by applying it."""
    file, user = str(tmp_path / "p.json"), unique("user")
    assert typed(three.mia, "quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", file)[0] == 0
    status, said = typed(three.mia, "plan", "show", file, "--rights")
    assert (status, "1 of 2 rights are missing." in said) == (1, True)
    assert f"--allow-principal {three.principals[0]} --operation AlterConfigs --cluster" in said
    status, said = typed(three.job, "plan", "show", file, "--rights")
    assert (status, "No right is missing." in said) == (0, True)


@pytest.mark.secure
def test_what_the_author_could_not_have_validated_is_validated_for_who_applies(
    three: ThreePersons, typed, tmp_path: Path
) -> None:
    """A value that the broker refuses was first heard of from the middle of the run."""
    file = str(tmp_path / "p.json")
    line = ("config", "set", "segment.bytes=abc", f"topic={three.topic}", "--save", file)
    assert typed(three.mia, *line)[0] == 0
    status, said = typed(three.job, "plan", "apply", file)
    assert (status, "Invalid value abc for configuration segment.bytes" in said) == (5, True)


@pytest.mark.secure
def test_credentials_are_proposed_by_who_may_only_read_them(
    three: ThreePersons, typed, unique, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker validates no credentials; a person without ALTER on the cluster proposed one, and the job made it."""
    monkeypatch.setenv("NEW", "a-new-password")
    file, user = str(tmp_path / "p.json"), unique("user")
    assert typed(three.mia, "scram", "set", "SCRAM-SHA-512=env:NEW", f"user={user}", "--save", file)[0] == 0
    status, said = typed(three.mia, "plan", "show", file, "--rights")
    assert (status, "--operation Alter --cluster" in said) == (1, True)
    assert typed(three.bob, "plan", "approve", file)[0] == 0
    status, said = typed(three.job, "plan", "apply", file, "--require-approval")
    assert (status, "1 verified" in said) == (0, True), said


@pytest.mark.secure
def test_the_runbook_applies_what_its_author_may_not(three: ThreePersons, typed, unique, tmp_path: Path) -> None:
    """The nightly job refused every plan of a person."""
    pytest.importorskip("papermill")
    file, user = str(tmp_path / "p.json"), unique("user")
    assert typed(three.mia, "quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--save", file)[0] == 0
    assert typed(three.bob, "plan", "approve", file)[0] == 0
    given = {"cluster": str(three.job), "plan": file, "plan_id": kn.Plan.load(file).id, "apply": True}
    run = kn.runbooks.run("apply_plan", {**given, "require_approval": True}, output=tmp_path)
    assert "1 verified" in repr(run)


def test_a_plan_of_an_earlier_version_that_was_not_validated_is_loaded_and_keeps_its_id(tmp_path: Path) -> None:
    """The plan of before the update was called refused for ever."""
    refused = Refusal("TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed.")
    change = Change(1, "set", Resource("TOPIC", "orders"), "retention.ms", None, "1", "1", validated=refused)
    plan = kn.Plan.load(kn.Plan(PlanHead("cluster-1", AT, author=ALICE), (change,)).save(tmp_path / "p.json"))
    assert (plan.head.format, plan._refused, plan.changes[0].lacks_right) == (3, (), True)
    assert json.loads((tmp_path / "p.json").read_text())["body"]["changes"][0]["validated"] == str(refused)
    assert "Whoever applies it needs ALTER_CONFIGS on the topic orders" in repr(plan)
    assert plan.raise_for_errors() is plan


def test_over_a_double_who_gets_the_right_applies_and_who_lacks_it_is_refused() -> None:
    """It was refused in the words of the day on which it was made."""
    kafka = FakeKafka()
    kafka.cluster.may_alter = False
    plan = plan_of(kafka, lambda stage: stage.set_quota("producer_byte_rate", 5e6, user="alice"))
    assert (plan._refused, [change.lacks_right for change in plan.changes]) == ((), [True])
    with pytest.raises(kn.PlanRefused, match="the broker refuses 1 of 1 rows") as refused:
        executor.apply(kafka, plan, Pages().opened())
    assert refused.value.hint == "Nothing was sent. It needs ALTER_CONFIGS on the cluster."
    assert not kafka.alters
    kafka.grant()
    (outcome,) = executor.apply(kafka, plan, Pages().opened()).outcomes
    assert outcome.state == "verified"
