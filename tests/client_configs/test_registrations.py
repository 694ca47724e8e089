"""The clients that follow dynamic client configs: who is there, what each supports, who would obey a new value."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from confluent_kafka.admin import AdminClient

import kadmin_nb as kn
from kadmin_nb.client_configs import verbs
from kadmin_nb.client_configs.records import MOST_BYTES, REGISTRATIONS_TOPIC, Registration, RegistrationKey
from kadmin_nb.client_configs.verbs import RegisteredClient
from kadmin_nb.errors import Invalid
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.client_configs.raw_client import HOUR_MS, RawClient, append
from tests.client_configs.written_entries import make_config_topics
from tests.hostile_names import HOSTILE
from tests.waiting import eventually

pytestmark = pytest.mark.broker

TIMEOUTS = ("session.timeout.ms", "heartbeat.interval.ms")


@pytest.fixture
def config(kafka: LocalKafka) -> dict[str, str]:
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    return config


@pytest.fixture
def clients(cluster: kn.Cluster):
    return cluster.client_configs


@pytest.fixture
def user(unique) -> str:
    return unique("user")


def rows(answer, *names: str) -> list[tuple]:
    table = answer.to_arrow().select(list(names))
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_registered_client_is_a_row(config, clients, user) -> None:
    """Nobody could tell which applications would follow a dynamic config."""
    RawClient(config, user).register()
    RawClient(config, user, "sink", instance="host-2").register(TIMEOUTS, group="billing", protocol="classic")
    answer = clients.clients(user=user)
    assert answer.to_arrow().schema.equals(schemas.FOLLOWERS.schema)
    sink = (user, "sink", "apache-kafka-java", "4.3.0", "host-2")
    in_group = (True, None, "billing", "classic", [*TIMEOUTS])
    assert rows(answer, *schemas.FOLLOWERS.names[:-1]) == [
        (user, "app", "apache-kafka-java", "4.3.0", "host-1", "acks", True, None, None, None, ["acks"]),
        *((*sink, key, *in_group) for key in TIMEOUTS),
    ]
    assert answer._title().startswith("2 known clients")
    assert len(clients.clients(user=user, client_id=kn.Pattern("si*"))) == 2


def test_two_versions_under_one_entity_are_both_there(config, clients, user) -> None:
    """Half of our producers ran the old library, and the newest registration had overwritten the others."""
    RawClient(config, user, version="4.3.0", instance="a").register(["acks"])
    RawClient(config, user, version="4.3.0", instance="b").register(TIMEOUTS, group="g", protocol="classic")
    RawClient(config, user, version="3.9.0", instance="c").register([])
    assert rows(clients.clients("acks", user=user), "version", "instance", "keys", "follows") == [
        ("3.9.0", "c", [], False),
        ("4.3.0", "a", ["acks"], True),
    ]


def test_a_client_that_went_away_expires(config, clients, user, monkeypatch) -> None:
    """The list still had the pods of last month's deployment."""
    monkeypatch.setattr(verbs, "SHORTEST_LIFE", 500)
    RawClient(config, user, instance="gone").register(interval_ms=1)
    RawClient(config, user, instance="here").register()
    eventually(lambda: rows(clients.clients(user=user), "instance"), [("here",)])
    assert any("expired" in note for note in clients.clients(user=user).notes)


@pytest.mark.parametrize(("interval_ms", "lives"), [(1, 10_000), (1_000, 10_000), (60_000, 180_000)])
def test_a_client_that_refreshes_each_second_stays(interval_ms, lives) -> None:
    """One refresh took four seconds, and the list said that the client had expired."""
    client = RegisteredClient(
        RegistrationKey("u", "c", "s", "1", "i"), Registration(["acks"], interval_ms, None, None), seen=5
    )
    assert [client.is_alive(5 + age) for age in (0, lives, lives + 1)] == [True, True, False]


@pytest.mark.parametrize("hours", [-2, pytest.param(2, marks=pytest.mark.long)])
def test_this_machines_clock_does_not_matter(config, clients, user, monkeypatch, hours) -> None:
    """The laptop's clock was wrong, and every client was dead."""
    RawClient(config, user).register(interval_ms=60_000)
    now = time.time() + hours * 3600
    monkeypatch.setattr(time, "time", lambda: now)
    assert rows(clients.clients(user=user), "instance") == [("host-1",)]


