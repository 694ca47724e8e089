"""The safe order of configs.

What shields from the cluster-wide broker default goes up before that default moves, and comes down after it. The keys
of one resource are checked together by the broker, so they stay together, but for a removal of a key that the default
changes too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.changes import DELETE, Change, Configurable
from ...model.resources import Resource

_EVERYONE = Resource("BROKER", "")


def waves(changes: Sequence[Change]) -> list[list[Change]]:
    """Shields up; the cluster-wide default; shields down. Without the default there is nothing to be shielded from."""
    default = [change for change in changes if _is_default(change)]
    moved = {change.key for change in default}
    still_set = {change.resource for change in changes if change.op != DELETE}
    down = [c for c in changes if default and not _is_default(c) and _comes_down(c, moved, still_set)]
    late = {id(change) for change in (*default, *down)}
    up = [change for change in changes if id(change) not in late]
    return [wave for wave in (up, default, down) if wave]


def _is_default(change: Change) -> bool:
    return change.resource == _EVERYONE


def _comes_down(change: Change, moved: set[str], still_set: set[Configurable]) -> bool:
    return change.op == DELETE and (change.key in moved or change.resource not in still_set)
