"""Enforced, not only stored: what the brokers do to a real client, beside what resolve predicts."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import pytest

import kadmin_nb as kn
from kadmin_nb.admin import canary as wire
from kadmin_nb.admin.canary import CanaryReading
from kadmin_nb.cluster import canary as room
from kadmin_nb.cluster.canary import CanaryRequest, Prediction
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.entity import Entity
from kadmin_nb.secrets import Secret
from tests.persons import give_password

pytestmark = pytest.mark.broker

LIMIT = 100_000.0


@pytest.fixture
def topic(cluster, unique) -> str:
    name = unique("topic")
    cluster.port.create_topics({name: 1})
    return name


def limited(cluster: kn.Cluster, client_id: str, key: str = "producer_byte_rate", limit: float = LIMIT) -> str:
    """A client-id with a limit that the broker shows."""
    entity = Entity.of({"client-id": client_id})
    cluster.port.quotas.alter({entity: {key: limit}})
    until = time.monotonic() + 5
    while not len(cluster.quotas.describe(client_id=client_id, strict=True)) and time.monotonic() < until:
        time.sleep(0.01)
    return client_id


def only_row(answer: kn.Answer, *columns: str) -> tuple[object, ...]:
    (row,) = answer.to_arrow().to_pylist()
    return tuple(row[c] for c in columns)


SEEN = ("broker", "user", "limit", "level", "expected", "throttled", "agrees", "note")


def test_it_is_muted_where_a_limit_is_predicted(cluster, topic, unique, capfd):
    """The quota was there, and whether it held, nobody had tried."""
    app = limited(cluster, unique("app"))
    answer = cluster.canary(client_id=app, topic=topic)
    assert only_row(answer, *SEEN[:-1]) == (1, "ANONYMOUS", LIMIT, "CLIENT", True, True, True)
    assert re.match(
        r"at first 1\.?\d* MB in .* 10 s of 100 kB/s at once; then throttled for ", only_row(answer, "note")[0]
    )
    again = cluster.canary(client_id=app, topic=topic)
    assert only_row(again, "throttled", "agrees") == (True, None)
    assert "earlier canaries included" in only_row(again, "note")[0]
    sent, throttled, rate = only_row(answer, "bytes", "throttle_ms", "rate")
    assert 0.8e6 < sent <= 1.6e6
    assert throttled > 0
    assert rate > LIMIT
    assert answer.ok
    assert answer.is_conclusive
    assert answer.warnings == ()
    lines = "".join(capfd.readouterr()).splitlines()
    of_others = [line for line in lines if "rdkafka#" in line and cluster.settings.bootstrap not in line]
    assert lines == of_others, "clients of other tests may still look for brokers that are gone"


def test_it_is_free_where_none_is(cluster, topic, unique):
    """It said throttled of everybody."""
    answer = cluster.canary(client_id=unique("app"), topic=topic)
    assert only_row(answer, *SEEN) == (1, "ANONYMOUS", None, None, False, False, True, None)
    assert only_row(answer, "throttle_ms") == (0.0,)
    assert only_row(answer, "bytes")[0] > 1e6


@pytest.mark.parametrize("limit", [1.0, 1_000.0, 2e6])
def test_it_finds_small_limits_and_large_ones(cluster, topic, unique, limit):
    """One record was more than the limit, and it could not say whether that was the limit."""
    answer = cluster.canary(client_id=limited(cluster, unique("app"), limit=limit), topic=topic)
    assert only_row(answer, "limit", "throttled", "agrees") == (limit, True, True)


def test_it_fetches_too(cluster, topic, unique):
    """Only producers could be tried."""
    cluster.canary(client_id=unique("writer"), topic=topic)
    app = limited(cluster, unique("reader"), "consumer_byte_rate")
    answer = cluster.canary(client_id=app, topic=topic, key="consumer_byte_rate")
    assert only_row(answer, *SEEN[:-1]) == (1, "ANONYMOUS", LIMIT, "CLIENT", True, True, True)
    slow = limited(cluster, unique("reader"), "consumer_byte_rate", limit=1_000.0)
    assert only_row(cluster.canary(client_id=slow, topic=topic, key="consumer_byte_rate"), "agrees") == (True,)
    free = cluster.canary(client_id=unique("reader"), topic=topic, key="consumer_byte_rate")
    assert only_row(free, *SEEN) == (1, "ANONYMOUS", None, None, False, False, True, None)


def test_what_a_busy_machine_has_yet_to_count_went_through_too(cluster, topic, unique, monkeypatch):
    """Fetched in advance and not yet counted, it was throttled far too early, and could not say why."""
    cluster.canary(client_id=unique("writer"), topic=topic)
    count = wire._BrokerWatch.went_through

    def slowly(*arguments):
        time.sleep(0.02)
        count(*arguments)

    monkeypatch.setattr(wire._BrokerWatch, "went_through", slowly)
    app = limited(cluster, unique("reader"), "consumer_byte_rate")
    answer = cluster.canary(client_id=app, topic=topic, key="consumer_byte_rate")
    assert only_row(answer, "throttled", "agrees") == (True, True)


def test_an_empty_topic_proves_nothing(cluster, topic, unique):
    """There was nothing to read, and it called that free."""
    began = time.monotonic()
    answer = cluster.canary(client_id=unique("reader"), topic=topic, key="consumer_byte_rate")
    assert only_row(answer, "agrees", "note") == (None, "not conclusive: nothing went through")
    assert answer.ok
    assert not answer.is_conclusive
    assert time.monotonic() - began < 4


def test_a_limit_that_is_stored_and_not_in_force_is_noticed(opinionated, unique):
    """describe showed the quota, and the client sent as it liked."""
    topic = unique("topic")
    opinionated.port.create_topics({topic: 1})
    app = limited(opinionated, unique("app"))
    answer = opinionated.canary(client_id=app, topic=topic)
    assert only_row(answer, "limit", "expected", "throttled", "agrees") == (LIMIT, True, False, False)
    warning = (
        f"WARNING: broker 1 does not do what resolve predicts for user ANONYMOUS, client-id {app}: "
        "1.5 MB went through at once: 100 kB/s is stored, but not in force"
    )
    assert answer.warnings == (warning,)
    assert repr(answer).endswith(warning)
    assert "is stored, but not in force" in answer._repr_html_()
    assert not answer.ok
    with pytest.raises(kn.PartlyFailed, match="is stored, but not in force"):
        answer.raise_for_errors()


def test_a_limit_that_came_after_the_prediction_is_noticed(cluster, topic, unique):
    """Somebody had set a quota since, and it went on saying unlimited."""
    app = limited(cluster, unique("app"))
    asked, expected = CanaryRequest(app, topic, "producer_byte_rate", 5.0, 50_000_000), Prediction("ANONYMOUS")
    answer = room.compared(cluster.id, expected, room.tried(cluster.settings, asked, expected), asked)
    assert only_row(answer, "expected", "throttled", "agrees") == (False, True, False)
    assert "although no stored limit applies to it" in answer.warnings[0]


def test_too_few_bytes_prove_nothing(cluster, topic, unique):
    """It sent a handful of records and called the limit broken."""
    answer = cluster.canary(client_id=limited(cluster, unique("app")), topic=topic, max_bytes=100_000)
    assert only_row(answer, "throttled", "agrees") == (False, None)
    assert only_row(answer, "note")[0].startswith("not conclusive: 100 kB went through, and 100 kB/s lets up to 1.2 MB")
    assert only_row(answer, "bytes")[0] <= 101_000


def test_it_makes_no_topic(cluster, unique):
    """The try left a topic called tpoic behind, with a retention of a week."""
    name = unique("tpoic")
    for key in room.PRODUCES:
        with pytest.raises(kn.NotFound, match=f"UNKNOWN_TOPIC_OR_PARTITION while looking for the topic {name}"):
            cluster.canary(client_id="app", topic=name, key=key)
    assert name not in cluster.port.topics()


def test_it_is_the_user_who_logs_in(secure_kafka, unique):
    """It resolved ANONYMOUS on a cluster where nobody is."""
    topic = unique("topic")
    with secure_kafka.connect() as cluster:
        cluster.port.create_topics({topic: 1})
        answer = cluster.canary(client_id=unique("app"), topic=topic)
        assert only_row(answer, "user", "agrees") == ("admin", True)


def test_who_may_not_write_is_told_so(secure_kafka, unique):
    """No right to write, and it read as no limit."""
    topic, user = unique("topic"), unique("user")
    with secure_kafka.connect() as cluster:
        cluster.port.create_topics({topic: 1})
        give_password(cluster.port, user, "s3cret")
        profile = str(secure_kafka.remember_login(user, "s3cret"))
        for key in room.PRODUCES:
            with pytest.raises(kn.NotAuthorized, match=f"TOPIC_AUTHORIZATION_FAILED .* the topic {topic}"):
                cluster.canary(client_id="app", topic=topic, key=key, profile=profile)


def test_it_ends_at_once_when_told(cluster, topic, unique):
    """Ctrl-C did nothing until the minute was over."""
    app, began = limited(cluster, unique("app")), time.monotonic()
    ctrl_c = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    ctrl_c.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            cluster.canary(client_id=app, topic=topic, seconds=60)
    finally:
        ctrl_c.cancel()
    assert time.monotonic() - began < 30


REFUSED = {
    "a key that it cannot test": (
        {"key": "controller_mutation_rate"},
        kn.UsageError,
        "cannot test controller_mutation",
    ),
    "no client-id": ({"client_id": ""}, kn.Unsupported, "needs a client-id"),
    "no time": ({"seconds": 0}, kn.UsageError, "of 0 s is not possible"),
    "an hour": ({"seconds": 3600}, kn.UsageError, "of 3600 s is not possible"),
    "no bytes": ({"max_bytes": 0}, kn.UsageError, "of 0 bytes is not possible"),
}


@pytest.mark.parametrize(("changed", "kind", "said"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_do_is_said_at_once(cluster, changed, kind, said):
    """It ran for an hour."""
    with pytest.raises(kind, match=said):
        cluster.canary(**{"client_id": "app", "topic": "no-matter", **changed})


LOGINS = {
    "plaintext": (Settings("b:1"), "ANONYMOUS"),
    "TLS without a certificate": (Settings("b:1", "SSL"), "ANONYMOUS"),
    "a certificate": (Settings("b:1", "SSL", certificate_file="c.pem"), None),
    "SCRAM": (Settings("b:1", "SASL_SSL", "SCRAM-SHA-512", "alice", Secret("x")), "alice"),
    "SCRAM, and a certificate": (
        Settings("b:1", "SASL_SSL", "PLAIN", "alice", Secret("x"), certificate_file="c"),
        "alice",
    ),
    "a token": (Settings("b:1", "SASL_SSL", "OAUTHBEARER"), None),
}


@pytest.mark.parametrize(("settings", "user"), LOGINS.values(), ids=LOGINS)
def test_whom_the_brokers_see(settings, user):
    """With a certificate it is the broker that makes the name, and we guessed one."""
    assert room.user_of(settings) == user


MB = 1_000_000
ASKED = CanaryRequest("app", "t", "producer_byte_rate", 5.0, 50 * MB)
VERDICTS = {
    "throttled as predicted": (
        Prediction("u", MB, "USER"),
        CanaryReading(1, 0, 11 * MB, 5, 200),
        True,
        "at first 11 MB in 5 s",
    ),
    "throttled far too soon": (
        Prediction("u", MB, "USER"),
        CanaryReading(1, 0, MB, 5, 9000),
        None,
        "throttled after 1 MB, although 1 MB/s",
    ),
    "too little sent to be throttled": (
        Prediction("u", MB, "USER"),
        CanaryReading(1, 0, 5 * MB, 5),
        None,
        "not conclusive",
    ),
    "not throttled": (
        Prediction("u", MB, "USER"),
        CanaryReading(1, 0, 15 * MB, 5),
        False,
        "15 MB went through at once",
    ),
    "throttled for another key": (
        Prediction("u", None, None, True),
        CanaryReading(1, 0, 0, 5, 1000),
        None,
        "request_percentage",
    ),
    "throttled without a limit": (Prediction("u"), CanaryReading(1, 0, MB, 5, 1000), False, "throttled for 1 s"),
    "an unknown user": (Prediction(None), CanaryReading(1, 0, MB, 5, 1000), None, "pass user="),
    "no leader there": (Prediction("u"), CanaryReading(1, None), None, "leads no partition"),
}


@pytest.mark.parametrize(("expected", "seen", "agrees", "note"), VERDICTS.values(), ids=VERDICTS)
def test_it_says_what_one_can_know(expected, seen, agrees, note):
    """Not enough to tell, and it told."""
    found, said = only_row(room.compared("c", expected, [seen], ASKED), "agrees", "note")
    assert found is agrees
    assert (said is None) if note is None else note in said
