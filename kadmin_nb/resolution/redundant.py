"""Quotas that repeat what would hold anyway: with and without them each of their clients has the same limit.

A quota is redundant where all clients that it binds fall back to the same value. It is safe to remove where they also
draw from the same bucket then: an allowance of one's own that becomes a share of another is a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..model.changes import DELETE, Edit
from ..model.entity import Entity
from ..model.findings import WARNING, Finding
from ..model.grammar import DEFAULT
from ..model.levels import LEVELS, SHARED
from .rules import Effective, Stored, resolve_client

UNNAMED = "\0"
"""A name that no quota can have: it stands for everybody whom no quota names."""

_ORDER = {level.name: number for number, level in enumerate(LEVELS)}
_OF_NAMED_CLIENTS = ("CLIENT_OF_DEFAULT_USER", "CLIENT")
"""The levels that single out client-ids among the clients of a user, or of everyone."""


def redundant(stored: Stored) -> list[Finding]:
    """The quotas that repeat what would hold anyway, in their order; those that bind nobody are left out.

    Each is judged by itself: of two that stand in for one another both are `safe` to remove, and only the first has
    the edit that does.
    """
    levels = {(entity.level, key) for entity, key in stored}
    judged = (_judged(stored, levels, entity, key) for entity, key in stored if entity.level in _ORDER)
    found = [finding for finding in judged if finding]
    behind = {(finding.evidence["behind"], finding.key) for finding in found if finding.edit}
    return [
        replace(finding, edit=None) if (str(finding.target), finding.key) in behind else finding for finding in found
    ]


def _judged(stored: Stored, levels: set[tuple[str, str]], entity: Entity, key: str) -> Finding | None:
    """The quota if it is redundant."""
    bound = (resolve_client(stored, *client, key) for client in _sorts_of_clients(entity))
    pairs = [(now, now.without_it()) for now in bound if now.entity == entity]
    if not pairs or any(then.value != now.value or _are_between(levels, now, then) for now, then in pairs):
        return None
    is_safe = all(then.bucket == now.bucket for now, then in pairs)
    then = pairs[0][1]
    assert then.entity is not None
    assert then.level is not None
    assert then.value is not None
    reason = f"{then.entity} gives the same" + ("" if is_safe else f", {SHARED[then.level]}")
    evidence = {"value": then.value, "behind": str(then.entity), "safe": is_safe}
    edit = Edit(DELETE, entity, key) if is_safe else None
    return Finding("redundant", WARNING, reason, entity, key, evidence=evidence, edit=edit)


def _sorts_of_clients(entity: Entity) -> Iterator[tuple[str, str]]:
    """One client of each sort that the entity could bind: user and client-id."""
    client_id = entity.get("client-id")
    named = [UNNAMED] if client_id is DEFAULT else [UNNAMED, ""] if client_id is None else [str(client_id)]
    user = entity.get("user")
    return ((UNNAMED if user in (None, DEFAULT) else str(user), name) for name in named)


def _are_between(levels: set[tuple[str, str]], now: Effective, then: Effective) -> bool:
    """True where some of the clients would fall to quotas of their own client-ids before that."""
    if now.client_id != UNNAMED or now.level is None or then.level is None:
        return False
    between = (name for name in _OF_NAMED_CLIENTS if _ORDER[now.level] < _ORDER[name] < _ORDER[then.level])
    return any((name, now.key) in levels for name in between)
