"""The facts that a policy checks: the frames of one cluster at one time, and how a row of each is named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import findings_frame
from ..frames import schemas, snapshot_kinds
from ..model.findings import Row
from ..model.grammar import format_word
from ..model.quota_keys import readable, text_of
from ..model.resources import Resource
from ..resolution.kernel import resolve
from ..resolution.tree import tree

CLUSTER_ID = "cluster_id"
CALLBACK = "client.quota.callback.class"
POSSIBLE = "possible"
QUOTAS, CONFIGS, EFFECTIVE, TREE, FINDINGS = "QUOTAS", "CONFIGS", "EFFECTIVE", "TREE", "FINDINGS"
CLIENT_CONFIGS = "CLIENT_CONFIGS"
NOTHING, UNLIMITED, UNKNOWN = "nothing", "unlimited", "unknown"
"""The meaning of a null in a column: that there is nothing, that there is no limit, or that nobody could see it."""
_NOT_OF_FINDINGS = ("op", "mend", "error", "coverage")
_NOT_ASKED = ("synonyms", "documentation", "error", "message")
COLUMNS = {
    QUOTAS: (CLUSTER_ID, *schemas.QUOTAS.names),
    CONFIGS: (CLUSTER_ID, *(name for name in schemas.CONFIGS.names if name not in _NOT_ASKED)),
    EFFECTIVE: (CLUSTER_ID, *schemas.EFFECTIVE.names),
    TREE: (CLUSTER_ID, *schemas.TREE.names),
    FINDINGS: (CLUSTER_ID, *(name for name in schemas.FINDINGS.names if name not in _NOT_OF_FINDINGS)),
    CLIENT_CONFIGS: (CLUSTER_ID, *snapshot_kinds.CLIENT_CONFIGS.columns),
}
"""The frames that a rule may be about, and their columns."""

NUMBERS = {name: () if name == FINDINGS else ("value",) for name in COLUMNS}
"""The columns that are compared as numbers."""

MADE_OF: Mapping[str, snapshot_kinds.SnapshotKind] = {
    **dict.fromkeys((QUOTAS, EFFECTIVE, TREE), snapshot_kinds.QUOTAS),
    **dict.fromkeys((CONFIGS, FINDINGS), snapshot_kinds.CONFIGS),
    CLIENT_CONFIGS: snapshot_kinds.CLIENT_CONFIGS,
}
"""The kind of snapshots' frames that each is made of."""

_BROKERS = "BROKER"
"""The part of a snapshot that has the configs of brokers."""

OF_QUOTAS = (QUOTAS, EFFECTIVE, TREE)
"""The frames whose values are quotas', in their units."""


def null_of(frame: str, column: str) -> str:
    """The meaning of a null in that column."""
    if column != "value":
        return NOTHING
    return {EFFECTIVE: UNLIMITED, CONFIGS: UNKNOWN, FINDINGS: UNKNOWN}.get(frame, NOTHING)


