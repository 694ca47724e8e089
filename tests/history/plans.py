"""Plans that were applied to a cluster that is not there."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kadmin_nb.model.changes import DELETE, SET, AppliedRow, Change
from kadmin_nb.model.client_configs import ClientEntity
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.snapshots import Snapshot
from tests.history.hours import KEY


@dataclass(frozen=True)
class Applied:
    """What a history asks of a plan."""

    id: str
    changes: tuple[Change, ...]
    author: str = "ann@laptop"
    cluster_id: str = "here"

    @property
    def head(self) -> Applied:
        return self


def limit(user: str, old: float | None, after: float | None) -> Change:
    """A row about the quota of a user."""
    return row_of(Entity.of({"user": user}), KEY, *(None if one is None else str(one) for one in (old, after)))


def row_of(resource: Entity | Resource | ClientEntity, key: str, old: str | None, after: str | None) -> Change:
    return Change(1, SET if after is not None else DELETE, resource, key, old, after, after)


def plan(number: int, *changes: Change, author: str = "ann@laptop", cluster_id: str = "here") -> Applied:
    rows = tuple(change.with_(row=row) for row, change in enumerate(changes, 1))
    return Applied(f"{number:04x}" * 16, rows, author, cluster_id)


def after_plans(snapshot: Snapshot, *plans: Applied) -> Snapshot:
    """A snapshot before which these plans were applied, in the time since the snapshot before."""
    return replace(
        snapshot,
        applied_since=lambda since: [
            AppliedRow(plan.id, plan.author, change, since, snapshot.taken_at)
            for plan in plans
            for change in plan.changes
        ],
    )
