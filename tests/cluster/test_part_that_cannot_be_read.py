"""A part of a cluster that cannot be read is named with its reason, and all else is read, compared and recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONFIGS_TOPIC
from kadmin_nb.state import taking
from kadmin_nb.state.snapshot_kinds import CONFIGS, SCOPES
from tests.admin.logins import admin_client
from tests.command_result import CommandResult
from tests.persons import let_in
from tests.waiting import eventually

pytestmark = pytest.mark.broker

Line = Callable[..., CommandResult]

REASON = f"the topic {CONFIGS_TOPIC} has 2 partitions: kadmin_nb did not make it, as its topic has one"
REMEDY = f'kafka-topics.sh --bootstrap-server "$BOOTSTRAP" --delete --topic {CONFIGS_TOPIC}'
NAMED = f"Invalid: client configs could not be read: {REASON}"

LIMITS = "kadmin: 1\nquotas:\n  user=alice:\n    producer_byte_rate: 6000000\n"
ACKS = f"{LIMITS}client-configs:\n  user=alice:\n    acks: all\n"

RULE = '''
def {name}({frame}):
    """agreed"""
    return {frame}[({frame}.key == "{key}") & ({condition})]
'''


@pytest.fixture(scope="module")
def strange() -> Iterator[LocalKafka]:
    """A Kafka on which somebody else has a topic that is called as ours, and alice a limit."""
    with kn.local.start() as kafka, kafka.connect() as cluster:
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", "5MB/s", user="alice")
        cluster.apply(stage.plan()).raise_for_errors()
        java = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        java.create_topics([NewTopic(CONFIGS_TOPIC, 2, 1)], operation_timeout=30)[CONFIGS_TOPIC].result()
        eventually(lambda: [part.scope for part in cluster.snapshot().unread], ["CLIENT_CONFIGS"])
        yield kafka


@pytest.fixture
def line(strange: LocalKafka, capsys: pytest.CaptureFixture[str]) -> Line:
    def run(*words: str) -> CommandResult:
        code = terminal.run_line([*words, "--cluster", strange.bootstrap])
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_an_export_has_all_else(line: Line, tmp_path: Path) -> None:
    """The nightly export was an empty file, even with `--kinds quotas`."""
    alone = line("export", "--kinds", "quotas")
    assert (alone.code, alone.err, "producer_byte_rate: 5000000" in alone.out) == (0, "", True)
    said = line("export")
    assert (said.code, said.err.splitlines()[0]) == (1, f"{NAMED}; the rest is written")
    assert "kinds: [quotas, topic, broker, client-metrics, group]" in said.out
    assert "producer_byte_rate: 5000000" in said.out
    written = line("export", "--out", str(tmp_path / "cluster.yaml"))
    assert (written.code, written.out, written.err.splitlines()[0]) == (1, "", f"{NAMED}; the rest is written")
    assert kn.state.load(tmp_path / "cluster.yaml").kinds == ("quotas", "topic", "broker", "client-metrics", "group")
    nothing = line("export", "--kinds", "client-configs")
    assert (nothing.code, nothing.out, nothing.err.splitlines()[0]) == (1, "", f"Invalid: {REASON}")


def test_a_history_records_all_else(line: Line, tmp_path: Path) -> None:
    """For a week nothing was recorded, since a stranger had made a topic."""
    lake = str(tmp_path / "lake")
    said = line("history", "record", lake, "--json")
    assert (said.code, said.err.splitlines()[0]) == (1, NAMED)
    assert [row["kind"] for row in json.loads(said.out)] == ["quotas", "configs", "credentials"]
    drifted = line("diff", f"history:{lake}", "--json")
    assert drifted.code == 1
    assert [(row["resource"], row["state"]) for row in json.loads(drifted.out)] == [("client configs", "unknown")]


def test_a_comparison_takes_nothing_for_removed(line: Line, strange: LocalKafka, file, tmp_path: Path) -> None:
    """The file has acks of alice, and the diff said that the cluster had lost them, or it ended with nothing shown."""
    found = line("diff", file("wished.yaml", ACKS), "--json")
    assert found.code == 1
    rows = [tuple(row[name] for name in ("resource", "state", "a", "b")) for row in json.loads(found.out)]
    assert rows == [("client configs", "unknown", None, None), ("user=alice", "changed", "6000000", "5000000")]
    only_limits = line("diff", file("limits.yaml", LIMITS), "--json")
    assert (only_limits.code, [row["resource"] for row in json.loads(only_limits.out)]) == (0, ["user=alice"])
    with strange.connect() as cluster:
        taken = cluster.snapshot()
    assert "NOT COMPLETE: client configs could not be read>" in repr(taken)
    assert taken.unread[0].in_one_line() == f"{REASON}. If it is not needed: {REMEDY}"


def test_a_plan_is_made_of_what_was_read(line: Line, file) -> None:
    """A file of quotas could not be planned, as a topic of somebody else has two partitions."""
    assert line("plan", "from", file("limits.yaml", LIMITS)).out.startswith("Plan ")
    refused = line("plan", "from", file("acks.yaml", ACKS))
    assert (refused.code, refused.out) == (5, "")
    first = refused.err.splitlines()[0]
    assert first.endswith(
        f"line 7, column 5: client configs could not be read: {REASON}, so no plan can be made of user=alice"
    )
    pruned = line("plan", "from", file("none.yaml", "kadmin: 1\nquotas: {}\nclient-configs: {}\n"), "--prune")
    assert pruned.code == 0
    assert "1 to remove" in pruned.out
    assert f"nothing is pruned of a part: client configs could not be read: {REASON}" in pruned.out


def test_a_policy_is_judged_as_far_as_it_can_be(line: Line, file) -> None:
    """The check of the limits ended with a topic, and CI let the pull request through or not, nobody knew why."""
    high = "quotas.value > 50e6"
    limits = RULE.format(name="limits", frame="quotas", key="producer_byte_rate", condition=high)
    acks = RULE.format(name="acks", frame="client_configs", key="acks", condition='client_configs.value != "-1"')
    assert line("policy", "check", file("limits.py", limits)).code == 0
    said = line("policy", "check", file("both.py", limits + acks), "--json")
    states = {row["rule"]: (row["state"], row["message"]) for row in json.loads(said.out)}
    assert said.code == 1
    assert {rule: state for rule, (state, _) in states.items()} == {"limits": "kept", "acks": "unknown"}
    assert states["acks"][1] == f"the client configs were not read: {REASON}. If it is not needed: {REMEDY}"


# --- each part, forced to fail once ---

FAILURES = (
    kn.NotAuthorized("CLUSTER_AUTHORIZATION_FAILED: no", code="CLUSTER_AUTHORIZATION_FAILED", hint="Ask."),
    kn.errors.TimedOut("no answer in 30 s", code="REQUEST_TIMED_OUT"),
    kn.errors.Unsupported("this broker cannot", code="UNSUPPORTED_VERSION"),
)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("scope", SCOPES)
def test_each_part_fails_alone(scope: str, failure: kn.KadminError, cluster: kn.Cluster, monkeypatch, tmp_path) -> None:
    """The client-metrics of a cluster could not be listed, and I had no quotas."""

    def fail(*_: object, **__: object) -> None:
        raise failure

    whole = cluster.snapshot()
    if scope in CONFIGS.scopes:
        listed = taking._resources
        monkeypatch.setattr(taking, "_resources", lambda kafka, one: (fail if one == scope else listed)(kafka, one))
    else:
        port = {"QUOTAS": "quotas", "CLIENT_CONFIGS": "client_configs", "SCRAM": "scram"}[scope]
        monkeypatch.setattr(getattr(cluster.port, port), "describe", fail)
        monkeypatch.setattr(taking, "_is_listed", lambda *_: True)
    part = cluster.snapshot()
    assert (part.complete, part.scopes) == (False, tuple(one for one in SCOPES if one != scope))
    assert [(one.scope, one.code, one.message) for one in part.unread] == [(scope, failure.code, str(failure))]
    with pytest.raises(type(failure), match=f"{part.unread[0].title} could not be read: "):
        part.raise_for_errors()
    history = kn.open_history(tmp_path / "lake")
    history.record(whole)
    assert not history.record(part).ok
    assert len(history.changes((None, None))) == 0
    assert [(row["resource"], row["state"]) for row in kn.diff(whole, part)] == [(part.unread[0].title, "unknown")]


def test_what_was_not_asked_for_is_not_read(cluster: kn.Cluster, monkeypatch) -> None:
    """An export of quotas read the configs of five thousand topics first."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(cluster.port.configs, "describe", fail)
    monkeypatch.setattr(cluster.port.client_configs, "describe", fail)
    taken = cluster.snapshot("quotas")
    assert (taken.scopes, taken.complete) == (("QUOTAS",), True)
    assert len(cluster.plan_from(kn.state.read("kadmin: 1\nquotas: {}\n", "wished"))) == 0


