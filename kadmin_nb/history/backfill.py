"""The past of a cluster out of its metadata log: the intervals and snapshots that nobody has recorded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, KadminError, UsageError
from ..frames import schemas
from ..frames.schema_metadata import CLUSTER_ID, KNOWN_SINCE, mark
from ..frames.snapshot_kinds import CONFIGS, QUOTAS, SnapshotKind, parsed
from ..model.changes import DELETE, SET
from ..model.configurable import Configurable
from ..model.findings import Row
from .intervals import FROM, TO, Edits, Reading, row_keys, stored_schema, with_neighbours

LOGGED = (QUOTAS, CONFIGS)
"""The kinds that a metadata log has the changes of."""

_CHECKPOINT, _TOPIC = "checkpoint", "topic"


@dataclass(frozen=True)
class Past:
    """The intervals of a kind, and a row of HISTORY_SNAPSHOTS for each time at which some of them began or ended."""

    intervals: pa.Table
    snapshots: list[Row]


@dataclass(frozen=True)
class LoggedChanges:
    """METADATA_CHANGES of a cluster, and the time since which they tell all that was set."""

    table: pa.Table
    cluster_id: str
    known_since: datetime

    @classmethod
    def of(cls, log: object) -> LoggedChanges:
        """Those of `kn.metadata_log(folder)`.

        Raises
        ------
        UsageError
            It is not METADATA_CHANGES; nothing says of which cluster it is.
        Invalid
            Nobody knows what was set when it begins.
        """
        table = log.to_arrow() if hasattr(log, "to_arrow") else log
        if not isinstance(table, pa.Table) or not {*schemas.METADATA_CHANGES.names} <= {*table.column_names}:
            raise UsageError("this is not a metadata log", hint="history.backfill(kn.metadata_log(FOLDER))")
        cluster_id, since = mark(table, CLUSTER_ID), mark(table, KNOWN_SINCE)
        if cluster_id is None:
            raise UsageError(
                "the cluster of the metadata log is unknown",
                hint="Copy the meta.properties beside it too, or pass cluster_id=.",
            )
        if since is None:
            raise Invalid(
                "records of the metadata log are missing, and no checkpoint replaces them",
                hint="Copy the checkpoints beside it too.",
            )
        return cls(table, cluster_id, datetime.fromisoformat(since))

    def past(self, kind: SnapshotKind, until: datetime | None) -> Past:
        """The past of a kind up to a time, or up to now: as if each change had been followed by a snapshot."""
        if until is not None and until <= self.known_since:
            return Past(stored_schema(kind.history_frame).empty_table(), [])
        values = _Values(kind, self.known_since)
        for batch in self._since_all_is_known().to_batches():
            for row in batch.to_pylist():
                if until is None or row["time"] < until:
                    values.change(row)
        values.end(until)
        intervals = [row | {"cluster_id": self.cluster_id} for row in values.ended]
        return Past(
            pa.Table.from_pylist(intervals, stored_schema(kind.history_frame)),
            [self._snapshot(kind, at, *moment) for at, moment in values.moments.items()],
        )

    def _since_all_is_known(self) -> pa.Table:
        """The changes from the last checkpoint on, where there is one: records before it are missing."""
        of_checkpoints = pc.equal(self.table["source"], _CHECKPOINT)
        last = pc.max(self.table["offset"].filter(of_checkpoints))
        if not last.is_valid:
            return self.table
        return self.table.slice(pc.index(pc.and_(of_checkpoints, pc.equal(self.table["offset"], last)), True).as_py())

    def _snapshot(self, kind: SnapshotKind, at: datetime, offset: int, count: int) -> Row:
        """A row of HISTORY_SNAPSHOTS. It has not read brokers: what their own files say is in no log."""
        return {
            "cluster_id": self.cluster_id,
            "frame": kind.name,
            "taken_at": at,
            "snapshot_id": f"offset-{offset}",
            "scopes": " ".join(scope for scope in kind.scopes if scope != "BROKER"),
            "rows": count,
        }


def past_before(reading: Reading, changes: LoggedChanges, kind: SnapshotKind) -> tuple[Edits, list[Row]]:
    """What puts the past of a kind before all that was recorded of it, and the snapshots that go with it.

    What stands there already, of a backfill that was killed, stays.
    """
    first = pc.min(reading.snapshots["taken_at"]).as_py()
    past = changes.past(kind, first)
    is_ours = pc.is_in(row_keys(reading.rows, kind), value_set=row_keys(past.intervals, kind))
    others = pc.min(reading.rows.filter(pc.invert(is_ours))[FROM]).as_py()
    if others is not None and (first is None or others < first):
        first, past = others, changes.past(kind, others)
    is_there = pc.is_in(row_keys(past.intervals, kind), value_set=row_keys(reading.rows, kind))
    rows, removed = past.intervals.filter(pc.invert(is_there)), reading.rows.slice(0, 0)
    if first is not None and len(rows):
        following = reading.rows.filter(pc.equal(reading.rows[FROM], pa.scalar(first, reading.rows[FROM].type)))
        lasting = pc.equal(rows[TO], pa.scalar(first, rows[TO].type))
        joined, removed = with_neighbours(rows.filter(lasting), following, kind, changes.known_since, first)
        rows = pa.concat_tables([rows.filter(pc.invert(lasting)), joined])
    return Edits(rows, removed), past.snapshots


@dataclass
class _Values:
    """The values of a kind from change to change.

    `ended` are the intervals, `moments` the times at which some began or ended, each with the offset of the last
    change and the number of values that were set then.
    """

    kind: SnapshotKind
    now: datetime
    ended: list[Row] = field(default_factory=list)
    moments: dict[datetime, tuple[int, int]] = field(default_factory=dict)
    _set: dict[str, dict[str, tuple[str, datetime]]] = field(default_factory=lambda: defaultdict(dict))
    _before: dict[tuple[str, str], tuple[str, datetime] | None] = field(default_factory=dict)
    """What was set before the changes of this moment, where there are some."""
    _count: int = 0
    _offset: int = 0

    def __post_init__(self) -> None:
        self.moments[self.now] = (0, 0)

    def change(self, row: Row) -> None:
        """Follow a change of the log. Its controllers' clocks may differ, but no time goes back here."""
        if row["time"] > self.now:
            self._settle()
            self.now = row["time"]
        self._offset, resource = row["offset"], row["resource"]
        if row["kind"] == self.kind.kind:
            self._put(resource, row["key"], row["value"] if row["op"] == SET else None)
        elif row["kind"] == _TOPIC and row["op"] == DELETE:
            for key in [*self._set[resource]]:
                self._put(resource, key, None)

    def end(self, until: datetime | None) -> None:
        """All that is set holds up to that time; None is now."""
        self._settle()
        for resource, keys in self._set.items():
            for key, held in keys.items():
                self._keep(resource, key, held, until)

    def _put(self, resource: str, key: str, value: str | None) -> None:
        keys = self._set[resource]
        self._before.setdefault((resource, key), keys.get(key))
        self._count -= keys.pop(key, None) is not None
        if value is not None:
            keys[key] = value, self.now
            self._count += 1

    def _settle(self) -> None:
        """Of the changes of one moment only what they come to counts."""
        is_changed = False
        for (resource, key), before in self._before.items():
            after = self._set[resource].get(key)
            if before and after and before[0] == after[0]:
                self._set[resource][key] = before
            elif before or after:
                is_changed = True
                if before:
                    self._keep(resource, key, before, self.now)
        self._before.clear()
        if is_changed:
            self.moments[self.now] = self._offset, self._count

    def _keep(self, resource: str, key: str, held: tuple[str, datetime], until: datetime | None) -> None:
        value, since = held
        if (whose := _named(self.kind, resource)) is not None:
            self.ended.append({**self.kind.row(whose, key, value), FROM: since, TO: until})


@lru_cache(10_000)
def _named(kind: SnapshotKind, resource: str) -> Configurable | None:
    """What the log names so; None of what no snapshot would name."""
    try:
        return parsed(kind.kind, resource)
    except KadminError:
        return None
