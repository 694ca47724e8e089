"""What in the configs of a cluster somebody should look at: the rules on frames, and on the real broker."""

from __future__ import annotations

import pytest
from kadmin_magics.notebook import NotebookSession

import kadmin_nb as kn
from kadmin_nb.admin import topics
from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.advice.config_rules import BY_NATURE, findings
from kadmin_nb.cluster.audits import ConfigFindings
from kadmin_nb.commands import run
from kadmin_nb.commands.session import Session
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.grammar import parse_word, split
from kadmin_nb.model.resources import Resource
from tests.persons import give_password
from tests.waiting import eventually

TOPIC, BROKER, OF_ALL, STATIC, BUILT_IN = (
    "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG",
    "DEFAULT_CONFIG",
)  # fmt: skip


def row(resource: str, key: str, value: str | None, source: str = TOPIC, *below: object, **more: object) -> dict:
    """A row of CONFIGS; `below` are its further synonyms, (source, key, value)."""
    word, _, name = resource.partition("=")
    kinds = {"topic": "TOPIC", "broker": "BROKER", "group": "GROUP"}
    synonyms = [dict(zip(("source", "key", "value"), one, strict=True)) for one in ((source, key, value), *below)]
    named = {"resource_type": kinds[word], "resource_name": name, "key": key, "value": value, "source": source}
    return {**named, "synonyms": synonyms, "is_sensitive": False, "is_read_only": False, "type": "LONG", **more}


def answer_of(*rows: dict, reassigning: bool | None = None) -> ConfigFindings:
    configs = schemas.table(schemas.CONFIGS, rows).to_pylist()
    return ConfigFindings(findings(configs, reassigning))


def found(*rows: dict, reassigning: bool | None = None) -> list[tuple[object, ...]]:
    shown = ("finding", "resource_name", "key", "value", "source", "expected", "fix")
    return [
        tuple(one[name] for name in shown) for one in answer_of(*rows, reassigning=reassigning).to_arrow().to_pylist()
    ]


RATE, REPLICAS = "leader.replication.throttled.rate", "follower.replication.throttled.replicas"
LEFT = (row("broker=1", RATE, "1000", BROKER), row("topic=t", REPLICAS, "*"))


@pytest.mark.parametrize(("reassigning", "finding"), [(False, "leftover"), (None, "throttle"), (True, None)])
def test_a_throttle_is_left_behind_only_where_nothing_is_reassigned(reassigning, finding):
    """A rebalance had ended weeks ago, and its throttle still slowed every catch-up."""
    wanted = [
        (finding, "1", RATE, "1000", BROKER, None, f"config reset {RATE} broker=1"),
        (finding, "t", REPLICAS, "*", TOPIC, None, f"config reset {REPLICAS} topic=t"),
    ]
    assert found(*LEFT, reassigning=reassigning) == (wanted if finding else [])


def test_no_throttle_where_none_is_set():
    """The empty list, which is the default, was called a throttle."""
    everywhere = row("broker=1", RATE, "1000", OF_ALL)
    assert found(row("topic=t", REPLICAS, "", BUILT_IN), row("topic=u", REPLICAS, ""), everywhere) == []


def test_a_broker_beside_its_peers():
    """One of three brokers had been set up by hand, and nobody had compared them."""
    key = "num.io.threads"
    brokers = [row(f"broker={n}", key, "8", BUILT_IN) for n in (1, 2)]
    odd = row("broker=3", key, "16", BROKER, (BUILT_IN, key, "8"))
    assert found(*brokers, odd) == [("differs", "3", key, "16", BROKER, "8", f"config reset {key} broker=3")]
    in_its_file = row("broker=3", key, "16", STATIC, (BUILT_IN, key, "8"))
    assert found(*brokers, in_its_file) == [("differs", "3", key, "16", STATIC, "8", f"config set {key}=8 broker=3")]
    for_good = in_its_file | {"is_read_only": True}
    assert found(*brokers, for_good) == [("differs", "3", key, "16", STATIC, "8", None)]