@pytest.mark.long
@pytest.mark.parametrize("hours", [pytest.param(-2, marks=pytest.mark.long), 2])
def test_a_clients_clock_does_not_matter(config, clients, user, hours, monkeypatch) -> None:
    """A container with a wrong clock was dead in the list, or immortal."""
    monkeypatch.setattr(verbs, "SHORTEST_LIFE", 500)
    hours_off = int((time.time() + hours * 3600) * 1000)
    RawClient(config, user, instance="here").register(interval_ms=60_000, timestamp=hours_off)
    RawClient(config, user, instance="gone").register(interval_ms=1, timestamp=hours_off)
    eventually(lambda: rows(clients.clients(user=user), "instance"), [("here",)])
    (seen_at,) = clients.clients(user=user).to_arrow()["seen_at"].to_pylist()
    assert abs((datetime.now(UTC) - seen_at).total_seconds()) < 600


def test_garbage_changes_nothing_but_a_count(config, clients, user, unique) -> None:
    """One application wrote into the topic by mistake, and the list could not be read any more."""
    RawClient(config, user).register()
    before = _passed_over(clients)
    key = RawClient(config, user, instance="bad").name
    fields = json.loads(key.encode())
    value = {"v": 1, "keys": ["acks"], "interval_ms": HOUR_MS, "group_id": None, "group_protocol": None}
    lone_surrogate = json.dumps({**fields, "instance": "\ud800"}).encode()
    for bad_key in (None, b"", b"\xff", b"[]", b"[" * 10_000, json.dumps({**fields, "v": 2}).encode(), lone_surrogate):
        append(config, REGISTRATIONS_TOPIC, bad_key or unique("key").encode(), json.dumps(value).encode())
    for changed in ({"v": 2}, {"keys": "acks"}, {"keys": [1]}, {"interval_ms": 1.5}, {"interval_ms": True},
                    {"interval_ms": 2**64}, {"group_id": 7}, {"keys": ["x" * MOST_BYTES]}):  # fmt: skip
        append(config, REGISTRATIONS_TOPIC, key.encode(), json.dumps({**value, **changed}).encode())
    assert rows(clients.clients(user=user), "instance") == [("host-1",)]
    assert _passed_over(clients) == before + 15


def _passed_over(clients) -> int:
    notes = [note for note in clients.clients().notes if "cannot be read" in note]
    return int(notes[0].split()[0].replace(",", "")) if notes else 0


def test_names_may_contain_anything(config, clients, user) -> None:
    """A client-id with an equals sign was two clients in the list."""
    names = [name for name in HOSTILE if name]
    for number, name in enumerate(names):
        RawClient(config, user, name, software=name, version=name, instance=f"{number}").register()
    assert {*rows(clients.clients(user=user), "client_id", "software")} == {(name, name) for name in names}
    for name in ("a=b", "🦊", "a\nset producer_byte_rate=1 user=bob"):
        assert rows(clients.clients("acks", user=user, client_id=name), "software") == [(name,)]
    page = clients.clients(user=user)._repr_html_()
    assert "<script>" not in page


def test_removed_registrations_come_back_with_the_clients(config, clients, user) -> None:
    """The entity still listed a version that nobody runs any more."""
    first, second = (RawClient(config, user, instance=name) for name in ("old", "new"))
    other = RawClient(config, user, "other")
    for client in (first, second, other):
        client.register()
    assert clients.forget(user, "app") == 2
    assert rows(clients.clients(user=user), "client_id") == [("other",)]
    second.register()
    assert rows(clients.clients(user=user), "instance") == [("new",), ("host-1",)]
    assert clients.forget(user) == 2
    assert clients.forget(user) == 0


def test_followers_of_a_new_acks(config, clients, user) -> None:
    """We set acks=1 for the team, and learned next week that half of its producers never took it."""
    RawClient(config, user, "a").register()
    RawClient(config, user, "b", version="3.9.0").register([])
    idempotent = RawClient(config, user, "c")
    idempotent.register()
    idempotent.say(-1, {}, {"acks": "enable.idempotence requires acks=all"})
    RawClient(config, user, "d").register(TIMEOUTS, group="g", protocol="classic")
    answer = clients.clients("acks", user=user)
    assert rows(answer, "client_id", "follows", "reason") == [
        ("a", True, None),
        ("b", False, "apache-kafka-java 3.9.0 does not support acks"),
        ("c", False, "enable.idempotence requires acks=all"),
    ]
    assert answer._title().startswith("1 of 3 ")


def test_groups_on_the_brokers_do_not_follow_timeouts(config, clients, user) -> None:
    """The session timeout of a group of the new protocol is on the broker, and our change did nothing."""
    RawClient(config, user, "new").register(TIMEOUTS, group="billing", protocol="consumer")
    RawClient(config, user, "old").register(TIMEOUTS, group="reports", protocol="classic")
    assert rows(clients.clients("session.timeout.ms", user=user), "client_id", "follows") == [
        ("new", False),
        ("old", True),
    ]


def test_an_unknown_key_is_refused(clients) -> None:
    """A typing error looked like: nobody follows."""
    with pytest.raises(Invalid, match="unknown client config ack"):
        clients.clients("ack")
