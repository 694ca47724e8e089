"""History: snapshots kept in a table, and what they say of the time between them."""

from __future__ import annotations

import os
import re
import shlex
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ..comparing import Diff, drift
from ..comparing.differences import content_of, content_schema, difference, identities, table_of, within
from ..errors import Invalid, NotFound, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schema_metadata import CLUSTER_ID, TAKEN_AT
from ..frames.snapshot_kinds import KINDS, SnapshotKind, kind_of
from ..frames.snapshots import COMPLETE, ID, SCOPE, Snapshot, snapshot
from ..hints import Hint, Verb, sentence
from ..model.findings import Row
from ..model.times import moment
from .stored_rows import Place, State, change, changed, content_rows, fingerprint, frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE = re.compile(r"\w+(\.\w+){1,2}")


def open_history(where: object, spark: SparkSession | None = None) -> History:
    """The history kept at a path or in a table; nothing is made before something is recorded.

    Parameters
    ----------
    where
        A path (a Delta table, through `deltalake`; object stores by their address, with credentials that are
        configured: no metadata address of a cloud is asked for some), or `schema.table` or
        `catalog.schema.table`, kept through Spark SQL. What could be both is a table: write `./a.b` for a path.
    spark
        The session for a table; the active one, or a local one, unless said.

    Raises
    ------
    UsageError
        Neither.
    Unsupported
        `deltalake`, or pyspark, is not installed.
    """
    if isinstance(where, str) and _TABLE.fullmatch(where):
        from .spark import SparkTable

        return History(SparkTable(where, spark))
    if not isinstance(where, str | os.PathLike) or not os.fspath(where):
        raise UsageError(f"{where!r} is not a place for a history", hint="Give a path, or catalog.schema.table.")
    from .delta import DeltaFolder

    return History(DeltaFolder(os.fspath(where)))


