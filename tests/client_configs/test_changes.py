"""Client configs from a typed line to verified rows: staged, planned, judged, applied, taken back, described."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.plans.plan import Plan
from tests.command_result import CommandResult
from tests.dangerous_plans import applied

pytestmark = pytest.mark.broker

Kadmin = Callable[..., CommandResult]


@pytest.fixture
def kadmin(kafka, capsys) -> Kadmin:
    """`kadmin("config", "set", …)` in the terminal, at the local Kafka."""

    def run(*words: str) -> CommandResult:
        option = "--bootstrap-server" if words[0] == "kafka-configs" else "--cluster"
        code = terminal.run_line([*words, option, kafka.bootstrap])
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def alice(unique) -> str:
    return unique("alice")


def values(answer: kn.Answer, *names: str) -> list[tuple[object, ...]]:
    return [tuple(row[name] for name in names) for row in answer.to_arrow().to_pylist()]


def stored(cluster: kn.Cluster, user: str) -> list[tuple[object, ...]]:
    return values(cluster.client_configs.describe(user=user), "client_id", "key", "value")


def test_a_line_is_planned_applied_and_read_back(kadmin, cluster, alice):
    """To try acks=1 for an hour I had to restart forty services, twice."""
    confirmed = ("--apply", "--allow", f"acks user={alice} client-id=app", "--reason", "a test")
    said = kadmin("config", "set", "acks=1", f"user={alice}", "client-id=app", *confirmed)
    assert (said.code, "1 verified" in said.out) == (0, True), said
    (row,) = cluster.client_configs.describe(user=alice).to_arrow().to_pylist()
    assert (row["entity"], row["key"], row["value"]) == (f"user={alice} client-id=app", "acks", "1")
    assert (len(row["plan_id"]), row["author"] != "") == (64, True)
    assert kadmin("config", "reset", "acks", f"user={alice}", "client-id=app", "--apply").code == 0
    assert stored(cluster, alice) == []


def test_the_proposals_examples(kadmin, cluster, alice):
    """KIP-649 had the line that I needed, and no tool took it."""
    users = ("--entity-type", "users", "--entity-name", alice)
    clients = (*users, "--entity-type", "clients", "--entity-name", "clientid-override")
    added = "acks=-1,session.timeout.ms=11000,producer_byte_rate=50000"
    said = kadmin("kafka-configs", "--alter", *users, "--add-config", added)
    assert (said.code, said.out) == (0, f"Completed updating config for user {alice}.\n"), said
    added = "acks=0,heartbeat.interval.ms=2000,producer_byte_rate=60000"
    said = kadmin("kafka-configs", "--alter", *clients, "--add-config", added, "--reason", "as in the proposal")
    assert (said.code, said.out) == (0, f"Completed updating config for user {alice}.\n"), said
    assert kadmin("kafka-configs", "--describe", *users).out.splitlines() == [
        f"Quota configs for user-principal '{alice}' are producer_byte_rate=50000.0",
        f"Dynamic configs for user-principal '{alice}' are acks=-1, session.timeout.ms=11000",
    ]
    assert kadmin("kafka-configs", "--describe", *clients).out.splitlines() == [
        f"Quota configs for user-principal '{alice}', client-id 'clientid-override' are producer_byte_rate=60000.0",
        f"Dynamic configs for user-principal '{alice}', client-id 'clientid-override' are "
        "acks=0, heartbeat.interval.ms=2000",
    ]
    children = kadmin("kafka-configs", "--describe", "--entity-type", "users", "--entity-type", "clients").out
    assert f"Dynamic configs for user-principal '{alice}', client-id 'clientid-override' are acks=0" in children
    both = cluster.client_configs.describe(user=alice)
    assert values(both, "key", "value", "entity") == [
        ("acks", "-1", f"user={alice}"),
        ("session.timeout.ms", "11000", f"user={alice}"),
        ("acks", "0", f"user={alice} client-id=clientid-override"),
        ("heartbeat.interval.ms", "2000", f"user={alice} client-id=clientid-override"),
    ]
    gone = kadmin("kafka-configs", "--alter", *clients, "--delete-config", "acks,heartbeat.interval.ms")
    assert gone.code == 0, gone
    assert stored(cluster, alice) == [(None, "acks", "-1"), (None, "session.timeout.ms", "11000")]


def test_the_client_configs_of_a_user_are_described(kadmin, alice):
    """I saw what is set for her, and not for her client-id."""
    app = (f"user={alice}", "client-id=app", "--apply")
    assert kadmin("config", "set", "acks=-1", *app).code == 0
    for words in ([f"user={alice}"], [f"user={alice}", "client-id=app"]):
        said = kadmin("config", "describe", *words)
        assert said.out.splitlines()[2].split()[:4] == [f"user={alice}", "client-id=app", "acks", "-1"]
    assert kadmin("config", "reset", "acks", *app).code == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("set acks=2 user={alice}", "acks=2 is not one of -1, all, 0, 1"),
        ("set acks=1", "a config change names a resource"),
        ("set acks=1 client-id=app", "a client config belongs to one user"),
        ("set acks=1 user=<default>", "user=<default> has no client configs"),
        ("set acks=1 user={alice} client-id=<default>", "client-id=<default> has no client configs"),
        ("set akcs=1 user={alice}", "Did you mean acks?"),
        ("set sasl.jaas.config=x acks=1 user={alice}", "unknown client config sasl.jaas.config"),
        ("set bootstrap.servers=evil acks=1 user={alice}", "unknown client config bootstrap.servers"),
        ("set session.timeout.ms=5999 user={alice}", "is out of the brokers' range: group.min.session.timeout.ms=6000"),
        ("set session.timeout.ms=10s user={alice}", "session.timeout.ms=10s is not a number of milliseconds"),
        (
            "set session.timeout.ms=7000 heartbeat.interval.ms=7000 user={alice}",
            "heartbeat.interval.ms=7000 is not below session.timeout.ms=7000",
        ),
        ("append acks=1 user={alice}", "unknown client config change 'append'"),
        (
            "set acks=1 producer_byte_rate=1 user={alice}",
            "user=… has quotas: kadmin-nb quota set",
        ),
        ("set acks=1 user={alice} --apply", "--allow 'acks user="),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(line, says, kadmin, cluster, alice):
    """A slip in a line was half applied."""
    said = kadmin("config", *line.format(alice=alice).split())
    assert said.code != 0
    assert says in said.text, said
    assert "Traceback" not in said.text
    assert stored(cluster, alice) == []


def test_a_plan_of_several_kinds_begins_with_client_configs(cluster, alice, topic):
    """The quotas were lowered, and then the client configs were refused."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 10**12, user=alice)
    stage.set_config("segment.bytes", "70000000", topic=topic)
    stage.add(f"set acks=-1 session.timeout.ms=11000 user={alice}\nset heartbeat.interval.ms=3000 user={alice}")
    plan = stage.plan("all of it")
    outcomes = plan.apply()
    assert [row["state"] for row in outcomes.to_arrow().to_pylist()] == ["verified"] * 5
    intents = [row for row in cluster.plans.log(plan) if row["kind"] == "intent"]
    kinds = [plan.changes[int(row["rows"].partition("-")[0].partition(",")[0]) - 1].kind for row in intents]
    assert kinds == ["client-config", "quota", "config"]
    back = cluster.rollback(outcomes.plan_id).apply()
    assert {row["state"] for row in back.to_arrow().to_pylist()} == {"verified"}
    assert stored(cluster, alice) == []


