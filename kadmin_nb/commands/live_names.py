"""The names that completion offers: those that a cluster knew at most half a minute ago.

Nothing waits for a cluster. A terminal's Tab is a process of its own: it reads the names that another process left in a
file, and sets one going where they are too old. A notebook asks in a thread and waits a quarter of a second.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from .. import files
from ..errors import KadminError
from ..model.entity import TYPES
from ..model.grammar import Value
from ..model.resources import WORDS
from ..paths import cache_dir
from .completions import fixed_values

if TYPE_CHECKING:
    from ..model.connection_settings import Settings

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


WAIT = 0.25
"""Seconds that a notebook's Tab waits for names."""

_LIFETIME = 20
"""Seconds after which the process that asks ends, whatever the cluster does."""


def names_of_file(word: str, target: str | None, before: Sequence[str]) -> Iterable[Value]:
    """The values behind a word in a terminal."""
    yield from fixed_values(word, before)
    if word in LISTED and (chosen := target or _default_target()):
        yield from _of_file(chosen).get(word, ())


def _of_file(target: str) -> Mapping[str, tuple[str, ...]]:
    """The names that another process left; where they are too old it is asked for new ones, for the next Tab."""
    with suppress(KadminError):
        if known := load_names(names_file(target)):
            return known.names
        _ask_beside(target)
    return {}


class NamesOfThread:
    """The values behind a word in a notebook; `settings_of` gives the connection to a target, None the current one."""

    def __init__(self, settings_of: Callable[[str | None], Settings]) -> None:
        self._settings_of = settings_of
        self._known: dict[str | None, KnownNames] = {}
        self._threads: dict[str | None, Thread] = {}

    def __call__(self, word: str, target: str | None, before: Sequence[str]) -> Iterable[Value]:
        yield from fixed_values(word, before)
        if word in LISTED and (known := self._fresh(target)):
            yield from known.names.get(word, ())

    def begin(self) -> None:
        """Ask the current cluster, which was another one before; nobody waits, and the first Tab has names."""
        self._known.pop(None, None)
        self._threads.pop(None, None)
        self._asking(None)

    def _fresh(self, target: str | None) -> KnownNames | None:
        known = self._known.get(target)
        if known is None or not known.is_fresh:
            self._asking(target).join(WAIT)
            known = self._known.get(target)
        return known if known is not None and known.is_fresh else None

    def _asking(self, target: str | None) -> Thread:
        """The thread that asks, begun now unless one is under way."""
        thread = self._threads.get(target)
        if thread is None or not thread.is_alive():
            thread = self._threads[target] = Thread(target=self._ask, args=[target], daemon=True)
            thread.start()
        return thread

    def _ask(self, target: str | None) -> None:
        from ..cluster.near_names import names_of

        with suppress(KadminError, OSError):  # Tab prints nothing
            self._known[target] = KnownNames(names_of(self._settings_of(target)))


LISTED = (*TYPES, *WORDS)
"""The words whose values a cluster knows."""


def _default_target() -> str | None:
    """The target of a line that names none."""
    from ..profiles import profile_names
    from .chosen_cluster import default_target

    if named := os.environ.get("KADMIN_PROFILE") or default_target():
        return named
    with suppress(KadminError):
        profiles = profile_names()
        return profiles[0] if len(profiles) == 1 else None
    return None


def _ask_beside(target: str) -> None:
    """Have another process ask the cluster; it outlives this one."""
    with suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", __name__, target],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def refresh(target: str) -> None:
    """Ask a target for its names and keep them, unless another process does.

    Raises
    ------
    KadminError
        It cannot be reached, or the names cannot be kept.
    """
    from ..cluster.near_names import names_of
    from ..profiles import settings_for

    place = names_file(target)
    files.make_folder(place.parent, mode=0o700)
    with files.locking(place.with_suffix(".lock")) as is_ours:
        if is_ours:
            save_names(KnownNames(names_of(settings_for(target))), place)


if __name__ == "__main__":
    signal.alarm(_LIFETIME)
    with suppress(KadminError):
        refresh(sys.argv[1])
