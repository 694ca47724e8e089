"""Settings from the keys of a Java client."""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import files
from ..errors import Unsupported, UsageError
from ..hints import did_you_mean
from ..model.connection_settings import GSSAPI, PemFiles, Settings
from ..secrets import Secret
from . import java_properties
from .java_properties import KERBEROS_SERVICE, Entries

if TYPE_CHECKING:
    from .jaas import LoginModule

PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
MECHANISMS = ("AWS_MSK_IAM", GSSAPI, "OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def settings(entries: Entries) -> Settings:
    """The connection that `entries` describe, every value checked: kafka-python connects in the clear on a typo.

    Raises
    ------
    UsageError, Unsupported, NotFound
        A value that is wrong, a feature we do not have, a file that is missing.
    """
    protocol = (entries.text("security.protocol") or "PLAINTEXT").upper()  # in any case, as in Java
    _refuse_other(protocol, entries, "security.protocol", PROTOCOLS)
    module = _login_module(entries)
    sasl, tls = protocol.startswith("SASL"), protocol.endswith("SSL")
    found = Settings(
        bootstrap=_bootstrap(entries),
        security_protocol=protocol,
        mechanism=_mechanism(entries, module) if sasl else None,
        pem=stores(entries) if tls else PemFiles(),
        check_hostname=_check_hostname(entries),
        client_id=entries.text("client.id") or "kadmin_nb",
        timeout=_seconds(entries, "default.api.timeout.ms"),  # Java's bound on a call with all its attempts
        source=entries.source,
        policy=entries.policy,
        approved_only=entries.approved_only,
        ignored=tuple(sorted(key for key in entries.values if not _counts(key, sasl=sasl, tls=tls))),
    )
    return _with_login(found, entries, module) if sasl else found


def _with_login(found: Settings, entries: Entries, module: LoginModule | None) -> Settings:
    """The settings with the login of their mechanism; listeners of Amazon MSK for IAM take tokens by OAUTHBEARER."""
    if module:
        found = replace(found, ignored=(*found.ignored, *module.without_effect()))
    options = module.options if module else {}
    if found.mechanism == GSSAPI:
        service = entries.text(KERBEROS_SERVICE) or options.get("serviceName")
        if not service:
            raise UsageError(
                f"{entries.source}: GSSAPI needs the name of the brokers' service", hint=f"{KERBEROS_SERVICE}=kafka"
            )
        return replace(found, kerberos_service=service)
    if found.mechanism in _WITH_PASSWORD:
        login = entries.login or (module.password_login() if module else None)
        if login is None:
            raise UsageError(
                f"{entries.source}: {found.mechanism} needs a user and a password", hint=java_properties.LOGIN
            )
        return replace(found, username=login.username, password=login.password)
    from . import jaas  # loaded where there is such a login

    handler = java_properties.class_name(entries.text(java_properties.HANDLER) or "")
    is_msk = found.mechanism == "AWS_MSK_IAM" or handler == java_properties.MSK_HANDLER
    tokens = jaas.msk_login(entries, options) if is_msk else jaas.token_login(entries, options, found.pem.ca_file)
    return replace(found, mechanism="OAUTHBEARER", token_login=tokens)


def addresses(text: str) -> str | None:
    """`text` as `host:port[,…]` without blanks and schemes, None when it is something else.

    Kafka's clients drop the scheme of `SASL_SSL://host:port`, whatever it is.
    """
    parts = [_SCHEME.sub("", part.strip()) for part in text.split(",") if part.strip()]
    return ",".join(parts) if parts and all(map(_is_address, parts)) else None


_SCHEME = re.compile(r"^[0-9A-Za-z._%-]*://")
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]):([0-9]{1,5})")


def _is_address(text: str) -> bool:
    match = _ADDRESS.fullmatch(text)
    return match is not None and 0 < int(match[1]) < 65536


def _bootstrap(entries: Entries) -> str:
    text = entries.text("bootstrap.servers")
    if not text:
        raise UsageError(f"{entries.source} names no brokers: bootstrap.servers is missing")
    address_list = addresses(text)
    if address_list is None:
        raise UsageError(f"{entries.source}: bootstrap.servers is not host:port[,host:port…]",
                         hint="Write an IPv6 address in brackets, [::1]:9092.")  # fmt: skip
    return address_list


def _login_module(entries: Entries) -> LoginModule | None:
    """Read also where no SASL is spoken: a class is refused wherever it stands."""
    for key, understood in java_properties.CLASSES.items():
        name = java_properties.class_name(entries.text(key) or "")
        if name and name not in understood:  # we cannot stand in for it, and Java would run it
            supported = ", ".join(dict.fromkeys(known.rpartition(".")[2] for known in understood))
            raise Unsupported(f"{entries.source}: {key} is refused: no class is loaded",
                              hint=f"Supported by name: {supported}.")  # fmt: skip
    text = entries.text("sasl.jaas.config")
    if not text:
        return None
    from . import jaas  # its patterns take longer to compile than all else here to load

    return jaas.parse(text, entries.source)


def _mechanism(entries: Entries, module: LoginModule | None) -> str:
    mechanism = entries.text("sasl.mechanism") or GSSAPI
    if not entries.text("sasl.mechanism") and not (module and module.kind == mechanism):
        raise UsageError(f"{entries.source}: sasl.mechanism is not set, which means GSSAPI (Kerberos)",
                         hint=f"It is one of {', '.join(MECHANISMS)}.")  # fmt: skip
    _refuse_other(mechanism, entries, "sasl.mechanism", MECHANISMS)
    if module and not mechanism.startswith(module.kind):
        raise UsageError(
            f"{entries.source}: sasl.mechanism is {mechanism}, and the login module is one for {module.kind}"
        )
    return mechanism


_WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _check_hostname(entries: Entries) -> bool:
    algorithm = entries.text("ssl.endpoint.identification.algorithm")
    if algorithm is not None and algorithm.lower() not in ("https", ""):
        raise UsageError(f"{entries.source}: ssl.endpoint.identification.algorithm is neither https nor empty",
                         hint="An empty value switches the check of the host name off.")  # fmt: skip
    return algorithm != ""


def _seconds(entries: Entries, key: str) -> float | None:
    """The seconds of a key in milliseconds; None where it is missing or blank."""
    text = entries.text(key)
    if text and (not text.isdecimal() or int(text) == 0):
        raise UsageError(f"{entries.source}: {key} is not a number of milliseconds above 0")
    return int(text) / 1000 if text else None


def _counts(key: str, *, sasl: bool, tls: bool) -> bool:
    """True if the key has an effect here: not Java's own affair, nor that of a protocol that is not spoken."""
    is_spoken = (sasl or not key.startswith("sasl.")) and (tls or not key.startswith("ssl."))
    return is_spoken and key in java_properties.USED


def _refuse_other(value: str, entries: Entries, key: str, allowed: Collection[str]) -> None:
    """Refuse a value that is none of these; it is not repeated, as anything may have slipped into its place."""
    if value not in allowed:
        hint = did_you_mean(value.upper(), allowed)
        raise UsageError(f"{entries.source}: {key} is not one of {', '.join(allowed)}", hint=hint)


# -- TLS: both client libraries want PEM files; what is unpacked becomes one that we alone can read, until Python ends

MAX_PEM_BYTES = 1 << 22


def stores(entries: Entries) -> PemFiles:
    """The stores that `ssl.truststore.*` and `ssl.keystore.*` name.

    Raises
    ------
    Unsupported
        A JCEKS store, with the command that converts it.
    NotFound, UsageError
        No such file; a wrong password; not a store.
    """
    identity = _keystore(entries)
    if identity.key_file and not identity.key_password and _ENCRYPTED.search(Path(identity.key_file).read_bytes()):
        # OpenSSL would stop and ask for a password, on a terminal nobody looks at
        raise UsageError(f"{entries.source}: the private key is encrypted and ssl.key.password is missing")
    return replace(identity, ca_file=_truststore(entries))


def _truststore(entries: Entries) -> str | None:
    if inline := entries.text("ssl.truststore.certificates"):
        return _as_written(_blocks(inline, "ssl.truststore.certificates", entries))
    location, is_pem = _location(entries, "truststore")
    if location is None or is_pem:
        return location
    from . import java_stores  # loaded where there is such a store

    certificates = java_stores.trusted_certificates(location, entries.text("ssl.truststore.password"), "ssl.truststore")
    return _as_written(certificates)


_PARTS = ("ssl.keystore.certificate.chain", "ssl.keystore.key")


def _keystore(entries: Entries) -> PemFiles:
    """Our certificate chain and key; in a Java client a location is one file with both."""
    text = entries.text("ssl.key.password")
    password = Secret(text) if text else None
    if any(map(entries.text, _PARTS)):
        chain, key = (_as_written(_blocks(entries.text(part) or "", part, entries)) for part in _PARTS)
        return PemFiles(None, chain, key, password)
    location, is_pem = _location(entries, "keystore")
    if location is None:
        return PemFiles()
    if is_pem:
        return PemFiles(None, location, location, password)
    from . import java_stores  # loaded where there is such a store

    chain, key, cover = java_stores.identity(location, entries.text("ssl.keystore.password"), "ssl.keystore")
    return PemFiles(None, _as_written(chain), _as_written(key), cover)


def _location(entries: Entries, store: str) -> tuple[str | None, bool]:
    """The path of a store, and whether it is PEM: its content decides, whatever the type says.

    Kafka compares the type PEM exactly; the other names are Java's, in any case.
    """
    kind, location = entries.text(f"ssl.{store}.type") or "JKS", entries.text(f"ssl.{store}.location")
    if kind != "PEM" and kind.upper() not in ("PKCS12", "JKS"):
        raise UsageError(f"{entries.source}: ssl.{store}.type is not PEM, PKCS12 or JKS")
    if not location:
        return None, True
    path = Path(location).absolute()
    return str(path), b"-----BEGIN " in files.read(path, f"the store of ssl.{store}.location", MAX_PEM_BYTES)


_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED", re.MULTILINE)


def _as_written(text: str) -> str:
    """The path of a private file with this text, the same file for the same text."""
    content = text.encode()
    path = Path(_folder().name) / f"{hashlib.sha256(content).hexdigest()[:32]}.pem"
    if not path.exists():
        files.write(path, content, mode=0o600)
    return str(path)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that only we can enter; it is emptied and removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix="kadmin_nb-")


_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----")
_EXPECTED = {"ssl.keystore.key": "PRIVATE KEY"}


def _blocks(text: str, key: str, entries: Entries) -> str:
    """The PEM blocks in `text`, in lines again: Java reads a PEM whose lines were joined by blanks."""
    expected = _EXPECTED.get(key, "CERTIFICATE")
    blocks = [(label, "".join(body.split())) for label, body in _BLOCK.findall(text) if label.endswith(expected)]
    if not blocks or text.count("-----BEGIN") != len(_BLOCK.findall(text)):
        raise UsageError(f"{entries.source}: {key} is not PEM text with a {expected}",
                         hint="In a properties file every line of a value but its last ends in \\.")  # fmt: skip
    return "".join(_block(label, body) for label, body in blocks)


def _block(label: str, body: str) -> str:
    return "\n".join((f"-----BEGIN {label}-----", *re.findall(".{1,64}", body), f"-----END {label}-----", ""))
