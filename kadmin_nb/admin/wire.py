"""The connection: kafka-python's messages, each sent to the node we name, within a bound.

The only file that touches the library's inner modules (`kafka.net`); `tests/admin/test_seam.py`
says what breaks if they move.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import kafka.errors
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_delay,
    wait_exponential,
)

from ..errors import ConnectionFailed, KadminError, TimedOut, Unsupported
from ..model.settings import Settings
from . import codes, first_contact
from .logs import keep_discreet
from .parser import AnswerParser

LARGEST_ANSWER = 1 << 30
"""Bytes in one answer, above which the connection is closed; a million entities are about 120 MB."""

ALTER_TIMEOUT = 90.0
"""Seconds an alter may take: a broker without a quorum answers truthfully after 60 to 75 (broker-facts 4.3)."""

keep_discreet()


T = TypeVar("T")
PATIENCE = 3.0
"""Seconds until another broker is asked what is answered in milliseconds by one that is not frozen."""


class NotSent(Exception):
    """The request certainly never left: it may be sent again whatever it does."""


class NoAnswerYet(Exception):
    """A broker takes long that any other could stand in for: its answer is no longer waited for."""


class _Connection(KafkaConnection):  # type: ignore[misc]
    """The library's connection with our parser."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.parser = AnswerParser(
            client_id=self.config["client_id"], receive_message_max_bytes=self.config["receive_message_max_bytes"]
        )


class _Manager(KafkaConnectionManager):  # type: ignore[misc]
    """The library's manager with our connections; it names its own class where nobody can tell it another."""

    def get_connection(self, *args: Any, **options: Any) -> Any:
        connection = super().get_connection(*args, **options)
        connection.__class__ = _Connection
        return connection


