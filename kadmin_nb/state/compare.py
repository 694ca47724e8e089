"""`compare`: from two sides to DIFF, with brokers by their role, and what does not matter apart.

Number 1 of one cluster is not number 1 of another, so brokers of two clusters are compared by their role.
`broker=<default>` is compared with its like. What is set on single brokers, in their files or dynamically, is compared
key by key as what each broker of a cluster goes by, written `broker=<any>`: one value where all agree, else all values.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import BY_NATURE
from ..errors import KadminError, UsageError
from ..frames import schemas
from ..frames.given_frames import plain
from ..model.changes import Target
from ..model.config_fallback import Synonym, behind_listener, in_effect, in_unit_of, unnamed_defaults
from ..model.config_values import BrokerConfigs, ConfigValue
from ..model.configurable import Configurable
from ..model.findings import Row
from ..model.resources import Resource, Source
from ..secrets import SHOWN
from .diff_answer import ANY_BROKER, APART, EACH, NATURE, TEMPORARY, Diff, Side
from .sides import Connect, read_sides
from .snapshot_kinds import CONFIGS, SCOPES, SnapshotKind, content_of, difference, kind_of_scope, parsed, within
from .snapshots import Snapshot

_EACH = Resource("BROKER", EACH)

SECRET = "a secret, which cannot be read"
"""The note of a row that has one."""


def compare(a: object, b: object, *, connect: Connect, everything: bool = False, cluster_id: str | None = None) -> Diff:
    """DIFF from `a` to `b`, a row for each resource and key; as of `kn.diff`, with what makes a cluster of a word.

    What only one of them has read is skipped. A resource, or a whole part, that one of them could not read is one row
    with the state unknown. Two secrets are not compared: nobody can see them.
    Brokers of one cluster are compared one by one.

    Raises
    ------
    UsageError
        Quotas and configs, which do not compare.
    Invalid
        One of them has a row twice.
    """
    return compare_sides(*read_sides(a, b, connect, cluster_id), everything=everything)


def compare_sides(a: Side, b: Side, *, everything: bool = False) -> Diff:
    """DIFF of two sides that were read."""
    contents = [a.content, b.content]
    if a.is_declared or b.is_declared:
        contents = [_as_sent(content) for content in contents]
    if others := None not in (a.cluster_id, b.cluster_id) and a.cluster_id != b.cluster_id:
        contents = [content.with_frame(CONFIGS, _folded(content.configs.to_arrow())) for content in contents]
    rows = [_combined_row(row, a, b, others) for row in _rows(a, b, contents) if _is_spoken_of(row, a, b)]
    rows.sort(key=lambda row: (row["state"] in APART, row["kind"], row["resource"], row["key"] or ""))
    numbered = ({**row, "row": number} for number, row in enumerate(rows, 1))
    of_one = _asked(a.content) ^ _asked(b.content)
    return Diff(
        schemas.table(schemas.DIFF, numbered),
        everything,
        a,
        b,
        tuple(scope for scope in SCOPES if scope in of_one),
        len(_secrets(contents[0]) & _secrets(contents[1])),
    )


def _as_sent(snapshot: Snapshot) -> Snapshot:
    """With the texts that were sent, as a declarative file has them; Kafka shows others of brokers alone."""
    configs = plain(snapshot.configs.to_arrow())
    is_of_broker = pc.equal(configs["resource_type"], "BROKER").combine_chunks()
    rows = configs.filter(is_of_broker).drop_columns(["documentation"]).to_pylist()
    texts = pa.array([ConfigValue.of(row).sent for row in rows], pa.string())
    values = pc.replace_with_mask(configs["value"].combine_chunks(), is_of_broker, texts)
    return snapshot.with_frame(CONFIGS, configs.set_column(configs.schema.get_field_index("value"), "value", values))


def _is_spoken_of(row: Row, a: Side, b: Side) -> bool:
    """False where a side says nothing of it: a plan of what it does not change, a declarative file of what brokers have
    in their own files."""
    place = row["kind"], row["resource"], row["key"]
    if any(side.only is not None and place not in side.only for side in (a, b)):
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


# --- the rows in which two snapshots differ, and whether more than the defaults do ---


def _rows(a: Side, b: Side, contents: Sequence[Snapshot]) -> Iterator[Row]:
    of_a, of_b = (content.kinds for content in contents)
    kinds = [kind for kind in of_a if kind in of_b]
    parts = [(part, other) for one, other in ((a, b), (b, a)) for part in one.content.unread]
    unread = {part.scope: part for part, other in parts if not other.is_part or part.scope in other.content.scopes}
    if not kinds and not unread:
        left, right = (" and ".join(kind.title for kind in of_one) or "nothing" for of_one in (of_a, of_b))
        raise UsageError(
            f"{left} cannot be compared with {right}", hint="Give two frames of one kind, or two snapshots."
        )
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


def _combined_row(row: Row, a: Side, b: Side, others: bool) -> Row:
    """A row with what only the two sides together can say of it."""
    resource = _resource_of(row)
    row = {**row, "resource": ANY_BROKER} if resource == _EACH else row
    if resource is None or row["state"] == "unknown":
        return row
    missing = next((name for name, side in (("a", a), ("b", b)) if side.lacks(resource)), None)
    if for_a_while := _set_for_a_while(resource, row, a, b):
        return {**row, "state": TEMPORARY, "note": for_a_while, "missing": missing}
    return {
        **row,
        "state": NATURE if others and _differs_by_nature(resource, row["key"]) else row["state"],
        "note": f"{missing} has no such topic" if missing and row["note"] is None else row["note"],
        "missing": missing,
    }


def _set_for_a_while(resource: Configurable, row: Row, a: Side, b: Side) -> str | None:
    """The reason why a value is one that Kafka's tools set for a while on a cluster as it is now; None of all else."""
    live = [side.content for name, side in (("a", a), ("b", b)) if side.is_live and row[name] is not None]
    reasons = (snapshot.set_for_a_while(target) for snapshot in live for target in _targets(resource, row, snapshot))
    return next(filter(None, reasons), None)


