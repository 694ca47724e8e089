"""`compare`: from two sides to DIFF. Counts come first in its display.

Number 1 of one cluster is not number 1 of another, and Kafka keeps topics of its own: of two clusters neither single
brokers nor such topics are compared. `broker=<default>` is compared with its like.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.given_frames import plain
from ..frames.views import differences_finding
from ..model.config_values import BrokerConfigs, ConfigValue, Synonym, in_effect, in_unit_of, unnamed_defaults
from ..model.configurable import Configurable
from ..model.findings import Row
from ..model.resources import Resource, Source
from .sides import Connect, Side, read_sides
from .snapshot_kinds import CONFIGS, SCOPES, SnapshotKind, content_of, difference, kind_of_scope, parsed, within
from .snapshots import Snapshot

DEFAULT, TEMPORARY = "default", "temporary"
_SAID_APART = {DEFAULT: "only by default", TEMPORARY: "set by Kafka's tools for a while"}
"""The states that count for no difference."""

_ALL_BROKERS = str(Resource("BROKER", ""))

SECRET = "a secret, which cannot be read"
"""The note of a row that has one."""


class Diff(Answer):
    """DIFF: the differences from `a` to `b`, a row for each resource and key. Its display begins with counts.

    What differs only by default, or for a while, is among its rows only where everything was asked for. `passed_over`
    is what is not compared, in words; `secrets` counts those that both have, which are not compared.
    """

    _is_frame = False

    def __init__(
        self,
        table: pa.Table,
        everything: bool = True,
        a: Side | None = None,
        b: Side | None = None,
        passed_over: tuple[str, ...] = (),
        secrets: int = 0,
    ) -> None:
        self._counts = Counter(table["state"].to_pylist())
        apart = pc.is_in(table["state"], pa.array(_SAID_APART, pa.string()))
        super().__init__(table if everything else table.filter(pc.invert(apart)))
        self.a, self.b, self.passed_over, self.secrets = a, b, passed_over, secrets

    @property
    def differing(self) -> Answer:
        """The rows that count as a difference."""
        return Answer(self._table.filter(pc.invert(pc.is_in(self._table["state"], pa.array(_SAID_APART, pa.string())))))

    def _failing(self) -> pa.Array:
        return pc.equal(self._table["state"], "unknown")

    def _error(self, row: Row) -> UsageError:
        return UsageError(f"{row['resource']} could not be compared: {row['note']}")

    def _title(self) -> str:
        """The number of rows that differ and how, the two sides, and what was not compared."""
        sides = [f"{name}: {printable(str(side))}" for name, side in (("a", self.a), ("b", self.b)) if side]
        lines = [differences_finding(self._counts), *sides]
        apart = [f"{self._counts[state]:,} {words}" for state, words in _SAID_APART.items() if self._counts[state]]
        lines += [f"besides, {', '.join(apart)} (--all shows them)"] if apart else []
        if self.passed_over:
            lines.append(f"not compared: {', '.join(self.passed_over)}")
        if self.secrets:
            plural = "s" * (self.secrets != 1)
            lines.append(f"{self.secrets:,} secret{plural} per side cannot be read and were skipped")
        return "\n".join(lines)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table] if len(self) else []


def compare(a: object, b: object, *, connect: Connect, everything: bool = False, cluster_id: str | None = None) -> Diff:
    """DIFF from `a` to `b`, a row for each resource and key; as of `kn.diff`, with what makes a cluster of a word.

    What only one of them has read is skipped. A resource, or a whole part, that one of them could not read is one row
    with the state unknown. Two secrets are not compared: nobody can see them.

    Raises
    ------
    UsageError
        Two sides that have read nothing in common.
    Invalid
        One of them has a row twice.
    """
    a, b = read_sides(a, b, connect, cluster_id)
    contents = [a.content, b.content]
    if a.is_declared or b.is_declared:
        contents = [_as_sent(content) for content in contents]
    others = None not in (a.cluster_id, b.cluster_id) and a.cluster_id != b.cluster_id
    rows = [row for row in _rows(a, b, contents) if _is_spoken_of(row, a, b, others)]
    rows = [row | _set_for_a_while(row, a, b) for row in rows]
    rows.sort(key=lambda row: (row["state"] in _SAID_APART, row["kind"], row["resource"], row["key"] or ""))
    numbered = ({**row, "row": number} for number, row in enumerate(rows, 1))
    of_one = _asked(a.content) ^ _asked(b.content)
    passed_over = [f"{scope}, which only one side has read" for scope in SCOPES if scope in of_one]
    passed_over += ["single brokers and Kafka's own topics, as these are two clusters"] if others else []
    secrets = len(_secrets(contents[0]) & _secrets(contents[1]))
    return Diff(schemas.table(schemas.DIFF, numbered), everything, a, b, tuple(passed_over), secrets)


def _as_sent(snapshot: Snapshot) -> Snapshot:
    """With the texts that were sent, as a declarative file has them; Kafka shows others of brokers alone."""
    configs = plain(snapshot.configs.to_arrow())
    is_of_broker = pc.equal(configs["resource_type"], "BROKER").combine_chunks()
    rows = configs.filter(is_of_broker).drop_columns(["documentation"]).to_pylist()
    texts = pa.array([ConfigValue.of(row).sent for row in rows], pa.string())
    values = pc.replace_with_mask(configs["value"].combine_chunks(), is_of_broker, texts)
    return snapshot.with_frame(CONFIGS, configs.set_column(configs.schema.get_field_index("value"), "value", values))


def _is_spoken_of(row: Row, a: Side, b: Side, others: bool) -> bool:
    """False where a side says nothing of it: a plan of what it does not change, a declarative file of what brokers have
    in their own files, a cluster of another one's brokers and own topics."""
    place = row["kind"], row["resource"], row["key"]
    if any(side.only is not None and place not in side.only for side in (a, b)):
        return False
    resource = _resource_of(row) if others else None
    if resource is not None and (
        resource.is_internal or (resource.scope == "BROKER" and row["resource"] != _ALL_BROKERS)
    ):
        return False
    return not any(
        side.is_declared and row[f"source_{name}"] is None and row[f"source_{other}"] == Source.FILE
        for side, name, other in ((a, "a", "b"), (b, "b", "a"))
    )


