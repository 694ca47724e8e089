"""JKS, in which `keytool` wrote stores before Java 9: its entries, read in memory.

No library for it is maintained (pyjks: last released in 2020, with a C extension). The format is the JDK's own, as its
classes JavaKeyStore and KeyProtector in `sun.security.provider` write it: numbers with the high byte first, a SHA-1 of
everything at the end, keys under a stream of SHA-1 of password and salt.
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field

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
class ProtectedKey:
    """A private key under a password, and the chain of its certificates as DER."""

    protected: bytes = field(repr=False)
    chain: list[bytes]

    def key(self, password: str) -> bytes:
        """The key as PKCS8 in DER. Raises WrongKeyPassword, and ValueError where it is protected in another way."""
        salted = _key_octets(self.protected)
        salt, covered, check = salted[:_HASH_SIZE], salted[_HASH_SIZE:-_HASH_SIZE], salted[-_HASH_SIZE:]
        secret = password.encode("utf-16-be")
        key = bytes(a ^ b for a, b in zip(covered, _key_stream(secret, salt, len(covered)), strict=False))
        if _sha1(secret + key) != check:
            raise WrongKeyPassword
        return key


@dataclass(frozen=True, slots=True)
class JksStore:
    """The entries of a store: its keys, and the certificates that are trusted, as DER."""

    keys: list[ProtectedKey] = field(default_factory=list)
    trusted: list[bytes] = field(default_factory=list)


def read_store(content: bytes, password: str | None) -> JksStore:
    """The entries; without a password nothing tells that they are whole, as in Java.

    Raises
    ------
    WrongPassword
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
    store = JksStore()
    for _ in range(reader.number()):
        _read_entry(reader, store)
    return store


def _read_entry(reader: _Reader, store: JksStore) -> None:
    tag = reader.number()
    reader.block(length_bytes=2)  # its alias
    reader.take(8)  # its date
    if tag == _KEY:
        store.keys.append(ProtectedKey(reader.block(), [reader.certificate() for _ in range(reader.number())]))
    elif tag == _TRUSTED:
        store.trusted.append(reader.certificate())
    else:
        raise ValueError("an entry of an unknown kind")


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
        """The next bytes, whose length stands before them."""
        return self.take(self.number(length_bytes))

    def certificate(self) -> bytes:
        """The next certificate, whose format stands before it."""
        self.block(length_bytes=2)
        return self.block()


def _key_octets(protected: bytes) -> bytes:
    """The octets of a protected key, the last element of its DER: a byte 4, their length, and they."""
    _, algorithm, rest = protected.partition(_KEY_PROTECTOR)
    octets = rest.removeprefix(_NO_PARAMETERS)
    if not algorithm or len(octets) < 2:
        raise ValueError("a key that is protected in another way")
    is_long = octets[1] & 0x80
    return octets[2 + (octets[1] & 0x7F if is_long else 0) :]


def _key_stream(secret: bytes, salt: bytes, size: int) -> bytes:
    parts = [_sha1(secret + salt)]
    while len(parts) * _HASH_SIZE < size:
        parts.append(_sha1(secret + parts[-1]))
    return b"".join(parts)


def _sha1(content: bytes) -> bytes:
    return hashlib.sha1(content, usedforsecurity=False).digest()
