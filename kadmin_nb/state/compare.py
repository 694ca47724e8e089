"""`compare`: from two sides to DIFF. Counts come first in its display.

Number 1 of one cluster is not number 1 of another, and Kafka keeps topics of its own: of two clusters neither single
brokers nor such topics are compared. `broker=<default>` is compared with its like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Block, Page
from ..frames.given_frames import plain
from ..frames.views import differences_finding
from ..model.config_values import ConfigValue
from ..model.configurable import Configurable
from ..model.findings import Row
from ..model.resources import Resource, Source
from .sides import Connect, Side, read_sides
from .snapshot_kinds import CONFIGS, SCOPES, SnapshotKind, content_of, difference, kind_of_scope, parsed, within
from .snapshots import Snapshot

TEMPORARY = "temporary"
"""The state of what Kafka's tools set for a while, which counts for no difference."""

SECRET = "a secret, which cannot be read"
"""The note of a row that has one."""


class Diff(Answer):
    """DIFF: the differences from `a` to `b`, a row for each resource and key. Its display begins with counts.

    `passed_over` is what is not compared, in words; `secrets` counts those that both have, which are not compared.
    """

    _is_frame = False

    def __init__(
        self,
        table: pa.Table,
        a: Side | None = None,
        b: Side | None = None,
        passed_over: tuple[str, ...] = (),
        secrets: int = 0,
    ) -> None:
        super().__init__(table)
        self.a, self.b, self.passed_over, self.secrets = a, b, passed_over, secrets

    @property
    def differing(self) -> Answer:
        """The rows that count: all but throttles that Kafka's tools remove when copies are over."""
        return Answer(self._table.filter(pc.not_equal(self._table["state"], TEMPORARY)))

    def _failing(self) -> pa.Array:
        return pc.equal(self._table["state"], "unknown")

    def _error(self, row: Row) -> UsageError:
        return UsageError(f"{row['resource']} could not be compared: {row['note']}")

    def _title(self) -> str:
        """The number of rows that differ and how, the two sides, and what was not compared."""
        by_state = Counter(self._table["state"].to_pylist())
        sides = [f"{name}: {printable(str(side))}" for name, side in (("a", self.a), ("b", self.b)) if side]
        lines = [differences_finding(by_state), *sides]
        if by_state[TEMPORARY]:
            lines.append(f"besides, {by_state[TEMPORARY]:,} set by Kafka's tools for a while")
        if self.passed_over:
            lines.append(f"not compared: {', '.join(self.passed_over)}")
        if self.secrets:
            plural = "s" * (self.secrets != 1)
            lines.append(f"{self.secrets:,} secret{plural} per side cannot be read and were skipped")
        return "\n".join(lines)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table] if len(self) else []


def compare(a: object, b: object, *, connect: Connect, cluster_id: str | None = None) -> Diff:
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
    return compare_sides(*read_sides(a, b, connect, cluster_id))


def compare_sides(a: Side, b: Side) -> Diff:
    """DIFF of two sides that were read."""
    contents = [a.content, b.content]
    if a.is_declared or b.is_declared:
        contents = [_as_sent(content) for content in contents]
    others = None not in (a.cluster_id, b.cluster_id) and a.cluster_id != b.cluster_id
    rows = [row for row in _rows(a, b, contents) if _is_spoken_of(row, a, b, others)]
    rows = [row | _set_for_a_while(row, a, b) for row in rows]
    rows.sort(key=lambda row: (row["state"] == TEMPORARY, row["kind"], row["resource"], row["key"] or ""))
    numbered = ({**row, "row": number} for number, row in enumerate(rows, 1))
    of_one = _asked(a.content) ^ _asked(b.content)
    passed_over = [f"{scope}, which only one side has read" for scope in SCOPES if scope in of_one]
    passed_over += ["single brokers and Kafka's own topics, as these are two clusters"] if others else []
    secrets = len(_secrets(contents[0]) & _secrets(contents[1]))
    return Diff(schemas.table(schemas.DIFF, numbered), a, b, tuple(passed_over), secrets)


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
    if resource is not None and (resource.is_internal or _is_single_broker(resource)):
        return False
    return not any(
        side.is_declared and row[f"source_{name}"] is None and row[f"source_{other}"] == Source.FILE
        for side, name, other in ((a, "a", "b"), (b, "b", "a"))
    )


def _is_single_broker(resource: Configurable) -> bool:
    return isinstance(resource, Resource) and resource.type == "BROKER" and resource.name != ""


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
    ours, theirs = (_read_by_both(content_of(table, kind), {*a.scopes} & {*b.scopes}, unread) for table in tables)
    for old, new in difference(ours, theirs, kind, kind.compared).pairs():
        yield _row(old, new, kind)


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


def _row(old: Row | None, new: Row | None, kind: SnapshotKind) -> Row:
    """One row of DIFF."""
    one = new or old or {}
    is_secret = any(row.get("is_sensitive") for row in (old, new) if row)
    return {
        "kind": kind.kind,
        "resource": kind.resource(one),
        "key": one["key"],
        "state": _state(old, new),
        "a": kind.text(old) if old else None,
        "b": kind.text(new) if new else None,
        "source_a": old.get("source") if old else None,
        "source_b": new.get("source") if new else None,
        "is_sensitive": is_secret,
        "note": SECRET if is_secret else None,
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
