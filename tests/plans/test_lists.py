"""`after` of an APPEND or SUBTRACT is the list that the broker then stores."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from tests.dangerous_plans import applied
from tests.plans.plan_rows import rows

pytestmark = pytest.mark.broker

KEYS = {"topic": "cleanup.policy", "group": None, "broker": "log.cleanup.policy"}
THROTTLED = "leader.replication.throttled.replicas"

TOPIC_CASES = {
    # (stored before, operation, items, stored after)
    "append to an unset key starts from the default": (None, "append", "compact", "delete,compact"),
    "append what the default has pins it": (None, "append", "delete", "delete"),
    "append what is there": ("compact", "append", "compact", "compact"),
    "append twice the same": ("compact", "append", "delete,delete", "compact,delete"),
    "subtract from an unset key": (None, "subtract", "compact", "delete"),
    "subtract everything stores an empty list": ("compact", "subtract", "compact", ""),
    "subtract the default stores an empty list": (None, "subtract", "delete", ""),
    "subtract what is absent": ("compact", "subtract", "delete", "compact"),
    "append to an empty list": ("", "append", "compact", "compact"),
}

FREE_CASES = {
    "append to nothing": (None, "append", "0:1", "0:1"),
    "keeps the order": ("0:1,0:2", "append", "0:0", "0:1,0:2,0:0"),
    "duplicates stay": ("0:1,0:1", "append", "0:2", "0:1,0:1,0:2"),
    "one copy is subtracted": ("0:1,0:2,0:1", "subtract", "0:1", "0:2,0:1"),
    "two copies are subtracted": ("0:1,0:2,0:1", "subtract", "0:1,0:1", "0:2"),
    "several at once": ("0:1,0:2,0:3", "subtract", "0:3,0:1", "0:2"),
    "nothing to subtract from": (None, "subtract", "0:1", ""),
    "the wildcard is an item": ("*", "append", "0:1", "*,0:1"),
    "a space belongs to the item": ("0:1", "append", " 0:1", "0:1, 0:1"),
    "a space belongs to the item, subtracted": ("0:1,0:2", "subtract", " 0:2", "0:1,0:2"),
    "an empty item is appended": ("0:1", "append", "", "0:1,"),
    "a stored empty item goes with the next append": ("0:1,,0:2", "append", "0:3", "0:1,0:2,0:3"),
    "an empty item between": ("0:1", "append", "0:2,,0:3", "0:1,0:2,,0:3"),
    "an empty item last is dropped": ("0:1", "append", "0:2,", "0:1,0:2"),
    "nothing but a comma": ("0:1", "append", ",", "0:1"),
    "an empty item subtracted": ("0:1,0:2", "subtract", "", "0:1,0:2"),
}


def cases():
    for name, case in TOPIC_CASES.items():
        yield pytest.param("topic", "cleanup.policy", *case, id=f"topic: {name}")
    for name, case in FREE_CASES.items():
        yield pytest.param("topic", THROTTLED, *case, id=f"topic, free items: {name}")
    for where in ("broker", "default"):
        for name, case in TOPIC_CASES.items():
            yield pytest.param(where, "log.cleanup.policy", *case, id=f"{where}: {name}")


def whom(where: str, topic: str) -> dict[str, object]:
    return {"topic": {"topic": topic}, "broker": {"broker": 1}, "default": {"broker": kn.DEFAULT}}[where]


@pytest.mark.parametrize(("where", "key", "before", "op", "items", "after"), list(cases()))
def test_the_list_in_the_plan_is_the_list_that_is_stored(
    cluster, request, clean_broker, where, key, before, op, items, after
):
    """The plan showed one list, and the broker had another."""
    topic = request.getfixturevalue("topic") if where == "topic" else ""
    target, stage = whom(where, topic), cluster.new_stage()
    if before is not None:
        stage.set_config(key, before, **target)
        applied(stage.plan("a test")).raise_for_errors()
        stage.discard()
    {"append": stage.append_config, "subtract": stage.subtract_config}[op](key, items, **target)
    plan = stage.plan("a test")
    assert rows(plan, "old", "wanted", "after") == [(before, items, after)]
    if plan._refused:
        return
    assert rows(applied(plan), "state") == [("unchanged" if before == after else "verified",)]
    described = cluster.configs.describe(**target, keys=[key]).to_arrow().to_pylist()
    stored = [r["value"] for r in described if r["source"].startswith("DYNAMIC")]
    assert [text.replace(" ", "") for text in stored] == [after.replace(" ", "")]


def test_a_space_that_the_broker_hides_is_not_a_success(cluster, topic):
    """A topic describes `0:1, 0:2` without the space, SUBTRACT 0:2 finds no such item: it must not say done."""
    stage = cluster.new_stage()
    stage.set_config(THROTTLED, "0:1, 0:2", topic=topic)
    assert rows(stage.plan().apply(), "state") == [("verified",)]
    stage.discard()
    stage.subtract_config(THROTTLED, "0:2", topic=topic)
    plan = stage.plan()
    assert rows(plan, "old", "after") == [("0:1,0:2", "0:1")]
    outcomes = cluster.apply(plan, verify_timeout=1.0)
    assert rows(outcomes, "state") == [("unverified",)]


WRITTEN = {
    "a space before": ("topic", "retention.ms", " 1000", "1000"),
    "leading zeros": ("topic", "retention.ms", "0100", "100"),
    "a plus": ("topic", "retention.ms", "+5", "5"),
    "a capital boolean": ("topic", "preallocate", "TRUE", "true"),
    "another double": ("topic", "min.cleanable.dirty.ratio", "5e-1", "0.5"),
    "a small double": ("topic", "min.cleanable.dirty.ratio", "0.00001", "1.0E-5"),
    "a list with spaces": ("topic", "cleanup.policy", "compact, delete", "compact,delete"),
    "a broker's number": ("broker", "log.retention.ms", " 0100", "100"),
    "a broker's list": ("broker", "log.cleanup.policy", "compact, delete", "compact,delete"),
    "the default's number": ("default", "log.retention.ms", " 0100", " 0100"),
    "the default's list": ("default", "log.cleanup.policy", "compact, delete", "compact, delete"),
}


@pytest.mark.parametrize(("where", "key", "written", "described"), WRITTEN.values(), ids=WRITTEN)
def test_a_value_that_kafka_writes_otherwise_is_verified(
    cluster, request, clean_broker, tells, where, key, written, described
):
    """I set 0100, it was set, and I was told that it was not."""
    topic = request.getfixturevalue("topic") if where == "topic" else ""
    target, stage = whom(where, topic), cluster.new_stage()
    stage.set_config(key, written, **target)
    plan = stage.plan("a test")
    assert rows(applied(plan), "state") == [("verified",)]
    assert cluster.configs.describe(**target, keys=[key]).to_arrow()["value"].to_pylist() == [described]
    tells.clear()
    assert rows(plan.apply(), "state") == [("unchanged",)]
    assert rows(stage.plan(), "note")[0][0].endswith("no change needed")
    assert tells == []


def test_a_key_that_is_no_list_is_refused_by_the_validation(cluster, topic):
    """APPEND to retention.ms did something."""
    stage = cluster.new_stage()
    stage.append_config("retention.ms", "5", topic=topic)
    [(verdict,)] = rows(stage.plan(), "validated")
    assert verdict == "INVALID_CONFIG: Can't APPEND to key retention.ms because its type is not LIST."
