"""The values that clients say they run with, and what they refuse."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

import kadmin_nb as kn
from kadmin_nb.client_configs import follower
from kadmin_nb.client_configs.records import STATUS_TOPIC, StatusKey
from kadmin_nb.clients import DynamicProducer
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from tests.client_configs.raw_client import RawClient, append
from tests.client_configs.written_entries import make_config_topics, statuses, write_entry
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@pytest.fixture
def config(kafka: LocalKafka) -> dict[str, str]:
    config = {"bootstrap.servers": kafka.bootstrap}
    make_config_topics(AdminClient(config))
    return config


def rows(answer, *names: str) -> list[tuple]:
    return [tuple(row.values()) for row in answer.to_arrow().select(list(names)).to_pylist()]


def test_each_instance_says_what_it_took_and_refused(config, cluster: kn.Cluster, unique) -> None:
    """After a change nobody could tell which of the pods had it."""
    user = unique("user")
    taking, refusing, static, silent = (RawClient(config, user, instance=name) for name in "abcd")
    for client in (taking, refusing, static, silent):
        client.register()
    static.say(-1, {})
    (row,) = rows(cluster.client_configs.status(user=user), "instance", "state")[2:3]
    assert row == ("c", "static")
    seventh = write_entry(config, user, "app", "acks", "1")
    taking.say(seventh, {"acks": "1"})
    refusing.say(seventh, {}, {"acks": "transactional.id requires acks=all"})
    answer = cluster.client_configs.status(user=user)
    assert answer.to_arrow().schema.equals(schemas.STATUS.schema)
    assert rows(answer, "instance", "revision", "key", "value", "state", "reason") == [
        ("a", seventh, "acks", "1", "follows", None),
        ("b", seventh, "acks", None, "refuses", "transactional.id requires acks=all"),
        ("c", -1, "acks", None, "behind", f"the entry of revision {seventh} is 1"),
        ("d", None, None, None, "silent", None),
    ]


def test_the_last_word_of_a_client_counts(config, cluster: kn.Cluster, unique) -> None:
    """The list had yesterday's value beside today's; a record that cannot be read took today's away."""
    user = unique("user")
    client = RawClient(config, user)
    client.register()
    client.say(3, {"acks": "0"})
    client.say(4, {"acks": "1"})
    append(config, STATUS_TOPIC, StatusKey(user, "app", "host-1").encode(), b'{"v":2}')
    assert rows(cluster.client_configs.status(user=user), "revision", "value") == [(4, "1")]


def test_a_client_says_it_again_before_it_expires(config, unique, monkeypatch) -> None:
    """A producer that ran for weeks had no status any more: its topic drops what is older than a week."""
    user = unique("user")
    monkeypatch.setattr(follower, "STATUS_LIFETIME", 0.05)
    with DynamicProducer(config, **{"kadmin.user": user, "kadmin.refresh.interval.ms": 50}):
        eventually(lambda: len(next(iter(statuses(config, user).values()), [])) > 2, True)
    (said,) = statuses(config, user).values()
    assert {status.since_ms for status in said} == {said[0].since_ms}


def test_a_client_that_is_gone_says_nothing_any_more(config, cluster: kn.Cluster, unique) -> None:
    """The status of a pod that was deleted months ago said that it still refuses."""
    user = unique("user")
    RawClient(config, user).say(3, {"acks": "0"})
    assert len(cluster.client_configs.status(user=user)) == 0