def test_a_cluster_of_which_nothing_can_be_read_is_an_error(cluster: kn.Cluster, monkeypatch) -> None:
    """An empty export, exit 0, of a cluster that was going down."""
    failure = kn.errors.ConnectionFailed("no broker answers")

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(cluster.port.quotas, "describe", fail)
    with pytest.raises(kn.errors.ConnectionFailed, match="no broker answers"):
        cluster.snapshot()


# --- what the authorizer forbids ---


@pytest.fixture
def person(secure_kafka: LocalKafka, unique) -> Iterator[tuple[kn.Cluster, Callable[..., None]]]:
    """Somebody without rights, and what gives them one on the cluster."""
    name = unique("person")
    login = let_in(secure_kafka, name)

    def give(*operations: AclOperation) -> None:
        with secure_kafka.connect() as admin:
            java = admin_client(admin.settings)
            for operation in operations:
                whose = (ResourcePatternType.LITERAL, f"User:{name}", "*", operation, AclPermissionType.ALLOW)
                for future in java.create_acls([AclBinding(ResourceType.BROKER, "kafka-cluster", *whose)]).values():
                    future.result()

    with kn.connect(str(login)) as connected:
        yield connected, give


@pytest.mark.secure
def test_forbidden_client_configs_are_named_where_there_are_some(person, secure_kafka: LocalKafka, unique) -> None:
    """I may not see the topic of client configs, and read that nothing differs."""
    cluster, give = person
    with pytest.raises(kn.NotAuthorized):
        cluster.snapshot(["quotas", "broker"])
    give(AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    eventually(lambda: _scopes(cluster)[:1], ("QUOTAS",))
    with secure_kafka.connect() as admin:
        stage = admin.new_stage()
        stage.set_client_config("acks", "-1", user=unique("alice"))
        stage.plan().apply().raise_for_errors()
        of_all = ("User:*", None, AclOperation.ANY, AclPermissionType.ANY)  # client-configs init lets everybody read
        topic = AclBindingFilter(ResourceType.TOPIC, CONFIGS_TOPIC, ResourcePatternType.LITERAL, *of_all)
        java = admin_client(admin.settings)  # its requests end with it
        for future in java.delete_acls([topic]).values():
            future.result()
    eventually(lambda: len(cluster.snapshot(["quotas", "client-configs"]).unread), 1)  # each broker knows of the topic
    (part,) = cluster.snapshot(["quotas", "client-configs"]).unread
    assert (part.scope, part.code) == ("CLIENT_CONFIGS", "TOPIC_AUTHORIZATION_FAILED")
    assert part.hint == f"It needs DESCRIBE on the topic {CONFIGS_TOPIC}."


@pytest.mark.secure
def test_credentials_that_one_may_not_see_are_named(person, tmp_path: Path) -> None:
    """I may see quotas and configs, not who can log in: nothing was recorded, or every user was said to be gone."""
    cluster, give = person
    give(AclOperation.DESCRIBE_CONFIGS)
    wanted = ["quotas", "broker", "credentials"]
    eventually(lambda: _scopes(cluster, wanted), ("QUOTAS", "BROKER"))
    taken = cluster.snapshot(wanted)
    (part,) = taken.unread
    assert (part.scope, part.code) == ("SCRAM", "CLUSTER_AUTHORIZATION_FAILED")
    assert (part.title, part.hint) == ("SCRAM credentials", "It needs DESCRIBE on the cluster.")
    history = kn.open_history(tmp_path / "lake")
    assert [row["kind"] for row in history.record(taken)] == ["quotas", "configs"]
    give(AclOperation.DESCRIBE)
    eventually(lambda: _scopes(cluster, wanted), ("QUOTAS", "BROKER", "SCRAM"))
    later = cluster.snapshot(wanted)
    assert (later.complete, len(later.credentials) > 0) == (True, True)
    assert [(row["resource"], row["state"]) for row in kn.diff(taken, later)] == [("SCRAM credentials", "unknown")]


def _scopes(cluster: kn.Cluster, kinds: Collection[str] = ("quotas",)) -> tuple[str, ...]:
    try:
        return cluster.snapshot(kinds).scopes
    except kn.NotAuthorized:
        return ()
