"""GSSAPI logins (Kerberos): the package that they need, and the reason why one fails.

kafka-python logs in by the package gssapi. librdkafka, as Python's wheels have it, knows no GSSAPI.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import kafka.errors

from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, TimedOut, Unsupported
from ..hints import Hint, Verb, sentence
from ..model.connection_settings import Settings

GSSAPI = "GSSAPI"
_FAILED = "SASL_AUTHENTICATION_FAILED"


def refuse_without_package() -> None:
    """Raise Unsupported where gssapi is not installed: the library would try again and again."""
    if importlib.util.find_spec("gssapi") is None:
        raise Unsupported(
            "GSSAPI (Kerberos) needs the package gssapi",
            hint="pip install 'kadmin_nb[kerberos]' builds it, with a compiler and Kerberos (Debian: gcc libkrb5-dev).",
        )


def login_failure(error: Exception) -> KadminError | None:
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
            hint="klist shows this machine's tickets, kinit makes one; a broker is SERVICE/HOST, as it is advertised.",
        )
    return None


def connection_failure(settings: Settings, error: Exception | None, timeout: float) -> KadminError:
    """The error of a connection that was not made in time; None is silence."""
    doctor = sentence("{} tries it step by step.", Verb("doctor", "kn.doctor()"))
    hint = Hint("A broker that does not enable GSSAPI hangs up.", doctor)
    if error is None or isinstance(error, kafka.errors.KafkaTimeoutError):
        text = f"no answer from {settings.bootstrap} within {timeout:g} s"
        return TimedOut(text, code="REQUEST_TIMED_OUT", hint=hint)
    text = str(error).removeprefix(f"{type(error).__name__}: ")
    return ConnectionFailed(f"no connection to {settings.bootstrap}: {text}", code="NETWORK_EXCEPTION", hint=hint)


def _reason(error: Any) -> str:
    """The words of Kerberos itself; those of GSSAPI around them tell nothing."""
    return "; ".join(error.get_all_statuses(error.min_code, False)) or str(error)
