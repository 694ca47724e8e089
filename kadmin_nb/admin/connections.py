"""kafka-python's connections, made ours: they read with our parser, log in by tokens and tickets, and wait for nobody.

The only file that touches the library's inner modules (`kafka.net`); `tests/admin/test_seam.py` says what breaks if
they move.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import random
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import kafka.errors
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.net.selector import NetworkSelector
from kafka.protocol.frame import KafkaBytes
from kafka.protocol.parser import KafkaProtocol

from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotFound, TimedOut, Unsupported
from ..hints import Hint, Verb, sentence
from ..model.connection_settings import GSSAPI, Settings

if TYPE_CHECKING:
    from ..model.connection_settings import TokenLogin


_FAILED = "SASL_AUTHENTICATION_FAILED"


def refuse_without_gssapi() -> None:
    """Raise Unsupported where gssapi is not installed: the library would try again and again.

    kafka-python logs in by the package gssapi. librdkafka, as Python's wheels have it, knows no GSSAPI.
    """
    if importlib.util.find_spec("gssapi") is None:
        raise Unsupported(
            "GSSAPI (Kerberos) needs the package gssapi",
            hint="pip install 'kadmin_nb[kerberos]' builds it, with a compiler and Kerberos (Debian: gcc libkrb5-dev).",
        )


def gssapi_login_failure(error: Exception) -> KadminError | None:
    """The error of a login that can be named; None for any other, a broken connection say."""
    if isinstance(error, kafka.errors.UnsupportedSaslMechanismError):
        return AuthenticationFailed(f"the broker does not speak GSSAPI: {error}", code="UNSUPPORTED_SASL_MECHANISM")
    if isinstance(error, kafka.errors.SaslAuthenticationFailedError):
        return AuthenticationFailed(
            f"the broker refuses the ticket: {error}",
            code=_FAILED,
            hint="Compare sasl.kerberos.service.name and the broker's host name with its principal.",
        )
    if type(error).__module__.partition(".")[0] == "gssapi":
        return AuthenticationFailed(
            f"no ticket for the broker: {_reason(error)}",
            code=_FAILED,
            hint="klist shows this machine's tickets, kinit gets one; a broker's principal is SERVICE/HOST, with "
            "its advertised host.",
        )
    return None


def connection_failure(settings: Settings, error: Exception | None, timeout: float) -> KadminError:
    """The error of a connection that was not made in time; None is silence."""
    doctor = sentence("{} checks it step by step.", Verb("doctor", "kn.doctor()"))
    hint = Hint("A broker without GSSAPI closes the connection.", doctor)
    if error is None or isinstance(error, kafka.errors.KafkaTimeoutError):
        text = f"no answer from {settings.bootstrap} within {timeout:g} s"
        return TimedOut(text, code="REQUEST_TIMED_OUT", hint=hint)
    text = str(error).removeprefix(f"{type(error).__name__}: ")
    return ConnectionFailed(f"no connection to {settings.bootstrap}: {text}", code="NETWORK_EXCEPTION", hint=hint)


def _reason(error: Any) -> str:
    """The words of Kerberos itself; those of GSSAPI around them tell nothing."""
    return "; ".join(error.get_all_statuses(error.min_code, False)) or str(error)


LONGEST_THROTTLE = 600.0
"""Seconds a broker may hold us back: it says at most one for the requests that we make (`maxThrottleTimeMs`)."""

_STRIDE = 32_768
_HIGH_BYTES = re.compile(rb"(?<![\x80-\xff])[\x80-\xff]{65536}")
_TWO_HIGH_BYTES = re.compile(rb"[\x80-\xff]{2}")
"""A varint that could go on for 65,536 bytes, which the library reads in quadratic time: 2 s for 200 kB.

