"""Stage, plan, apply, verify: what was planned is what is there afterwards, or the row says what is not."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.frames.blocks import NOTEBOOK, WHOLE
from kadmin_nb.hints import terminal
from kadmin_nb.plans.execution import verification
from kadmin_nb.plans.outcomes import Outcomes
from kadmin_nb.plans.plan import with_head
from tests.dangerous_plans import applied
from tests.plans.plan_rows import rows
from tests.waiting import eventually

pytestmark = pytest.mark.broker


def stored(cluster, **whom):
    return {r["key"]: r["value"] for r in cluster.quotas.describe(**whom, strict=True).to_arrow().to_pylist()}


def test_what_was_planned_is_there_and_every_broker_says_so(cluster, unique, tells):
    """The table said done, and the quota was not there."""
    user, stage = unique("user"), cluster.new_stage()
    stage.set_quota("producer_byte_rate", "10MB/s", user=user)
    stage.set_quota("request_percentage", "12.5%", user=user)
    plan = stage.plan("because of the incident")
    assert rows(plan, "row", "op", "resource", "key", "old", "wanted", "after", "old_known", "level", "validated") == [
        (1, "set", f"user={user}", "producer_byte_rate", None, "10000000", "10000000", True, "USER", "ok"),
        (2, "set", f"user={user}", "request_percentage", None, "12.5", "12.5", True, "USER", "ok"),
    ]
    assert tells == []
    outcomes = plan.apply().raise_for_errors()
    assert rows(outcomes, "row", "state", "brokers_agreeing", "brokers", "error") == [
        (1, "verified", 1, 1, None),
        (2, "verified", 1, 1, None),
    ]
    assert all(lag is not None and lag >= 0 for (lag,) in rows(outcomes, "lag_ms"))
    assert stored(cluster, user=user) == {"producer_byte_rate": 1e7, "request_percentage": 12.5}
    assert tells == ["altering quotas"]


def test_a_second_apply_sends_nothing(cluster, topic, unique, tells):
    """The job ran twice and the second run changed things again."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5000, user=unique("user"))
    stage.set_config("retention.ms", 1000, topic=topic)
    stage.append_config("cleanup.policy", "compact", topic=topic)
    plan = stage.plan("a test")
    assert {state for (state,) in rows(applied(plan), "state")} == {"verified"}
    sent = len(tells)
    again = plan.apply()
    assert rows(again, "state") == [("unchanged",)] * 3
    assert again.ok
    assert len(tells) == sent


def test_a_plan_with_nothing_to_change_says_so_and_names_no_journal(cluster, unique):
    """It named a journal that was not there, and 0 of 0 brokers."""
    user, outcomes = unique("user"), []
    for _ in range(2):
        stage = cluster.new_stage()
        stage.set_quota("producer_byte_rate", 5000, user=user)
        outcomes.append(stage.plan().apply())
    done, nothing = outcomes
    assert Path(done.journal).exists()
    assert (nothing.journal, nothing.chain_head) == (None, None)
    assert rows(nothing, "state", "brokers_agreeing", "brokers") == [("unchanged", None, None)]
    assert nothing.ok
    for shown in (repr(nothing), nothing._repr_html_()):
        assert f"plan {nothing.plan_id[:8]}" in shown
        assert "1 unchanged" in shown
        assert "journal" not in shown
        assert "brokers" not in shown


def test_a_plan_that_was_done_before_still_names_its_journal(cluster, unique):
    """The second run of the job hid where the first was written down."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5000, user=unique("user"))
    plan = stage.plan()
    done, again = plan.apply(), plan.apply()
    assert (again.journal, again.chain_head) == (done.journal, done.chain_head)
    assert "1 unchanged" in repr(again)
    assert "nothing to change" not in repr(done)
    assert repr(done.failed).startswith(f"plan {plan.id[:8]}: no rows\n")


def test_one_wrong_key_among_good_ones_is_named_on_each_row(cluster, topic, tells):
    """Three keys of a topic, one wrong, and I had to guess which."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "1000", topic=topic)
    stage.set_config("segment.bytes", "abc", topic=topic)
    stage.set_config("max.message.bytes", "5000", topic=topic)
    plan = stage.plan()
    wrong = "INVALID_CONFIG: Invalid value abc for configuration segment.bytes: Not a number of type INT"
    assert rows(plan, "validated") == [(wrong,)] * 3
    with pytest.raises(kn.PlanRefused, match="refuses 3 of 3 rows") as refused:
        plan.apply()
    assert refused.value.code == "INVALID_CONFIG"
    assert tells == []


