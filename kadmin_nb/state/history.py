"""History: what clusters held, as intervals, and what these say of a time and of the time between two."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, NotFound, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.given_frames import plain
from ..hints import Hint, Verb, sentence
from ..model import rights
from ..model.changes import AppliedRow
from ..model.figures import utc
from ..model.findings import Row
from ..model.resources import Resource
from ..model.times import length_of_time, moment
from .intervals import (
    FROM,
    PLANNED,
    SNAPSHOTS,
    TO,
    Place,
    edits_of,
    frame_of,
    moment_of,
    of_scopes,
    read_scopes,
    state_at,
    taken_until_alone,
)
from .planned import PlannedChanges, not_yet_kept, plans_of, rows_applied, rows_of_plans
from .snapshot_kinds import CONFIGS, KINDS, SnapshotKind, content_of, difference, within
from .snapshots import PartlyRead, Snapshot, UnreadPart, refuse_other_than_snapshot, snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..plans.plan import Plan

_PART = r"(?:\w+|`(?:[^`]|``)+`)"
_SCHEMA = re.compile(rf"{_PART}\.{_PART}")
_TABLE = re.compile(rf"{_PART}(\.{_PART}){{2,}}")


def open_history(where: object, spark: SparkSession | None = None, keep: str | timedelta | None = None) -> History:
    """The history at a path or in a schema of a catalog; nothing is created before the first snapshot is recorded.

    It is six tables: `quotas_history`, `configs_history`, `client_configs_history` and `credentials_history`, whose
    rows hold from `valid_from` up to `valid_to`, `snapshots`, and `planned_changes`, what plans left.

    Parameters
    ----------
    where
        A path (a folder of Delta tables, through `deltalake`; object stores by address, with configured credentials
        only), or `catalog.schema`, through Spark SQL. `a.b` is a schema: write `./a.b` for a path.
    spark
        The session for a schema; default: the active one, or a local one.
    keep
        How long to keep rows that have ended, such as `90 days`; `record` removes older ones now and then. The state at
        each time since then can still be read. Default: everything is kept.

    Raises
    ------
    UsageError
        Neither; `keep` is not a length of time.
    Unsupported
        `deltalake`, or pyspark, is not installed.
    """
    kept = length_of_time(keep) if isinstance(keep, str) else keep
    if keep is not None and (not isinstance(kept, timedelta) or kept <= timedelta(0)):
        raise UsageError(f"keep={keep!r} is not a length of time", hint="For example '90 days'.")
    if isinstance(where, str) and _TABLE.fullmatch(where):
        schema = where.rpartition(".")[0]
        raise UsageError(
            f"{where} is the name of a table, and a history is a schema of several", hint=f"For example {schema}."
        )
    if isinstance(where, str) and _SCHEMA.fullmatch(where):
        from .catalog import SparkSchema

        return History(SparkSchema(where, spark), kept)
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise UsageError(f"{where!r} is not a place for a history", hint="Give a path, or catalog.schema.")
    from .delta import DeltaFolder

    return History(DeltaFolder(os.fspath(where)), kept)


@dataclass(frozen=True)
class _Stored:
    """The version of the intervals that say what a snapshot says, whether they said something else before, and
    whether that snapshot was recorded already.
    """

    version: int
    changed: bool
    is_known: bool


class History:
    """The history of one or many clusters, as intervals. Open one with `kn.open_history(where)`."""

    def __init__(self, place: Place, keep: timedelta | None = None) -> None:
        self._place, self._keep = place, keep

    def record(self, snapshot: Snapshot, plans: object = None) -> PartlyRead:
        """Record a snapshot. Changed values close open intervals and open new ones, in one commit for each kind; an
        unchanged snapshot adds only a row for each kind to the table of snapshots.

        That nothing was there is recorded too. Several may record at once. One that is recorded late takes its place
        in time.

        Parameters
        ----------
        snapshot
            `cluster.snapshot()`.
        plans
            Plans that were applied elsewhere since the last snapshot, in that order; those that were applied on this
            machine are known from their journals, where `cluster.snapshot()` is recorded. A change between the two
            snapshots is a plan's if the plan has it as a row, with the value that is there now; of the others no author
            is known.

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
            It is not a snapshot, or not a plan; the place has something that is not a history.
        WrongCluster
            A plan of another cluster.
        Unsupported
            The session has no Delta.
        TimedOut
            Other processes recorded at the same time, repeatedly.
        """
        taken = _whole(snapshot)
        passed = plans_of(plans, taken.cluster_id)
        contents = {kind: content_of(taken.frames[kind.name].to_arrow(), kind) for kind in taken.kinds}
        with self._place.recording():
            planned = self._place.rows(PLANNED, taken.cluster_id).to_pylist()
            applied = self._applied(passed, taken, planned)
            authors = {one.id: one.head.author for one in passed} | {row.plan_id: row.author for row in applied}
            rows = {kind: _snapshot_row(taken, kind, len(content), authors) for kind, content in contents.items()}
            stored = {kind: self._stored(kind, content, rows[kind]) for kind, content in contents.items()}
            if left := not_yet_kept(rows_of_plans(applied, taken), planned):
                self._place.add(PLANNED, schemas.table(schemas.PLANNED_CHANGES, left))
            if new := [rows[kind] for kind in rows if not stored[kind].is_known]:
                self._place.add(SNAPSHOTS, schemas.table(schemas.HISTORY_SNAPSHOTS, new))
            for kind in contents:
                self._fence(kind, contents[kind], rows[kind], stored[kind].version)
            self._forget(taken.cluster_id)
        told = [{**row, "kind": kind.name, "unchanged": not stored[kind].changed} for kind, row in rows.items()]
        return PartlyRead(schemas.table(schemas.SNAPSHOTS, told), taken.unread)

    def snapshots(self, cluster_id: str | None = None) -> Answer:
        """SNAPSHOTS: the recorded snapshots, oldest first."""
        rows = _snapshot_rows(self._place.snapshots(cluster_id))
        changed_at = {kind.name: self._times_of_changes(kind, cluster_id) for kind in KINDS.values()}
        last: dict[tuple[str, str], datetime] = {}
        for row in rows:
            cluster, frame, at = row["cluster_id"], row["frame"], row["taken_at"]
            before = last.get((cluster, frame))
            times = changed_at[frame].get(cluster, np.array([], "datetime64[us]"))
            first, end = np.searchsorted(times, pa.array([before or at, at], pa.timestamp("us")).to_numpy(), "right")
            row |= {"kind": frame, "unchanged": before is not None and first == end}
            last[cluster, frame] = at
        return Answer(schemas.table(schemas.SNAPSHOTS, rows))

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
        kinds = [KINDS[name] for name in KINDS if name in rows["frame"].unique().to_pylist()]
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
                kind, whose, [row for row in rows if row["frame"] == kind.name and row["taken_at"] <= until], since
            )
        ]
        changed.sort(key=itemgetter("taken_at", "kind", "resource", "key"))
        return Answer(schemas.table(schemas.HISTORY_CHANGES, changed))

    def _stored(self, kind: SnapshotKind, content: pa.Table, row: Row) -> _Stored:
        """Let the intervals say what the content says."""
        cluster_id, at = row["cluster_id"], row["taken_at"]

        def step() -> _Stored:
            reading = self._place.read(kind, cluster_id, at)
            edits = edits_of(reading, content, kind, row, self._place.where)
            is_known = pc.index(reading.snapshots["snapshot_id"], row["snapshot_id"]).as_py() >= 0
            if not edits:
                return _Stored(reading.version, not len(reading.snapshots), is_known)
            return _Stored(self._place.change(kind, cluster_id, edits, at, reading), True, is_known)

        return taken_until_alone(step, self._place.where)

    def _fence(self, kind: SnapshotKind, content: pa.Table, row: Row, version: int) -> None:
        """Make sure that the intervals still say what the content says now that the snapshot is among the others:
        who compared one without knowing of it cannot commit any more, and who did so before is seen."""
        versions = chain([version], (self._stored(kind, content, row).version for _ in repeat(None)))
        taken_until_alone(lambda: self._place.fence(kind, next(versions)), self._place.where)

    def _applied(self, passed: Sequence[Plan], taken: Snapshot, planned: Sequence[Row]) -> list[AppliedRow]:
        """The rows that plans have changed since the snapshot before; a plan that was passed counts once."""
        times = self._place.snapshots(taken.cluster_id)["taken_at"]
        since = pc.max(times.filter(pc.less(times, moment_of(taken.taken_at)))).as_py()
        kept = {row["plan_id"] for row in planned}
        return rows_applied([plan for plan in passed if plan.id not in kept], taken, since)

    def _forget(self, cluster_id: str) -> None:
        """Remove what had ended before the time that is kept, but for the snapshots that its state is read from."""
        if self._keep is None:
            return
        until = datetime.now(UTC) - self._keep
        rows = [row for row in _snapshot_rows(self._place.snapshots(cluster_id)) if row["taken_at"] <= until]
        newest = {(row["frame"], scope): row["snapshot_id"] for row in rows for scope in row["scopes"].split()}
        old = [row["taken_at"] for row in rows if row["snapshot_id"] not in newest.values()]
        if old and until - old[0] > self._keep / 10:
            self._place.forget(cluster_id, until, sorted({*newest.values()}))

    def _times_of_changes(self, kind: SnapshotKind, cluster_id: str | None) -> dict[str, np.ndarray]:
        """When the rows of a kind began and ended, by cluster, in order."""
        rows = self._place.rows(kind.history_table, cluster_id)
        edges = [rows.select(["cluster_id", name]).rename_columns(["cluster_id", "at"]) for name in (FROM, TO)]
        times = pa.concat_tables(edges).group_by(["cluster_id", "at"]).aggregate([]).drop_null().sort_by("at")
        clusters = times["cluster_id"].unique().to_pylist()
        return {name: times.filter(pc.equal(times["cluster_id"], name))["at"].to_numpy() for name in clusters}

    def _changes_of(
        self, kind: SnapshotKind, cluster_id: str, rows: Sequence[Row], since: datetime | None
    ) -> Iterator[_Change]:
        """The changes of a cluster and kind that these snapshots saw after a time."""
        lines = [(scopes, snapshots, _places(snapshots, since)) for scopes, snapshots in _lines(kind, rows)]
        lines = [(scopes, snapshots, places) for scopes, snapshots, places in lines if places]
        if not lines:
            return
        first = min(snapshots[places[0] - 1]["taken_at"] for _, snapshots, places in lines)
        last = max(snapshots[places[-1]]["taken_at"] for _, snapshots, places in lines)
        intervals = self._place.rows(kind.history_table, cluster_id, first, last)
        for scopes, snapshots, places in lines:
            yield from _changes_between(of_scopes(intervals, kind, scopes), kind, snapshots, places)


def nothing_recorded(where: str = "") -> NotFound:
    """The error that says that the past of a cluster cannot be seen, and how to begin recording it."""
    begin = Verb(
        f"history record {shlex.quote(where) if where else 'PATH'}",
        f"kn.open_history({repr(where) if where else 'PATH'}).record(cluster.snapshot())",
    )
    return NotFound(
        f"{'nothing has been recorded here yet' if where else 'no history is named'}, and Kafka keeps no history",
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


_Change = tuple[Row, Row | None, Row | None]
"""A row of HISTORY_CHANGES that says nothing of a plan, and the rows before and after it."""


def _snapshot_row(taken: Snapshot, kind: SnapshotKind, rows: int, authors: Mapping[str, str]) -> Row:
    """The row of HISTORY_SNAPSHOTS of a snapshot and kind, with the ids of plans and their authors."""
    return {
        "cluster_id": taken.cluster_id,
        "frame": kind.name,
        "taken_at": taken.taken_at,
        "snapshot_id": taken.id,
        "plan_id": ", ".join(authors) or None,
        "author": ", ".join(dict.fromkeys(filter(None, authors.values()))) or None,
        "scopes": " ".join(scope for scope in taken.scopes if scope in kind.scopes),
        "rows": rows,
    }


def _snapshot_rows(snapshots: pa.Table) -> list[Row]:
    """The rows of HISTORY_SNAPSHOTS, oldest first; one that was recorded twice is one, with its plan."""
    rows = sorted(snapshots.to_pylist(), key=lambda row: row["plan_id"] is not None)
    by_snapshot = {(row["cluster_id"], row["snapshot_id"], row["frame"]): row for row in rows}
    order = {name: place for place, name in enumerate(KINDS)}
    return sorted(by_snapshot.values(), key=lambda r: (r["taken_at"], r["snapshot_id"], order.get(r["frame"], -1)))


def _window(between: Sequence[object]) -> tuple[datetime | None, datetime]:
    if isinstance(between, str) or not isinstance(between, Sequence) or len(between) != 2:
        raise UsageError(f"between={between!r} is not two times", hint='For example ("2026-11-21T00:00:00Z", None).')
    first, last = between
    return None if first is None else moment(first), datetime.now(UTC) if last is None else moment(last)


def _lines(kind: SnapshotKind, line: Sequence[Row]) -> list[tuple[list[str], list[Row]]]:
    """The scopes of a kind, those together that the same snapshots have read, and these; of two of one time the last,
    which is the one that holds."""
    by_snapshots: dict[tuple[int, ...], list[str]] = {}
    for scope in read_scopes(kind, kind.scopes):
        reading = {
            row["taken_at"]: place for place, row in enumerate(line) if scope in read_scopes(kind, row["scopes"])
        }
        by_snapshots.setdefault(tuple(reading.values()), []).append(scope)
    return [(scopes, [line[place] for place in places]) for places, scopes in by_snapshots.items()]


def _places(snapshots: Sequence[Row], since: datetime | None) -> list[int]:
    """The places of those after a time; the first is compared with nothing."""
    return [place for place, row in enumerate(snapshots) if place and (since is None or row["taken_at"] > since)]


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
    failed: dict[str, list[Row]] = {}
    for row in snapshot.failed.to_arrow().to_pylist():
        failed.setdefault(row["resource_type"], []).append(row)
    for scope, rows in failed.items():
        first, more = rows[0], len(rows) - 1
        whose = Resource(first["resource_type"], first["resource_name"])
        also = f" and {more:,} more" * (more > 0)
        hint = rights.hint(first["error"], rights.to_describe(whose))
        yield UnreadPart(scope, first["error"], f"{first['error']} for {whose}{also}", hint)
