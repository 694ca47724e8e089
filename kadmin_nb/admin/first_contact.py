"""The first connection, made with confluent-kafka because it names the cause of a failure at once.

kafka-python's constructor turns a wrong password, a closed port and a TLS mismatch into one late time-out,
and can hang on a silent TLS port (broker-facts 2.1), so it connects only after this has succeeded.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, NotFound, TimedOut
from ..model.settings import Settings

_SILENT = logging.getLogger("kadmin_nb.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_POLL = 0.005
_GRACE = 0.4
"""Seconds for the cause to follow a bare "all brokers down" (it is often the second call)."""


def config(settings: Settings) -> dict[str, Any]:
    """librdkafka's configuration for these settings."""
    password = settings.password.reveal() if settings.password else None
    key_password = settings.key_password.reveal() if settings.key_password else None
    values = {
        "bootstrap.servers": settings.bootstrap,
        "client.id": settings.client_id,
        "security.protocol": settings.security_protocol,
        "sasl.mechanism": settings.mechanism,
        "sasl.username": settings.username,
        "sasl.password": password,
        "ssl.ca.location": settings.ca_file,
        "ssl.certificate.location": settings.certificate_file,
        "ssl.key.location": settings.key_file,
        "ssl.key.password": key_password,
        "ssl.endpoint.identification.algorithm": "https" if settings.check_hostname else "none",
    }
    return {key: value for key, value in values.items() if value is not None}


def client(settings: Settings, errors: list[KafkaError] | None = None) -> AdminClient:
    """An AdminClient that writes nothing to stderr; what it reports is appended to `errors`."""
    noted = errors if errors is not None else []
    return AdminClient(config(settings) | {"error_cb": noted.append}, logger=_SILENT)


_CAUSES = frozenset({KafkaError._AUTHENTICATION, KafkaError._RESOLVE, KafkaError._SSL})
"""Codes that name the cause; a refused port is one only when every broker is down."""


@dataclass
class _Probe:
    """What librdkafka has reported so far."""

    alone: bool
    errors: list[KafkaError] = field(default_factory=list)
    down_since: float | None = None

    def verdict(self) -> KafkaError | None:
        """The error to give up on: a named cause at once, a bare "all are down" after a little while.

        One address of several that is wrong is no cause: the others may answer.
        """
        down = self._first({KafkaError._ALL_BROKERS_DOWN})
        named = self._first(_CAUSES)
        if named and (down or self.alone):
            return named
        return (self._first({KafkaError._TRANSPORT}) or down) if down and self._waited() else None

    def _first(self, codes: Collection[int]) -> KafkaError | None:
        return next((e for e in self.errors if e.code() in codes), None)

    def _waited(self) -> bool:
        self.down_since = self.down_since or time.monotonic()
        return time.monotonic() - self.down_since > _GRACE


def meet(settings: Settings, timeout: float) -> None:
    """Reach any broker, or raise what stands in the way.

    Raises
    ------
    AuthenticationFailed
        Wrong password, unknown user, a mechanism that is not enabled.
    ConnectionFailed
        Closed port, unknown name, TLS mismatch, nothing there.
    TimedOut
        Silence for `timeout` seconds.
    NotFound
        A certificate's or key's file is not there.
    """
    _refuse_missing_files(settings)
    if failure := _tried(settings, timeout):
        raise failure


def _tried(settings: Settings, timeout: float) -> KadminError | None:
    """What stands in the way. Returned, not raised: a traceback would keep the client and its threads alive."""
    probe = _Probe(alone="," not in settings.bootstrap)
    try:
        admin = client(settings, probe.errors)
    except KafkaException as exc:
        return ConnectionFailed(f"{settings.source}: {_text(exc.args[0])}", code="INVALID_CONFIG")
    asked = admin.describe_cluster(request_timeout=timeout)
    deadline = time.monotonic() + timeout
    try:
        while not asked.done() and time.monotonic() < deadline:
            admin.poll(_POLL)
            if cause := probe.verdict():
                return _failure(cause, settings)
        return _silence(settings, probe, timeout) if not asked.done() or asked.exception() else None
    finally:
        del admin, asked


def _refuse_missing_files(settings: Settings) -> None:
    """librdkafka says of a file that is not there: BIO lib."""
    for file in (settings.ca_file, settings.certificate_file, settings.key_file):
        if file and not os.path.isfile(file):
            raise NotFound(f"{settings.source}: there is no file {file}")


def _silence(settings: Settings, probe: _Probe, timeout: float) -> KadminError:
    if probe.errors:
        return _failure(probe.errors[0], settings)
    return TimedOut(
        f"no answer from {settings.bootstrap} within {timeout:g} s",
        code="REQUEST_TIMED_OUT",
        hint="The port is open and silent: is it Kafka, and is it a TLS port?",
    )


def _failure(cause: KafkaError, settings: Settings) -> KadminError:
    text = f"{settings.bootstrap}: {_text(cause)}"
    if cause.code() == KafkaError._AUTHENTICATION:
        return AuthenticationFailed(text, code="SASL_AUTHENTICATION_FAILED", hint=_credentials_hint(text, settings))
    if cause.code() == KafkaError._ALL_BROKERS_DOWN:
        return ConnectionFailed(
            f"{settings.bootstrap} closes the connection",
            code="NETWORK_EXCEPTION",
            hint=f"We speak {settings.security_protocol}: does this port want TLS or SASL?",
        )
    return ConnectionFailed(text, code=_NAMES.get(cause.code(), "NETWORK_EXCEPTION"), hint=_hint(cause))


_NAMES = {KafkaError._RESOLVE: "UNKNOWN_HOST", KafkaError._SSL: "SSL_HANDSHAKE_FAILED"}


def _credentials_hint(text: str, settings: Settings) -> str:
    if "supported mechanisms" in text:
        return "Choose one of the mechanisms that the broker names." if settings.uses_sasl else ""
    return f"Check user and password in {settings.source}."


def _hint(cause: KafkaError) -> str | None:
    if cause.code() == KafkaError._SSL:
        return "Check ssl.truststore.location, and that the certificate names this host."
    if cause.code() == KafkaError._RESOLVE:
        return "Check the spelling of the host name."
    if "refused" in str(cause.str()):
        return "Is the broker running? kadmin-nb local start brings one up."
    return None


def _text(cause: KafkaError) -> str:
    """librdkafka's words without its thread name and timings."""
    said = cause.str()
    said = said.split(" (after ", 1)[0]
    head, found, tail = said.partition("/bootstrap: ")
    return (tail if found else head).strip()
