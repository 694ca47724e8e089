"""Rows that the broker refuses: each is named, before anything is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kadmin_nb as kn
from kadmin_nb.model.changes import OK, Change, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import THROTTLE_RATES
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.sending import refusals
from tests.double import FakeKafka
from tests.plans.plan_rows import rows

pytestmark = pytest.mark.broker

CONFLICT = "INVALID_CONFIG: conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"


def lags(stage, topic):
    """Two keys that are right alone and wrong together."""
    stage.set_config("min.compaction.lag.ms", "100", topic=topic)
    stage.set_config("max.compaction.lag.ms", "50", topic=topic)


@pytest.fixture
def another(kafka, make_topic, unique):
    return make_topic(kafka, unique("topic"))


def test_keys_that_are_wrong_together_are_all_refused(cluster, topic, another, tells):
    """The plan said ok for both keys, and apply failed in the middle of it."""
    stage = cluster.new_stage()
    lags(stage, topic)
    stage.set_config("max.message.bytes", "5000", topic=another)
    plan = stage.plan()
    assert rows(plan, "resource", "key", "validated") == [
        (f"topic={topic}", "min.compaction.lag.ms", CONFLICT),
        (f"topic={topic}", "max.compaction.lag.ms", CONFLICT),
        (f"topic={another}", "max.message.bytes", "ok"),
    ]
    assert [change.row for change in plan._refused] == [1, 2]
    with pytest.raises(kn.PlanRefused, match="the broker refuses 2 of 3 rows") as refused:
        plan.apply()
    assert refused.value.code == "INVALID_CONFIG"
    assert tells == []


def test_all_rows_are_judged_although_a_topic_and_a_broker_are_not_there(cluster, topic, unique):
    """One topic was gone, and I heard of the other three errors one by one."""
    stage = cluster.new_stage()
    stage.set_config("segment.bytes", "abc", topic=topic)
    stage.reset_config("retention.ms", topic=f"{topic}x")
    stage.set_config("log.retention.ms", "5", broker=77)
    stage.set_config("max.message.bytes", "5000", topic=topic)
    stage.set_quota("producer_byte_rate", 5e6, user=unique("user"))
    plan = stage.plan()
    gone = "UNKNOWN_TOPIC_OR_PARTITION: No such topic."
    absent = "BROKER_ID_NOT_REGISTERED: broker 77 is not in the cluster"
    wrong = "INVALID_CONFIG: Invalid value abc for configuration segment.bytes: Not a number of type INT"
    judged = [verdict.partition(",")[0] for (verdict,) in rows(plan, "validated")]
    assert judged == [wrong, gone, absent, wrong, "ok"]
    assert [plan.changes[row].note for row in (1, 2)] == [f"did you mean topic={topic}?", "the cluster has broker 1"]
    with pytest.raises(kn.PlanRefused, match="the broker refuses 4 of 5 rows"):
        plan.apply()


def test_a_secret_for_a_broker_that_is_not_there_is_given_by_reference_alone(cluster, topic):
    """The broker was not there, and the plan showed the password."""
    stage = cluster.new_stage()
    stage.set_config("ssl.key.password", "canary-of-77", broker=77)
    stage.set_config("max.message.bytes", "5000", topic=topic)
    with pytest.raises(kn.UsageError, match="brokers keep it secret, or it is called so"):
        stage.plan()


def test_a_key_that_kafka_does_not_know_is_not_one_that_it_keeps_secret(cluster, topic):
    """`nosuch.key=1`: Kafka keeps the value secret, it said of a key that no Kafka has."""
    stage = cluster.new_stage()
    stage.set_config("nosuch.key", "canary", topic=topic)
    with pytest.raises(kn.Invalid, match=r"unknown key nosuch\.key: neither Kafka nor topic=.* knows it") as refused:
        stage.plan()
    assert refused.value.hint == "allow_unknown=['nosuch.key'] allows it."
    with pytest.raises(kn.UsageError, match="brokers keep it secret, or it is called so"):
        stage.plan(allow_unknown=["nosuch.key"])
    stage = cluster.new_stage()
    stage.set_config("nosuch.setting", "canary", broker=1)
    with pytest.raises(kn.Invalid, match=r"unknown key nosuch\.setting: neither Kafka nor broker=1 knows it"):
        stage.plan()
    with pytest.raises(kn.UsageError, match="brokers keep it secret, or it is called so"):
        stage.plan(allow_unknown=["nosuch.setting"])


@pytest.mark.parametrize("key", [*THROTTLE_RATES, "remote.log.manager.copy.max.bytes.per.second"])
def test_byte_rates_of_a_broker_take_sizes(cluster, key):
    """`leader.replication.throttled.rate=100kB/s` was refused, as *Not a number of type LONG*."""
    stage = cluster.new_stage()
    assert stage.set_config(key, "1MiB", broker=1).value == "1048576"
    assert stage.set_config(key, "100kB/s", broker=1).value == "100000"
    stage.plan().raise_for_errors()
    stage.set_config(key, "100kb/s", broker=1)
    with pytest.raises(kn.Invalid) as refused:
        stage.plan().raise_for_errors()
    takes = "B, kB, MB, GB, KiB, MiB, GiB, TiB, each with or without /s"
    assert refused.value.hint == f"{key} takes {takes}."


def test_the_second_validation_sees_keys_that_are_wrong_together(cluster, topic, tells, monkeypatch):
    """A plan that was saved as ok was sent, though the broker refuses its rows together."""
    stage = cluster.new_stage()
    lags(stage, topic)
    made = stage.plan()
    trusted = replace(made, changes=tuple(change.with_(validated=OK) for change in made.changes))
    monkeypatch.setattr(executor, "LOOK_AGE", 0.0)
    with pytest.raises(kn.PlanRefused, match="the broker refuses 2 of 2 rows"):
        cluster.apply(trusted)
    assert tells == []


def test_a_runbook_refuses_keys_that_are_wrong_together(kafka, topic, tmp_path, monkeypatch):
    """The runbook's gates passed, and the job failed half-way."""
    pytest.importorskip("papermill")
    monkeypatch.chdir(tmp_path)
    lines = [f"set min.compaction.lag.ms=100 topic={topic}", f"set max.compaction.lag.ms=50 topic={topic}"]
    with pytest.raises(kn.PlanRefused, match="the broker refuses 2 of 2 rows"):
        kn.runbooks.run("change_configs", {"cluster": kafka.bootstrap, "changes": lines})


