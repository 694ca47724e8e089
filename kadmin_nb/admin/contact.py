"""One address, step by step: its name, its port, TLS. Each step is bounded and raises what failed.

`cause` puts them together, for an address that kafka-python cannot use.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from functools import partial
from typing import TypeVar

import kafka.errors

from .. import web
from ..errors import AuthenticationFailed, ConnectionFailed, KadminError, TimedOut
from ..hints import Hint, Verb, sentence
from ..model.connection_settings import Settings
from . import connections

Result = TypeVar("Result")


def side_by_side(tasks: Iterable[Callable[[], Result]], seconds: float) -> list[Result | None]:
    """The results of tasks that run beside each other; None for one that takes longer than `seconds`."""
    futures = [web.begun(task) for task in tasks]
    wait(futures, seconds)
    return [future.result() if future.done() else None for future in futures]


def split_address(address: str) -> tuple[str, int]:
    """The host, without the brackets of IPv6, and the port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def ip_addresses(host: str, port: int, timeout: float) -> list[str]:
    """The IP addresses of a host.

    Raises
    ------
    ConnectionFailed
        The name service knows no such host.
    TimedOut
        It does not answer.
    """
    try:
        found = web.result_of(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), timeout)
    except TimeoutError:
        hint = "Check /etc/resolv.conf."
        raise TimedOut(f"the name service does not answer within {timeout:g} s", hint=hint) from None
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", "not a host name") or type(error).__name__
        raise ConnectionFailed(
            f"{host} has no address: {reason}",
            code="UNKNOWN_HOST",
            hint="Check the spelling of the host name, and that this machine is on the right network (VPN).",
        ) from None
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def connected(host: str, port: int, timeout: float) -> socket.socket:
    """An open connection to the port.

    Raises
    ------
    ConnectionFailed, TimedOut
        Nobody listens, no way there, silence.
    """
    try:
        return socket.create_connection((host, port), timeout)
    except TimeoutError:
        raise TimedOut(
            f"no connection within {timeout:g} s",
            hint="A firewall or security group drops the packets, or the host is down: allow this machine to reach it.",
        ) from None
    except OSError as error:
        raise ConnectionFailed(
            f"no connection: {error.strerror or error}",
            code="NETWORK_EXCEPTION",
            hint=Hint(
                "Check the port, and that a broker listens on it (listeners, advertised.listeners).",
                sentence("{} starts a local one.", Verb("local start", "kn.local.start()")),
            ),
        ) from None


def tls_session(settings: Settings, host: str, port: int, timeout: float) -> None:
    """See that the port speaks TLS, with a certificate that we trust.

    Raises
    ------
    ConnectionFailed, TimedOut
        Its certificate is not trusted, or the handshake fails.
    """
    with connected(host, port, timeout) as plain:
        try:
            connections.tls(settings).wrap_socket(plain, server_hostname=host).close()
        except TimeoutError:
            raise TimedOut(f"no TLS handshake within {timeout:g} s", hint=_PROTOCOL) from None
        except ssl.SSLCertVerificationError as error:
            reason = f"the certificate is refused: {error.verify_message.rstrip('.')}"
            raise ConnectionFailed(reason, code="SSL_HANDSHAKE_FAILED", hint=_NOT_TRUSTED) from None
        except OSError as error:
            why = getattr(error, "reason", None) or error.strerror or "the connection was closed"
            text = f"the TLS handshake failed: {why}"
            raise ConnectionFailed(text, code="SSL_HANDSHAKE_FAILED", hint=_PROTOCOL) from None


_PROTOCOL = "Check that this port speaks TLS: security.protocol is SSL or SASL_SSL only for a listener of that kind."
_NOT_TRUSTED = (
    "Set ssl.truststore.location to a store with the certificate of the authority that signed it; connect by a host "
    "name of the certificate, or turn that check off (ssl.endpoint.identification.algorithm=). One that has expired is "
    "renewed by the broker's operators."
)


def cause(settings: Settings, failures: Mapping[tuple[str, int], BaseException], timeout: float) -> KadminError:
    """Why no address can be used, each named with its own cause; one that is not among the failures was silent.

    One that refuses who we are comes first: another would too.
    """
    addresses = settings.bootstrap.split(",")
    tasks = [partial(_cause, settings, address, failures.get(split_address(address)), timeout) for address in addresses]
    answers = zip(addresses, side_by_side(tasks, timeout + 1.0), strict=True)
    found = [why or TimedOut(f"no answer from {address} within {timeout:g} s") for address, why in answers]
    found.sort(key=lambda why: (AuthenticationFailed, ConnectionFailed, TimedOut).index(type(why)))
    return found[0].reworded("; ".join(map(str, found)))


def _cause(settings: Settings, address: str, error: BaseException | None, timeout: float) -> KadminError:
    if isinstance(error, KadminError):
        return error
    if isinstance(error, kafka.errors.KafkaTimeoutError | kafka.errors.RequestTimedOutError):
        error = None  # silence
    if isinstance(error, kafka.errors.BrokerResponseError) or (
        error and not isinstance(error, kafka.errors.KafkaError)
    ):
        source = settings.token_login.source if settings.token_login else settings.source
        hint = (
            f"Check user and password (of a token its issuer, audience and scope; of Kerberos the ticket, which klist "
            f"shows) of {source}, the mechanism, and whether the listener requires a login."
        )
        return AuthenticationFailed(f"{address}: {error}", code="SASL_AUTHENTICATION_FAILED", hint=hint)
    try:
        host, port = split_address(address)
        ip_addresses(host, port, timeout)
        tls_session(settings, host, port, timeout) if settings.uses_tls else connected(host, port, timeout).close()
    except KadminError as failure:
        return failure.reworded(f"{address}: {failure}")
    hint = (
        f"We speak {settings.security_protocol}: is this a broker's port, and which protocol, certificate or login "
        "does it require? A broker above a limit of connections closes them, too."
    )
    if error is None:
        return TimedOut(f"no answer from {address} within {timeout:g} s", code="REQUEST_TIMED_OUT", hint=hint)
    is_strange = isinstance(error, kafka.errors.KafkaProtocolError)
    what = "answers with something else than the Kafka protocol" if is_strange else "closes the connection"
    return ConnectionFailed(f"{address} {what}", code="NETWORK_EXCEPTION", hint=hint)
