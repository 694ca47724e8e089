"""Each rule over the whole of its input, and over inputs with parts left out: the answer is that of the whole, or it
says what is not known; never another cause."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.admin import topics
from kadmin_nb.advice.config_rules import findings
from kadmin_nb.cluster.audits import is_reassigning
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.cluster.doctor import DoctorAnswer
from kadmin_nb.cluster.permissions import PermissionsAnswer, _asked, row_of
from kadmin_nb.cluster.quotas import Quotas
from kadmin_nb.errors import TimedOut
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model import rights
from kadmin_nb.model.changes import OK, SET, Change, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import FAILED, SKIPPED, UNKNOWN, Coverage, Finding
from kadmin_nb.model.findings import OK as FINE
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import stalls
from kadmin_nb.plans.advice.config_dangers import fallback_values
from kadmin_nb.plans.apply_options import ApplyOptions
from kadmin_nb.plans.observed_state import table_after
from kadmin_nb.plans.plan_impact import of_changes
from kadmin_nb.runbooks.checks import Verdicts
from kadmin_nb.usage.covered import coverage
from tests.double.kafka import FakeKafka

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
KEY = "producer_byte_rate"
BROKERS = (1, 2, 3)
MINUTES = 20


def used(broker: int, minute: int, user: str, value: float | None, client_id: str = "app", **more: object) -> dict:
    start = NOON + timedelta(minutes=minute)
    window = {"window_start": start, "window_end": start + timedelta(minutes=1), "source": "test"}
    return {"broker": broker, "user": user, "client_id": client_id, "key": KEY, "value": value, **window, **more}


WHOLE = [
    used(broker, minute, user, value)
    for broker in BROKERS
    for minute in range(MINUTES)
    for user, value in (("alice", 95.0 if (broker, minute) == (3, 15) else 50.0), ("bob", 10.0), ("eve", 1.0))
    if user != "eve" or broker == 3
]
"""alice and bob on each of three brokers for twenty minutes, alice near her limit once, on broker 3 in the second half;
eve, whom no quota limits, on broker 3 alone."""

MINUTE = {id(row): round((row["window_start"] - NOON).total_seconds() / 60) for row in WHOLE}
PARTS: dict[str, Callable[[dict], bool]] = {
    "whole": lambda row: True,
    "no broker 3": lambda row: row["broker"] != 3,
    "half of the time": lambda row: MINUTE[id(row)] < 10,
    "half of the time of broker 3": lambda row: row["broker"] != 3 or MINUTE[id(row)] < 10,
    "a gap": lambda row: MINUTE[id(row)] < 5 or MINUTE[id(row)] > 15,
    "no alice": lambda row: row["user"] != "alice",
    "nothing": lambda row: False,
}


def part(name: str) -> pa.Table:
    return schemas.table(schemas.USAGE, filter(PARTS[name], WHOLE))


def change(row: int, entity: str, value: float, old: float | None = None) -> Change:
    whom = Entity.parse(entity)
    texts = [None if number is None else f"{number:g}" for number in (old, value)]
    return Change(
        row, SET, whom, KEY, old=texts[0], wanted=texts[1], after=texts[1], validated=OK, level=whom.level
    )  # fmt: skip


def quotas(**limits: float) -> pa.Table:
    rows = [change(number, f"user={user}", value) for number, (user, value) in enumerate(limits.items(), 1)]
    return table_after(schemas.QUOTAS.empty(), rows)


LIMITS = quotas(alice=100, bob=100)

SPAN = "2026-11-21 12:00:00Z to 12:20:00Z"
HALF = "2026-11-21 12:00:00Z to 12:10:00Z"
NEAREST = "Highest: user=alice producer_byte_rate 95 of 100 B/s (95 %) on broker 3."

NONE = "and no client was throttled"

NEAR = {
    "whole": f"1 of 6 limits are above 80 %, none exceeded. {NEAREST}",
    "no broker 3": f"None of 4 limits reached 80 % from {SPAN}, {NONE}; not known for broker 3.",
    "half of the time": f"None of 6 limits reached 80 % from {HALF}, {NONE}.",
    "half of the time of broker 3": (
        f"None of 6 limits reached 80 % from {SPAN}, {NONE}; not known for all of the time of broker 3."
    ),
    "a gap": f"None of 6 limits reached 80 % from {SPAN}, {NONE}; not known for all of the time of broker 1, 2, 3.",
    "no alice": f"None of 3 limits reached 80 % from {SPAN}, {NONE}.",
    "nothing": "No client in this usage has a limit; not known for broker 1, 2, 3.",
}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["arrow", "spark"])
@pytest.mark.parametrize("name", PARTS)
def test_near_says_which_brokers_and_which_time_it_does_not_know(name, engine, spark):
    """It read the log of one broker, and said that none of the limits was near."""
    usage = to_spark(part(name), spark) if engine == "spark" else part(name)
    answer = kn.usage.near(kn.usage.utilisation(usage, LIMITS), brokers=BROKERS, quotas=LIMITS)
    assert answer._title() == NEAR[name]
    unseen = {"no alice": "user=alice", "nothing": "user=alice, user=bob"}.get(name)
    said = f"The usage has no use of the limits of {unseen}: how near these are is not known."
    assert (said in answer.warnings) == bool(unseen)


def history(*rows: tuple[str, float, int, int | None]) -> pa.Table:
    """QUOTAS_HISTORY: whose limit, from which minute to which."""
    at = [None if minute is None else NOON + timedelta(minutes=minute) for row in rows for minute in row[2:]]
    kind = pa.timestamp("us", "UTC")
    table = pa.concat_tables([quotas(**{user: value}) for user, value, *_ in rows])
    return table.append_column("valid_from", pa.array(at[::2], kind)).append_column(
        "valid_to", pa.array(at[1::2], kind)
    )


def test_near_by_a_limit_that_changed_in_the_middle():
    """The limit was lowered at noon, and the morning was called over it."""
    usage = part("whole")
    moved = history(("alice", 1000, 0, 16), ("alice", 60, 16, None), ("bob", 100, 0, None))
    whole = kn.usage.near(kn.usage.utilisation(usage, moved), brokers=BROKERS)
    over = "3 of 9 limits are above 80 %, none exceeded. Highest: user=alice producer_byte_rate 50 of 60 B/s"
    assert whole._title().startswith(over)
    by_now = kn.usage.near(kn.usage.utilisation(usage, quotas(alice=60, bob=100)), brokers=BROKERS, are_of_now=True)
    assert by_now._title().startswith("3 of 6 limits of now are above 80 %, 1 of them exceeded. ")
    assert "whether they were the same in that time is not known" in "\n".join(by_now.warnings)
    begun = kn.usage.near(kn.usage.utilisation(usage, history(("alice", 60, 30, None))), brokers=BROKERS)
    assert begun._title() == "The limits of 7 buckets are not known: they were used before the history begins."


WATCHED = f"Watched 20 min, {SPAN}, brokers"

TOP = {
    "whole": f"{WATCHED} 1, 2, 3; by test.",
    "no broker 3": f"{WATCHED} 1, 2; by test; not known for broker 3.",
    "half of the time of broker 3": (f"{WATCHED} 1, 2, 3; by test; not known for all of the time of broker 3."),
    "nothing": "No client traffic; not known for broker 1, 2, 3.",
}


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["arrow", "spark"])
@pytest.mark.parametrize("name", TOP)
def test_top_is_of_what_was_seen(name, engine, spark):
    """The loudest of two brokers was called the loudest of all."""
    usage = to_spark(part(name), spark) if engine == "spark" else part(name)
    assert kn.usage.top(usage, brokers=BROKERS)._title() == TOP[name]


def test_a_broker_that_was_not_observed_is_no_broker_without_traffic():
    """Broker 3 was down, and nobody said that it had not been watched."""
    time = NOON, NOON + timedelta(minutes=MINUTES)
    idle = kn.usage.top(part("no broker 3"), time=time, brokers=BROKERS, watched=BROKERS)
    assert idle._title().endswith(f"Watched 20 min, {SPAN}, brokers 1, 2, 3; by test.")
    skipped = kn.usage.top(part("no broker 3"), time=time, brokers=BROKERS, watched=(1, 2))
    assert skipped._title().endswith("brokers 1, 2; by test; not known for broker 3.")


LOWERED = [change(1, "user=alice", 10, old=100)]
UNSEEN = "No known client is one of user=alice: which clients these changes affect is not known."
BUSY = f"by their use until {SPAN[:11]}12:20:00Z"

IMPACT: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "whole": (
        f"{KEY}: lowered 1, unchanged 2",
        "3 of 3 buckets would have been throttled, on 3 brokers",
        f"1 of 1 clients that the plan touches would be throttled when it is applied, {BUSY}",
        (),
    ),
    "no broker 3": (
        f"{KEY}: lowered 1, unchanged 1",
        "2 of 2 buckets would have been throttled; not known for broker 3, on 2 brokers",
        f"1 of 1 clients that the plan touches would be throttled when it is applied, {BUSY}; not known for broker 3",
        ("The usage has no row of broker 3: add its request log, or read all brokers' metrics from a Prometheus.",),
    ),
    "no alice": (
        "no known client is affected",
        "0 of 0 buckets would have been throttled",
        f"no known client is affected, {BUSY}",
        (UNSEEN,),
    ),
    "nothing": (
        "not known which clients are affected: none is known",
        "0 of 0 buckets would have been throttled; not known for broker 1, 2, 3",
        "no known client is affected; not known for broker 1, 2, 3",
        (UNSEEN,),
    ),
}


@pytest.mark.parametrize("name", IMPACT)
def test_the_impact_of_a_plan_says_whom_it_does_not_know(name):
    """Nobody is affected, it said; the usage was of another broker."""
    answer = of_changes(LOWERED, "here", LIMITS, part(name), BROKERS)
    impact, backtest, stalled, remarks = IMPACT[name]
    assert answer._title() == impact
    assert answer.backtest._title().startswith(backtest)
    assert answer.stalls._title().partition("; the longest")[0] == stalled
    for remark in remarks:
        assert repr(answer).count(remark) == 1


def test_what_a_throttled_client_wanted_is_not_known():
    """The limit was raised, the replay said that nobody would be throttled, and alice was: she wanted far more."""
    held_back = schemas.table(
        schemas.USAGE, [used(1, minute, "alice", 10.0, throttle_ms=900.0) for minute in range(20)]
    )
    answer = kn.usage.backtest(quotas(alice=20), held_back)
    assert answer._title() == "0 of 1 buckets would have been throttled at least"
    assert "1 client was throttled in this usage: how much more was wanted" in repr(answer)


def test_unknown_use_does_not_stall_and_is_said():
    """A share consumer's bytes were unknown, and the plan was said to stall nobody."""
    share = schemas.table(schemas.USAGE, [used(1, 1, "alice", None)])
    answer = stalls.answer_of(stalls.stalls(LOWERED, LIMITS, share), share, "here")
    assert answer.unknown == 1
    assert "The use of 1 client is not known in full" in repr(answer)


