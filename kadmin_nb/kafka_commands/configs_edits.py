"""`--add-config` and its kin as edits: the tool's grammar of `key=value`, and which key belongs where."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..hints import did_you_mean
from ..model.changes import APPEND, DELETE, SET, SUBTRACT, Edit
from ..model.client_configs import CLIENT_KEYS, ClientEntity, stored_value
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.java_text import parse_double, trimmed
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS, parse_value, text_of
from ..model.resources import Resource
from ..model.scram import MECHANISMS, Credential, ScramUser
from ..secrets import SCRAM

OPERATIONS = {"add-config": SET, "append-config": APPEND, "subtract-config": SUBTRACT, "delete-config": DELETE}
"""The options that change, and what each does."""

_SUPPORTED = ("supported.configs", "supported.config")
"""The key that KIP-649 has deleted to have clients register anew, as it spells it in two places."""

FROM_FILE = "add-config-file"
CHANGING = (FROM_FILE, *OPERATIONS)
"""The options that belong to `--alter`."""

_OUTSIDE = r"(?=[^\]]*(?:\[|$))"
_COMMA, _SIGN = re.compile(f",{_OUTSIDE}"), re.compile(rf"\s*=\s*{_OUTSIDE}")
_BRACKETS = re.compile(r"\[?\]?")
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")

Wishes = Mapping[str, Mapping[str, str | None]]
"""Keys and their values by operation; a value of None takes the key away."""


def pairs(text: str) -> dict[str, str]:
    """`k1=v1,k2=[a,b]` as the tool reads it: no brackets and no space around a value, the last of equal keys wins.

    Raises
    ------
    UsageError
        A part without a sign, or with two.
    """
    parts = [_SIGN.split(part) for part in _without_empty_ends(_COMMA.split(text))]
    if any(len(part) != 2 for part in parts):
        raise UsageError(
            'Invalid entity config: all configs to be added must be in the format "key=val" or "key=[val1,val2]" to '
            "group values which contain commas."
        )
    return {trimmed(key): trimmed(_BRACKETS.sub("", value)) for key, value in parts}


def _without_empty_ends(parts: list[str]) -> list[str]:
    """The parts as Java's `split` gives them; of an empty text there is one."""
    last = max((place for place, part in enumerate(parts) if part), default=0)
    return parts[: last + 1]


def _refuse_key(key: str) -> None:
    if not key or not _KEY.fullmatch(key):
        raise UsageError(f"Invalid character found for config key: {key}" if key else "a config has no key")


def wishes(changes: Mapping[str, Sequence[str]], from_file: Mapping[str, str] | None = None) -> Wishes:
    """The texts behind the options that change, read; `from_file` are the configs of `--add-config-file`.

    Raises
    ------
    UsageError
        No change, a text that cannot be read, a key in two of them.
    """
    read: dict[str, dict[str, str | None]] = {SET: dict(from_file or {})}
    for option, operation in OPERATIONS.items():
        for text in changes.get(option, ()):
            read.setdefault(operation, {}).update(_keys(text) if operation == DELETE else pairs(text))
    if FROM_FILE in changes and "add-config" in changes:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    if not any(read.values()):
        raise UsageError("At least one of --add-config, --add-config-file, or --delete-config must be specified")
    _refuse_keys([key for values in read.values() for key in values])
    return read


def without_registrations(changes: Mapping[str, Sequence[str]]) -> tuple[dict[str, Sequence[str]], bool]:
    """The same changes without the key by which KIP-649 removes registrations, and whether they had it."""
    keys = [key for text in changes.get("delete-config", ()) for key in _keys(text)]
    if not {*keys} & {*_SUPPORTED}:
        return {**changes}, False
    others = {option: texts for option, texts in changes.items() if option != "delete-config"}
    left = ",".join(key for key in keys if key not in _SUPPORTED)
    return {**others, **({"delete-config": (left,)} if left else {})}, True


def _refuse_keys(every: Sequence[str]) -> None:
    for key in every:
        _refuse_key(key)
    if any(key.upper().startswith(SCRAM) for key in every) and not set(every) <= {*MECHANISMS}:
        raise UsageError(
            "SCRAM credentials cannot be changed together with other keys",
            hint=f"The mechanisms are {' and '.join(MECHANISMS)}.",
        )
    if repeated := next((key for place, key in enumerate(every) if key in every[:place]), None):
        raise UsageError(f"{repeated} is changed twice in one call", hint="Name each key in one option.")