def test_brokers_beside_their_peers_are_one_row():
    """Three of nine brokers were old machines, and each key of theirs was three rows."""
    key = "num.io.threads"
    others = [row(f"broker={n}", key, "8", BUILT_IN) for n in range(4, 10)]
    odd = [row(f"broker={n}", key, value, BROKER, (BUILT_IN, key, "8")) for n, value in ((1, "4"), (2, "16"), (3, "4"))]
    read_only = odd[2] | {"is_read_only": True, "source": STATIC}
    answer = answer_of(*odd[:2], read_only, *others)
    (one,) = answer.to_arrow().to_pylist()
    assert (one["resource_name"], one["value"], one["source"], one["expected"]) == ("1, 2, 3", None, None, "8")
    assert one["message"] == "num.io.threads is 4 on broker 1, 3; 16 on broker 2; 8 on 6 others"
    assert one["fix"] == f"config reset {key} broker=1\nconfig reset {key} broker=2"
    assert [str(edit.resource) for edit in answer.edits()] == ["broker=1", "broker=2"]


def test_a_value_beside_none():
    """One broker kept its logs for a minute, the others had said nothing, and it was not seen."""
    key = "log.retention.ms"
    others = [row(f"broker={n}", key, None, BUILT_IN, synonyms=[]) for n in (1, 2)]
    assert found(*others, row("broker=3", key, "60000", BROKER, (BUILT_IN, "log.retention.hours", "168"))) == [
        ("differs", "3", key, "60000", BROKER, None, f"config reset {key} broker=3")
    ]


def test_a_key_that_only_a_newer_broker_knows():
    """In the middle of an upgrade each new key was reported for each old broker."""
    assert found(*(row(f"broker={n}", "a.new.one", "5", BUILT_IN) for n in (1, 2)), row("broker=3", "a", "1")) == []


def test_what_kafka_sets_on_its_own_topics_is_meant():
    """It wanted the internal topics to be like all others."""
    internal = row("topic=__transaction_state", "a", "false", TOPIC, (BUILT_IN, "a", "false"))
    assert found(internal) == []


def test_two_brokers_that_differ_have_no_right_one():
    """It took the first for right, and told me to break the second; three brokers were three rows of one difference."""
    values = ((1, "8"), (2, "16"), (3, "16"), (4, "8"))
    rows = [row(f"broker={n}", "num.io.threads", value, STATIC) for n, value in values]
    (one,) = answer_of(*rows).to_arrow().to_pylist()
    assert (one["resource_name"], one["expected"], one["fix"]) == ("1, 2, 3, 4", None, None)
    assert one["message"] == "num.io.threads is 8 on broker 1, 4; 16 on broker 2, 3"


@pytest.mark.parametrize("key", [*sorted(BY_NATURE), "listener.name.internal.ssl.keystore.location"])
def test_what_differs_by_nature(key):
    """Every broker was reported for its own id and address."""
    assert found(*(row(f"broker={n}", key, f"x{n}", STATIC) for n in (1, 2, 3))) == []


def test_a_secret_is_neither_compared_nor_shown():
    """A password of another tool's export stood in the report."""
    marked = [row(f"broker={n}", "x.y", f"hunter{n}", STATIC, is_sensitive=True) for n in (1, 2)]
    called_so = [row(f"broker={n}", "ssl.key.password", f"hunter{n}", BROKER, is_sensitive=None) for n in (1, 2)]
    same = row("topic=t", "my.secret", "hunter3", TOPIC, (BUILT_IN, "my.secret", "hunter3"), is_sensitive=None)
    assert found(*marked, *called_so, same) == []


REPEATS = [
    ("retention.bytes", "5", (OF_ALL, "log.retention.bytes", "5"), "repeats"),
    ("retention.bytes", "5", (STATIC, "log.retention.bytes", "5"), "repeats"),
    ("retention.bytes", "5", (BUILT_IN, "log.retention.bytes", "5"), "default"),
    ("retention.bytes", "5", (STATIC, "log.retention.bytes", "6"), None),
    ("retention.ms", "7200000", (STATIC, "log.retention.hours", "2"), "repeats"),
    ("retention.ms", "120000", (STATIC, "log.retention.minutes", "2"), "repeats"),
    ("retention.ms", "2", (STATIC, "log.retention.hours", "2"), None),
]