FREE = {
    "whole": ["user=eve client-id=app: no limit of KEY"],
    "no broker 3": ["not known: the limits of clients that the usage lacks; not known for broker 3"],
    "no alice": ["user=eve client-id=app: no limit of KEY"],
    "nothing": ["not known: no client is known"],
}


@pytest.mark.parametrize("name", FREE)
def test_clients_without_a_limit_are_those_that_are_known(name):
    """All clients have a limit, it said; the one without was on the broker whose log I had not given."""
    kafka = FakeKafka()
    kafka.quotas.alter({Entity.parse(f"user={user}"): {KEY: 100.0} for user in ("alice", "bob")})
    found = Quotas(kafka).audit(part(name), keys=[KEY]).only("unlimited")
    assert [finding.message.replace(KEY, "KEY") for finding in found.findings] == FREE[name]


# --- configs: a broker that could not be read ---


def config(broker: int, value: str, key: str = "num.io.threads") -> dict:
    synonyms = [{"source": "STATIC_BROKER_CONFIG", "key": key, "value": value}]
    return {
        "resource_type": "BROKER", "resource_name": str(broker), "key": key, "value": value, "is_read_only": False,
        "source": "STATIC_BROKER_CONFIG", "type": "INT", "synonyms": synonyms,
    }  # fmt: skip