def _targets(resource: Configurable, row: Row, snapshot: Snapshot) -> Iterable[Target]:
    """The target of a row; for a common value of brokers, one target per broker."""
    if resource != _EACH:
        return [(resource, row["key"])]
    return [target for target in snapshot.throttling or () if target[1] == row["key"] and target[0].scope == "BROKER"]


def _resource_of(row: Row) -> Configurable | None:
    """The entity or resource of a row; None of a type that this version does not know."""
    if row["resource"] == str(_EACH):
        return _EACH
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


# --- brokers by their role ---

_OF_A_CLUSTER = BY_NATURE | {
    *("controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"),
    *("advertised.host.name", "host.name"),
}
"""Keys that differ from cluster to cluster without anything being wrong."""


def _differs_by_nature(resource: Configurable, key: str) -> bool:
    """True if two clusters have other values because they are two: what tells brokers apart, and Kafka's own topics."""
    return resource.is_internal or (resource.scope == "BROKER" and (behind_listener(key) or key) in _OF_A_CLUSTER)


def _folded(configs: pa.Table) -> pa.Table:
    """CONFIGS with what single brokers have under one name."""
    configs = plain(configs.select(schemas.CONFIGS.names))
    schema = pa.schema([field.with_nullable(True) for field in configs.schema], configs.schema.metadata)
    single = pc.and_(pc.equal(configs["resource_type"], "BROKER"), pc.not_equal(configs["resource_name"], ""))
    rows = configs.filter(single).to_pylist()
    if not rows:
        return configs
    folded = pa.Table.from_pylist(_of_each(rows), schema=schema)
    return pa.concat_tables([configs.filter(pc.invert(single)).cast(schema), folded])


def _of_each(rows: Sequence[Row]) -> list[Row]:
    """One row per key; where a broker could not be read one row says so, and nothing is known of any."""
    if unread := next((row for row in rows if row["error"] is not None), None):
        message = f"broker {unread['resource_name']}: {unread['message'] or ''}"
        return [{**unread, "resource_name": EACH, "key": None, "message": message}]
    brokers = len({row["resource_name"] for row in rows})
    keys: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        keys[row["key"]].append(row)
    return [_one(of_key, is_everywhere=len(of_key) == brokers) for _, of_key in sorted(keys.items())]


def _one(rows: Sequence[Row], is_everywhere: bool) -> Row:
    """What brokers have of a key, in one row; `is_everywhere` that each has it."""
    texts = {SHOWN if row["is_sensitive"] else str(row["value"]) for row in rows}
    values = sorted(texts if is_everywhere else {*texts, "(not set)"})
    first, single = rows[0], len(values) == 1
    agreed = {name: first[name] if len({row[name] for row in rows}) == 1 else None for name in ("source", "is_default")}
    return {
        **first,
        **agreed,
        "resource_name": EACH,
        "value": first["value"] if single else " | ".join(values),
        "synonyms": first["synonyms"] if single and agreed["source"] else None,
        "is_sensitive": any(row["is_sensitive"] for row in rows),
    }
