"""Quota metrics out of a Prometheus, or what only pretends to be one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.secrets import Secret
from tests.prometheus_server import Prometheus, matrix, serving

START = datetime(2026, 11, 21, 12, tzinfo=UTC)
END = START + timedelta(seconds=30)


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[..., Prometheus]]:
    monkeypatch.setenv("no_proxy", "*")
    with ExitStack() as started:
        yield lambda answers: started.enter_context(serving(answers))


AT = START.timestamp()


def rows(answer: kn.Answer) -> list[tuple[object, ...]]:
    names = ("time", "broker", "type", "user", "client_id", "name", "value")
    return [tuple(row[name] for name in names) for row in answer.to_arrow().to_pylist()]


SPELLINGS = {
    "the usual rules": {
        "__name__": "kafka_server_quota_byte_rate",
        "resource": "Produce",
        "user": "a",
        "clientId": "c",
    },
    "the usual rules, whose first takes all": {
        "__name__": "kafka_server_quota_byte_rate",
        "resource": "Produce, user=a",
        "clientId": "c",
    },
    "no rules": {"__name__": "kafka_server_Produce_byte_rate", "user": "a", "client_id": "c"},
    "no rules, lowercase": {"__name__": "kafka_server_produce_byte_rate", "user": "a", "client_id": "c"},
    "the type in the name": {"__name__": "kafka_server_quota_Produce_byte_rate", "user": "a", "client": "c"},
}


@pytest.mark.parametrize("labels", SPELLINGS.values(), ids=SPELLINGS)
def test_every_usual_spelling_is_the_same_metric(serve, labels):
    """It was written for the one exporter that the author had."""
    server = serve((200, matrix(({**labels, "broker": "2"}, [[AT, "12.5"], [AT + 15, "NaN"]]))))
    answer = kn.usage.prometheus(server.url, START, END)
    assert answer.to_arrow().schema.equals(schemas.METRICS.schema)
    first, second = rows(answer)
    assert first == (START, 2, "Produce", "a", "c", "byte-rate", 12.5)
    assert second[-1] != second[-1]


def test_it_asks_for_the_range(serve):
    """It asked for an instant."""
    server = serve((200, matrix(({**SPELLINGS["no rules"], "broker": "1"}, [[AT, "1"]]))))
    kn.usage.prometheus(f"{server.url}/prom/", START, END, step=5, query="up")
    ((path, query),) = server.asked
    assert path == "/prom/api/v1/query_range"
    assert query == {"query": "up", "start": f"{AT:.3f}", "end": f"{AT + 30:.3f}", "step": "5"}


def test_a_long_range_is_asked_in_parts(serve):
    """exceeded maximum resolution of 11,000 points per timeseries."""

    def answers(query):
        first, last = float(query["start"]), float(query["end"])
        assert (last - first) / float(query["step"]) < 11_000
        return 200, matrix(({**SPELLINGS["no rules"], "broker": "1"}, [[first, "1"], [last, "1"]]))

    server = serve(answers)
    answer = kn.usage.prometheus(server.url, START, START + timedelta(seconds=24_999), step=1)
    asked = [(float(q["start"]) - AT, float(q["end"]) - AT) for _, q in server.asked]
    assert asked == [(0, 9_999), (10_000, 19_999), (20_000, 24_999)]
    assert len(answer) == 6


BROKER_LABELS = {
    "an id": ("3", {}, 3),
    "a pod": ("my-cluster-kafka-3", {}, 3),
    "said": ("kafka-a:9404", {"kafka-a:9404": 3}, 3),
    "a host with a number": ("kafka-1.example.com:9404", {}, 1),
    "a host with a number, and its port": ("kafka3:9404", {}, 3),
    "Amazon's": ("b-2.shop.a1.c2.kafka.eu-west-1.amazonaws.com:11001", {}, 2),
    "an address is no host": ("10.0.0.1:9404", {}, None),
    "a port is not an id": ("kafka-a:9404", {}, None),
    "absent": (None, {}, None),
}


@pytest.mark.parametrize(("value", "brokers", "meant"), BROKER_LABELS.values(), ids=BROKER_LABELS)
def test_which_broker_it_was(serve, value, brokers, meant):
    """All series were those of broker 9404."""
    labels = {**SPELLINGS["no rules"], **({} if value is None else {"instance": value})}
    server = serve((200, matrix((labels, [[AT, "1"]]))))
    if meant is None:
        with pytest.raises(kn.UsageError, match=r"the label instance of .* names no broker") as raised:
            kn.usage.prometheus(server.url, START, END, broker="instance", brokers=brokers)
        assert "user" in raised.value.hint
    else:
        answer = kn.usage.prometheus(server.url, START, END, broker="instance", brokers=brokers)
        assert rows(answer)[0][1] == meant


def test_hosts_of_two_clusters(serve):
    """The usage of another cluster's broker 1 was added to that of ours."""
    places = ("kafka-1.east:9404", "kafka-1.west:9404", "kafka-1.east:9405")
    series = [({**SPELLINGS["no rules"], "instance": place}, [[AT, "1"]]) for place in places]
    with pytest.raises(
        kn.UsageError, match=r"has two hosts of the number 1: kafka-1\.east and kafka-1\.west"
    ) as raised:
        kn.usage.prometheus(serve((200, matrix(*series))).url, START, END, broker="instance")
    assert "brokers={'kafka-1.west:9404': 1}" in raised.value.hint
    brokers = {"kafka-1.west:9404": 101}
    answer = kn.usage.prometheus(serve((200, matrix(*series))).url, START, END, broker="instance", brokers=brokers)
    assert [row[1] for row in rows(answer)] == [1, 1, 101]