@pytest.mark.parametrize(("key", "value", "below", "finding"), REPEATS, ids=str)
def test_a_topic_that_repeats_what_holds_anyway(key, value, below, finding):
    """Hundreds of topics carried overrides that changed nothing, until the cluster's default was raised."""
    wanted = [(finding, "t", key, value, TOPIC, value, f"config reset {key} topic=t")] if finding else []
    assert found(row("topic=t", key, value, TOPIC, below)) == wanted


def test_not_where_brokers_disagree():
    """One broker's file said the same, another's did not, and the override was what kept them together."""
    topic = row("topic=t", "retention.bytes", "5", TOPIC, (STATIC, "log.retention.bytes", "5"))
    brokers = [row(f"broker={n}", "log.retention.bytes", value, STATIC) for n, value in ((1, "5"), (2, "6"))]
    assert "repeats" not in [one[0] for one in found(topic, *brokers)]


def test_what_could_not_be_read_is_no_clean_bill():
    """A broker was down, and the report said that nothing was wrong."""
    failed = {"resource_type": "BROKER", "resource_name": "2", "error": "NETWORK_EXCEPTION", "message": "it is down"}
    answer = answer_of(failed)
    assert not answer.ok
    with pytest.raises(kn.errors.ConnectionFailed, match="broker=2 could not be read, NETWORK_EXCEPTION: it is down"):
        answer.raise_for_errors()


def test_what_nobody_could_see_stays_whatever_is_chosen():
    """I may not see reassignments, asked for what is left behind, and was told that there was nothing to look at."""
    failed = {"resource_type": "BROKER", "resource_name": "2", "error": "NETWORK_EXCEPTION", "message": "it is down"}
    told = "whether a reassignment is running is not known"
    answer = answer_of(row("topic=t", REPLICAS, "*"), failed)
    kept = answer.only("leftover")
    assert kept.to_arrow().select(["finding", "op", "fix"]).to_pylist() == [
        {"finding": "throttle", "op": None, "fix": None},
        {"finding": "unread", "op": None, "fix": None},
    ]
    assert (kept.edits(), told in repr(kept), kept.ok) == ([], True, False)
    assert [one.key for one in answer.only("throttle").edits()] == [REPLICAS]
    assert answer.only("differs").to_arrow()["finding"].to_pylist() == ["unread"]


def test_a_hostile_name_is_shown_as_a_word_that_reads_back():
    """A topic's name broke the line that was to fix it."""
    (line,) = [
        one[-1] for one in found(row("group=x; rm -rf '/'", "a.b", "1", "DYNAMIC_GROUP_CONFIG", (BUILT_IN, "a.b", "1")))
    ]
    assert str(parse_word(split(line)[-1]).value) == "x; rm -rf '/'"


@pytest.mark.broker
def test_on_the_real_broker(cluster, unique):
    """Whether Kafka's own answers are what the rules think they are."""
    topic = unique("topic")
    cluster.port.create_topics({topic: 1})
    rates = [ConfigOperation("set", RATE, "1000")]
    same = {"retention.ms": "604800000", "max.message.bytes": "1048588", "min.insync.replicas": "1", REPLICAS: "*"}
    wishes = [ConfigOperation("set", key, value) for key, value in same.items()]
    cluster.port.configs.alter({Resource("TOPIC", topic): wishes, Resource("BROKER", "1"): rates})
    ours = (topic, "1")
    wanted = {
        ("leftover", topic, REPLICAS, TOPIC),
        ("leftover", "1", RATE, BROKER),
        ("default", topic, "max.message.bytes", TOPIC),
        ("repeats", topic, "min.insync.replicas", TOPIC),
    }
    eventually(lambda: seen(cluster.configs.audit(), ours), wanted)
    found = cluster.configs.audit()
    assert found.ok
    stage = cluster.new_stage()
    stage.add(edit for edit in found.edits() if edit.resource.name in ours)
    stage.plan("nobody needs it").apply(lock=False).raise_for_errors()
    eventually(lambda: seen(cluster.configs.audit(), ours), set())


