"""The safe order of configs.

What shields from the cluster-wide broker default goes up before that default moves, and comes down after it. The keys
of one resource are checked together by the broker, so they stay together, but for a removal of a key that the default
changes too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.changes import DELETE, Change
from ...model.resources import Resource

_EVERYONE = Resource("BROKER", "")


def waves(changes: Sequence[Change]) -> list[list[Change]]:
    """Shields up; the cluster-wide default; shields down. Without the default there is nothing to be shielded from."""
    default = [change for change in changes if change.resource == _EVERYONE]
    shields = [change for change in changes if change.resource != _EVERYONE]
    down = _coming_down(shields, {change.key for change in default}) if default else []
    late = set(map(id, down))
    up = [change for change in shields if id(change) not in late]
    return [wave for wave in (up, default, down) if wave]


def _coming_down(shields: Sequence[Change], moved_keys: set[str]) -> list[Change]:
    """The removals of keys that the default changes too, and of resources of which no key stays."""
    still_set = {change.resource for change in shields if change.op != DELETE}
    removals = (change for change in shields if change.op == DELETE)
    return [change for change in removals if change.key in moved_keys or change.resource not in still_set]
