"""What a history should say, worked out of the plain list of its snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

import kadmin_nb as kn
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.state.snapshot_kinds import KINDS
from kadmin_nb.state.snapshots import Snapshot, snapshot
from tests.history.hours import at, configs_of, limits_of, quotas_of, topic

BROKER = {"resource_type": "BROKER", "source": "STATIC_BROKER_CONFIG"}


@dataclass(frozen=True)
class Seen:
    """A snapshot: the limits of users, and the values of a key of a topic and of a broker."""

    hour: float
    number: int
    limits: dict[str, float] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)
    scopes: tuple[str, ...] = ("QUOTAS", "TOPIC", "BROKER")
    cluster_id: str = "here"

    @property
    def snapshot(self) -> Snapshot:
        rows = [topic(name, "k", value, **(BROKER if name == "1" else {})) for name, value in self.configs.items()]
        rows.sort(key=lambda row: str(row["resource_type"]))
        return snapshot(
            {"quotas": quotas_of(self.limits), "configs": configs_of(*rows)},
            cluster_id=self.cluster_id,
            taken_at=at(self.hour),
            scopes=self.scopes,
            snapshot_id=f"{self.number:04}",
        )

    def of_scope(self, scope: str) -> dict[str, object]:
        """What it has read of a scope."""
        if scope == "QUOTAS":
            return dict(self.limits)
        return {name: value for name, value in self.configs.items() if (name == "1") == (scope == "BROKER")}


KIND_OF = {"QUOTAS": "quotas", "TOPIC": "configs", "BROKER": "configs"}


def kept(seen: Sequence[Seen]) -> list[Seen]:
    """What a history keeps of these, in the order in which they are recorded: no kind of which a later one is there."""
    newest: dict[str, float] = {}
    found = []
    for one in seen:
        kinds = {kind for kind in map(KIND_OF.__getitem__, one.scopes) if newest.get(kind, -1) < one.hour}
        newest |= dict.fromkeys(kinds, one.hour)
        if scopes := tuple(scope for scope in one.scopes if KIND_OF[scope] in kinds):
            found.append(replace(one, scopes=scopes))
    return found


def state(seen: Sequence[Seen], hour: float) -> dict[str, dict[str, object]] | None:
    """What held at that hour, by scope; None before the first."""
    line = sorted((one for one in seen if one.hour <= hour), key=lambda one: (one.hour, one.number))
    newest = {scope: one for one in line for scope in one.scopes}
    return {scope: one.of_scope(scope) for scope, one in newest.items()} if line else None


def told(history: kn.state.History, hour: float, cluster_id: str = "here") -> dict[str, dict[str, object]] | None:
    """The same, as the history says it."""
    try:
        back = history.as_of(at(hour), cluster_id)
    except kn.NotFound:
        return None
    configs = {row["resource_name"]: row["value"] for row in back.configs.to_arrow().to_pylist()}
    all_of = Seen(hour, 0, limits_of(back), configs)
    return {scope: all_of.of_scope(scope) for scope in back.scopes}


def changes(seen: Sequence[Seen]) -> list[tuple[datetime, str, str]]:
    """When what changed: each snapshot beside the last one before it that has read the same."""
    found = []
    for scope in ("QUOTAS", "TOPIC", "BROKER"):
        line = {one.hour: one for one in sorted(seen, key=lambda one: (one.hour, one.number)) if scope in one.scopes}
        states = [(hour, one.of_scope(scope)) for hour, one in line.items()]
        for (_, old), (hour, new) in pairwise(states):
            names = [name for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
            found += [(at(hour), scope, name) for name in names]
    return sorted(found)


def told_changes(history: kn.state.History) -> list[tuple[datetime, str, str]]:
    """The same, as the history says it."""
    rows = history.changes((None, None), "here").to_arrow().to_pylist()
    return sorted((row["taken_at"], *_target(row["kind"], row["resource"])) for row in rows)


def _target(kind: str, words: str) -> tuple[str, str]:
    """The scope and the name of what a row is about."""
    if kind == "quota":
        return "QUOTAS", Entity.parse(words).columns()["user"]
    resource = Resource.parse(words)
    return resource.type, resource.name


def are_maximal(history: kn.state.History) -> bool:
    """True if no interval goes on where another of the same values ends."""
    for kind in KINDS.values():
        rows = history._place.rows(kind.history_table, None).to_pylist()
        ends = {(*(repr(row[name]) for name in kind.columns), row["valid_to"]) for row in rows}
        if any((*(repr(row[name]) for name in kind.columns), row["valid_from"]) in ends for row in rows):
            return False
    return True
