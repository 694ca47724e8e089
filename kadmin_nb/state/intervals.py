"""The rows of a history: intervals, and how the content of a snapshot changes them.

A row says that something was set from `valid_from` on, the time of the snapshot that saw it first, up to `valid_to`,
that of the first which saw it no longer. A content replaces what the rows say from the time of its snapshot on, up to
the next snapshot that read the same: the rows that agree stay, the others are closed, split or opened.
"""

from __future__ import annotations

import json
import random
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, TimedOut, UsageError
from ..frames import schemas
from ..frames.frame import Frame
from ..model.changes import AppliedRow, Change
from ..model.figures import utc
from ..model.findings import Row
from ..secrets import SHOWN
from .snapshot_kinds import KINDS, SnapshotKind, difference, identities, kind_of_scope, named_twice, within
from .snapshots import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Result = TypeVar("Result")

FROM, TO = "valid_from", "valid_to"
SNAPSHOTS, PLANNED = "snapshots", "planned_changes"

FRAMES: dict[str, type[Frame]] = {kind.history_table: kind.history_frame for kind in KINDS.values()}
FRAMES[SNAPSHOTS], FRAMES[PLANNED] = schemas.SNAPSHOTS, schemas.PLANNED_CHANGES
"""The frame of each table of a history."""


def stored_schema(frame: type[Frame]) -> pa.Schema:
    """The columns of a table of a history."""
    return pa.schema([field.with_nullable(True) for field in frame.schema])


class Moved(Exception):
    """Others have recorded since the rows were read: read them again."""


TRIES = 10
"""Times that a step is taken again because others had recorded meanwhile."""


def taken_until_alone(step: Callable[[], Result], where: str) -> Result:
    """What a step gives, which is taken again, after a pause, each time that others were faster.

    Raises
    ------
    TimedOut
        They were each time.
    """
    for wait in range(TRIES):
        try:
            return step()
        except Moved:
            time.sleep(random.uniform(0, 0.05 * 2 ** min(wait, 6)))
    raise TimedOut(f"{where}: others recorded at the same time, {TRIES} times", hint="Do it again.")


@dataclass(frozen=True)
class Reading:
    """The rows of a cluster and kind from a time on, the snapshots as they were read with them, and the table's
    version.
    """

    rows: pa.Table
    snapshots: pa.Table
    version: int


