"""The cause when a cluster cannot be reached: confluent-kafka names the cause at once, address by address.

kafka-python turns a wrong password, a closed port and a TLS mismatch into one late time-out (kafka-facts 3.3), so
where it cannot connect every address is tried once more here, side by side.
"""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from ..errors import CONNECTIONS_LIMITED, AuthenticationFailed, ConnectionFailed, KadminError, TimedOut, Unsupported
from ..hints import Hint, Verb, sentence
from ..model.connection_settings import GSSAPI, Settings, TokenLogin
from .bearer_tokens import tokens_of

QUIET_LOGGER = logging.getLogger("kadmin_nb.librdkafka")
QUIET_LOGGER.addHandler(logging.NullHandler())
QUIET_LOGGER.propagate = False
_POLL = 0.005
_GRACE = 0.4
"""Seconds for the cause to follow a bare "all brokers down" (it is often the second call)."""
_MOST_ADDRESSES = 8
"""Addresses that are tried; each is a client of librdkafka with threads of its own."""


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


def client(settings: Settings) -> AdminClient:
    """An AdminClient that writes nothing to stderr."""
    return AdminClient(config(settings) | {"error_cb": lambda error: None}, logger=QUIET_LOGGER)


_NEVER_BY_ITSELF = {"api.version.request.timeout.ms": 300_000, "socket.connection.setup.timeout.ms": 300_000}
"""Silence is ours to call: librdkafka takes ten seconds of it for a broker that is down."""

_CONCLUSIVE = (KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE, KafkaError._BAD_MSG)
_TELLING = (*_CONCLUSIVE, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
"""The codes that name a cause, the most telling first."""


@dataclass
class _Probe:
    """One address, tried by a client of its own."""

    settings: Settings
    errors: list[KafkaError] = field(default_factory=list)
    down_since: float | None = None

    def __post_init__(self) -> None:
        self._admin = AdminClient(
            config(self.settings) | _NEVER_BY_ITSELF | {"error_cb": self.errors.append}, logger=QUIET_LOGGER
        )
        self._asked = self._admin.describe_cluster(request_timeout=300)

    def is_answered(self) -> bool:
        """True if the address has answered, after what has happened meanwhile has been heard."""
        self._admin.poll(_POLL)
        return bool(self._asked.done() and not self._asked.exception())

    def cause(self) -> KadminError | None:
        """A conclusive cause at once; a connection that merely broke after a little while, as more may follow."""
        telling = self._telling()
        if telling is None:
            return None
        self.down_since = self.down_since or time.monotonic()
        patient = telling.code() not in _CONCLUSIVE and time.monotonic() - self.down_since < _GRACE
        return None if patient else _failure(telling, self.settings)

    @property
    def is_hung_up(self) -> bool:
        """True if all that is known is that the other end closed the connection."""
        telling = self._telling()
        return telling is not None and _is_closed(telling)

    def _telling(self) -> KafkaError | None:
        """The error that says most; None so far."""
        telling = (error for error in self.errors if error.code() in _TELLING)
        return min(telling, key=lambda error: _TELLING.index(error.code()), default=None)

    def silence(self, timeout: float) -> KadminError:
        """The error where no cause has come."""
        protocol = "does it speak TLS" if self.settings.uses_tls else "does it require TLS"
        return TimedOut(
            f"no answer from {self.settings.bootstrap} within {timeout:g} s",
            code="REQUEST_TIMED_OUT",
            hint=f"Is this a broker's port for {protocol}? Is a firewall in between?",
        )


def token_failure(settings: Settings, within: float) -> KadminError | None:
    """The reason why no token can be had; it is fetched first, since librdkafka waits for it in silence."""
    try:
        if settings.token_login:
            tokens_of(settings.token_login).token(within)
    except KadminError as failure:
        return failure.with_traceback(None)
    return None


def cause(
    settings: Settings, timeout: float, *, spent: float = 0.0, is_reached: Callable[[], bool] = lambda: False
) -> KadminError | None:
    """The reason why no connection is made; None where an address answers, or `is_reached` says so.

    Returned, not raised: a traceback would keep the clients and their threads alive.

    Parameters
    ----------
    spent
        Seconds of `timeout` that have already gone by.
    """
    deadline = time.monotonic() + timeout - spent
    try:
        probes = [_Probe(replace(settings, bootstrap=one)) for one in settings.bootstrap.split(",")[:_MOST_ADDRESSES]]
    except KafkaException as exc:
        return ConnectionFailed(f"{settings.source}: {_error_text(exc.args[0])}", code="INVALID_CONFIG")
    while True:
        answers = [probe.is_answered() for probe in probes]
        if any(answers) or is_reached():
            return None
        causes = [probe.cause() for probe in probes]
        if all(causes) or _is_refused(causes) or time.monotonic() > deadline:
            hung_up = next((probe.settings.bootstrap for probe in probes if probe.is_hung_up), None)
            limited = limit_failure(hung_up) if hung_up and not _is_refused(causes) else None
            named = [why or probe.silence(timeout) for why, probe in zip(causes, probes, strict=True)]
            return limited or _together(named)


UNASKED = 2.0
"""Seconds in which a broker closes a connection of an address that is throttled: after one window, a second, or soon
after."""


def limit_failure(address: str) -> ConnectionFailed | None:
    """The error of an address that closes a connection on which nothing was sent; None where it stays open.

    A port that requires TLS or a login waits for our first bytes. A broker closes one that is above a limit of
    connections as soon as it is made, and one above a limit of new connections after the time of the throttle.
    """
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), UNASKED)
    except (OSError, ValueError):
        return None
    with connection:
        ours, is_closed = connection.getsockname()[0], True
        connection.settimeout(UNASKED)
        with suppress(ConnectionResetError):
            try:
                is_closed = not connection.recv(1)
            except TimeoutError:
                is_closed = False
    if not is_closed:
        return None
    return ConnectionFailed(
        f"{address} closes connections of {ours} before anything is sent, as brokers do above a limit of connections",
        code=CONNECTIONS_LIMITED,
        hint=f"Close clients of {ours}, or raise what the broker allows: connection_creation_rate of its ip, "
        "max.connections.per.ip and its overrides. A load balancer without a broker behind it does the same.",
    )


