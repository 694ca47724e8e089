"""From two sides to DIFF: their differences, with brokers by their role, and what does not matter apart.

Number 1 of one cluster is not number 1 of another, so brokers of two clusters are compared by their role.
`broker=<default>` is compared with its like. What is set on single brokers, in their files or dynamically, is compared
key by key as what each broker of a cluster goes by, written `broker=<any>`: one value where all agree, else all values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import BY_NATURE
from ..errors import KadminError
from ..frames import schemas
from ..frames.given_frames import plain
from ..model.changes import Target
from ..model.config_fallback import behind_listener
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.findings import Row
from ..model.resources import Resource, Source
from ..secrets import SHOWN
from .diff_answer import ANY_BROKER, APART, EACH, NATURE, TEMPORARY, Diff, Side
from .differences import differences
from .sides import Connect, read_sides
from .snapshot_kinds import CONFIGS, SCOPES, parsed
from .snapshots import Snapshot

_EACH = Resource("BROKER", EACH)


def compare(a: object, b: object, *, connect: Connect, everything: bool = False, cluster_id: str | None = None) -> Diff:
    """DIFF from `a` to `b`, a row for each resource and key; as of `kn.diff`, with what makes a cluster of a word."""
    return compare_sides(*read_sides(a, b, connect, cluster_id), everything=everything)


def compare_sides(a: Side, b: Side, *, everything: bool = False) -> Diff:
    """DIFF of two sides that were read.

    Brokers of two clusters are compared by their role, those of one cluster one by one. A side that says nothing of
    some scope is not compared there.

    Raises
    ------
    UsageError
        Quotas and configs, which do not compare.
    Invalid
        One of them has a row twice.
    """
    contents = [_as_asked(side.content, other) for side, other in ((a, b), (b, a))]
    if a.is_declared or b.is_declared:
        contents = [_as_sent(content) for content in contents]
    if others := None not in (a.cluster_id, b.cluster_id) and a.cluster_id != b.cluster_id:
        contents = [_by_role(content) for content in contents]
    rows = [row for row in differences(*contents) if a.speaks_of(row) and b.speaks_of(row)]
    rows = [row for row in rows if not _is_out_of_reach(row, a, b)]
    combined = [_combined_row(row, a, b, others) for row in rows]
    combined.sort(key=lambda row: (row["state"] in APART, row["kind"], row["resource"], row["key"] or ""))
    numbered = ({**row, "row": number} for number, row in enumerate(combined, 1))
    return Diff(
        schemas.table(schemas.DIFF, numbered),
        everything,
        a,
        b,
        _passed_over(a, b),
        len(_secrets(contents[0]) & _secrets(contents[1])),
    )


def _as_asked(content: Any, other: Side) -> Any:
    """A snapshot; beside a declarative file without the parts that could not be read and of which the file says
    nothing."""
    if not isinstance(content, Snapshot) or not other.is_declared:
        return content
    return replace(content, unread=tuple(part for part in content.unread if part.scope in other.content.scopes))


def _as_sent(content: Any) -> Any:
    """A snapshot with the texts that were sent, as a declarative file has them; Kafka shows others of brokers alone."""
    if not isinstance(content, Snapshot):
        return content
    configs = plain(content.configs.to_arrow())
    is_of_broker = pc.equal(configs["resource_type"], "BROKER").combine_chunks()
    rows = configs.filter(is_of_broker).drop_columns(["documentation"]).to_pylist()
    texts = pa.array([ConfigValue.of(row).sent for row in rows], pa.string())
    values = pc.replace_with_mask(configs["value"].combine_chunks(), is_of_broker, texts)
    return content.with_frame(CONFIGS, configs.set_column(configs.schema.get_field_index("value"), "value", values))


def _is_out_of_reach(row: Row, a: Side, b: Side) -> bool:
    """True if it stands in the brokers' own files, of which a declarative file says nothing."""
    silent, declared_side = ("a", "b") if a.is_declared else ("b", "a")
    one_sided = (a.is_declared or b.is_declared) and row[f"source_{silent}"] is None
    return one_sided and row[f"source_{declared_side}"] == Source.FILE


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
    """The target of a row; of what brokers have in common, those of each broker."""
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


