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
from ..model.figures import utc
from ..model.findings import Row
from .snapshot_kinds import KINDS, SCOPES, SnapshotKind, difference, identities, named_twice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Result = TypeVar("Result")

FROM, TO = "valid_from", "valid_to"
SNAPSHOTS, PLANNED = "snapshots", "planned_changes"

FRAMES: dict[str, type[Frame]] = {kind.history_table: kind.history_frame for kind in KINDS.values()}
FRAMES[SNAPSHOTS], FRAMES[PLANNED] = schemas.HISTORY_SNAPSHOTS, schemas.PLANNED_CHANGES
"""The frame of each table of a history."""

_OTHER = ""
"""Stands for the resource types that we do not know: each snapshot of configs has read them."""


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


@dataclass(frozen=True)
class Edits:
    """Rows to put in place of those with the same identity and beginning, or beside them, and rows to remove."""

    put: pa.Table
    removed: pa.Table

    def __len__(self) -> int:
        return len(self.put) + len(self.removed)

    @property
    def with_mark(self) -> pa.Table:
        """All of them; the column `removed` tells which."""
        parts = ((self.put, False), (self.removed, True))
        rows = [rows.append_column("removed", pa.repeat(pa.scalar(mark), len(rows))) for rows, mark in parts]
        return pa.concat_tables(rows).replace_schema_metadata()


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
        """HISTORY_SNAPSHOTS of a cluster, or of all."""
        return self.rows(SNAPSHOTS, cluster_id)

    def interval_frame(self, kind: SnapshotKind, cluster_id: str | None) -> pa.Table | DataFrame:
        """All rows of a kind: an Arrow table, or a DataFrame of Spark's that has not been run."""
        return self.rows(kind.history_table, cluster_id)

    @abstractmethod
    def read(self, kind: SnapshotKind, cluster_id: str, since: datetime) -> Reading:
        """What a snapshot of that time is compared with: the rows first, then the snapshots."""

    @abstractmethod
    def change(self, kind: SnapshotKind, cluster_id: str, edits: Edits, since: datetime, reading: Reading) -> int:
        """Change the rows in one commit; its version. Raises Moved."""

    @abstractmethod
    def fence(self, kind: SnapshotKind, version: int) -> None:
        """A commit without rows: who read the rows before it cannot commit. Raises Moved if this is not the version."""

    @abstractmethod
    def append(self, name: str, rows: pa.Table) -> None:
        """Add rows to the table of that name, `SNAPSHOTS` or `PLANNED`, in one commit. Raises Moved."""

    @abstractmethod
    def delete(self, name: str, condition: str) -> None:
        """Remove the rows of a table of which this condition in SQL is true."""

    @abstractmethod
    def text(self, text: str) -> str:
        """A text as a literal of its SQL."""

    @abstractmethod
    def time(self, time: datetime) -> str:
        """A time as a literal of its SQL."""

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

    def forget(self, cluster_id: str, until: datetime, but: Sequence[str]) -> None:
        """Remove the intervals of a cluster that had ended at a time, its snapshots up to that time but for some
        ids, and what plans had left before it.
        """
        old = dict.fromkeys((kind.history_table for kind in KINDS.values()), f"{TO} <= {self.time(until)}")
        old[SNAPSHOTS] = old[PLANNED] = f"taken_at <= {self.time(until)}"
        if but:
            old[SNAPSHOTS] += f" AND snapshot_id NOT IN ({', '.join(map(self.text, but))})"
        for name, condition in old.items():
            self.delete(name, f"cluster_id = {self.text(cluster_id)} AND {condition}")


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


def of_scopes(rows: pa.Table, kind: SnapshotKind, scopes: Collection[str]) -> pa.Table:
    """The rows that are in one of these scopes."""
    if len(kind.scopes) == 1:
        return rows
    types = pc.fill_null(rows["resource_type"], _OTHER)
    chosen = pc.is_in(types, value_set=pa.array(sorted(scopes), pa.string()))
    if _OTHER in scopes:
        chosen = pc.or_(chosen, pc.invert(pc.is_in(types, value_set=pa.array(SCOPES, pa.string()))))
    return rows.filter(chosen)


def read_scopes(kind: SnapshotKind, words: str | Iterable[str]) -> list[str]:
    """What a snapshot with these scopes has read of a kind."""
    words = words.split() if isinstance(words, str) else words
    scopes = [scope for scope in words if scope in kind.scopes]
    return scopes if len(kind.scopes) == 1 else [*scopes, _OTHER]


# --- a snapshot takes its place among the rows ---


def edits_of(reading: Reading, content: pa.Table, kind: SnapshotKind, snapshot: Row, where: str) -> Edits:
    """What makes the rows say what the content of a snapshot says, from its time up to the next that read the same.

    Parameters
    ----------
    snapshot
        A row of HISTORY_SNAPSHOTS.

    Raises
    ------
    Invalid
        Two rows of one key hold at that time.
    """
    at, frame = snapshot["taken_at"], kind.history_frame
    parts = []
    for until, scopes in _scopes_by_end(reading, kind, snapshot).items():
        rows, new = (of_scopes(table, kind, scopes) for table in (reading.rows, content))
        parts.append(_edits(rows, new, kind, snapshot["cluster_id"], at, until, where))
    empty = stored_schema(frame).empty_table()
    return Edits(
        pa.concat_tables([empty, *(part.put for part in parts)]),
        pa.concat_tables([empty, *(part.removed for part in parts)]),
    )