@dataclass(frozen=True)
class PolicyFacts:
    """What is set on one cluster at one time: frames by the name of their kind. One that is not there was not read;
    `scopes`, where known, say more.

    `pairs` are the known clients. Without them EFFECTIVE is about the `possible` ones; `named`, where given, are those
    of another time too. `reassigning` says whether partitions are being moved, None that nobody asked; `by_callback`
    that a broker decides by a class of its own; `complete` is of the parts that the snapshot has read, `unread_parts`
    has the reasons of the others; `resources` are all that there are, where somebody knows.
    """

    cluster_id: str
    frames: Mapping[str, pa.Table]
    pairs: pa.Table | None = None
    reassigning: bool | None = None
    scopes: Collection[str] | None = None
    named: PossibleClients | None = None
    by_callback: bool = False
    complete: bool = True
    unread_parts: Mapping[str, str] = field(default_factory=dict)
    resources: Collection[Resource] | None = None
    _made: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def with_(self, **changes: Any) -> PolicyFacts:
        """The same with other parts."""
        return replace(self, **changes, _made={})

    @property
    def knows_clients(self) -> bool:
        """True if the clients are known, rather than made up from the quotas."""
        return self.pairs is not None

    def frame(self, name: str, keys: tuple[str, ...] | None = None) -> pa.Table:
        """The frame of that name; EFFECTIVE of these keys."""
        cache_key = (name, keys if name == EFFECTIVE else None)
        if cache_key not in self._made:
            table = self._frame(name, keys)
            cluster_column = pa.repeat(pa.scalar(self.cluster_id, pa.string()), len(table))
            columns = [cluster_column, *(table[column] for column in COLUMNS[name][1:])]
            self._made[cache_key] = pa.table(columns, names=list(COLUMNS[name]))
        return self._made[cache_key]  # no cached_property: Spark sends this class by value, and those hold a lock

    def _frame(self, name: str, keys: tuple[str, ...] | None) -> pa.Table:
        kind = MADE_OF[name]
        table = self.of(kind)
        if name == FINDINGS:
            return findings_frame(table, self.reassigning)
        if name not in (EFFECTIVE, TREE):
            return _readable(table, kind)
        quotas = table.select(schemas.QUOTAS.names)
        if name == TREE:
            whole = tree(quotas)
            return whole.filter(pc.is_valid(whole["key"]))
        return resolve(quotas, self.possible.pairs if self.pairs is None else self.pairs, keys=keys)

    def of(self, kind: snapshot_kinds.SnapshotKind) -> pa.Table:
        """The frame of a kind; without rows where it was not read."""
        return self.frames.get(kind.name, kind.schema.empty_table())

    @property
    def possible(self) -> PossibleClients:
        """The clients that quotas tell apart, where none are known."""
        if POSSIBLE not in self._made:
            self._made[POSSIBLE] = self.named or PossibleClients.of(self.of(snapshot_kinds.QUOTAS))
        clients: PossibleClients = self._made[POSSIBLE]
        return clients

    def resource(self, frame: str, row: Row) -> str:
        """The entity or resource of a row, in the words of the grammar."""
        if frame != EFFECTIVE:
            return MADE_OF[frame].resource(row)
        return f"{self._part('user', row['user'])} {self._part('client-id', row['client_id'])}"

    def _part(self, kind: str, name: str) -> str:
        is_any = self.pairs is None and name == self.possible.other
        return f"{kind}=<any other>" if is_any else format_word(kind, name)

    def unread(self, frame: str, kinds: Collection[str]) -> Iterator[str]:
        """The unread parts of a frame, a sentence each; of configs only resources of `kinds` matter."""
        kind = MADE_OF[frame]
        if kind.name not in self.frames or not (len(kind.scopes) > 1 or self._reads(kind.scopes[0])):
            yield f"the {kind.title} were not read{self._reason(kind.scopes)}"
        elif frame == EFFECTIVE and self._decides_by_callback:
            yield f"a broker sets {CALLBACK}, so the limits of clients cannot be known"
        elif frame == EFFECTIVE and _BROKERS in self.unread_parts:
            yield f"whether a broker sets {CALLBACK} is not known{self._reason([_BROKERS])}"
        elif len(kind.scopes) > 1:
            if not self.complete and not self.forbidden(frame):
                yield "the snapshot is not complete"
            unread = [scope for scope in kinds or self._failed(kind) if not self._reads(scope)]
            yield from (f"the {kind.title} of type {scope} were not read{self._reason([scope])}" for scope in unread)

    def _failed(self, kind: snapshot_kinds.SnapshotKind) -> list[str]:
        """The parts of a kind that could not be read."""
        return [scope for scope in kind.scopes if scope in self.unread_parts]

    def _reason(self, scopes: Iterable[str]) -> str:
        """The reason why the first of these parts was not read, after a colon, where it is known."""
        return next((f": {self.unread_parts[scope]}" for scope in scopes if scope in self.unread_parts), "")

    def _reads(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes

    def bare(self, named: Iterable[Resource] = ()) -> pa.Table:
        """Config resources, those that are named and those that are known, as rows that say nothing but their names."""
        resources = {resource for resource in (*named, *(self.resources or ())) if not resource.is_default_broker}
        rows: list[Row] = [{"resource_type": resource.type, "resource_name": resource.name} for resource in resources]
        table = schemas.table(schemas.CONFIGS, rows)
        cluster_column = pa.repeat(pa.scalar(self.cluster_id, pa.string()), len(table))
        return pa.table([cluster_column, *(table[name] for name in COLUMNS[CONFIGS][1:])], names=list(COLUMNS[CONFIGS]))

    def forbidden(self, frame: str) -> list[Row]:
        """The config resources that could not be read, with their `error`."""
        table = self.of(MADE_OF[frame])
        return list(table.filter(pc.is_valid(table["error"])).to_pylist()) if "error" in table.column_names else []

    @property
    def _decides_by_callback(self) -> bool:
        configs = self.of(snapshot_kinds.CONFIGS)
        rows = configs.filter(pc.equal(configs["key"].cast(pa.string()), CALLBACK))
        return self.by_callback or any(value for value in rows["value"].to_pylist())


def _readable(table: pa.Table, kind: snapshot_kinds.SnapshotKind) -> pa.Table:
    good = pc.is_valid(table["key"])
    if "error" in table.column_names:
        good = pc.and_(good, pc.is_null(table["error"]))
    table = table.filter(good)
    for name in (name for name in kind.frame.names if name not in table.column_names):
        table = table.append_column(name, pa.nulls(len(table), kind.frame.schema.field(name).type))
    return table


def value_of(frame: str, row: Row) -> str | None:
    """The value of a row as text, as the broker takes it."""
    value = row.get("value")
    if frame == EFFECTIVE and value is None:
        return UNLIMITED
    return text_of(value) if isinstance(value, float) else value


def value_text(frame: str, row: Row) -> str:
    """The value of a row for people."""
    value, key = row.get("value"), row.get("key")
    if isinstance(value, float) and key is not None:
        return readable(key, value)
    return value_of(frame, row) or "a secret, or not known"


# --- the clients that a set of quotas can tell apart, for when nobody says which clients there are ---

# Whether a client is unlimited depends on its names only as far as quotas have them. So these few stand for all: each
# stored pair; each named user with a client-id that no quota names, and without one; each named client-id of a user
# that no quota names; and a client of which neither is named. A named user with a client-id that is named elsewhere is
# left out: it is unlimited only where the last two are.

_OTHER = "<any other>"


@dataclass(frozen=True)
class PossibleClients:
    """PAIRS that stand for all clients, and the name in them that stands for all that no quota names."""

    pairs: pa.Table
    other: str

    @classmethod
    def of(cls, quotas: pa.Table) -> PossibleClients:
        """The clients that these quotas tell apart."""
        users, clients = (pc.unique(quotas[name]).drop_null().to_pylist() for name in ("user", "client_id"))
        other = _unused({*users, *clients})
        both = quotas.filter(pc.and_(pc.is_valid(quotas["user"]), pc.is_valid(quotas["client_id"])))
        pairs = {*zip(both["user"].to_pylist(), both["client_id"].to_pylist(), strict=True)}
        pairs |= {(user, client) for user in (*users, other) for client in (other, "")}
        pairs |= {(other, client) for client in clients}
        rows = sorted(pairs)
        columns = [pa.array([row[i] for row in rows], pa.string()) for i in (0, 1)]
        return cls(pa.table(columns, schema=schemas.PAIRS.schema), other)


def _unused(names: set[str]) -> str:
    """A name that none of them has."""
    name = _OTHER
    while name in names:
        name += "'"
    return name