class History:
    """Snapshots of one cluster or of many, in one table. Get one by `kn.open_history(where)`."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def record(self, snapshot: object, plan_id: object = None) -> Answer:
        """Keep a snapshot; an unchanged one adds one small row a kind, a changed one what differs.

        That nothing was there is recorded too. Several may record at once.

        Parameters
        ----------
        snapshot
            `cluster.snapshot()`, or a SNAPSHOT frame.
        plan_id
            The plan, or its id, that was applied since the last one.

        Returns
        -------
        Answer
            SNAPSHOTS: the rows that were added.

        Raises
        ------
        Invalid
            It is not complete, or holds something twice; nothing was recorded.
        UsageError
            It is not a snapshot.
        """
        snapshot_read = _taken(snapshot)
        plan, author = _plan_and_author(plan_id)
        last = {state.frame: state for state in self._place.newest(snapshot_read.cluster_id, None)}
        stored_states = [
            self._kept(snapshot_read, kind, last.get(kind.name), plan, author) for kind in snapshot_read.kinds
        ]
        self._place.append(
            [state for state, _ in stored_states], [rows for _, rows in stored_states if rows is not None]
        )
        return _snapshot_answer([state for state, _ in stored_states], last.values())

    def snapshots(self, cluster_id: str | None = None) -> Answer:
        """SNAPSHOTS: what is kept here, oldest first."""
        states = self._place.states(cluster_id)
        return _snapshot_answer(states, ())

    @property
    def clusters(self) -> tuple[str, ...]:
        """The ids of the clusters that snapshots are kept of."""
        return tuple(sorted(self._place.clusters()))

    def as_of(self, time: object, cluster_id: str | None = None) -> Snapshot:
        """The state of the cluster at a time: the newest snapshot that was taken then or before.

        Parameters
        ----------
        time
            A datetime with a zone, or text such as `2026-11-21T12:00:00Z`, `2h ago`, or `monday`.
        cluster_id
            Whose; needed where snapshots of several clusters are kept.

        Raises
        ------
        NotFound
            No snapshot is that old.
        """
        until = moment(time)
        whose = self._whose(cluster_id)
        newest = {state.frame: state for state in self._place.newest(whose, until)}
        if not newest:
            raise NotFound(f"no snapshot of {whose} was taken at or before {until:%Y-%m-%d %H:%M:%SZ}")
        contents = _Contents(self._place, newest.values())
        return _snapshot(newest, contents)

    def changes(self, between: Sequence[object], cluster_id: str | None = None) -> Answer:
        """HISTORY_CHANGES that were first seen by a snapshot between two times, oldest first.

        The last snapshot at or before the first time is what the next is compared with.

        Parameters
        ----------
        between
            Two times, as of `as_of`; None is the beginning, or now.
        """
        since, until = _window(between)
        states = self._place.states(self._whose(cluster_id), until)
        return self._changes(states, lambda state: since is None or state.taken_at > since)

    def who(self, plan_id: object) -> Answer:
        """HISTORY_CHANGES seen by the snapshots that were recorded with this plan, or with (the beginning of) its id.

        What others changed since the snapshot before is among them: record one before, and one after a plan.

        Raises
        ------
        NotFound
            No snapshot was recorded with it.
        """
        plan_prefix, _ = _plan_and_author(plan_id)
        states = self._place.states()
        plan_ids = {
            state.plan_id for state in states if state.plan_id and plan_prefix and state.plan_id.startswith(plan_prefix)
        }
        if not plan_ids:
            raise NotFound(f"no snapshot was recorded with the plan {plan_prefix}")
        if len(plan_ids) > 1:
            raise UsageError(
                f"{plan_prefix} begins the ids of {len(plan_ids)} plans", hint=f"{', '.join(sorted(plan_ids))}"
            )
        return self._changes(states, lambda state: state.plan_id in plan_ids)

    def drift(self, a: object, b: object) -> Diff:
        """DRIFT from `a` to `b`: times, snapshots, or frames; see `kn.history.drift`."""
        return drift(*(self.as_of(side) if isinstance(side, str | datetime) else side for side in (a, b)))

    def _kept(
        self, snapshot: Snapshot, kind: SnapshotKind, last: State | None, plan: str | None, author: str | None
    ) -> tuple[State, pa.Table | None]:
        """The way a content is kept: as the last one, as a change of its base, or whole."""
        content = content_of(snapshot.frames[kind.name].to_arrow(), kind)
        same, part = fingerprint(content, kind), uuid.uuid4().hex
        rows, (base, base_rows, delta, spent) = self._stored(content, same, last, kind, part)
        state = State(
            cluster_id=snapshot.cluster_id,
            taken_at=snapshot.taken_at,
            snapshot_id=snapshot.id,
            plan_id=plan,
            author=author,
            frame=kind.name,
            content=same,
            base=base,
            delta=delta,
            rows=len(content),
            base_rows=base_rows,
            spent=spent,
            scopes=" ".join(scope for scope in snapshot.scopes if scope in kind.scopes),
        )
        return state, None if rows is None else content_rows(rows, state, part)

    def _stored(
        self, content: pa.Table, same: str, last: State | None, kind: SnapshotKind, part: str
    ) -> tuple[pa.Table | None, tuple[str, int, str | None, int]]:
        """The rows to add under `part`, if any, and where the content is then: base, its rows, delta, spent."""
        if last is not None and last.content == same:
            return None, (last.base, last.base_rows, last.delta, last.spent)
        if last is not None:
            delta = change(self._place.rows(kind.name, [last.base]), content, kind)
            spent = last.spent + len(delta)
            if len(delta) < len(content) and spent <= last.base_rows:
                return delta, (last.base, last.base_rows, part, spent)
        return content, (part, len(content), None, 0)

    def _whose(self, cluster_id: str | None) -> str:
        if cluster_id is not None:
            return cluster_id
        clusters = self.clusters
        if not clusters:
            raise nothing_recorded(self._place.where)
        if len(clusters) > 1:
            raise UsageError(
                "snapshots of several clusters are kept here", hint=f"Say cluster_id=: {', '.join(clusters)}."
            )
        return clusters[0]

    def _changes(self, states: Iterable[State], is_chosen: Callable[[State], bool]) -> Answer:
        lines: dict[tuple[str, str], list[State]] = {}
        for state in states:
            lines.setdefault((state.cluster_id, state.frame), []).append(state)
        pairs = [pair for line in lines.values() for pair in pairwise(line) if is_chosen(pair[1])]
        moved = [(a, b) for a, b in pairs if a.content != b.content]
        contents = _Contents(self._place, (state for pair in moved for state in pair))
        rows = [row for a, b in moved for row in _changed(a, b, contents)]
        rows.sort(key=lambda r: (r["taken_at"], r["cluster_id"], r["kind"], r["resource"], r["key"]))
        return Answer(schemas.table(schemas.HISTORY_CHANGES, rows))


def nothing_recorded(where: str = "") -> NotFound:
    """The error that says that the past of a cluster cannot be seen, and how to begin recording it."""
    begin = Verb(
        f"history record {shlex.quote(where) if where else 'PATH'}",
        f"kn.open_history({repr(where) if where else 'PATH'}).record(cluster.snapshot())",
    )
    return NotFound(
        f"{'nothing has been recorded here yet' if where else 'no history is named'}, and Kafka keeps no past",
        hint=Hint(sentence("{} begins one: changes are seen from then on, each time that it is run again.", begin)),
    )


class _Contents:
    """The contents of some states; each stored row is read once."""

    def __init__(self, place: Place, states: Iterable[State]) -> None:
        parts_by_frame: dict[str, set[str]] = {}
        for state in states:
            parts_by_frame.setdefault(state.frame, set()).update(state.parts)
        self._parts = {name: _by_part(place.rows(name, sorted(parts))) for name, parts in parts_by_frame.items()}
        self._named: dict[str, pa.Array] = {}

    def of(self, state: State) -> pa.Table:
        """All rows of a state."""
        return changed(self._base(state), self._delta(state), KINDS[state.frame])

    def both(self, a: State, b: State) -> tuple[pa.Table, pa.Table]:
        """The rows in which two states may differ: upon one base, those that a delta of theirs has."""
        if a.base != b.base:
            return self.of(a), self.of(b)
        kind, base, deltas = KINDS[a.frame], self._base(a), [self._delta(state) for state in (a, b)]
        touched = [identities(delta, kind) for delta in deltas if delta is not None]
        if a.base not in self._named:
            self._named[a.base] = identities(base, kind)
        identities_touched = pa.concat_arrays(touched) if touched else pa.array([], pa.string())
        base_rows = base.filter(pc.is_in(self._named[a.base], value_set=identities_touched))
        ours, theirs = (changed(base_rows, delta, kind) for delta in deltas)
        return ours, theirs

    def _base(self, state: State) -> pa.Table:
        rows = self._parts[state.frame].get(state.base)
        return content_schema(KINDS[state.frame]).empty_table() if rows is None else rows

    def _delta(self, state: State) -> pa.Table | None:
        return self._parts[state.frame].get(state.delta) if state.delta else None


def _by_part(rows: pa.Table) -> dict[str, pa.Table]:
    if not len(rows):
        return {}
    rows = rows.sort_by("part").combine_chunks()
    lengths = pc.run_end_encode(rows["part"].combine_chunks())
    ends, names = lengths.run_ends.to_pylist(), lengths.values.to_pylist()
    starts = [0, *ends[:-1]]
    return {name: rows.slice(start, end - start) for name, start, end in zip(names, starts, ends, strict=True)}


def _plan_and_author(plan: object) -> tuple[str | None, str | None]:
    """A plan's id and author; of an id alone the author is not known."""
    if plan is None or isinstance(plan, str):
        return plan, None
    return str(getattr(plan, "id", plan)), getattr(plan, "author", None) or None


