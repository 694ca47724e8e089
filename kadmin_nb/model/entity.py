"""A quota entity: whom a quota is set on (KIP-546)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import UsageError
from .configurable import Configurable
from .grammar import ANY, DEFAULT, Special, as_value, format_word, parse_word, split
from .levels import Part, level_of
from .quota_keys import find

TYPES = ("user", "client-id", "ip")
"""The entity types Kafka 4.4 knows, in the order we print them."""

_ANY_TYPE = "entity:"
"""Before the name of a type that Kafka may get one day (KIP-546: types are not statically bound): `entity:team=x`."""


def entity_type(name: str) -> str | None:
    """The entity type that a word's name names, `client-id` or `entity:team`; None of other names."""
    kind = name.removeprefix(_ANY_TYPE)
    return kind if kind and (kind in TYPES or kind != name) else None


@dataclass(frozen=True)
class Entity(Configurable):
    """A quota entity, as `user=alice client-id=<default>`: types with a name or `DEFAULT` each.

    Prints as words that parse back, so its text is the row key everywhere.
    """

    kind: ClassVar[str] = "quota"
    scope: ClassVar[str] = "QUOTAS"
    parts: tuple[tuple[str, Part], ...]
    _text: ClassVar[str | None] = None
    _hash: ClassVar[int]

    @classmethod
    def of(cls, parts: Mapping[str, object]) -> Entity:
        """The entity of this map of KIP-546, parts in our order. Any type is allowed, each with a name or DEFAULT.

        Raises
        ------
        UsageError
            No part, None, an empty name, ANY, something that is not a text, an ip beside another.
        """
        if not parts:
            raise UsageError("an entity needs at least one of user, client-id, ip")
        if "ip" in parts and len(parts) > 1:
            raise UsageError(
                "ip cannot be combined with user or client-id",
                hint="Kafka keeps ip quotas separate: use ip=… alone.",
            )
        return cls(_in_order([(kind, named(kind, name)) for kind, name in parts.items()]))

    @classmethod
    def parse(cls, text: str) -> Entity:
        """The entity that this text names."""
        return cls.of(parts_of(split(text)))

    @property
    def names(self) -> list[str]:
        return [str(name) for _, name in self.parts]

    @property
    def level(self) -> str:
        return level_of(self.parts)

    def unknown_names(self, key: str) -> list[str]:
        """The entity types, and the key, that this version does not know."""
        types = [kind for kind, _ in self.parts if kind not in TYPES]
        return [*types, *([key] if find(key) is None else [])]

    def get(self, kind: str) -> Part | None:
        """The name or DEFAULT of that type, None when it is not a part of this entity."""
        return dict(self.parts).get(kind)

    def wire(self) -> tuple[tuple[str, str | None], ...]:
        """As the protocol has it: a null name is the default."""
        return tuple((kind, None if name is DEFAULT else str(name)) for kind, name in self.parts)

    def columns(self) -> dict[str, str | None]:
        """The columns of QUOTAS that name it; the default is null, as is a part that it does not have."""
        parts = {column: self.get(kind) for column, kind in ARGUMENTS.items()}
        names = {column: None if isinstance(part, Special) else part for column, part in parts.items()}
        return {"entity": str(self), "level": self.level, **names}

    @classmethod
    def from_wire(cls, parts: Iterable[tuple[str, str | None]]) -> Entity:
        """The entity of a broker's answer; never refused, whatever it contains."""
        named_parts = ((kind, DEFAULT if name is None else name) for kind, name in parts)
        return cls(_in_order(named_parts))

    def __post_init__(self) -> None:
        """Hash and text are made once, the text when it is first asked for: a plan needs both again and again."""
        object.__setattr__(self, "_hash", hash(self.parts))

    def __str__(self) -> str:
        text = self._text
        if text is None:
            text = " ".join(format_word(kind, name) for kind, name in self.parts)
            object.__setattr__(self, "_text", text)
        return text

    def __hash__(self) -> int:
        return self._hash


ARGUMENTS = {"user": "user", "client_id": "client-id", "ip": "ip"}
"""The names of Python's arguments for the entity types."""


def parts_of(words: Sequence[str]) -> dict[str, object]:
    """The parts that these words name, each type once."""
    parts: dict[str, object] = {}
    for word in words:
        if not _PART.match(word):
            raise UsageError(
                f"{word} does not name an entity: a name with spaces needs quotes",
                hint="For example 'user=\"Jane Doe\"', with both kinds of quotes.",
            )
        part = parse_word(word)
        kind = entity_type(part.name) or part.name
        if kind in parts:
            raise UsageError(f"{kind} is named twice")
        parts[kind] = part.value
    return parts


_PART = re.compile(r"[a-z][a-z0-9._:-]*[=~]")
"""The beginning of a word that may name a part of an entity: its type, of a Kafka to come even."""


def named(kind: str, value: object) -> Part:
    """`value` as the name of exactly one entity part: a name or DEFAULT.

    Raises
    ------
    UsageError
        None, an empty name, ANY, or something that is not a text.
    """
    if value is None or value == "":
        raise UsageError(
            f"{kind} has no name",
            hint=f"Kafka has no empty names. Leave {kind} out, or pass kn.DEFAULT for the default.",
        )
    part = as_value(value)
    if part is ANY or not isinstance(part, str | Special):
        raise UsageError(
            f"{format_word(kind, part)} names more than one entity",
            hint="A change names exactly one: a name or <default>.",
        )
    return part


def _in_order(parts: Iterable[tuple[str, Part]]) -> tuple[tuple[str, Part], ...]:
    several = tuple(parts)
    if len(several) == 1 or (len(several) == 2 and several[0][0] == TYPES[0]):
        return several
    if len(several) == 2 and several[1][0] == TYPES[0]:  # as brokers answer
        return several[::-1]
    return tuple(sorted(several, key=_sort_key))


def _sort_key(part: tuple[str, Part]) -> tuple[int, str]:
    kind = part[0]
    return (TYPES.index(kind) if kind in TYPES else len(TYPES), kind)
