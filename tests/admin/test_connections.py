"""A connection that cannot be made names the cause in one line, soon, and leaves nothing behind."""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from kafka.net import manager
from logins import settings_of
from waiting import eventually

import kadmin_nb as kn
from kadmin_nb.admin.kafka import WireKafka
from kadmin_nb.errors import AuthenticationFailed, ConnectionFailed, TimedOut
from kadmin_nb.model.settings import Secret, Settings

SOON = 4.0
"""Seconds; a cause is known within 0.35 where nobody else uses the two cores. Here somebody may."""


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield listening.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port that nobody listens on."""
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        return int(once.getsockname()[1])


def refused(settings: Settings, timeout: float = 5.0) -> tuple[BaseException, float]:
    started = time.monotonic()
    with pytest.raises((ConnectionFailed, AuthenticationFailed, TimedOut)) as raised:
        WireKafka(settings, timeout)
    return raised.value, time.monotonic() - started


def said_well(error: BaseException, capfd) -> None:
    """One line, no secret, nothing on stderr, no thread of ours or of a library left."""
    assert "\n" not in str(error)
    assert "canary" not in f"{error} {error.hint}"  # type: ignore[attr-defined]
    assert len("\n".join(error._render_traceback_()).splitlines()) <= 2  # type: ignore[attr-defined]
    assert capfd.readouterr() == ("", "")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No thread stays, not even librdkafka's own."""

    def threads() -> bool:
        return len(os.listdir("/proc/self/task")) <= before and threading.active_count() <= alive

    before, alive = len(os.listdir("/proc/self/task")), threading.active_count()
    yield
    eventually(threads, True, 10)


LOGINS = {
    "right password, PLAIN": ("admin", None, "PLAIN", None, ""),
    "wrong password, PLAIN": ("admin", "canary", "PLAIN", "SASL_AUTHENTICATION_FAILED", "Invalid username or password"),
    "unknown user, PLAIN": ("nobody", "canary", "PLAIN", "SASL_AUTHENTICATION_FAILED", "Invalid username or password"),
    "wrong password, SCRAM": ("carol", "canary", "SCRAM-SHA-512", "SASL_AUTHENTICATION_FAILED", "invalid credentials"),
    "unknown user, SCRAM": ("nobody", "canary", "SCRAM-SHA-256", "SASL_AUTHENTICATION_FAILED", "invalid credentials"),
}


@pytest.mark.secure
@pytest.mark.parametrize(("user", "password", "mechanism", "code", "words"), LOGINS.values(), ids=LOGINS)
def test_a_login(login, scram_user, capfd, user, password, mechanism, code, words):
    """A wrong password was a time-out after thirty seconds."""
    scram_user("carol")
    settings = login(user, password, mechanism=mechanism)
    if code is None:
        WireKafka(settings).close()
        return
    error, took = refused(settings)
    assert error.code == code  # type: ignore[attr-defined]
    assert words in str(error)
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.secure
def test_a_mechanism_that_is_not_enabled(capfd):
    """The cluster had PLAIN only, and the error was a time-out."""
    with kn.local.start(secure=True, extra={"sasl.enabled.mechanisms": "PLAIN"}) as strict:
        error, took = refused(settings_of(strict, mechanism="SCRAM-SHA-512"))
    assert type(error) is AuthenticationFailed
    assert "supported mechanisms: PLAIN" in str(error)
    assert error.hint == "Choose one of the mechanisms that the broker names."  # type: ignore[attr-defined]
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.secure
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["dora", "eve=1", "eve,2", "CN=x,O=y", "eve 3", "<default>"])
def test_a_scram_user_logs_in_whatever_the_name(scram_user, capfd, user, mechanism):
    """The user `CN=x,O=y` could not log in, and the error was a time-out."""
    settings = scram_user(user, mechanism)
    deadline = time.monotonic() + 5
    while True:
        try:
            WireKafka(settings).close()
            break
        except AuthenticationFailed:
            assert time.monotonic() < deadline
    assert capfd.readouterr() == ("", "")


