"""One text for one value, and its hash: what ids and the journal's chain are made of."""

from __future__ import annotations

import hashlib
import json


def to_json(value: object) -> str:
    """`value` as JSON with sorted names, ASCII only, without blanks."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def digest(*parts: str) -> str:
    """The SHA-256 of these texts, one after the other, in hexadecimal."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode())
    return sha.hexdigest()
