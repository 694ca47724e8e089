"""What the keys of a Java client mean to us: from entries to `Settings`."""

from __future__ import annotations

import re
from collections.abc import Collection

from ..errors import KadminError, Unsupported, UsageError
from ..model.connection_settings import Settings
from ..model.quota_keys import nearest
from . import jaas, java_keys, pem
from .entries import Entries, Login

PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_KNOWN_MECHANISMS = {"GSSAPI", "OAUTHBEARER"}

_WE_DO_THAT = {
    "ssl.enabled.protocols": {"TLSv1.2"},
    "ssl.keymanager.algorithm": {"SunX509", "PKIX", "NewSunX509"},
    "ssl.protocol": {"TLS", "TLSv1.2", "TLSv1.3"},
    "ssl.trustmanager.algorithm": {"PKIX"},
}
"""Values beside which we do no worse (TLS 1.2 or newer, certificates checked by PKIX); all others are refused."""


def settings(given: Entries) -> Settings:
    """The connection that `given` describes, every value checked: kafka-python connects in the clear on a typo.

    Raises
    ------
    UsageError, Unsupported, NotFound
        A value that is wrong, a feature we do not have, a file that is missing.
    """
    protocol = _protocol(given)
    login = _login(given)
    sasl, tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    stores = pem.stores(given) if tls else pem.Stores()
    return Settings(
        bootstrap=_bootstrap(given),
        security_protocol=protocol,
        mechanism=_mechanism(given, login) if sasl else None,
        username=login.username if sasl and login else None,
        password=login.password if sasl and login else None,
        ca_file=stores.ca_file,
        certificate_file=stores.certificate_file,
        key_file=stores.key_file,
        key_password=stores.key_password,
        check_hostname=_check_hostname(given),
        client_id=given.text("client.id") or "kadmin_nb",
        source=given.source,
        policy=given.policy,
        ignored=_ignored(given, sasl=sasl, tls=tls),
    )


def addresses(text: str) -> str | None:
    """`text` as `host:port[,…]` without blanks, None when it is something else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return ",".join(parts) if parts and all(map(_is_address, parts)) else None


_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]):([0-9]{1,5})")


def _is_address(text: str) -> bool:
    found = _ADDRESS.fullmatch(text)
    return found is not None and 0 < int(found[1]) < 65536


def _bootstrap(given: Entries) -> str:
    text = given.text("bootstrap.servers")
    if not text:
        raise UsageError(f"{given.source} names no brokers: bootstrap.servers is missing")
    found = addresses(text)
    if found is None:
        raise UsageError(f"{given.source}: bootstrap.servers is not host:port[,host:port…]",
                         hint="An IPv6 address stands in brackets, [::1]:9092; there is no '://'.")  # fmt: skip
    return found


def _protocol(given: Entries) -> str:
    """In any case, as in Java."""
    protocol = (given.text("security.protocol") or "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise _not_one_of(given, "security.protocol", PROTOCOLS)
    return protocol


def _login(given: Entries) -> Login | None:
    """The user and password, read also where no SASL is spoken: a login module is refused wherever it stands."""
    text = given.text("sasl.jaas.config")
    return jaas.parse(text, given.source) if text else given.login


def _mechanism(given: Entries, login: Login | None) -> str:
    mechanism = given.text("sasl.mechanism") or "GSSAPI"
    if mechanism in _KNOWN_MECHANISMS:
        said = mechanism if given.text("sasl.mechanism") else f"not set, which means {mechanism}"
        raise Unsupported(f"{given.source}: sasl.mechanism is {said}", hint=f"Supported are {', '.join(MECHANISMS)}.")
    if mechanism not in MECHANISMS:
        raise _not_one_of(given, "sasl.mechanism", MECHANISMS)
    if login is None:
        raise UsageError(f"{given.source}: {mechanism} needs a user and a password", hint=java_keys.LOGIN)
    if login.kind and not mechanism.startswith(login.kind):
        raise UsageError(f"{given.source}: sasl.mechanism is {mechanism}, and the login module is one for {login.kind}")
    return mechanism


def _check_hostname(given: Entries) -> bool:
    algorithm = given.text("ssl.endpoint.identification.algorithm")
    if algorithm is not None and algorithm.lower() not in ("https", ""):
        raise UsageError(f"{given.source}: ssl.endpoint.identification.algorithm is neither https nor empty",
                         hint="Empty switches the check of the host name off.")  # fmt: skip
    return algorithm != ""


def _ignored(given: Entries, *, sasl: bool, tls: bool) -> tuple[str, ...]:
    """The keys that are passed over: Java's own affairs, and those of a protocol that is not spoken."""
    if tls:
        _check_assurances(given)
    return tuple(sorted(key for key in given.values if not _counts(key, sasl=sasl, tls=tls)))


def _counts(key: str, *, sasl: bool, tls: bool) -> bool:
    spoken = (sasl or not key.startswith("sasl.")) and (tls or not key.startswith("ssl."))
    return spoken and key in java_keys.USED and key not in _WE_DO_THAT


def _check_assurances(given: Entries) -> None:
    for key, enough in _WE_DO_THAT.items():
        asked = {value.strip() for value in (given.text(key) or "").split(",")} - {""}
        if asked and not asked & enough:
            raise Unsupported(f"{given.source}: {key} asks for what we cannot promise",
                              hint=f"{key} may contain {' or '.join(sorted(enough))}, or be left out.")  # fmt: skip


def _not_one_of(given: Entries, key: str, known: Collection[str]) -> KadminError:
    """The value is repeated only where it is nearly right: anything may have slipped into its place."""
    value = given.text(key) or ""
    close = nearest(value.upper(), tuple(known))
    said = value if close else "something else"
    hint = f"Did you mean {close}?" if close else None
    return UsageError(f"{given.source}: {key} is one of {', '.join(known)}, and not {said}", hint=hint)
