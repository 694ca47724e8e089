"""History: what clusters held, as intervals, and what these say of a time and of the time between two."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, NotFound, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.given_frames import plain
from ..frames.schemas import noted
from ..hints import Hint, Verb, sentence
from ..model import rights
from ..model.changes import AppliedRow
from ..model.config_units import moment
from ..model.figures import utc
from ..model.findings import Row
from ..model.resources import Resource
from .intervals import (
    FROM,
    PLANNED,
    SNAPSHOTS,
    TO,
    Place,
    PlannedChanges,
    edits_of,
    frame_of,
    is_late,
    moment_of,
    rows_of_plans,
    state_at,
    taken_until_alone,
)
from .snapshot_kinds import CONFIGS, KINDS, SnapshotKind, content_of, difference, within
from .snapshots import PartlyRead, Snapshot, UnreadPart, refuse_other_than_snapshot, snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_SCHEMA = re.compile(rf"{_PART}\.{_PART}")
_TABLE = re.compile(rf"{_PART}\.{_PART}\.{_PART}")


def open_history(where: object, spark: SparkSession | None = None) -> History:
    """The history at a path or in a schema of a catalog; nothing is created before the first snapshot is recorded.

    It is six tables: `quotas_history`, `configs_history`, `client_configs_history` and `credentials_history`, whose
    rows hold from `valid_from` up to `valid_to`, `snapshots`, and `planned_changes`, what plans left.

    Parameters
    ----------
    where
        A path (a folder of Delta tables, through `deltalake`), or `catalog.schema`, through Spark SQL. `a.b` is a
        schema: write `./a.b` for a path.
    spark
        The session for a schema; default: the active one, or a local one.

    Raises
    ------
    UsageError
        Neither, or the name of a table, which would be taken for a folder.
    Unsupported
        `deltalake`, or pyspark, is not installed.
    """
    if isinstance(where, str) and _TABLE.fullmatch(where):
        schema = where.rpartition(".")[0]
        raise UsageError(f"{where} is a table's name, and a history is a schema of several", hint=f"Give {schema}.")
    if isinstance(where, str) and _SCHEMA.fullmatch(where):
        from .catalog import SparkSchema

        return History(SparkSchema(where, spark))
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise UsageError(f"{where!r} is not a place for a history", hint="Give a path, or catalog.schema.")
    from .delta import DeltaFolder

    return History(DeltaFolder(os.fspath(where)))


class History:
    """The history of one or many clusters, as intervals. Open one with `kn.open_history(where)`."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def record(self, snapshot: Snapshot) -> PartlyRead:
        """Record a snapshot. Changed values close open intervals and open new ones, in one commit for each kind; an
        unchanged snapshot adds only a row for each kind to the table of snapshots.

        That nothing was there is recorded too. Several may record at once; a kind of which a later snapshot has been
        recorded is left out, and said. A change is a plan's if the plan was applied on this machine, has it as a row,
        and left the value that is there now: the journals here tell. Of the others no author is known.

        Parameters
        ----------
        snapshot
            `cluster.snapshot()`.

        Returns
        -------
        PartlyRead
            SNAPSHOTS: the rows that were added. A part that could not be read, wholly or of some resources, is in
            `unread`: it stays as it was, and the rest is recorded.

        Raises
        ------
        Invalid
            Nothing of it was read in full, or it has a key twice, or two intervals of one key are open; nothing was
            recorded.
        UsageError
            It is not a snapshot; the place has something that is not a history.
        Unsupported
            The session has no Delta.
        TimedOut
            Other processes recorded at the same time, repeatedly.
        """
        taken = _whole(snapshot)
        contents = {kind: content_of(taken.frames[kind.name].to_arrow(), kind) for kind in taken.kinds}
        with self._place.recording():
            before = self._place.snapshots(taken.cluster_id)
            applied = _applied(taken, before)
            rows = {kind: _snapshot_row(taken, kind, len(content)) for kind, content in contents.items()}
            stored = {kind: self._stored(kind, content, rows[kind]) for kind, content in contents.items()}
            if left := rows_of_plans(applied, taken):
                self._place.add(PLANNED, schemas.table(schemas.PLANNED_CHANGES, left))
            told = [rows[kind] for kind, version in stored.items() if version is not None]
            known = before.filter(pc.equal(before["snapshot_id"], taken.id))["kind"].to_pylist()
            if new := [row for row in told if row["kind"] not in known]:
                self._place.add(SNAPSHOTS, schemas.table(schemas.SNAPSHOTS, new))
            for kind, version in stored.items():
                self._fence(kind, contents[kind], rows[kind], version)
        late = ", ".join(kind.title for kind, version in stored.items() if version is None)
        table = schemas.table(schemas.SNAPSHOTS, told)
        left_out = [f"left out, as a later snapshot has been recorded: {late}"] if late else []
        return PartlyRead(noted(table, left_out), taken.unread)

    def snapshots(self, cluster_id: str | None = None) -> Answer:
        """SNAPSHOTS: the recorded snapshots, oldest first."""
        return Answer(schemas.table(schemas.SNAPSHOTS, _snapshot_rows(self._place.snapshots(cluster_id))))

    @property
    def clusters(self) -> tuple[str, ...]:
        """The ids of the recorded clusters."""
        return tuple(sorted(self._place.clusters()))

    def intervals(self, kind: str = "quotas", cluster_id: str | None = None) -> pa.Table | DataFrame:
        """QUOTAS_HISTORY, CONFIGS_HISTORY, CLIENT_CONFIGS_HISTORY or CREDENTIALS_HISTORY: one row for each interval in
        which a value stayed the same.

        Parameters
        ----------
        kind
            `quotas`, `configs`, `client_configs` or `credentials`.
        cluster_id
            Only this cluster; default: all.

        Returns
        -------
        pyarrow.Table or pyspark.sql.DataFrame
            At a path an Arrow table; in a catalog a lazy DataFrame of Spark.

        Raises
        ------
        UsageError
            It is not a kind.
        NotFound
            Nothing has been recorded here yet.
        """
        if kind not in KINDS:
            raise UsageError(f"{kind!r} is not a kind of a history", hint=f"One of: {', '.join(KINDS)}.")
        if not self._place.clusters():
            raise nothing_recorded(self._place.where)
        return self._place.interval_frame(KINDS[kind], cluster_id)

    def as_of(self, time: object, cluster_id: str | None = None) -> Snapshot:
        """The state of the cluster at a time, from the newest snapshots up to then: what the last snapshot has not read
        is taken from the last one that has, and named in `unread`, with the time of that one; such a snapshot is
        not `complete`.

        Parameters
        ----------
        time
            A datetime with a zone, or text such as `2026-11-21T12:00:00Z`, `2h ago`, or `monday`.
        cluster_id
            The cluster; required if the history has several.

        Raises
        ------
        NotFound
            There is no snapshot up to that time.
        Invalid
            Two intervals of one key overlap at that time.
        """
        until = moment(time)
        snapshots = self._place.snapshots(cluster_id)
        whose = _only_one(snapshots["cluster_id"].unique().to_pylist(), self._place.where, cluster_id)
        rows = snapshots.filter(pc.less_equal(snapshots["taken_at"], moment_of(until)))
        if not len(rows):
            raise NotFound(f"no snapshot of {whose} was taken at or before {utc(until)}")
        kinds = [KINDS[name] for name in KINDS if name in rows["kind"].unique().to_pylist()]
        frames = {}
        for kind in kinds:
            state = state_at(self._place.rows(kind.history_table, whose, until, until), kind, until, self._place.where)
            frames[kind.name] = frame_of(state, kind)
        newest = rows.filter(pc.equal(rows["taken_at"], pc.max(rows["taken_at"])))
        last = max(newest.to_pylist(), key=itemgetter("snapshot_id"))
        read = rows.select(["taken_at", "scopes"]).group_by("scopes").aggregate([("taken_at", "max")])
        last_read = {  # the parts that these snapshots have read, and when each was read last
            scope: row["taken_at_max"]
            for row in read.sort_by("taken_at_max").to_pylist()
            for scope in row["scopes"].split()
        }
        older = {scope: at for scope, at in last_read.items() if at < last["taken_at"]}
        reason = "the last snapshot has not read it; it is shown as of "
        return snapshot(
            frames,
            cluster_id=whose,
            taken_at=last["taken_at"],
            snapshot_id=last["snapshot_id"],
            scopes=last_read,
            unread=[UnreadPart(scope, None, f"{reason}{utc(at)}") for scope, at in older.items()],
        )

    def changes(self, between: Sequence[object], cluster_id: str | None = None) -> Answer:
        """HISTORY_CHANGES that a snapshot between two times was the first to see, oldest first.

        Each is compared with the last snapshot before it that has read the same.

        Parameters
        ----------
        between
            Two times, as of `as_of`; None is the beginning, or now.
        """
        since, until = _window(between)
        rows = _snapshot_rows(self._place.snapshots(cluster_id))
        whose = _only_one({row["cluster_id"] for row in rows}, self._place.where, cluster_id)
        planned = PlannedChanges(self._place.rows(PLANNED, whose).to_pylist())
        changed = [
            {**change, **planned.author_of(change, kind, old, new)}
            for kind in KINDS.values()
            for change, old, new in self._changes_of(
                kind, whose, [row for row in rows if row["kind"] == kind.name and row["taken_at"] <= until], since
            )
        ]
        changed.sort(key=itemgetter("taken_at", "kind", "resource", "key"))
        return Answer(schemas.table(schemas.HISTORY_CHANGES, changed))

    def _stored(self, kind: SnapshotKind, content: pa.Table, row: Row) -> int | None:
        """The version of the intervals that say what the content says; None where they say what a later one says."""

        def step() -> int | None:
            reading = self._place.read(kind, row["cluster_id"], row["taken_at"])
            if is_late(reading, row):
                return None
            edits = edits_of(reading.rows, content, kind, row, self._place.where)
            if not len(edits):
                return reading.version
            return self._place.change(kind, row["cluster_id"], edits, row["taken_at"], reading)

        return taken_until_alone(step, self._place.where)

    def _fence(self, kind: SnapshotKind, content: pa.Table, row: Row, version: int | None) -> None:
        """Make sure that the intervals still say what the content says now that the snapshot is among the others:
        who compared one without knowing of it cannot commit any more, and who did so before is seen."""
        versions = chain([version], (self._stored(kind, content, row) for _ in repeat(None)))

        def step() -> None:
            if (stored := next(versions)) is not None:
                self._place.fence(kind, stored)

        taken_until_alone(step, self._place.where)

    def _changes_of(
        self, kind: SnapshotKind, cluster_id: str, rows: Sequence[Row], since: datetime | None
    ) -> Iterator[_Change]:
        """The changes of a cluster and kind that these snapshots saw after a time."""
        lines = []
        for scope in kind.scopes:
            snapshots = [row for row in rows if scope in row["scopes"].split()]
            if places := [n for n, row in enumerate(snapshots) if n and (since is None or row["taken_at"] > since)]:
                lines.append((scope, snapshots, places))
        if not lines:
            return
        first = min(snapshots[places[0] - 1]["taken_at"] for _, snapshots, places in lines)
        last = max(snapshots[places[-1]]["taken_at"] for _, snapshots, places in lines)
        intervals = self._place.rows(kind.history_table, cluster_id, first, last)
        for scope, snapshots, places in lines:
            yield from _changes_between(within(intervals, [scope]), kind, snapshots, places)


