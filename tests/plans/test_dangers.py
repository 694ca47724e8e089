"""Dangerous changes: told by what holds now, refused unless confirmed, and journalled with that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.model.changes import DELETE, SET, Change, Edit
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.advice import dangers
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.execution.executor import Hooks
from kadmin_nb.plans.execution.preflight import gate
from kadmin_nb.plans.journal import replay
from kadmin_nb.plans.observed_state import ObservedState
from kadmin_nb.plans.plan_file import PlanHead
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.plans.scenes import hold
from tests.plans.simulation import Pages, plan_of

TOPIC, BROKER = Resource("TOPIC", "t"), Resource("BROKER", "1")
MIN_ISR, RETENTION, RATE = "min.insync.replicas", "retention.ms", "producer_byte_rate"


def changed(key: str, old: str | None, new: str | None, resource: Resource = BROKER, **more: object) -> Change:
    return Change(1, DELETE if new is None else SET, resource, key, old, new, new, **more)


def words(change: Change) -> list[str]:
    """What it weakens, where both values are set: nobody is asked."""
    return [danger.code for danger in dangers.judged([change], ObservedState())]


WEAKER = {
    "min.insync.replicas": ("3", "2", "durability"),
    "transaction.state.log.min.isr": ("2", "1", "durability"),
    "default.replication.factor": ("3", "1", "durability"),
    "acks": ("all", "1", "durability"),
    "offsets.commit.required.acks": ("-1", "1", "durability"),
    "unclean.leader.election.enable": ("false", "TRUE", "durability"),
    "transaction.partition.verification.enable": ("true", "false", "durability"),
    "retention.ms": ("-1", "604800000", "retention"),
    "retention.bytes": ("2000", "1000", "retention"),
    "log.retention.ms": ("604800000", "60000", "retention"),
    "log.retention.bytes": ("-1", "1000", "retention"),
    "delete.retention.ms": ("86400000", "0", "retention"),
    "cleanup.policy": ("compact", "compact,delete", "retention"),
    "log.cleanup.policy": ("compact", "delete", "retention"),
    "remote.log.delete.on.disable": ("false", "true", "retention"),
    "remote.storage.enable": ("true", "false", "retention"),
    "ssl.client.auth": ("required", "requested", "access"),
    "listener.name.external.ssl.client.auth": ("requested", "none", "access"),
    "sasl.enabled.mechanisms": ("SCRAM-SHA-512", "SCRAM-SHA-512,PLAIN", "access"),
    "allow.everyone.if.no.acl.found": ("false", "true", "access"),
    "ssl.allow.dn.changes": ("false", "true", "access"),
    "ssl.endpoint.identification.algorithm": ("https", "", "encryption"),
    "ssl.enabled.protocols": ("TLSv1.2,TLSv1.3", "TLSv1.1,TLSv1.2", "encryption"),
    "ssl.cipher.suites": ("TLS_AES_256_GCM_SHA384", "TLS_RSA_WITH_NULL_SHA256", "encryption"),
}


@pytest.mark.parametrize(("key", "old", "new", "word"), [(key, *case) for key, case in WEAKER.items()], ids=WEAKER)
def test_the_weaker_way_is_dangerous_and_the_way_back_is_not(key, old, new, word):
    """Making the cluster safer had to be confirmed too, so everybody typed it always."""
    assert words(changed(key, old, new)) == [word]
    assert words(changed(key, new, old)) == []
    assert words(changed(key, old, old)) == []


EITHER_WAY = {
    "listeners": "listener",
    "advertised.listeners": "listener",
    "listener.security.protocol.map": "listener",
    "listener.name.internal.ssl.keystore.location": "listener",
    "listener.name.internal.scram-sha-512.sasl.jaas.config": "login",
    "sasl.oauthbearer.jwks.endpoint.url": "address",
    "listener.name.x.oauthbearer.sasl.oauthbearer.token.endpoint.url": "address",
    "config.providers": "address",
    "metric.reporters": "code",
    "principal.builder.class": "code",
    "sasl.kerberos.kinit.cmd": "code",
    "super.users": "access",
    "ssl.principal.mapping.rules": "access",
    "ssl.truststore.location": "access",
}


@pytest.mark.parametrize(("key", "word"), EITHER_WAY.items(), ids=EITHER_WAY)
def test_what_has_no_better_side_is_dangerous_both_ways(key, word):
    """A listener was mapped to PLAINTEXT in a plan of forty rows, and nobody saw it."""
    assert words(changed(key, "one", "other")) == words(changed(key, "other", "one")) == [word]


@pytest.mark.parametrize(
    "change",
    [
        changed("max.message.bytes", "9", "1"),
        changed("auto.create.topics.enable", "false", "true"),
        changed("local.retention.ms", "9", "1"),
        changed("cleanup.policy", "delete", "compact,delete"),
        changed("message.timestamp.type", "CreateTime", "LogAppendTime"),
        changed("listener.name.external.max.connections", "9", "1"),
        changed("org.apache.kafka.some.class", "INFO", "DEBUG", Resource("BROKER_LOGGER", "1")),
    ],
    ids=lambda change: change.key,
)
def test_what_weakens_nothing_is_let_be(change):
    """Half of all plans were called dangerous, and the word lost its meaning."""
    assert words(change) == []


numbers = st.integers(1, 2**31 - 1)


@given(old=numbers, new=numbers, resource=st.sampled_from([TOPIC, BROKER, Resource("BROKER", "")]))
def test_fewer_insync_replicas_are_always_dangerous_and_more_never(old, new, resource):
    """The guard looked at the wanted number, not at the way to it."""
    assert bool(words(changed(MIN_ISR, str(old), str(new), resource))) == (new < old)


@given(old=st.integers(-1, 2**62), new=st.integers(-1, 2**62))
@example(old=2**61 + 1, new=2**61)  # the same number as a float
def test_a_retention_is_cut_where_it_ends_earlier(old, new):
    """From -1, which is for ever, to a year was not a cut."""
    ends = [float("inf") if number == -1 else number for number in (old, new)]
    assert bool(words(changed("log.retention.ms", str(old), str(new)))) == (ends[1] < ends[0])


# -- where the cluster must be asked


@pytest.fixture
def kafka() -> FakeKafka:
    kafka = FakeKafka()
    hold(
        kafka,
        {("user=<default>", RATE): 1e6, ("user=a", RATE): 5e5, ("user=b", RATE): 6e5, ("ip=<default>", "x"): 9.0},
        {
            ("broker=<default>", MIN_ISR): "2",
            ("topic=t", MIN_ISR): "3",
            ("topic=plain", "max.message.bytes"): "9",
            ("topic=long", RETENTION): "900000000",
        },
    )
    kafka.cluster.settle()
    return kafka


def told(kafka: FakeKafka, *edits: Edit) -> list[tuple[str, str]]:
    plan = plan_of(kafka, lambda stage: stage.add(edits))
    return [(danger.key, danger.message.split(": ")[0]) for danger in dangers.found(kafka, plan.changes)]


def config(op: str, resource: str, key: str, value: str | None = None) -> Edit:
    return Edit(op, Resource.parse(resource), key, value)


BELOW = {
    "a topic's override below the cluster's": (config(SET, "topic=plain", MIN_ISR, "1"), "2 becomes 1"),
    "a topic's override above it": (config(SET, "topic=plain", MIN_ISR, "3"), None),
    "a reset that falls back to less": (config(DELETE, "topic=t", MIN_ISR), "3 becomes 2"),
    "the cluster's, reset to Kafka's": (config(DELETE, "broker=<default>", MIN_ISR), "2 becomes 1"),
    "a broker's beside the cluster's": (config(SET, "broker=1", MIN_ISR, "1"), "2 becomes 1"),
    "a first value for all brokers": (
        config(SET, "broker=<default>", "unclean.leader.election.enable", "true"),
        "false becomes true",
    ),
    "the same as all brokers have": (config(SET, "broker=<default>", "unclean.leader.election.enable", "false"), None),
    "a retention where none was set": (
        config(SET, "topic=plain", RETENTION, "1000"),
        "604800000 (7 d) becomes 1000 (1 s)",
    ),
    "nobody can say what is below": (
        config(DELETE, "topic=long", RETENTION),
        "900000000 (about 10.42 d) becomes a value that cannot",
    ),
    "compaction alone is taken away": (config(SET, "topic=plain", "cleanup.policy", "compact"), None),
}


@pytest.mark.parametrize(("edit", "says"), BELOW.values(), ids=BELOW)
def test_it_is_judged_against_what_holds_now(kafka, edit, says):
    """min.insync.replicas=1 on one topic was not a change to the guard: the topic had nothing set."""
    found = told(kafka, edit)
    assert [message.startswith(says or "?") for _, message in found] == [True] * bool(says)


layer = st.none() | st.integers(1, 9).map(str)


@pytest.mark.slow
@given(topic=layer, everyone=layer, wanted=layer, place=st.sampled_from(["topic=t", "broker=<default>"]))
def test_it_is_dangerous_exactly_where_fewer_copies_count_then(topic, everyone, wanted, place):
    """It depended on where the number was written, and not on what came of it."""
    kafka, set_there = FakeKafka(), {"topic=t": topic, "broker=<default>": everyone}
    held = {(where, MIN_ISR): value for where, value in set_there.items() if value is not None}
    hold(kafka, {}, {("topic=t", "max.message.bytes"): "9", **held})
    kafka.cluster.settle()
    now = set_there[place] or (place == "topic=t" and everyone) or "1"
    then = wanted or (place == "topic=t" and everyone) or "1"
    found = told(kafka, config(SET if wanted else DELETE, place, MIN_ISR, wanted))
    assert bool(found) == (int(then) < int(now)), (now, then)


def test_a_value_that_nobody_may_see_counts(kafka):
    """A login's configuration was replaced unseen: there was no old value to compare."""
    secret = changed("listener.name.x.plain.sasl.jaas.config", None, "env:JAAS", old_known=False, is_secret=True)
    [unseen] = dangers.found(kafka, [secret])
    assert unseen.code == "login"
    assert unseen.message.startswith("a value that is not shown is set or replaced: ")


