"""The config port does what KIP-133 and KIP-339 say, on every version of Kafka that we promise to speak to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.errors import Unsupported, UsageError
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.resources import Resource
from tests.waiting import eventually

LONG = (pytest.mark.broker, pytest.mark.long)
BROKER, EVERYONE, LOGGER = Resource("BROKER", "1"), Resource("BROKER", ""), Resource("BROKER_LOGGER", "1")


def set_(key: str, value: str) -> ConfigOperation:
    return ConfigOperation("set", key, value)


def delete(key: str) -> ConfigOperation:
    return ConfigOperation("delete", key)


def own(broker, resource: Resource) -> dict[str, str | None]:
    """What is set on the resource itself."""
    rows = broker.configs.describe([resource]).to_pylist()
    assert [r["error"] for r in rows if r["error"]] == []
    return {r["key"]: r["value"] for r in rows if r["source"] == resource.source}


def done(broker, resource: Resource, *operations: ConfigOperation) -> None:
    assert broker.configs.alter({resource: operations}) == {resource: None}


def row(broker, resource: Resource, key: str, **options: bool) -> dict[str, object]:
    [found] = broker.configs.describe([resource], [key], **options).to_pylist()
    return found


@pytest.fixture(scope="session")
def make_topics():
    def make(broker, *names: str) -> list[Resource]:
        broker.create_topics(dict.fromkeys(names, 1))
        topics = [Resource("TOPIC", name) for name in names]
        eventually(lambda: [r["error"] for r in broker.configs.describe(topics, []).to_pylist()], [], 20)
        return topics

    return make


@pytest.fixture
def topic(broker, make_topics, unique) -> Resource:
    return make_topics(broker, unique("topic"))[0]


@pytest.fixture
def quiet_broker(broker) -> Iterator[None]:
    """Broker 1 and the cluster-wide default end as they began."""
    before = {r: own(broker, r) for r in (BROKER, EVERYONE)}
    yield
    for resource, kept in before.items():
        if extra := sorted(set(own(broker, resource)) - set(kept)):
            done(broker, resource, *map(delete, extra))
            eventually(lambda resource=resource: own(broker, resource), kept)


def test_a_topic_tells_where_each_value_comes_from(broker, topic):
    """I could not see whether 86400000 is mine or the broker's."""
    done(broker, topic, set_("retention.ms", "86400000"), set_("cleanup.policy", "compact"))
    eventually(lambda: own(broker, topic), {"retention.ms": "86400000", "cleanup.policy": "compact"})
    seen = row(broker, topic, "cleanup.policy", documentation=True)
    assert seen.pop("documentation").startswith("This config designates the retention policy")
    assert seen == {
        "resource_type": "TOPIC",
        "resource_name": topic.name,
        "key": "cleanup.policy",
        "value": "compact",
        "source": "DYNAMIC_TOPIC_CONFIG",
        "is_sensitive": False,
        "is_read_only": False,
        "is_default": False,
        "type": "LIST",
        "synonyms": [
            {"source": "DYNAMIC_TOPIC_CONFIG", "key": "cleanup.policy", "value": "compact"},
            {"source": "DEFAULT_CONFIG", "key": "log.cleanup.policy", "value": "delete"},
        ],
        "error": None,
        "message": None,
    }
    plain = row(broker, topic, "segment.bytes")
    assert (plain["source"], plain["is_default"], plain["type"], plain["documentation"]) == (
        "DEFAULT_CONFIG",
        True,
        "INT",
        None,
    )


def test_all_keys_or_only_those_named(broker, topic):
    """I asked for two keys and was given thirty."""
    every = broker.configs.describe([topic])
    assert every.num_rows > 25
    assert every.schema == schemas.CONFIGS.schema
    two = broker.configs.describe([topic], ["retention.ms", "min.insync.replicas", "no.such.key"])
    assert two["key"].to_pylist() == ["min.insync.replicas", "retention.ms"]
    assert broker.configs.describe([topic], []).num_rows == 0


def test_a_broker_tells_what_is_read_only_and_hides_what_is_secret(broker, quiet_broker):
    """A password stood in the table."""
    done(broker, BROKER, set_("listener.name.x.ssl.key.password", "canary-7d1"), set_("max.connections.per.ip", "200"))
    eventually(lambda: own(broker, BROKER).get("max.connections.per.ip"), "200")
    table = broker.configs.describe([BROKER])
    rows = {r["key"]: r for r in table.to_pylist()}
    secret, fixed, free = rows["listener.name.x.ssl.key.password"], rows["node.id"], rows["max.connections.per.ip"]
    assert (secret["value"], secret["is_sensitive"], secret["source"]) == (None, True, "DYNAMIC_BROKER_CONFIG")
    assert (fixed["value"], fixed["is_read_only"], fixed["source"]) == ("1", True, "STATIC_BROKER_CONFIG")
    assert (free["is_read_only"], free["type"], free["is_sensitive"]) == (False, "INT", False)
    assert "canary-7d1" not in str(table.to_pylist())


