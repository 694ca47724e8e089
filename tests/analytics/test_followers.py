"""The clients of a fleet that would not follow: those of the logs that never registered, joined in Spark."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

import kadmin_nb as kn
from kadmin_nb.errors import UsageError
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.local import LocalKafka
from tests.client_configs.raw_client import RawClient
from tests.client_configs.written_entries import make_config_topics

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture
def user(kafka: LocalKafka, unique) -> str:
    """A user with two registered producers."""
    config, user = {"bootstrap.servers": kafka.bootstrap}, unique("user")
    make_config_topics(AdminClient(config))
    RawClient(config, user, "new").register()
    RawClient(config, user, "old", version="3.9.0").register([])
    return user


def usage_of(user: str, *client_ids: str):
    row = {"broker": 1, "user": user, "key": "producer_byte_rate", "value": 1.0, "source": "log"}
    moments = {"window_start": 0, "window_end": 1_000_000}
    return schemas.table(schemas.USAGE, [{**row, **moments, "client_id": client_id} for client_id in client_ids])


def test_usage_in_spark_is_joined_there(spark, cluster: kn.Cluster, user: str) -> None:
    """The list of who follows had to be taken to the driver, with all clients of the year."""
    usage = to_spark(usage_of(user, "new", "legacy", "legacy", "batch"), spark)
    answer = cluster.client_configs.clients("acks", usage=usage)
    frame = answer.to_spark().where(f"user = '{user}'").orderBy("client_id")
    assert frame.columns == schemas.FOLLOWERS.names
    assert [(row.client_id, row.version, row.follows) for row in frame.collect()] == [
        ("batch", None, False),
        ("legacy", None, False),
        ("new", "4.3.0", True),
        ("old", "3.9.0", False),
    ]


def test_the_same_on_arrow(cluster: kn.Cluster, user: str) -> None:
    """The two engines answered differently."""
    answer = cluster.client_configs.clients("acks", user=user, usage=usage_of(user, "new", "legacy", "batch"))
    rows = answer.to_arrow().select(["client_id", "follows"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [("new", True), ("old", False), ("batch", False), ("legacy", False)]


def test_a_part_of_a_usage_in_spark_is_refused(spark, cluster: kn.Cluster, user: str) -> None:
    """It took user=… and gave the clients of everybody."""
    with pytest.raises(UsageError, match="a usage in Spark is joined whole"):
        cluster.client_configs.clients("acks", user=user, usage=to_spark(usage_of(user, "new"), spark))
