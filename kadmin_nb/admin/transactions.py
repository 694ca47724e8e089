"""Records written in transactions that shut out every other writer of a topic: admin/lease.py says why it is right."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ..errors import Invalid, KadminError, NotAuthorized, TimedOut, Unsupported, printable
from ..model.connection_settings import GSSAPI, Settings, TokenLogin
from .bearer_tokens import tokens_of
from .ports import LONGEST_TRANSACTION

_QUIET_LOGGER = logging.getLogger("kadmin_nb.librdkafka")
_QUIET_LOGGER.addHandler(logging.NullHandler())
_QUIET_LOGGER.propagate = False

_CONFIG = {
    "transaction.timeout.ms": int(LONGEST_TRANSACTION * 1000),
    "message.timeout.ms": int(LONGEST_TRANSACTION * 1000),
    "socket.timeout.ms": 5_000,  # a frozen broker is given up before the bounds of its callers
    "linger.ms": 0,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}

_LASTING: Mapping[int, type[KadminError]] = {
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.INVALID_TRANSACTION_TIMEOUT: Invalid,
    KafkaError._UNSUPPORTED_FEATURE: Unsupported,
    KafkaError.UNSUPPORTED_VERSION: Unsupported,
}
"""Errors of librdkafka that trying again does not fix; being fenced, for one, is fixed."""

_SLICE = 0.1
"""Seconds in librdkafka, where Ctrl-C is not heard."""


def config(settings: Settings) -> dict[str, Any]:
    """librdkafka's configuration for these settings. Raises Unsupported for GSSAPI, which it does not know."""
    if settings.mechanism == GSSAPI:
        raise Unsupported("librdkafka, as Python has it, does not speak GSSAPI")
    values = {
        "bootstrap.servers": settings.bootstrap,
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "sasl.mechanism": settings.mechanism,
        "sasl.username": settings.username,
        "sasl.password": settings.password.reveal() if settings.password else None,
        "ssl.ca.location": settings.pem.ca_file,
        "ssl.certificate.location": settings.pem.certificate_file,
        "ssl.key.location": settings.pem.key_file,
        "ssl.key.password": settings.pem.password,
        "ssl.endpoint.identification.algorithm": "https" if settings.check_hostname else "none",
        "oauth_cb": _token_callback(settings.token_login) if settings.token_login else None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _token_callback(login: TokenLogin) -> Callable[[str], tuple[str, float, str, dict[str, str]]]:
    """Gives librdkafka a token whenever it wants one: its text, its end, no name of a principal, its extensions."""

    def fetch(_config: str) -> tuple[str, float, str, dict[str, str]]:
        token = tokens_of(login).token()
        return token.text.reveal(), token.expires, "", dict(login.extensions)

    return fetch


class FencedWriter:
    """A transactional producer of one topic, whose name is its transactional id; it writes nothing to stderr."""

    def __init__(self, settings: Settings, topic: str) -> None:
        overrides = {"transactional.id": topic, "error_cb": lambda error: None}
        self._topic = topic
        self._producer = Producer(config(settings) | _CONFIG | overrides, logger=_QUIET_LOGGER)

    def fence(self, until: float) -> None:
        """End what others have open, and shut them out."""
        with contextlib.suppress(KafkaException):
            self._producer.list_topics(self._topic, _SLICE)  # connected first: else it waits for half a second
        _patiently(self._producer.init_transactions, until)

    def write(self, records: Mapping[bytes, bytes | None], until: float) -> tuple[int, int]:
        """Begin, and append these records: the first one's offset, and the broker's time in ms since 1970.

        Raises
        ------
        TimedOut, KafkaException
            Not all were appended: nothing counts, as the transaction cannot be committed.
        """
        reports: list[tuple[KafkaError | None, Message]] = []
        self._producer.begin_transaction()
        for key, value in records.items():
            self._producer.produce(self._topic, value, key, on_delivery=lambda *report: reports.append(report))
            self._poll(0)
        while len(reports) < len(records) and time.monotonic() < until:
            self._poll(_SLICE)
        if len(reports) < len(records):
            raise TimedOut(f"the topic {self._topic} took no record in time", code="REQUEST_TIMED_OUT")
        for error, _ in reports:
            if error:
                raise KafkaException(error)
        return min((message.offset() or 0, message.timestamp()[1]) for _, message in reports)

    def _poll(self, seconds: float) -> None:
        """Hear of deliveries. A Ctrl-C that comes while our callback runs is lost to confluent-kafka, but for this."""
        try:
            self._producer.poll(seconds)
        except SystemError:
            raise KeyboardInterrupt from None

    def commit(self, until: float) -> None:
        """Make it count, unless another writer has fenced us."""
        _patiently(self._producer.commit_transaction, until)

    def abort(self) -> None:
        """Undo what is open, as far as that is quick; the broker does the rest.

        Only where nothing has failed: librdkafka ends the process when it is asked to in some states of failure.
        """
        with contextlib.suppress(KafkaException):
            self._producer.abort_transaction(_SLICE)


def _patiently(call: Callable[[float], Any], until: float) -> None:
    """librdkafka goes on where it was when it is called again."""
    while True:
        try:
            call(_SLICE)
            return
        except KafkaException as exc:
            if not exc.args[0].retriable() or time.monotonic() > until:
                raise


@contextlib.contextmanager
def errors_as_ours(topic: str) -> Iterator[None]:
    """Errors of a writer of that topic, raised within, as ours: TimedOut is what may pass when all is done again."""
    try:
        yield
    except KafkaException as exc:
        error: KafkaError = exc.args[0]
        name, kind = error.name().lstrip("_"), _LASTING.get(error.code(), TimedOut)
        is_denied = error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        words = f"it needs WRITE on the transactional id {topic}" if is_denied else printable(error.str())
        code = "REQUEST_TIMED_OUT" if kind is TimedOut else name
        raise kind(f"{name} while writing to the topic {topic}: {words}", code=code) from None
