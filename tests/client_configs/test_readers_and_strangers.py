"""Who may not read the topic, or not write it, is told so, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.model import rights
from kadmin_nb.model.client_configs import CONFIGS_TOPIC
from tests.admin.logins import admin_client
from tests.persons import let_in
from tests.waiting import eventually

pytestmark = pytest.mark.secure

Give = Callable[[AclOperation], None]


@pytest.fixture
def admin(secure_kafka: LocalKafka) -> Iterator[kn.Cluster]:
    with secure_kafka.connect() as cluster:
        yield cluster


@pytest.fixture
def person(secure_kafka: LocalKafka, admin: kn.Cluster, unique) -> Iterator[tuple[kn.Cluster, Give]]:
    """Somebody without rights, and what gives one on the topic."""
    name = unique("person")
    login, java = let_in(secure_kafka, name), admin_client(admin.settings)

    def give(operation: AclOperation) -> None:
        whose = (ResourcePatternType.LITERAL, f"User:{name}", "*", operation, AclPermissionType.ALLOW)
        for future in java.create_acls([AclBinding(ResourceType.TOPIC, CONFIGS_TOPIC, *whose)]).values():
            future.result()

    with kn.connect(str(login)) as cluster:
        yield cluster, give


@pytest.fixture
def alice(admin: kn.Cluster, unique) -> str:
    """A user with an entry."""
    user, stage = unique("alice"), admin.new_stage()
    stage.set_client_config("acks", "-1", user=user)
    stage.plan().apply().raise_for_errors()
    return user


def can_read(cluster: kn.Cluster, user: str) -> bool:
    try:
        return cluster.client_configs.describe(user=user).to_arrow().num_rows == 1
    except kn.NotAuthorized:
        return False


def test_without_rights_it_is_no_empty_answer(person, alice):
    """Describe was empty, as I may not read the topic, and I thought that nothing was set."""
    cluster, _ = person
    stage = cluster.new_stage()
    stage.set_client_config("acks", "-1", user=alice, client_id="app")
    attempts = (
        lambda: cluster.client_configs.describe(user=alice),
        stage.plan,
    )
    for attempt in attempts:
        with pytest.raises(kn.NotAuthorized, match="TOPIC_AUTHORIZATION_FAILED") as refused:
            attempt()
        assert f"on the topic {CONFIGS_TOPIC}" in (refused.value.hint or "")
        assert "\n" not in str(refused.value)


def test_a_snapshot_without_rights_says_nothing_of_them(person, admin, alice):
    """I may not read client configs, and could take no snapshot of the rest, or one that said that there are none."""
    cluster, give = person
    grant_reading_of_quotas(cluster, admin)
    eventually(lambda: can_take_snapshot(cluster), True)
    assert "CLIENT_CONFIGS" not in cluster.snapshot().scopes
    assert "client-configs" not in kn.state.export(cluster.snapshot())
    give(AclOperation.READ)
    eventually(lambda: can_read(cluster, alice), True)
    assert alice in cluster.snapshot().client_configs.to_arrow()["user"].to_pylist()


def can_take_snapshot(cluster: kn.Cluster) -> bool:
    try:
        return cluster.snapshot().cluster_id == cluster.id
    except kn.NotAuthorized:
        return False


def test_a_reader_looks_and_changes_nothing(person, admin, alice):
    """A reader's plan was said to be valid, and its apply that no broker was available."""
    cluster, give = person
    give(AclOperation.READ)
    eventually(lambda: can_read(cluster, alice), True)
    stage = cluster.new_stage()
    stage.set_client_config("acks", "-1", user=alice, client_id="app")
    outcomes = stage.plan().apply(lock=False)
    (row,) = outcomes.to_arrow().to_pylist()
    with pytest.raises(kn.KadminError) as failed:
        outcomes.raise_for_errors()
    assert "WRITE on the topic" not in " ".join(failed.value.lines())
    assert (row["state"], row["error"]) == ("failed", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"), row
    refused = f"TRANSACTIONAL_ID_AUTHORIZATION_FAILED while writing to the topic {CONFIGS_TOPIC}"
    words = f"it needs WRITE on the transactional id {CONFIGS_TOPIC}"
    assert row["message"] == f"nothing was written: {refused}: {words}"
    assert [row["client_id"] for row in admin.client_configs.describe(user=alice).to_arrow().to_pylist()] == [None]


def grant_reading_of_quotas(cluster: kn.Cluster, admin: kn.Cluster) -> None:
    """Let this login describe the configs of the cluster."""
    java = admin_client(admin.settings)  # its requests end with it
    whose = (ResourcePatternType.LITERAL, f"User:{cluster.settings.username}", "*")
    bindings = [
        AclBinding(ResourceType.BROKER, "kafka-cluster", *whose, operation, AclPermissionType.ALLOW)
        for operation in (AclOperation.DESCRIBE_CONFIGS, AclOperation.DESCRIBE)
    ]
    for future in java.create_acls(bindings).values():
        future.result()


def test_the_right_on_a_transactional_id_is_hinted():
    """I was told to grant WRITE on the topic, which I had, and the next plan failed the same way."""
    code, needed = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", rights.on_topic("WRITE", CONFIGS_TOPIC)
    assert rights.hint(code, needed) == f"It needs WRITE on the transactional-id {CONFIGS_TOPIC}."
    assert rights.hint("TOPIC_AUTHORIZATION_FAILED", needed) == f"It needs WRITE on the topic {CONFIGS_TOPIC}."
