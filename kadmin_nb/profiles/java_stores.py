"""Stores of a Java client, PKCS12 and JKS, read in memory.

Since Java 9 `keytool` writes PKCS12 whatever the file is called, and Java reads it under either type, so a store is
known by its content. A JCEKS store is refused with the line that converts it.
"""

from __future__ import annotations

import functools
import hashlib
import io
import secrets
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from .. import files
from ..errors import KadminError, Unsupported, UsageError
from ..secrets import Secret

MAGIC = b"\xfe\xed\xfe\xed"
_VERSION = 2
_KEY, _TRUSTED = 1, 2
_HASH_SIZE = 20

_KEY_PROTECTOR, _NO_PARAMETERS = bytes.fromhex("060a2b060104012a02110101"), b"\x05\x00"
"""The algorithm of a protected key in DER: Sun's KeyProtector, 1.3.6.1.4.1.42.2.17.1.1; a NULL may follow."""


class WrongPassword(ValueError):
    """The password is not that of the store."""


class WrongKeyPassword(ValueError):
    """The password is not that of the key."""


@dataclass(frozen=True, slots=True)
class Store:
    """The entries of a store: a key as PKCS8 in DER, its chain, and the certificates that are trusted."""

    key: bytes | None = field(repr=False)
    chain: list[x509.Certificate]
    trusted: list[x509.Certificate]


def read_jks(content: bytes, password: str | None, key_password: str | None) -> Store:
    """The entries of a JKS store; its first key where `key_password` is given.

    Without a password nothing tells that they are whole, as in Java. No library for JKS is maintained (pyjks: last
    released in 2020, with a C extension). The format is the JDK's own, as its classes JavaKeyStore and KeyProtector in
    `sun.security.provider` write it: numbers with the high byte first, a SHA-1 of everything at the end, keys under a
    stream of SHA-1 of password and salt.

    Raises
    ------
    WrongPassword, WrongKeyPassword
        The password is another's, or the content was changed.
    ValueError
        It is not a JKS store of version 2.
    """
    entries, digest = content[:-_HASH_SIZE], content[-_HASH_SIZE:]
    if password is not None and _sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + entries) != digest:
        raise WrongPassword
    reader = _Reader(entries)
    if reader.take(len(MAGIC)) != MAGIC or reader.number() != _VERSION:
        raise ValueError("not a JKS store of version 2")
    store = Store(None, [], [])
    for _ in range(reader.number()):
        tag = reader.number()
        reader.block(length_bytes=2)  # its alias
        reader.take(8)  # its date
        if tag == _TRUSTED:
            store.trusted.append(reader.certificate())
        elif tag == _KEY:
            protected, chain = reader.block(), [reader.certificate() for _ in range(reader.number())]
            if key_password is not None and store.key is None:
                store = Store(_unprotected(protected, key_password), chain, store.trusted)
        else:
            raise ValueError("an entry of an unknown kind")
    return store


def _unprotected(protected: bytes, password: str) -> bytes:
    """The key as PKCS8 in DER. Raises WrongKeyPassword, and ValueError where it is protected in another way."""
    salted = _key_octets(protected)
    salt, covered, check = salted[:_HASH_SIZE], salted[_HASH_SIZE:-_HASH_SIZE], salted[-_HASH_SIZE:]
    secret = password.encode("utf-16-be")
    parts = [_sha1(secret + salt)]
    while len(parts) * _HASH_SIZE < len(covered):
        parts.append(_sha1(secret + parts[-1]))
    key = bytes(a ^ b for a, b in zip(covered, b"".join(parts), strict=False))
    if _sha1(secret + key) != check:
        raise WrongKeyPassword
    return key


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

    def certificate(self) -> x509.Certificate:
        """The next certificate, after the name of its format."""
        self.block(length_bytes=2)
        try:
            return x509.load_der_x509_certificate(self.block())
        except x509.InvalidVersion:  # which is no ValueError
            raise ValueError("a certificate of an unknown version") from None


