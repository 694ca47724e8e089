"""Throttles that Kafka's tools set for a while are in no file, as far as copies are under way, or may be."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.snapshots import Snapshot
from kadmin_nb.state.writer import left_out
from tests.declared.snapshots import held

REPLICAS, RATE = "leader.replication.throttled.replicas", "leader.replication.throttled.rate"
CONFIGS = {"topic=orders": {"retention.ms": "1000", REPLICAS: "*"}, "broker=1": {RATE: "1000"}}
RUNNING = "a reassignment is running"
THROTTLING = {(Resource("TOPIC", "orders"), REPLICAS): RUNNING, (Resource("BROKER", "1"), RATE): RUNNING}
FILE = kn.state.read("kadmin: 1\nkinds: [topic, broker]\nconfigs:\n  topic=orders: {retention.ms: 1000}\n", "c.yaml")


def pruned(snapshot: Snapshot) -> list[str]:
    return [edit.key for edit in FILE.difference(snapshot, prune=True)]


@pytest.mark.parametrize(
    ("throttling", "reason"),
    [(THROTTLING, RUNNING), (None, "whether a reassignment was running is not known")],
    ids=["running", "nobody looked"],
)
def test_a_throttle_of_copies_under_way_is_not_wished_for(throttling, reason):
    """The export of the week in which we moved partitions throttled the next move to 1,000 bytes per second."""
    snapshot = held(None, CONFIGS, throttling=throttling)
    kept = f"{RATE} of broker=1, {REPLICAS} of topic=orders: {reason}"
    yaml = kn.state.export(snapshot)
    assert f"# 2 left out, as Kafka's tools set them for a while ({kept})" in yaml.splitlines()
    assert [word for word in ("throttled", "1000") if word in yaml.partition("kadmin: 1")[2]] == ["1000"]
    assert pruned(snapshot) == []
    assert f"2 left as is ({kept})" in str(FILE.difference(snapshot, prune=True))


def test_without_copies_they_are_configs_like_all_others():
    """A throttle that was forgotten was in no file, and no file could remove it."""
    snapshot = held(None, CONFIGS, throttling={})
    assert f"{REPLICAS}: " in kn.state.export(snapshot)
    assert left_out(snapshot) is None
    assert pruned(snapshot) == [RATE, REPLICAS]