def _asked(snapshot: Snapshot) -> set[str]:
    """The scopes that it has read, or could not."""
    return {*snapshot.scopes, *(part.scope for part in snapshot.unread)}


def _secrets(snapshot: Snapshot) -> set[tuple[str, ...]]:
    """The configs with secret values."""
    configs = snapshot.configs.to_arrow()
    hidden = configs.filter(pc.fill_null(configs["is_sensitive"], False))
    return set(zip(*(hidden[name].to_pylist() for name in ("resource_type", "resource_name", "key")), strict=True))


# --- the rows in which two snapshots differ ---


def _rows(a: Side, b: Side, contents: Sequence[Snapshot]) -> Iterator[Row]:
    of_a, of_b = (content.kinds for content in contents)
    kinds = [kind for kind in of_a if kind in of_b]
    parts = [(part, other) for one, other in ((a, b), (b, a)) for part in one.content.unread]
    unread = {part.scope: part for part, other in parts if not other.is_declared or part.scope in other.content.scopes}
    if not kinds and not unread:
        left, right = (" and ".join(kind.title for kind in of_one) or "nothing" for of_one in (of_a, of_b))
        raise UsageError(f"{left} cannot be compared with {right}", hint="Give two sides that have one kind.")
    for part in unread.values():
        if (kind := kind_of_scope(part.scope)) is not None:
            yield _unknown(kind, part.title, part.in_one_line())
    for kind in kinds:
        yield from _rows_of(kind, *contents)


