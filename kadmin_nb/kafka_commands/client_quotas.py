"""`kafka-client-quotas.sh` of KIP-546, which Kafka never shipped: its words, and its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import quote

from ..errors import UsageError
from ..model.changes import DELETE, SET, Edit
from ..model.entity import TYPES, Entity
from ..model.grammar import DEFAULT, Special
from ..model.java_text import trimmed
from ..model.levels import DEFAULT_IP, LEVELS, Part
from ..model.quota_keys import parse_value, text_of

ACTIONS = ("describe", "resolve", "alter")
ACTION_OF = {
    "prefix": "describe",
    "show_overridden": "resolve",
    "add": "alter",
    "delete": "alter",
    "validate_only": "alter",
}
"""The options that belong to one action alone."""


@dataclass(frozen=True)
class Words:
    """The options of one call, as they were typed."""

    describe: bool = False
    resolve: bool = False
    alter: bool = False
    names: Sequence[str] = ()
    defaults: Sequence[str] = ()
    prefix: Sequence[str] = ()
    show_overridden: bool = False
    add: Sequence[str] = ()
    delete: Sequence[str] = ()
    validate_only: bool = False

    def action(self) -> str:
        """The one action that is asked for.

        Raises
        ------
        UsageError
            None, or several; an option of another.
        """
        asked = [action for action in ACTIONS if getattr(self, action)]
        if len(asked) != 1:
            raise UsageError("exactly one action is needed: --describe, --resolve or --alter")
        for option, action in ACTION_OF.items():
            if getattr(self, option) and action != asked[0]:
                raise UsageError(f"--{option.replace('_', '-')} belongs to --{action}, and --{asked[0]} is asked for")
        return asked[0]

    def parts(self) -> dict[str, Part]:
        """The entity types that are named, each with its name or DEFAULT."""
        named, defaults = _named_parts(self.names), _comma_separated(self.defaults)
        _refuse_twice(named, defaults)
        return {**named, **dict.fromkeys(defaults, DEFAULT)}

    def prefixes(self) -> dict[str, str]:
        """The beginnings of names, by entity type; none of a type that has a name too."""
        prefixes = _named_parts(self.prefix, "--prefix")
        _refuse_twice(self.parts(), prefixes)
        return prefixes


def _refuse_twice(named: Mapping[str, Part], further: Iterable[str]) -> None:
    if repeated := next((kind for kind in further if kind in named), None):
        raise UsageError(f"{repeated} is named twice")


def _comma_separated(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in map(trimmed, text.split(",")) if word]


def _named_parts(texts: Iterable[str], option: str = "--names") -> dict[str, str]:
    """`user=CN=a,O=b,client-id=x`: a comma splits only before a type that is known, or was used before it."""
    parts: dict[str, str] = {}
    for text in texts:
        for word in _split(text, parts):
            kind, sign, name = word.partition("=")
            if not sign or not kind or not name:
                raise UsageError(f"{option} takes type=name, not {word}")
            _refuse_twice(parts, [kind])
            parts[kind] = name
    return parts


def _split(text: str, used: Iterable[str]) -> list[str]:
    types = "|".join(map(re.escape, {*TYPES, *used, text.partition("=")[0]} - {""}))
    return re.split(f",(?=(?:{types})=)", text)


def typed_edits(words: Words, entity: Entity) -> list[Edit]:
    """The edits of `--add` and `--delete`.

    Raises
    ------
    UsageError
        None, a key in both or twice, a value that is not a number.
    """
    pairs = [_pair(word) for word in _comma_separated(words.add)]
    removals = _comma_separated(words.delete)
    keys = [key for key, _ in pairs] + removals
    if not keys:
        raise UsageError("--alter needs --add or --delete")
    if repeated := next((key for place, key in enumerate(keys) if key in keys[:place]), None):
        raise UsageError(f"{repeated} is changed twice in one call")
    set_edits = [Edit(SET, entity, key, text_of(parse_value(key, value))) for key, value in pairs]
    return [*set_edits, *(Edit(DELETE, entity, key) for key in removals)]


def _pair(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not sign or not key:
        raise UsageError(f"--add takes name=value, not {key}")
    return key, value


def in_braces(entity: Entity) -> str:
    """`{user=alice, client-id=<default>}`, names as Kafka's Sanitizer writes them, so that none looks like another."""
    words = ((kind, name.value if isinstance(name, Special) else quote(name, safe="")) for kind, name in entity.parts)
    return "{" + ", ".join(f"{kind}={word.replace('~', '%7E')}" for kind, word in words) + "}"


def quota_blocks(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The quotas of each entity below its name, defaults last, a blank line between."""
    blocks = [(Entity.parse(text), [*mine]) for text, mine in groupby(rows, itemgetter("entity"))]
    blocks.sort(key=lambda block: [(name is DEFAULT, str(name)) for _, name in block[0].parts])
    for number, (entity, mine) in enumerate(blocks):
        yield from [""] * bool(number)
        yield in_braces(entity)
        yield from (f"{row['key']}={text_of(row['value'])}" for row in mine)


def has_prefixes(entity: Entity, prefixes: Mapping[str, str]) -> bool:
    """True if each of these types has a name that begins so; the default has none."""
    names = {kind: entity.get(kind) for kind in prefixes}
    return all(isinstance(name, str) and name.startswith(prefixes[kind]) for kind, name in names.items())


def resolved_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each limit with the entity that sets it; below it the overridden ones, each with a star."""
    for row in sorted((row for row in rows if row["level"] is not None), key=itemgetter("key")):
        yield f"{row['key']}={text_of(row['value'])} {in_braces(_source(row, row['level']))}"
        for entry in row.get("overridden") or ():
            yield f"*{row['key']}={text_of(entry['value'])} {in_braces(_source(row, entry['level']))}"


def _source(row: Mapping[str, Any], level: str) -> Entity:
    """The entity of a level, for the client of this row."""
    if "ip" in row:
        return Entity.of({"ip": DEFAULT if level == DEFAULT_IP else row["ip"]})
    place = next(one for one in LEVELS if one.name == level)
    kinds = {"user": (place.user, row["user"]), "client-id": (place.client_id, row["client_id"])}
    return Entity.of({kind: name if of == "name" else DEFAULT for kind, (of, name) in kinds.items() if of})
