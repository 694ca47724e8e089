"""The safe order of changes: each kind in its own (`quota_order`, `config_order`), kind after kind.

A row that is sent on its own could be the one that leaves clients between two limits, so rows come in waves, each sent
and answered before the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ...model.changes import Change
from ...model.configurable import Configurable
from ..kinds.registry import by_kind
from ..sending import grouped


def waves(changes: Iterable[Change]) -> list[list[Change]]:
    """The changes in waves, each to be sent, and answered, before the next; rows keep their order within one.

    An entity with several keys is in one wave, or in as few as the order allows. A row whose old value is unknown
    counts as a lower.
    """
    return [wave for kind, mine in by_kind(changes).items() for wave in kind.waves(mine)]


def divided(changes: Iterable[Change]) -> dict[Configurable, list[list[Change]]]:
    """The entities and resources that the order cannot keep in one wave, each with its changes wave by wave."""
    changes = list(changes)
    if len({change.resource for change in changes}) == len(changes):
        return {}
    parts: dict[Configurable, list[list[Change]]] = defaultdict(list)
    for wave in waves(changes):
        for resource, group in grouped(wave).items():
            parts[resource].append(group)
    return {resource: several for resource, several in parts.items() if len(several) > 1}
