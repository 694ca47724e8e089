"""A connection that cannot be made names the cause in one line, soon, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

import kadmin_nb as kn
from kadmin_nb.admin import connections
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import AuthenticationFailed, ConnectionFailed, TimedOut
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.secrets import Secret
from tests.admin.logins import settings_of
from tests.waiting import eventually

SOON = 20.0
"""Seconds; a cause is known within 0.35 where nobody else uses the two cores. Here somebody may."""


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield listening.getsockname()[1]


@pytest.fixture
def speaking() -> Iterator[Callable[..., int]]:
    """`speaking(b"a", b"b")`: a port that sends these pieces to everyone, one after the other, and no more.

    With `close="at once"`, or `"by a reset"`, it hangs up once it was sent something, as a broker does.
    """
    with contextlib.ExitStack() as stack:
        ended = threading.Event()
        stack.callback(ended.set)

        def answer(to: socket.socket, pieces: tuple[bytes, ...], close: str) -> None:
            with contextlib.suppress(OSError):
                for piece in pieces:
                    to.send(piece)
                    ended.wait(0.05)
                if close:
                    to.recv(65_536)
                if close == "by a reset":
                    to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if not close:
                ended.wait()
            to.close()

        def listen(*pieces: bytes, close: str = "") -> int:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            stack.callback(listening.shutdown, socket.SHUT_RDWR)

            def serve() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        accepted, _ = listening.accept()
                        threading.Thread(target=answer, args=(accepted, pieces, close)).start()

            threading.Thread(target=serve).start()
            return int(listening.getsockname()[1])

        yield listen


@pytest.fixture
def closed() -> int:
    """A port that nobody listens on."""
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        return int(once.getsockname()[1])


def refused(settings: Settings, timeout: float = 20.0) -> tuple[BaseException, float]:
    started = time.monotonic()
    with pytest.raises((ConnectionFailed, AuthenticationFailed, TimedOut)) as raised:
        LiveKafka(settings, timeout)
    return raised.value, time.monotonic() - started


def said_well(error: BaseException, capfd) -> None:
    """One line, no secret, nothing on stderr, no thread of ours or of a library left."""
    assert "\n" not in str(error)
    assert "canary" not in f"{error} {error.hint}"  # type: ignore[attr-defined]
    assert len(error._render_traceback_()) <= 2  # type: ignore[attr-defined]
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
        LiveKafka(settings).close()
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
    assert "the mechanisms of this listener: PLAIN" in str(error)
    assert took < SOON
    said_well(error, capfd)


@pytest.mark.broker
def test_a_login_that_nobody_asked_for(kafka, capfd):
    """The listener was a plain one, and I was to choose one of the mechanisms that it names: it named none."""
    settings = Settings(
        kafka.bootstrap, "SASL_PLAINTEXT", mechanism="SCRAM-SHA-512", username="mia", password=Secret("x" * 12)
    )
    error, took = refused(settings)
    assert type(error) is AuthenticationFailed
    assert "none, as it requires no login" in str(error)
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
            LiveKafka(settings).close()
            break
        except AuthenticationFailed:
            assert time.monotonic() < deadline
    assert capfd.readouterr() == ("", "")


@pytest.mark.secure
def test_plain_text_to_a_sasl_port(secure_kafka, capfd):
    """`socket disconnected` told me nothing."""
    error, took = refused(Settings(secure_kafka.bootstrap))
    assert (type(error), str(error)) == (ConnectionFailed, f"{secure_kafka.bootstrap} closes the connection")
    assert error.hint.startswith("We speak PLAINTEXT: is this a broker's port, and which protocol")  # type: ignore[attr-defined]
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
    assert "the TLS handshake failed" in str(error)
    assert "Check that this port speaks TLS" in error.hint  # type: ignore[attr-defined]
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


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "asks"), [("PLAINTEXT", "which protocol"), ("SSL", "that this port speaks TLS")])
def test_a_silent_port_is_left_in_time(silent, capfd, protocol, asks):
    """A silent TLS port hung the kernel for ever; then it was asked whether it wants TLS."""
    error, took = refused(Settings(f"127.0.0.1:{silent}", security_protocol=protocol), timeout=1.5)
    assert isinstance(error, TimedOut)
    assert 1.4 < took < 1.5 + SOON
    assert asks in str(error.hint)
    said_well(error, capfd)


@pytest.mark.broker
def test_one_dead_address_of_two_does_not_matter(kafka, closed, capfd):
    """One broker of the list was down and nothing worked."""
    for bootstrap in (f"127.0.0.1:{closed},{kafka.bootstrap}", f"{kafka.bootstrap},no-such-host.invalid:9"):
        started = time.monotonic()
        LiveKafka(Settings(bootstrap)).close()
        assert time.monotonic() - started < 25
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
        LiveKafka(Settings("127.0.0.1:notaport"), 2.0)
    said_well(raised.value, capfd)


@pytest.mark.broker
def test_frozen_brokers_first_in_the_list_do_not_matter(kafka, silent, capfd, monkeypatch):
    """Two brokers of three hung, we had drawn them first, and they used up the time of the whole command."""
    monkeypatch.setattr(connections, "random", SimpleNamespace(shuffle=lambda _: None))
    frozen = f"127.0.0.1:{silent},localhost:{silent}"
    LiveKafka(Settings(f"{frozen},{kafka.bootstrap}"), timeout=5.0).close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_every_address_is_named_with_its_cause(silent, closed, capfd):
    """Of two brokers the first was silent and the second down; the error named the second only."""
    error, took = refused(Settings(f"127.0.0.1:{silent},127.0.0.1:{closed}"), timeout=2.0)
    assert type(error) is ConnectionFailed
    assert str(error) == (
        f"127.0.0.1:{closed}: no connection: Connection refused; no answer from 127.0.0.1:{silent} within 2 s"
    )
    assert took < 2 + SOON
    said_well(error, capfd)


NO_BROKERS = {
    "silent": ((), "PLAINTEXT", TimedOut, "no answer from {address} within 3 s"),
    "an unfinished answer": ((b"\0\0\1\0", b"\0"), "PLAINTEXT", TimedOut, "no answer from {address} within 3 s"),
    "HTTP": (
        (b"HTTP", b"/1.1"),
        "PLAINTEXT",
        ConnectionFailed,
        "{address} answers with something else than {protocol}",
    ),
    "zeros": ((b"\0",) * 10, "PLAINTEXT", ConnectionFailed, "{address} answers with something else than {protocol}"),
    "zeros for TLS": (
        (b"\0",) * 10,
        "SSL",
        ConnectionFailed,
        "{address}: the TLS handshake failed: WRONG_VERSION_NUMBER",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("pieces", "protocol", "kind", "words"), NO_BROKERS.values(), ids=NO_BROKERS)
def test_a_port_that_is_no_broker(speaking, capfd, pieces, protocol, kind, words):
    """A port that said nothing, or sent a byte now and then, was called one that closes the connection."""
    address = f"127.0.0.1:{speaking(*pieces)}"
    error, took = refused(Settings(address, security_protocol=protocol), timeout=3.0)
    assert (type(error), str(error)) == (kind, words.format(address=address, protocol="the Kafka protocol"))
    assert took < 3 + SOON
    said_well(error, capfd)


@pytest.mark.long
def test_silence_stays_silence_for_as_long_as_it_is_waited_for(silent, capfd):
    """After ten seconds of silence librdkafka gives up, and we said that the port closes the connection."""
    error, _ = refused(Settings(f"127.0.0.1:{silent}"), timeout=12.0)
    assert (type(error), str(error)) == (TimedOut, f"no answer from 127.0.0.1:{silent} within 12 s")
    said_well(error, capfd)
