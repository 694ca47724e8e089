"""The changes of a key that can concern the same client: only among those does the order matter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import cast

from ...model.changes import Change
from ...model.configurable import Configurable
from ...model.entity import Entity

_ALL = object()
"""Stands for every user, or every client-id, where rows are looked up without regard to it."""


class Overlap:
    """The ranks of changes by key and by whom they concern; of these keys only.

    A user and a client-id that are not named, absent or the default, fit everyone. So do entities of other types:
    a host name and an address may be the same.
    """

    def __init__(self, changes: Sequence[Change], ranks: Sequence[int], keys: Collection[str]) -> None:
        self._ranks: dict[tuple[str, object, object], set[int]] = defaultdict(set)
        for change, rank in zip(changes, ranks, strict=True) if keys else ():
            if change.key in keys:
                for user, client_id in _places(change.resource):
                    self._ranks[change.key, user, client_id].add(rank)

    def ranks(self, change: Change) -> set[int]:
        """The ranks of all changes of its key that fit a client which it fits; its rank among them."""
        found = (self._ranks.get((change.key, user, client_id), ()) for user, client_id in _fitting(change.resource))
        return set().union(*found)


def _places(resource: Configurable) -> Iterator[tuple[object, object]]:
    """The drawers in which it is filed: by the names that it has, and without regard to them."""
    user, client_id = _client_names(resource)
    return product((user, _ALL), (client_id, _ALL))


def _fitting(resource: Configurable) -> Iterator[tuple[object, object]]:
    """The drawers of those that fit a client which it fits."""
    user, client_id = _client_names(resource)
    return product(_meeting(user), _meeting(client_id))


def _meeting(name: str | None) -> Sequence[object]:
    """A name meets itself and no name; no name meets all."""
    return (_ALL,) if name is None else (name, None)


def _client_names(resource: Configurable) -> tuple[str | None, str | None]:
    """Its user and its client-id, None where it fits any."""
    entity = cast(Entity, resource)
    return _name(entity, "user"), _name(entity, "client-id")


def _name(entity: Entity, kind: str) -> str | None:
    name = entity.get(kind)
    return name if isinstance(name, str) else None
