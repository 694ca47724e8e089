"""History: snapshots kept in a table, and what they say of the time between them."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import NotFound, UsageError
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.snapshots import Snapshot, snapshot
from ..hints import Hint, Verb, sentence
from ..model.rows import Row
from ..model.times import moment
from . import drift_frames
from .contents import change, changed, difference, fingerprint
from .snapshot_reader import taken_of
from .storage import Place
from .stored_rows import CONFIGS, QUOTAS, State, content_of, content_rows, content_schema, frame_of, identities


class History:
    """Snapshots of one cluster or of many, in one table. Get one by `kn.history(where)`."""

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
        snapshot_read = taken_of(snapshot)
        plan, author = _plan_and_author(plan_id)
        last = {state.frame: state for state in self._place.newest(snapshot_read.cluster_id, None)}
        stored_states = [
            self._kept(snapshot_read, kind, last.get(kind), plan, author)
            for kind in (QUOTAS, CONFIGS)
            if _scopes(snapshot_read, kind)
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

    def drift(self, a: object, b: object) -> drift_frames.Drift:
        """DRIFT from `a` to `b`: times, snapshots, or frames; see `kn.history.drift`."""
        return drift_frames.drift(*(self.as_of(side) if isinstance(side, str | datetime) else side for side in (a, b)))

    def _kept(
        self, snapshot: Snapshot, kind: str, last: State | None, plan: str | None, author: str | None
    ) -> tuple[State, pa.Table | None]:
        """The way a content is kept: as the last one, as a change of its base, or whole."""
        content = content_of(getattr(snapshot, kind).to_arrow(), kind)
        same, part = fingerprint(content, kind), uuid.uuid4().hex
        rows, (base, base_rows, delta, spent) = self._stored(content, same, last, kind, part)
        state = State(
            cluster_id=snapshot.cluster_id,
            taken_at=snapshot.taken_at,
            snapshot_id=snapshot.id,
            plan_id=plan,
            author=author,
            frame=kind,
            content=same,
            base=base,
            delta=delta,
            rows=len(content),
            base_rows=base_rows,
            spent=spent,
            scopes=" ".join(_scopes(snapshot, kind)),
        )
        return state, None if rows is None else content_rows(rows, state, part)

    def _stored(
        self, content: pa.Table, same: str, last: State | None, kind: str, part: str
    ) -> tuple[pa.Table | None, tuple[str, int, str | None, int]]:
        """The rows to add under `part`, if any, and where the content is then: base, its rows, delta, spent."""
        if last is not None and last.content == same:
            return None, (last.base, last.base_rows, last.delta, last.spent)
        if last is not None:
            delta = change(self._place.rows(kind, [last.base]), content, kind)
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

    def _changes(self, states: Iterable[State], plan_ids: Any) -> Answer:
        lines: dict[tuple[str, str], list[State]] = {}
        for state in states:
            lines.setdefault((state.cluster_id, state.frame), []).append(state)
        pairs = [pair for line in lines.values() for pair in pairwise(line) if plan_ids(pair[1])]
        moved = [(a, b) for a, b in pairs if a.content != b.content]
        contents = _Contents(self._place, (state for pair in moved for state in pair))
        rows = [row for a, b in moved for row in _changed(a, b, contents)]
        rows.sort(key=lambda r: (r["taken_at"], r["cluster_id"], r["kind"], r["resource"], r["key"]))
        return Answer(schemas.table(schemas.HISTORY_CHANGES, rows))


def nothing_recorded(where: str = "") -> NotFound:
    """The error that says that the past of a cluster cannot be seen, and how to begin recording it."""
    begin = Verb(
        f"history record {shlex.quote(where) if where else 'PATH'}",
        f"kn.history({repr(where) if where else 'PATH'}).record(cluster.snapshot())",
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
        self._parts = {kind: _by_part(place.rows(kind, sorted(parts))) for kind, parts in parts_by_frame.items()}
        self._named: dict[str, pa.Array] = {}

    def of(self, state: State) -> pa.Table:
        """All rows of a state."""
        return changed(self._base(state), self._delta(state), state.frame)

    def both(self, a: State, b: State) -> tuple[pa.Table, pa.Table]:
        """The rows in which two states may differ: upon one base, those that a delta of theirs has."""
        if a.base != b.base:
            return self.of(a), self.of(b)
        base, deltas = self._base(a), [self._delta(state) for state in (a, b)]
        touched = [identities(delta, a.frame) for delta in deltas if delta is not None]
        if a.base not in self._named:
            self._named[a.base] = identities(base, a.frame)
        identities_touched = pa.concat_arrays(touched) if touched else pa.array([], pa.string())
        base_rows = base.filter(pc.is_in(self._named[a.base], value_set=identities_touched))
        ours, theirs = (changed(base_rows, delta, a.frame) for delta in deltas)
        return ours, theirs

    def _base(self, state: State) -> pa.Table:
        rows = self._parts[state.frame].get(state.base)
        return content_schema(state.frame).empty_table() if rows is None else rows

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


def _scopes(snapshot: Snapshot, kind: str) -> list[str]:
    return [scope for scope in snapshot.scopes if (scope == "QUOTAS") == (kind == QUOTAS)]


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
    frames = {
        kind: frame_of(contents.of(newest[kind]), kind) if kind in newest else schemas.table(schema, ())
        for kind, schema in ((QUOTAS, schemas.QUOTAS.schema), (CONFIGS, schemas.CONFIGS.schema))
    }
    return snapshot(
        *frames.values(),
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
    kind = b.frame
    read_by_both = set(a.scopes.split()) & set(b.scopes.split())
    ours, theirs = (drift_frames.within(rows, kind, read_by_both) for rows in contents.both(a, b))
    differing = difference(ours, theirs, kind, ("quota",) if kind == QUOTAS else ("value", "source"))
    head = {
        **{name: getattr(b, name) for name in ("cluster_id", "taken_at", "snapshot_id", "plan_id", "author")},
        "since": a.taken_at,
        "kind": drift_frames.WORDS[kind],
    }
    for state, olds, news in _sides(differing):
        for old, new in zip(olds, news, strict=True):
            yield {**head, "state": state, **_change_row(old, new, kind)}


def _sides(differing: Any) -> Iterator[tuple[str, list[Row | None], list[Row | None]]]:
    yield "removed", differing.removed.to_pylist(), [None] * len(differing.removed)
    yield "added", [None] * len(differing.added), differing.added.to_pylist()
    yield "changed", differing.before.to_pylist(), differing.after.to_pylist()


def _change_row(old: Row | None, new: Row | None, kind: str) -> Row:
    row = new or old or {}
    return {
        "resource": drift_frames.resource(row, kind),
        "key": row["key"],
        "old": drift_frames.text(old, kind) if old else None,
        "new": drift_frames.text(new, kind) if new else None,
        "source": row.get("source"),
    }
