"""The topics of dynamic client configs and the rights to them: shown, made once, and never at the cost of others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
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
from kadmin_nb.admin import transactions
from kadmin_nb.admin.compacted_topic import configs_on
from kadmin_nb.client_configs.records import REGISTRATIONS_TOPIC, STATUS_TOPIC, ConfigKey, ConfigValue
from kadmin_nb.client_configs.setup import SETTINGS
from kadmin_nb.errors import Invalid, NotAuthorized, PlanRefused
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.client_configs import CONFIGS_TOPIC
from tests.client_configs.raw_client import RawClient, append
from tests.client_configs.written_entries import TOPICS
from tests.persons import let_in
from tests.waiting import eventually

pytestmark = pytest.mark.secure

DELETE_ALL_ACLS = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)


@pytest.fixture(scope="module")
def kafka() -> Iterator[LocalKafka]:
    """A Kafka with an authorizer, on which only these tests make the topics."""
    with kn.local.start(secure=True) as running:
        yield running


@pytest.fixture
def admin(kafka: LocalKafka) -> Iterator[kn.Cluster]:
    with kafka.connect() as cluster:
        yield cluster


def librdkafka(cluster: kn.Cluster) -> dict[str, str]:
    return transactions.config(cluster.settings)


@pytest.fixture(autouse=True)
def kafka_admin(admin: kn.Cluster) -> AdminClient:
    """What these tests change is taken back before each."""
    client = AdminClient(librdkafka(admin))
    existing = [name for name in TOPICS if name in client.list_topics(timeout=10).topics]
    for future in client.delete_topics(existing, operation_timeout=30).values() if existing else ():
        future.result()
    eventually(lambda: {*client.list_topics(timeout=10).topics} & {*TOPICS}, set())
    for future in client.delete_acls([DELETE_ALL_ACLS]).values():
        future.result()
    eventually(lambda: client.describe_acls(DELETE_ALL_ACLS).result(), [])
    return client


def setup(cluster: kn.Cluster):
    return cluster.client_configs.setup()


def states(answer) -> dict[str, int]:
    """How many topics and rights are missing, there, and so on."""
    words = {"the topic is missing": "missing"}
    rows = [row for row in answer.to_arrow().to_pylist() if not row["subject"].startswith("who may ")]
    said = [words.get(row["note"], "there" if row["state"] == "ok" else "differs") for row in rows]
    return {state: said.count(state) for state in dict.fromkeys(said)}


def test_it_shows_and_makes_nothing(admin, kafka_admin) -> None:
    """A command to look at had already made the topics."""
    assert states(setup(admin)) == {"missing": 3}
    assert not {*kafka_admin.list_topics(timeout=10).topics} & {*TOPICS}


def test_the_line_that_grants_a_right_is_beside_it(admin) -> None:
    """The lines of kafka-acls.sh stood below the table, and I matched them by hand."""
    rows = {row["subject"]: row["fix"] for row in setup(admin).to_arrow().to_pylist()}
    assert rows["who may write entries"].endswith("--operation Write --topic __kadmin_client_configs")


def test_no_topic_is_created_open(admin, kafka_admin) -> None:
    """Init made a topic that everybody could write, where brokers let all in without ACLs, then showed the line."""
    with pytest.raises(PlanRefused, match="nothing was created") as refused:
        setup(admin).apply()
    assert refused.value.hint.startswith("Grant the right first: kafka-acls.sh ")
    assert refused.value.hint.endswith(f"User:admin --operation Write --topic {CONFIGS_TOPIC}")
    assert not {*kafka_admin.list_topics(timeout=10).topics} & {*TOPICS}


def test_it_is_made_once(admin, kafka_admin) -> None:
    """We ran it twice, since the first time nobody had noted it."""
    grant(kafka_admin, "User:admin", AclOperation.WRITE, CONFIGS_TOPIC)
    eventually(lambda: setup(admin).to_arrow().to_pylist()[-1]["state"], "ok")
    assert states(setup(admin).apply()) == {"there": 3}
    assert states(setup(admin).apply()) == {"there": 3}
    configs = {row["key"]: row["value"] for row in admin.configs.describe(topic=STATUS_TOPIC).to_arrow().to_pylist()}
    assert configs["cleanup.policy"] == "compact,delete"
    assert configs["message.timestamp.type"] == "LogAppendTime"
    entries = {row["key"]: row["value"] for row in admin.configs.describe(topic=CONFIGS_TOPIC).to_arrow().to_pylist()}
    assert entries["cleanup.policy"] == "compact"


def grant(client: AdminClient, principal: str, operation: AclOperation, *topics: str) -> None:
    """Let a principal do this with these topics."""
    new = [
        AclBinding(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, principal, "*", operation,
                   AclPermissionType.ALLOW)
        for topic in topics
    ]  # fmt: skip
    for future in client.create_acls(new).values():
        future.result()


def test_applications_read_entries_and_write_about_themselves(kafka, admin, kafka_admin, unique) -> None:
    """Any application could have set acks=0 for any other."""
    app = unique("app")
    grant(kafka_admin, f"User:{app}", AclOperation.READ, CONFIGS_TOPIC)
    grant(kafka_admin, f"User:{app}", AclOperation.WRITE, REGISTRATIONS_TOPIC, STATUS_TOPIC)
    eventually(lambda: states(setup(admin)), {"missing": 3})
    setup(admin).apply()
    with kn.connect(str(let_in(kafka, app))) as connected:
        config = librdkafka(connected)
        eventually(lambda: _registers(RawClient(config, app)), True)
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            append(config, CONFIGS_TOPIC, ConfigKey(app, None, "acks").encode(), ConfigValue("0", "", "").encode())
        with pytest.raises(NotAuthorized, match=REGISTRATIONS_TOPIC) as refused:
            connected.client_configs.clients()
        assert refused.value.hint == f"It needs READ on the topic {REGISTRATIONS_TOPIC}."
    assert len(admin.client_configs.clients(user=app)) == 1


def _registers(client: RawClient) -> bool:
    try:
        client.register()
        client.say(-1, {})
    except KafkaException:
        return False
    return True


def test_who_may_not_is_told_the_right(kafka, admin, unique) -> None:
    """It failed in the middle, with a topic made and no ACL."""
    with kn.connect(str(let_in(kafka, unique("nobody")))) as connected, pytest.raises(NotAuthorized) as refused:
        setup(connected)
    assert refused.value.hint == "It needs DESCRIBE on the cluster."


def test_before_it_is_told_what_reading_entries_needs(kafka, kafka_admin, unique) -> None:
    """The describe of a user said nothing of client configs, which I may not see."""
    name = unique("stranger")
    whose = (ResourcePatternType.LITERAL, f"User:{name}", "*", AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW)
    for future in kafka_admin.create_acls([AclBinding(ResourceType.BROKER, "kafka-cluster", *whose)]).values():
        future.result()
    with kn.connect(str(let_in(kafka, name))) as connected:
        eventually(lambda: _sees_quotas(connected), True)
        with pytest.raises(NotAuthorized, match="TOPIC_AUTHORIZATION_FAILED") as refused:
            connected.client_configs.describe(user="alice")
    assert refused.value.hint == f"It needs DESCRIBE on the topic {CONFIGS_TOPIC}."


def _sees_quotas(cluster: kn.Cluster) -> bool:
    try:
        cluster.quotas.describe()
    except NotAuthorized:
        return False
    return True


def test_a_topic_of_somebody_else_stays_as_it_is(admin, kafka_admin) -> None:
    """Somebody had made the topic without compaction; init changed it, and their records were gone."""
    kafka_admin.create_topics([NewTopic(CONFIGS_TOPIC, 2, 1)], operation_timeout=30)[CONFIGS_TOPIC].result()
    eventually(lambda: states(setup(admin)), {"differs": 1, "missing": 2})
    with pytest.raises(Invalid, match=r"2 partitions instead of 1; .*cleanup\.policy=delete instead of compact"):
        setup(admin).apply()
    assert states(setup(admin)) == {"differs": 1, "missing": 2}
    assert setup(admin)._exit_state().value == 1
    assert {row["subject"] for row in setup(admin) if row["state"] == "failed"} == {CONFIGS_TOPIC}


def test_a_topic_without_any_acl_is_open(admin, kafka_admin) -> None:
    """The first plan had made the topic, and where brokers let everybody in without ACLs, everybody could write it."""
    new = NewTopic(CONFIGS_TOPIC, 1, 1, config=configs_on(1, SETTINGS[CONFIGS_TOPIC]))
    kafka_admin.create_topics([new], operation_timeout=30)[CONFIGS_TOPIC].result()
    eventually(lambda: states(setup(admin)), {"there": 1, "missing": 2})
    (row,) = (row for row in setup(admin) if row["subject"] == "who may write entries")
    assert (row["state"], "no ACL covers it" in row["note"]) == ("warning", True)


def test_it_says_what_is_open(admin, kafka_admin) -> None:
    """An ACL from an experiment let everybody write the entries, for a year."""
    grant(kafka_admin, "User:admin", AclOperation.WRITE, CONFIGS_TOPIC)
    eventually(lambda: setup(admin).to_arrow().to_pylist()[-1]["state"], "ok")
    assert {row["state"] for row in setup(admin).apply()} == {"ok"}
    mallory = AclBinding(
        ResourceType.TOPIC, "__", ResourcePatternType.PREFIXED, "User:mallory", "*", AclOperation.ALL,
        AclPermissionType.ALLOW,
    )  # fmt: skip
    for future in kafka_admin.create_acls([mallory]).values():
        future.result()
    says = ("who may write entries", "warning", "ACLs let these write too: User:mallory")
    eventually(lambda: [(row["subject"], row["state"], row["note"]) for row in setup(admin)][-1], says)