def test_a_refused_row_has_no_danger_and_no_word_that_applies_it(cluster, topic):
    """The broker refuses 1w, and below it stood that 1w deletes my data, and how to allow it."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "1w", topic=topic)
    plan = stage.plan()
    assert [change.is_refused for change in plan.changes] == [True]
    assert (rows(plan.dangers(), "key"), rows(plan.warnings(), "warning")) == ([], [])
    html = plan._repr_html_().rpartition("</style>")[2]
    for shown in (repr(plan), html, plan.to_markdown()):
        assert "danger" not in shown
        assert "to apply it" not in shown


def test_a_danger_beside_a_refused_row_is_told_without_the_word_that_applies_it(cluster, another, full_topic, tmp_path):
    """It said how to apply a plan that the broker refuses."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "1w", topic=another)
    stage.set_config("retention.ms", "1000", topic=full_topic)
    made = stage.plan()
    for plan in (made, kn.Plan.load(made.save(tmp_path / "p.json"))):
        assert rows(plan.dangers(), "row") == [(2,)]
        assert "\n! topic=" in repr(plan)
        assert "to apply it" not in repr(plan)


def test_a_row_that_was_refused_is_asked_about_again():
    """A plan of somebody without the right was handed to somebody who has it, and was refused in the words of then."""
    no_right = Refusal("CLUSTER_AUTHORIZATION_FAILED", "no")
    change = Change(1, "set", Entity.of({"user": "a"}), "producer_byte_rate", None, "5", "5", validated=no_right)
    assert refusals(FakeKafka(), [change]) == []


LONG = "x" * 40_000
SAID = "has 40,000 bytes, but Kafka takes at most 32,767"


@pytest.mark.parametrize(
    ("staging", "words"),
    [
        (lambda stage: stage.set_quota("producer_byte_rate", 1000, user=LONG), f"^a name {SAID}: .* of user=x+…"),
        (
            lambda stage: stage.set_config("retention.ms", 1000, topic=LONG),
            f"^a name {SAID}: retention.ms of topic=x+…",
        ),
        (lambda stage: stage.set_config(LONG, 1000, topic="t"), f"^the key {SAID}: x+….* of topic=t$"),
        (lambda stage: stage.set_scram(LONG, "SCRAM-SHA-256", password="env:P"), f"^a name {SAID}: .* of user=x+…"),
    ],
)
def test_a_name_that_the_protocol_does_not_take_is_not_sent(cluster, staging, words):
    """The broker ended the connection, three times, and the plan was saved with NETWORK_EXCEPTION in its row."""
    stage = cluster.new_stage()
    staging(stage)
    with pytest.raises(kn.Invalid, match=words) as refused:
        stage.plan()
    assert len(refused.value.targets) == 1


def test_a_value_that_the_protocol_does_not_take_is_not_sent(cluster, topic):
    """The same of a list of replicas; it is not repeated, as it may be a secret."""
    stage = cluster.new_stage()
    stage.set_config("follower.replication.throttled.replicas", LONG, topic=topic)
    with pytest.raises(kn.Invalid) as refused:
        stage.plan()
    assert str(refused.value) == f"the value {SAID}: follower.replication.throttled.replicas of topic={topic}"


@pytest.mark.parametrize(
    ("whom", "key", "says"),
    [
        ({"ip": "1.2.3.4"}, "producer_byte_rate", "ip=… takes connection_creation_rate"),
        ({"user": "u"}, "connection_creation_rate", "user=… takes producer_byte_rate, consumer_byte_rate, "),
        ({"client_id": kn.DEFAULT}, "connection_creation_rate", "client-id=… takes producer_byte_rate, "),
    ],
)
def test_a_key_that_an_entity_cannot_have_is_refused_when_planned(cluster, whom, key, says):
    """A byte rate of an ip was planned, and the broker said *Invalid configuration key* of a key that it has."""
    stage = cluster.new_stage()
    stage.set_quota(key, 5, **whom)
    stage.set_quota("producer_byte_rate", 5, user="beside")
    plan = stage.plan()
    (misfit, _), (beside, _) = rows(plan, "validated", "key")
    assert misfit.startswith(f"INVALID_REQUEST: {says}")
    assert beside == "ok"
    with pytest.raises(kn.PlanRefused, match="refuse"):
        plan.apply()


def test_the_units_of_a_key_are_named_where_another_was_written(cluster, topic):
    """`retention.ms=7days` was refused without a word of what it takes."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "7days", topic=topic)
    with pytest.raises(kn.Invalid) as refused:
        stage.plan().raise_for_errors()
    assert refused.value.hint == "retention.ms takes ms, s, min, h, d."