No string of Kafka's is longer than 32,767 bytes, and what stands between two is not all high bytes.
"""


class AnswerParser(KafkaProtocol):  # type: ignore[misc]
    """The library's parser, its buffer and its errors replaced.

    kafka-python takes the memory that an answer's length asks for, a gigabyte for four bytes, and an answer that is
    garbled in another way than it foresaw kills its reader, so that everybody waits for the whole time-out. Here memory
    is taken as it is filled, and there is one error for whatever cannot be read.
    """

    def __init__(self, **config: Any) -> None:
        super().__init__(**config)
        self._coming = KafkaBytes(0)

    def receive_bytes(self, data: bytes) -> list[tuple[int, Any]]:
        """The correlation id and the answer of every frame that these bytes complete.

        Raises
        ------
        kafka.errors.KafkaProtocolError
            Bytes that are not an answer; the library then closes the connection.
        """
        self._coming += data
        answers = []
        while frame := self._next_frame():
            answers.append(self._read(frame))
        return answers

    def _next_frame(self) -> KafkaBytes | None:
        """The next frame, its length passed over; None while it is not whole. What comes alone is not copied."""
        if len(self._coming) < 4:
            return None
        size = int.from_bytes(self._coming[:4], "big", signed=True)
        self._validate_frame_size(size)
        if len(self._coming) < 4 + size:
            return None
        frame, self._coming = self._coming, KafkaBytes(0)
        self._coming += frame[4 + size :]
        del frame[4 + size :]
        frame.seek(4)
        return frame

    def _read(self, frame: KafkaBytes) -> tuple[int, Any]:
        if _TWO_HIGH_BYTES.search(frame[::_STRIDE]) and _HIGH_BYTES.search(frame):
            raise kafka.errors.KafkaProtocolError("a number without an end")
        try:
            return self._answer(frame)
        except kafka.errors.KafkaError:
            raise
        except Exception as exc:
            raise kafka.errors.KafkaProtocolError(f"{type(exc).__name__}: {exc}") from exc

    def _answer(self, frame: KafkaBytes) -> tuple[int, Any]:
        """As the library has it, but what cannot be read is not written to the log, whole and at any size."""
        header = self.in_flight_requests.popleft()
        kind = header.get_response_class()
        number = kind.parse_header(frame).correlation_id
        if number != header.correlation_id:
            raise kafka.errors.CorrelationIdError(f"the answer to request {number}, not to {header.correlation_id}")
        answer = kind.decode(frame)
        if getattr(answer, "throttle_time_ms", 0) > LONGEST_THROTTLE * 1000:
            raise kafka.errors.KafkaProtocolError(f"throttled for {answer.throttle_time_ms} ms")
        return number, answer


Node = TypeVar("Node")

HEAD_START = 0.25
"""Seconds that a broker has for its connection before the next one is tried beside it (as RFC 8305 does)."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc]
    """The library's access to a token that was fetched before."""

    def __init__(self, login: TokenLogin) -> None:
        from .bearer_tokens import tokens_of  # it loads http.client, which most connections have no use for

        self.cache = tokens_of(login)

    def token(self) -> str:
        return self.cache.token().text.reveal()

    def extensions(self) -> dict[str, str]:
        return dict(self.cache.login.extensions)


class Connection(KafkaConnection):  # type: ignore[misc]
    """The library's connection with our parser."""

    async def _sasl_authenticate(self, timeout_at: float | None = None) -> None:
        """Log in, at first and whenever the session ends; a token is fetched beside the other connections."""
        if tokens := self.config["sasl_oauth_token_provider"]:
            within = None if timeout_at is None else timeout_at - time.monotonic()
            await _beside(self.net, lambda: tokens.cache.token(within))
        try:
            await super()._sasl_authenticate(timeout_at)
        except Exception as error:
            is_kerberos = self.config["sasl_mechanism"] == GSSAPI
            raise (gssapi_login_failure(error) if is_kerberos else None) or error from None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.parser = AnswerParser(
            client_id=self.config["client_id"], receive_message_max_bytes=self.config["receive_message_max_bytes"]
        )


def _beside(net: Loop, task: Callable[[], object]) -> Future:
    """The future of a task that waits for somebody else, on a thread of its own: `net` goes on meanwhile."""
    future = Future()

    def run() -> None:
        try:
            finish, result = future.success, task()
        except Exception as error:
            finish, result = future.failure, error
        with suppress(RuntimeError):  # closed meanwhile
            net.call_soon_with_future(finish, result)

    threading.Thread(target=run, daemon=True).start()
    return future


class Loop(NetworkSelector):  # type: ignore[misc]
    """The library's loop on a thread of its own, which closes what it has when it ends."""

    def run_forever(self) -> None:
        try:
            super().run_forever()
        finally:
            self._stop = True
            self.close()


def end(net: Loop, connections: Manager) -> None:
    """Have the connections closed, and the thread end.

    It waits for nothing: the garbage collector may call it, on any thread and in the middle of anything.
    """
    with suppress(Exception):  # the loop has ended
        connections.call_soon(connections.close)
    net._stop = True
    net.wakeup()


class Manager(KafkaConnectionManager):  # type: ignore[misc]
    """The library's manager with our connections, made side by side: one frozen broker does not hold up the others."""

    def get_connection(self, *args: Any, **options: Any) -> Any:
        """A connection of ours; the library names its own class in its code."""
        connection = super().get_connection(*args, **options)
        connection.__class__ = Connection
        return connection

    async def first_of(self, nodes: Sequence[Node], attempt: Callable[[Node], Awaitable[Any]], within: float) -> Any:
        """The first result of `attempt`, or the last one's error; the next begins when one fails or takes its time."""
        first, failures = Future(), []

        def succeed(result: Any) -> None:
            if not first.is_done:
                first.success(result)

        def fail(exc: BaseException) -> None:
            failures.append(exc)
            if len(failures) == len(nodes):
                first.failure(exc)

        for node in nodes:
            begun = self.call_soon(attempt, node)
            begun.add_callback(succeed)
            begun.add_errback(fail)
            with suppress(Exception):
                await self.wait_for(begun, HEAD_START * 1000)
            if first.is_done:
                break
        return await self.wait_for(first, within * 1000)

    async def _do_bootstrap(self, deadline: float) -> bool:
        """Learn the brokers from the first address that answers; each is tried once."""
        addresses = [broker.node_id for broker in self.cluster.bootstrap_brokers()]
        random.shuffle(addresses)
        within = deadline - time.monotonic()
        try:
            metadata = await self.first_of(addresses, lambda one: self._metadata_of(one, within), within)
            self.cluster.update_metadata(metadata)
        finally:
            for connection in filter(None, [self._conns.pop(address, None) for address in addresses]):
                connection.close()
        self.cluster.start_refresh_loop()
        return True

    async def _metadata_of(self, address: str, within: float) -> Any:
        options = {"pop_on_close": False, "refresh_metadata_on_err": False, "reset_backoff_on_connect": False}
        connection = self.get_connection(address, timeout_ms=within * 1000, **options)
        await connection.init_future
        metadata = await connection.send_request(self.cluster.metadata_request())
        if not metadata.brokers:
            raise kafka.errors.KafkaConnectionError(f"{address} knows no brokers")
        return metadata


