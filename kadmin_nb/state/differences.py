"""The rows in which two snapshots or frames differ, and whether more than the defaults do.

Every comparison is made of these (`compare`); a history's changes are the same difference of contents, between a
snapshot and the next.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, UsageError
from ..frames import given_frames, schemas
from ..frames.given_frames import plain
from ..model.config_fallback import Synonym, in_effect, in_unit_of, unnamed_defaults
from ..model.config_values import BrokerConfigs, ConfigValue
from ..model.findings import Row
from ..model.resources import Resource, Source
from .snapshot_kinds import SCOPES, SnapshotKind, kind_of, kind_of_scope
from .snapshots import SCOPE, Snapshot

SECRET = "a secret, which cannot be read"
"""The note of a row that has one."""


def differences(a: object, b: object) -> list[Row]:
    """The rows of DIFF from `a` to `b`, without numbers: two snapshots, or two frames of quotas or of configs.

    What only one of them has read is skipped. A resource, or a whole part, that one of them could not read is one row
    with the state unknown. Two secrets are not compared: nobody can see them.

    Raises
    ------
    UsageError
        Not such frames, or one of quotas and one of configs.
    Invalid
        One of them has a row twice.
    """
    ours, theirs = _side(a), _side(b)
    kinds = [kind for kind in ours if kind in theirs]
    unread = _unread_parts(a, b)
    if not kinds and not unread:
        left, right = (" and ".join(kind.title for kind in side) or "nothing" for side in (ours, theirs))
        raise UsageError(
            f"{left} cannot be compared with {right}", hint="Give two frames of one kind, or two snapshots."
        )
    rows = [*unread, *(row for kind in kinds for row in _of_kind(ours[kind], theirs[kind], kind))]
    return sorted(rows, key=lambda row: (row["kind"], row["resource"], row["key"] or ""))


def _unread_parts(a: object, b: object) -> list[Row]:
    """A row for each part that a snapshot could not read; beside a frame only those of its kind."""
    snapshots = [side for side in (a, b) if isinstance(side, Snapshot)]
    kinds = {kind_of(table_of(side)) for side in (a, b) if not isinstance(side, Snapshot)}
    parts = {part.scope: part for side in snapshots for part in side.unread}
    with_kinds = [(part, kind_of_scope(scope)) for scope, part in parts.items()]
    return [
        _unknown(kind.kind, part.title, part.in_one_line())
        for part, kind in with_kinds
        if kind is not None and (not kinds or kind in kinds)
    ]


def _unknown(kind: str, resource: str, note: str) -> Row:
    """The row of something that one side could not read."""
    row = dict.fromkeys(schemas.DIFF.names) | {"kind": kind, "state": "unknown", "is_sensitive": False}
    return {**row, "resource": resource, "note": note}


_Read = tuple[pa.Table, frozenset[str]]
"""A frame, and the scopes that it was read in."""


def _side(content: object) -> Mapping[SnapshotKind, _Read]:
    """The frames of one side by kind."""
    if isinstance(content, Snapshot):
        scopes = frozenset(content.scopes)
        return {kind: (content.frames[kind.name].to_arrow(), scopes) for kind in content.kinds}
    table = table_of(content)
    scope = (table.schema.metadata or {}).get(SCOPE.encode())
    kind = kind_of(table)
    table = given_frames.fitted(table, kind.frame.schema, "the frame")
    return {kind: (table, frozenset(scope.decode().split() if scope else SCOPES))}


def table_of(content: object) -> pa.Table:
    """Anything with `__arrow_c_stream__` as a table."""
    if not hasattr(content, "__arrow_c_stream__"):
        raise UsageError(
            f"a {type(content).__name__} is neither a snapshot nor a frame",
            hint="Pass cluster.snapshot(), an Arrow table, or a pandas or Polars DataFrame.",
        )
    return given_frames.table_of(content, "the frame")


def _of_kind(a: _Read, b: _Read, kind: SnapshotKind) -> Iterator[Row]:
    unread = {**_unread(a[0]), **_unread(b[0])}
    yield from (_unknown(kind.kind, str(resource), note) for resource, note in unread.items())
    wholes = [content_of(kind.without_secrets(table), kind) for table, _ in (a, b)]
    ours, theirs = (_read_by_both(whole, a[1] & b[1], unread) for whole in wholes)
    of_a, of_b = (_defaults(whole, unread) for whole in wholes)
    for old, new in difference(ours, theirs, kind, kind.compared).pairs():
        yield _row(old, new, kind, of_b if new is None else of_a)


def _unread(table: pa.Table) -> dict[Resource, str]:
    """The config resources that could not be read, and why."""
    if "error" not in table.column_names:
        return {}
    failed = table.filter(pc.is_valid(table["error"])).to_pylist()
    return {Resource(r["resource_type"], r["resource_name"]): f"{r['error']}: {r['message'] or ''}" for r in failed}


def _read_by_both(content: pa.Table, scopes: frozenset[str], unread: Mapping[Resource, str]) -> pa.Table:
    """The content of one side that the other side was read for as well."""
    content = within(content, scopes)
    if not unread:
        return content
    pairs = zip(content["resource_type"].to_pylist(), content["resource_name"].to_pylist(), strict=True)
    return content.filter(pa.array([Resource(*pair) not in unread for pair in pairs], pa.bool_()))


def within(content: pa.Table, scopes: Collection[str]) -> pa.Table:
    """The rows of a content that are in these scopes, or in none that we know."""
    if "resource_type" not in content.column_names:
        return content
    kinds = pc.unique(content["resource_type"]).to_pylist()
    read_kinds = [kind_name for kind_name in kinds if kind_name in scopes or kind_name not in SCOPES]
    return content.filter(pc.is_in(content["resource_type"], value_set=pa.array(read_kinds, pa.string())))


def _row(old: Row | None, new: Row | None, kind: SnapshotKind, defaults: Defaults | None) -> Row:
    """A row of DIFF; `defaults` are those of the side that does not have it."""
    one = new or old or {}
    is_default = bool(one.get("is_default")) or one.get("source") == Source.BUILT_IN
    by_default = (old is None or new is None) and (is_default or (defaults is not None and defaults.has(one)))
    note = f"{'a' if old is None else 'b'} has the same by default" if by_default else None
    is_secret = any(row.get("is_sensitive") for row in (old, new) if row)
    return {
        "kind": kind.kind,
        "resource": kind.resource(one),
        "key": one["key"],
        "state": "default" if by_default else _state(old, new, kind),
        "a": kind.text(old) if old else None,
        "b": kind.text(new) if new else None,
        "source_a": old.get("source") if old else None,
        "source_b": new.get("source") if new else None,
        "is_sensitive": is_secret,
        "note": SECRET if is_secret else note,
    }


def _state(old: Row | None, new: Row | None, kind: SnapshotKind) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    defaults = bool(old.get("is_default")) + bool(new.get("is_default"))
    if old["value"] != new["value"]:
        return "default" if defaults == 2 else "changed"
    return "default" if defaults == 1 else "source"


# --- the values that a cluster goes by where a resource sets nothing, out of what its brokers set ---

_COLUMNS = ["resource_type", "resource_name", "key", "value", "source", "synonyms", "is_sensitive"]


def _defaults(content: pa.Table, unread: Iterable[Resource]) -> Defaults | None:
    """The brokers' configs of a content; None where there are none, or one of them could not be read."""
    if "synonyms" not in content.column_names or any(resource.type == "BROKER" for resource in unread):
        return None
    return Defaults(content)


