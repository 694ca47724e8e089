"""The connection: kafka-python's messages, each sent to the node we name, within a bound."""

from __future__ import annotations

import struct
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import kafka.errors
from kafka.protocol.admin.cluster import DescribeClusterRequest
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from ..errors import ConnectionFailed, KadminError, TimedOut, Unsupported
from ..model.connection_settings import GSSAPI, Settings
from ..model.figures import seconds
from . import connections, error_codes
from .connections import Loop, keep_discreet

REFUSALS = (kafka.errors.SaslAuthenticationFailedError, kafka.errors.UnsupportedSaslMechanismError)
"""A login that is refused would be refused again."""


KAFKA_4_4 = {18: 5, 28: 6, 42: 3, 88: 1, 89: 1, 93: 0, 94: 0}
"""The latest version of each request that Kafka 4.4 takes and 4.3, the newest that the library knows, does not."""


class Throttled(kafka.errors.NodeNotReadyError):  # type: ignore[misc]  # the library has no types
    """A broker is up, and does not read from this client for a while: its quota is used up."""


class NotSent(Exception):
    """The request certainly never left: it may be sent again whatever it does."""


class NoAnswerYet(kafka.errors.KafkaTimeoutError):  # type: ignore[misc]
    """A broker takes long where any other could answer: its answer is no longer waited for."""


def may_pass(exc: Exception) -> bool:
    """True if a reading request may simply be sent again."""
    if isinstance(exc, NotSent):
        return was_not_sent(exc) and not isinstance(exc.__cause__, kafka.errors.KafkaTimeoutError)
    return isinstance(exc, NoAnswerYet | kafka.errors.KafkaConnectionError | kafka.errors.NodeNotReadyError)


def was_not_sent(exc: Exception) -> bool:
    """True of what never left, and may leave yet: a login that is refused would be refused again."""
    return isinstance(exc, NotSent) and not isinstance(exc.__cause__, REFUSALS)


def cause_of(exc: Exception) -> BaseException | None:
    """The reason why a request did not leave, or the fault itself."""
    return exc.__cause__ if isinstance(exc, NotSent) else exc


