"""`cluster.snapshot()` on a real broker, and a history of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.entity import Entity
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def _topic(kafka: LocalKafka, cluster: kn.Cluster, name: str, **config: str) -> str:
    """A topic, once it is to be seen."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    wanted = {key.replace("_", "."): value for key, value in config.items()}
    admin.create_topics([NewTopic(name, 1, 1, config=wanted)], operation_timeout=30)[name].result()
    eventually(lambda: cluster.configs.describe(topic=name).ok, True)
    return name


def _set_on(snapshot, resource_type: str, name: str) -> dict[str, str]:
    rows = snapshot.configs.to_arrow().to_pylist()
    return {r["key"]: r["value"] for r in rows if (r["resource_type"], r["resource_name"]) == (resource_type, name)}


def _changes_of(answer, *resources: str) -> list[tuple]:
    names = ("plan_id", "resource", "key", "state", "old", "new")
    return [tuple(row[name] for name in names) for row in answer if row["resource"] in resources]


def test_a_snapshot_has_what_is_set_and_where(kafka: LocalKafka, cluster: kn.Cluster, unique) -> None:
    """It had the defaults of two thousand topics, and not the group that mattered."""
    name, group, user, subscription = unique("orders"), unique("group"), unique("user"), unique("metrics")
    _topic(kafka, cluster, name, retention_ms="1234567")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1 MB/s", user=user)
    stage.set_config("consumer.session.timeout.ms", "47000", group=group)
    stage.set_config("interval.ms", "60000", client_metrics=subscription)
    stage.set_config("background.threads", "11", broker=kn.DEFAULT)
    stage.set_config("num.io.threads", "9", broker=1)
    cluster.apply(stage.plan()).raise_for_errors()
    before = datetime.now(UTC)
    taken = cluster.snapshot()
    assert before <= taken.taken_at <= datetime.now(UTC)
    assert taken.complete
    assert taken.cluster_id == cluster.id
    assert taken.scopes == ("QUOTAS", "TOPIC", "BROKER", "CLIENT_METRICS", "GROUP", "CLIENT_CONFIGS", "SCRAM")
    assert _set_on(taken, "TOPIC", name) == {"retention.ms": "1234567"}
    assert _set_on(taken, "GROUP", group) == {"consumer.session.timeout.ms": "47000"}
    assert _set_on(taken, "CLIENT_METRICS", subscription) == {"interval.ms": "60000"}
    assert _set_on(taken, "BROKER", "")["background.threads"] == "11"
    of_broker = _set_on(taken, "BROKER", "1")
    assert of_broker["num.io.threads"] == "9"
    assert "node.id" in of_broker  # from its file
    assert "background.threads" not in of_broker
    stored = [r for r in taken.quotas.to_arrow().to_pylist() if r["user"] == user]
    assert [(r["cluster_id"], r["value"], r["complete"], r["snapshot_id"]) for r in stored] == [
        (cluster.id, 1_000_000.0, True, taken.id)
    ]
    undo = cluster.new_stage()
    undo.reset_config("background.threads", broker=kn.DEFAULT)
    undo.reset_config("num.io.threads", broker=1)
    cluster.apply(undo.plan()).raise_for_errors()


def test_a_history_of_a_real_cluster(kafka: LocalKafka, cluster: kn.Cluster, unique, tmp_path: Path) -> None:
    """Who gave bob that limit, and what was it before? The history named ann, and it was a script's; and whoever had
    not passed the plan to the record was told that it was no plan's."""
    name, user, other = unique("orders"), unique("user"), unique("user")
    _topic(kafka, cluster, name, retention_ms="1000")
    history = kn.open_history(tmp_path / "history")
    first = cluster.snapshot()
    history.record(first)
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=user)
    stage.set_config("retention.ms", "2000", topic=name)
    plan = stage.plan(reason="a trial")
    cluster.apply(plan).raise_for_errors()
    by_script = {Entity.of({"user": other}): {"producer_byte_rate": 7000.0}}
    cluster.port.quotas.alter(by_script)
    eventually(lambda: len(cluster.quotas.describe(user=other)), 1)
    second = cluster.snapshot()
    history.record(second)
    stage = cluster.new_stage()
    stage.remove_quota("producer_byte_rate", user=user)
    removing = stage.plan()
    cluster.apply(removing).raise_for_errors()
    third = cluster.snapshot()
    history.record(third)

    ours = (f"user={user}", f"topic={name}")
    between = history.changes((first.taken_at, second.taken_at))
    assert _changes_of(between, f"user={other}") == [
        (None, f"user={other}", "producer_byte_rate", "added", None, "7000"),
    ]
    assert {row["author"] for row in between if row["plan_id"]} == {plan.head.author}
    assert _changes_of([row for row in history.changes((None, None)) if row["plan_id"] == plan.id], *ours) == [
        (plan.id, f"topic={name}", "retention.ms", "changed", "1000", "2000"),
        (plan.id, f"user={user}", "producer_byte_rate", "added", None, "1000"),
    ]
    assert _changes_of(history.changes((second.taken_at, None)), *ours) == [
        (removing.id, f"user={user}", "producer_byte_rate", "removed", "1000", None),
    ]
    of_each = Counter(row["plan_id"] for row in history._place.rows("planned_changes", cluster.id).to_pylist())
    assert (of_each[plan.id], of_each[removing.id]) == (2, 1)
    for given in (first, second, third):
        back = history.as_of(given.taken_at)
        assert back.id == given.id
        assert back.quotas.to_arrow().to_pylist() == given.quotas.to_arrow().to_pylist()
        assert back.configs.to_arrow().to_pylist() == given.configs.to_arrow().to_pylist()
        assert len(kn.diff(given, back)) == 0


@pytest.fixture
def another(kafka: LocalKafka) -> Iterator[kn.Cluster]:
    with kn.local.start() as running, running.connect() as connected:
        yield connected


def test_two_live_clusters_are_compared(
    kafka: LocalKafka, cluster: kn.Cluster, another: kn.Cluster, unique: Callable[[str], str]
) -> None:
    """Staging was said to be like production."""
    name, user = unique("orders"), unique("user")
    _topic(kafka, cluster, name, retention_ms="1000", retention_bytes="-1", max_message_bytes="2000")
    admin = AdminClient({"bootstrap.servers": another.settings.bootstrap, "log_level": 0})
    wanted = {"retention.ms": "5000", "max.message.bytes": "2000"}
    admin.create_topics([NewTopic(name, 1, 1, config=wanted)], operation_timeout=30)[name].result()
    eventually(lambda: another.configs.describe(topic=name).ok, True)
    stage = cluster.new_stage()
    stage.set_quota("consumer_byte_rate", 7700, user=user)
    cluster.apply(stage.plan()).raise_for_errors()

    def ours(found) -> list[tuple]:
        rows = found.to_arrow().to_pylist()
        return [
            (r["key"], r["state"], r["a"], r["b"]) for r in rows if r["resource"] in (f"topic={name}", f"user={user}")
        ]

    configs = [("retention.bytes", "default", "-1", None), ("retention.ms", "changed", "1000", "5000")]
    found = kn.diff(cluster.snapshot(), another.snapshot(), everything=True)
    assert ours(found) == [configs[1], ("consumer_byte_rate", "removed", "7700", None), configs[0]]
