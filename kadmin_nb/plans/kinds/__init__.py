"""The kinds that plans know. To add one: a file beside this one, and its object in `KINDS`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...admin.ports import Kafka
from ...model import rights
from ...model.changes import Change, Edit, Target
from ...model.configurable import Configurable
from ..observed_state import LookOptions, ObservedState
from .change_kind import ChangeKind, meant_unit
from .client_config_changes import CLIENT_CONFIGS as CLIENT_CONFIGS
from .config_changes import CONFIGS as CONFIGS
from .credential_changes import CREDENTIALS
from .quota_changes import QUOTAS as QUOTAS

KINDS: dict[str, ChangeKind] = {kind.name: kind for kind in (CLIENT_CONFIGS, QUOTAS, CONFIGS, CREDENTIALS)}
"""Each kind by the name that it has in plans, in the order in which their changes are sent: first those that are
made all or none, and can be undone exactly."""


def kind_of(thing: Edit | Change | Configurable) -> ChangeKind:
    """The kind of an edit, a change, or an entity or resource."""
    return KINDS[thing.kind]


def quiet_period(changes: Iterable[Change], longest: float) -> float:
    """Seconds, at most `longest`, in which any of these may land whose answers were lost."""
    return min(longest, max((kind_of(change).longest_doubt for change in changes), default=0.0))


def remedy(change: Change) -> str | None:
    """The hint for a row that the validation refused: the right that is missing, what was meant, the key's units."""
    if not change.has_refusal:
        return None
    missing = rights.hint(change.refusal.code, rights.to_alter(change.resource))
    return missing or (f"Did you mean {change.meant}?" if change.meant else meant_unit(change))


def rights_to_apply(changes: Iterable[Change]) -> dict[rights.Right, Change]:
    """The rights that whoever applies these changes needs, each with the first change that it is for."""
    needed: dict[rights.Right, Change] = {}
    for change in changes:
        needed.setdefault(rights.to_alter(change.resource), change)
    return needed


def by_kind(changes: Iterable[Change]) -> dict[ChangeKind, list[Change]]:
    """The changes of each kind, in their order; kinds without any are left out."""
    groups: dict[str, list[Change]] = {name: [] for name in KINDS}
    for change in changes:
        groups[change.resource.kind].append(change)
    return {KINDS[name]: group for name, group in groups.items() if group}


def with_fallbacks(changes: Sequence[Change], state: ObservedState) -> list[Change]:
    """The changes, each with what applies where its key is not set, as far as an observed state tells."""
    found = {row: f for kind, mine in by_kind(changes).items() for row, f in kind.fallbacks(mine, state).items()}
    return [change.with_(falls_back=found[change.row]) if change.row in found else change for change in changes]


def take(
    kafka: Kafka,
    targets: Collection[Target],
    *,
    node: int | None = None,
    whole: bool = False,
    within: float | None = None,
) -> ObservedState:
    """The observed state of these targets, from one broker's metadata, or from any broker.

    Parameters
    ----------
    whole
        Keep the table of all quotas and list the keys of the resources, as planning needs it.
    within
        Seconds that it may take; each call takes its own time unless said.
    """
    deadline = None if within is None else kafka.monotonic() + within

    def time_left() -> float | None:
        return None if deadline is None else max(0.05, deadline - kafka.monotonic())

    state, look = ObservedState(), LookOptions(node, whole, time_left)
    groups: dict[str, list[Target]] = {name: [] for name in KINDS}
    for target in targets:
        groups[target[0].kind].append(target)
    for name in filter(groups.get, KINDS):
        KINDS[name].read(kafka, groups[name], state, look)
    return state
