"""kafka-python, configured by the settings of a connection: its manager of connections, and TLS."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable

from ..errors import ConnectionFailed, NotFound
from ..model.connection_settings import Settings
from .connections import Manager, NetworkSelector, Tokens

LARGEST_ANSWER = 1 << 30
"""Bytes in one answer, above which the connection is closed; a million entities are about 120 MB."""

AT_ONCE = 0.05
"""Seconds that librdkafka is given to name what is wrong with the settings: it needs no broker for that."""


def manager(net: NetworkSelector, settings: Settings, timeout: float) -> Manager:
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
    for file in (settings.ca_file, settings.certificate_file, settings.key_file):
        if file and not os.path.isfile(file):
            raise NotFound(f"{settings.source}: no such file: {file}")
    try:
        return _tls_context(settings)
    except (OSError, ValueError):
        raise_cause(settings, AT_ONCE, 0.0, lambda: False)
        raise ConnectionFailed(f"{settings.source}: a PEM file cannot be read", code="INVALID_CONFIG") from None


def _tls_context(settings: Settings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_file)
    context.check_hostname = settings.check_hostname
    if settings.certificate_file:
        secret = settings.key_password
        context.load_cert_chain(settings.certificate_file, settings.key_file, secret.reveal() if secret else None)
    return context


def raise_cause(settings: Settings, timeout: float, spent: float, is_reached: Callable[[], bool]) -> None:
    """Raise what librdkafka, or the source of tokens, says stands in the way; nothing where neither knows."""
    from . import first_contact

    no_token = first_contact.token_failure(settings, timeout - spent)
    if cause := no_token or first_contact.cause(settings, timeout, spent=spent, is_reached=is_reached):
        raise cause from None