def _scopes_by_end(reading: Reading, kind: SnapshotKind, snapshot: Row) -> dict[datetime | None, list[str]]:
    """The scopes of a snapshot by the time up to which it speaks for them, without the scopes of which a later one
    speaks: of two of the same time, the one with the greater id.

    A boundary of an interval is one of a snapshot too: its recorder may have been killed before it could say so.
    """
    at, after = snapshot["taken_at"], pc.greater_equal(reading.snapshots["taken_at"], moment_of(snapshot["taken_at"]))
    later = reading.snapshots.filter(after).select(["taken_at", "snapshot_id", "scopes"]).to_pylist()
    ends: dict[datetime | None, list[str]] = {}
    for scope in read_scopes(kind, snapshot["scopes"]):
        speaking = [row for row in later if scope in read_scopes(kind, row["scopes"])]
        if any(row["taken_at"] == at and row["snapshot_id"] > snapshot["snapshot_id"] for row in speaking):
            continue
        times = [row["taken_at"] for row in speaking if row["taken_at"] > at]
        rows = of_scopes(reading.rows, kind, [scope])
        for name in (FROM, TO):
            later_edge = pc.min(rows[name].filter(pc.greater(rows[name], moment_of(at)))).as_py()
            times += [] if later_edge is None else [later_edge]
        ends.setdefault(min(times, default=None), []).append(scope)
    return ends


def _edits(
    rows: pa.Table, content: pa.Table, kind: SnapshotKind, cluster_id: str, at: datetime, until: datetime | None,
    where: str,
) -> Edits:  # fmt: skip
    state = state_at(rows, kind, at, where)
    found = difference(state, content, kind)
    gone = pa.concat_tables([found.removed, found.before])
    new = pa.concat_tables([found.added, found.after])
    began_before = pc.less(gone[FROM], moment_of(at))
    removed = gone.filter(pc.invert(began_before))
    put = [_with(gone.filter(began_before), TO, at)]
    if until is not None:
        lasts = pc.or_kleene(pc.is_null(gone[TO]), pc.greater(gone[TO], moment_of(until)))
        put.append(_with(gone.filter(lasts), FROM, until))
    opened = _opened(new, kind, cluster_id, at, until)
    # the rows that end where others may begin, or begin where others may end
    touches = pc.fill_null(pc.equal(rows[TO], moment_of(at)), False)
    neighbours = rows.filter(touches if until is None else pc.or_(touches, pc.equal(rows[FROM], moment_of(until))))
    if len(neighbours) and len(opened):
        opened, joined = _with_neighbours(opened, neighbours, kind, at, until)
        removed = pa.concat_tables([removed, joined])
    whole = pa.concat_tables([*put, opened])
    kept = pc.is_in(_row_keys(removed, kind), value_set=_row_keys(whole, kind))
    return Edits(whole, removed.filter(pc.invert(kept)))


def _with_neighbours(
    opened: pa.Table, neighbours: pa.Table, kind: SnapshotKind, at: datetime, until: datetime | None
) -> tuple[pa.Table, pa.Table]:
    """The opened rows, each as one with the rows that say the same right before and after it; and those after it."""
    beside = neighbours.to_pylist()
    before = {_content_key(row, kind): row for row in beside if row[TO] == at}
    after = {_content_key(row, kind): row for row in beside if until is not None and row[FROM] == until}
    rows, joined = opened.to_pylist(), []
    for row in rows:
        key = _content_key(row, kind)
        if key in before:
            row[FROM] = before[key][FROM]
        if key in after:
            row[TO] = after[key][TO]
            joined.append(after[key])
    return (pa.Table.from_pylist(table, schema=opened.schema) for table in (rows, joined))  # type: ignore[return-value]


def _content_key(row: Row, kind: SnapshotKind) -> tuple[str, ...]:
    return tuple(repr(row[name]) for name in kind.columns)


def _opened(new: pa.Table, kind: SnapshotKind, cluster_id: str, at: datetime, until: datetime | None) -> pa.Table:
    schema = stored_schema(kind.history_frame)
    same = {"cluster_id": cluster_id, FROM: at, TO: until}
    columns = [
        pa.repeat(pa.scalar(same[field.name], field.type), len(new)) if field.name in same else new[field.name]
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _with(rows: pa.Table, name: str, time: datetime) -> pa.Table:
    return rows.set_column(
        rows.schema.get_field_index(name), rows.schema.field(name), pa.repeat(moment_of(time), len(rows))
    )


def _row_keys(rows: pa.Table, kind: SnapshotKind) -> pa.Array:
    """A text for each row that no other row of the cluster has."""
    begins = rows[FROM].cast(pa.int64()).cast(pa.string()).combine_chunks()
    keys = pc.binary_join_element_wise(begins, identities(rows, kind), ":")
    return keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys


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