def test_one_wrong_quota_key_among_good_ones_is_named(cluster, unique):
    """Three keys of a user, one wrong, and I had to guess which."""
    user, stage = unique("user"), cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1, user=user)
    stage.set_quota("producer_bite_rate", 1, user=user)
    stage.set_quota("connection_creation_rate", 1, user=user)
    assert rows(stage.plan(), "key", "validated") == [
        ("producer_byte_rate", "INVALID_REQUEST: Invalid configuration key producer_bite_rate"),
        ("producer_bite_rate", "INVALID_REQUEST: Invalid configuration key producer_bite_rate"),
        ("connection_creation_rate", "INVALID_REQUEST: user=… takes producer_byte_rate, consumer_byte_rate, "
         "request_percentage, controller_mutation_rate"),
    ]  # fmt: skip


def test_what_moved_since_the_plan_is_a_conflict_and_nothing_is_sent(cluster, unique, topic, tells):
    """A colleague had changed it meanwhile, and my plan overwrote him."""
    user, stage = unique("user"), cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=user)
    stage.set_config("retention.ms", 7, topic=topic)
    plan = stage.plan()
    other = cluster.new_stage()
    other.set_quota("producer_byte_rate", 9900, user=user)
    other.plan().apply().raise_for_errors()
    tells.clear()
    with pytest.raises(kn.errors.Conflict) as moved:
        plan.apply()
    assert str(moved.value) == (f"user={user} producer_byte_rate changed since the plan: not set → 9.9 kB/s")
    assert tells == []
    assert stored(cluster, user=user) == {"producer_byte_rate": 9900.0}


def test_a_list_that_grew_since_the_plan_is_a_conflict(cluster, topic, tells):
    """APPEND would have made another list than the one I was shown."""
    stage = cluster.new_stage()
    stage.append_config("cleanup.policy", "compact", topic=topic)
    plan = stage.plan()
    assert rows(plan, "old", "wanted", "after") == [(None, "compact", "delete,compact")]
    other = cluster.new_stage()
    other.set_config("cleanup.policy", "compact", topic=topic)
    other.plan().apply().raise_for_errors()
    tells.clear()
    with pytest.raises(kn.errors.Conflict, match="not set → compact"):
        plan.apply()
    assert tells == []


def test_a_plan_for_another_cluster_is_refused(cluster, unique, tells, tmp_path):
    """I had the wrong profile and production got the test's quotas."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 10, user=unique("user"))
    foreign = with_head(stage.plan(), cluster_id="another-cluster")
    with pytest.raises(kn.errors.WrongCluster, match="for cluster another-cluster, this is") as wrong:
        cluster.apply(foreign)
    assert wrong.value.code == "INCONSISTENT_CLUSTER_ID"
    assert tells == []


def test_a_topic_that_is_gone_is_no_unchanged_row(cluster, kafka, make_topic, unique, tells):
    """The topic had been deleted, and removing its override was reported as already done."""
    from confluent_kafka.admin import AdminClient

    name = make_topic(kafka, unique("doomed"))
    before = cluster.new_stage()
    before.set_config("retention.ms", 1000, topic=name)
    applied(before.plan("a test")).raise_for_errors()
    stage = cluster.new_stage()
    stage.reset_config("retention.ms", topic=name)
    plan = stage.plan()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    admin.delete_topics([name])[name].result()
    eventually(lambda: cluster.configs.describe(topic=name).ok, False)
    tells.clear()
    with pytest.raises(kn.NotFound, match=f"topic={name} cannot be read: UNKNOWN_TOPIC_OR_PARTITION") as gone:
        plan.apply()
    assert gone.value.code == "UNKNOWN_TOPIC_OR_PARTITION"
    assert tells == []


def test_a_plan_of_a_topic_that_does_not_exist_is_refused(cluster, unique):
    """A typo in the topic was found only when it was sent."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", 1, topic="no-such-topic")
    with pytest.raises(
        kn.NotFound, match="topic=no-such-topic cannot be read: UNKNOWN_TOPIC_OR_PARTITION: No such topic"
    ):
        stage.plan()


