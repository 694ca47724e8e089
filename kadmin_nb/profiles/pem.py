"""TLS stores of a Java client, as far as they are PEM: a file as it is, or a text inside the properties.

Both client libraries want files, so an inline text becomes one: readable by us alone, gone when Python ends.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..errors import KadminError, Unsupported, UsageError
from ..hints import did_you_mean
from ..secrets import Secret
from .entries import Entries

MAX_PEM_BYTES = 1 << 22
_TO_PEM = {
    "truststore": "keytool -list -rfc -keystore STORE > ca.pem makes a PEM file of it.",
    "keystore": "openssl pkcs12 -in STORE.p12 -out client.pem makes a PEM file of it "
                "(keytool -importkeystore -deststoretype PKCS12 makes the .p12 of a JKS).",
}  # fmt: skip


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
        A JKS or PKCS12 store, with the command that converts it.
    NotFound, UsageError
        No such file; not PEM; parts that do not go together.
    """
    ca = _truststore(entries)
    certificate, key = _keystore(entries)
    password = entries.text("ssl.key.password")
    if key and not password and _is_encrypted(key):
        raise UsageError(f"{entries.source}: the private key is encrypted and ssl.key.password is missing")
    return PemStores(ca, certificate, key, Secret(password) if key and password else None)


def _truststore(entries: Entries) -> str | None:
    inline = entries.text("ssl.truststore.certificates")
    location = _location(entries, "truststore", "ssl.truststore.certificates" if inline else None)
    return _as_written(inline, "ssl.truststore.certificates", entries) if inline else location


def _keystore(entries: Entries) -> tuple[str | None, str | None]:
    """Files of the certificate chain and of the key; in Java a location is one file with both."""
    parts = ("ssl.keystore.certificate.chain", "ssl.keystore.key")
    present = [part for part in parts if entries.text(part)]
    location = _location(entries, "keystore", present[0] if present else None)
    if not present:
        return location, location
    if len(present) == 1:
        missing = next(part for part in parts if part not in present)
        raise UsageError(f"{entries.source}: {present[0]} needs {missing} beside it")
    chain, key = (_as_written(entries.text(part) or "", part, entries) for part in parts)
    return chain, key


def _location(entries: Entries, store: str, inline: str | None) -> str | None:
    """The path of a PEM store; with `inline`, the key of the same as a text, there must be none."""
    location = entries.text(f"ssl.{store}.location") or None
    if location is None and inline is None:
        return None
    _check_type(entries, store)
    if location and inline:
        raise UsageError(f"{entries.source}: ssl.{store}.location and {inline} are both given; one is enough")
    if entries.text(f"ssl.{store}.password"):
        raise UsageError(f"{entries.source}: ssl.{store}.password does not go with a PEM store",
                         hint="The password of an encrypted key is ssl.key.password.")  # fmt: skip
    return _checked(location, f"ssl.{store}.location") if location else None


def _check_type(entries: Entries, store: str) -> None:
    """PEM, said so: Java takes a store without a type for JKS, and so would everybody who shares the file."""
    key = f"ssl.{store}.type"
    kind = entries.text(key) or "JKS"
    if kind in ("JKS", "PKCS12"):
        described = kind if entries.text(key) else "not set, which means JKS"
        raise Unsupported(f"{entries.source}: {key} is {described}; only PEM is read", hint=f"{_TO_PEM[store]} "
                          f"Then {key}=PEM and ssl.{store}.location name it.")  # fmt: skip
    if kind != "PEM":
        hint = did_you_mean(kind.upper(), ["PEM", "JKS", "PKCS12"])
        raise UsageError(f"{entries.source}: {key} is not PEM", hint=hint)


def _checked(location: str, key: str) -> str:
    content = files.read(Path(location), f"the PEM file of {key}", MAX_PEM_BYTES)
    if b"-----BEGIN " not in content:
        raise UsageError(f"{location}, named by {key}, is not a PEM file")
    return str(Path(location).absolute())


def _is_encrypted(path: str) -> bool:
    """True if OpenSSL would stop and ask for a password, on a terminal nobody looks at."""
    return _ENCRYPTED.search(Path(path).read_bytes()) is not None


_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED", re.MULTILINE)


def _as_written(text: str, key: str, entries: Entries) -> str:
    """The path of a file with the PEM blocks in `text`, the same file for the same text."""
    content = _blocks(text, key, entries).encode()
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
