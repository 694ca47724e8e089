"""The names that completion offers: in a terminal those that commands have shown, in a notebook those of the cluster.

A terminal's describing commands add the names that they show to a file of the cluster, and Tab reads it for an hour.
A notebook asks the cluster in a thread, and waits a quarter of a second.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
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
    import pyarrow as pa

    from ..model.connection_settings import Settings

Names = dict[str, dict[str, float]]
"""Names by their word (`user`, `topic` …), each with the time it was read, in seconds since 1970."""

KEPT = 3600.0
"""Seconds for which a terminal offers a name."""

_MOST_NAMES = 10_000
"""Names of one word that are kept."""

_MOST_BYTES = 1 << 25
"""Bytes of a file of names."""

_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}
_DESCRIBED = ("QUOTAS", "CONFIGS", "SCRAM", "USERS")
"""The frames whose names are kept."""


LISTED = (*TYPES, *WORDS)
"""The words whose values a cluster knows."""


def names_file(target: str) -> Path:
    """The file of this target; a profile may be another one in another folder."""
    is_same_everywhere = ":" in target or os.path.isabs(target)
    where = () if is_same_everywhere else (str(Path.cwd()), os.environ.get("KADMIN_CONFIG", ""))
    key = "\0".join((target, *where))
    return cache_dir() / "names" / f"{sha256(os.fsencode(key)).hexdigest()[:32]}.json"


def load_names(place: Path) -> Names:
    """The names in that file that were read within the hour; none where it cannot be read."""
    with suppress(KadminError, ValueError, TypeError, AttributeError, RecursionError):
        content = json.loads(files.read(place, "names", _MOST_BYTES))
        now = time.time()
        return {
            str(word): {str(name): float(at) for name, at in names.items() if 0 <= now - float(at) < KEPT}
            for word, names in content.items()
        }
    return {}


def keep_names(answer: object, target: str | None) -> None:
    """Add the names in a description of a cluster to the names that Tab offers, if the cache can be written."""
    from ..frames.answer import Answer
    from ..frames.frame import FRAME

    if not isinstance(answer, Answer) or not answer._is_frame:  # an answer of Spark's would be read whole
        return
    if not (chosen := target or _default_target()):
        return
    table = answer.to_arrow()
    if (table.schema.metadata or {}).get(FRAME, b"").decode() not in _DESCRIBED:
        return
    place, now = names_file(chosen), time.time()
    with suppress(KadminError, OSError):
        names = load_names(place)
        for word, several in _names_in(table):
            new = dict.fromkeys(several, now)
            older = {name: at for name, at in names.get(word, {}).items() if name not in new}
            names[word] = dict(islice((new | older).items(), _MOST_NAMES))
        files.make_folder(place.parent, mode=0o700)
        files.write(place, json.dumps(names), mode=0o600)
        for other in place.parent.glob("*.json"):
            if now - other.stat().st_mtime > KEPT:
                other.unlink()


def _names_in(table: pa.Table) -> Iterable[tuple[str, list[str]]]:
    """The names in a frame by their word, those of rows that failed left out."""
    import pyarrow.compute as pc

    if "error" in table.column_names:
        table = table.filter(table["error"].is_null())
    for word, column in _COLUMNS.items():
        if column in table.column_names:
            yield word, list(filter(None, table[column].unique().to_pylist()))
    for word, resource_type in WORDS.items() if "resource_name" in table.column_names else ():
        names = table["resource_name"].filter(pc.equal(table["resource_type"].cast("string"), resource_type))
        yield word, list(filter(None, names.unique().to_pylist()))


def names_of_file(word: str, target: str | None, before: Sequence[str]) -> Iterable[Value]:
    """The values behind a word in a terminal."""
    yield from fixed_values(word, before)
    if word in LISTED and (chosen := target or _default_target()):
        yield from sorted(load_names(names_file(chosen)).get(word, ()))


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


FRESH = 30.0
"""Seconds for which a notebook offers the names that a cluster listed."""

WAIT = 0.25
"""Seconds that a notebook's Tab waits for names."""


class NamesOfThread:
    """The values behind a word in a notebook; `settings_of` gives the connection to a target, None the current one."""

    def __init__(self, settings_of: Callable[[str | None], Settings]) -> None:
        self._settings_of = settings_of
        self._known: dict[str | None, tuple[float, Mapping[str, tuple[str, ...]]]] = {}
        self._threads: dict[str | None, Thread] = {}

    def __call__(self, word: str, target: str | None, before: Sequence[str]) -> Iterable[Value]:
        yield from fixed_values(word, before)
        if word in LISTED and not self._is_fresh(target):
            self._asking(target).join(WAIT)
        if word in LISTED and self._is_fresh(target):
            yield from self._known[target][1].get(word, ())

    def begin(self) -> None:
        """Ask the current cluster, which was another one before, without waiting: the first Tab has names."""
        self._known.pop(None, None)
        self._threads.pop(None, None)
        self._asking(None)

    def _is_fresh(self, target: str | None) -> bool:
        return target in self._known and time.monotonic() - self._known[target][0] < FRESH

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
            self._known[target] = (time.monotonic(), names_of(self._settings_of(target)))