_REFUSING, _UNKNOWN_ID = 3.0, 1.0
"""Seconds that a broker is given which refuses connections, or which the metadata, asked anew, does not name."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
"""Seconds between two attempts: each pause is twice the one before."""


def _patiently(
    attempt: Callable[[], Any],
    bound: float,
    passes: Callable[[Exception], bool],
    before_retry: Callable[[Exception], object],
) -> Any:
    """The result of an attempt, made again after faults that may pass. Not tenacity, which would load tornado."""
    started, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except Exception as exc:
            cause, longest = cause_of(exc), bound
            if not isinstance(cause, Throttled | NoAnswerYet):  # one that is not there is given less
                is_unknown = isinstance(cause, kafka.errors.UnknownBrokerIdError)
                longest = min(longest, _UNKNOWN_ID if is_unknown else _REFUSING)
            if not passes(exc) or time.monotonic() - started >= longest:
                raise
            before_retry(exc)
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


READ_TIMEOUT = 30.0
"""Seconds that connecting, or a reading request, may take."""

ALTER_TIMEOUT = 90.0
"""Seconds an alter may take: a broker without a quorum answers truthfully after 60 to 75 (kafka-facts 3.2)."""

keep_discreet()


T = TypeVar("T")
PATIENCE = 3.0
"""Seconds until another broker is asked what is answered in milliseconds by one that is not frozen."""


class Wire:
    """One bounded connection to a cluster, safe to use from several threads; it ends when nothing refers to it.

    A reading request takes at most `timeout` seconds, an altering one `alter_timeout`, unless its caller says.
    """

    def __init__(self, settings: Settings, timeout: float = READ_TIMEOUT, alter_timeout: float = ALTER_TIMEOUT) -> None:
        self.timeout = timeout
        self.alter_timeout = alter_timeout
        self.settings = settings
        self._is_closed = False
        if settings.mechanism == GSSAPI:
            connections.refuse_without_gssapi()
        self._answered: int | None = None
        net = Loop()
        self._manager = connections.manager(net, settings, timeout)
        net.start()
        self._thread = net._io_thread
        self._end = weakref.finalize(self, connections.end, net, self._manager)
        self._end.atexit = False
        try:
            self._bootstrap(timeout)
        except BaseException:
            self.close()
            raise

    def _bootstrap(self, timeout: float) -> None:
        """Learn the brokers from any address, or raise what stands in the way."""
        attempt = self._manager.bootstrap_async(timeout * 1000)
        if _ends_within(attempt, timeout) and attempt.succeeded():
            return
        if isinstance(attempt.exception, kafka.errors.IncompatibleBrokerVersion):
            # a controller's port answers, and knows no metadata
            raise error_codes.translated(attempt.exception, "connecting") from None
        from . import contact  # with it come certificates

        raise contact.cause(self.settings, self._manager.failures, timeout) from None

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
        return self._asked(request, node, doing, bound, patience or bound / 2, self._before_retry)

    def _asked(
        self,
        request: Callable[[], Any],
        node: int | None,
        doing: str,
        bound: float,
        patience: float,
        before_retry: Callable[[Exception], object] = lambda exc: None,
    ) -> Any:
        deadline = time.monotonic() + bound
        try:
            send = partial(self._send, request, node, deadline, doing, patience)
            return _patiently(send, bound, may_pass, before_retry)
        except NotSent as exc:
            raise self._why_not_sent(exc, doing) from None
        except kafka.errors.KafkaError as exc:
            raise error_codes.translated(exc, doing) from None

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
        whom = self.lively() if node is None else node
        try:
            send = partial(self._send, request, whom, deadline, doing)
            return _patiently(send, self.timeout, was_not_sent, self._before_retry)
        except NotSent as exc:
            raise self._why_not_sent(exc, doing) from None
        except kafka.errors.IncompatibleBrokerVersion as exc:
            raise error_codes.translated(exc, doing) from None
        except kafka.errors.KafkaError as exc:
            raise TimedOut(
                f"the connection gave no answer while {doing} ({exc}): the change may have been made",
                code="REQUEST_TIMED_OUT",
            ) from None

    def _why_not_sent(self, exc: NotSent, doing: str) -> KadminError:
        """The error of a request that never left."""
        cause = exc.__cause__ or exc
        if isinstance(cause, kafka.errors.UnknownBrokerIdError) and cause.args and self._is_fenced(cause.args[0]):
            text = f"broker {cause.args[0]} is down (registered, and fenced), while {doing}"
            return ConnectionFailed(text, code="BROKER_NOT_AVAILABLE", hint="Start it again, or unregister it.")
        error = error_codes.translated(cause, doing)
        if isinstance(cause, REFUSALS):
            error.hint = "It was accepted before: has it been revoked or changed? Connect again."
        return error

    def _is_fenced(self, broker: int) -> bool:
        """True of a broker that is registered and does not serve, as brokers of Kafka 4.0 and later tell."""
        try:
            answer = self.ask(
                lambda: DescribeClusterRequest(include_fenced_brokers=True), doing="describing the cluster",
                timeout=PATIENCE,
            )  # fmt: skip
        except KadminError:
            return False
        return any(one.broker_id == broker and getattr(one, "is_fenced", False) for one in answer.brokers)

    @property
    def version(self) -> str:
        """The Kafka version of the first broker that answered, as the requests that it takes tell: `4.4`.

        `4.4 or newer` of one that takes requests that nobody here knows.
        """
        said = self._manager.broker_version_data
        if said is None:
            return ""
        known = BROKER_API_VERSIONS[max(BROKER_API_VERSIONS)]
        newer = {api: latest for api, (_, latest) in said.api_versions.items() if latest > known.get(api, (0, -1))[1]}
        if not newer:
            return str(said.broker_version_str)
        return "4.4" if newer.items() <= KAFKA_4_4.items() else "4.4 or newer"

    def refresh(self) -> None:
        """Learn the brokers' addresses again: until then a restarted broker is unknown.

        Not by the library's own refresh, which waits for one broker although that one may be frozen.
        """
        doing, cluster = "refreshing the metadata", self._manager.cluster
        answer = self._asked(cluster.metadata_request, None, doing, self.timeout, PATIENCE)
        _waited(self._manager.call_soon(lambda: cluster.update_metadata(answer)), self.timeout, doing)

    def close(self) -> None:
        """Close every connection and end the thread; never blocks for long."""
        self._is_closed = True
        self._end()
        if self._thread is not threading.current_thread():
            self._thread.join(1.0)

    def lively(self) -> int | None:
        """The broker that answered last: an alter sent to a frozen one is lost for its whole time-out."""
        return self._answered if self._manager.cluster.broker_metadata(self._answered) else None

    def _before_retry(self, exc: Exception) -> None:
        """A broker we do not know may have come up since the last look."""
        if isinstance(cause_of(exc), kafka.errors.UnknownBrokerIdError | kafka.errors.KafkaConnectionError):
            try:
                self.refresh()
            except KadminError:
                return

    def _send(
        self, request: Callable[[], Any], node: int | None, deadline: float, doing: str, patience: float | None = None
    ) -> Any:
        """One attempt, each with a message of its own: the library writes into what it sends."""
        if self._is_closed:
            raise ConnectionFailed(f"the connection is closed, while {doing}", hint="Connect again.")
        message = request()
        seconds_left = max(0.05, deadline - time.monotonic())
        others = node is None and len(self._manager.cluster.brokers()) > 1
        hurry = patience if others and patience and patience < seconds_left else None
        exchange = self._manager.call_soon(lambda: self._exchange(message, node, seconds_left, hurry))
        return _waited(exchange, seconds_left + 1.0, doing)

    async def _exchange(self, request: Any, node: int | None, timeout: float, hurry: float | None) -> Any:
        """Connect, and only then send: what fails before is known not to have been sent."""
        within = hurry or timeout
        try:
            if node is None:  # any will do
                connection = await self._manager.first_of(
                    self._ready(), lambda one: self._connected(one, within), within
                )
            else:
                connection = await self._connected(node, within)
        except kafka.errors.KafkaError as exc:
            is_late = isinstance(exc, kafka.errors.KafkaTimeoutError)
            raise (NoAnswerYet() if hurry and is_late else NotSent(str(exc))) from exc
        sent = connection.send_request(request, request_timeout_ms=timeout * 1000)
        try:
            answer = await (self._manager.wait_for(sent, hurry * 1000) if hurry else sent)
        except kafka.errors.KafkaTimeoutError as exc:
            raise (NoAnswerYet() if hurry else exc) from exc
        self._answered = connection.node_id
        return answer

    def _ready(self) -> list[int]:
        """The brokers that may take a request, in the order to try them; only the first if it is connected."""
        first = self._manager.least_loaded_node()
        connections = self._manager._conns
        if first is None:
            throttled = any(connection.paused for connection in connections.values())
            reason = "throttled: every broker throttles this client" if throttled else "no broker accepts requests now"
            raise NotSent(reason) from (Throttled if throttled else kafka.errors.NodeNotReadyError)(reason)
        if first in connections and connections[first].connected:
            return [first]
        others = (broker.node_id for broker in self._manager.cluster.brokers())
        return [first, *(one for one in others if one != first and not self._manager.connection_delay(one))]

    async def _connected(self, node: int | None, within: float) -> Any:
        connection = self._manager.get_connection(node)
        await self._manager.wait_for(connection.init_future, within * 1000)
        if connection.paused:
            raise Throttled(f"throttled: {connection.paused}")
        if not connection.connected:
            raise kafka.errors.KafkaConnectionError("the connection has just closed")
        return connection


def asked_together(questions: Sequence[Callable[[], Any]], most: int) -> list[Any]:
    """The answers to questions that do not depend on each other, `most` under way at a time; the first error is raised
    without waiting for the others."""
    pool = ThreadPoolExecutor(most, "kadmin-questions")
    try:
        return [*pool.map(lambda question: question(), questions)]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


HEARD = 0.5
"""Seconds after which a waiting thread looks up: on Windows an interrupt does not wake it earlier."""


def _ends_within(future: Any, within: float) -> bool:
    """Wait for a future of the library's here, where a time-out and Ctrl-C are heard."""
    done = threading.Event()
    future.add_both(lambda _: done.set())
    until = time.monotonic() + within
    while not done.wait(min(HEARD, max(0.0, until - time.monotonic()))):
        if time.monotonic() >= until:
            return False
    return True


def _waited(future: Any, within: float, doing: str) -> Any:
    """The result of a future of the library's."""
    if not _ends_within(future, within):
        raise TimedOut(f"no answer within {seconds(within)} while {doing}", code="REQUEST_TIMED_OUT")
    if future.exception is not None:
        raise future.exception
    return future.value


def understood(read: Callable[[], T], doing: str, *, may_have_happened: bool = False) -> T:
    """The value that `read` makes of an answer.

    Raises
    ------
    Unsupported
        Nonsense, such as null where names must stand.
    TimedOut
        The same of an alter, of which nobody knows then what became.
    """
    try:
        return read()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error):
        pass
    text = f"the answer cannot be read, while {doing}"
    if may_have_happened:
        raise TimedOut(f"{text}: the change may have been made", code="REQUEST_TIMED_OUT")
    raise Unsupported(text, code="CORRUPT_MESSAGE")