class Wire:
    """One bounded connection to a cluster, safe to use from several threads.

    A reading request takes at most `timeout` seconds, an altering one `alter_timeout`, unless its caller says.
    """

    def __init__(self, settings: Settings, timeout: float = 30.0, alter_timeout: float = ALTER_TIMEOUT) -> None:
        self.timeout = timeout
        self.alter_timeout = alter_timeout
        self.settings = settings
        started = time.monotonic()
        first_contact.meet(settings, timeout)
        self._is_closed = False
        self._answered: int | None = None
        self._net = NetworkSelector()
        self._manager = _Manager(self._net, **_config(settings, timeout))
        self._net.start()
        self._thread = self._net._io_thread
        met = time.monotonic() - started
        try:
            self._bootstrap(max(1.0, timeout - met), max(PATIENCE, 3 * met))
        except BaseException:
            self.close()
            raise

    def _bootstrap(self, timeout: float, share: float) -> None:
        """Ask one broker after the other, drawn at random: a frozen one may take no more than its share."""
        one = min(share, timeout) if "," in self.settings.bootstrap else timeout
        late = (TimedOut, kafka.errors.KafkaTimeoutError)
        retrying = Retrying(stop=stop_after_delay(timeout), retry=retry_if_exception_type(late), reraise=True)
        try:
            retrying(lambda: self._wait(lambda: self._manager.bootstrap_async(one * 1000), one, "connecting"))
        except late:
            raise ConnectionFailed(
                f"{self.settings.bootstrap} answered once and then no more within {timeout:.0f} s",
                code="NETWORK_EXCEPTION",
            ) from None
        except kafka.errors.KafkaError as exc:
            raise codes.translated(exc, "connecting") from None

    def ask(
        self,
        request: Callable[[], Any],
        *,
        node: int | None = None,
        doing: str,
        timeout: float | None = None,
        patience: float | None = None,
    ) -> Any:
        """The answer to a reading request, sent again after passing faults until the bound is reached.

        Parameters
        ----------
        timeout
            The bound in seconds, the connection's unless said.
        patience
            Seconds after which another broker is asked, where any will do; half the bound unless said.

        Raises
        ------
        TimedOut, ConnectionFailed, NotFound
            No answer, no connection, no such broker.
        """
        bound = timeout or self.timeout
        retrying = _patiently(bound, _passes, self._before_retry)
        return self._asked(retrying, request, node, doing, bound, patience or bound / 2)

    def _asked(
        self,
        retrying: Retrying,
        request: Callable[[], Any],
        node: int | None,
        doing: str,
        bound: float,
        patience: float,
    ) -> Any:
        deadline = time.monotonic() + bound
        try:
            return retrying(lambda: self._send(request(), node, deadline, doing, patience))
        except NotSent as exc:
            raise codes.translated(exc.__cause__ or exc, doing) from None
        except NoAnswerYet:
            raise TimedOut(f"no answer in time while {doing}", code="REQUEST_TIMED_OUT") from None
        except kafka.errors.KafkaError as exc:
            raise codes.translated(exc, doing) from None

    def tell(
        self, request: Callable[[], Any], *, node: int | None = None, doing: str, timeout: float | None = None
    ) -> Any:
        """The answer to an altering request; sent again only when it certainly never left.

        Parameters
        ----------
        timeout
            The bound in seconds, `alter_timeout` unless said.

        Raises
        ------
        TimedOut
            Whether it was carried out is unknown: time-out, or a connection that broke after sending.
        """
        deadline = time.monotonic() + (timeout or self.alter_timeout)
        retrying = _patiently(self.timeout, lambda exc: isinstance(exc, NotSent), self._before_retry)
        whom = self._lively() if node is None else node
        try:
            return retrying(lambda: self._send(request(), whom, deadline, doing))
        except NotSent as exc:
            raise codes.translated(exc.__cause__ or exc, doing) from None
        except kafka.errors.IncompatibleBrokerVersion as exc:
            raise codes.translated(exc, doing) from None
        except kafka.errors.KafkaError as exc:
            raise TimedOut(
                f"the connection gave no answer while {doing} ({exc}): it may have happened", code="REQUEST_TIMED_OUT"
            ) from None

    def refresh(self) -> None:
        """Learn the brokers' addresses anew: a restarted broker is unknown until then.

        Not by the library's own refresh, which waits for one broker although that one may be frozen.
        """
        doing, cluster = "refreshing the metadata", self._manager.cluster
        retrying = _patiently(self.timeout, _passes, None)
        answer = self._asked(retrying, cluster.metadata_request, None, doing, self.timeout, PATIENCE)
        self._wait(lambda: cluster.update_metadata(answer), self.timeout, doing)

    def close(self) -> None:
        """Close every connection and end the thread; never blocks for long."""
        if self._is_closed:
            return
        self._is_closed = True
        self._manager.call_soon(self._manager.close)
        self._net.stop(1000)
        if self._thread is None or not self._thread.is_alive():
            self._net.close()

    def _lively(self) -> int | None:
        """The broker that answered last: an alter sent to a frozen one is lost for its whole time-out."""
        return self._answered if self._manager.cluster.broker_metadata(self._answered) else None

    def _before_retry(self, state: RetryCallState) -> None:
        """A broker we do not know may have come up since the last look."""
        exc = state.outcome.exception() if state.outcome else None
        cause = exc.__cause__ if isinstance(exc, NotSent) else exc
        if isinstance(cause, kafka.errors.UnknownBrokerIdError | kafka.errors.KafkaConnectionError):
            try:
                self.refresh()
            except KadminError:
                return

    def _send(self, request: Any, node: int | None, deadline: float, doing: str, patience: float | None = None) -> Any:
        left = max(0.05, deadline - time.monotonic())
        others = node is None and len(self._manager.cluster.brokers()) > 1
        hurry = patience if others and patience and patience < left else None
        return self._wait(lambda: self._exchange(request, node, left, hurry), left + 1.0, doing)

    async def _exchange(self, request: Any, node: int | None, timeout: float, hurry: float | None) -> Any:
        """Connect, and only then send: what fails before is known not to have been sent."""
        whom = self._anyone() if node is None else node
        try:
            connection = await self._connected(whom, hurry or timeout)
        except kafka.errors.KafkaError as exc:
            raise (NoAnswerYet() if hurry and _is_late(exc) else NotSent(str(exc))) from exc
        sent = connection.send_request(request, request_timeout_ms=timeout * 1000)
        try:
            answer = await (self._manager.wait_for(sent, hurry * 1000) if hurry else sent)
        except kafka.errors.KafkaTimeoutError as exc:
            raise (NoAnswerYet() if hurry else exc) from exc
        self._answered = whom
        return answer

    def _anyone(self) -> int:
        """The broker with the least to do."""
        node: int | None = self._manager.least_loaded_node()
        if node is None:
            muted = any(connection.paused for connection in self._manager._conns.values())
            reason = "throttled: every broker mutes this client" if muted else "no broker takes a request now"
            raise NotSent(reason) from kafka.errors.NodeNotReadyError(reason)
        return node

    async def _connected(self, node: int | None, within: float) -> Any:
        connection = self._manager.get_connection(node)
        await self._manager.wait_for(connection.init_future, within * 1000)
        if connection.paused:
            raise kafka.errors.NodeNotReadyError(f"throttled: {connection.paused}")
        if not connection.connected:
            raise kafka.errors.KafkaConnectionError("the connection has just closed")
        return connection

    def _wait(self, start: Callable[[], Any], timeout: float, doing: str) -> Any:
        """Run on the library's thread and wait here, where a time-out and Ctrl-C are heard."""
        if self._is_closed:
            raise ConnectionFailed(f"the connection is closed, while {doing}", hint="Connect anew.")
        done = threading.Event()
        future = self._manager.call_soon(start)
        future.add_both(lambda _: done.set())
        if not done.wait(timeout):
            raise TimedOut(f"no answer within {timeout:.0f} s while {doing}", code="REQUEST_TIMED_OUT")
        if future.exception is not None:
            raise future.exception
        return future.value