LARGEST_ANSWER = 1 << 30
"""Bytes in one answer, above which the connection is closed; a million entities are about 120 MB."""

AT_ONCE = 0.05
"""Seconds that librdkafka is given to name what is wrong with the settings: it needs no broker for that."""


def manager(net: Loop, settings: Settings, timeout: float) -> Manager:
    """The connections to be; an address that the library cannot read is librdkafka's to name."""
    try:
        return Manager(net, **config(settings, timeout))
    except BaseException as exc:
        net.close()
        if isinstance(exc, ValueError):
            raise_cause(settings, timeout, 0.0, lambda: False)
        raise


def config(settings: Settings, timeout: float) -> dict[str, object]:
    """kafka-python's configuration for these settings."""
    return {
        "bootstrap_servers": settings.bootstrap.split(","),
        "client_id": settings.client_id,
        "request_timeout_ms": int(timeout * 1000),
        "receive_message_max_bytes": LARGEST_ANSWER,
        "reconnect_backoff_max_ms": 1000,
        "security_protocol": settings.security_protocol,
        "sasl_mechanism": settings.mechanism,
        "sasl_oauth_token_provider": Tokens(settings.token_login) if settings.token_login else None,
        "sasl_kerberos_service_name": settings.kerberos_service,
        "sasl_plain_username": _username(settings),
        "sasl_plain_password": settings.password.reveal() if settings.password else None,
        "ssl_context": tls(settings) if settings.uses_tls else None,
    }


def _username(settings: Settings) -> str | None:
    """The name as the library must be given it: it forgets SCRAM's escapes (RFC 5802's saslname)."""
    if settings.username is None or not (settings.mechanism or "").startswith("SCRAM"):
        return settings.username
    return settings.username.replace("=", "=3D").replace(",", "=2C")


def tls(settings: Settings) -> ssl.SSLContext:
    """The TLS context of a connection.

    Raises
    ------
    NotFound
        A file that is not there.
    ConnectionFailed
        One that cannot be read, in librdkafka's words, which are better than Python's.
    """
    pem = settings.pem
    for file in (pem.ca_file, pem.certificate_file, pem.key_file):
        if file and not os.path.isfile(file):
            raise NotFound(f"{settings.source}: no such file: {file}")
    try:
        context = ssl.create_default_context(cafile=pem.ca_file)
        context.check_hostname = settings.check_hostname
        pem.show_certificate(context)
        return context
    except (OSError, ValueError):
        raise_cause(settings, AT_ONCE, 0.0, lambda: False)
        raise ConnectionFailed(f"{settings.source}: a PEM file cannot be read", code="INVALID_CONFIG") from None


def raise_cause(settings: Settings, timeout: float, spent: float, is_reached: Callable[[], bool]) -> None:
    """Raise the cause that librdkafka, or the source of tokens, tells; nothing where neither knows."""
    from . import first_contact

    no_token = first_contact.token_failure(settings, timeout - spent)
    if cause := no_token or first_contact.cause(settings, timeout, spent=spent, is_reached=is_reached):
        raise cause from None


_SPEAKERS = ("kafka.net.connection", "kafka.protocol.parser")
_CONFIDENTIAL = ("Sasl", "IncrementalAlterConfigs", "AlterUserScramCredentials")
"""Beginnings of the classes of messages that carry secrets, or answers that may repeat them."""


class _RedactingFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_redacted, record.args))
        return True


def _redacted(argument: Any) -> Any:
    if isinstance(argument, bytes | bytearray | memoryview):
        return f"[{len(argument)} bytes]"
    name = type(argument).__name__
    return f"{name}([secure])" if name.startswith(_CONFIDENTIAL) else argument


def keep_discreet() -> None:
    """Keep the library's log silent unless a program asks for it, and free of secrets."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    for name in _SPEAKERS:
        logging.getLogger(name).addFilter(_DISCREET)


_DISCREET = _RedactingFilter()
