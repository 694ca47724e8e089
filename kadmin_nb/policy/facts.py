"""The facts that a policy checks: the frames of one cluster at one time, and how a row of each is named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..advice.config_rules import findings
from ..frames import schemas
from ..model.grammar import format_word
from ..model.quota_keys import readable, text_of
from ..model.resources import Resource
from ..model.rows import Row
from ..resolution.kernel import resolve
from ..resolution.tree import tree
from .conditions import NOTHING, UNKNOWN, UNLIMITED
from .possible_clients import PossibleClients

CLUSTER_ID = "cluster_id"
CALLBACK = "client.quota.callback.class"
POSSIBLE = "possible"
QUOTAS, CONFIGS, EFFECTIVE, TREE, FINDINGS = "QUOTAS", "CONFIGS", "EFFECTIVE", "TREE", "FINDINGS"
_NOT_ASKED = ("synonyms", "documentation", "error", "message")
COLUMNS = {
    QUOTAS: (CLUSTER_ID, *schemas.QUOTAS.names),
    CONFIGS: (CLUSTER_ID, *(name for name in schemas.CONFIGS.names if name not in _NOT_ASKED)),
    EFFECTIVE: (CLUSTER_ID, *schemas.EFFECTIVE.names),
    TREE: (CLUSTER_ID, *schemas.TREE.names),
    FINDINGS: (CLUSTER_ID, *(name for name in schemas.FINDINGS.names if name not in ("op", "mend", "error"))),
}
"""The frames that a rule may be about, and their columns."""

NUMBERS = {QUOTAS: ("value",), CONFIGS: ("value",), EFFECTIVE: ("value",), TREE: ("value",), FINDINGS: ()}
"""The columns that are compared as numbers."""

OF_QUOTAS, OF_CONFIGS = (QUOTAS, EFFECTIVE, TREE), (CONFIGS, FINDINGS)
"""The frames that a frame is made of."""


def null_of(frame: str, column: str) -> str:
    """The meaning of a null in that column."""
    if column != "value":
        return NOTHING
    return {EFFECTIVE: UNLIMITED, CONFIGS: UNKNOWN, FINDINGS: UNKNOWN}.get(frame, NOTHING)


@dataclass(frozen=True)
class PolicyFacts:
    """Quotas and configs of one cluster at one time. None: not read; `scopes`, where known, say more.

    `pairs` are the known clients. Without them EFFECTIVE is about the `possible` ones; `named`, where given, are those
    of another time too. `reassigning` says whether partitions are being moved, None that nobody asked; `by_callback`
    that a broker decides by a class of its own; `complete` is of the snapshot; `resources` are all that
    there are, where somebody knows.
    """

    cluster_id: str
    quotas: pa.Table | None
    configs: pa.Table | None
    pairs: pa.Table | None = None
    reassigning: bool | None = None
    scopes: Collection[str] | None = None
    named: PossibleClients | None = None
    by_callback: bool = False
    complete: bool = True
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
        if name in OF_CONFIGS:
            configs = schemas.CONFIGS.empty() if self.configs is None else self.configs
            return _readable(configs) if name == CONFIGS else findings(configs, self.reassigning)
        quotas = schemas.QUOTAS.empty() if self.quotas is None else self.quotas.select(schemas.QUOTAS.names)
        if name == QUOTAS:
            return quotas
        if name == TREE:
            whole = tree(quotas)
            return whole.filter(pc.is_valid(whole["key"]))
        return resolve(quotas, self.possible.pairs if self.pairs is None else self.pairs, keys=keys)

    @property
    def possible(self) -> PossibleClients:
        """The clients that quotas tell apart, where none are known."""
        if POSSIBLE not in self._made:
            quotas = schemas.QUOTAS.empty() if self.quotas is None else self.quotas
            self._made[POSSIBLE] = self.named or PossibleClients.of(quotas)
        clients: PossibleClients = self._made[POSSIBLE]
        return clients

    def resource(self, frame: str, row: Row) -> str:
        """The entity or resource of a row, in the words of the grammar."""
        if frame in (QUOTAS, TREE):
            return str(row["entity"])
        if frame in OF_CONFIGS:
            return str(Resource(row["resource_type"], row["resource_name"]))
        return f"{self._part('user', row['user'])} {self._part('client-id', row['client_id'])}"

    def _part(self, kind: str, name: str) -> str:
        is_any = self.pairs is None and name == self.possible.other
        return f"{kind}=<any other>" if is_any else format_word(kind, name)

    def unread(self, frame: str, kinds: Collection[str]) -> Iterator[str]:
        """The unread parts of a frame, a sentence each; of configs only resources of `kinds` matter."""
        if frame in OF_QUOTAS:
            yield from self._unread_quotas(frame)
        elif self.configs is None:
            yield "the configs were not read"
        else:
            if not self.complete and not self.forbidden(frame):
                yield "the snapshot is not complete"
            yield from (f"the configs of type {kind} were not read" for kind in kinds if not self._reads(kind))

    def _unread_quotas(self, frame: str) -> Iterator[str]:
        if self.quotas is None or not self._reads(QUOTAS):
            yield "the quotas were not read"
        elif frame == EFFECTIVE and self._decides_by_callback:
            yield f"a broker sets {CALLBACK}: what binds a client nobody outside can tell"

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
        if frame not in OF_CONFIGS or self.configs is None or "error" not in self.configs.column_names:
            return []
        return list(self.configs.filter(pc.is_valid(self.configs["error"])).to_pylist())

    @property
    def _decides_by_callback(self) -> bool:
        if self.by_callback or self.configs is None:
            return self.by_callback
        rows = self.configs.filter(pc.equal(self.configs["key"].cast(pa.string()), CALLBACK))
        return any(value for value in rows["value"].to_pylist())


def _readable(configs: pa.Table) -> pa.Table:
    good = pc.is_valid(configs["key"])
    if "error" in configs.column_names:
        good = pc.and_(good, pc.is_null(configs["error"]))
    configs = configs.filter(good)
    for name in (name for name in COLUMNS[CONFIGS][1:] if name not in configs.column_names):
        configs = configs.append_column(name, pa.nulls(len(configs), schemas.CONFIGS.schema.field(name).type))
    return configs


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