def test_most_plans_ask_nobody(kafka):
    """Every plan took another round trip for dangers that it had not."""
    plan = plan_of(kafka, lambda stage: (stage.set_quota(RATE, 1e6, user="a"), stage.remove_quota(RATE, user="b")))
    before = len(kafka.calls)
    assert dangers.found(kafka, plan.changes) == ()
    assert len(kafka.calls) == before


# -- quotas


def quota(entity: str, value: float | None, key: str = RATE) -> Callable[[kn.Stage], object]:
    from kadmin_nb.model.entity import Entity

    whom = Entity.parse(entity)
    return lambda stage: stage.add([Edit(DELETE if value is None else SET, whom, key, value and f"{value:.0f}")])


TAKEN_AWAY = (
    "1 MB/s for everyone is removed, with no other limit behind it: clients without a quota of their own are unlimited"
)
LIFTED = {
    "the default user's goes": ([quota("user=<default>", None)], [TAKEN_AWAY]),
    "another is behind it": ([quota("user=<default>", None), quota("client-id=<default>", 2e6)], []),
    "it is there for some only": ([quota("user=<default>", None), quota("user=c", 9e5)], [TAKEN_AWAY]),
    "it is raised a little": ([quota("user=<default>", 9e7)], []),
    "it is lowered": ([quota("user=<default>", 1e5)], []),
    "a first one, shadowed by it": ([quota("client-id=<default>", 1e12)], []),
    "all of the named ones, with it behind": ([quota("user=a", None), quota("user=b", None)], []),
    "all of the named ones, and it": (
        [quota("user=a", None), quota("user=b", None), quota("user=<default>", None)],
        ["all 2 quotas of the level USER are removed, and none is for everyone", TAKEN_AWAY],
    ),
    "some of the named ones, and it": ([quota("user=a", None), quota("user=<default>", None)], [TAKEN_AWAY]),
    "one that is not there": ([quota("client-id=<default>", None)], []),
}


