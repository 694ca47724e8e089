"""A place for a history in this process, which can be disturbed at each of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from kadmin_nb.state.intervals import FRAMES, FROM, SNAPSHOTS, TO, Moved, Place, Reading, stored_schema
from kadmin_nb.state.snapshot_kinds import SnapshotKind


class InMemory(Place):
    """A `Place`; `disturb` is called before each step that reads or writes."""

    where = "memory"

    def __init__(self) -> None:
        self.tables = {name: stored_schema(frame).empty_table() for name, frame in FRAMES.items()}
        self.versions = dict.fromkeys(FRAMES, 0)
        self.disturb: Callable[[], None] = lambda: None

    @contextmanager
    def recording(self) -> Iterator[None]:
        yield

    def clusters(self) -> set[str]:
        return set(self.tables[SNAPSHOTS]["cluster_id"].to_pylist())

    def rows(
        self, name: str, cluster_id: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> pa.Table:
        if name == SNAPSHOTS:
            self.disturb()
        rows = self.tables[name]
        rows = rows if cluster_id is None else rows.filter(pc.equal(rows["cluster_id"], cluster_id))
        if since is None and until is None:
            return rows
        kept = [
            (until is None or begin <= until) and (since is None or end is None or end >= since)
            for begin, end in zip(rows[FROM].to_pylist(), rows[TO].to_pylist(), strict=True)
        ]
        return rows.filter(pa.array(kept, pa.bool_()))

    def read(self, kind: SnapshotKind, cluster_id: str, since: datetime) -> Reading:
        version, rows = self.versions[kind.history_table], self.rows(kind.history_table, cluster_id, since)
        snapshots = self.snapshots(cluster_id)
        return Reading(rows, snapshots.filter(pc.equal(snapshots["kind"], kind.name)), version)

    def change(self, kind: SnapshotKind, cluster_id: str, edits: pa.Table, since: datetime, reading: Reading) -> int:
        self._commit(kind.history_table, reading.version)
        key = ("cluster_id", *kind.identity, FROM)
        rows = {tuple(row[n] for n in key): row for row in self.tables[kind.history_table].to_pylist()}
        rows |= {tuple(row[n] for n in key): row for row in edits.to_pylist()}
        schema = stored_schema(kind.history_frame)
        self.tables[kind.history_table] = pa.Table.from_pylist([*rows.values()], schema=schema)
        return reading.version + 1

    def fence(self, kind: SnapshotKind, version: int) -> None:
        self._commit(kind.history_table, version)

    def append(self, name: str, rows: pa.Table) -> None:
        self.disturb()
        self.tables[name] = pa.concat_tables([self.tables[name], rows.cast(self.tables[name].schema)])

    def _commit(self, table: str, version: int) -> None:
        self.disturb()
        if self.versions[table] != version:
            raise Moved
        self.versions[table] += 1
