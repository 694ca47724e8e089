"""Stores of a Java client, PKCS12 and JKS, read in memory.

Since Java 9 `keytool` writes PKCS12 whatever the file is called, and Java reads it under either type, so a store is
known by its content. A JCEKS store, and the key of a JKS store, are refused with the line that converts them.
"""

from __future__ import annotations

import functools
import hashlib
import io
import secrets
import shlex
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from .. import files
from ..errors import KadminError, Unsupported, UsageError
from ..secrets import Secret

MAGIC, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_VERSION, _TRUSTED = 2, 2
_HASH_SIZE = 20
MAX_STORE_BYTES = 1 << 22


def read_jks(content: bytes, password: str | None) -> pkcs12.PKCS12KeyAndCertificates:
    """The certificates that a JKS store trusts, in the form that the content of a PKCS12 store has.

    Without a password nothing tells that they are whole, as in Java. The format is the JDK's own, as its class
    JavaKeyStore in `sun.security.provider` writes it: numbers with the high byte first, a SHA-1 of everything at the
    end. No library for it is maintained.

    Raises
    ------
    ValueError
        The password is another's, or the content was changed; it is not a JKS store of version 2, or holds a key.
    """
    entries, digest = content[:-_HASH_SIZE], content[-_HASH_SIZE:]
    salted = (password or "").encode("utf-16-be") + b"Mighty Aphrodite" + entries
    if password is not None and hashlib.sha1(salted, usedforsecurity=False).digest() != digest:
        raise ValueError("the password is another's")
    reader = _Reader(entries)
    if reader.take(len(MAGIC)) != MAGIC or reader.number() != _VERSION:
        raise ValueError("not a JKS store of version 2")
    trusted = []
    for _ in range(reader.number()):
        if reader.number() != _TRUSTED:
            raise ValueError("a JKS store that holds a key")
        reader.block(length_bytes=2)  # its alias
        reader.take(8)  # its date
        reader.block(length_bytes=2)  # the name of its format
        trusted.append(pkcs12.PKCS12Certificate(x509.load_der_x509_certificate(reader.block()), None))
    return pkcs12.PKCS12KeyAndCertificates(None, None, trusted)


class _Reader:
    """Reads on, and never beyond the end."""

    def __init__(self, content: bytes) -> None:
        self._stream = io.BytesIO(content)

    def take(self, size: int) -> bytes:
        """The next bytes."""
        part = self._stream.read(size)
        if len(part) < size:
            raise ValueError("it ends too early")
        return part

    def number(self, size: int = 4) -> int:
        """The next number."""
        return int.from_bytes(self.take(size))

    def block(self, length_bytes: int = 4) -> bytes:
        """The next bytes, after their length."""
        return self.take(self.number(length_bytes))


def trusted_certificates(location: str, password: str | None, store: str) -> str:
    """The certificates of a truststore as PEM.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no certificate in it, a JCEKS file.
    """
    content = _loaded(location, password, store)
    certificates = [one.certificate for one in (content.cert, *content.additional_certs) if one]
    if not certificates:
        raise UsageError(f"{location}, named by {store}.location, holds no certificate")
    return _pem(certificates)


def identity(location: str, password: str | None, store: str) -> tuple[str, str, Secret]:
    """The chain and the key of a keystore as PEM, and the password of this process that encrypts the key.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no private key in it, a JKS or JCEKS file.
    """
    content = _loaded(location, password, store, of_key=True)
    if content.key is None or content.cert is None:
        raise UsageError(f"{location}, named by {store}.location, holds no private key with its certificate")
    key = content.key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain = [content.cert.certificate, *(one.certificate for one in content.additional_certs)]
    return _pem(chain), *_encrypted(key)


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


def _loaded(
    location: str, password: str | None, store: str, *, of_key: bool = False
) -> pkcs12.PKCS12KeyAndCertificates:
    """The content of a store: that of PKCS12, or the certificates of a JKS."""
    content = files.read(Path(location), f"the store of {store}.location", MAX_STORE_BYTES)
    where = f"{location}, named by {store}.location,"
    try:
        if content.startswith(_JCEKS) or (of_key and content.startswith(MAGIC)):
            raise UnsupportedAlgorithm("JCEKS, or the key of a JKS")
        if content.startswith(MAGIC):
            return read_jks(content, password or None)
        return pkcs12.load_pkcs12(content, password.encode() if password else None)
    except UnsupportedAlgorithm:
        hint = _conversion(location, store)
        raise Unsupported(f"{where} is a JCEKS store, or an old one of Java with a key", hint=hint) from None
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise _unreadable(where, store, error) from None


def _unreadable(where: str, store: str, error: Exception) -> KadminError:
    """The error of a store that does not open; the library's words tell a wrong password from another file."""
    if "password" in str(error).lower():
        return UsageError(f"{where} does not open: {store}.password is wrong or missing",
                          hint="keytool -list -keystore STORE asks for the password and tries it.")  # fmt: skip
    return UsageError(f"{where} is not a PEM, PKCS12 or JKS store")


def _conversion(location: str, store: str) -> str:
    target = shlex.quote(str(Path(location).with_suffix(".p12")))
    line = f"keytool -importkeystore -srckeystore {shlex.quote(location)} -destkeystore {target} -deststoretype PKCS12"
    return f"{line} makes a PKCS12 store of it, for {store}.type=PKCS12 and {store}.location."