@pytest.mark.parametrize(("staged", "says"), LIFTED.values(), ids=LIFTED)
def test_a_limit_lifted_from_everyone_is_dangerous(kafka, staged, says):
    """Somebody tidied the default user up, and the cluster was open to every producer."""
    plan = plan_of(kafka, lambda stage: [one(stage) for one in staged])
    assert [danger.message for danger in dangers.found(kafka, plan.changes)] == says


# -- the gate


ALLOWED = f"{MIN_ISR} topic=t"


def gated(kafka: FakeKafka, plan: kn.Plan, pages: Pages, *allow: str) -> list[str]:
    """The states of the rows, applied as `Cluster.apply` does it."""
    journal = pages.opened()
    passed = partial(gate, kafka, plan, allow=allow, reason=plan.reason)
    return [outcome.state for outcome in executor.apply(kafka, plan, journal, hooks=Hooks(gate=passed)).outcomes]


def dangerous(kafka: FakeKafka, reason: str | None = "less is enough") -> kn.Plan:
    plan = plan_of(
        kafka, lambda stage: (stage.set_config(MIN_ISR, "1", topic="t"), stage.set_quota(RATE, 9e5, user="a"))
    )
    return kn.Plan(PlanHead(plan.cluster_id, plan.head.created, reason), plan.changes)


