"""A limit of connections meets ourselves: it is named, and the connection that is there goes on being used."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

import kadmin_nb as kn
from kadmin_nb.admin.first_contact import limit_failure
from kadmin_nb.commands import run
from kadmin_nb.commands.session import Session
from kadmin_nb.local import LocalKafka
from tests.dangerous_plans import applied
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.slow]

LIMITED = "closes connections of 127.0.0.1 before anything is sent, as brokers do above a limit of connections"


@pytest.fixture(scope="module")
def own() -> Iterator[LocalKafka]:
    """A broker that lets nobody else in for a while."""
    with kn.local.start() as running:
        yield running


@contextmanager
def set_to(cluster: kn.Cluster, line: str, kind: str, key: str) -> Iterator[None]:
    """With that quota or config, and without it afterwards, over a connection that was there before."""
    stage = cluster.new_stage()
    stage.add(line, kind=kind)
    outcomes = applied(stage.plan("a test")).raise_for_errors()
    try:
        yield
    finally:
        applied(cluster.rollback(outcomes.plan_id)).raise_for_errors()


def opened(kafka: LocalKafka) -> socket.socket:
    host, _, port = kafka.bootstrap.rpartition(":")
    return socket.create_connection((host, int(port)), 5)


def test_an_address_that_has_all_its_connections_is_told_so(own) -> None:
    """*Does this port require TLS or SASL?* It was the thirteenth connection of twelve."""
    with own.connect() as cluster, ExitStack() as held:
        assert limit_failure(own.bootstrap) is None
        held.enter_context(
            set_to(cluster, "set max.connections.per.ip=12 broker=1", "config", "max.connections.per.ip")
        )
        for _ in range(12):
            held.enter_context(opened(own))
        while limit_failure(own.bootstrap) is None:  # one of our own was closed meanwhile
            held.enter_context(opened(own))
        with pytest.raises(kn.errors.ConnectionFailed) as refused:
            own.connect()
        assert (str(refused.value), refused.value.code) == (f"{own.bootstrap} {LIMITED}", "CONNECTIONS_LIMITED")
        assert "max.connections.per.ip and its overrides" in str(refused.value.hint)
        assert str(kn.doctor(own.bootstrap).failed.to_arrow()["note"][0]).startswith(f"{own.bootstrap} {LIMITED}")
        notes: list[str] = []
        line = ["quota", "why", "user=alice", "client-id=app", "--for", "1s"]
        answer = run(line, Session(connected=cluster, owns=False, note=notes.append)).value
        assert [row["value"] for row in answer] == [None] * 4
        assert notes == []  # the connection that is there serves an observation, too


@contextmanager
def greedy(kafka: LocalKafka) -> Iterator[None]:
    """Others of this address connect as often as they may, and more often than that."""
    stop = threading.Event()

    def connect() -> None:
        while not stop.is_set():
            with suppress(OSError), opened(kafka) as one:
                one.settimeout(0.2)
                one.recv(1)

    threads = [threading.Thread(target=connect, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(10)


@pytest.mark.long
def test_a_throttled_address_is_told_so(own) -> None:
    """Others of our address connected all the time, and we looked for a wrong protocol for an hour."""
    key = "connection_creation_rate"
    with own.connect() as cluster, set_to(cluster, f"set {key}=1 ip=127.0.0.1", "quota", key), greedy(own):
        eventually(lambda: str(limit_failure(own.bootstrap)), f"{own.bootstrap} {LIMITED}", 60)
        assert cluster.quotas.why("alice", "app").notes == ()
