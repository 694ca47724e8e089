"""Reading verbs: whom they ask about, and what comes back."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.blocks import window
from tests.dangerous_plans import applied

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def family(cluster):
    """Two users with clients, under one stem."""
    stage = cluster.new_stage()
    for user in ("fam-a", "fam-b", "fam-*"):
        stage.set_quota("producer_byte_rate", 1000, user=user)
        stage.set_quota("consumer_byte_rate", 2000, user=user, client_id="fam-app")
    stage.plan().apply().raise_for_errors()


def _entities(answer: kn.Answer) -> list[str]:
    return answer.to_arrow()["entity"].to_pylist()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"user": "fam-a"}, ["user=fam-a", "user=fam-a client-id=fam-app"]),
        ({"user": "fam-a", "strict": True}, ["user=fam-a"]),
        ({"user": ["fam-a", "fam-b"], "strict": True}, ["user=fam-a", "user=fam-b"]),
        ({"user": kn.Pattern("fam-?"), "strict": True}, ["user=fam-*", "user=fam-a", "user=fam-b"]),
        ({"user": "fam-*", "strict": True}, ["user=fam-*"]),
        ({"user": "fam-b", "client_id": kn.ANY}, ["user=fam-b client-id=fam-app"]),
        ({"user": "fam-b", "keys": ["consumer_byte_rate"]}, ["user=fam-b client-id=fam-app"]),
        ({"entity": {"user": "fam-a", "client-id": "fam-app"}}, ["user=fam-a client-id=fam-app"]),
        ({"user": "nobody at all"}, []),
    ],
    ids=lambda value: str(value)[:50],
)
def test_whom_describe_finds(cluster, family, asked, found) -> None:
    """A name with a star found every user."""
    assert _entities(cluster.quotas.describe(**asked)) == found


def test_only_what_is_set_on_the_resource_itself(cluster, topic) -> None:
    """Which of these thirty lines did somebody set?"""
    stage = cluster.new_stage()
    stage.set_config("max.message.bytes", 5000, topic=topic)
    stage.set_config("background.threads", 11, broker=kn.DEFAULT)
    stage.plan().apply().raise_for_errors()
    answer = cluster.configs.describe(topic=[topic, "gone"], broker=[1, kn.DEFAULT], only_set=True).to_arrow()
    rows = [(row["resource_name"], row["key"]) for row in answer.to_pylist() if row["key"] in SET_HERE]
    assert rows == [("", "background.threads"), ("gone", None), (topic, "max.message.bytes")]
    stage.reset_config("background.threads", broker=kn.DEFAULT)
    stage.plan().apply().raise_for_errors()


SET_HERE = (None, "max.message.bytes", "background.threads")

UNIONS = [
    ([kn.ANY, kn.DEFAULT], ["user=<default>", "user=uni-a", "user=uni-b"]),
    ([kn.DEFAULT, "uni-b"], ["user=<default>", "user=uni-b"]),
    ([kn.Pattern("uni-a*"), "uni-b"], ["user=uni-a", "user=uni-b"]),
    ([kn.Pattern("uni-a*"), kn.Pattern("uni-b*"), kn.DEFAULT], ["user=<default>", "user=uni-a", "user=uni-b"]),
    (["uni-b", "uni-b"], ["user=uni-b"]),
    (["<any>", "<default>"], []),
    ([], []),
]


@pytest.fixture(scope="module")
def union(cluster):
    """Two users, and the default of all."""
    stage = cluster.new_stage()
    for user in ("uni-a", "uni-b", kn.DEFAULT):
        stage.set_quota("producer_byte_rate", 1_000_000, user=user)
    stage.plan().apply().raise_for_errors()
    yield
    stage = cluster.new_stage()
    stage.remove_quota("producer_byte_rate", user=kn.DEFAULT)
    applied(stage.plan("the end")).raise_for_errors()


@pytest.mark.parametrize("collect", [list, tuple, iter], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("users", "found"), UNIONS, ids=str)
def test_a_list_asks_for_all_that_any_of_it_names(cluster, union, users, found, collect) -> None:
    """user=[kn.ANY, kn.DEFAULT] looked for a user called <any>, and found nobody."""
    entities = _entities(cluster.quotas.describe(user=collect(users), strict=True))
    assert [entity for entity in entities if entity == "user=<default>" or entity.startswith("user=uni")] == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"broker": [kn.ANY, kn.DEFAULT]}, [("BROKER", ""), ("BROKER", "1")]),
        ({"broker": [1, kn.Pattern("*"), "1"]}, [("BROKER", "1")]),
        ({"broker_logger": [kn.ANY, 1]}, [("BROKER_LOGGER", "1")]),
        ({"topic": [kn.Pattern("uni-*"), "orders"]}, [("TOPIC", name) for name in ("orders", "uni-1", "uni-2")]),
        ({"group": [kn.Pattern("uni-g*"), kn.Pattern("uni-h*")]}, [("GROUP", name) for name in ("uni-g", "uni-h")]),
        ({"client_metrics": [kn.Pattern("uni-*"), "x"]}, [("CLIENT_METRICS", name) for name in ("uni-m", "x")]),
    ],
    ids=str,
)
def test_a_list_of_resources_asks_for_all_that_any_of_it_names(cluster, resources, asked, found) -> None:
    """topic=[kn.ANY] was one topic called <any>, and broker=[kn.ANY, kn.DEFAULT] no broker."""
    rows = cluster.configs.describe(**asked).to_arrow().to_pylist()
    assert sorted({(row["resource_type"], row["resource_name"]) for row in rows}) == found
    every = {row["resource_name"] for row in cluster.configs.describe(topic=[kn.ANY]).to_arrow().to_pylist()}
    assert {"orders", "uni-1", "uni-2"} <= every


@pytest.fixture(scope="module")
def resources(cluster) -> None:
    """Topics, groups and client-metrics whose names are alike."""
    cluster.port.create_topics({"orders": 1, "uni-1": 1, "uni-2": 1})
    stage = cluster.new_stage()
    for group in ("uni-g", "uni-h"):
        stage.set_config("consumer.session.timeout.ms", "47000", group=group)
    stage.set_config("interval.ms", "60000", client_metrics="uni-m")
    stage.plan().apply().raise_for_errors()


def test_the_same_columns_for_nothing(cluster) -> None:
    """The empty answer had other columns, and the join after it failed."""
    nothing, all_ = cluster.quotas.describe(user="nobody at all"), cluster.quotas.describe()
    assert nothing.to_arrow().schema.equals(all_.to_arrow().schema)
    assert list(nothing.to_pandas().columns) == list(all_.to_pandas().columns)


def test_an_answer_says_where_it_comes_from(cluster) -> None:
    """Two tables lay on the desk and nobody knew which cluster was which."""
    metadata = cluster.quotas.describe().to_arrow().schema.metadata
    assert metadata[b"kadmin.cluster_id"].decode() == cluster.id
    assert metadata[b"kadmin.taken_at"].decode().endswith("+00:00")


@pytest.mark.parametrize(
    "asked", [{"user": None}, {"user": ""}, {"user": ["a", None]}, {"user": ["a", ""]}, {}], ids=str
)
def test_a_slip_is_refused(cluster, asked) -> None:
    """user=None described everything."""
    if asked:
        with pytest.raises(kn.UsageError):
            cluster.quotas.describe(**asked)


@pytest.mark.parametrize(
    ("asked", "says", "near"),
    [
        ({"user": "a", "keys": ["producer_byte_rat"]}, "producer_byte_rat is not a quota key", "producer_byte_rate?"),
        ({"keys": ["producer_byte_rate", "zzz"]}, "zzz is not a quota key", "One of producer_byte_rate"),
    ],
)
def test_a_slip_in_a_quota_key_is_told(cluster, asked, says, near) -> None:
    """--keys producer_byte_rat was an empty table, and exit status 0."""
    for ask in (cluster.quotas.describe, cluster.quotas.resolve)[: 2 if "user" in asked else 1]:
        with pytest.raises(kn.UsageError, match=says) as caught:
            ask(**asked)
        assert near in caught.value.hint


@pytest.mark.parametrize(
    ("asked", "key", "near"),
    [
        ({"topic": "orders"}, "retention.mss", "retention.ms"),
        ({"topic": ["orders", "uni-1"], "broker": 1}, "log.retention.mss", "log.retention.ms"),
        ({"broker": kn.DEFAULT}, "log.retention.mss", "log.retention.ms"),
        ({"broker_logger": 1}, "kafka.server.KafkaApi", "kafka.server.KafkaApis"),
        ({"group": "any"}, "consumer.session.timeout.mss", "consumer.session.timeout.ms"),
        ({"client_metrics": "any"}, "interval.mss", "interval.ms"),
    ],
    ids=str,
)
def test_a_slip_in_a_config_key_is_told(cluster, resources, asked, key, near) -> None:
    """--keys retention.mss was an empty table, and exit status 0."""
    with pytest.raises(kn.UsageError, match=f"{key} is not a config key of a") as caught:
        cluster.configs.describe(**asked, keys=[near, key])
    assert caught.value.hint == f"Did you mean {near}?"


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ({"broker": kn.DEFAULT}, ["log.segment.bytes"]),
        ({"broker": 1}, ["listener.name.internal.ssl.keystore.location"]),
        ({"broker": 1}, ["leader.replication.throttled.rate"]),
        ({"topic": kn.Pattern("no-such-topic-*")}, ["retention.mss"]),
        ({"topic": "orders", "broker": 1}, ["retention.ms", "log.retention.ms"]),
    ],
    ids=str,
)
def test_a_key_that_is_not_set_is_no_slip(cluster, resources, asked, keys) -> None:
    """A default that nobody has set was called a slip."""
    found = cluster.configs.describe(**asked, keys=keys).to_arrow()["key"].to_pylist()
    assert found == (["log.retention.ms", "retention.ms"] if len(keys) == 2 else [])


def test_a_missing_topic_is_a_row(cluster) -> None:
    """A topic that is not there looked like a topic without settings."""
    answer = cluster.configs.describe(topic="no-such-topic")
    (row,) = answer.to_arrow().to_pylist()
    assert (row["key"], row["error"]) == (None, "UNKNOWN_TOPIC_OR_PARTITION")
    assert not answer.ok
    with pytest.raises(kn.NotFound, match="no-such-topic"):
        answer.raise_for_errors()


def test_a_broker_that_is_not_in_the_cluster(cluster) -> None:
    """Asking broker 99 hung for a minute."""
    answer = cluster.configs.describe(broker=99)
    assert answer.to_arrow()["error"].to_pylist() == ["BROKER_ID_NOT_REGISTERED"]


def test_brokers(cluster) -> None:
    """The one thing everyone asks first."""
    (row,) = cluster.brokers.to_arrow().to_pylist()
    assert (row["id"], row["is_fenced"]) == (1, False)


QUOTAS = """
3 quotas on 2 entities
   who                                    producer  consumer
3  user=team-orders                      ⊘ 20 MB/s   40 MB/s
2  user=team-orders client-id=<default>     5 MB/s         .
⊘: a more specific quota comes first for clients with a client-id.
"""


def test_a_quota_that_another_comes_before_is_marked_among_all(in_memory) -> None:
    """20 MB/s stood there, and every client of the team had 5."""
    stage = in_memory.new_stage()
    stage.add("""
        set producer_byte_rate=5MB/s user=team-orders client-id=<default>
        set producer_byte_rate=20MB/s consumer_byte_rate=40MB/s user=team-orders
    """)
    stage.plan().apply().raise_for_errors()
    assert in_memory.quotas.describe().as_text(window(100, "")) == QUOTAS.strip("\n")
    assert "⊘" not in in_memory.quotas.describe(user="team-orders").as_text()
    assert in_memory.quotas.describe().columns == schemas.QUOTAS.names