def unread(broker: int) -> dict:
    return {
        "resource_type": "BROKER",
        "resource_name": str(broker),
        "error": "REQUEST_TIMED_OUT",
        "message": "no answer",
    }


def topic(value: str, below: str) -> dict:
    synonyms = [
        {"source": "DYNAMIC_TOPIC_CONFIG", "key": "retention.bytes", "value": value},
        {"source": "STATIC_BROKER_CONFIG", "key": "log.retention.bytes", "value": below},
    ]
    return {
        "resource_type": "TOPIC", "resource_name": "t", "key": "retention.bytes", "value": value, "type": "LONG",
        "source": "DYNAMIC_TOPIC_CONFIG", "synonyms": synonyms,
    }  # fmt: skip


NOT_READ = (
    "broker=3 could not be read, REQUEST_TIMED_OUT: no answer; whether it is like the others, and what repeats its "
)
LIKE = f"{NOT_READ}defaults, is not known"
SIXTEEN = "num.io.threads is 16 on broker 2; 8 on 3 others"
MOST = "which of them most have is not known: broker 3 could not be read"
RETENTION = [config(broker, "5", "log.retention.bytes") for broker in (1, 2, 3)]
REPEATED = "retention.bytes of topic=t is 5, the same as server.properties (log.retention.bytes=5)"

