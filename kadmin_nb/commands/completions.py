"""The words that Tab offers, and the names: in a terminal those that commands have shown, in a notebook the cluster's.

A terminal's describing commands add the names that they show to a file of the cluster, and Tab reads it for an hour.
A notebook asks the cluster in a thread, and waits a quarter of a second.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .. import documents, files
from ..errors import KadminError
from ..model.client_configs import CLIENT_KEYS
from ..model.config_values import LOGGER_LEVELS
from ..model.entity import TYPES
from ..model.grammar import ANY, DEFAULT, Value
from ..model.quota_keys import IP_KEYS, QUOTA_KEY_NAMES, USER_CLIENT_KEYS
from ..model.resources import WORDS
from ..model.scram import MECHANISMS
from ..paths import cache_dir

if TYPE_CHECKING:
    import pyarrow as pa

    from ..model.connection_settings import Settings


def entities(before: Sequence[str]) -> list[str]:
    """The entity types that may still be named: ip alone, the others once each."""
    typed = _typed_names(before)
    if "ip" in typed:
        return []
    return [f"{kind}=" for kind in TYPES if kind not in typed and not (typed & {"user", "client-id"} and kind == "ip")]


def quota_words(before: Sequence[str], sign: str = "=") -> list[str]:
    """`key=` and then an entity; without the sign what removes a quota."""
    return [*(f"{key}{sign}" for key in quota_keys(before)), *entities(before)]


def quota_keys(before: Sequence[str] = ()) -> list[str]:
    """The quota keys that fit the entity, as far as one is named."""
    typed = _typed_names(before)
    keys = IP_KEYS if "ip" in typed else USER_CLIENT_KEYS if typed & {"user", "client-id"} else QUOTA_KEY_NAMES
    return [key for key in keys if key not in typed]


def resources(before: Sequence[str]) -> list[str]:
    """The resource types."""
    return [f"{word}=" for word in WORDS]


def client_entities(before: Sequence[str]) -> list[str]:
    """A user, and a client-id of it."""
    return [f"{kind}=" for kind in ("user", "client-id") if kind not in _typed_names(before)]


def scram_users(before: Sequence[str]) -> list[str]:
    """The one word that says whose credentials."""
    return ["user="]


def scram_settings(before: Sequence[str]) -> list[str]:
    """The mechanisms, each alone or with `=` and a reference, and the other words of a credential."""
    typed = _typed_names(before)
    words = [(name, sign) for name in MECHANISMS for sign in ("", "=")] + [("iterations", "="), ("user", "=")]
    return [f"{name}{sign}" for name, sign in words if name not in typed]


def scram_deletions(before: Sequence[str]) -> list[str]:
    """The mechanisms, and then whose."""
    typed = _typed_names(before)
    return [*(name for name in MECHANISMS if name not in typed), *(["user="] if "user" not in typed else [])]


def config_words(before: Sequence[str], sign: str = "=") -> list[str]:
    """`key=` and then on what, without the sign what resets a config.

    Of clients once a user or a key of theirs is typed: their dynamic configs, and the quotas beside them.
    """
    typed = _typed_names(before)
    if typed.isdisjoint({"user", "client-id", *CLIENT_KEYS}):
        named = [] if typed & set(WORDS) else resources(before)
        return [*named, *(f"{key}{sign}" for key in config_keys(before))]
    keys = [key for key in (*CLIENT_KEYS, *USER_CLIENT_KEYS) if key not in typed]
    return [*client_entities(before), *(f"{key}{sign}" for key in keys)]


def config_keys(before: Sequence[str] = ()) -> list[str]:
    """The config keys of the resources that are named, of all when none is."""
    typed = _typed_names(before)
    of_types = keys_of_types()
    kinds = [word for word in of_types if word in typed] or [*of_types]
    return sorted({key for kind in kinds for key in of_types[kind]} - typed)


def settings(before: Sequence[str]) -> list[str]:
    """`key=` and then an entity or a resource, of either kind until one is named."""
    typed = _typed_names(before)
    quotas = [] if typed & set(WORDS) else quota_words(before)
    return quotas + ([] if typed & set(TYPES) else config_words(before))


def profiles() -> Sequence[str]:
    """The profiles of `kadmin-nb.toml`."""
    from ..profiles import profile_names

    try:
        return profile_names()
    except KadminError:
        return ()


def runbooks() -> Iterable[str]:
    """The runbooks that come with kadmin_nb, and the notebooks in this folder."""
    from ..runbooks import catalogue

    with suppress(KadminError, OSError):
        yield from (runbook.name for runbook in catalogue.runbooks())
        yield from sorted(path.name for path in Path().glob("*.ipynb"))


def fixed_values(name: str, before: Sequence[str]) -> Sequence[Value]:
    """The levels of a logger, or the special values of an entity type."""
    if name in TYPES:
        return (DEFAULT, ANY)
    return LOGGER_LEVELS if "broker-logger" in _typed_names(before) else ()


def _typed_names(words: Iterable[str]) -> set[str]:
    return {word.split("=", 1)[0].rstrip("~") for word in words}


@cache
def keys_of_types() -> Mapping[str, tuple[str, ...]]:
    """The config keys of Kafka 4.4.0 that can be altered, by the word of their resource type; the broker decides.

    `config_keys.txt` has them, and a test compares it with a real broker's.
    """
    keys = defaultdict[str, tuple[str, ...]](tuple)
    for kind, key in map(str.split, Path(__file__).with_name("config_keys.txt").read_text("utf-8").splitlines()):
        keys[kind] += (key,)
    return keys


KEPT = 3600.0
"""Seconds for which a terminal offers the names that commands have shown."""

_MOST_NAMES, _MOST_BYTES = 10_000, 1 << 25
"""Names of one word that are kept, and bytes of a file of names."""

_DESCRIBED = ("QUOTAS", "CONFIGS", "SCRAM", "USERS")
"""The frames whose names are kept."""

_COLUMNS = {"user": "user", "client-id": "client_id", "ip": "ip"}


def names_file(target: str) -> Path:
    """The file of this target; a profile may be another one in another folder."""
    where = "" if ":" in target else f"{Path.cwd()}\0{os.environ.get('KADMIN_CONFIG', '')}"
    return cache_dir() / "names" / f"{documents.digest(target, where)[:32]}.json"


def load_names(place: Path) -> dict[str, list[str]]:
    """The names in that file by their word (`user`, `topic` …), if it was written within the hour."""
    with suppress(KadminError, ValueError, OSError):
        if time.time() - place.stat().st_mtime < KEPT:
            content = documents.from_json(files.read_text(place, "names", _MOST_BYTES))
            return documents.as_type(content, dict[str, list[str]])
    return {}


def keep_names(answer: object, target: str | None) -> None:
    """Add the names in a description of a cluster to the names that Tab offers, if the cache can be written."""
    from ..frames.answer import Answer
    from ..frames.frame import FRAME

    chosen = target or _default_target()
    if not chosen or not isinstance(answer, Answer) or not answer._is_frame:  # one of Spark's would be read whole
        return
    table = answer.to_arrow()
    if (table.schema.metadata or {}).get(FRAME, b"").decode() not in _DESCRIBED:
        return
    place = names_file(chosen)
    with suppress(KadminError, OSError):
        names = load_names(place)
        for word, several in _names_in(table):
            names[word] = sorted({*names.get(word, ()), *several})[:_MOST_NAMES]
        files.make_folder(place.parent, mode=0o700)
        files.write(place, documents.to_json(names), mode=0o600)
        for other in place.parent.glob("*.json"):
            if time.time() - other.stat().st_mtime > KEPT:
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
    if chosen := target or _default_target():
        yield from sorted(load_names(names_file(chosen)).get(word, ()))


def _default_target() -> str | None:
    """The target of a line that names none."""
    from .session import default_target

    named, known = os.environ.get("KADMIN_PROFILE") or default_target(), profiles()
    return named or (known[0] if len(known) == 1 else None)


FRESH = 30.0
"""Seconds for which a notebook offers the names that a cluster listed."""

WAIT = 0.25
"""Seconds that a notebook's Tab waits for names."""


class NamesOfThread:
    """The values behind a word in a notebook; `settings_of` gives the connection to a target, None the current one."""

    def __init__(self, settings_of: Callable[[str | None], Settings]) -> None:
        self._settings_of = settings_of
        self._known: dict[str | None, tuple[float, Mapping[str, tuple[str, ...]]]] = {}

    def __call__(self, word: str, target: str | None, before: Sequence[str]) -> Iterable[Value]:
        from ..web import result_of  # with an HTTP client, which a terminal need not load

        yield from fixed_values(word, before)
        asked, names = self._known.get(target, (-FRESH, {}))
        if word in (*TYPES, *WORDS) and time.monotonic() - asked >= FRESH:
            with suppress(KadminError, OSError):  # Tab prints nothing; what comes too late is there for the next
                names = result_of(lambda: self._ask(target), WAIT)
        yield from names.get(word, ())

    def _ask(self, target: str | None) -> Mapping[str, tuple[str, ...]]:
        from ..cluster.near_names import names_of

        names = names_of(self._settings_of(target))
        self._known[target] = (time.monotonic(), names)
        return names