def test_nothing_is_sent_unconfirmed(kafka):
    """It asked in an input box, which a nightly job never sees, and went on."""
    plan, before = dangerous(kafka), copy.deepcopy(kafka.cluster.head.values)
    with pytest.raises(kn.errors.Dangerous) as refused:
        gated(kafka, plan, Pages())
    assert str(refused.value) == (
        "topic=t min.insync.replicas: 3 becomes 1: writes are acknowledged with fewer replicas, and are lost with them"
    )
    assert refused.value.hint == (
        "Nothing was sent. Correct it or leave it out; to apply it anyway: allow=['min.insync.replicas topic=t']."
    )
    assert refused.value.code == "DANGEROUS"
    assert rows(refused.value.rows, "row", "key", "danger") == [(1, MIN_ISR, "durability")]
    assert not [call for call in kafka.alters if not call.validate_only]
    assert kafka.cluster.head.values == before


@pytest.mark.parametrize("allow", ["min.insync.replica topic=t", "*", MIN_ISR, f"{MIN_ISR} topic=other"])
def test_an_allowance_of_another_row_or_of_a_key_alone_lets_nothing_through(kafka, allow):
    """I allowed retention.ms for the one topic that was meant, and it went through for the other, too."""
    with pytest.raises(kn.errors.Dangerous) as refused:
        gated(kafka, dangerous(kafka), Pages(), allow)
    assert f"allow=[{ALLOWED!r}]" in str(refused.value.hint)
    assert not kafka.alters


def test_a_dangerous_plan_says_why(kafka):
    """The journal had who, and when, and not why."""
    with pytest.raises(kn.UsageError, match="a dangerous plan needs a reason"):
        gated(kafka, dangerous(kafka, None), Pages(), ALLOWED)
    assert not kafka.alters


def test_what_was_allowed_is_in_the_journal_and_holds_for_a_resume(kafka):
    """The resume at night wanted a word that the one on duty could not give."""
    plan, pages = dangerous(kafka), Pages()
    assert gated(kafka, plan, pages, ALLOWED) == ["verified", "verified"]
    [run] = [record for record in pages.opened().before if record.kind == replay.RUN]
    assert (run.says["allowed"], run.says["reason"]) == ([ALLOWED], "less is enough")
    hold(kafka, {}, {("topic=t", MIN_ISR): "3"})
    kafka.cluster.settle()
    assert gated(kafka, plan, pages) == ["verified", "unchanged"]
    hold(kafka, {}, {("topic=t", MIN_ISR): "3"})
    kafka.cluster.settle()
    with pytest.raises(kn.errors.Dangerous):
        gated(kafka, plan, Pages())


def test_the_second_run_of_a_job_needs_no_other_words(kafka):
    """The nightly job allowed what it had done the night before, and failed over it."""
    plan = dangerous(kafka)
    gated(kafka, plan, Pages(), ALLOWED)
    assert gated(kafka, plan, Pages(), ALLOWED) == ["unchanged", "unchanged"]
    assert gated(kafka, plan, Pages()) == ["unchanged", "unchanged"]


def test_what_became_weaker_since_the_plan_is_judged_by_what_holds_then(kafka):
    """The plan was harmless when it was made: the cluster's default had been 1."""
    hold(kafka, {}, {("broker=<default>", MIN_ISR): "1"})
    kafka.cluster.settle()
    plan = plan_of(kafka, lambda stage: stage.set_config(MIN_ISR, "1", topic="plain"))
    assert dangers.found(kafka, plan.changes) == ()
    hold(kafka, {}, {("broker=<default>", MIN_ISR): "2"})
    kafka.cluster.settle()
    with pytest.raises(kn.errors.Dangerous, match="2 becomes 1"):
        gated(kafka, plan, Pages())
