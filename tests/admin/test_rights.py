"""What we may not do is said as such: forbidden never looks like empty, failed or done."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator

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
from kadmin_nb.admin import topics
from kadmin_nb.admin.ports import ConfigOperation, CredentialChange
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.cluster import permissions
from kadmin_nb.errors import NotAuthorized
from kadmin_nb.model.changes import Change, Edit, Refusal
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.model.scram import MECHANISMS, ScramUser
from kadmin_nb.plans.kinds import remedy
from kadmin_nb.secrets import Secret
from kadmin_nb.state.taking import snapshot_of
from tests.admin.logins import admin_client
from tests.waiting import eventually

pytestmark = pytest.mark.secure

CLUSTER = (ResourceType.BROKER, "kafka-cluster")
SEEN, HIDDEN = Resource("TOPIC", "seen"), Resource("TOPIC", "hidden")
ALICE = Entity.parse("user=alice")


@pytest.fixture(scope="module")
def java(admin, login) -> AdminClient:
    """The super user's other client, for topics and ACLs."""
    client = admin_client(login())
    for future in client.create_topics([NewTopic("seen", 1, 1), NewTopic("hidden", 1, 1)]).values():
        future.result()
    eventually(lambda: {SEEN.name, HIDDEN.name} <= set(admin.topics()), True)
    yield client
    for future in client.delete_topics(["seen", "hidden"]).values():
        future.result()


@pytest.fixture(scope="module")
def user_with(java, scram_user) -> Iterator[Callable[..., LiveKafka]]:
    """`user_with("bob", (CLUSTER, AclOperation.DESCRIBE_CONFIGS))`: connected, with these rights and no other."""
    with contextlib.ExitStack() as stack:

        def make(name: str, *rights) -> LiveKafka:
            acls = [
                AclBinding(
                    kind, what, ResourcePatternType.LITERAL, f"User:{name}", "*", operation, AclPermissionType.ALLOW
                )
                for (kind, what), operation in rights
            ]
            for future in java.create_acls(acls).values() if acls else ():
                future.result()
            settings: Settings = scram_user(name)
            eventually(lambda: len(java.describe_acls(_all_of(name)).result()), len(acls))
            return stack.enter_context(contextlib.closing(LiveKafka(settings)))

        yield make


def _all_of(name: str) -> AclBindingFilter:
    """Every right of that user."""
    anything = (ResourceType.ANY, None, ResourcePatternType.ANY, f"User:{name}", None)
    return AclBindingFilter(*anything, AclOperation.ANY, AclPermissionType.ANY)


@pytest.fixture(scope="module")
def nobody(user_with):
    return user_with("alice-without-rights")


@pytest.fixture(scope="module")
def reader(user_with):
    return user_with("bob-who-reads", (CLUSTER, AclOperation.DESCRIBE_CONFIGS))


@pytest.fixture(scope="module")
def of_one_topic(user_with):
    topic = (ResourceType.TOPIC, "seen")
    return user_with("carol-of-one-topic", (topic, AclOperation.DESCRIBE_CONFIGS), (topic, AclOperation.ALTER_CONFIGS))


@pytest.fixture(scope="module")
def writer(user_with):
    return user_with("dave-who-writes", (CLUSTER, AclOperation.ALTER_CONFIGS))


def test_quotas_without_the_right_are_an_error_and_no_empty_table(nobody):
    """I saw no quotas and raised an alarm; I was not allowed to see them."""
    with pytest.raises(NotAuthorized) as refused:
        nobody.quotas.describe()
    assert refused.value.code == "CLUSTER_AUTHORIZATION_FAILED"
    assert "DESCRIBE_CONFIGS" in refused.value.hint


@pytest.mark.parametrize("validate_only", [True, False])
def test_quotas_may_not_be_altered_by_who_may_only_read(reader, validate_only):
    """The validation said ok, and the alter was refused."""
    assert reader.quotas.describe().num_rows >= 0
    said = reader.quotas.alter({ALICE: {"producer_byte_rate": 1.0}}, validate_only=validate_only)
    assert said == {ALICE: Refusal("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.")}