def _unknown(kind: SnapshotKind, resource: str, note: str) -> Row:
    """The row of something that one side could not read."""
    row = dict.fromkeys(schemas.DIFF.names) | {"kind": kind.kind, "state": "unknown", "is_sensitive": False}
    return {**row, "resource": resource, "note": note}


def _rows_of(kind: SnapshotKind, a: Snapshot, b: Snapshot) -> Iterator[Row]:
    tables = [snapshot.frames[kind.name].to_arrow() for snapshot in (a, b)]
    unread = {**_unread(tables[0]), **_unread(tables[1])}
    yield from (_unknown(kind, str(resource), note) for resource, note in unread.items())
    wholes = [content_of(table, kind) for table in tables]
    ours, theirs = (_read_by_both(whole, {*a.scopes} & {*b.scopes}, unread) for whole in wholes)
    of_a, of_b = (_defaults(whole, unread) for whole in wholes)
    for old, new in difference(ours, theirs, kind, kind.compared).pairs():
        yield _row(old, new, kind, of_b if new is None else of_a)


def _unread(table: pa.Table) -> dict[Resource, str]:
    """The config resources that could not be read, and why."""
    if "error" not in table.column_names:
        return {}
    failed = table.filter(pc.is_valid(table["error"])).to_pylist()
    return {Resource(r["resource_type"], r["resource_name"]): f"{r['error']}: {r['message'] or ''}" for r in failed}


def _read_by_both(content: pa.Table, scopes: Collection[str], unread: Collection[Resource]) -> pa.Table:
    """The content of one side that the other side was read for as well."""
    content = within(content, scopes)
    if not unread:
        return content
    pairs = zip(content["resource_type"].to_pylist(), content["resource_name"].to_pylist(), strict=True)
    return content.filter(pa.array([Resource(*pair) not in unread for pair in pairs], pa.bool_()))


def _row(old: Row | None, new: Row | None, kind: SnapshotKind, defaults: Defaults | None) -> Row:
    """One row of DIFF; `defaults` belong to the side without the key."""
    one = new or old or {}
    by_default = (old is None or new is None) and defaults is not None and defaults.has(one)
    note = f"{'a' if old is None else 'b'} has the same by default" if by_default else None
    is_secret = any(row.get("is_sensitive") for row in (old, new) if row)
    return {
        "kind": kind.kind,
        "resource": kind.resource(one),
        "key": one["key"],
        "state": DEFAULT if by_default else _state(old, new),
        "a": kind.text(old) if old else None,
        "b": kind.text(new) if new else None,
        "source_a": old.get("source") if old else None,
        "source_b": new.get("source") if new else None,
        "is_sensitive": is_secret,
        "note": SECRET if is_secret else note,
    }


def _state(old: Row | None, new: Row | None) -> str:
    if old is None or new is None:
        return "added" if old is None else "removed"
    return "changed" if old["value"] != new["value"] else "source"


def _set_for_a_while(row: Row, a: Side, b: Side) -> Row:
    """What tells that Kafka's tools set a value for a while on a cluster as it is now; nothing of all else."""
    if (resource := _resource_of(row)) is None or row["state"] == "unknown":
        return {}
    live = [side.content for name, side in (("a", a), ("b", b)) if side.is_live and row[name] is not None]
    reasons = filter(None, (snapshot.set_for_a_while((resource, row["key"])) for snapshot in live))
    return {"state": TEMPORARY, "note": reason} if (reason := next(reasons, None)) else {}


def _resource_of(row: Row) -> Configurable | None:
    """The entity or resource of a row; None of a whole part, or a type that this version does not know."""
    try:
        return parsed(row["kind"], row["resource"])
    except KadminError:
        return None


# --- the values that a cluster goes by where a resource sets nothing, out of what its brokers set ---

_COLUMNS = ["resource_type", "resource_name", "key", "value", "source", "synonyms", "is_sensitive"]


def _defaults(content: pa.Table, unread: Iterable[Resource]) -> Defaults | None:
    """The brokers' configs of a content; None if it has none, or one of them could not be read."""
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
