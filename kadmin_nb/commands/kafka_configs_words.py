"""The arguments and the lines of `kafka-configs.sh`, without IO: what they change, as edits, refused in its words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..documents import trimmed
from ..errors import UsageError, printable
from ..model.changes import DELETE, SET, Edit
from ..model.client_configs import CLIENT_KEYS, ClientEntity, stored_value
from ..model.entity import Entity
from ..model.grammar import ANY, DEFAULT
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS, parse_value, text_of
from ..model.resources import CONFIG_TYPES, QUOTA_TYPES, Resource
from ..model.scram import MECHANISMS, Credential, ScramUser
from ..secrets import SCRAM, SHOWN

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
"""An entity type, and its name if it has one: an empty one is the default entity, none stands for every entity."""

Changes = Mapping[str, Sequence[str]]
"""The texts behind `--add-config` and the other options that change, by option; those not typed are absent."""


def entities(typed: Mapping[str, Any], changes: Changes) -> list[NamedType]:
    """The entity types of a call with their names, in the tool's order: a name without a type goes to the first.

    Parameters
    ----------
    typed
        The arguments by the names of their parameters.

    Raises
    ------
    UsageError
        Types or names that do not fit together, or an action.
    """
    _refuse_actions(typed, changes)
    flags = ((kind, typed[flag]) for flag, kind in FLAGS.items() if typed[flag])
    by_flag = [(kind, ("",) if names is True else tuple(names)) for kind, names in flags]
    types, names = typed["entity_types"], typed["entity_names"]
    _refuse_types([*types, *(kind for kind, several in by_flag for _ in several)])
    if by_flag and (types or names):
        raise UsageError("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    chosen = by_flag or _paired(types, names)
    for entity_type, several in chosen:
        _refuse_names(entity_type, several, is_alter=typed["alter"])
    return chosen


def quota_entity(chosen: Sequence[NamedType]) -> dict[str, Any]:
    """The quota entity that is named, as KIP-546's map; ANY for a type without a name."""
    return {QUOTA_TYPES[kind]: names[0] or DEFAULT if names else ANY for kind, names in chosen}


def resource(entity_type: str, name: str) -> Resource:
    """The config resource of that type and name."""
    return Resource.of(CONFIG_TYPES[entity_type], name or DEFAULT)


def _refuse_actions(typed: Mapping[str, Any], changes: Changes) -> None:
    if typed["alter"] == typed["describe"]:
        raise UsageError("Command must include exactly one action: --describe, --alter")
    option = next(iter(changes), None)
    if typed["describe"] and option:
        raise UsageError(f"--{option} belongs to --alter, and --describe is asked for")
    if typed["alter"] and typed["all"]:
        raise UsageError("--all belongs to --describe, and --alter is asked for")


def _refuse_types(types: Sequence[str]) -> None:
    for entity_type in types:
        if entity_type not in ENTITY_TYPES:
            raise UsageError(f"Invalid entity type {entity_type}, it must be one of {', '.join(ENTITY_TYPES)}")
    if repeated := [entity_type for place, entity_type in enumerate(types) if entity_type in types[:place]]:
        raise UsageError(f"Duplicate entity type(s) specified: {','.join(repeated)}")
    if not types:
        raise UsageError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")


def _paired(types: Sequence[str], names: Sequence[str]) -> list[NamedType]:
    """The pairs by position."""
    if len(names) > len(types):
        raise UsageError("More entity names specified than entity types")
    return [(entity_type, tuple(names[place : place + 1])) for place, entity_type in enumerate(types)]


_TOPIC = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def _refuse_names(entity_type: str, names: Sequence[str], *, is_alter: bool) -> None:
    if wrong := [name for name in names if entity_type == "topics" and name and not _TOPIC.fullmatch(name)]:
        raise UsageError(f"Topic name is invalid: '{wrong[0]}' is not 1 to 249 ASCII alphanumerics, '.', '_' and '-'")
    ids = [name for name in names if name and entity_type in ("brokers", "broker-loggers")]
    if wrong := [name for name in ids if not (name.isascii() and name.isdigit())]:
        raise UsageError(f"The entity name for {entity_type} must be a valid integer broker id, but it is: {wrong[0]}")
    action = "alter" if is_alter else "describe"
    if "" in names and entity_type not in WITH_DEFAULT:
        raise UsageError(f"--entity-default must not be specified with --{action} of {entity_type}")
    if not names and (is_alter or entity_type == "broker-loggers"):
        raise UsageError(f"An entity name must be specified with --{action} of {entity_type}")


