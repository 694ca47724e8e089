"""Completion without asking a cluster: types, keys, the values of few-valued configs, plans, runbooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import KadminError
from ..model.client_configs import ACKS, CLIENT_KEYS
from ..model.config_values import LOGGER_LEVELS, VALUES
from ..model.entity import TYPES
from ..model.grammar import ANY, DEFAULT, Value
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS
from ..model.resources import WORDS
from ..model.scram import MECHANISMS
from .config_keys import KEYS

QUOTA_KEY_NAMES = (*USER_CLIENT_KEYS, *IP_KEYS)


def entities(before: Sequence[str]) -> list[str]:
    """The entity types that may still be named: ip stands alone, and each but names in a list once."""
    typed = _typed_names(before)
    if "ip" in typed:
        return []
    return [f"{kind}=" for kind in TYPES if kind not in typed and not (typed & {"user", "client-id"} and kind == "ip")]


def quota_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then whom."""
    return [*(f"{key}=" for key in quota_keys(before)), *entities(before)]


def quota_removals(before: Sequence[str]) -> list[str]:
    """`key` and then whom."""
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
    kinds = [word for word in KEYS if word in typed] or list(KEYS)
    return sorted({key for kind in kinds for key in KEYS[kind]} - typed)


def dangerous(before: Sequence[str] = ()) -> list[str]:
    """The keys whose changes may be dangerous."""
    from ..plans.advice.config_dangers import rule_of

    return sorted({key for keys in KEYS.values() for key in keys if rule_of(key)} | {*QUOTA_KEY_NAMES, ACKS})


def settings(before: Sequence[str]) -> list[str]:
    """`key=` and then whom or what, of either kind until one is named."""
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
        yield from sorted(plan_id[:_ID] for plan_id in Journals(journal_dir()).ids())
    with suppress(OSError):
        yield from sorted(path.name for path in Path().glob("*.json"))


_ID = 12
"""Characters of a plan's id that are offered; as `plan log` shows it."""


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