def _keys(text: str) -> dict[str, None]:
    return dict.fromkeys(map(trimmed, text.split(",")))


def config_edits_of(resource: Resource, requested: Wishes) -> list[Edit]:
    """The edits of one resource, their values as the broker is to judge them."""
    return [Edit(op, resource, key, value) for op, values in requested.items() for key, value in values.items()]


def are_credentials(requested: Wishes) -> bool:
    """True if the keys are mechanisms of SCRAM: the change is about users' credentials."""
    return all(key in MECHANISMS for values in requested.values() for key in values)


def scram_edits_of(user: ScramUser, requested: Wishes) -> list[Edit]:
    """The edits of one user's credentials, passwords by reference; no error repeats a value.

    Raises
    ------
    UsageError
        A password that is not given by reference, iterations that Kafka refuses; an operation on lists.
    """
    _refuse_list_operations(requested)
    return [
        Edit(op, user, mechanism, None if value is None else str(Credential.parse(f"[{value}]")))
        for op, values in requested.items()
        for mechanism, value in values.items()
    ]


def user_edits_of(entity: Entity, requested: Wishes, allow_unknown: Collection[str] = ()) -> list[Edit]:
    """The edits of one entity of quotas; for a user, also the edits of its dynamic client configs (KIP-649).

    Raises
    ------
    UsageError, Invalid
        As of `quota_edits_of`; a client config of a default, or a value that clients cannot take.
    """
    _refuse_list_operations(requested)
    of_clients = entity.parts[0][0] == "user"
    configs, quotas = (
        {
            op: {key: value for key, value in values.items() if (of_clients and key in CLIENT_KEYS) == is_config}
            for op, values in requested.items()
        }
        for is_config in (True, False)
    )
    edits = [
        Edit(op, ClientEntity.of(*client_names(entity)), key, None if value is None else stored_value(key, value))
        for op, values in configs.items()
        for key, value in values.items()
    ]
    return edits + quota_edits_of(entity, quotas, allow_unknown)


def client_names(entity: Entity) -> tuple[Any, Any]:
    """The user and the client-id of a quota's entity, None for one that it does not have."""
    parts = dict(entity.parts)
    return parts.get("user"), parts.get("client-id")


def quota_edits_of(entity: Entity, requested: Wishes, allow_unknown: Collection[str] = ()) -> list[Edit]:
    """The edits of one entity.

    Raises
    ------
    UsageError
        A quota key where it has no meaning, a value that is not a number; an operation on lists for a quota.
    """
    _refuse_list_operations(requested)
    for key in (key for values in requested.values() for key in values):
        _refuse_quota_key(entity, key, allow_unknown)
    return [_quota_edit(op, entity, key, value) for op, values in requested.items() for key, value in values.items()]


def _refuse_list_operations(requested: Wishes) -> None:
    for operation in (APPEND, SUBTRACT):
        if key := next(iter(requested.get(operation, ())), None):
            raise UsageError(f"{key} is not a list: there is nothing to {operation}")


def _refuse_quota_key(entity: Entity, key: str, allow_unknown: Collection[str]) -> None:
    keys = IP_KEYS if entity.get("ip") else USER_CLIENT_KEYS
    if key not in keys and key not in allow_unknown:
        has_clients = entity.get("user") and DEFAULT not in dict(entity.parts).values()
        known = (*keys, *CLIENT_KEYS) if has_clients else keys
        of = "quota and client" if has_clients else "quota"
        raise UsageError(
            f"Only {of} configs can be added or deleted for {entity}. Unexpected config name: {key}",
            hint=did_you_mean(key, known, f"One of {', '.join(known)}."),
        )


def _quota_edit(op: str, entity: Entity, key: str, value: str | None) -> Edit:
    if op == DELETE:
        return Edit(op, entity, key)
    number = parse_double(value or "")
    if number is None:
        raise UsageError(f"Cannot parse quota configuration value for {key}: {value}")
    return Edit(op, entity, key, text_of(parse_value(key, number)))