def understood(read: Callable[[], T], doing: str, *, may_have_happened: bool = False) -> T:
    """What `read` makes of an answer.

    Raises
    ------
    Unsupported
        Nonsense, such as null where names must stand.
    TimedOut
        The same of an alter, of which nobody knows then what became.
    """
    try:
        return read()
    except (AttributeError, TypeError, ValueError):
        pass
    if may_have_happened:
        raise TimedOut(f"an answer that cannot be read while {doing}: it may have happened", code="REQUEST_TIMED_OUT")
    raise Unsupported(f"an answer that cannot be read, while {doing}", code="CORRUPT_MESSAGE")


def _passes(exc: BaseException) -> bool:
    """Whether a reading request may simply be sent again."""
    if isinstance(exc, NotSent):
        return not _is_late(exc.__cause__)
    return isinstance(exc, NoAnswerYet | kafka.errors.KafkaConnectionError | kafka.errors.NodeNotReadyError)


def _is_late(exc: BaseException | None) -> bool:
    return isinstance(exc, kafka.errors.KafkaTimeoutError)


_REFUSING, _UNKNOWN_ID = 3.0, 1.0
"""Seconds that a broker is given which refuses connections, or which the metadata, asked anew, does not name."""


def _patiently(
    bound: float, may_pass: Callable[[BaseException], bool], before: Callable[[RetryCallState], None] | None
) -> Retrying:
    def stop(state: RetryCallState) -> bool:
        """A broker that is not there is given less time than one that throttles us."""
        exc = state.outcome.exception() if state.outcome else None
        cause = exc.__cause__ if isinstance(exc, NotSent) else exc
        throttled = isinstance(cause, kafka.errors.NodeNotReadyError) and "throttled" in str(cause)
        is_there = throttled or isinstance(exc, NoAnswerYet)
        missing = _UNKNOWN_ID if isinstance(cause, kafka.errors.UnknownBrokerIdError) else _REFUSING
        return stop_after_delay(bound if is_there else min(bound, missing))(state)

    return Retrying(
        stop=stop,
        wait=wait_exponential(multiplier=0.05, max=0.5),
        retry=retry_if_exception(may_pass),
        before_sleep=before,
        reraise=True,
    )


def _config(settings: Settings, timeout: float) -> dict[str, object]:
    """kafka-python's configuration for these settings."""
    return {
        "bootstrap_servers": settings.bootstrap.split(","),
        "client_id": settings.client_id,
        "request_timeout_ms": int(timeout * 1000),
        "receive_message_max_bytes": LARGEST_ANSWER,
        "reconnect_backoff_max_ms": 1000,
        "security_protocol": settings.security_protocol,
        "sasl_mechanism": settings.mechanism,
        "sasl_plain_username": _username(settings),
        "sasl_plain_password": settings.password.reveal() if settings.password else None,
        "ssl_context": _tls(settings),
    }


def _username(settings: Settings) -> str | None:
    """The name as the library must be given it: it forgets SCRAM's escapes (RFC 5802's saslname)."""
    if settings.username is None or not (settings.mechanism or "").startswith("SCRAM"):
        return settings.username
    return settings.username.replace("=", "=3D").replace(",", "=2C")


def _tls(settings: Settings) -> ssl.SSLContext | None:
    """The TLS context, None where the connection has none."""
    if not settings.uses_tls:
        return None
    context = ssl.create_default_context(cafile=settings.ca_file)
    context.check_hostname = settings.check_hostname
    if settings.certificate_file:
        secret = settings.key_password
        context.load_cert_chain(settings.certificate_file, settings.key_file, secret.reveal() if secret else None)
    return context