def nothing_recorded(where: str) -> NotFound:
    """The error that says that the past of a cluster cannot be seen, and how to begin recording it."""
    record = f"kn.open_history({where!r}).record(cluster.snapshot())"
    begin = Verb(f"history record {shlex.quote(where)}", record)
    return NotFound(
        "nothing has been recorded here yet, and Kafka keeps no history",
        hint=Hint(sentence("{} starts one; each further record shows what changed since the one before.", begin)),
    )


def _only_one(clusters: Collection[str], where: str, cluster_id: str | None) -> str:
    """The cluster that is asked for; where none is named, the only one that is kept."""
    if cluster_id is not None:
        return cluster_id
    if not clusters:
        raise nothing_recorded(where)
    if len(clusters) > 1:
        raise UsageError(
            "snapshots of several clusters are kept here", hint=f"Pass cluster_id=: {', '.join(sorted(clusters))}."
        )
    return next(iter(clusters))


def _applied(taken: Snapshot, before: pa.Table) -> list[AppliedRow]:
    """The rows that plans have changed since the snapshot before, by the journals here."""
    since = pc.max(before["taken_at"].filter(pc.less(before["taken_at"], moment_of(taken.taken_at)))).as_py()
    known = [] if since is None or taken.applied_since is None else taken.applied_since(since)
    return [row for row in known if row.began < taken.taken_at]