def _key_octets(protected: bytes) -> bytes:
    """The octets of a protected key, the last element of its DER: a byte 4, their length, and they."""
    _, algorithm, rest = protected.partition(_KEY_PROTECTOR)
    octets = rest.removeprefix(_NO_PARAMETERS)
    if not algorithm or len(octets) < 2:
        raise ValueError("a key that is protected in another way")
    is_long = octets[1] & 0x80
    return octets[2 + (octets[1] & 0x7F if is_long else 0) :]


def _sha1(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).digest()


MAX_STORE_BYTES = 1 << 22
_JCEKS = b"\xce\xce\xce\xce"


def trusted_certificates(location: str, password: str | None, store: str) -> str:
    """The certificates of a truststore as PEM.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no certificate in it, a JCEKS file.
    """
    content = _loaded(location, password, store)
    certificates = [*content.chain[:1], *content.trusted]
    if not certificates:
        raise UsageError(f"{location}, named by {store}.location, holds no certificate")
    return _pem(certificates)


def identity(location: str, password: str | None, key_password: str | None, store: str) -> tuple[str, str, Secret]:
    """The chain and the key of a keystore as PEM, and the password of this process that encrypts the key.

    A key without a password of its own has the store's.

    Raises
    ------
    NotFound, UsageError, Unsupported
        No such file, a wrong password, no private key in it, a JCEKS file.
    """
    content = _loaded(location, password, store, key_password or password)
    if content.key is None or not content.chain:
        raise UsageError(f"{location}, named by {store}.location, holds no private key with its certificate")
    return _pem(content.chain), *_encrypted(content.key)


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


def _loaded(location: str, password: str | None, store: str, key_password: str | None = None) -> Store:
    """The content of a store; the key of a JKS is read where `key_password` is given."""
    content = files.read(Path(location), f"the store of {store}.location", MAX_STORE_BYTES)
    if content.startswith(_JCEKS):
        raise Unsupported(f"{location}, named by {store}.location, is a JCEKS store", hint=_conversion(location, store))
    try:
        if content.startswith(MAGIC):
            return read_jks(content, password or None, key_password)
        return _of_pkcs12(pkcs12.load_pkcs12(content, password.encode() if password else None))
    except UnsupportedAlgorithm:
        raise Unsupported(
            f"{location}, named by {store}.location, is encrypted in a way that is not read",
            hint=_conversion(location, store),
        ) from None
    except (ValueError, TypeError, x509.InvalidVersion) as error:
        raise _unreadable(location, store, error, has_password=bool(password)) from None


def _of_pkcs12(content: pkcs12.PKCS12KeyAndCertificates) -> Store:
    others = [entry.certificate for entry in content.additional_certs]
    if content.key is None or content.cert is None:
        return Store(None, [], [*([content.cert.certificate] if content.cert else []), *others])
    key = content.key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Store(key, [content.cert.certificate, *others], others)


def _unreadable(location: str, store: str, error: Exception, *, has_password: bool) -> KadminError:
    """The error of a store that does not open; the library's words tell a wrong password from another file."""
    if isinstance(error, WrongKeyPassword):
        return UsageError(f"the key in {location}, named by {store}.location, does not open: ssl.key.password is wrong",
                          hint="If it is not set, the password of the store is tried.")  # fmt: skip
    if not isinstance(error, WrongPassword) and "password" not in str(error).lower():
        return UsageError(f"{location}, named by {store}.location, is not a PKCS12 or JKS store",
                          hint=f"A file of PEM text needs {store}.type=PEM.")  # fmt: skip
    if has_password:
        return UsageError(f"{location}, named by {store}.location, does not open: {store}.password is wrong",
                          hint="keytool -list -keystore STORE asks for the password and tries it.")  # fmt: skip
    return UsageError(f"{location}, named by {store}.location, needs {store}.password")


def _conversion(location: str, store: str) -> str:
    target = shlex.quote(str(Path(location).with_suffix(".p12")))
    line = f"keytool -importkeystore -srckeystore {shlex.quote(location)} -destkeystore {target} -deststoretype PKCS12"
    return f"{line} makes a PKCS12 store of it, for {store}.type=PKCS12 and {store}.location."