@pytest.mark.parametrize("broker", [99, 1])
def test_a_broker_that_is_not_in_the_cluster_is_refused(cluster, broker):
    """broker=99 was planned as if it were there."""
    stage = cluster.new_stage()
    stage.set_config("log.retention.ms", 1, broker=broker)
    if broker == 1:
        assert rows(stage.plan(), "validated") == [("ok",)]
        return
    with pytest.raises(kn.NotFound, match="broker=99 cannot be read: BROKER_ID_NOT_REGISTERED"):
        stage.plan()


def test_a_removal_takes_away_what_is_there_even_if_nobody_knows_it(cluster, unique):
    """A key of an older version could be seen and not removed."""
    user, stage = unique("user"), cluster.new_stage()
    stage.remove_quota("producer_byte_rate", user=user)
    assert rows(stage.plan(), "old", "after", "note") == [(None, None, "no change needed")]
    stage.discard()
    stage.remove_quota("producer_byte_rte", user=user)
    with pytest.raises(
        kn.Invalid, match=r"unknown key producer_byte_rte: neither Kafka nor user=.* knows it"
    ) as unknown:
        stage.plan()
    assert unknown.value.hint.startswith("Did you mean producer_byte_rate? ")


BROKER_KEYS = {
    "a throttle, listed only once it is set": ("leader.replication.throttled.rate", True),
    "a key it lists": ("log.retention.ms", True),
    "one behind a listener": ("listener.name.internal.ssl.keystore.password", True),
    "one behind a listener and a mechanism": ("listener.name.internal.plain.sasl.jaas.config", True),
    "one that only a listener has": ("listener.name.internal.max.connections", True),
    "a typo": ("log.retention.mss", False),
    "a typo behind a listener": ("listener.name.internal.ssl.keystore.pasword", False),
    "a listener and nothing": ("listener.name.internal", False),
}


@pytest.mark.parametrize("whom", [{"broker": 1}, {"broker": kn.DEFAULT}], ids=["broker 1", "every broker"])
@pytest.mark.parametrize(("key", "known"), BROKER_KEYS.values(), ids=BROKER_KEYS)
def test_a_broker_key_is_one_that_somebody_knows(cluster, clean_broker, key, known, whom, monkeypatch):
    """Kafka took my typo without a word."""
    monkeypatch.setenv("ANY_SECRET", "1")
    stage = cluster.new_stage()
    stage.set_config(key, "1" if any(part in key for part in ("max", "log", "throttled")) else "env:ANY_SECRET", **whom)
    if known:
        assert len(stage.plan()) == 1
        return
    with pytest.raises(kn.Invalid, match=f"unknown key {key}: neither Kafka nor broker=.* knows it") as unknown:
        stage.plan()
    assert f"allow_unknown=[{key!r}]" in unknown.value.hint


def test_a_key_that_is_allowed_by_name_is_let_through_and_marked(cluster, clean_broker, monkeypatch):
    """A plug-in's own key could not be set at all."""
    monkeypatch.setenv("PLUGIN_KEY", "1")
    stage = cluster.new_stage()
    stage.set_config("my.plugin.key", "env:PLUGIN_KEY", broker=1)
    plan = stage.plan(allow_unknown=["my.plugin.key"])
    assert rows(plan, "validated", "note") == [
        ("ok", "unknown key, allowed by --allow-unknown; looked up when it is sent")
    ]
    assert rows(plan.apply(), "state") == [("verified",)]
    stage.discard()
    stage.reset_config("my.plugin.key", broker=1)
    plan = stage.plan()
    assert rows(plan, "old", "old_known") == [(None, False)]
    assert rows(plan.apply(), "state") == [("verified",)]