OPERATIONS = {"add-config": SET, "delete-config": DELETE}
"""The options that change, and what each does."""

_REGISTRATIONS = ((DELETE, "supported.configs"), (DELETE, "supported.config"))
"""The key that KIP-649 has deleted to have clients register anew, as it spells it in two places."""

FROM_FILE = "add-config-file"
CHANGING = (FROM_FILE, *OPERATIONS)
"""The options that belong to `--alter`."""

_OUTSIDE = r"(?=[^\]]*(?:\[|$))"
_COMMA, _SIGN = re.compile(f",{_OUTSIDE}"), re.compile(rf"\s*=\s*{_OUTSIDE}")
_BRACKETS = re.compile(r"\[?\]?")
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")

Wishes = Sequence[tuple[str, str, str | None]]
"""An operation, a key and its value each; a value of None takes the key away."""


def pairs(text: str) -> dict[str, str]:
    """`k1=v1,k2=[a,b]` as the tool reads it: no brackets and no space around a value, the last of equal keys wins.

    Raises
    ------
    UsageError
        A part without a sign, or with two.
    """
    texts = _COMMA.split(text)
    while len(texts) > 1 and not texts[-1]:  # as Java's split, which gives no empty texts at the end
        texts.pop()
    parts = [_SIGN.split(part) for part in texts]
    if any(len(part) != 2 for part in parts):
        raise UsageError(
            'Invalid entity config: all configs to be added must be in the format "key=val" or "key=[val1,val2]" to '
            "group values which contain commas."
        )
    return {trimmed(key): trimmed(_BRACKETS.sub("", value)) for key, value in parts}


def wishes(changes: Changes, from_file: Mapping[str, str] | None = None) -> Wishes:
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
    requested = [(op, key, value) for op, values in read.items() for key, value in values.items()]
    if not requested:
        raise UsageError("At least one of --add-config, --add-config-file, or --delete-config must be specified")
    _refuse_keys([key for _, key, _ in requested])
    return requested


def without_registrations(requested: Wishes) -> Wishes:
    """The same without the key by which KIP-649 removes registrations."""
    return [(op, key, value) for op, key, value in requested if (op, key) not in _REGISTRATIONS]


def _refuse_keys(every: Sequence[str]) -> None:
    if wrong := [key for key in every if not key or not _KEY.fullmatch(key)]:
        raise UsageError(f"Invalid character found for config key: {wrong[0]}" if wrong[0] else "a config has no key")
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
    return [Edit(op, resource, key, value) for op, key, value in requested]


def are_credentials(requested: Wishes) -> bool:
    """True if the keys are mechanisms of SCRAM: the change is about users' credentials."""
    return all(key in MECHANISMS for _, key, _ in requested)


def scram_edits_of(user: ScramUser, requested: Wishes) -> list[Edit]:
    """The edits of one user's credentials, passwords by reference; no error repeats a value.

    Raises
    ------
    UsageError
        A password that is not given by reference, iterations that Kafka refuses.
    """
    return [
        Edit(op, user, mechanism, None if value is None else str(Credential.parse(f"[{value}]")))
        for op, mechanism, value in requested
    ]


