"""The arguments of `kafka-configs.sh`: what belongs together, and what is refused, in the tool's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from ..errors import UsageError
from ..hints import did_you_mean
from ..model.entity import Entity
from ..model.grammar import ANY, DEFAULT, Special
from ..model.java_text import CONFIG_TYPES, ENTITY_TYPES, QUOTA_TYPES
from ..model.resources import Resource

FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker_logger": "broker-loggers",
    "ip": "ips",
    "client_metrics": "client-metrics",
    "group": "groups",
    "client_defaults": "clients",
    "user_defaults": "users",
    "broker_defaults": "brokers",
    "ip_defaults": "ips",
}
"""The flags that name an entity, each with its type, in the order in which the tool takes them."""

WITH_DEFAULT = ("users", "clients", "brokers", "ips")
"""The types that have a default entity."""

NamedType = tuple[str, tuple[str, ...]]
"""An entity type and its names: an empty name is the default entity, no name at all stands for every entity."""


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call. `flags` has the names behind each of FLAGS, an empty one for a default."""

    alter: bool = False
    describe: bool = False
    all: bool = False
    entity_types: Sequence[str] = ()
    entity_names: Sequence[str] = ()
    flags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    changes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The texts behind `--add-config` and the other options that change, by option; those that were not typed are
    absent."""


def entities(arguments: Arguments) -> list[NamedType]:
    """The entity types of a call with their names, in the tool's order: a name without a type goes to the first.

    Several names of one type are an addition of ours: the change, or the question, is about each.

    Raises
    ------
    UsageError
        Types or names that do not fit together, or an action.
    """
    _refuse_actions(arguments)
    typed = [entity_type for entity_type, _ in _of_flags(arguments)]
    _refuse_types([*arguments.entity_types, *typed])
    if typed and (arguments.entity_types or arguments.entity_names):
        raise UsageError("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    chosen = _of_flags(arguments) or _paired(arguments.entity_types, arguments.entity_names)
    for entity_type, names in chosen:
        _refuse_names(entity_type, names, arguments)
    return chosen


def quota_entities(chosen: Sequence[NamedType]) -> list[dict[str, str | Special]]:
    """Each quota entity that is named, as KIP-546's map; ANY for a type without a name."""
    kinds = [QUOTA_TYPES[entity_type] for entity_type, _ in chosen]
    names = [[name or DEFAULT for name in names] or [ANY] for _, names in chosen]
    return [dict(zip(kinds, combination, strict=True)) for combination in product(*names)]


def changed_entities(chosen: Sequence[NamedType]) -> list[Entity]:
    """Each quota entity that a change is about."""
    kinds = [QUOTA_TYPES[entity_type] for entity_type, _ in chosen]
    every = ([name or DEFAULT for name in names] for names in product(*(names for _, names in chosen)))
    return [Entity.of(dict(zip(kinds, names, strict=True))) for names in every]


def resource(entity_type: str, name: str) -> Resource:
    """The config resource of that type and name."""
    return Resource.of(CONFIG_TYPES[entity_type], name or DEFAULT)


def _refuse_actions(arguments: Arguments) -> None:
    if arguments.alter == arguments.describe:
        raise UsageError("Command must include exactly one action: --describe, --alter")
    option = next(iter(arguments.changes), None)
    if arguments.describe and option:
        raise UsageError(f"--{option} belongs to --alter, and --describe is asked for")
    if arguments.alter and arguments.all:
        raise UsageError("--all belongs to --describe, and --alter is asked for")


def _of_flags(arguments: Arguments) -> list[NamedType]:
    return [(kind, tuple(names)) for flag, kind in FLAGS.items() if (names := arguments.flags.get(flag, ()))]


def _refuse_types(types: Sequence[str]) -> None:
    for entity_type in types:
        if entity_type not in ENTITY_TYPES:
            raise UsageError(
                f"Invalid entity type {entity_type}, the entity type must be one of {', '.join(ENTITY_TYPES)}",
                hint=did_you_mean(entity_type, ENTITY_TYPES),
            )
    if repeated := [entity_type for place, entity_type in enumerate(types) if entity_type in types[:place]]:
        raise UsageError(f"Duplicate entity type(s) specified: {','.join(repeated)}")
    if not types:
        raise UsageError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")


def _paired(types: Sequence[str], names: Sequence[str]) -> list[NamedType]:
    """The pairs by position; one type alone has all the names, which a default may not be among."""
    if len(types) == 1:
        return [(types[0], tuple(names))]
    if len(names) > len(types):
        raise UsageError("More entity names specified than entity types")
    return [(entity_type, tuple(names[place : place + 1])) for place, entity_type in enumerate(types)]


_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def _refuse_names(entity_type: str, names: Sequence[str], arguments: Arguments) -> None:
    if wrong := [name for name in names if entity_type == "topics" and name and not _TOPIC.fullmatch(name)]:
        raise UsageError(f"Topic name is invalid: '{wrong[0]}' is not 1 to 249 ASCII alphanumerics, '.', '_' and '-'")
    if entity_type in ("brokers", "broker-loggers"):
        _refuse_brokers(entity_type, names)
    (_refuse_to_describe if arguments.describe else _refuse_to_alter)(entity_type, names)


_DEFAULT_APART = "Use a separate call for the default of a type."


def _refuse_to_describe(entity_type: str, names: Sequence[str]) -> None:
    if "" in names and entity_type not in WITH_DEFAULT:
        raise UsageError(f"--entity-default must not be specified with --describe of {entity_type}")
    if "" in names and len(names) > 1:
        raise UsageError("More entity names specified than entity types", hint=_DEFAULT_APART)
    if entity_type == "broker-loggers" and not names:
        raise UsageError("An entity name must be specified with --describe of broker-loggers")


def _refuse_to_alter(entity_type: str, names: Sequence[str]) -> None:
    if not names:
        raise UsageError("An entity name must be specified for every entity type")
    if "" in names and entity_type not in WITH_DEFAULT:
        raise UsageError(f"An entity name must be specified with --alter of {entity_type}")
    if "" in names and len(names) > 1:
        raise UsageError("An entity name must be specified for every entity type", hint=_DEFAULT_APART)


def _refuse_brokers(entity_type: str, names: Sequence[str]) -> None:
    for name in names:
        if name and not (name.isascii() and name.isdigit()):
            raise UsageError(f"The entity name for {entity_type} must be a valid integer broker id, but it is: {name}")


def names_of_type(chosen: Sequence[NamedType], entity_type: str) -> Iterator[str]:
    """The names of one type, without the default."""
    return (name for kind, names in chosen for name in names if kind == entity_type and name)