def _snapshot_answer(states: Sequence[State], before: Iterable[State]) -> Answer:
    last = {(state.cluster_id, state.frame): state.content for state in before}
    rows = []
    for state in states:
        whose = (state.cluster_id, state.frame)
        rows.append({**vars(state), "kind": state.frame, "unchanged": last.get(whose) == state.content})
        last[whose] = state.content
    return Answer(schemas.table(schemas.SNAPSHOTS, rows))


def _snapshot(newest: dict[str, State], contents: _Contents) -> Snapshot:
    latest = max(newest.values(), key=lambda state: state.taken_at)
    return snapshot(
        {name: frame_of(contents.of(state), KINDS[name]) for name, state in newest.items()},
        cluster_id=latest.cluster_id,
        taken_at=latest.taken_at,
        snapshot_id=latest.snapshot_id,
        scopes=[scope for state in newest.values() for scope in state.scopes.split()],
    )


def _window(between: Sequence[object]) -> tuple[datetime | None, datetime]:
    if isinstance(between, str) or not isinstance(between, Sequence) or len(between) != 2:
        raise UsageError(f"between={between!r} is not two times", hint='Such as ("2026-11-21T00:00:00Z", None).')
    first, last = between
    return None if first is None else moment(first), datetime.now(UTC) if last is None else moment(last)


