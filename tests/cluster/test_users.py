"""Everybody whom anything on a cluster knows, in one table, on real brokers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.commands import run
from kadmin_nb.commands.session import Session
from kadmin_nb.model.connection_settings import Settings
from tests.admin.logins import admin_client, settings_of
from tests.hostile_names import HOSTILE
from tests.persons import let_in

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
NOBODY_ELSE = {"mechanisms": "", "quotas": 0, "quota_keys": []}


@pytest.fixture
def answer(cluster: kn.Cluster) -> Callable[..., kn.Answer]:
    """`answer("users", …)`: one typed line in a terminal, its answer."""
    return lambda *words: run(words, Session(connected=cluster, owns=False)).value


def _rows(answer: kn.Answer) -> dict[str, dict[str, object]]:
    """The rows by user; of each, what is not null."""
    rows = answer.to_arrow().to_pylist()
    return {row.pop("user"): {name: value for name, value in row.items() if value is not None} for row in rows}


def _apply(cluster: kn.Cluster, *lines: str) -> None:
    stage = cluster.new_stage()
    stage.add("\n".join(lines))
    stage.plan().apply().raise_for_errors()


@pytest.mark.broker
def test_credentials_and_quotas_of_a_user_stand_in_one_row(cluster, unique, answer, monkeypatch) -> None:
    """To see whom a cluster knows I asked four tools, and laid their lists side by side in a spreadsheet."""
    user = unique("user")
    monkeypatch.setenv("NEW", "a-password")
    _apply(cluster, f"scram set SCRAM-SHA-512=env:NEW user={user}")
    clients = ("", "client-id=<default>", "client-id=a", "client-id=b")
    _apply(cluster, *(f"set producer_byte_rate=3MB/s user={user} {client}" for client in clients))
    assert _rows(answer("users", f"user={user}")) == {
        user: {
            "mechanisms": "SCRAM-SHA-512",
            "quotas": 4,
            "quota_keys": [
                {"level": "USER", "key": "producer_byte_rate", "quotas": 1},
                {"level": "DEFAULT_CLIENT_OF_USER", "key": "producer_byte_rate", "quotas": 1},
                {"level": "CLIENT_OF_USER", "key": "producer_byte_rate", "quotas": 2},
            ],
        }
    }
    text = cluster.users(user=user).as_text()
    assert "acls" not in text
    assert "authorizer" in text


@pytest.mark.broker
def test_a_user_that_one_source_alone_knows_is_an_orphan(cluster, unique, answer, monkeypatch) -> None:
    """Quotas of people who left the company years ago were still there, and new ones had none."""
    left = unique("user")
    _apply(cluster, *(f"set producer_byte_rate=3MB/s user={user}" for user in (left, "ANONYMOUS")))
    monkeypatch.setenv("NEW", "a-password")
    _apply(cluster, f"scram set SCRAM-SHA-512=env:NEW user={unique('other')}")
    rows = _rows(answer("users"))
    assert rows[left]["finding"] == "orphaned-quotas"
    assert "finding" not in rows["ANONYMOUS"]
    assert "orphaned-quotas: only quotas name the user." in answer("users").as_text()
    _apply(cluster, f"scram set SCRAM-SHA-512=env:NEW user={left}")
    assert "finding" not in _rows(cluster.users(user=left))[left]
    _apply(cluster, "remove producer_byte_rate user=ANONYMOUS")


@pytest.mark.broker
def test_hostile_users_are_rows_like_any_other(cluster, answer) -> None:
    """A user called <script> was a hole in the page, and one called <default> was everybody."""
    stage = cluster.new_stage()
    for name in HOSTILE:  # not as lines: a name may have several
        stage.set_quota("producer_byte_rate", 3e6, user=name)
    plan = stage.plan()
    plan.apply().raise_for_errors()
    try:
        answered = cluster.users()
        assert set(HOSTILE) <= set(_rows(answered))
        assert "<script>" not in answered.as_html()
        assert "\x1b" not in answered.as_text()
        assert [*_rows(cluster.users(user="<default>"))] == ["<default>"]
    finally:
        cluster.rollback(plan).apply().raise_for_errors()


@pytest.mark.secure
def test_acls_count_and_a_user_of_acls_alone_is_an_orphan(secure_kafka, unique) -> None:
    """ACLs outlive their users, and nobody looks for those."""
    gone, everybody, others = unique("gone"), "User:*", "Group:readers"
    with contextlib.closing(LiveKafka(settings_of(secure_kafka))) as admin:
        user = _with_acls(admin.wire.settings, secure_kafka, unique("user"), f"User:{gone}", everybody, others)
        with secure_kafka.connect() as cluster:
            answer = cluster.users()
    rows = _rows(answer)
    assert rows[gone] == {**NOBODY_ELSE, "acls": 1, "finding": "orphaned-acls"}
    assert rows[user] == {**NOBODY_ELSE, "mechanisms": "SCRAM-SHA-512", "acls": 1}
    assert not {"*", everybody, others} & set(rows)


@pytest.mark.secure
def test_a_source_that_may_not_be_read_is_a_sentence(secure_kafka, unique) -> None:
    """I may see quotas and no credentials, and got an error instead of the quotas."""
    name = unique("reader")
    let_in(secure_kafka, name)
    with secure_kafka.connect(name) as cluster, pytest.raises(kn.NotAuthorized):
        cluster.users()
    with secure_kafka.connect() as admin:
        _apply(admin, f"set producer_byte_rate=3MB/s user={name}")
        _allow(admin.settings, f"User:{name}", AclOperation.DESCRIBE_CONFIGS)
    with secure_kafka.connect(name) as cluster:
        answer = cluster.users(user=name)
    quotas = {"quotas": 1, "quota_keys": [{"level": "USER", "key": "producer_byte_rate", "quotas": 1}]}
    assert _rows(answer) == {name: quotas}
    assert answer.notes == (
        "SCRAM credentials could not be read, so orphans may be missing: It needs DESCRIBE on the cluster.",
        "ACLs could not be read, so orphans may be missing: It needs DESCRIBE on the cluster.",
    )
    assert answer._exit_state() == 0


def _with_acls(settings: Settings, kafka: kn.LocalKafka, user: str, *principals: str) -> str:
    """The name of a user that can log in and has an ACL, as each of these principals has."""
    let_in(kafka, user)
    for principal in (f"User:{user}", *principals):
        _allow(settings, principal, AclOperation.IDEMPOTENT_WRITE)
    return user


def _allow(settings: Settings, principal: str, operation: AclOperation) -> None:
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acl = AclBinding(ResourceType.BROKER, "kafka-cluster", literal, principal, "*", operation, allow)
    client = admin_client(settings)
    for future in client.create_acls([acl]).values():
        future.result()