class Defaults:
    """The brokers' configs of a content; of one without brokers nothing is known."""

    def __init__(self, content: pa.Table) -> None:
        brokers = content.filter(pc.equal(content["resource_type"], "BROKER"))
        self._brokers = BrokerConfigs(map(_value_of, brokers.select(_COLUMNS).to_pylist()))
        self._texts = cache(self._texts_in_effect)

    def has(self, row: Row) -> bool:
        """True if what is set in a row, of another cluster or time, holds here by default."""
        value = _value_of(row)
        if value.text is None:
            return False
        if not self._brokers.names:
            return value.text == value.inherited_text
        broker = value.resource.name if value.resource.type == "BROKER" else ""
        built_in = tuple(synonym for synonym in value.synonyms if synonym.source == Source.BUILT_IN)
        return self._texts(value.resource.type, broker, value.key, built_in) == {value.text}

    def _texts_in_effect(
        self, resource_type: str, broker: str, key: str, built_in: tuple[Synonym, ...]
    ) -> set[str | None]:
        """The texts that this broker, or each, goes by without a value; `built_in` is of another cluster."""
        defaults = [*built_in, *unnamed_defaults(resource_type, key)]
        synonyms = [
            self._brokers.synonyms(name, resource_type, key) for name in ([broker] if broker else self._brokers.names)
        ]
        entries = [in_effect(resource_type, key, [*of_broker, *defaults]) for of_broker in synonyms]
        return {in_unit_of(key, entry) if entry else None for entry in entries}


def _value_of(row: Row) -> ConfigValue:
    """The value in a content's row, which keeps the synonyms as JSON."""
    return ConfigValue.of({**row, "synonyms": json.loads(row["synonyms"] or "[]")})


# --- contents: frames in the one form in which they are compared and kept, and the difference of two ---

# A content has the columns that a history keeps of its kind, plain, sorted, each row once.


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
