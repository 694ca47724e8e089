"""Answers as the lines that `kafka-configs.sh` prints, and as the table that KIP-248 promised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..errors import printable
from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.java_text import double_text, singular
from ..model.resources import Resource
from ..secrets import SHOWN
from .configs_arguments import NamedType

Row = Mapping[str, Any]
"""A row of CONFIGS or of QUOTAS."""


def completed(chosen: Sequence[NamedType]) -> list[str]:
    """The lines after a change, one for each name of the first type."""
    entity_type, names = chosen[0]
    default = f"Completed updating default config for {entity_type} in the cluster."
    return [f"Completed updating config for {singular(entity_type)} {name}." if name else default for name in names]


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