def test_who_may_alter_may_read(writer):
    """ALTER_CONFIGS alone was not enough for us, and it is for Kafka."""
    assert writer.quotas.alter({ALICE: {"producer_byte_rate": 1.0}}) == {ALICE: None}
    eventually(lambda: writer.quotas.describe()["entity"].to_pylist(), ["user=alice"])
    assert writer.quotas.alter({ALICE: {"producer_byte_rate": None}}) == {ALICE: None}


def test_a_forbidden_topic_stands_beside_a_readable_one(of_one_topic):
    """One topic that I may not see and the whole table was an error, or the topic was missing."""
    table = of_one_topic.configs.describe([SEEN, HIDDEN, Resource("TOPIC", "missing")], ["retention.ms"])
    assert [(r["resource_name"], r["key"], r["error"], r["message"]) for r in table.to_pylist()] == [
        ("hidden", None, "TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed."),
        ("missing", None, "TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed."),
        ("seen", "retention.ms", None, None),
    ]


def test_a_forbidden_topic_is_not_altered_and_its_neighbour_is(of_one_topic):
    """One forbidden topic kept the others from being changed, or they were said to be."""
    change = [ConfigOperation("set", "retention.ms", "1000")]
    said = of_one_topic.configs.alter({SEEN: change, HIDDEN: change})
    assert said == {SEEN: None, HIDDEN: Refusal("TOPIC_AUTHORIZATION_FAILED", "Topic authorization failed.")}


FORBIDDEN = {
    "broker": (Resource("BROKER", "1"), "CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."),
    "the default of brokers": (Resource("BROKER", ""), "CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."),
    "logger": (Resource("BROKER_LOGGER", "1"), "CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."),
    "metrics": (Resource("CLIENT_METRICS", "m"), "CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed."),
    "group": (Resource("GROUP", "g"), "GROUP_AUTHORIZATION_FAILED", "Group authorization failed."),
}
KEYS = {"BROKER_LOGGER": ("kafka.server.KafkaApis", "INFO"), "CLIENT_METRICS": ("interval.ms", "10000")}


