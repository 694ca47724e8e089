"""Names as of a moment, and the file that keeps them between two processes. Light: a shell's Tab loads it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from .. import files
from ..errors import KadminError
from ..paths import cache_dir

FRESH = 30.0
"""Seconds for which names are offered."""

_MOST_BYTES = 1 << 25
"""Bytes of a file of names."""


@dataclass(frozen=True)
class KnownNames:
    """Names by the word that they stand behind (`user`, `topic` …); `taken_at` is seconds since 1970."""

    names: Mapping[str, tuple[str, ...]]
    taken_at: float = field(default_factory=time.time)

    @property
    def is_fresh(self) -> bool:
        """True if they may still be offered."""
        return 0 <= time.time() - self.taken_at < FRESH


def names_file(target: str) -> Path:
    """The file of this target, told from one that is called so in another folder."""
    key = "\0".join((target, str(Path.cwd()), os.environ.get("KADMIN_CONFIG", "")))
    return cache_dir() / "names" / f"{sha256(os.fsencode(key)).hexdigest()[:32]}.json"


def save_names(names: KnownNames, place: Path) -> None:
    """Keep them, for nobody else to read."""
    files.write(place, json.dumps({"taken_at": names.taken_at, "names": names.names}), mode=0o600)


def load_names(place: Path) -> KnownNames | None:
    """The names in that file while they are fresh; None where there are none that can be read."""
    with suppress(KadminError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        content = json.loads(files.read(place, "names", _MOST_BYTES))
        names = {str(word): tuple(map(str, several)) for word, several in content["names"].items()}
        known = KnownNames(names, float(content["taken_at"]))
        return known if known.is_fresh else None
    return None
