"""What a change costs does not grow with the plan that it is in."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import kadmin_nb as kn
from kadmin_nb.plans.execution import executor
from tests.dangerous_plans import applied
from tests.double import FakeKafka
from tests.plans.simulation import Pages, plan_of

RATE = "producer_byte_rate"


@contextmanager
def collections() -> Iterator[list[int]]:
    """The garbage collector's walks over objects in this block."""
    walks: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            walks.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield walks
    finally:
        gc.callbacks.remove(note)


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """It walks after a few new objects, as it does again and again with those of 100,000 changes."""
    before = gc.get_threshold()
    gc.set_threshold(100)
    yield
    gc.set_threshold(*before)


@pytest.mark.broker
def test_no_verb_of_a_plan_makes_the_collector_walk_over_its_rows(cluster, unique, tmp_path, eager_collector):
    """Applying 100,000 quotas took 29 s, and taking them back minutes."""
    stage = cluster.new_stage()
    for _ in range(300):
        stage.set_quota(RATE, 1000, user=unique("user"))
    plan = stage.plan()
    verbs = {
        "apply": lambda: cluster.apply(plan),
        "load": lambda: kn.Plan.load(plan.save(tmp_path / "p.json")),
        "again, by its id": lambda: cluster.apply(plan.id),
        "verify": lambda: cluster.verify(plan),
        "rollback": lambda: cluster.rollback(plan.id),
    }
    counts = {}
    for verb, run in verbs.items():
        with collections() as walks:
            run()
        counts[verb] = len(walks)
    applied(cluster.rollback(plan.id)).raise_for_errors()
    assert {verb: count for verb, count in counts.items() if count > 20} == {}


def test_looks_that_take_long_are_made_further_apart():
    """Before every other request it looked at all 100,000 quotas again, which took longer than the requests."""
    kafka, looks = FakeKafka(), []
    plan = plan_of(kafka, lambda stage: [stage.set_quota(RATE, 50, user=f"u{n}") for n in range(20)])
    describe, alter = kafka.quotas.describe, kafka.quotas.alter

    def slow_describe(*words, **options):
        looks.append(kafka.monotonic())
        kafka.sleep(5.0)
        return describe(*words, **options)

    def slow_alter(*words, **options):
        kafka.sleep(6.0)
        return alter(*words, **options)

    kafka.quotas.describe, kafka.quotas.alter = slow_describe, slow_alter
    done = executor.apply(kafka, plan, Pages().opened(), largest_batch=1)
    assert {outcome.state for outcome in done.outcomes} == {"verified"}
    while_sending = looks[2 : -len(kafka.cluster.nodes)]
    assert len(while_sending) == 1


@pytest.mark.broker
def test_a_plan_of_one_key_asks_for_that_key_alone(cluster, make_topic, kafka, unique, monkeypatch):
    """A plan of one key on 5,000 topics read all 37 keys of each; one that is not there still has its nearest word."""
    topics, asked = [make_topic(kafka, unique("topic")) for _ in range(2)], []
    describe = cluster.port.configs.describe

    def noting(resources, keys=None, **options):
        asked.append((sorted(resource.name for resource in resources), keys))
        return describe(resources, keys, **options)

    monkeypatch.setattr(cluster.port.configs, "describe", noting)
    stage = cluster.new_stage()
    for topic in topics:
        stage.set_config("segment.bytes", "20000000", topic=topic)
    first, second = stage.plan().changes
    assert (first.old, first.falls_back.value, second.note) == (None, "1073741824", None)
    assert asked == [(sorted(topics), ["segment.bytes"])]
    asked.clear()
    stage.set_config("retenton.ms", "1", topic=topics[0])
    assert stage.plan().changes[2].note.endswith("did you mean retention.ms?")
    assert asked == [(sorted(topics), ["retenton.ms", "segment.bytes"]), ([topics[0]], None)]