def _changed(a: State, b: State, contents: _Contents) -> Iterator[Row]:
    kind = KINDS[b.frame]
    read_by_both = set(a.scopes.split()) & set(b.scopes.split())
    ours, theirs = (within(rows, read_by_both) for rows in contents.both(a, b))
    head = {
        **{name: getattr(b, name) for name in ("cluster_id", "taken_at", "snapshot_id", "plan_id", "author")},
        "since": a.taken_at,
        "kind": kind.kind,
    }
    columns = tuple(name for name in kind.compared if name != "is_default")  # of one cluster: its Kafka's defaults
    for old, new in difference(ours, theirs, kind, columns).pairs():
        row = new or old or {}
        yield {
            **head,
            "state": "added" if old is None else "removed" if new is None else "changed",
            "resource": kind.resource(row),
            "key": row["key"],
            "old": kind.text(old) if old else None,
            "new": kind.text(new) if new else None,
            "source": row.get("source"),
        }


# --- the snapshot to record ---

_MARKS = {"cluster_id": CLUSTER_ID, "taken_at": TAKEN_AT, "snapshot_id": ID, "complete": COMPLETE}


def _taken(source: object) -> Snapshot:
    """The snapshot that was given, itself or as a frame.

    Raises
    ------
    UsageError
        No snapshot, or a frame that does not say whose it is, when it was taken and whether it is complete.
    Invalid
        It is not complete.
    """
    snapshot = source if isinstance(source, Snapshot) else _of_frame(table_of(source))
    if not snapshot.complete:
        raise Invalid(
            f"the snapshot of {snapshot.taken_at:%Y-%m-%d %H:%M:%SZ} is not complete{_why(snapshot)}; "
            "nothing was recorded",
            hint="What could not be read would look as if it had been deleted. Take another.",
        )
    return snapshot


def _why(snapshot: Snapshot) -> str:
    failed = snapshot.failed.to_arrow().slice(0, 1).to_pylist()
    if not failed:
        return ""
    first, more = failed[0], len(snapshot.failed) - 1
    return f": {first['error']} for {first['resource_type']} {first['resource_name']}" + (
        f" and {more} more" * (more > 0)
    )


def _of_frame(table: pa.Table) -> Snapshot:
    kind = kind_of(table)
    marks = {name: _common_value(table, name, mark) for name, mark in _MARKS.items()}
    scopes = (table.schema.metadata or {}).get(SCOPE.encode(), b"").decode().split()
    return snapshot(
        {kind.name: _filled(table, kind.schema)},
        cluster_id=str(marks["cluster_id"]),
        taken_at=moment(marks["taken_at"]),
        snapshot_id=str(marks["snapshot_id"]),
        complete=str(marks["complete"]).lower() == "true",
        scopes=[scope for scope in scopes or kind.scopes if scope in kind.scopes],
    )


def _common_value(table: pa.Table, name: str, mark: str) -> object:
    """The one value of a column; of a frame without rows, that of its metadata."""
    if name in table.column_names and len(table):
        values = table[name].unique().to_pylist()
        if len(values) == 1 and values[0] is not None:
            return values[0]
        raise UsageError(
            f"{name} is not one and the same in all rows", hint="Record one snapshot of one cluster a time."
        )
    if mark_text := (table.schema.metadata or {}).get(mark.encode()):
        return mark_text.decode()
    if len(table):
        schemas.require_columns("the rows of the snapshot", [name], table.column_names)
    raise UsageError(
        f"a frame without rows, and nothing in it says {name}",
        hint="Nothing there, or not read? Record cluster.snapshot(), which knows.",
    )


def _filled(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """All columns of a kind's frame: those that are not there are null."""
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(pa.schema([field.with_nullable(True) for field in schema]))
