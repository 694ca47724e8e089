"""The clients that a quota reaches: others may come first for all with a client-id. Standard library only.

Where `user=… client-id=<default>` has a quota, that of `user=…` reaches its clients without a client-id alone. A
quota of `client-id=…` has no such clients: everybody has a user, so where the default user, or one of its client-ids,
comes first for all who send one, it can never apply. It is shadowed. The empty user, who escapes the user levels (see
`rules`), does not count here.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS_BY_NAME
from ..model.quota_keys import readable
from .rules import Stored, entity_at

COMES_FIRST = {
    "USER": ("DEFAULT_CLIENT_OF_USER",),
    "DEFAULT_USER": ("DEFAULT_CLIENT_OF_DEFAULT_USER",),
    "CLIENT": ("CLIENT_OF_DEFAULT_USER", "DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
    "DEFAULT_CLIENT": ("DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
}
"""The more specific levels that fit every client with a client-id that a level fits; most specific first."""

COMES_BEFORE = {name: levels for name, levels in COMES_FIRST.items() if LEVELS_BY_NAME[name].client_id}
"""Those of the levels whose clients all have a client-id: the more specific levels that fit every client of them."""


def firsts(entity: Entity) -> tuple[Entity, ...]:
    """The entities whose quota comes first for every client of this entity with a client-id, most specific first."""
    parts = (entity.get(kind) for kind in ("user", "client-id"))
    user, client_id = ("" if part is None or part is DEFAULT else str(part) for part in parts)
    return tuple(entity_at(LEVELS_BY_NAME[level], user, client_id) for level in COMES_FIRST.get(entity.level, ()))


def comes_first(stored: Stored, entity: Entity, key: str) -> Entity | None:
    """The quota that this one's clients with a client-id have instead, unless a closer one names them.

    None where this quota can bind some of them.
    """
    return next((other for other in firsts(entity) if (other, key) in stored), None)


class Quota(NamedTuple):
    """One quota, which shows itself as `user=bob client-id=<default> (256 KiB/s)`."""

    entity: Entity
    key: str
    value: float

    def __str__(self) -> str:
        return f"{self.entity} ({readable(self.key, self.value)})"


def only_without(limits: object, *, are_many: bool = False) -> str:
    """The clients that a quota of a user reaches where these limits come first, in words."""
    applies = "apply" if are_many else "applies"
    return f"only clients without a client-id; for all others {limits} {applies}, where nothing closer does"


def shadowers(entity: Entity) -> tuple[Entity, ...]:
    """The entities whose quota would leave none for this entity's, most specific first."""
    return firsts(entity) if entity.level in COMES_BEFORE else ()


def shadowed_by(stored: Stored, entity: Entity, key: str) -> Entity | None:
    """The quota that always wins over this one; None when this one can still bind someone."""
    return comes_first(stored, entity, key) if entity.level in COMES_BEFORE else None


def shadows_of_added(before: Stored, after: Stored) -> dict[tuple[Entity, str], tuple[Entity, ...]]:
    """The quotas that each added quota newly shadows.

    Quotas that were shadowed before, or that the changes remove, are not listed; a change of a value shadows
    nothing. Several added quotas may shadow the same one; each lists it.
    """
    could_shadow = {level for levels in COMES_BEFORE.values() for level in levels}
    added = {(e, k) for e, k in after if e.level in could_shadow and (e, k) not in before}
    if not added:
        return {}
    shadowed: dict[tuple[Entity, str], list[Entity]] = {}
    for entity, key in after:
        if entity.level in COMES_BEFORE and shadowed_by(before, entity, key) is None:
            for other in shadowers(entity):
                if (other, key) in added:
                    shadowed.setdefault((other, key), []).append(entity)
    return {change: tuple(sorted(entities, key=str)) for change, entities in shadowed.items()}