def test_the_cluster_wide_default_stands_between_broker_and_static(broker, quiet_broker):
    """Nobody told me that one broker does not follow the default."""
    done(broker, EVERYONE, set_("max.connections.per.ip", "300"))
    eventually(lambda: row(broker, BROKER, "max.connections.per.ip")["source"], "DYNAMIC_DEFAULT_BROKER_CONFIG")
    done(broker, BROKER, set_("max.connections.per.ip", "200"))
    eventually(lambda: row(broker, BROKER, "max.connections.per.ip")["value"], "200")
    assert [(s["source"], s["value"]) for s in row(broker, BROKER, "max.connections.per.ip")["synonyms"]] == [
        ("DYNAMIC_BROKER_CONFIG", "200"),
        ("DYNAMIC_DEFAULT_BROKER_CONFIG", "300"),
        ("DEFAULT_CONFIG", "2147483647"),
    ]
    wanted = {"max.connections.per.ip": "300"} | ({"min.insync.replicas": "1"} if broker.default_min_isr else {})
    assert own(broker, EVERYONE) == wanted


def test_a_logger_is_set_and_reset(broker):
    """I raised a log level and the table said it was a broker config."""
    done(broker, LOGGER, set_("kafka.server.KafkaApis", "DEBUG"))
    eventually(lambda: row(broker, LOGGER, "kafka.server.KafkaApis")["value"], "DEBUG")
    seen = row(broker, LOGGER, "kafka.server.KafkaApis")
    assert (seen["source"], seen["type"]) == ("DYNAMIC_BROKER_LOGGER_CONFIG", None)
    done(broker, LOGGER, delete("kafka.server.KafkaApis"))
    eventually(lambda: row(broker, LOGGER, "kafka.server.KafkaApis")["value"] == "DEBUG", False)
    said = broker.configs.alter({LOGGER: [set_("zzz.Nope", "DEBUG")]})
    assert said == {LOGGER: Refusal("INVALID_CONFIG", "Logger zzz.Nope does not exist!")}


def test_a_group_has_configs_from_4_0_on(broker, unique):
    """On an old broker I was told that I do not know Kafka's words."""
    group = Resource("GROUP", unique("group"))
    if not broker.has_group_configs:
        [failed] = broker.configs.describe([group]).to_pylist()
        assert (failed["key"], failed["error"]) == (None, "INVALID_REQUEST")
        return
    done(broker, group, set_("consumer.session.timeout.ms", "50000"))
    eventually(lambda: own(broker, group), {"consumer.session.timeout.ms": "50000"})
    assert row(broker, group, "consumer.session.timeout.ms")["source"] == "DYNAMIC_GROUP_CONFIG"
    if broker.lists_every_resource:
        eventually(lambda: group in broker.configs.resources(["GROUP"]), True)


def test_client_metrics_are_set_seen_and_listed(broker, unique):
    """A subscription that I made was nowhere."""
    metrics = Resource("CLIENT_METRICS", unique("metrics"))
    done(broker, metrics, set_("interval.ms", "10000"))
    eventually(lambda: own(broker, metrics), {"interval.ms": "10000"})
    eventually(lambda: metrics in broker.configs.resources(["CLIENT_METRICS"]), True)
    assert {resource.type for resource in broker.configs.resources(["CLIENT_METRICS"])} == {"CLIENT_METRICS"}
    keys = broker.configs.describe([metrics])["key"].to_pylist()
    assert keys == (["interval.ms", "match", "metrics"] if broker.metrics_defaults else ["interval.ms"])
    done(broker, metrics, delete("interval.ms"))


def test_an_old_broker_cannot_list_groups_and_says_so(broker):
    """The list of groups was empty, and there were a hundred."""
    if broker.lists_every_resource:
        assert BROKER in broker.configs.resources(["GROUP", "BROKER"])
        return
    with pytest.raises(Unsupported, match="client-metrics"):
        broker.configs.resources(["GROUP"])