@pytest.mark.secure
def test_plain_text_to_a_sasl_port(secure_kafka, capfd):
    """`socket disconnected` told me nothing."""
    error, took = refused(Settings(secure_kafka.bootstrap))
    assert (type(error), str(error)) == (ConnectionFailed, f"{secure_kafka.bootstrap} closes the connection")
    assert error.hint == "We speak PLAINTEXT: does this port want TLS or SASL?"  # type: ignore[attr-defined]
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.broker
def test_a_login_to_a_port_without_logins(kafka, capfd):
    """A password for a cluster that wants none."""
    given = {"security_protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username": "u", "password": Secret("canary")}
    error, took = refused(Settings(kafka.bootstrap, **given))
    assert isinstance(error, AuthenticationFailed)
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.broker
def test_tls_to_a_plain_port(kafka, capfd):
    """TLS to a port without it: Handshake failed EOF occurred in violation of protocol."""
    error, took = refused(Settings(kafka.bootstrap, security_protocol="SSL"))
    assert type(error) is ConnectionFailed
    assert "PLAINTEXT broker listener?" in str(error)
    assert took < SOON
    said_well(error, capfd)


def test_a_closed_port(closed, capfd):
    """Nobody there, and I waited half a minute to learn it."""
    error, took = refused(Settings(f"127.0.0.1:{closed}"))
    assert type(error) is ConnectionFailed
    assert "Connection refused" in str(error)
    assert took < SOON
    said_well(error, capfd)


def test_a_name_that_does_not_resolve(capfd):
    """A typo in the host name was a time-out."""
    error, took = refused(Settings("no-such-host.invalid:9092"))
    assert error.code == "UNKNOWN_HOST"  # type: ignore[attr-defined]
    assert "no-such-host.invalid" in str(error)
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_silent_port_is_left_in_time(silent, capfd, protocol):
    """A silent TLS port hung the kernel for ever."""
    error, took = refused(Settings(f"127.0.0.1:{silent}", security_protocol=protocol), timeout=1.5)
    assert isinstance(error, TimedOut)
    assert 1.4 < took < 8
    said_well(error, capfd)


@pytest.mark.broker
def test_one_dead_address_of_two_does_not_matter(kafka, closed, capfd):
    """One broker of the list was down and nothing worked."""
    for bootstrap in (f"127.0.0.1:{closed},{kafka.bootstrap}", f"{kafka.bootstrap},no-such-host.invalid:9"):
        started = time.monotonic()
        WireKafka(Settings(bootstrap)).close()
        assert time.monotonic() - started < 9
    assert capfd.readouterr() == ("", "")


def test_two_dead_addresses(closed, capfd):
    """Both were down, and the error named none."""
    error, took = refused(Settings(f"127.0.0.1:{closed},no-such-host.invalid:9092"))
    assert isinstance(error, ConnectionFailed)
    assert took < SOON
    said_well(error, capfd)


def test_an_address_without_a_port_is_refused(capfd):
    """`localhost` alone went somewhere."""
    with pytest.raises((ConnectionFailed, TimedOut)) as raised:
        WireKafka(Settings("127.0.0.1:notaport"), 2.0)
    said_well(raised.value, capfd)


@pytest.mark.broker
def test_one_frozen_broker_of_several_does_not_matter(kafka, silent, capfd, monkeypatch):
    """Every third time I could not connect: one broker of three hung, and we had drawn it."""
    drawn = []

    def unlucky(brokers):
        drawn.append(min(brokers, key=lambda one: (one.port != silent) != bool(drawn)))
        return drawn[-1]

    monkeypatch.setattr(
        manager, "random", SimpleNamespace(choice=unlucky, shuffle=random.shuffle, uniform=random.uniform)
    )
    WireKafka(Settings(f"127.0.0.1:{silent},{kafka.bootstrap}")).close()
    assert [one.port == silent for one in drawn[:2]] == [True, False]
    assert capfd.readouterr() == ("", "")
