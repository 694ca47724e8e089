"""TLS stores of a Java client as PEM files: one that is PEM as it is, texts and PKCS12 stores unpacked.

Both client libraries want files, so what is unpacked becomes one: readable by us alone, gone when Python ends.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tempfile
from dataclasses import replace
from pathlib import Path

from .. import files
from ..errors import Unsupported, UsageError
from ..hints import did_you_mean
from ..model.connection_settings import PemFiles
from ..secrets import Secret
from .java_properties import Entries

MAX_PEM_BYTES = 1 << 22
_STORE_TYPES = ("PEM", "PKCS12", "JKS")


def stores(entries: Entries) -> PemFiles:
    """The stores that `ssl.truststore.*` and `ssl.keystore.*` name.

    Raises
    ------
    Unsupported
        A JCEKS store, with the command that converts it.
    NotFound, UsageError
        No such file; a wrong password; not of its type; parts that cannot be combined.
    """
    identity = _keystore(entries)
    if identity.key_file and not identity.key_password and _ENCRYPTED.search(Path(identity.key_file).read_bytes()):
        # OpenSSL would stop and ask for a password, on a terminal nobody looks at
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


def _keystore(entries: Entries) -> PemFiles:
    """Our certificate chain and key; in a Java client a location is one file with both."""
    present = [part for part in _PARTS if entries.text(part)]
    location = _location(entries, "keystore", present[0] if present else None)
    password = entries.text("ssl.key.password")
    if present:
        if len(present) == 1:
            missing = next(part for part in _PARTS if part not in present)
            raise UsageError(f"{entries.source}: {present[0]} needs {missing}, too")
        chain, key = (_as_written(_blocks(entries.text(part) or "", part, entries)) for part in _PARTS)
        return PemFiles(None, chain, key, Secret(password) if password else None)
    if location is None or _store_type(entries, "keystore") == "PEM":
        return PemFiles(None, location, location, Secret(password) if location and password else None)
    from . import java_stores  # loaded where there is such a store

    chain, key, cover = java_stores.identity(location, entries.text("ssl.keystore.password"), password, "ssl.keystore")
    return PemFiles(None, _as_written(chain), _as_written(key), cover)


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
    if location is None:
        return None
    key = f"ssl.{store}.location"
    if b"-----BEGIN " not in files.read(Path(location), f"the PEM file of {key}", MAX_PEM_BYTES):
        raise UsageError(f"{location}, named by {key}, is not a PEM file")
    return str(Path(location).absolute())


def _store_type(entries: Entries, store: str) -> str:
    """One of `_STORE_TYPES`: a Java client takes a store without a type for JKS.

    Kafka compares PEM exactly; the other names are Java's, in any case.
    """
    key = f"ssl.{store}.type"
    text = entries.text(key) or "JKS"
    kind = text if text.upper() == "PEM" else text.upper()
    if kind not in _STORE_TYPES:
        hint = did_you_mean(text.upper(), _STORE_TYPES)
        raise UsageError(f"{entries.source}: {key} is not PEM, PKCS12 or JKS", hint=hint)
    return kind


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
        raise UsageError(f"{entries.source}: {key} is not PEM text with a {expected}",
                         hint="In a properties file every line of a value but its last ends in \\.")  # fmt: skip
    return "".join(_block(label, body) for label, body in blocks)


def _block(label: str, body: str) -> str:
    return "\n".join((f"-----BEGIN {label}-----", *re.findall(".{1,64}", body), f"-----END {label}-----", ""))