def test_incremental_operations_touch_only_their_key(broker, topic):
    """I changed one key and the others were gone."""
    done(
        broker,
        topic,
        set_("retention.ms", "1000"),
        set_("max.message.bytes", "5000"),
        set_("cleanup.policy", "compact"),
    )
    steps = [
        (
            [set_("max.message.bytes", "6000")],
            {"cleanup.policy": "compact", "max.message.bytes": "6000", "retention.ms": "1000"},
        ),
        ([delete("retention.ms")], {"cleanup.policy": "compact", "max.message.bytes": "6000"}),
        (
            [ConfigOperation("append", "cleanup.policy", "delete")],
            {"cleanup.policy": "compact,delete", "max.message.bytes": "6000"},
        ),
        (
            [ConfigOperation("subtract", "cleanup.policy", "compact")],
            {"cleanup.policy": "delete", "max.message.bytes": "6000"},
        ),
        ([delete("cleanup.policy"), set_("max.message.bytes", "7000")], {"max.message.bytes": "7000"}),
        ([delete("retention.ms")], {"max.message.bytes": "7000"}),
    ]
    for operations, wanted in steps:
        assert broker.configs.alter({topic: operations}, validate_only=True) == {topic: None}
        done(broker, topic, *operations)
        eventually(lambda: own(broker, topic), wanted)


FREE = "leader.replication.throttled.replicas"
LISTS = {
    "append to an unset key starts from the default": ("cleanup.policy", None, "append", "compact", "delete,compact"),
    "append what the default has pins it": ("cleanup.policy", None, "append", "delete", "delete"),
    "subtract from an unset key": ("cleanup.policy", None, "subtract", "compact", "delete"),
    "subtract what is absent": ("cleanup.policy", "compact", "subtract", "delete", "compact"),
    "append to nothing": (FREE, None, "append", "0:1", "0:1"),
    "keeps the order": (FREE, "0:1,0:2", "append", "0:0", "0:1,0:2,0:0"),
    "duplicates stay": (FREE, "0:1,0:1", "append", "0:2", "0:1,0:1,0:2"),
    "append twice the same": (FREE, "0:1", "append", "0:2,0:2", "0:1,0:2"),
    "one copy is subtracted": (FREE, "0:1,0:2,0:1", "subtract", "0:1", "0:2,0:1"),
    "two copies are subtracted": (FREE, "0:1,0:2,0:1", "subtract", "0:1,0:1", "0:2"),
    "subtract everything stores an empty list": (FREE, "0:1", "subtract", "0:1", ""),
}


def test_lists_grow_and_shrink_as_the_controller_does_it(broker, topic):
    """The broker made another list of it than I had thought."""
    for case, (key, before, op, items, after) in LISTS.items():
        done(broker, topic, set_(key, before) if before is not None else delete(key))
        eventually(lambda key=key, before=before: own(broker, topic).get(key), before)
        done(broker, topic, ConfigOperation(op, key, items))
        eventually(lambda key=key, case=case: (case, own(broker, topic).get(key)), (case, after))
    done(broker, topic, delete(FREE))  # pruning by an export of the past removes a throttle that is left
    eventually(lambda: own(broker, topic).get(FREE), None)


def test_what_makes_no_sense_is_refused(broker, topic):
    """APPEND to a number did something, and of two values for one key the last one won."""
    said = broker.configs.alter({topic: [ConfigOperation("append", "retention.ms", "5")]}, validate_only=True)
    assert said == {topic: Refusal("INVALID_CONFIG", "Can't APPEND to key retention.ms because its type is not LIST.")}
    twice = broker.configs.alter({topic: [set_("retention.ms", "1"), set_("retention.ms", "2")]}, validate_only=True)
    assert twice[topic].code == "INVALID_REQUEST"


def test_a_broker_takes_a_key_that_nobody_knows_and_hides_it(broker, quiet_broker):
    """A typo in a broker's key went through, and was shown as if nothing were there."""
    done(broker, BROKER, set_("no.such.key", "1"))
    eventually(lambda: "no.such.key" in own(broker, BROKER), True)
    seen = row(broker, BROKER, "no.such.key")
    assert (seen["value"], seen["is_sensitive"], seen["source"]) == (None, True, "DYNAMIC_BROKER_CONFIG")


def test_validating_changes_nothing(broker, topic):
    """I only asked whether it would work, and it was done."""
    assert broker.configs.alter({topic: [set_("retention.ms", "5")]}, validate_only=True) == {topic: None}
    said = broker.configs.alter({topic: [set_("retention.ms", "abc")]}, validate_only=True)
    assert said == {
        topic: Refusal("INVALID_CONFIG", "Invalid value abc for configuration retention.ms: Not a number of type LONG")
    }
    assert own(broker, topic) == {}


