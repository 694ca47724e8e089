"""The stored form of a history: one table, append-only, of two kinds of rows.

A row of kind `snapshots` says that at `taken_at` a cluster held a content: that of the rows stored under `base`, as
the rows under `delta` change it. It is all that an unchanged snapshot adds. Every one stands alone: two writers at
once, or a snapshot that is recorded late, cannot spoil another.
All other rows are contents and changes of contents, of the kind that they name, found by their partition, `part`.

A snapshot is stored whole, or as what differs from one that was: always from a whole one, never from a chain, so that
reading one back takes two look-ups whatever happened between. When the changes upon a base have come to as many rows
as the base has, the next is stored whole: n rows of which d change each time cost about sqrt(2 n d) rows a snapshot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ..comparing.differences import content_schema, difference, identities
from ..errors import UsageError
from ..frames import schemas
from ..frames.snapshot_kinds import SnapshotKind

STATES = "snapshots"
PARTITIONS = ("kind", "part")

TABLE = schemas.HISTORY.schema
STATISTICS = ("cluster_id", "taken_at", "snapshot_id", "frame")
"""The columns by which files are passed over."""


@dataclass(frozen=True)
class State:
    """A row of kind `snapshots`."""

    cluster_id: str
    taken_at: datetime
    snapshot_id: str
    plan_id: str | None
    author: str | None
    frame: str
    content: str
    base: str
    delta: str | None
    rows: int
    base_rows: int
    spent: int
    scopes: str

    @property
    def parts(self) -> list[str]:
        return [self.base, *([self.delta] if self.delta else [])]


_FIELDS = [field.name for field in fields(State)]


def states(table: pa.Table) -> list[State]:
    """The states in a table, oldest first; one that was written twice, by a writer who tried again, is one."""
    rows = sorted(table.select(_FIELDS).to_pylist(), key=lambda row: row["plan_id"] is not None)
    by_snapshot = {(row["snapshot_id"], row["frame"]): State(**row) for row in rows}
    return sorted(by_snapshot.values(), key=lambda state: (state.taken_at, state.snapshot_id))


def state_rows(states: list[State]) -> pa.Table:
    """States as rows of the table; their part is the month."""
    rows = [{**asdict(state), "kind": STATES, "part": f"{state.taken_at:%Y-%m}"} for state in states]
    return pa.Table.from_pylist(rows, schema=TABLE)


def content_rows(rows: pa.Table, state: State, part: str) -> pa.Table:
    """Rows of a content, or of a change of one, as they are stored."""
    constants: Mapping[str, object] = {
        **{name: getattr(state, name) for name in ("cluster_id", "taken_at", "snapshot_id")},
        "kind": state.frame,
        "part": part,
    }
    columns = [
        rows[field.name]
        if field.name in rows.column_names
        else pa.repeat(pa.scalar(constants.get(field.name), field.type), len(rows))
        for field in TABLE
    ]
    return pa.table(columns, schema=TABLE)


class Place(Protocol):
    """A table that is only ever added to."""

    @property
    def where(self) -> str:
        """Its path, or its name."""

    def clusters(self) -> set[str]:
        """The clusters that have snapshots here."""

    def newest(self, cluster_id: str, until: datetime | None) -> list[State]:
        """The newest state of each frame, at or before a time; more may come with it, oldest first."""

    def states(self, cluster_id: str | None = None, until: datetime | None = None) -> list[State]:
        """All states, oldest first."""

    def rows(self, kind: str, parts: Sequence[str]) -> pa.Table:
        """The rows of that kind under these parts."""

    def append(self, states: Sequence[State], contents: Sequence[pa.Table]) -> None:
        """Add rows; a state is there only when all contents are."""


# --- contents, and changes of contents ---


def fingerprint(content: pa.Table, kind: SnapshotKind) -> str:
    """SHA-256 of a sorted content: equal for equal rows, however they came."""
    filled: dict[str, pa.Array] = {}
    for name in kind.columns:
        column = content[name].combine_chunks()
        filled[name] = pc.fill_null(column, _empty(column.type))
        filled[f"{name}?"] = pc.is_null(column)
    sink = pa.BufferOutputStream()
    table = pa.table(filled).combine_chunks()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


def _empty(kind: pa.DataType) -> pa.Scalar:
    return pa.scalar("" if pa.types.is_string(kind) else 0, kind) if not pa.types.is_boolean(kind) else pa.scalar(False)


def change(base: pa.Table, content: pa.Table, kind: SnapshotKind) -> pa.Table:
    """The rows, with `removed`, that make `content` of `base`."""
    differing = difference(base.select(kind.columns), content, kind)
    put = pa.concat_tables([differing.added, differing.after])
    return pa.concat_tables([_marked(differing.removed, True), _marked(put, False)]).combine_chunks()


def _marked(rows: pa.Table, removed: bool) -> pa.Table:
    return rows.append_column("removed", pa.repeat(pa.scalar(removed), len(rows)))


def changed(base: pa.Table, delta: pa.Table | None, kind: SnapshotKind) -> pa.Table:
    """The content that `delta` makes of `base`."""
    schema = content_schema(kind)
    if delta is None or not len(delta):
        return base.select(schema.names)
    unchanged = base.filter(pc.invert(pc.is_in(identities(base, kind), value_set=identities(delta, kind))))
    put = delta.filter(pc.invert(pc.fill_null(delta["removed"], False)))
    both = pa.concat_tables([unchanged.select(schema.names), put.select(schema.names)])
    return both.sort_by([(name, "ascending") for name in kind.order]).combine_chunks()


def frame_of(content: pa.Table, kind: SnapshotKind) -> pa.Table:
    """A content as the frame of its kind again."""
    schema = kind.schema
    return pa.table([_restored_column(content, field, kind) for field in schema], schema=schema)


def _restored_column(content: pa.Table, field: pa.Field, kind: SnapshotKind) -> Any:
    name = kind.value_column if field.name == "value" else field.name
    if name not in content.column_names:
        return pa.nulls(len(content), field.type)
    if name == "synonyms":
        return pa.array([None if v is None else json.loads(v) for v in content[name].to_pylist()], field.type)
    return content[name].cast(field.type)


def refuse_other_table(where: str, columns: Sequence[str]) -> None:
    """Refuse a table that holds something else than snapshots.

    Raises
    ------
    UsageError
        A column of a history is missing; the first is named, and what there is.
    """
    missing = [name for name in TABLE.names if name not in columns]
    if missing:
        raise UsageError(f"{where} is not a history: no column {missing[0]}", hint=f"Found: {', '.join(columns)}.")