def seen(found: ConfigFindings, names: tuple[str, ...]) -> set[tuple[object, ...]]:
    rows = found.to_arrow().to_pylist()
    return {
        (one["finding"], one["resource_name"], one["key"], one["source"])
        for one in rows
        if one["resource_name"] in names
    }


@pytest.mark.broker
def test_while_partitions_move_a_throttle_is_needed(cluster, unique, monkeypatch):
    """It called the throttle of a running rebalance a leftover."""
    topic = unique("topic")
    cluster.port.create_topics({topic: 1})
    assert not topics.is_reassigning(cluster.port.wire)
    cluster.port.configs.alter({Resource("TOPIC", topic): [ConfigOperation("set", REPLICAS, "*")]})
    eventually(lambda: seen(cluster.configs.audit(), (topic,)), {("leftover", topic, REPLICAS, TOPIC)})
    monkeypatch.setattr(topics, "is_reassigning", lambda wire: True)
    assert seen(cluster.configs.audit(), (topic,)) == set()


@pytest.mark.secure
def test_without_rights_it_says_so(secure_kafka):
    """A cluster that we may not read looked as if it were in order."""
    secure_kafka.remember_login("nobody-at-all", "x" * 12)
    with secure_kafka.connect() as admin:
        give_password(admin.port, "nobody-at-all", "x" * 12)
    eventually(lambda: refused(secure_kafka), kn.NotAuthorized)


def refused(kafka: LocalKafka) -> object:
    try:
        with kafka.connect("nobody-at-all") as cluster:
            return cluster.configs.audit()
    except kn.KadminError as exc:
        return type(exc)


@pytest.mark.broker
def test_the_verb_shows_and_stages(kafka, cluster, unique):
    """I was told what to reset, and had to type it all."""
    topic = unique("topic")
    cluster.port.create_topics({topic: 1})
    cluster.port.configs.alter({Resource("TOPIC", topic): [ConfigOperation("set", "retention.bytes", "-1")]})
    eventually(lambda: seen(cluster.configs.audit(), (topic,)), {("default", topic, "retention.bytes", TOPIC)})
    session = NotebookSession(connected=cluster, owns=False)
    found = run(["config", "audit", "--only", "default"], session).value
    assert set(found.to_arrow()["finding"].to_pylist()) == {"default"}
    staged = run(["config", "audit", "--only", "default", "--stage"], session).value
    assert ("delete", f"topic={topic}", "retention.bytes") in [
        (one["op"], one["resource"], one["key"]) for one in staged.to_arrow().to_pylist()
    ]
    session.discard()


@pytest.mark.broker
def test_the_verb_applies_what_mends(kafka, cluster, unique, tmp_path):
    """audit --apply said that options of a change need --stage-on, with one finding."""
    topic, place = unique("topic"), tmp_path / "p.json"
    cluster.port.create_topics({topic: 1})
    cluster.port.configs.alter({Resource("TOPIC", topic): [ConfigOperation("set", "retention.bytes", "-1")]})
    eventually(lambda: seen(cluster.configs.audit(), (topic,)), {("default", topic, "retention.bytes", TOPIC)})
    session = Session(connected=cluster, owns=False)
    planned = run(["config", "audit", "--only", "default", "--save", str(place)], session).value
    assert ("delete", topic) in {(change.op, change.resource.name) for change in planned.changes}
    assert run(["config", "audit", "--only", "default", "--apply", "--reason", "tidy"], session).value.ok
    eventually(lambda: seen(cluster.configs.audit(), (topic,)), set())
    again = run(["config", "audit", "--only", "default", "--apply"], session).value
    assert (topic in again.to_arrow()["resource_name"].to_pylist(), place.exists()) == (False, True)