def user_edits_of(entity: Entity, requested: Wishes, allow_unknown: Collection[str] = ()) -> list[Edit]:
    """The edits of one entity of quotas; for a user, also the edits of its dynamic client configs (KIP-649).

    Raises
    ------
    UsageError, Invalid
        A quota key where it has no meaning, a value that is not a number; a client config of a default, or a value that
        clients cannot take.
    """
    is_user = entity.parts[0][0] == "user"
    configs = [wish for wish in requested if is_user and wish[1] in CLIENT_KEYS]
    quotas = [wish for wish in requested if wish not in configs]
    for _, key, _ in quotas:
        _refuse_quota_key(entity, key, allow_unknown)
    edits = [
        Edit(op, ClientEntity.of(*client_names(entity)), key, None if value is None else stored_value(key, value))
        for op, key, value in configs
    ]
    return edits + [_quota_edit(op, entity, key, value) for op, key, value in quotas]


def client_names(entity: Entity) -> tuple[Any, Any]:
    """The user and the client-id of a quota's entity, None for one that it does not have."""
    parts = dict(entity.parts)
    return parts.get("user"), parts.get("client-id")


def _refuse_quota_key(entity: Entity, key: str, allow_unknown: Collection[str]) -> None:
    keys = IP_KEYS if entity.get("ip") else USER_CLIENT_KEYS
    if key not in keys and key not in allow_unknown:
        has_clients = entity.get("user") and DEFAULT not in dict(entity.parts).values()
        known = (*keys, *CLIENT_KEYS) if has_clients else keys
        raise UsageError(f"Only {', '.join(known)} can be added or deleted for {entity}. Unexpected config name: {key}")


def _quota_edit(op: str, entity: Entity, key: str, value: str | None) -> Edit:
    if op == DELETE:
        return Edit(op, entity, key)
    number = parse_double(value or "")
    if number is None:
        raise UsageError(f"Cannot parse quota configuration value for {key}: {value}")
    return Edit(op, entity, key, text_of(parse_value(key, number)))


# --- answers, as the lines that the tool prints, and as the table that KIP-248 promised ---

Row = Mapping[str, Any]
"""A row of CONFIGS or of QUOTAS."""


def completed(chosen: Sequence[NamedType]) -> list[str]:
    """The line after a change."""
    entity_type, (name,) = chosen[0]
    default = f"Completed updating default config for {entity_type} in the cluster."
    return [f"Completed updating config for {singular(entity_type)} {name}." if name else default]


def missing(entity_type: str, name: str) -> str:
    """The line of a resource that does not exist."""
    return f"The {singular(entity_type)} '{name}' doesn't exist and doesn't have dynamic config."


def own_rows(entity_type: str, resource: Resource, rows: Iterable[Row]) -> list[Row]:
    """The configs that were set on the resource itself; of a broker's loggers all are."""
    return [row for row in rows if entity_type == "broker-loggers" or row["source"] == resource.source]


def config_lines(entity_type: str, name: str, rows: Iterable[Row], *, is_all: bool) -> Iterator[str]:
    """The configs of one resource, below its heading."""
    default = f"Default configs for {entity_type} in the cluster are:"
    yield f"{'All' if is_all else 'Dynamic'} configs for {singular(entity_type)} {name} are:" if name else default
    for row in rows:
        synonyms = ", ".join(f"{s['source']}:{s['key']}={_java(s['value'])}" for s in row["synonyms"] or ())
        sensitive = str(bool(row["is_sensitive"])).lower()
        yield f"  {row['key']}={_java(row['value'])} sensitive={sensitive} synonyms={{{synonyms}}}"


def _java(value: str | None) -> str:
    return "null" if value is None else value


def quota_lines(rows: Iterable[Row]) -> Iterator[str]:
    """The quotas of each entity in a line."""
    for entity, mine in groupby(rows, itemgetter("entity")):
        values = ", ".join(f"{row['key']}={double_text(row['value'])}" for row in mine)
        yield f"Quota configs for {_in_words(Entity.parse(entity))} are {values}"


def client_config_lines(rows: Iterable[Row]) -> Iterator[str]:
    """The dynamic configs of each entity in a line, as KIP-649 has it."""
    for entity, mine in groupby(rows, itemgetter("entity")):
        values = ", ".join(f"{row['key']}={row['value']}" for row in mine)
        yield printable(f"Dynamic configs for {_in_words(Entity.parse(entity))} are {values}")


