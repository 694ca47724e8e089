"""The words that Tab offers, without asking a cluster, and the shells that it is pressed in."""

from __future__ import annotations

import os
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, add_completion_class

from ..errors import KadminError
from ..hints import short_id
from ..model.client_configs import CLIENT_KEYS
from ..model.config_values import LOGGER_LEVELS, VALUES
from ..model.entity import TYPES
from ..model.grammar import ANY, DEFAULT, Value
from ..model.quota_keys import IP_KEYS, QUOTA_KEY_NAMES, USER_CLIENT_KEYS
from ..model.resources import WORDS
from ..model.scram import MECHANISMS


def entities(before: Sequence[str]) -> list[str]:
    """The entity types that may still be named: ip alone, the others once each."""
    typed = _typed_names(before)
    if "ip" in typed:
        return []
    return [f"{kind}=" for kind in TYPES if kind not in typed and not (typed & {"user", "client-id"} and kind == "ip")]


def quota_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then an entity."""
    return [*(f"{key}=" for key in quota_keys(before)), *entities(before)]


def quota_removals(before: Sequence[str]) -> list[str]:
    """`key` and then an entity."""
    return [*quota_keys(before), *entities(before)]


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


def config_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then on what; of clients, once a user or a key of theirs is typed."""
    if _are_of_clients(before):
        return [*client_entities(before), *(f"{key}=" for key in _client_keys(before))]
    return [*_resource_once(before), *(f"{key}=" for key in config_keys(before))]


def config_resets(before: Sequence[str]) -> list[str]:
    """`key` and then on what; of clients, once a user or a key of theirs is typed."""
    if _are_of_clients(before):
        return [*client_entities(before), *_client_keys(before)]
    return [*_resource_once(before), *config_keys(before)]


def _are_of_clients(before: Sequence[str]) -> bool:
    return not _typed_names(before).isdisjoint({"user", "client-id", *CLIENT_KEYS})


def _client_keys(before: Sequence[str]) -> list[str]:
    """The dynamic configs of clients, and the quotas that may stand beside them."""
    return [key for key in (*CLIENT_KEYS, *USER_CLIENT_KEYS) if key not in _typed_names(before)]


def config_keys(before: Sequence[str] = ()) -> list[str]:
    """The config keys of the resources that are named, of all when none is."""
    typed = _typed_names(before)
    of_types = keys_of_types()
    kinds = [word for word in of_types if word in typed] or [*of_types]
    return sorted({key for kind in kinds for key in of_types[kind]} - typed)


def settings(before: Sequence[str]) -> list[str]:
    """`key=` and then an entity or a resource, of either kind until one is named."""
    typed = _typed_names(before)
    quotas = [] if typed & set(WORDS) else quota_settings(before)
    return quotas + ([] if typed & set(TYPES) else config_settings(before))


def change_lines(before: Sequence[str]) -> list[str]:
    """A verb and what it changes, or the resources that are asked about."""
    return settings(before) if before else [*_VERBS, *resources(before)]


_VERBS = ("set", "remove", "reset", "append", "subtract")


def profiles() -> Sequence[str]:
    """The profiles of `kadmin-nb.toml`."""
    from ..profiles import profile_names

    try:
        return profile_names()
    except KadminError:
        return ()


def plans() -> Iterable[str]:
    """The plans that were begun from here, by the beginning of their id, and the files that may be one."""
    from ..paths import journal_dir
    from ..plans.journal.store import Journals

    with suppress(KadminError, OSError):
        yield from sorted(short_id(plan_id) for plan_id in Journals(journal_dir()).ids())
    with suppress(OSError):
        yield from sorted(path.name for path in Path().glob("*.json"))


def runbooks() -> Iterable[str]:
    """The runbooks that come with kadmin_nb, and the notebooks in this folder."""
    from ..runbooks import catalogue

    with suppress(KadminError, OSError):
        yield from (runbook.name for runbook in catalogue.runbooks())
        yield from sorted(path.name for path in Path().glob("*.ipynb"))


def parameters(runbook: str) -> Iterable[str]:
    """`name=` for each parameter of a runbook."""
    from ..runbooks import catalogue

    with suppress(KadminError, OSError):
        yield from (f"{parameter.name}=" for parameter in catalogue.find(runbook).parameters)


def fixed_values(name: str, before: Sequence[str]) -> Sequence[Value]:
    """The values of a config that has few, or the special values of an entity type."""
    if name in TYPES:
        return (DEFAULT, ANY)
    if "broker-logger" in _typed_names(before):
        return LOGGER_LEVELS
    return VALUES.get(name, ())


def _resource_once(before: Sequence[str]) -> list[str]:
    return [] if _typed_names(before) & set(WORDS) else resources(before)


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


_BREAKS = "=:"
"""The characters of `$COMP_WORDBREAKS` that our words contain: bash cuts there, and replaces the last piece alone.

click's own scripts take names apart: bash's at backslashes and patterns of files, fish's at commas; zsh's puts a space
after `key=`.
"""


class Fish(FishComplete):
    """click's completion of fish, a candidate a line; fish quotes it."""

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Zsh(ZshComplete):
    """click's completion of zsh, a candidate a line; zsh quotes it, and nothing follows a sign."""

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Bash(BashComplete):
    """click's completion of bash, on the words as they were typed."""

    def get_completion_args(self) -> tuple[list[str], str]:
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        _, *args, incomplete = glued(pieces)
        self._replaced = re.sub(rf"[^{_BREAKS}]*$", "", incomplete)
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The candidate, less what bash does not replace, as the shell reads it."""
        return shlex.quote(item.value.removeprefix(self._replaced))


def glued(pieces: Iterable[str]) -> list[str]:
    """Words out of the pieces that bash makes of them.

    Examples
    --------
    >>> glued(["quota", "describe", "user", "=", "al"])
    ['quota', 'describe', 'user=al']
    """
    words: list[str] = []
    for piece in pieces:
        if words and (_is_break(piece) or _is_break(words[-1][-1:])):
            words[-1] += piece
        else:
            words.append(piece)
    return words


def _is_break(text: str) -> bool:
    return bool(text) and set(text) <= {*_BREAKS}


def register() -> None:
    """Let click complete by them, each with its script."""
    for shell in (Bash, Fish, Zsh):
        shell.source_template = Path(__file__).with_name(f"complete.{shell.name}").read_text("utf-8")
        add_completion_class(shell)
