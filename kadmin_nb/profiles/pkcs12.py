"""PKCS12 stores of a Java client, read in memory; a JKS file is refused with the line that converts it.

Since Java 9 `keytool` writes PKCS12 whatever the file is called, and Java reads it under either type, so a store is
known by its content. No library for the JKS format is maintained (pyjks: last released in 2020, with a C extension).
"""

from __future__ import annotations

import functools
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from .. import files
from ..errors import KadminError, Unsupported, UsageError
from ..secrets import Secret

MAX_STORE_BYTES = 1 << 22
_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate chain and its private key as PEM, the key encrypted under a password of this process."""

    chain: str
    key: str
    password: Secret


def trusted_certificates(location: str, password: str | None, store: str) -> str:
    """The certificates of a truststore as PEM.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no certificate in it, a JKS file.
    """
    content = _loaded(location, password, store)
    certificates = [entry.certificate for entry in (content.cert, *content.additional_certs) if entry]
    if not certificates:
        raise UsageError(f"{location}, named by {store}.location, holds no certificate")
    return _pem(certificates)


def identity(location: str, password: str | None, store: str) -> Identity:
    """The key of a keystore and its chain.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no private key in it, a JKS file.
    """
    content = _loaded(location, password, store)
    if content.key is None or content.cert is None:
        raise UsageError(f"{location}, named by {store}.location, holds no private key with its certificate")
    key, cover = _encrypted(
        content.key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    chain = [content.cert.certificate, *(entry.certificate for entry in content.additional_certs)]
    return Identity(_pem(chain), key, cover)


@functools.cache
def _encrypted(key: bytes) -> tuple[str, Secret]:
    """The key as PEM, and its password; the same for the same key, so that equal settings stay equal."""
    cover = secrets.token_urlsafe(32)
    text = serialization.load_der_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(cover.encode()),
    )
    return text.decode(), Secret(cover)


def _pem(certificates: list[x509.Certificate]) -> str:
    return "".join(certificate.public_bytes(serialization.Encoding.PEM).decode() for certificate in certificates)


def _loaded(location: str, password: str | None, store: str) -> pkcs12.PKCS12KeyAndCertificates:
    content = files.read(Path(location), f"the store of {store}.location", MAX_STORE_BYTES)
    if content.startswith((_JKS, _JCEKS)):
        raise Unsupported(f"{location}, named by {store}.location, is a JKS store", hint=_conversion(location, store))
    try:
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except UnsupportedAlgorithm:
        raise Unsupported(
            f"{location}, named by {store}.location, is encrypted in a way that is not read",
            hint=_conversion(location, store),
        ) from None
    except (ValueError, TypeError) as error:
        raise _unreadable(location, store, error, has_password=bool(password)) from None


def _unreadable(location: str, store: str, error: Exception, *, has_password: bool) -> KadminError:
    """The error of a store that does not open; the library's words tell a wrong password from another file."""
    if "password" not in str(error).lower():
        return UsageError(f"{location}, named by {store}.location, is not a PKCS12 store",
                          hint=f"A file of PEM text needs {store}.type=PEM.")  # fmt: skip
    if has_password:
        return UsageError(f"{location}, named by {store}.location, does not open: {store}.password is wrong",
                          hint="keytool -list -keystore STORE asks for the password and tries it.")  # fmt: skip
    return UsageError(f"{location}, named by {store}.location, needs {store}.password")


def _conversion(location: str, store: str) -> str:
    target = shlex.quote(str(Path(location).with_suffix(".p12")))
    line = f"keytool -importkeystore -srckeystore {shlex.quote(location)} -destkeystore {target} -deststoretype PKCS12"
    return f"{line} makes a PKCS12 store of it, for {store}.type=PKCS12 and {store}.location."
