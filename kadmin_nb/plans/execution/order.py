"""The safe order of changes: between two waves nobody is held below both the limit they had and the one they get.

For quotas, key by key: (A) raises of entries that exist; (B) additions, the most specific level first; (C) removals,
the least specific first; (D) lowers. One entry at most of each level fits a client, so let `w` be the entry that binds
it before and `x` the one that does after. A only raises. In B an entry that takes over from `w` is `x` itself: were
it not, `x` would be more specific and so be there already. In C `w` goes only when all that it hid and that must go
has gone, and then `x` binds. D reaches `x`, which binds already. Address quotas follow the same reasoning.

The one client that this does not cover is the empty user, whom a default user quota frees from all limits
(`resolution.rules`): a plan can end that freedom before it has lifted what then binds.

For configs: what shields from the cluster-wide broker default goes up before that default moves, and comes down after
it. The keys of one resource are checked together by the broker, so they stay together, but for a removal of a key
that the default changes too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...model.changes import DELETE, Change
from ...model.entity import Entity
from ...model.levels import LEVEL_NAMES, OTHER
from ...model.resources import Resource

_RAISES, _LOWERS = 0, 2 * len(LEVEL_NAMES) + 1
_ADDITIONS = {name: n for n, name in enumerate(LEVEL_NAMES, _RAISES + 1)}
_REMOVALS = {name: n for n, name in enumerate(reversed(LEVEL_NAMES), _RAISES + 1 + len(LEVEL_NAMES))}


def waves(changes: Iterable[Change]) -> list[list[Change]]:
    """The changes in waves, each to be sent, and answered, before the next; rows keep their order within one.

    An entity with several keys may be in several waves. A row whose old value is unknown counts as a lower.
    """
    quotas: dict[int, list[Change]] = {}
    configs: list[Change] = []
    for change in changes:
        if isinstance(change.resource, Entity):
            quotas.setdefault(_wave(change), []).append(change)
        else:
            configs.append(change)
    return [*(quotas[number] for number in sorted(quotas)), *_config_waves(configs)]


def _wave(change: Change) -> int:
    """The number of the wave of a quota's change."""
    if change.after is None:
        return _REMOVALS.get(_level(change), _REMOVALS[OTHER])
    if change.old is not None:
        return _RAISES if float(change.after) >= float(change.old) else _LOWERS
    return _ADDITIONS.get(_level(change), _ADDITIONS[OTHER]) if change.old_known else _LOWERS


def _level(change: Change) -> str:
    return change.level or change.resource.level  # type: ignore[union-attr]  # only asked of quotas


def _config_waves(changes: Sequence[Change]) -> Iterable[list[Change]]:
    """Shields up; the cluster-wide default; shields down. Without the default there is nothing to be shielded from."""
    default = [change for change in changes if _is_default(change)]
    moved = {change.key for change in default}
    kept = {change.resource for change in changes if change.op != DELETE}
    down = [c for c in changes if default and not _is_default(c) and _comes_down(c, moved, kept)]
    late = {id(change) for change in (*default, *down)}
    up = [change for change in changes if id(change) not in late]
    return filter(None, (up, default, down))


def _is_default(change: Change) -> bool:
    return isinstance(change.resource, Resource) and change.resource.is_default_broker


def _comes_down(change: Change, moved: set[str], kept: set[Entity | Resource]) -> bool:
    return change.op == DELETE and (change.key in moved or change.resource not in kept)