def test_other_metrics_are_passed_over(serve):
    """The brokers' network counted as a client's."""
    other = {"__name__": "kafka_server_socket_server_metrics_incoming_byte_rate", "listener": "PLAINTEXT"}
    ours = {**SPELLINGS["the usual rules"], "broker": "1"}
    server = serve((200, matrix((other, [[AT, "1"]]), (ours, [[AT, "2"]]))))
    assert [row[-1] for row in rows(kn.usage.prometheus(server.url, START, END))] == [2.0]


LOGINS = {
    "a token": ("", Secret("t0p"), "Bearer t0p"),
    "in the url": ("al:p%40ss@", None, "Basic YWw6cEBzcw=="),
    "none": ("", None, None),
}


@pytest.mark.parametrize(("place", "token", "sent"), LOGINS.values(), ids=LOGINS)
def test_it_logs_in_and_tells_nobody(serve, place, token, sent):
    """The password stood in the traceback."""
    server = serve((401, {}))
    url = server.url.replace("//", f"//{place}")
    with pytest.raises(kn.errors.AuthenticationFailed) as raised:
        kn.usage.prometheus(url, START, END, token=token)
    assert server.headers[0].get("Authorization") == sent
    said = f"{raised.value!r} {raised.value} {raised.value.hint}"
    assert not [secret for secret in ("t0p", "p%40ss", "p@ss", "YWw6") if secret in said]


REFUSALS = {
    "forbidden": ((403, {}), kn.NotAuthorized, "refuses: HTTP 403"),
    "its own words": (
        (400, {"status": "error", "errorType": "bad_data", "error": "parse error at char 3"}),
        kn.Invalid,
        "refuses: HTTP 400 parse error at char 3",
    ),
    "not its API": ((200, b"<html>"), kn.Invalid, "does not answer as a Prometheus does"),
    "an instant": (
        (200, {"status": "success", "data": {"resultType": "vector", "result": []}}),
        kn.Invalid,
        "answers with a vector",
    ),
    "series of another shape": (
        (200, {"status": "success", "data": {"resultType": "matrix", "result": [{"values": 3}]}}),
        kn.Invalid,
        "does not answer as a Prometheus does",
    ),
    "a login page": ((302, "http://127.0.0.1:1/login"), kn.Invalid, "redirects: HTTP 302"),
    "nothing": ((200, matrix()), kn.NotFound, "has no quota metrics from 2026-11-21"),
    "too much": ((200, b"x" * 2000), kn.Invalid, "answers more than most_bytes"),
    "a byte now and then": ((200, 0.05), kn.errors.TimedOut, "no answer of .* in time"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "kind", "said"), REFUSALS.values(), ids=REFUSALS)
def test_what_is_no_answer_is_one_line(serve, answer, kind, said):
    """urllib.error.HTTPError, and forty lines of it."""
    server = serve(answer)
    began = time.monotonic()
    with pytest.raises(kind, match=said) as raised:
        kn.usage.prometheus(server.url, START, END, timeout=3, most_bytes=1500)
    assert len(str(raised.value).splitlines()) == 1
    assert time.monotonic() - began < 20


NONSENSE = {
    "a file": ("file:///etc/passwd", START, END, "not the address of a Prometheus"),
    "half an address": ("http://[::1", START, END, "not the address of a Prometheus"),
    "no port": ("http://prometheus:x", START, END, "not the address of a Prometheus"),
    "no scheme": ("prometheus:9090", START, END, "not the address of a Prometheus"),
    "backwards": ("http://127.0.0.1:1", END, START, "end is before start"),
    "no zone": ("http://127.0.0.1:1", START.replace(tzinfo=None), END, "has no time zone"),
}


@pytest.mark.parametrize(("url", "start", "end", "said"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused_before_anything_is_sent(url, start, end, said):
    """It read /etc/passwd."""
    with pytest.raises(kn.UsageError, match=said):
        kn.usage.prometheus(url, start, end)


def test_nobody_there(monkeypatch):
    """URLError(ConnectionRefusedError(111))."""
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(kn.errors.ConnectionFailed, match=r"no Prometheus at http://127\.0\.0\.1:1: .*refused"):
        kn.usage.prometheus("http://127.0.0.1:1", START, END)
