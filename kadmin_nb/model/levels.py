"""The levels of the quota hierarchy: KIP-248's QuotaSource, and three of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .grammar import DEFAULT, Special

Part = str | Special


@dataclass(frozen=True, slots=True)
class Level:
    """One way of naming an entity: `user` and `client_id` are "name", "default" or None (not part of it).

    `number` and `description` are KIP-248's QuotaSource id and text.
    """

    number: int
    name: str
    description: str
    user: str | None
    client_id: str | None

    def __str__(self) -> str:
        return self.name


LEVELS: tuple[Level, ...] = (
    Level(0, "CLIENT_OF_USER", "Client of user", "name", "name"),
    Level(1, "DEFAULT_CLIENT_OF_USER", "Default client of user", "name", "default"),
    Level(2, "USER", "User", "name", None),
    Level(3, "CLIENT_OF_DEFAULT_USER", "Client of default user", "default", "name"),
    Level(4, "DEFAULT_CLIENT_OF_DEFAULT_USER", "Default client of default user", "default", "default"),
    Level(5, "DEFAULT_USER", "Default user", "default", None),
    Level(6, "CLIENT", "Client", None, "name"),
    Level(7, "DEFAULT_CLIENT", "Default client", None, "default"),
)
"""From most to least specific: the first level that has a quota wins (KIP-55, kafka-facts 1.1)."""

LEVELS_BY_NAME = {level.name: level for level in LEVELS}

_OF_THE_USER = "shared by its client-ids that have no quota of their own"
_OF_THE_CLIENT = "shared by all users that send this client-id"

SHARERS = {
    "USER": _OF_THE_USER,
    "DEFAULT_USER": _OF_THE_USER,
    "CLIENT": _OF_THE_CLIENT,
    "DEFAULT_CLIENT": _OF_THE_CLIENT,
}
"""The clients of other names that draw from the allowance of one client, at the levels that have such."""

SHARED = {
    "CLIENT_OF_USER": "shared by the connections of this user and client-id",
    "DEFAULT_CLIENT_OF_USER": "shared with nobody (one per client-id)",
    "USER": _OF_THE_USER,
    "CLIENT_OF_DEFAULT_USER": "shared with nobody (one per user)",
    "DEFAULT_CLIENT_OF_DEFAULT_USER": "shared with nobody (one per user and client-id)",
    "DEFAULT_USER": "each user gets this once, for all its client-ids",
    "CLIENT": _OF_THE_CLIENT,
    "DEFAULT_CLIENT": "each client-id gets this once, for all users that send it",
}
"""The clients that draw from the allowance of a level, on each broker."""

IP, DEFAULT_IP, OTHER = "IP", "DEFAULT_IP", "OTHER"
LEVEL_NAMES: tuple[str, ...] = (*(level.name for level in LEVELS), IP, DEFAULT_IP, OTHER)


_BY_PARTS = {
    tuple(
        (kind, part == "default") for kind, part in (("user", level.user), ("client-id", level.client_id)) if part
    ): level.name
    for level in LEVELS
} | {(("ip", False),): IP, (("ip", True),): DEFAULT_IP}
"""The levels by their entity types, and whether each stands there as the default."""


def level_of(parts: Iterable[tuple[str, Part]]) -> str:
    """The level of an entity given as its parts, in our order; with an entity type we do not know it is OTHER."""
    return _BY_PARTS.get(tuple([(kind, part is DEFAULT) for kind, part in parts]), OTHER)
