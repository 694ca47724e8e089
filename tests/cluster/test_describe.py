"""Reading verbs: whom they ask about, and what comes back."""

from __future__ import annotations

import pytest

import kadmin_nb as kn

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def family(cluster):
    """Two users with clients, under one stem."""
    stage = cluster.stage()
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


@pytest.mark.parametrize("asked", [{"user": None}, {"user": ""}, {"usr": "a"}, {}], ids=str)
def test_a_slip_is_refused(cluster, asked) -> None:
    """user=None described everything."""
    if asked:
        with pytest.raises(kn.UsageError):
            cluster.quotas.describe(**asked)


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
    assert answer.to_arrow()["error"].to_pylist() == ["BROKER_NOT_AVAILABLE"]


def test_brokers(cluster) -> None:
    """The one thing everyone asks first."""
    (row,) = cluster.brokers.to_arrow().to_pylist()
    assert (row["id"], row["is_fenced"]) == (1, False)


def test_the_tree_of_one_user_keeps_its_parents(cluster, family) -> None:
    """The tree of one user began in the middle."""
    tree = cluster.quotas.tree(user="fam-a")
    assert tree.to_arrow()["entity"].to_pylist() == ["user=fam-a", "user=fam-a client-id=fam-app"]
    assert repr(tree) == "user=fam-a  producer_byte_rate 1 kB/s\n  client-id=fam-app  consumer_byte_rate 2 kB/s"
