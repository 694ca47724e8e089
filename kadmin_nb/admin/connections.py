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
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future as Done
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
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from ..errors import ConnectionFailed, NotFound, Unsupported
from ..model.connection_settings import Settings

if TYPE_CHECKING:
    from ..model.connection_settings import TokenLogin


def refuse_without_gssapi() -> None:
    """Raise Unsupported where gssapi is not installed: the library would try again and again.

    kafka-python logs in by the package gssapi. librdkafka, as Python's wheels have it, knows no GSSAPI.
    """
    if importlib.util.find_spec("gssapi") is None:
        raise Unsupported(
            "GSSAPI (Kerberos) needs the package gssapi",
            hint="pip install 'kadmin_nb[kerberos]' builds it, with a compiler and Kerberos (Debian: gcc libkrb5-dev).",
        )


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
        # raised here, as a broker that refuses a login hangs up before the answer has its turn
        if isinstance(answer, SaslHandshakeResponse) and answer.error_code:
            named = ", ".join(answer.mechanisms) or "none, as it requires no login"
            raise kafka.errors.UnsupportedSaslMechanismError(f"the mechanisms of this listener: {named}")
        if isinstance(answer, SaslAuthenticateResponse) and answer.error_code:
            raise kafka.errors.SaslAuthenticationFailedError(answer.error_message)
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
        await super()._sasl_authenticate(timeout_at)

    def data_received(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except kafka.errors.BrokerResponseError as refusal:
            if tokens := self.config["sasl_oauth_token_provider"]:
                tokens.cache.forget()
            self.close(refusal)

    def connection_made(self, transport: Any) -> None:
        receive = transport._sock_recv

        def received() -> tuple[bytes, Exception | None]:
            data, error = receive()
            if data and error:  # the library drops the answer of a broker that hangs up right behind it
                self.data_received(data)
            return data, error

        transport._sock_recv = received
        super().connection_made(transport)
        self.parser = AnswerParser(
            client_id=self.config["client_id"], receive_message_max_bytes=self.config["receive_message_max_bytes"]
        )


def _beside(net: Loop, task: Callable[[], object]) -> Future:
    """The future of a task that waits for somebody else, on a thread of its own: `net` goes on meanwhile."""
    from .. import web  # with it comes http.client, which a login by a token has loaded

    future = Future()

    def finish(done: Done[object]) -> None:
        error = done.exception()
        end, result = (future.failure, error) if error else (future.success, done.result())
        with suppress(RuntimeError):  # closed meanwhile
            net.call_soon_with_future(end, result)

    web.begun(task).add_done_callback(finish)
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
    """The library's manager with our connections, made side by side: one frozen broker does not hold up the others.

    `failures` has what became of each address that was tried, by its host and port.
    """

    def __init__(self, net: Loop, **settings: Any) -> None:
        super().__init__(net, **settings)
        self.failures: dict[tuple[str, int], BaseException] = {}

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
        brokers = self.cluster.bootstrap_brokers()
        random.shuffle(brokers)
        within = deadline - time.monotonic()
        try:
            metadata = await self.first_of(brokers, lambda one: self._metadata_of(one, within), within)
            self.cluster.update_metadata(metadata)
        finally:
            for connection in filter(None, [self._conns.pop(broker.node_id, None) for broker in brokers]):
                connection.close()
        self.cluster.start_refresh_loop()
        return True

    async def _metadata_of(self, broker: Any, within: float) -> Any:
        options = {"pop_on_close": False, "refresh_metadata_on_err": False, "reset_backoff_on_connect": False}
        try:
            connection = self.get_connection(broker.node_id, timeout_ms=within * 1000, **options)
            await connection.init_future
            metadata = await connection.send_request(self.cluster.metadata_request())
            if not metadata.brokers:
                raise kafka.errors.KafkaConnectionError("it knows no brokers")
        except Exception as failure:
            self.failures[broker.host, broker.port] = failure
            raise
        return metadata


LARGEST_ANSWER = 1 << 30
"""Bytes in one answer, above which the connection is closed; a million entities are about 120 MB."""


def manager(net: Loop, settings: Settings, timeout: float) -> Manager:
    """The connections to be."""
    try:
        return Manager(net, **config(settings, timeout))
    except BaseException as exc:
        net.close()
        if isinstance(exc, ValueError):
            raise ConnectionFailed(
                f"{settings.bootstrap} is not host:port[,host:port…]", code="INVALID_CONFIG"
            ) from None
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
        One that cannot be read.
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
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or type(error).__name__
        raise ConnectionFailed(
            f"{settings.source}: a PEM file cannot be read, or its password is wrong ({reason})", code="INVALID_CONFIG"
        ) from None


_SPEAKERS = ("kafka.net.connection", "kafka.protocol.parser")
"""The loggers of the library that write whole messages, with their secrets, at the level DEBUG alone."""


def keep_discreet() -> None:
    """Keep the library's log silent unless a program asks for it, and free of secrets."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    for name in _SPEAKERS:
        logging.getLogger(name).addFilter(_has_no_message)


def _has_no_message(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG
