"""Kinds of what is set on a cluster: the frame of each, and how its rows are told apart, compared and written.

Snapshots, histories, comparisons, declarative files and policies know nothing else of a kind: one that is added to
KINDS is in all of them.

A content is the frame of a kind in the one form in which it is compared and kept: the columns that a history keeps,
plain, sorted, each row once. Comparisons are made of differences of contents, and a history's changes are those between
a snapshot and the next.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid
from ..frames import schemas
from ..frames.frame import Frame
from ..frames.given_frames import plain
from ..model.changes import Change
from ..model.client_configs import ClientEntity
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.entity import Entity
from ..model.findings import Row
from ..model.quota_keys import text_of
from ..model.resources import WORDS, Resource, Source
from ..model.scram import Credential, ScramUser
from ..secrets import SHOWN, is_secret_name

TargetWords = tuple[str, str]
"""The words of an entity or a resource, and a key."""


class SnapshotKind(ABC):
    """One kind: quotas, say. `name` is that of its frame in snapshots, in their files and in histories."""

    name: ClassVar[str]
    title: ClassVar[str]
    """The plural for people."""

    resources: ClassVar[type[Configurable]]
    """The class of what its values are set on, which names the kind in plans and comparisons."""

    snapshot_frame: ClassVar[type[Frame]]
    scopes: ClassVar[tuple[str, ...]]
    """The parts of it that can be read, or not, by themselves."""

    history_frame: ClassVar[type[Frame]]
    """Its rows in a history, each with the time in which it held."""

    identity: ClassVar[tuple[str, ...]] = ("key", "entity")
    """The columns that tell its rows apart."""

    order: ClassVar[tuple[str, ...]] = ("entity", "key")
    compared: ClassVar[tuple[str, ...]] = ("value",)
    """The columns by which a row differs from another time or cluster."""

    is_declared: ClassVar[bool] = True
    """Whether declarative files have it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared and that a history keeps."""
        return tuple(name for name in self.history_frame.names if name not in ("cluster_id", "valid_from", "valid_to"))

    @property
    def history_table(self) -> str:
        """The name of its table in a history."""
        return f"{self.name}_history"

    @property
    def schema(self) -> pa.Schema:
        """Its frame in a snapshot, without the columns that say which snapshot that is."""
        columns = (field for field in self.snapshot_frame.schema if field.name not in _OF_SNAPSHOTS)
        return pa.schema(columns, self.snapshot_frame.schema.metadata)

    @property
    def section(self) -> str:
        """The name of its section in declarative files."""
        return self.title.replace(" ", "-")

    @property
    def kind(self) -> str:
        """The kind, as plans and comparisons name it."""
        return self.resources.kind

    def resource(self, row: Row) -> str:
        """The words of what a row is set on."""
        return str(row["entity"])

    def text(self, row: Row) -> str | None:
        """The value of a history's row, as the broker takes it; a secret shows as `[secure]`."""
        return cast("str | None", row["value"])

    def set_text(self, row: Row) -> str | None:
        """The same where an alter has set it; None where it is from a broker's file."""
        return self.text(row)

    def text_after(self, change: Change) -> str | None:
        """The text that a snapshot shows where a row of a plan is applied; None where it removes the value,
        `[secure]` for a secret.
        """
        return SHOWN if change.is_secret and change.after is not None else change.after

    def own_texts(self, table: pa.Table) -> Mapping[TargetWords, str | None]:
        """The texts that are set, by target; None is a secret. No defaults, and nothing from a broker's file."""
        columns = (table[name].to_pylist() for name in ("entity", "key", "value"))
        return {(entity, key): value for entity, key, value in zip(*columns, strict=True)}

    @abstractmethod
    def row(self, resource: Any, key: str, text: str) -> Row:
        """The row of its frame where this text is set."""

    def without_secrets(self, table: pa.Table) -> pa.Table:
        """The frame without secret values."""
        return table

    def sorted_rows(self, rows: Iterable[Row]) -> pa.Table:
        """The frame of these rows, sorted as a cluster's."""
        return schemas.table(self.schema, sorted(rows, key=lambda row: [row[name] for name in self.order]))


class _Quotas(SnapshotKind):
    name, title = "quotas", "quotas"
    resources, snapshot_frame = Entity, schemas.SNAPSHOT_QUOTAS
    history_frame = schemas.QUOTAS_HISTORY
    scopes = ("QUOTAS",)

    def text(self, row: Row) -> str | None:
        return None if row["value"] is None else text_of(row["value"])

    def own_texts(self, table: pa.Table) -> Mapping[TargetWords, str | None]:
        return {target: text_of(cast(Any, value)) for target, value in super().own_texts(table).items()}

    def row(self, resource: Entity, key: str, text: str) -> Row:
        return {**resource.columns(), "key": key, "value": float(text)}


class _Configs(SnapshotKind):
    name, title = "configs", "configs"
    resources, snapshot_frame = Resource, schemas.SNAPSHOT_CONFIGS
    history_frame = schemas.CONFIGS_HISTORY
    scopes = ("TOPIC", "BROKER", "CLIENT_METRICS", "GROUP")
    identity, order = ("resource_type", "key", "resource_name"), ("resource_type", "resource_name", "key")
    compared = ("value", "source", "is_default")

    def resource(self, row: Row) -> str:
        return str(Resource(row["resource_type"], row["resource_name"]))

    def text(self, row: Row) -> str | None:
        return SHOWN if row["is_sensitive"] else cast("str | None", row["value"])

    def set_text(self, row: Row) -> str | None:
        return None if row["source"] == Source.FILE else self.text(row)

    def own_texts(self, table: pa.Table) -> Mapping[TargetWords, str | None]:
        names = ("resource_type", "resource_name", "key", "value", "source", "is_sensitive", "synonyms")
        rows = table.filter(pc.is_valid(table["key"])).select(names).to_pylist()
        return {(str(value.resource), value.key): value.own for value in map(ConfigValue.of, rows) if value.is_own}

    def row(self, resource: Resource, key: str, text: str) -> Row:
        is_secret = text == SHOWN
        return {
            "resource_type": resource.type,
            "resource_name": resource.name,
            "key": key,
            "value": None if is_secret else text,
            "source": resource.source,
            "is_sensitive": is_secret,
            "is_read_only": False,
            "is_default": False,
        }

    def without_secrets(self, table: pa.Table) -> pa.Table:
        """CONFIGS with no value, and no synonym's, where a broker or the key's name says that it is a secret."""
        keys = table["key"].cast(pa.string())
        called_so = [key for key in pc.unique(keys).to_pylist() if key is not None and is_secret_name(key)]
        secret = pc.or_(pc.fill_null(table["is_sensitive"], False), pc.is_in(keys, pa.array(called_so, pa.string())))
        if not pc.any(secret).as_py():
            return table
        for name in ("value", "synonyms", "is_sensitive"):
            column = table[name]
            shown = pa.scalar(True if name == "is_sensitive" else None, column.type)
            table = table.set_column(table.schema.get_field_index(name), name, pc.if_else(secret, shown, column))
        return table


class _ClientConfigs(SnapshotKind):
    name, title = "client_configs", "client configs"
    resources, snapshot_frame = ClientEntity, schemas.SNAPSHOT_CLIENT_CONFIGS
    history_frame = schemas.CLIENT_CONFIGS_HISTORY
    scopes = (ClientEntity.scope,)

    def row(self, resource: ClientEntity, key: str, text: str) -> Row:
        return {
            "entity": str(resource),
            "user": resource.user,
            "client_id": resource.client_id,
            "key": key,
            "value": text,
        }


class _Credentials(SnapshotKind):
    """The iterations of each user's mechanisms: brokers show nothing else, so that no file can set them."""

    name, title = "credentials", "SCRAM credentials"
    resources, snapshot_frame = ScramUser, schemas.SNAPSHOT_CREDENTIALS
    history_frame = schemas.CREDENTIALS_HISTORY
    scopes = (ScramUser.scope,)
    is_declared = False

    def text(self, row: Row) -> str | None:
        return str(row["value"])

    def text_after(self, change: Change) -> str | None:
        return None if change.after is None else str(Credential.parse(change.after).iterations)

    def row(self, resource: ScramUser, key: str, text: str) -> Row:
        return {"entity": str(resource), "user": resource.name, "key": key, "value": int(text)}


_OF_SNAPSHOTS = ("cluster_id", "taken_at", "snapshot_id", "complete")
QUOTAS, CONFIGS, CLIENT_CONFIGS, CREDENTIALS = _Quotas(), _Configs(), _ClientConfigs(), _Credentials()
KINDS: dict[str, SnapshotKind] = {kind.name: kind for kind in (QUOTAS, CONFIGS, CLIENT_CONFIGS, CREDENTIALS)}
"""Every kind, by its name, in the order in which they are shown."""

SCOPES = tuple(scope for kind in KINDS.values() for scope in kind.scopes)
"""The readable state of a cluster: its quotas, the configs of each type of resource, client configs, credentials."""

_OF_PLANS = {kind.kind: kind for kind in KINDS.values()}


def parsed(kind: str, text: str) -> Configurable:
    """The entity or resource that this text names, of a kind as plans and comparisons name it.

    Raises
    ------
    UsageError
        It names none.
    """
    return _OF_PLANS[kind].resources.parse(text)


def kind_of_scope(scope: str) -> SnapshotKind | None:
    """The kind that a part of a snapshot belongs to; None of what no snapshot reads."""
    return next((kind for kind in KINDS.values() if scope in kind.scopes), None)


def title_of_part(scope: str) -> str:
    """The name of a part of a snapshot, for people: `quotas`, `topic configs`, `client configs`."""
    kind = kind_of_scope(scope)
    word = next((word for word, resource_type in WORDS.items() if resource_type == scope), None)
    return f"{word} configs" if word else kind.title if kind else scope


# --- contents, and the difference of two ---


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
        raise Invalid(f"{whose} is in the {kind.title} twice", hint="A snapshot is of one cluster, one row per key.")


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
        """Each row that differs, before and after; None on the side without it."""
        yield from ((row, None) for row in self.removed.to_pylist())
        yield from ((None, row) for row in self.added.to_pylist())
        yield from zip(self.before.to_pylist(), self.after.to_pylist(), strict=True)


def within(content: pa.Table, scopes: Collection[str]) -> pa.Table:
    """The rows of a content that are in these scopes."""
    if "resource_type" not in content.column_names:
        return content
    return content.filter(pc.is_in(content["resource_type"], value_set=pa.array(sorted(scopes), pa.string())))


def difference(
    a: pa.Table, b: pa.Table, kind: SnapshotKind, columns: tuple[str, ...] | None = None
) -> ContentDifference:
    """The rows removed from `a`, added in `b`, and changed in these columns (default: any)."""
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
