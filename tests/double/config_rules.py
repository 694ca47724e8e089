"""What Kafka says to configs: rows with their sources and synonyms, and KIP-339's operations on one resource."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.model.changes import Refusal
from kadmin_nb.model.resources import Resource

from . import schema
from .metadata import Node

Configs = Mapping[Resource, Mapping[str, str]]
Row = dict[str, object]
Synonym = dict[str, str | None]

EVERYONE = Resource("BROKER", "")


class Refused(Exception):
    """The resource is refused as a whole."""

    def __init__(self, code: str, message: str) -> None:
        self.refusal = Refusal(code, message)


def rows(
    configs: Configs,
    node: Node,
    resource: Resource,
    keys: Collection[str] | None,
    documentation: bool,
    synonyms: bool,
) -> list[Row]:
    """CONFIGS of one resource as that broker has it, of these keys or of all."""
    if resource.type == "BROKER_LOGGER":
        levels = _levels(node)
        return [_logger_row(resource, name, levels[name]) for name in levels if keys is None or name in keys]
    own = configs.get(resource, {})
    listed = own if resource == EVERYONE else {**schema.KEYS[resource.type], **own}
    asked = [name for name in listed if keys is None or name in keys]
    return [_row(configs, node, resource, name, documentation, synonyms) for name in asked]


def _levels(node: Node) -> dict[str, str]:
    return {**schema.LOGGERS, **node.loggers}


def _logger_row(resource: Resource, name: str, level: str) -> Row:
    return _head(resource, name) | {
        "value": level,
        "source": resource.source,
        "is_sensitive": False,
        "is_read_only": False,
        "is_default": False,
        "synonyms": [],
    }


def _head(resource: Resource, name: str | None) -> Row:
    return {"resource_type": resource.type, "resource_name": resource.name, "key": name}


def failed(resource: Resource, refused: Refusal) -> Row:
    """The one row of a resource that cannot be read."""
    return _head(resource, None) | {"error": refused.code, "message": refused.message}


def _row(configs: Configs, node: Node, resource: Resource, name: str, documentation: bool, synonyms: bool) -> Row:
    key = schema.key_of(resource.type, name) or schema.STRANGER
    hidden = key.type == "PASSWORD" or key is schema.STRANGER
    chain = [*_chain(configs, node, resource, name, key)]
    source = chain[0]["source"] if chain else "DEFAULT_CONFIG"
    value = chain[0]["value"] if chain else key.default
    return _head(resource, name) | {
        "value": None if hidden else value if resource == EVERYONE else _shown(key.type, value),
        "source": source,
        "is_sensitive": hidden,
        "is_read_only": key.is_read_only,
        "is_default": source == "DEFAULT_CONFIG",
        "type": None if key is schema.STRANGER else key.type,
        "synonyms": [s | {"value": None} if hidden else s for s in chain] if synonyms else [],
        "documentation": key.documentation if documentation else None,
    }


def _chain(configs: Configs, node: Node, resource: Resource, name: str, key: schema.Key) -> Iterator[Synonym]:
    """Where the value comes from, and what lies below: a topic's text is shown as read, a broker's as sent."""
    if resource.type == "BROKER":
        return _broker_chain(configs, node, resource, name, key.default)
    own = configs.get(resource, {}).get(name)
    mine = [_synonym(resource.source, name, _shown(key.type, own))] if own is not None else []
    if key.broker:
        below = [*_broker_chain(configs, node, Resource("BROKER", str(node.id)), key.broker, key.default)]
    else:
        below = []
    return iter([*mine, *below])


def _broker_chain(
    configs: Configs, node: Node, resource: Resource, name: str, default: str | None
) -> Iterator[Synonym]:
    for place in dict.fromkeys((resource, EVERYONE)):
        if name in configs.get(place, {}):
            yield _synonym(place.source, name, configs[place][name])
    if name == "node.id":
        yield _synonym("STATIC_BROKER_CONFIG", name, str(node.id))
    if default is not None:
        yield _synonym("DEFAULT_CONFIG", name, default)


def _synonym(source: str, key: str, value: str | None) -> Synonym:
    return {"source": source, "key": key, "value": value}


def _shown(kind: str, text: str | None) -> str | None:
    """A value as Kafka writes it after reading it."""
    if text is None or kind in ("STRING", "PASSWORD"):
        return text
    if kind == "LIST":
        return ",".join(item.strip() for item in text.split(","))
    if kind == "BOOLEAN":
        return text.strip().lower()
    return str(float(text)) if kind == "DOUBLE" else str(int(text))


def altered(own: Mapping[str, str], resource: Resource, operations: Sequence[ConfigOperation]) -> dict[str, str | None]:
    """What the resource's keys become, None where one is removed.

    Raises
    ------
    Refused
        One of them is wrong, so that none is done.
    """
    if len({o.key for o in operations}) < len(operations):
        raise Refused("INVALID_REQUEST", "Error due to duplicate config keys")
    if nothing := [o.key for o in operations if o.value is None and o.op != "delete"]:
        raise Refused("INVALID_REQUEST", f"Null value not supported for : {', '.join(nothing)}")
    return {o.key: _result(own, resource, o) for o in operations}


def _result(own: Mapping[str, str], resource: Resource, operation: ConfigOperation) -> str | None:
    key = _known(resource, operation)
    if operation.op == "delete":
        return None
    if operation.op == "set":
        return _checked(key.type, operation)
    if key.type != "LIST":
        raise _no_list(resource, operation)
    return _LISTS[operation.op](own.get(operation.key, key.default), operation.text or "")


def _known(resource: Resource, operation: ConfigOperation) -> schema.Key:
    name, key = operation.key, schema.key_of(resource.type, operation.key)
    if key is not None and key.is_read_only:
        raise Refused("INVALID_REQUEST", f"Cannot update these configs dynamically: [{name}]")
    if key is not None:
        return key
    if resource.type == "CLIENT_METRICS":
        raise Refused("INVALID_REQUEST", f"Unknown client metrics configuration: {name}")
    if resource.type != "BROKER":
        raise Refused("INVALID_CONFIG", f"Unknown {resource.type.lower()} config name: {name}")
    if operation.op in ("append", "subtract"):
        raise Refused("INVALID_CONFIG", f"Unknown config name: {name}")
    return schema.STRANGER


def _no_list(resource: Resource, operation: ConfigOperation) -> Refused:
    if resource.type == "BROKER" and resource.name:
        return Refused("INVALID_CONFIG", f"Config value append is not allowed for config key: {operation.key}")
    op = operation.op.upper()
    return Refused("INVALID_CONFIG", f"Can't {op} to key {operation.key} because its type is not LIST.")


def _checked(kind: str, operation: ConfigOperation) -> str:
    text = operation.text or ""
    try:
        _READ.get(kind, str)(text)
    except ValueError:
        words = "Expected value to be either true or false" if kind == "BOOLEAN" else f"Not a number of type {kind}"
        raise Refused("INVALID_CONFIG", f"Invalid value {text} for configuration {operation.key}: {words}") from None
    return text


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError(text)
    return text.strip().lower() == "true"


_READ: dict[str, Callable[[str], object]] = {"INT": int, "LONG": int, "DOUBLE": float, "BOOLEAN": _boolean}


def _java_split(text: str) -> list[str]:
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts


def _append(stored: str | None, items: str) -> str:
    held = [item for item in (stored or "").split(",") if item]
    for item in _java_split(items):
        held += [item] if item not in held else []
    return ",".join(held)


def _subtract(stored: str | None, items: str) -> str:
    held = [item for item in (stored or "").split(",") if item]
    for item in _java_split(items):
        if item in held:
            held.remove(item)
    return ",".join(held)


_LISTS = {"append": _append, "subtract": _subtract}


def levels_altered(node: Node, operations: Sequence[ConfigOperation]) -> dict[str, str | None]:
    """What the broker's log levels become; a removal falls back to the root's.

    Raises
    ------
    Refused
        One of them is wrong, so that none is done.
    """
    for operation in operations:
        name = operation.key
        if operation.op not in ("set", "delete"):
            op = operation.op.upper()
            raise Refused("INVALID_REQUEST", f"{op} operation is not allowed for the BROKER_LOGGER resource")
        if name not in schema.LOGGERS:
            raise Refused("INVALID_CONFIG", f"Logger {name} does not exist!")
        if operation.op == "set" and operation.text not in schema.LOG_LEVELS:
            wrong = f"Cannot set the log level of {name} to {operation.text} as it is not a supported log level."
            raise Refused("INVALID_CONFIG", f"{wrong} Valid log levels are {', '.join(schema.LOG_LEVELS)}")
    return {o.key: o.text if o.op == "set" else _levels(node)["root"] for o in operations}