def test_the_cluster_wide_default_is_planned_with_what_is_below_it(cluster, clean_broker):
    """The plan said nothing of the value that every broker has now."""
    stage = cluster.new_stage()
    stage.set_config("log.retention.ms", "1000", broker=kn.DEFAULT)
    plan = stage.plan("a test")
    assert rows(plan, "resource", "old", "after", "validated") == [("broker=<default>", None, "1000", "ok")]
    assert rows(applied(plan), "state") == [("verified",)]


def test_quotas_and_configs_of_every_kind_in_one_plan(cluster, topic, unique, clean_broker, tells):
    """I needed five notebooks for one change."""
    stage, metrics, group = cluster.new_stage(), unique("metrics"), unique("group")
    stage.set_quota("connection_creation_rate", 7, ip="10.9.8.7")
    stage.set_quota("producer_byte_rate", 7, user=kn.DEFAULT, client_id="<default>")
    stage.set_config("retention.ms", 7, topic=topic)
    stage.set_config("log.retention.ms", 8, broker=1)
    stage.set_config("log.retention.ms", 9, broker=kn.DEFAULT)
    stage.set_config("kafka.server.KafkaApis", "WARN", broker_logger=1)
    stage.set_config("interval.ms", 10000, client_metrics=metrics)
    stage.set_config("consumer.session.timeout.ms", 50000, group=group)
    outcomes = applied(stage.plan("a test"))
    assert rows(outcomes, "resource", "state", "brokers_agreeing", "brokers") == [
        ("ip=10.9.8.7", "verified", 1, 1),
        ("user=<default> client-id==<default>", "verified", 1, 1),
        (f"topic={topic}", "verified", 1, 1),
        ("broker=1", "verified", 1, 1),
        ("broker=<default>", "verified", 1, 1),
        ("broker-logger=1", "verified", 1, 1),
        (f"client-metrics={metrics}", "verified", 1, 1),
        (f"group={group}", "verified", 1, 1),
    ]
    stage.discard()
    stage.remove_quota("connection_creation_rate", ip="10.9.8.7")
    stage.remove_quota("producer_byte_rate", entity={"user": kn.DEFAULT, "client-id": "<default>"})
    stage.reset_config("kafka.server.KafkaApis", broker_logger=1)
    stage.reset_config("interval.ms", client_metrics=metrics)
    stage.reset_config("consumer.session.timeout.ms", group=group)
    assert [state for (state,) in rows(stage.plan().apply(), "state")] == ["verified"] * 5


def test_an_old_secret_is_never_shown(cluster, clean_broker, monkeypatch):
    """The keystore's password stood in the plan that I mailed around."""
    monkeypatch.setenv("KEY_PASSWORD", "first-canary")
    stage = cluster.new_stage()
    stage.set_config("listener.name.internal.ssl.key.password", "env:KEY_PASSWORD", broker=1)
    plan = stage.plan("a test")
    assert rows(plan, "wanted", "after") == [("env:KEY_PASSWORD",) * 2]
    assert rows(applied(plan), "state") == [("verified",)]
    assert rows(plan.apply(), "state") == [("unchanged",)]
    stage.discard()
    stage.reset_config("listener.name.internal.ssl.key.password", broker=1)
    plan = stage.plan("a test")
    assert rows(plan, "old", "old_known") == [(None, False)]
    assert rows(applied(plan), "state") == [("verified",)]


