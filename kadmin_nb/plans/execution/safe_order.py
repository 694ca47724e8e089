"""The safe order of quotas: between two waves nobody is held below both the limit they had and the one they get.

Key by key: (A) raises of entries that exist; (B) additions, the most specific level first; (C) removals,
the least specific first; (D) lowers. One entry at most of each level fits a client, so let `w` be the entry that binds
it before and `x` the one that does after. A only raises. In B an entry that takes over from `w` is `x` itself: were
it not, `x` would be more specific and so be there already. In C `w` goes only when all that it hid and that must go
has gone, and then `x` binds. D reaches `x`, which binds already. Address quotas follow the same reasoning.

That concerns entities that fit a common client. Where no other row of a key does, its row can be sent at any time, and
any row can be sent earlier, as long as it stays behind those that must come before it. Both are used to send the keys
of one entity in one request, which Kafka carries out as a whole or not at all (KIP-546). Rows move earlier only, so
two of them cannot pass each other.

The one client that this does not cover is the empty user, whom a default user quota frees from all limits
(`resolution.rules`): a plan can end that freedom before it has lifted what then binds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import cast

from ...model.changes import DELETE, Change
from ...model.configurable import Configurable
from ...model.entity import Entity
from ...model.levels import LEVEL_NAMES, OTHER
from ...model.resources import Resource

_RAISES, _LOWERS = 0, 2 * len(LEVEL_NAMES) + 1
_ADDITIONS = {name: n for n, name in enumerate(LEVEL_NAMES, _RAISES + 1)}
_REMOVALS = {name: n for n, name in enumerate(reversed(LEVEL_NAMES), _RAISES + 1 + len(LEVEL_NAMES))}


def waves(changes: Sequence[Change]) -> list[list[Change]]:
    """Quotas in waves; an entity with several keys is in one, or in as few as the order allows."""
    ranks = list(map(_rank, changes))
    _merge(changes, ranks)
    numbered: dict[int, list[Change]] = defaultdict(list)
    for change, rank in zip(changes, ranks, strict=True):
        numbered[rank].append(change)
    return [numbered[rank] for rank in sorted(numbered)]


def _rank(change: Change) -> int:
    """The place of a quota's change in the safe order of its key."""
    if change.after is None:
        return _REMOVALS.get(_level(change), _REMOVALS[OTHER])
    if change.old is not None:
        return _RAISES if float(change.after) >= float(change.old) else _LOWERS
    return _ADDITIONS.get(_level(change), _ADDITIONS[OTHER]) if change.old_known else _LOWERS


def _merge(changes: Sequence[Change], ranks: list[int]) -> None:
    """Give the changes of each entity the same rank, or as few different ones as others of their keys allow."""
    places: dict[Configurable, list[int]] = defaultdict(list)
    for place, change in enumerate(changes):
        places[change.resource].append(place)
    groups = [group for group in places.values() if len({ranks[place] for place in group}) > 1]
    overlap = Overlap(changes, ranks, {changes[place].key for group in groups for place in group})
    for group in groups:
        others = {place: overlap.ranks(changes[place]) - {ranks[place]} for place in group}
        for place, rank in _fewest({place: ranks[place] for place in group}, others).items():
            ranks[place] = rank


def _fewest(ranks: Mapping[int, int], others: Mapping[int, set[int]]) -> dict[int, int]:
    """New ranks of one entity's changes: each its own or, where no other's lies between, that of one before it.

    A change without others may have any.
    """
    merged: dict[int, int] = {}
    last = -1
    for place in sorted(filter(others.get, ranks), key=ranks.__getitem__):
        is_behind_another = any(last <= rank < ranks[place] for rank in others[place])
        last = merged[place] = ranks[place] if is_behind_another or last < 0 else last
    first = min(merged.values(), default=min(ranks.values()))
    return {place: merged.get(place, first) for place in ranks}


def _level(change: Change) -> str:
    return change.level or change.resource.level or OTHER


_ALL = object()
"""Stands for every user, or every client-id, where rows are looked up without regard to it."""


class Overlap:
    """The ranks of changes of these keys, by key and by the users and client-ids that they concern.

    A user and a client-id that are not named, absent or the default, fit everyone. So do entities of other types:
    a host name and an address may be the same.
    """

    def __init__(self, changes: Sequence[Change], ranks: Sequence[int], keys: Collection[str]) -> None:
        self._ranks: dict[tuple[str, object, object], set[int]] = defaultdict(set)
        for change, rank in zip(changes, ranks, strict=True) if keys else ():
            if change.key in keys:
                user, client_id = _client_names(change.resource)
                for names in product((user, _ALL), (client_id, _ALL)):
                    self._ranks[change.key, *names].add(rank)

    def ranks(self, change: Change) -> set[int]:
        """The ranks of all changes of its key that fit a client which it fits; its rank among them."""
        # a name meets itself and no name; no name meets all
        meeting = ((_ALL,) if name is None else (name, None) for name in _client_names(change.resource))
        fitting = product(*meeting)
        return set().union(*(self._ranks.get((change.key, user, client_id), ()) for user, client_id in fitting))


def _client_names(resource: Configurable) -> tuple[str | None, str | None]:
    """Its user and its client-id, None where it fits any."""
    user, client_id = (cast(Entity, resource).get(kind) for kind in ("user", "client-id"))
    return user if isinstance(user, str) else None, client_id if isinstance(client_id, str) else None


_EVERYONE = Resource("BROKER", "")


def config_waves(changes: Sequence[Change]) -> list[list[Change]]:
    """Shields up; the cluster-wide default; shields down. Without the default nothing needs a shield.

    What shields from the cluster-wide broker default goes up before that default moves, and comes down after it. The
    keys of one resource are checked together by the broker, so they stay together, but for a removal of a key that the
    default changes too.
    """
    default = [change for change in changes if change.resource == _EVERYONE]
    shields = [change for change in changes if change.resource != _EVERYONE]
    if not default:
        return [shields] if shields else []
    # removals come down last: those of keys that the default changes too, and of resources of which no key stays
    moved_keys = {change.key for change in default}
    still_set = {change.resource for change in shields if change.op != DELETE}
    up: list[Change] = []
    down: list[Change] = []
    for change in shields:
        is_late = change.op == DELETE and (change.key in moved_keys or change.resource not in still_set)
        (down if is_late else up).append(change)
    return [wave for wave in (up, default, down) if wave]