def test_one_conflict_leaves_all_client_configs_as_they_were(cluster, alice):
    """Of a plan for two clients one was done, since somebody had changed the other."""
    stage = cluster.new_stage()
    for client in ("a", "b"):
        stage.set_client_config("acks", "-1", user=alice, client_id=client)
    plan = stage.plan()
    other = cluster.new_stage()
    other.set_client_config("acks", "1", user=alice, client_id="b")
    applied(other.plan("meanwhile"))
    with pytest.raises(kn.errors.Conflict):
        plan.apply()
    assert stored(cluster, alice) == [("b", "acks", "1")]


def test_a_change_between_look_and_commit_is_refused_as_a_whole(cluster, alice, monkeypatch):
    """Between the last look and the request somebody else was quicker, and lost his change."""
    from kadmin_nb.plans import sending

    stage = cluster.new_stage()
    for client in ("a", "b"):
        stage.set_client_config("acks", "-1", user=alice, client_id=client)
    plan, real = stage.plan(), sending.Batch.send

    def send(batch, kafka, **options):
        monkeypatch.setattr(sending.Batch, "send", real)
        other = cluster.new_stage()
        other.set_client_config("acks", "1", user=alice, client_id="b")
        applied(other.plan("quicker"), lock=False)
        return batch.send(kafka, **options)

    monkeypatch.setattr(sending.Batch, "send", send)
    rows = plan.apply(lock=False).to_arrow().to_pylist()
    assert [(row["state"], row["error"]) for row in rows] == [
        ("failed", "OPERATION_NOT_ATTEMPTED"),
        ("failed", "CONFLICT"),
    ]
    assert stored(cluster, alice) == [("b", "acks", "1")]