_Change = tuple[Row, Row | None, Row | None]
"""A row of HISTORY_CHANGES that says nothing of a plan, and the rows before and after it."""


def _snapshot_row(taken: Snapshot, kind: SnapshotKind, rows: int) -> Row:
    """The row of SNAPSHOTS of a snapshot and kind."""
    return {
        "cluster_id": taken.cluster_id,
        "kind": kind.name,
        "taken_at": taken.taken_at,
        "snapshot_id": taken.id,
        "scopes": " ".join(scope for scope in taken.scopes if scope in kind.scopes),
        "rows": rows,
    }


def _snapshot_rows(snapshots: pa.Table) -> list[Row]:
    """The rows of SNAPSHOTS, oldest first."""
    order = {name: place for place, name in enumerate(KINDS)}
    return sorted(snapshots.to_pylist(), key=lambda row: (row["taken_at"], row["snapshot_id"], order[row["kind"]]))


def _window(between: Sequence[object]) -> tuple[datetime | None, datetime]:
    if isinstance(between, str) or not isinstance(between, Sequence) or len(between) != 2:
        raise UsageError(f"between={between!r} is not two times", hint='For example ("2026-11-21T00:00:00Z", None).')
    first, last = between
    return None if first is None else moment(first), datetime.now(UTC) if last is None else moment(last)


