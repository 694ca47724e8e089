"""TLS stores of a Java client as PEM files: one that is PEM as it is, texts and PKCS12 stores unpacked.

Both client libraries want files, so what is unpacked becomes one: readable by us alone, gone when Python ends.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import files
from ..errors import KadminError, Unsupported, UsageError
from ..hints import did_you_mean
from ..secrets import Secret
from .java_properties import Entries

MAX_PEM_BYTES = 1 << 22
_STORE_TYPES = ("PEM", "PKCS12", "JKS")


@dataclass(frozen=True, slots=True)
class PemStores:
    """PEM files: whom we trust, and who we are. None: the machine's own authorities; nobody."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: Secret | None = None


def stores(entries: Entries) -> PemStores:
    """The stores that `ssl.truststore.*` and `ssl.keystore.*` name.

    Raises
    ------
    Unsupported
        A JCEKS store, with the command that converts it.
    NotFound, UsageError
        No such file; a wrong password; not of its type; parts that cannot be combined.
    """
    identity = _keystore(entries)
    if identity.key_file and not identity.key_password and _is_encrypted(identity.key_file):
        raise UsageError(f"{entries.source}: the private key is encrypted and ssl.key.password is missing")
    return replace(identity, ca_file=_truststore(entries))


def _truststore(entries: Entries) -> str | None:
    inline = entries.text("ssl.truststore.certificates")
    location = _location(entries, "truststore", "ssl.truststore.certificates" if inline else None)
    if inline:
        return _as_written(_blocks(inline, "ssl.truststore.certificates", entries))
    if location is None or _store_type(entries, "truststore") == "PEM":
        return location
    from . import java_stores  # loaded where there is such a store

    certificates = java_stores.trusted_certificates(location, entries.text("ssl.truststore.password"), "ssl.truststore")
    return _as_written(certificates)


_PARTS = ("ssl.keystore.certificate.chain", "ssl.keystore.key")


def _keystore(entries: Entries) -> PemStores:
    """Our certificate chain and key; in a Java client a location is one file with both."""
    present = [part for part in _PARTS if entries.text(part)]
    location = _location(entries, "keystore", present[0] if present else None)
    if present:
        return _identity_of_texts(entries, present)
    if location is None or _store_type(entries, "keystore") == "PEM":
        return PemStores(None, location, location, _key_password(entries) if location else None)
    return _unpacked(location, entries.text("ssl.keystore.password"), entries.text("ssl.key.password"))


def _identity_of_texts(entries: Entries, present: Sequence[str]) -> PemStores:
    if len(present) == 1:
        missing = next(part for part in _PARTS if part not in present)
        raise UsageError(f"{entries.source}: {present[0]} needs {missing}, too")
    chain, key = (_as_written(_blocks(entries.text(part) or "", part, entries)) for part in _PARTS)
    return PemStores(None, chain, key, _key_password(entries))


def _key_password(entries: Entries) -> Secret | None:
    text = entries.text("ssl.key.password")
    return Secret(text) if text else None


def _unpacked(location: str, password: str | None, key_password: str | None) -> PemStores:
    """The files of a PKCS12 or JKS keystore, its key encrypted."""
    from . import java_stores  # loaded where there is such a store

    identity = java_stores.identity(location, password, key_password, "ssl.keystore")
    return PemStores(None, _as_written(identity.chain), _as_written(identity.key), identity.password)


def _location(entries: Entries, store: str, inline: str | None) -> str | None:
    """The path of a store; with `inline`, the key of the same as a text, there must be none."""
    location = entries.text(f"ssl.{store}.location") or None
    if location is None and inline is None:
        return None
    if location and inline:
        raise UsageError(f"{entries.source}: ssl.{store}.location and {inline} are both given; use one")
    kind = _store_type(entries, store)
    if inline and kind != "PEM":
        described = entries.text(f"ssl.{store}.type") or "not set, which means JKS"
        raise Unsupported(f"{entries.source}: ssl.{store}.type is {described}, and {inline} is PEM",
                          hint=f"Write ssl.{store}.type=PEM.")  # fmt: skip
    if kind != "PEM":
        return location
    if entries.text(f"ssl.{store}.password"):
        raise UsageError(f"{entries.source}: ssl.{store}.password does not go with a PEM store",
                         hint="The password of an encrypted key is ssl.key.password.")  # fmt: skip
    return _checked(location, f"ssl.{store}.location") if location else None


def _store_type(entries: Entries, store: str) -> str:
    """One of `_STORE_TYPES`: a Java client takes a store without a type for JKS.

    Kafka compares PEM exactly; the other names are Java's, in any case.
    """
    key = f"ssl.{store}.type"
    text = entries.text(key) or "JKS"
    kind = text if text.upper() == "PEM" else text.upper()
    if kind not in _STORE_TYPES:
        hint = did_you_mean(kind.upper(), _STORE_TYPES)
        raise UsageError(f"{entries.source}: {key} is not PEM, PKCS12 or JKS", hint=hint)
    return kind


def _checked(location: str, key: str) -> str:
    content = files.read(Path(location), f"the PEM file of {key}", MAX_PEM_BYTES)
    if b"-----BEGIN " not in content:
        raise UsageError(f"{location}, named by {key}, is not a PEM file")
    return str(Path(location).absolute())


def _is_encrypted(path: str) -> bool:
    """True if OpenSSL would stop and ask for a password, on a terminal nobody looks at."""
    return _ENCRYPTED.search(Path(path).read_bytes()) is not None


_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED", re.MULTILINE)


def _as_written(text: str) -> str:
    """The path of a private file with this text, the same file for the same text."""
    content = text.encode()
    path = _folder() / f"{hashlib.sha256(content).hexdigest()[:32]}.pem"
    if not path.exists():
        files.write(path, content, mode=0o600)
    return str(path)


@functools.cache
def _folder() -> Path:
    """A folder that only we can enter; it is emptied and removed when Python ends."""
    _folder_of_this_process.append(tempfile.TemporaryDirectory(prefix="kadmin_nb-"))
    return Path(_folder_of_this_process[0].name)


_folder_of_this_process: list[tempfile.TemporaryDirectory[str]] = []
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----")
_EXPECTED = {"ssl.keystore.key": "PRIVATE KEY"}


def _blocks(text: str, key: str, entries: Entries) -> str:
    """The PEM blocks in `text`, in lines again: Java reads a PEM whose lines were joined by blanks."""
    expected = _EXPECTED.get(key, "CERTIFICATE")
    blocks = [(label, "".join(body.split())) for label, body in _BLOCK.findall(text) if label.endswith(expected)]
    if not blocks or text.count("-----BEGIN") != len(_BLOCK.findall(text)):
        raise _no_pem(key, expected, entries)
    return "".join(_block(label, body) for label, body in blocks)


def _block(label: str, body: str) -> str:
    return "\n".join((f"-----BEGIN {label}-----", *re.findall(".{1,64}", body), f"-----END {label}-----", ""))


def _no_pem(key: str, expected: str, entries: Entries) -> KadminError:
    return UsageError(f"{entries.source}: {key} is not PEM text with a {expected}",
                      hint="In a properties file every line of a value but its last ends in \\.")  # fmt: skip
