"""Completion left of the `=`: entity types, resource types and keys, without asking a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..errors import KadminError
from ..model.entity import TYPES
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS
from ..model.resources import WORDS
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


def config_settings(before: Sequence[str]) -> list[str]:
    """`key=` and then on what."""
    return [*_resource_once(before), *(f"{key}=" for key in config_keys(before))]


def config_resets(before: Sequence[str]) -> list[str]:
    """`key` and then on what."""
    return [*_resource_once(before), *config_keys(before)]


def config_keys(before: Sequence[str] = ()) -> list[str]:
    """The config keys of the resources that are named, of all when none is."""
    typed = _typed_names(before)
    kinds = [word for word in KEYS if word in typed] or list(KEYS)
    return sorted({key for kind in kinds for key in KEYS[kind]} - typed)


def dangerous(before: Sequence[str] = ()) -> list[str]:
    """The keys whose changes may be dangerous."""
    from ..plans.advice.config_dangers import rule_of

    return sorted({key for keys in KEYS.values() for key in keys if rule_of(key)} | {*QUOTA_KEY_NAMES})


def settings(before: Sequence[str]) -> list[str]:
    """`key=` and then whom or what, of either kind until one is named."""
    typed = _typed_names(before)
    quotas = [] if typed & set(WORDS) else quota_settings(before)
    return quotas + ([] if typed & set(TYPES) else config_settings(before))


def profiles() -> Sequence[str]:
    """The profiles of `kadmin-nb.toml`."""
    from ..profiles import profile_names

    try:
        return profile_names()
    except KadminError:
        return ()


def _resource_once(before: Sequence[str]) -> list[str]:
    return [] if _typed_names(before) & set(WORDS) else resources(before)


def _typed_names(words: Iterable[str]) -> set[str]:
    return {word.split("=", 1)[0].rstrip("~") for word in words}