def _changes_between(
    intervals: pa.Table, kind: SnapshotKind, snapshots: Sequence[Row], places: Sequence[int]
) -> Iterator[_Change]:
    """What the snapshots at these places saw other than the one before."""
    times = pa.array([row["taken_at"] for row in snapshots], pa.timestamp("us", "UTC")).to_numpy()
    begin, end = (np.searchsorted(times, intervals[name].to_numpy(), "left") for name in (FROM, TO))
    seen = np.flatnonzero(begin < end)
    begun, ended = (seen[np.argsort(edges[seen], kind="stable")] for edges in (begin, end))
    columns = tuple(name for name in kind.compared if name != "is_default")  # of one cluster: its Kafka's defaults
    for place in places:
        old, new = (
            intervals.take(order[slice(*np.searchsorted(edges[order], [place, place + 1]))])
            for order, edges in ((ended, end), (begun, begin))
        )
        if not len(old) + len(new):
            continue
        before, after = snapshots[place - 1], snapshots[place]
        head = {
            **{name: after[name] for name in ("cluster_id", "taken_at", "snapshot_id")},
            "since": before["taken_at"],
            "kind": kind.kind,
        }
        yield from ((_change(head, *pair, kind), *pair) for pair in difference(old, new, kind, columns).pairs())


def _change(head: Row, old: Row | None, new: Row | None, kind: SnapshotKind) -> Row:
    row = new or old or {}
    return {
        **head,
        "state": "added" if old is None else "removed" if new is None else "changed",
        "resource": kind.resource(row),
        "key": row["key"],
        "old": kind.text(old) if old else None,
        "new": kind.text(new) if new else None,
        "source": row.get("source"),
    }


# --- the snapshot to record ---


def _whole(snapshot: Snapshot) -> Snapshot:
    """What of a snapshot was read in full; its other parts are `unread`.

    Raises
    ------
    UsageError
        It is something else.
    Invalid
        It is not complete, and nothing says which parts of it are, or none is.
    """
    refuse_other_than_snapshot(snapshot)
    if snapshot.complete:
        return snapshot
    unread = (*snapshot.unread, *_read_in_part(snapshot))
    scopes = tuple(scope for scope in snapshot.scopes if scope not in {part.scope for part in unread})
    if not unread or not scopes:
        why = "".join(f": {part}" for part in unread[:1])
        raise Invalid(
            f"the snapshot of {utc(snapshot.taken_at)} is not complete{why}; nothing was recorded",
            hint="What could not be read would look as if it had been deleted. Take another snapshot.",
        )
    configs = within(plain(snapshot.configs.to_arrow()), scopes)
    return replace(snapshot.with_frame(CONFIGS, configs), scopes=scopes, unread=unread)


def _read_in_part(snapshot: Snapshot) -> Iterator[UnreadPart]:
    """The parts of which some resources could not be read: these would look as if they had been deleted."""
    for scope, (first, *others) in groupby(snapshot.failed, itemgetter("resource_type")):
        whose = Resource(scope, first["resource_name"])
        also = f" and {len(others):,} more" * bool(others)
        hint = rights.hint(first["error"], rights.to_describe(whose))
        yield UnreadPart(scope, first["error"], f"{first['error']} for {whose}{also}", hint)