def _passed_over(a: Side, b: Side) -> tuple[str, ...]:
    """The scopes that only one of two snapshots has asked for; one that could not be read is a row of its own."""
    snapshots = [side.content for side in (a, b) if isinstance(side.content, Snapshot)]
    scopes = [{*one.scopes, *(part.scope for part in one.unread)} for one in snapshots]
    return tuple(scope for scope in SCOPES if len(scopes) == 2 and scope in scopes[0] ^ scopes[1])


def _secrets(content: Any) -> set[tuple[Any, ...]]:
    """The configs whose values nobody can see."""
    configs = content.configs.to_arrow() if isinstance(content, Snapshot) else content
    if "is_sensitive" not in configs.column_names:
        return set()
    hidden = configs.filter(pc.fill_null(configs["is_sensitive"], False))
    return set(zip(*(hidden[name].to_pylist() for name in ("resource_type", "resource_name", "key")), strict=True))


# --- brokers by their role ---

_OF_A_CLUSTER = BY_NATURE | {
    *("controller.quorum.voters", "controller.quorum.bootstrap.servers", "zookeeper.connect"),
    *("advertised.host.name", "host.name"),
}
"""Keys that differ from cluster to cluster without anything being wrong."""


def _differs_by_nature(resource: Configurable, key: str) -> bool:
    """True if two clusters have other values because they are two: what tells brokers apart, and Kafka's own topics."""
    return resource.is_internal or (resource.scope == "BROKER" and (behind_listener(key) or key) in _OF_A_CLUSTER)


def _by_role(content: Any) -> Any:
    """A snapshot, or a frame of configs, with what single brokers have under one name; quotas as they are."""
    if isinstance(content, Snapshot):
        return content.with_frame(CONFIGS, _folded(content.configs.to_arrow()))
    return _folded(content) if "resource_type" in content.column_names else content


def _folded(configs: pa.Table) -> pa.Table:
    columns = [name for name in schemas.CONFIGS.names if name in configs.column_names]
    configs = plain(CONFIGS.without_secrets(configs.select(columns)))
    schema = pa.schema([field.with_nullable(True) for field in configs.schema], configs.schema.metadata)
    single = pc.and_(pc.equal(configs["resource_type"], "BROKER"), pc.not_equal(configs["resource_name"], ""))
    rows = configs.filter(single).to_pylist()
    if not rows:
        return configs
    folded = pa.Table.from_pylist(_of_each(rows), schema=schema)
    return pa.concat_tables([configs.filter(pc.invert(single)).cast(schema), folded])


def _of_each(rows: Iterable[Row]) -> list[Row]:
    """One row a key; where a broker could not be read one row says so, and nothing is known of any."""
    rows = list(rows)
    if unread := next((row for row in rows if row.get("error") is not None), None):
        message = f"broker {unread['resource_name']}: {unread.get('message') or ''}"
        return [{**unread, "resource_name": EACH, "key": None, "message": message}]
    brokers = {row["resource_name"] for row in rows}
    keys: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in rows:
        keys[row["key"]][row["resource_name"]] = row
    return [_one(by_broker, brokers) for _, by_broker in sorted(keys.items())]


def _one(by_broker: dict[str, Row], brokers: set[str]) -> Row:
    first = next(iter(by_broker.values()))
    values = sorted(set(_values(by_broker, brokers)))
    agreed = {
        name: distinct.pop() if len(distinct := {row.get(name) for row in by_broker.values()}) == 1 else None
        for name in ("source", "is_default")
    }
    single = len(values) == 1
    return {
        **{name: first.get(name) for name in schemas.CONFIGS.names},
        **agreed,
        "resource_name": EACH,
        "value": first["value"] if single else " | ".join(values),
        "synonyms": first.get("synonyms") if single and agreed["source"] else None,
        "is_sensitive": any(row.get("is_sensitive") for row in by_broker.values()),
    }


def _values(by_broker: dict[str, Row], brokers: set[str]) -> Iterator[str]:
    for broker in brokers:
        row = by_broker.get(broker)
        yield "(not set)" if row is None else SHOWN if row.get("is_sensitive") else str(row["value"])
