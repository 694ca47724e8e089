"""Shadowed quotas: they can never apply, because others always come first. Standard library only.

Only quotas of the two client levels can be so: everybody has a user, so a quota of the default user, or of its
client-ids, always comes before `client-id=…`. Any other quota has clients left: of `user=alice`, the clients
without a client-id, whatever `user=alice client-id=<default>` says. The empty user, who escapes the user
levels (see `rules`), does not count here.
"""

from __future__ import annotations

from ..model.entity import Entity
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS_BY_NAME
from .rules import Stored, entity_at

COMES_BEFORE = {
    "CLIENT": ("CLIENT_OF_DEFAULT_USER", "DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
    "DEFAULT_CLIENT": ("DEFAULT_CLIENT_OF_DEFAULT_USER", "DEFAULT_USER"),
}
"""The more specific levels that fit every client of a level; most specific first."""


def shadowers(entity: Entity) -> tuple[Entity, ...]:
    """The entities whose quota would leave none for this entity's, most specific first."""
    client_id = entity.get("client-id")
    name = "" if client_id is None or client_id is DEFAULT else str(client_id)
    return tuple(entity_at(LEVELS_BY_NAME[level], "", name) for level in COMES_BEFORE.get(entity.level, ()))


def shadowed_by(stored: Stored, entity: Entity, key: str) -> Entity | None:
    """The quota that always wins over this one; None when this one can still bind someone."""
    return next((other for other in shadowers(entity) if (other, key) in stored), None)


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
