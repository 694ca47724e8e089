"""What applied plans left, and which of a history's changes are theirs.

A change between two snapshots is a plan's where one of its rows says so: the same entity or resource and key, the value
that the plan left there, in a time in which it was applied. Of all other changes a history knows no author.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import AppliedRow, Change
from ..model.findings import Row
from ..secrets import SHOWN
from .snapshot_kinds import SnapshotKind, kind_of_scope
from .snapshots import Snapshot

_Place = tuple[str, str, str | None, str, str]
"""A cluster, a kind, a type of resource or None, a name, and a key."""


def rows_of_plans(applied: Collection[AppliedRow], taken: Snapshot) -> list[Row]:
    """PLANNED_CHANGES: what plans had left by these rows when this snapshot was taken.

    A row that changes nothing is not there, nor a secret, whose value nobody can see.
    """
    names = {name for of in applied for name in (str(of.change.resource), *of.change.resource.names)}
    frames = {kind.name: _rows_there(taken, kind, pa.array(names, pa.string())) for kind in taken.kinds}
    same = {"cluster_id": taken.cluster_id, "taken_at": taken.taken_at}
    return [
        {**same, **row, "plan_id": of.plan_id, "author": of.author or None}
        | {"applied_from": of.began, "applied_until": of.ended}
        for of in applied
        if (row := _row_of(of.change, taken.cluster_id, frames)) is not None
    ]


def _rows_there(taken: Snapshot, kind: SnapshotKind, names: pa.Array) -> dict[_Place, Row]:
    """The rows of a snapshot that have one of these names."""
    table, whose = taken.frames[kind.name].to_arrow(), kind.order[-2]
    is_named = pc.and_(pc.is_in(table[whose].cast(pa.string()), names), pc.is_valid(table["key"]))
    return {_place(taken.cluster_id, kind, row): row for row in table.filter(is_named).to_pylist()}


def not_yet_kept(rows: Iterable[Row], kept: Iterable[Row]) -> list[Row]:
    """The rows of PLANNED_CHANGES that a history does not have yet."""
    known = {tuple(row[name] for name in _KEPT_ONCE) for row in kept}
    return [row for row in rows if tuple(row[name] for name in _KEPT_ONCE) not in known]


_KEPT_ONCE = ("plan_id", "frame", "resource_type", "resource_name", "key", "applied_from", "applied_until")


def _row_of(change: Change, cluster_id: str, frames: Mapping[str, Mapping[_Place, Row]]) -> Row | None:
    kind = kind_of_scope(change.resource.scope)
    if kind is None or change.is_done or change.is_refused or (left := kind.text_after(change)) == SHOWN:
        return None
    place = _place(cluster_id, kind, kind.row(change.resource, change.key, "0"))
    value = None if left is None else kind.shown_text(left, frames.get(kind.name, {}).get(place))
    return {**dict(zip(("frame", "resource_type", "resource_name", "key"), place[1:], strict=True)), "value": value}


def _place(cluster_id: str, kind: SnapshotKind, row: Row) -> _Place:
    name = row["resource_name"] if "resource_name" in row else row["entity"]
    return cluster_id, kind.name, row.get("resource_type"), name, row["key"]


class PlannedChanges:
    """The rows of PLANNED_CHANGES, to be asked whose a change is."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[_Place, list[Row]] = defaultdict(list)
        for row in rows:
            place = row["cluster_id"], row["frame"], row["resource_type"], row["resource_name"], row["key"]
            self._rows[place].append(row)

    def author_of(self, head: Row, kind: SnapshotKind, old: Row | None, new: Row | None) -> Row:
        """`plan_id` and `author` of a change that was seen at `taken_at` and not yet at `since`; null where they are
        not known: no plan left that value in that time.
        """
        place = _place(head["cluster_id"], kind, new or old or {})
        value = None if new is None else kind.set_text(new)
        fitting = [
            row
            for row in self._rows.get(place, ())
            if row["value"] == value and row["applied_from"] < head["taken_at"] and head["since"] < row["applied_until"]
        ]
        if not fitting:
            return {"plan_id": None, "author": None}
        last = max(reversed(fitting), key=lambda row: row["applied_until"])
        return {name: last[name] for name in ("plan_id", "author")}