class Place(ABC):
    """Where the tables of a history are. `where` is its path, or its name."""

    where: str

    @abstractmethod
    def recording(self) -> AbstractContextManager[None]:
        """A context for all that a record does. The tables exist within it."""

    @abstractmethod
    def clusters(self) -> set[str]:
        """The clusters that have snapshots here."""

    @abstractmethod
    def rows(
        self, name: str, cluster_id: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> pa.Table:
        """The rows of a table, of a cluster or of all, that touch the time between two."""

    def snapshots(self, cluster_id: str | None) -> pa.Table:
        """SNAPSHOTS of a cluster, or of all."""
        return self.rows(SNAPSHOTS, cluster_id)

    def interval_frame(self, kind: SnapshotKind, cluster_id: str | None) -> pa.Table | DataFrame:
        """All rows of a kind: an Arrow table, or a DataFrame of Spark's that has not been run."""
        return self.rows(kind.history_table, cluster_id)

    @abstractmethod
    def read(self, kind: SnapshotKind, cluster_id: str, since: datetime) -> Reading:
        """What a snapshot of that time is compared with: the rows first, then the snapshots."""

    @abstractmethod
    def change(self, kind: SnapshotKind, cluster_id: str, edits: pa.Table, since: datetime, reading: Reading) -> int:
        """Change the rows in one commit; its version. Raises Moved."""

    @abstractmethod
    def fence(self, kind: SnapshotKind, version: int) -> None:
        """A commit without rows: who read the rows before it cannot commit. Raises Moved if this is not the version."""

    @abstractmethod
    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows to the table of that name, `SNAPSHOTS` or `PLANNED`, in one commit. Raises Moved."""

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows, as of `append`.

        Raises
        ------
        TimedOut
            Others were faster every time; nothing was added.
        Invalid
            It cannot be written.
        """
        taken_until_alone(lambda: self.append(name, rows), self.where)


# --- reading ---


def state_at(rows: pa.Table, kind: SnapshotKind, time: datetime, where: str) -> pa.Table:
    """The rows that hold at a time.

    Raises
    ------
    Invalid
        Two of them are of one key.
    """
    at = moment_of(time)
    held = pc.and_(pc.less_equal(rows[FROM], at), pc.or_kleene(pc.is_null(rows[TO]), pc.greater(rows[TO], at)))
    state = rows.filter(held)
    if whose := named_twice(state, identities(state, kind), kind):
        raise Invalid(
            f"{where}: {kind.history_table} has two intervals of {whose} at {utc(time)}",
            hint="Another program wrote into the table: remove the wrong row.",
        )
    return state


def frame_of(state: pa.Table, kind: SnapshotKind) -> pa.Table:
    """The rows that hold at a time as the frame of their kind, sorted as a cluster's."""
    state = state.sort_by([(name, "ascending") for name in kind.order])
    return pa.table([_restored_column(state, field) for field in kind.schema], schema=kind.schema)


def _restored_column(state: pa.Table, field: pa.Field) -> Any:
    if field.name not in state.column_names:
        return pa.nulls(len(state), field.type)
    if field.name == "synonyms":
        return pa.array([None if v is None else json.loads(v) for v in state[field.name].to_pylist()], field.type)
    return state[field.name].cast(field.type)


# --- a snapshot takes its place after the rows ---


def is_late(reading: Reading, snapshot: Row) -> bool:
    """True if another snapshot of this time, or of a later one, has been recorded: a row of SNAPSHOTS says so,
    or an edge of an interval, whose recorder may have been killed before it could.
    """
    at, others = (
        moment_of(snapshot["taken_at"]),
        pc.not_equal(reading.snapshots["snapshot_id"], snapshot["snapshot_id"]),
    )
    is_later = pc.and_(others, pc.greater_equal(reading.snapshots["taken_at"], at))
    edges = (pc.greater(reading.rows[name], at) for name in (FROM, TO))
    return any(pc.any(each).as_py() for each in (is_later, *edges))


def edits_of(rows: pa.Table, content: pa.Table, kind: SnapshotKind, snapshot: Row, where: str) -> pa.Table:
    """The rows that make the others say from the time of a snapshot on what its content says: to be put in place of
    those with the same identity and beginning, or beside them.

    Parameters
    ----------
    snapshot
        A row of SNAPSHOTS.

    Raises
    ------
    Invalid
        Two rows of one key hold at that time.
    """
    at, scopes = snapshot["taken_at"], snapshot["scopes"].split()
    found = difference(within(state_at(rows, kind, at, where), scopes), within(content, scopes), kind)
    ended = pa.concat_tables([found.removed, found.before])
    place = ended.schema.get_field_index(TO)
    ended = ended.set_column(place, ended.schema.field(TO), pa.repeat(moment_of(at), len(ended)))
    new = pa.concat_tables([found.added, found.after])
    return pa.concat_tables([ended, _opened(new, kind, snapshot["cluster_id"], at)])


def _opened(new: pa.Table, kind: SnapshotKind, cluster_id: str, at: datetime) -> pa.Table:
    schema = stored_schema(kind.history_frame)
    same = {"cluster_id": cluster_id, FROM: at, TO: None}
    columns = [
        pa.repeat(pa.scalar(same[field.name], field.type), len(new)) if field.name in same else new[field.name]
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def moment_of(at: datetime) -> pa.Scalar:
    """A time as the columns of a history have it."""
    return pa.scalar(at, pa.timestamp("us", "UTC"))


def refuse_other_columns(where: str, frame: type[Frame], columns: Sequence[str]) -> None:
    """Refuse a table that is not the history's of this frame.

    Raises
    ------
    UsageError
        A column is missing; the first is named, and what there is.
    """
    missing = [name for name in frame.names if name not in columns]
    if missing:
        raise UsageError(f"{where} is not a history: no column {missing[0]}", hint=f"Found: {', '.join(columns)}.")


# --- whose a change is ---
#
# A change between two snapshots is a plan's where one of its rows says so: the same entity or resource and key, the
# value that the plan left there, in a time in which it was applied. Of all other changes a history knows no author.

_Target = tuple[str, str, str | None, str, str]
"""A cluster, a kind, a type of resource or None, a name, and a key."""


def rows_of_plans(applied: Collection[AppliedRow], taken: Snapshot) -> list[Row]:
    """PLANNED_CHANGES: what plans had left by these rows when this snapshot was taken.

    A row that changes nothing is not there, nor a secret, whose value nobody can see. A config that a broker shows in
    other words than were sent has no author.
    """
    same = {"cluster_id": taken.cluster_id, "taken_at": taken.taken_at}
    return [
        {**same, **row, "plan_id": of.plan_id, "author": of.author or None}
        | {"applied_from": of.began, "applied_until": of.ended}
        for of in applied
        if (row := _row_of(of.change, taken.cluster_id)) is not None
    ]


def _row_of(change: Change, cluster_id: str) -> Row | None:
    kind = kind_of_scope(change.resource.scope)
    if kind is None or change.is_done or change.is_refused or (left := kind.text_after(change)) == SHOWN:
        return None
    place = _target(cluster_id, kind, kind.row(change.resource, change.key, "0"))
    value = None if left is None else kind.text(kind.row(change.resource, change.key, left))
    return {**dict(zip(("frame", "resource_type", "resource_name", "key"), place[1:], strict=True)), "value": value}


def _target(cluster_id: str, kind: SnapshotKind, row: Row) -> _Target:
    name = row["resource_name"] if "resource_name" in row else row["entity"]
    return cluster_id, kind.name, row.get("resource_type"), name, row["key"]


class PlannedChanges:
    """The rows of PLANNED_CHANGES, to be asked whose a change is."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[_Target, list[Row]] = defaultdict(list)
        for row in rows:
            place = row["cluster_id"], row["frame"], row["resource_type"], row["resource_name"], row["key"]
            self._rows[place].append(row)

    def author_of(self, head: Row, kind: SnapshotKind, old: Row | None, new: Row | None) -> Row:
        """`plan_id` and `author` of a change that was seen at `taken_at` and not yet at `since`; null where they are
        not known: no plan left that value in that time.
        """
        place = _target(head["cluster_id"], kind, new or old or {})
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