def test_a_frame_of_quotas_is_staged_and_ten_thousand_are_applied(cluster, unique, tells):
    """Loading a table of quotas took an afternoon."""
    stem, stage = unique("bulk"), cluster.new_stage()
    import pandas as pd

    frame = pd.DataFrame(
        {
            "entity": [f"user={stem}-{n} client-id=c" for n in range(3000)] * 2,
            "key": ["producer_byte_rate"] * 3000 + ["consumer_byte_rate"] * 3000,
            "value": [float(n + 1000) for n in range(6000)],
        }
    )
    stage.add(frame)
    plan = stage.plan()
    outcomes = plan.apply().raise_for_errors()
    assert {state for (state,) in rows(outcomes, "state")} == {"verified"}
    assert tells == ["altering quotas"] * 2
    frame["value"] = None
    stage.discard()
    stage.add(frame)
    applied(stage.plan("a test")).raise_for_errors()
    assert stored(cluster, user=f"{stem}-7", client_id="c") == {}


def test_it_tells_how_far_it_is(cluster, unique):
    """A plan of an hour said nothing for an hour."""
    stage, told = cluster.new_stage(), []
    for number in range(3):
        stage.set_quota("producer_byte_rate", 1000, user=unique(f"user-{number}"))
        stage.set_quota("producer_byte_rate", 1000, client_id=unique(f"app-{number}"))
    stage.plan().apply(progress=told.append).raise_for_errors()
    sent = [a for a in told if a.what == "sent"]
    assert [(a.done, a.of) for a in sent] == [(0, 6), (3, 6), (6, 6)]
    assert str(sent[1]) == "sent 3 of 6"
    assert str(told[-1]) == "verified 6 of 6"


def raise_as_pyspark(number: int, frame: object) -> None:
    """What a Spark session sets for Ctrl-C."""
    raise KeyboardInterrupt


raise_as_pyspark.__module__ = "pyspark.core.context"


@pytest.mark.parametrize("handler", [signal.default_int_handler, raise_as_pyspark], ids=["python", "pyspark"])
def test_ctrl_c_in_the_last_moment_is_heard(cluster, unique, monkeypatch, handler):
    """My Ctrl-C came as the plan that switches a log on was ending, and it was observed for five minutes.

    Or: I had asked Spark something before, and Ctrl-C broke a request in the middle.
    """
    before = signal.signal(signal.SIGINT, handler)
    summarised = Outcomes.of

    def interrupted(*args: object) -> Outcomes:
        signal.raise_signal(signal.SIGINT)
        return summarised(*args)

    monkeypatch.setattr(Outcomes, "of", interrupted)
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 5_000_000, user=unique("user"))
    try:
        with pytest.raises(kn.errors.Interrupted, match="stopped by Ctrl-C") as raised:
            stage.plan().apply()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert raised.value.outcomes.ok


def test_of_many_rows_those_that_are_not_there_are_shown_with_the_ways_on(cluster, unique, monkeypatch):
    """A broker lagged behind 100,000 rows: 60 verified ones were shown, and 'another value', and no way to go on."""
    stage = cluster.new_stage()
    for _ in range(65):
        stage.set_quota("producer_byte_rate", 5000, user=unique("user"))
    plan = stage.plan()
    with monkeypatch.context() as lagging:
        lagging.setattr(verification, "holds", lambda now, change: change.row < 65)
        lagging.setattr(verification, "is_as_before", lambda now, change: True)
        outcomes = plan.apply(verify_timeout=3.0)
    first = outcomes.as_text(NOTEBOOK).splitlines()[2]
    assert first.split()[:2] == ["set", str(plan.changes[64].resource)]
    assert "broker 1" in first
    assert "64 verified, 1 unverified" in outcomes.as_text(NOTEBOOK).splitlines()[0]
    assert outcomes.to_arrow()["row"].to_pylist() == [*range(1, 66)]
    whole = [line.split()[:2] for line in outcomes.as_text(WHOLE).splitlines() if " user=" in line]
    assert whole[0] == ["set", str(plan.changes[0].resource)]
    with pytest.raises(kn.PartlyFailed) as failed:
        outcomes.raise_for_errors()
    short = plan.id[:8]
    failed.value.syntax = terminal
    hint = failed.value.lines()[-1]
    assert f"Check again with kadmin-nb plan verify {short}." in hint
    assert f"Continue with kadmin-nb plan apply {short}." in hint
    assert set(rows(cluster.verify(plan), "state")) == {("verified",)}
