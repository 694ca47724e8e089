"""Contents: the frames of a snapshot in the one form in which they are compared and kept, and the difference of two.

A content has the columns that a history keeps of its kind, plain, sorted, each row once. Comparisons are made of
differences of contents, and a history's changes are those between a snapshot and the next.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid
from ..frames.given_frames import plain
from ..model.findings import Row
from .snapshot_kinds import SCOPES, SnapshotKind


def content_of(table: pa.Table, kind: SnapshotKind) -> pa.Table:
    """The frame of a kind as content; failed rows are left out.

    Raises
    ------
    Invalid
        Something is in it twice.
    """
    table = plain(table)
    if "error" in table.column_names:
        table = table.filter(pc.is_null(table["error"]))
    content = pa.table({name: _column(table, kind, name) for name in kind.columns}, schema=content_schema(kind))
    content = content.sort_by([(name, "ascending") for name in kind.order]).combine_chunks()
    _check_unique(content, kind)
    return content


def content_schema(kind: SnapshotKind) -> pa.Schema:
    """The columns of its contents."""
    return pa.schema([kind.history_frame.schema.field(name).with_nullable(True) for name in kind.columns])


def _column(table: pa.Table, kind: SnapshotKind, name: str) -> pa.ChunkedArray | pa.Array:
    target_type = kind.history_frame.schema.field(name).type
    if name not in table.column_names:
        return pa.nulls(len(table), target_type)
    column = table[name]
    if name == "synonyms" and not pa.types.is_string(column.type):  # as text, which every engine can keep and compare
        texts = (None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_pylist())
        return pa.array(list(texts), pa.string())
    return column.cast(target_type)


def _check_unique(content: pa.Table, kind: SnapshotKind) -> None:
    keys = identities(content, kind)
    if keys.null_count:
        hint = f"Needed: {', '.join(kind.order)}."
        raise Invalid(f"a row of the {kind.title} does not say what it is set on", hint=hint)
    if whose := named_twice(content, keys, kind):
        raise Invalid(f"{whose} is in the {kind.title} twice", hint="A snapshot is of one cluster, with one row a key.")


def named_twice(rows: pa.Table, keys: pa.Array, kind: SnapshotKind) -> str:
    """What two rows of the same key are set on, and which key of it; "" where each has a key of its own."""
    if pc.count_distinct(keys).as_py() == len(keys):
        return ""
    counts = pc.value_counts(keys)
    row = rows.slice(pc.index(keys, next(c["values"] for c in counts if c["counts"].as_py() > 1)).as_py(), 1)
    return " ".join(str(row[name][0]) for name in kind.order)


def identities(rows: pa.Table, kind: SnapshotKind) -> pa.Array:
    """A text for each row that no other row has: its parts, each but the last with its length before it."""
    *heads, last = (rows[name].combine_chunks() for name in kind.identity)
    lengths = [pc.binary_length(head).cast(pa.string()) for head in heads]
    pieces = [piece for pair in zip(lengths, heads, strict=True) for piece in pair]
    names = pc.binary_join_element_wise(*pieces, last, ":")
    return names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names


@dataclass(frozen=True)
class ContentDifference:
    """Between two contents: the rows that only one has, and the rows that both have with other values."""

    removed: pa.Table
    added: pa.Table
    before: pa.Table
    after: pa.Table

    def pairs(self) -> Iterator[tuple[Row | None, Row | None]]:
        """Each row that differs, before and after; None where it is not there."""
        yield from ((row, None) for row in self.removed.to_pylist())
        yield from ((None, row) for row in self.added.to_pylist())
        yield from zip(self.before.to_pylist(), self.after.to_pylist(), strict=True)


def within(content: pa.Table, scopes: Collection[str]) -> pa.Table:
    """The rows of a content that are in these scopes, or in none that we know."""
    if "resource_type" not in content.column_names:
        return content
    kinds = pc.unique(content["resource_type"]).to_pylist()
    read_kinds = [kind_name for kind_name in kinds if kind_name in scopes or kind_name not in SCOPES]
    return content.filter(pc.is_in(content["resource_type"], value_set=pa.array(read_kinds, pa.string())))


def difference(
    a: pa.Table, b: pa.Table, kind: SnapshotKind, columns: tuple[str, ...] | None = None
) -> ContentDifference:
    """The rows removed from `a`, added in `b`, and changed in these columns (any, unless said)."""
    left_, right = identities(a, kind), identities(b, kind)
    place = pc.index_in(right, value_set=left_)
    both = pc.is_valid(place)
    before, after = a.take(place.filter(both)), b.filter(both)
    changed = _differs(before, after, columns or tuple(n for n in kind.columns if n not in kind.identity))
    return ContentDifference(
        removed=a.filter(pc.invert(pc.is_in(left_, value_set=right))),
        added=b.filter(pc.invert(both)),
        before=before.filter(changed),
        after=after.filter(changed),
    )


def _differs(before: pa.Table, after: pa.Table, columns: tuple[str, ...]) -> pa.Array:
    differs = pa.repeat(pa.scalar(False), len(before))
    for name in columns:
        ours, theirs = _comparable(before[name]), _comparable(after[name])
        same = pc.or_kleene(pc.equal(ours, theirs), pc.and_(pc.is_null(ours), pc.is_null(theirs)))
        differs = pc.or_(differs, pc.invert(pc.fill_null(same, False)))
    return differs


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Doubles as text, since Kafka stores NaN, and that is equal to itself here."""
    return column.cast(pa.string()) if pa.types.is_floating(column.type) else column
