"""The clients that a plan is about: a note on who will follow, and waiting until each has said so."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka.admin import AdminClient

import kadmin_nb as kn
from kadmin_nb.clients import DynamicProducer
from kadmin_nb.commands import terminal
from kadmin_nb.errors import ExitState, Interrupted, NotAuthorized
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONSUMER_KEYS
from tests.client_configs.raw_client import RawClient
from tests.client_configs.written_entries import make_config_topics
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture
def config(kafka: LocalKafka) -> dict[str, str]:
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    return config


def plan_of(cluster: kn.Cluster, key: str, value: object, user: str, client_id: str | None = None):
    stage = cluster.new_stage()
    if value is None:
        stage.reset_client_config(key, user=user, client_id=client_id)
    else:
        stage.set_client_config(key, value, user=user, client_id=client_id)
    return stage.plan(reason="a test")


def note_of(plan) -> str:
    (row,) = plan.to_arrow().to_pylist()
    return row["note"]


def state_and_message(outcomes) -> tuple[str, str | None]:
    (row,) = outcomes.to_arrow().to_pylist()
    return row["state"], row["message"]


def revision_of(cluster: kn.Cluster, user: str) -> int:
    return max(cluster.client_configs.describe(user=user).to_arrow()["revision"].to_pylist())


def test_a_plan_says_how_many_clients_follow(config, cluster, unique) -> None:
    """We planned acks=1 for a team of which one application in three could take it."""
    user = unique("user")
    assert note_of(plan_of(cluster, "acks", "-1", user)).startswith("no known client")
    RawClient(config, user, "a").register()
    assert note_of(plan_of(cluster, "acks", "-1", user)).startswith("1 of 1")
    RawClient(config, user, "b", version="3.9.0").register([])
    RawClient(config, user, "c").register()
    assert note_of(plan_of(cluster, "acks", "-1", user)) == "2 of 3 known clients follow"
    assert note_of(plan_of(cluster, "acks", "-1", user, "b")) == "0 of 1 known client follows"
    plan_of(cluster, "acks", "-1", user, "c").apply()
    assert note_of(plan_of(cluster, "acks", "all", user)).endswith("1 of 3 known clients follow")


def test_groups_of_the_new_protocol_are_named_with_their_lines(config, cluster, unique) -> None:
    """The plan went through, and the group kept its old timeout: its protocol takes it from the brokers."""
    user = unique("user")
    RawClient(config, user, "a").register(CONSUMER_KEYS, group="pay roll", protocol="consumer")
    RawClient(config, user, "b").register(CONSUMER_KEYS, group="reports", protocol="classic")
    assert note_of(plan_of(cluster, "session.timeout.ms", 50_000, user)) == (
        "1 of 2 known clients follow; groups on the brokers need: "
        "config set consumer.session.timeout.ms=50000 group='pay roll'"
    )
    assert "brokers refuse 20000 there" in note_of(plan_of(cluster, "session.timeout.ms", 20_000, user))


def test_a_row_is_verified_when_every_client_has_said_so(config, cluster, unique) -> None:
    """Verified meant that the brokers had it; two pods still ran with the old value for an hour."""
    user = unique("user")
    clients = [RawClient(config, user, instance=name) for name in ("first", "second")]
    for client in clients:
        client.register()
    plan = plan_of(cluster, "acks", "-1", user)
    outcomes = plan.apply(wait_clients=0.5)
    assert state_and_message(outcomes) == (
        "unverified",
        f"0 of 2 live clients follow; not said by user={user} client-id=app first, user={user} client-id=app second",
    )
    revision = revision_of(cluster, user)
    clients[0].say(revision, {"acks": "-1"})
    later = threading.Timer(0.5, clients[1].say, (revision, {"acks": "-1"}))
    later.start()
    assert state_and_message(cluster.verify(plan, wait_clients=30)) == ("verified", "2 of 2 live clients follow")
    later.join()


def test_waiting_is_told_and_can_be_stopped(config, cluster, unique) -> None:
    """The line stood still for a minute, and nobody knew what for; Ctrl-C was not heard."""
    user = unique("user")
    RawClient(config, user).register()
    told: list[str] = []
    plan = plan_of(cluster, "acks", "-1", user)
    with pytest.raises(Interrupted) as stopped:
        plan.apply(wait_clients=600, progress=lambda advance: told.append(str(advance)), stop=lambda: len(told) > 4)
    assert told[-1].startswith("followed 0 of 1, ")
    assert state_and_message(stopped.value.outcomes)[0] == "unverified"


def test_clients_that_cannot_be_asked_hide_nothing(config, cluster, unique, monkeypatch) -> None:
    """It was applied, and all that we saw was that we may not read a topic."""

    def refuse(**_: object) -> None:
        raise NotAuthorized("READ is missing", code="TOPIC_AUTHORIZATION_FAILED")

    plan = plan_of(cluster, "acks", "-1", unique("user"))
    monkeypatch.setattr(cluster.port.client_registry, "describe", refuse)
    outcomes = plan.apply(wait_clients=0.5)
    assert state_and_message(outcomes) == ("unverified", "its clients could not be asked: READ is missing")


def test_a_client_that_refuses_has_said_so(config, cluster, unique) -> None:
    """We waited for a transactional producer that could never follow."""
    user = unique("user")
    client = RawClient(config, user)
    client.register()
    plan = plan_of(cluster, "acks", "-1", user)
    plan.apply()
    client.say(revision_of(cluster, user), {}, {"acks": "it is transactional"})
    outcomes = cluster.verify(plan, wait_clients=30)
    assert outcomes.ok
    assert state_and_message(outcomes)[1] == (
        f"0 of 1 live clients follow; refused by user={user} client-id=app host-1 (it is transactional)"
    )


def test_a_removed_value_is_waited_for_too(config, cluster, unique) -> None:
    """The entry was gone, and the client still ran with it."""
    user = unique("user")
    client = RawClient(config, user)
    client.register()
    plan_of(cluster, "acks", "-1", user).apply()
    client.say(revision_of(cluster, user), {"acks": "-1"})
    removal = plan_of(cluster, "acks", None, user)
    assert state_and_message(removal.apply(wait_clients=0.3))[0] == "unverified"
    client.say(-1, {})
    assert state_and_message(cluster.verify(removal, wait_clients=30))[0] == "verified"


def test_a_running_producer_is_waited_for(config, cluster, kafka, unique, capsys, tmp_path) -> None:
    """The runbook went on before the application had the new value."""
    user = unique("user")
    settings = {"kadmin.refresh.interval.ms": 300, "client.id": "app", "kadmin.user": user}
    with DynamicProducer(config | settings) as producer:
        eventually(lambda: len(cluster.client_configs.status(user=user)), 1)
        plan = plan_of(cluster, "acks", "1", user, "app")
        assert "1 of 1" in note_of(plan)
        plan.save(tmp_path / "plan.json")
        stopped = threading.Event()
        polling = threading.Thread(target=lambda: [producer.poll(0.05) for _ in iter(stopped.is_set, True)])
        polling.start()
        row = f"acks user={user} client-id=app"
        words = ["plan", "apply", str(tmp_path / "plan.json"), "--allow", row, "--wait-clients", "20s"]
        assert terminal.run_line([*words, "--cluster", kafka.bootstrap]) == 0
        stopped.set()
        polling.join()
    assert "1 of 1 live clients follow" in " ".join(capsys.readouterr().out.split())


def test_the_line_that_verifies_fails_where_a_client_is_silent(config, cluster, kafka, unique, capsys) -> None:
    """Our pipeline asked whether all have it, and took silence for a yes."""
    user = unique("user")
    RawClient(config, user).register()
    plan = plan_of(cluster, "acks", "-1", user)
    plan.apply()
    words = ["plan", "verify", plan.id[:8], "--cluster", kafka.bootstrap]
    assert terminal.run_line(words) == 0
    assert terminal.run_line([*words, "--wait-clients", "0.3s"]) == ExitState.PARTLY
    assert "0 of 1 live clients follow; not said by" in capsys.readouterr().err
    assert terminal.run_line([*words, "--wait-clients", "soon"]) == 2
    assert "soon is not a duration: 60s, 5m" in capsys.readouterr().err