def supported_lines(supported: Mapping[str, Mapping[tuple[str, str], Sequence[str]]]) -> Iterator[str]:
    """The keys that each software and version supports, an entity in a line, as KIP-649 has it."""
    for entity, versions in supported.items():
        values = {
            f"ClientInformation(softwareName={software}, softwareVersion={version})": ", ".join(keys)
            for (software, version), keys in versions.items()
        }
        yield printable(f'Supported dynamic configs for {_in_words(Entity.parse(entity))} are "{values}"')


def scram_lines(rows: Iterable[Row]) -> Iterator[str]:
    """The credentials of each user in a line."""
    credentials = (row for row in rows if row["mechanism"] is not None)
    for user, mine in groupby(credentials, itemgetter("user")):
        values = ", ".join(f"{row['mechanism']}=iterations={row['iterations']}" for row in mine)
        yield f"SCRAM credential configs for user-principal '{user}' are {values}"


_NOUNS = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}


def _in_words(entity: Entity) -> str:
    nouns = ((_NOUNS.get(kind, kind), name) for kind, name in entity.parts)
    return ", ".join(f"the default {noun}" if name is DEFAULT else f"{noun} '{name}'" for noun, name in nouns)


def source_in_words(name: str | None) -> str:
    """A source or a level as KIP-248 writes it: `Dynamic topic config`, `Default user`."""
    return (name or "").replace("_", " ").capitalize()


HEADINGS = ("Name", "Value", "Sensitive", "Read-only", "Source")


def organised(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """KIP-248's table: names to the right, values to the left, in columns as wide as they need to be; escaped."""
    title, rows = printable(title), [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    lines = [_line(HEADINGS, widths, " "), *(_line(row, widths, "=") for row in rows)]
    yield title.center(max(map(len, lines))).rstrip()
    yield from lines


def _line(row: Sequence[str], widths: Sequence[int], sign: str) -> str:
    name, value, *rest = row
    texts = [name.rjust(widths[0]), sign, value.ljust(widths[1])]
    texts += ["", *(text.rjust(width) for text, width in zip(rest, widths[2:], strict=True))]
    return " ".join(texts).rstrip()


def organised_configs(entity_type: str, name: str, rows: Iterable[Row]) -> Iterator[str]:
    """The table of one resource."""
    noun = singular(entity_type).upper()
    title = f"CONFIGS FOR {noun} {name}" if name else f"DEFAULT CONFIGS FOR {entity_type.upper()}"
    cells = []
    for row in rows:
        flags = (str(bool(row[name])).lower() for name in ("is_sensitive", "is_read_only"))
        value = SHOWN if row["is_sensitive"] else row["value"] or ""
        cells.append([row["key"], value, *flags, source_in_words(row["source"])])
    yield from organised(title, cells)


def organised_quotas(rows: Iterable[Row]) -> Iterator[str]:
    """The table of each entity."""
    for entity, mine in groupby(rows, itemgetter("entity")):
        title = f"CONFIGS FOR {_in_words(Entity.parse(entity)).replace('user-principal', 'user')}"
        cells = [
            (row["key"], double_text(row["value"]), "false", "false", source_in_words(row["level"])) for row in mine
        ]
        yield from organised(title, cells)


# -- texts and types as Kafka's own programs have them

ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
"""All of them, in the order in which the tool lists them."""


def singular(entity_type: str) -> str:
    """The type without its last letter, as the tool prints it: `topic`; of client-metrics too: `client-metric`."""
    return entity_type[:-1]


_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def parse_double(text: str) -> float | None:
    """The decimal number in a text, as `Double.parseDouble` reads it, `5e6` and `5.0d` too; None of any other text."""
    number = trimmed(text)
    number = number[:-1] if number[-1:] in ("d", "D", "f", "F") else number
    return float(number) if _DOUBLE.fullmatch(number) else None


def double_text(value: float) -> str:
    """A number as `Double.toString` writes it: `5000000.0`, `4.0E7`, `1.0E-4`."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{digits}{'' if '.' in digits else '.0'}E{int(exponent)}"