CONFIGS = {
    "whole, one is odd": (
        [config(1, "8"), config(2, "16"), config(3, "8"), config(4, "8")], [("differs", SIXTEEN, True)],
    ),
    "an equal number may have the other": (
        [config(1, "8"), config(2, "16"), unread(3), config(4, "8")],
        [("differs", f"num.io.threads is 8 on broker 1, 4; 16 on broker 2; {MOST}", False), ("unread", LIKE, False)],
    ),
    "most have it whatever the other has": (
        [config(1, "8"), config(2, "16"), unread(3), config(4, "8"), config(5, "8")],
        [("differs", SIXTEEN, True), ("unread", LIKE, False)],
    ),
    "the others are alike": ([config(1, "8"), config(2, "8"), unread(3)], [("unread", LIKE, False)]),
    "whole, a topic repeats a default": ([topic("5", "5"), *RETENTION], [("repeats", REPEATED, True)]),
    "its default on a broker is not known": ([topic("5", "5"), *RETENTION[:2], unread(3)], [("unread", LIKE, False)]),
    "no broker was read": ([topic("5", "5"), unread(3)], [("unread", LIKE, False)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_brokers_are_compared_as_far_as_they_were_read(name):
    """One broker of three did not answer, and the config of another was called odd, with the line that changes it."""
    rows, wanted = CONFIGS[name]
    found = findings(schemas.table(schemas.CONFIGS, rows).to_pylist(), False)
    assert [(finding.code, finding.message, finding.fix is not None) for finding in found] == wanted
    ids = frozenset(int(row["resource_name"]) for row in rows if row["resource_type"] == "BROKER")
    seen = ids - {int(row["resource_name"]) for row in rows if row.get("error")}
    assert {finding.coverage for finding in found if finding.code != "unread"} <= {Coverage(seen, ids)}


def down(kafka: FakeKafka, broker: int) -> FakeKafka:
    """The same, one broker of which does not answer, and is not fenced yet."""
    kafka.cluster.stop(broker, 600)
    return kafka


def test_the_fallback_of_all_brokers_is_not_known_of_some():
    """The default of all brokers went, and what applies instead was read of two of three."""
    key, of_all = "min.insync.replicas", Resource("BROKER", "")
    assert fallback_values(FakeKafka(), [(of_all, key)])[of_all, key] == {"1"}
    assert fallback_values(down(FakeKafka(), 3), [(of_all, key)])[of_all, key] == set()


@pytest.mark.parametrize("error", [TimedOut("no answer"), kn.NotAuthorized("no right")])
def test_whether_a_reassignment_runs_is_not_known_where_no_broker_says_so(error, monkeypatch):
    """The list of reassignments timed out, and there was no advice at all."""

    def fails(wire: object) -> None:
        raise error

    monkeypatch.setattr(topics, "is_reassigning", fails)
    kafka = FakeKafka()
    kafka.wire = None
    assert is_reassigning(kafka) is None


# --- reviews of quotas ---


def test_reviews_follow_kafka_s_rules_only_where_these_decide(monkeypatch):
    """A class of our own decides quotas, and two of them were called redundant, safe to remove."""
    kafka = FakeKafka()
    kafka.quotas.alter({Entity.parse(text): {KEY: 5.0} for text in ("user=alice", "user=<default>")})
    assert Quotas(kafka).audit().only("redundant")["resource_name"].to_pylist() == ["user=alice"]
    pairs = pa.table({"user": ["alice"], "client_id": ["app-7f9c24e8-3b1a-4f6e-9d2c-1a2b3c4d5e6f"]})
    unsure = repr(Quotas(down(kafka, 3)).audit())
    assert "broker 3 was not read: broker 3 refuses the connection" in unsure
    of_class = config(1, "com.example.Quotas", "client.quota.callback.class")
    monkeypatch.setattr(kafka.configs, "describe", lambda *_, **__: schemas.table(schemas.CONFIGS, [of_class]))
    with pytest.raises(kn.errors.NotKnowable, match="broker 1 decides quotas by"):
        Quotas(kafka).audit(pairs)


# --- the doctor ---

CHECKS = {
    "whole": ([FINE, FINE], "No check failed."),
    "some were not made": ([FINE, SKIPPED], "No check that was made failed, others could not be made."),
    "a right is not known": ([FINE, UNKNOWN], "No check that was made failed, others could not be made."),
    "one failed": ([FAILED, SKIPPED, SKIPPED], "1 of 1 checks failed, others could not be made."),
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_that_was_not_made_did_not_succeed(name):
    """No check failed, it said; half of them had not been made."""
    states, title = CHECKS[name]
    answer = DoctorAnswer([Finding("check", state, "note", "subject") for state in states])
    assert (answer._title(), answer.ok) == (title, not {FAILED, UNKNOWN} & {*states})


_CLUSTER = Resource("BROKER", "")


def _silent() -> Refusal | None:
    raise TimedOut("no answer in 5 s", code="REQUEST_TIMED_OUT")


RIGHTS: dict[str, tuple[Callable[[], Refusal | None], bool | None]] = {
    "granted": (lambda: None, True),
    "another refusal": (lambda: Refusal("INVALID_CONFIG", "no such value"), True),
    "missing": (lambda: Refusal("CLUSTER_AUTHORIZATION_FAILED", "no"), False),
    "no answer": (lambda: Refusal("REQUEST_TIMED_OUT", "no answer"), None),
    "nothing": (_silent, None),
}


@pytest.mark.parametrize("name", RIGHTS)
def test_a_right_that_no_broker_judged_is_not_known(name):
    """The request timed out, and the right was called granted: any other refusal says that it is there."""
    ask, allowed = RIGHTS[name]
    (refused,) = _asked(lambda: {_CLUSTER: ask()}, [_CLUSTER]).values()
    row = row_of("change quotas", rights.on_cluster("ALTER_CONFIGS"), refused, "User:me")
    assert row["allowed"] is allowed
    answer = PermissionsAnswer(schemas.table(schemas.PERMISSIONS, [row]))
    titles = {
        True: "No right is missing.",
        False: "1 of 1 rights are missing.",
        None: "1 of 1 rights are not known: no broker answered.",
    }
    assert (answer._title(), answer.ok) == (titles[allowed], allowed is True)


# --- what coverage is said of ---


def test_a_usage_of_another_cluster_is_named():
    """1 of 1 brokers, it said of the log of broker 7 of another cluster."""
    usage = schemas.table(schemas.USAGE, [used(broker, 1, "alice", 10.0) for broker in (1, 7)])
    near = kn.usage.near(kn.usage.utilisation(usage, LIMITS), brokers=[1])
    assert str(near.coverage).startswith("1 of 1 brokers, the cluster has no broker 7, of which there are rows, 2026-")
    assert near._title().endswith("; the cluster has no broker 7, of which there are rows.")
    assert "If it is the usage of another cluster, give that of this one" in "\n".join(near.warnings)


def test_near_is_of_one_cluster():
    """None of the fleet's limits was near, it said; of cluster b ten minutes of broker 3 had been read."""
    usage, limits = (table.append_column("cluster_id", pa.repeat("a", len(table))) for table in (part("whole"), LIMITS))
    with pytest.raises(kn.UsageError, match="have a cluster_id"):
        kn.usage.near(kn.usage.utilisation(usage, limits))


EXITS = {
    "whole, one is near": ("whole", BROKERS, 3),
    "none is near": ("no alice", BROKERS, 0),
    "none of broker 3 is known": ("no broker 3", BROKERS, 1),
    "one is near, and not all are known": ("whole", (*BROKERS, 4), 3),
    "of another cluster": ("no alice", (1, 2), 1),
}


@pytest.mark.parametrize("name", EXITS)
def test_a_script_learns_whether_a_limit_is_near_or_that_it_is_not_known(name):
    """The timer's script was told that no limit is near; two of three brokers had been read."""
    of, brokers, detailed = EXITS[name]
    near = kn.usage.near(kn.usage.utilisation(part(of), LIMITS), brokers=brokers)
    assert (near._exit_state(detailed=True), near._exit_state()) == (detailed, 0)


def test_the_verdict_of_an_audit_says_which_brokers_it_does_not_know():
    """ok: no client would have been throttled; of three brokers two had been read."""
    verdicts = Verdicts()
    usage = coverage(part("no broker 3"), BROKERS)
    check = verdicts.look("throttled", [], look="Raise it.", ok="No client would have been throttled.", coverage=usage)
    assert check._title() == "ok: No client would have been throttled; not known for broker 3."
    (row,) = verdicts.to_arrow().to_pylist()
    assert row["coverage"] == f"2 of 3 brokers (none of broker 3), {SPAN}, 80 rows"


def test_an_impact_without_a_plan_says_what_it_was_read_from():
    """Nobody is affected by the new limits, it said, without saying that it had seen ten minutes of one broker."""
    usage = part("half of the time of broker 3")
    answer = kn.usage.impact(LIMITS, quotas(alice=100, bob=100), usage)
    assert answer._title() == "no known client is affected; not known for all of the time of broker 3"
    assert f"Read from 3 brokers, {SPAN}, 110 rows." in repr(answer)
    assert kn.usage.impact(LIMITS, LIMITS, pa.table({"user": ["alice"], "client_id": ["app"]})).coverage == Coverage()


def test_a_tree_of_quotas_says_that_a_class_of_its_own_decides(monkeypatch):
    """The tree showed which quotas win, and none of them was used: a class decides."""
    kafka = FakeKafka()
    kafka.quotas.alter({Entity.parse("user=alice"): {KEY: 5.0}})
    assert Quotas(kafka).tree().notes == ()
    of_class = config(2, "com.example.Quotas", "client.quota.callback.class")
    monkeypatch.setattr(kafka.configs, "describe", lambda *_, **__: schemas.table(schemas.CONFIGS, [of_class]))
    said = "broker 2 decides quotas by client.quota.callback.class=com.example.Quotas: what is stored may not apply"
    tree = Quotas(kafka).tree()
    assert said in tree.notes
    assert said in repr(tree)
    assert said in Quotas(kafka).audit(assume_default=True).notes


def test_a_warning_that_a_quota_comes_first_says_that_a_class_of_its_own_decides(monkeypatch):
    """The plan warned that a quota can never apply; a class of its own decides on that broker."""
    found: list[dict] = []

    def warned() -> set[str]:
        kafka = FakeKafka()
        kafka.quotas.alter({Entity.parse("client-id=app"): {KEY: 1e8}})
        kafka.cluster.pass_(1)
        stage = Changes(kafka).new_stage()
        stage.set_quota(KEY, 1e7, user=kn.DEFAULT)
        monkeypatch.setattr(kafka.configs, "describe", lambda *_, **__: schemas.table(schemas.CONFIGS, found))
        return {row["message"] for row in stage.plan().warnings()}

    by_kafka = warned()
    assert any("can never apply" in message for message in by_kafka)
    found += [config(2, "com.example.Quotas", "client.quota.callback.class")]
    said = "broker 2 decides quotas by client.quota.callback.class=com.example.Quotas: what is stored may not apply"
    assert warned() == {*by_kafka, said}


UNSEEN_STALLS = (
    f"user=alice {KEY}: how long its clients would be throttled on broker 3 is not known: the usage has no row "
    "of it; add its request log"
)
LOWER = {"lowered": (100, 10.0, True), "raised": (100, 1000.0, False), "added": (None, 10.0, True)}


@pytest.mark.parametrize("name", LOWER)
def test_no_steps_keep_a_throttle_short_that_no_usage_shows(name):
    """--gradual 15 promised that no client is throttled for longer; the busiest was on broker 3, which was not read."""
    old, new, is_danger = LOWER[name]
    plan = [change(1, "user=alice", new, old=old)]
    assert [*stalls.unseen_dangers(plan, part("whole"), "here", BROKERS)] == []
    found = [*stalls.unseen_dangers(plan, part("no broker 3"), "here", BROKERS)]
    assert [one.line for one in found] == [UNSEEN_STALLS] * is_danger


def test_lowering_in_steps_by_a_part_of_the_usage_is_refused_unless_allowed():
    """Same, by the plan that was applied."""
    kafka = FakeKafka()
    kafka.quotas.alter({Entity.parse("user=alice"): {KEY: 1e8}})
    kafka.cluster.pass_(1)
    changes = Changes(kafka)
    stage = changes.new_stage()
    stage.set_quota(KEY, 1e7, user="alice")
    plan = stage.plan(reason="to try")
    with pytest.raises(kn.errors.Dangerous, match=UNSEEN_STALLS):
        changes.apply(plan, ApplyOptions(gradual=15.0, usage=part("no broker 3")))
    allowed = ApplyOptions(gradual=15.0, usage=part("no broker 3"), allow=f"{KEY} user=alice")
    assert [row["state"] for row in changes.apply(plan, allowed)] == ["verified"]