@pytest.mark.parametrize(("resource", "code", "words"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_every_kind_of_resource_says_what_is_forbidden(nobody, resource, code, words):
    """A broker's settings looked empty to whom may not see them."""
    [row] = nobody.configs.describe([resource]).to_pylist()
    assert (row["key"], row["error"], row["message"]) == (None, code, words)
    key, value = KEYS.get(resource.type, ("log.retention.ms", "1000"))
    said = nobody.configs.alter({resource: [ConfigOperation("set", key, value)]}, validate_only=True)
    assert said == {resource: Refusal(code, words)}


def test_listing_resources_without_the_right_is_an_error(nobody):
    """No groups, said the list; I was not allowed to ask."""
    with pytest.raises(NotAuthorized) as refused:
        nobody.configs.resources(["GROUP"])
    assert refused.value.hint == "It needs DESCRIBE_CONFIGS on the cluster."


def test_topics_that_we_may_not_see_are_left_out_by_the_broker(nobody, of_one_topic):
    """DESCRIBE_CONFIGS does not include DESCRIBE: a topic whose configs we may read is not listed."""
    assert nobody.topics() == of_one_topic.topics() == []
    assert of_one_topic.configs.describe([SEEN], ["retention.ms"])["error"].to_pylist() == [None]


def test_scram_users_are_not_altered_without_the_right(nobody):
    """The error was five hundred characters of a Java object."""
    mallory = ScramUser("mallory")
    refused = nobody.scram.alter({mallory: CredentialChange("SCRAM-SHA-512", Secret("canary"))})
    assert refused == {mallory: Refusal("CLUSTER_AUTHORIZATION_FAILED", "Cluster authorization failed.")}


def test_a_throttled_admin_waits_and_goes_on(admin, user_with):
    """A default request quota hit my own tool, and it said NodeNotReadyError: No node_id provided."""
    slow, name = Entity.parse("user=erin-the-slow"), "erin-the-slow"
    erin = user_with(name, (CLUSTER, AclOperation.ALTER_CONFIGS))
    assert admin.quotas.alter({slow: {"request_percentage": 0.0001}}) == {slow: None}
    eventually(lambda: "user=erin-the-slow" in admin.quotas.describe()["entity"].to_pylist(), True)
    try:
        started, slowest = time.monotonic(), 0.0
        while slowest < 0.7 and time.monotonic() - started < 20:
            asked = time.monotonic()
            assert "user=erin-the-slow" in erin.quotas.describe()["entity"].to_pylist()
            slowest = max(slowest, time.monotonic() - asked)
        assert 0.7 < slowest < 10
        assert erin.quotas.alter({ALICE: {"producer_byte_rate": None}}) == {ALICE: None}
    finally:
        admin.quotas.alter({slow: {"request_percentage": None}})


def test_topics_that_we_may_not_see_make_a_snapshot_half(user_with) -> None:
    """A right was taken away, and the history said that the topics had been deleted."""
    may_see = (ResourceType.TOPIC, SEEN.name), AclOperation.DESCRIBE_CONFIGS
    taken = snapshot_of(user_with("archivist", (CLUSTER, AclOperation.DESCRIBE_CONFIGS), may_see))
    assert not taken.complete
    unread = [(row["resource_name"], row["error"]) for row in taken.failed.to_arrow().to_pylist()]
    assert (HIDDEN.name, "TOPIC_AUTHORIZATION_FAILED") in unread
    assert SEEN.name not in dict(unread)


# -- the hint names the right that is missing: given exactly that one, it works


def give(java: AdminClient, user: str, hint: str | None) -> None:
    """The one right that a hint names."""
    found = re.fullmatch(r"It needs ([A-Z_]+) on the (?:(topic|group) (\S+)|cluster)\.", hint or "")
    assert found, hint
    kind, name = (ResourceType[found[2].upper()], found[3]) if found[2] else CLUSTER
    literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acl = AclBinding(kind, name, literal, f"User:{user}", "*", AclOperation[found[1]], allow)
    for future in java.create_acls([acl]).values():
        future.result()


def is_allowed(attempt: Callable[[], object]) -> bool:
    with contextlib.suppress(NotAuthorized):
        attempt()
        return True
    return False


def describe(name: str) -> Callable[[kn.Cluster], object]:
    resource = Resource.parse(name)
    kind = name.partition("=")[0].replace("-", "_")
    whom = {kind: kn.DEFAULT if not resource.name else resource.name}
    return lambda cluster: cluster.configs.describe(**whom).raise_for_errors()


def alter(name: str, key: str, value: str) -> Callable[[kn.Cluster], object]:
    """As the broker validates it; to see what is there is another right, and comes with this one."""

    def attempt(cluster: kn.Cluster) -> object:
        change = {Resource.parse(name): [ConfigOperation("set", key, value)]}
        [refused] = cluster.port.configs.alter(change, validate_only=True).values()
        if refused:
            row = Change(1, "set", Resource.parse(name), key, validated=refused)
            raise NotAuthorized(str(refused), hint=remedy(row))
        return refused

    return attempt


ATTEMPTS = {
    "describing quotas": lambda cluster: cluster.quotas.describe(),
    "describing a topic": describe("topic=seen"),
    "describing a group": describe("group=g"),
    "describing a broker": describe("broker=1"),
    "describing the default of brokers": describe("broker=<default>"),
    "describing a logger": describe("broker-logger=1"),
    "describing client-metrics": describe("client-metrics=m"),
    "altering a topic": alter("topic=seen", "retention.ms", "1000"),
    "altering a group": alter("group=g", "consumer.session.timeout.ms", "50000"),
    "altering a broker": alter("broker=1", "log.retention.ms", "1000"),
    "altering the default of brokers": alter("broker=<default>", "log.retention.ms", "1000"),
    "altering a logger": alter("broker-logger=1", "kafka.server.KafkaApis", "INFO"),
    "altering client-metrics": alter("client-metrics=m", "interval.ms", "10000"),
    "listing config resources": lambda cluster: cluster.port.configs.resources(["GROUP"]),
    "listing reassignments": lambda cluster: topics.is_reassigning(cluster.port.wire),
    "describing SCRAM users": lambda cluster: cluster.scram.describe(),
    "creating a topic": lambda cluster: topics.create(cluster.port.wire, "made-by-right"),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_the_right_that_a_hint_names_is_the_one_that_is_missing(attempt, java, scram_user, unique):
    """The hint said ALTER_CONFIGS; I asked for it, waited for a day, and it was ALTER."""
    user = unique("trainee")
    settings = scram_user(user)
    with contextlib.closing(kn.Cluster(LiveKafka(settings), settings)) as cluster:
        with pytest.raises(NotAuthorized) as refused:
            attempt(cluster)
        give(java, user, refused.value.hint)
        eventually(lambda: is_allowed(lambda: attempt(cluster)), True)


RESET_SEEN = Edit("delete", SEEN, "retention.ms")


def _permissions(reached: LiveKafka, *edits: Edit) -> list[tuple]:
    answer = permissions.permissions(reached, reached.wire.settings, list(edits))
    rows = answer.to_arrow().to_pylist()
    return [(row["action"], row["operation"], row["resource"], row["allowed"]) for row in rows]


def test_may_i_tells_each_right_before_anything_is_tried(user_with) -> None:
    """The apply failed at its third row, and I had not known that I may not."""
    reader = user_with("may-read", (CLUSTER, AclOperation.DESCRIBE_CONFIGS))
    set_quota = Edit("set", ALICE, "producer_byte_rate", "1000000")
    assert _permissions(reader, set_quota) == [
        ("read quotas of user=alice", "DESCRIBE_CONFIGS", "the cluster", True),
        ("change quotas of user=alice", "ALTER_CONFIGS", "the cluster", False),
    ]
    assert [row[1:] for row in _permissions(reader, RESET_SEEN)] == [
        ("DESCRIBE_CONFIGS", "the topic seen", False),
        ("ALTER_CONFIGS", "the topic seen", False),
    ]
    assert [row[3] for row in _permissions(reader)] == [True, True, False, False]


def test_may_i_tells_the_rights_on_credentials(admin, user_with) -> None:
    """may-i said yes to a new password, and the apply was refused: nobody validates one, so nobody had asked."""
    wishes = [
        Edit("set", ScramUser("eve"), "SCRAM-SHA-512", "env:NEW"),
        Edit("delete", ScramUser("eve"), MECHANISMS[0]),
    ]
    reader = user_with("may-see-logins", (CLUSTER, AclOperation.DESCRIBE))
    read = ("read credentials of user=eve", "DESCRIBE", "the cluster", True)
    change = ("change credentials of user=eve", "ALTER", "the cluster")
    assert _permissions(reader, *wishes) == [read, (*change, False), (*change, False)]
    assert _permissions(admin, *wishes) == [read, (*change, True), (*change, True)]
    assert admin.scram.describe([ScramUser("eve")])["mechanism"].to_pylist() == [None]


def test_the_granting_line_grants(java, user_with) -> None:
    """It named the right, and I did not know how to write the ACL."""
    reached = user_with("may-nothing")
    answer = permissions.permissions(reached, reached.wire.settings, [RESET_SEEN])
    lines = answer.to_arrow()["grant"].to_pylist()
    assert lines[1].endswith("--add --allow-principal User:may-nothing --operation AlterConfigs --topic seen")
    assert "2 of 2 rights are missing." in repr(answer)
    assert not answer.ok


def test_asking_changes_nothing(admin) -> None:
    """may-i itself set the quota."""
    before = admin.quotas.describe().to_pylist()
    assert all(row[3] for row in _permissions(admin, Edit("set", ALICE, "producer_byte_rate", "1")))
    assert all(row[3] for row in _permissions(admin))
    assert admin.quotas.describe().to_pylist() == before