def test_each_resource_has_its_own_answer(broker, topic, unique):
    """One wrong topic among good ones, and I was told that everything failed."""
    missing, nowhere, strange = (
        Resource("TOPIC", unique("none")),
        Resource("BROKER", "99"),
        Resource("CLIENT_METRICS", unique("m")),
    )
    said = broker.configs.alter(
        {
            topic: [set_("retention.ms", "1")],
            missing: [set_("retention.ms", "1")],
            BROKER: [set_("node.id", "5")],
            nowhere: [set_("max.connections.per.ip", "1")],
            strange: [set_("nope", "1")],
            LOGGER: [ConfigOperation("append", "kafka.server.KafkaApis", "DEBUG")],
        },
        validate_only=True,
    )
    assert said.pop(nowhere).code == "BROKER_ID_NOT_REGISTERED"
    assert {str(r): refused and refused.code for r, refused in said.items()} == {
        str(topic): None,
        str(missing): "UNKNOWN_TOPIC_OR_PARTITION",
        str(BROKER): "INVALID_REQUEST",
        str(strange): "INVALID_REQUEST",
        str(LOGGER): "INVALID_REQUEST",
    }
    assert said[BROKER].message in [
        f"Cannot update these configs dynamically: {dump}" for dump in ("[node.id]", "Set(node.id)")
    ]


def test_what_cannot_be_read_is_a_row_that_says_so(broker, topic, unique):
    """A topic that does not exist looked like a topic without settings."""
    missing = Resource("TOPIC", unique("none"))
    failed = {
        r["resource_name"]: r
        for r in broker.configs.describe([topic, missing, Resource("BROKER", "99")]).to_pylist()
        if r["error"]
    }
    assert {name: (r["key"], r["error"]) for name, r in failed.items()} == {
        missing.name: (None, "UNKNOWN_TOPIC_OR_PARTITION"),
        "99": (None, "BROKER_ID_NOT_REGISTERED"),
    }
    assert all(r["message"] for r in failed.values())


def test_a_broker_is_a_number(broker):
    """`broker=one` waited thirty seconds and said nothing."""
    with pytest.raises(UsageError, match="broker=one"):
        broker.configs.describe([Resource("BROKER", "one")])


def test_an_unknown_key_is_refused_where_kafka_does(broker, topic):
    """A typo in a topic's key went through."""
    said = broker.configs.alter({topic: [set_("retention.mss", "1")]})
    assert said == {topic: Refusal("INVALID_CONFIG", "Unknown topic config name: retention.mss")}
    assert broker.configs.alter({topic: [delete("retention.mss")]})[topic] in (None, *said.values())


def test_the_same_resource_twice_is_asked_once(broker, topic):
    """A list with a topic twice came back as an error."""
    assert broker.configs.describe([topic, topic], ["retention.ms"]).num_rows == 1


@pytest.mark.parametrize(
    ("broker", "count", "calls"),
    [
        pytest.param("4.4.0", 301, [1, 1, 300], marks=pytest.mark.broker),
        *(pytest.param(version, 700, [1, 100, 300, 300], marks=LONG) for version in ("4.4.0", "3.9.2")),
    ],
    indirect=["broker"],
)
def test_hundreds_of_topics_take_few_calls_and_come_back_sorted(broker, make_topics, unique, count, calls):
    """On the big cluster the describe never ended."""
    asked = []
    real, broker.configs._wire = broker.configs._wire, None

    class Counting:
        def ask(self, request, **options):
            asked.append(len(request().resources))
            return real.ask(request, **options)

        tell = real.tell

    broker.configs._wire = Counting()
    try:
        stem = unique("many")
        topics = make_topics(broker, *(f"{stem}-{n:03}" for n in range(count)))
        asked.clear()
        table = broker.configs.describe([*topics, BROKER], ["retention.ms", "cleanup.policy", "max.connections.per.ip"])
    finally:
        broker.configs._wire = real
    assert sorted(asked) == calls
    wanted = [("BROKER", "1", "max.connections.per.ip")]
    wanted += [("TOPIC", t.name, key) for t in topics for key in ("cleanup.policy", "retention.ms")]
    assert [(r["resource_type"], r["resource_name"], r["key"]) for r in table.to_pylist()] == wanted
    answers = broker.configs.alter({t: [set_("retention.ms", "60000")] for t in topics})
    assert answers == dict.fromkeys(topics)
    eventually(lambda: set(broker.configs.describe(topics, ["retention.ms"])["value"].to_pylist()), {"60000"})


def test_without_copies_no_throttle_holds_any_back(broker, topic):
    """A throttle that was left behind was kept for ever, as if copies were under way."""
    throttles = [
        (topic, "leader.replication.throttled.replicas"),
        (BROKER, "leader.replication.throttled.rate"),
    ]
    assert broker.throttling(throttles) == {}


def test_the_topics_are_listed(broker, topic):
    """A topic that I just made was not in the list."""
    assert topic.name in broker.topics()
