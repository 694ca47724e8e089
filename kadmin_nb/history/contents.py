"""Contents: their difference, their fingerprint, and how one is kept as a base and a change of it.

A snapshot is stored whole, or as what differs from one that was: always from a whole one, never from a chain, so that
reading one back takes two look-ups whatever happened between. When the changes upon a base have come to as many rows
as the base has, the next is stored whole: n rows of which d change each time cost about sqrt(2 n d) rows a snapshot.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from .stored_rows import COLUMNS, IDENTITY, ORDER, content_schema, identities


@dataclass(frozen=True)
class ContentDifference:
    """Between two contents: the rows that only one has, and the rows that both have with other values."""

    removed: pa.Table
    added: pa.Table
    before: pa.Table
    after: pa.Table


def difference(a: pa.Table, b: pa.Table, kind: str, columns: tuple[str, ...] | None = None) -> ContentDifference:
    """The rows removed from `a`, added in `b`, and changed in these columns (any, unless said)."""
    left_, right = identities(a, kind), identities(b, kind)
    place = pc.index_in(right, value_set=left_)
    both = pc.is_valid(place)
    before, after = a.take(place.filter(both)), b.filter(both)
    changed = _differs(before, after, columns or tuple(n for n in COLUMNS[kind] if n not in IDENTITY[kind]))
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


def fingerprint(content: pa.Table, kind: str) -> str:
    """SHA-256 of a sorted content: equal for equal rows, however they came."""
    filled: dict[str, pa.Array] = {}
    for name in COLUMNS[kind]:
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


def change(base: pa.Table, content: pa.Table, kind: str) -> pa.Table:
    """The rows, with `removed`, that make `content` of `base`."""
    differing = difference(base.select(COLUMNS[kind]), content, kind)
    put = pa.concat_tables([differing.added, differing.after])
    return pa.concat_tables([_marked(differing.removed, True), _marked(put, False)]).combine_chunks()


def _marked(rows: pa.Table, removed: bool) -> pa.Table:
    return rows.append_column("removed", pa.repeat(pa.scalar(removed), len(rows)))


def changed(base: pa.Table, delta: pa.Table | None, kind: str) -> pa.Table:
    """The content that `delta` makes of `base`."""
    schema = content_schema(kind)
    if delta is None or not len(delta):
        return base.select(schema.names)
    unchanged = base.filter(pc.invert(pc.is_in(identities(base, kind), value_set=identities(delta, kind))))
    put = delta.filter(pc.invert(pc.fill_null(delta["removed"], False)))
    both = pa.concat_tables([unchanged.select(schema.names), put.select(schema.names)])
    return both.sort_by([(name, "ascending") for name in ORDER[kind]]).combine_chunks()