def _is_refused(causes: Sequence[KadminError | None]) -> bool:
    """True if a broker refuses who we are: another one would too."""
    return any(isinstance(why, AuthenticationFailed) for why in causes)


def _together(causes: Sequence[KadminError]) -> KadminError:
    """One error that names every address, of the kind that says most."""
    if len(causes) == 1:
        return causes[0]
    first = min(causes, key=lambda why: (AuthenticationFailed, ConnectionFailed, TimedOut).index(type(why)))
    return first.reworded("; ".join(map(str, causes)))


def _failure(cause: KafkaError, settings: Settings) -> KadminError:
    address, text = settings.bootstrap, _error_text(cause)
    if cause.code() == KafkaError._AUTHENTICATION:
        hint = _credentials_hint(text, settings)
        if settings.token_login:
            tokens_of(settings.token_login).forget()
        return AuthenticationFailed(f"{address}: {text}", code="SASL_AUTHENTICATION_FAILED", hint=hint)
    if cause.code() == KafkaError._BAD_MSG or _NO_TLS in text:
        return ConnectionFailed(
            f"{address} answers with something else than {'TLS' if settings.uses_tls else 'the Kafka protocol'}",
            code="NETWORK_EXCEPTION",
            hint=f"We speak {settings.security_protocol}: is this a broker's port, and which protocol does it require?",
        )
    if _OUR_CERTIFICATE.search(text):
        hint = "Check when our certificate ends and who signed it; ssl.keystore.location names its store."
        return ConnectionFailed(f"{address}: {text}", code="SSL_HANDSHAKE_FAILED", hint=hint)
    if "ssl://" in cause.str() and _is_closed(cause) and any(words in cause.str() for words in _BEFORE_TLS):
        # librdkafka asks whether the port is a plain one only in some of its lines, by when the connection broke
        text = "the TLS handshake was broken off: connecting to a PLAINTEXT broker listener?"
    elif _is_closed(cause):
        wants = f"does this port require {'a certificate' if settings.uses_tls else 'TLS'} or SASL?"
        return ConnectionFailed(
            f"{address} closes the connection",
            code="NETWORK_EXCEPTION",
            hint=f"We speak {settings.security_protocol}: {wants} So does a broker above a limit of connections.",
        )
    return ConnectionFailed(f"{address}: {text}", code=_NAMES.get(cause.code(), "NETWORK_EXCEPTION"), hint=_hint(cause))


_OUR_CERTIFICATE = re.compile(r"alert (?:[a-z ]*certificate|unknown ca)")
"""OpenSSL's words for a broker that does not accept us."""


_NO_TLS = "wrong version number"
"""OpenSSL's words for bytes that are not TLS."""


_BEFORE_TLS = ("in state CONNECT", "in state SSL_HANDSHAKE")


def _is_closed(cause: KafkaError) -> bool:
    broken = any(words in cause.str() for words in ("Disconnected", "reset by peer"))
    return cause.code() == KafkaError._ALL_BROKERS_DOWN or (cause.code() == KafkaError._TRANSPORT and broken)


_NAMES = {KafkaError._RESOLVE: "UNKNOWN_HOST", KafkaError._SSL: "SSL_HANDSHAKE_FAILED"}


_MECHANISMS = "supported mechanisms:"
"""librdkafka's words before the mechanisms that a broker takes."""


def _credentials_hint(text: str, settings: Settings) -> str:
    if settings.uses_sasl and text.rstrip().endswith(_MECHANISMS):
        protocol = settings.security_protocol.removeprefix("SASL_")
        return f"This listener names none: it requires no login. Is it meant for security.protocol={protocol}?"
    if _MECHANISMS in text:
        return "Choose one of the mechanisms that the broker names." if settings.uses_sasl else ""
    if settings.token_login:
        return f"Compare issuer, audience and scope of the token of {settings.token_login.source} with the broker's."
    return f"Check user and password in {settings.source}."


def _hint(cause: KafkaError) -> str | Hint | None:
    if cause.code() == KafkaError._SSL:
        return "Check ssl.truststore.location, and that the certificate names this host."
    if cause.code() == KafkaError._RESOLVE:
        return "Check the spelling of the host name."
    if "refused" in str(cause.str()):
        start = Verb("local start", "kn.local.start()")
        return Hint("Is the broker running?", sentence("{} starts one.", start))
    return None


def _error_text(cause: KafkaError) -> str:
    """librdkafka's words without its thread name and timings."""
    return cause.str().split(" (after ", 1)[0].split("/bootstrap: ", 1)[-1].strip()