def test_lowered_acks_are_dangerous_at_every_level(cluster, alice):
    """A client's own acks=-1 was taken away, and its user's acks=0 came through."""

    def dangers(**sets: str | None) -> list[str]:
        stage = cluster.new_stage()
        for whose, value in sets.items():
            client = None if whose == "user" else whose
            if value is None:
                stage.reset_client_config("acks", user=alice, client_id=client)
            else:
                stage.set_client_config("acks", value, user=alice, client_id=client)
        return [row["message"].partition(":")[0] for row in stage.plan().dangers().to_arrow().to_pylist()]

    assert dangers(user="1") != []
    assert dangers(user="-1") == dangers(user="all") == []
    stage = cluster.new_stage()
    stage.set_client_config("acks", "0", user=alice)
    stage.set_client_config("acks", "-1", user=alice, client_id="app")
    applied(stage.plan("a test"))
    assert dangers(app=None) == ["acks drops to 0"]
    assert dangers(app="1") == ["acks drops to 1"]
    assert dangers(user="1") == dangers(user="-1", app=None) == []
    assert dangers(other="1") == []


def test_a_plan_is_saved_printed_and_read_back(kadmin, cluster, alice, tmp_path):
    """The plan that I sent around could be read by nobody."""
    stage = cluster.new_stage()
    stage.set_client_config("acks", "all", user=alice, client_id="a=b ü")
    stage.reset_client_config("session.timeout.ms", user=alice)
    plan = stage.plan("for review")
    again = Plan.load(plan.save(tmp_path / "plan.json"))
    assert (again.id, again.changes) == (plan.id, plan.changes)
    assert "client-id='a=b ü'" in plan.to_markdown()


def test_describe_has_the_filters_of_quotas(cluster, alice, unique):
    """I could ask for one client, and not for all of a team's."""
    bob = f"{alice}-bob"
    stage = cluster.new_stage()
    for user, client in [(alice, None), (alice, "app"), (alice, "job"), (bob, "app")]:
        stage.set_client_config("acks", "-1", user=user, client_id=client)
    stage.set_client_config("session.timeout.ms", "11000", user=alice)
    stage.plan().apply().raise_for_errors()

    def found(**filters: object) -> list[tuple[object, ...]]:
        return values(cluster.client_configs.describe(**filters), "user", "client_id", "key")

    own = [(alice, None, "acks"), (alice, None, "session.timeout.ms")]
    assert found(user=alice) == [*own, (alice, "app", "acks"), (alice, "job", "acks")]
    assert found(user=alice, strict=True) == own
    assert found(user=alice, client_id="app") == [(alice, "app", "acks")]
    assert found(user=alice, client_id=kn.ANY) == [(alice, "app", "acks"), (alice, "job", "acks")]
    assert found(user=[alice, bob], client_id=["app"]) == [(alice, "app", "acks"), (bob, "app", "acks")]
    assert found(user=kn.Pattern(f"{alice}*"), client_id=kn.Pattern("a*")) == found(user=[alice, bob], client_id="app")
    assert {*found(user=kn.ANY)} >= {*found(user=[alice, bob])}
    for wrong in (None, kn.DEFAULT):
        with pytest.raises(kn.Invalid) as refused:
            cluster.client_configs.describe(user=wrong)
        assert refused.value.code == "INVALID_REQUEST"
