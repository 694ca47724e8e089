"""The frames that rules take: of one cluster at one time, as it is or as a plan leaves it, and those that are given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import WrongCluster
from ..frames import schemas
from ..frames import spark as sparks
from ..frames.answer import Answer
from ..frames.given_frames import to_pandas
from ..hints import short_id
from ..model.config_values import ConfigValue
from ..model.findings import Row
from ..model.quota_keys import CALLBACK
from ..model.resources import Source
from ..resolution.input_columns import CLUSTER
from ..resolution.kernel import resolve, resolve_general
from ..state.snapshot_kinds import CONFIGS, KINDS, QUOTAS, SnapshotKind, title_of_part
from ..state.snapshots import Snapshot

if TYPE_CHECKING:
    from ..plans.plan import Plan

_BROKERS, _TOPICS = "BROKER", "TOPIC"
MADE_OF: Mapping[str, SnapshotKind] = {**KINDS, "effective": QUOTAS}
"""The kind of a snapshot's frames that a rule's frame is made of."""

NO_PLAN = "none was given"


@dataclass(frozen=True)
class ClusterFrames:
    """The frames of one cluster at one time, out of a snapshot.

    `clients` are the known clients, PAIRS; without them EFFECTIVE is of all that quotas tell apart, or of `possible`
    ones of another time too. `users` is USERS, `users_unread` what it does not have; `by_callback` says that a broker
    decides by a class of its own; `tables` are the frames of the snapshot as a plan leaves them.
    """

    snapshot: Snapshot
    tables: Mapping[str, pa.Table]
    clients: pa.Table | None = None
    users: pa.Table | None = None
    users_unread: Collection[str] = ()
    by_callback: bool = False
    plan: Plan | None = None
    possible: pa.Table | None = field(default=None, repr=False)

    @classmethod
    def of(cls, snapshot: Snapshot, clients: pa.Table | None = None, **more: Any) -> ClusterFrames:
        """The frames of a snapshot."""
        tables = {name: answer.to_arrow() for name, answer in snapshot.frames.items()}
        return cls(snapshot, tables, clients, **more)

    def absent(self, name: str) -> str | None:
        """Why the frame of that name cannot be had; None where it can."""
        if name == "plan":
            return NO_PLAN if self.plan is None else None
        if name == "users":
            return "users are read from a live cluster alone" if self.users is None else None
        kind = MADE_OF[name]
        if {*kind.scopes}.isdisjoint(self.snapshot.scopes):
            return f"the {kind.title} were not read{self._reason(kind.scopes)}"
        return self._no_limits() if name == "effective" else None

    def _no_limits(self) -> str | None:
        """Why nobody can say which limits apply."""
        configs = self.tables[CONFIGS.name]
        callbacks = configs.filter(pc.equal(configs["key"].cast(pa.string()), CALLBACK))["value"]
        if self.by_callback or any(callbacks.to_pylist()):
            return f"a broker sets {CALLBACK}, so the limits of clients cannot be known"
        if any(part.scope == _BROKERS for part in self.snapshot.unread):
            return f"whether a broker sets {CALLBACK} is not known{self._reason([_BROKERS])}"
        return None

    def unread(self, name: str) -> Iterator[str]:
        """The parts of a frame that can be had which could not be read, a phrase each."""
        if name == "users":
            yield from self.users_unread
        if name != CONFIGS.name:
            return
        unread = {part.scope for part in self.snapshot.unread}
        unread |= {_TOPICS, _BROKERS} - {*self.snapshot.scopes}
        yield from (
            f"the {title_of_part(scope)} were not read{self._reason([scope])}"
            for scope in CONFIGS.scopes
            if scope in unread
        )
        configs = self.tables[CONFIGS.name]
        failed = configs.filter(pc.is_valid(configs["error"])).to_pylist()
        yield from (f"{CONFIGS.resource(row)} could not be read: {row['error']}" for row in failed)
        if not failed and not self.snapshot.unread and not self.snapshot.complete:
            yield "the snapshot is not complete"

    def _reason(self, scopes: Iterable[str]) -> str:
        """The reason why one of these parts was not read, after a colon, where it is known."""
        return next((f": {part.in_one_line()}" for part in self.snapshot.unread if part.scope in scopes), "")

    def frame(self, name: str) -> Any:
        """The frame of that name, of pandas."""
        if name == "plan":  # with the `danger` of each row, null where it has none
            assert self.plan is not None
            dangers = {row["row"]: row["message"] for row in self.plan.dangers().to_arrow().to_pylist()}
            rows = self.plan.to_arrow()
            words = [dangers.get(row) for row in rows["row"].to_pylist()]
            return to_pandas(rows.append_column("danger", pa.array(words, pa.string())))
        if name == "effective":
            return to_pandas(self._led(self._effective()))
        return to_pandas(self._led(self.users if name == "users" else _readable(self.tables[name], KINDS[name])))

    def _effective(self) -> pa.Table:
        quotas = self._quotas
        if self.clients is not None:
            return resolve(quotas, self.clients)
        return resolve_general(quotas, possible_clients(quotas) if self.possible is None else self.possible)

    @property
    def _quotas(self) -> pa.Table:
        return self.tables[QUOTAS.name].select(schemas.QUOTAS.names)

    def _led(self, table: pa.Table) -> pa.Table:
        """The frame with the id of the cluster in front, as frames of a fleet have it."""
        ids = pa.repeat(pa.scalar(self.snapshot.cluster_id, pa.string()), len(table))
        return table if CLUSTER in table.column_names else table.add_column(0, CLUSTER, ids)

    def after(self, plan: Plan) -> tuple[ClusterFrames, ClusterFrames]:
        """The frames without and with the plan applied, with the possible clients of both.

        Raises
        ------
        WrongCluster
            The plan was made for another cluster.
        """
        if plan.cluster_id != self.snapshot.cluster_id:
            raise WrongCluster(
                f"plan {short_id(plan.id)} was made for cluster {plan.cluster_id}, not for {self.snapshot.cluster_id}"
            )
        tables = {name: after(KINDS[name], table, plan) for name, table in self.tables.items()}
        then = replace(self, tables=tables, plan=plan)
        named = [side._quotas.select(["user", "client_id"]).cast(_NAMES) for side in (self, then)]
        both = possible_clients(pa.concat_tables(part.replace_schema_metadata() for part in named))
        return replace(self, possible=both), replace(then, possible=both)


_NAMES = pa.schema([schemas.QUOTAS.schema.field("user"), schemas.QUOTAS.schema.field("client_id")])


@dataclass(frozen=True)
class GivenFrames:
    """Frames that were given by the names of rules' parameters: of a fleet in Spark, or of anything else."""

    given: Mapping[str, Any]

    def absent(self, name: str) -> str | None:
        """Why the frame of that name cannot be had; None where it can."""
        return None if name in self.given else f"no frame {name} was given"

    def unread(self, name: str) -> Iterator[str]:
        """The clusters whose snapshot is not complete, a phrase each."""
        frame = self.given[name]
        if not sparks.is_spark(frame) or not {"complete", CLUSTER} <= {*frame.columns}:
            return
        parts = frame.where("not complete").select(CLUSTER).distinct().limit(_MOST_CLUSTERS)
        with sparks.errors_in_one_line():
            found = sorted(parts.toArrow()[CLUSTER].to_pylist())
        yield from (f"the snapshot of cluster {cluster_id} is not complete" for cluster_id in found)

    def frame(self, name: str) -> Any:
        """The frame of that name."""
        frame = self.given[name]
        return frame.to_pandas() if isinstance(frame, Answer | pa.Table) else frame


_MOST_CLUSTERS = 100

RuleFrames = ClusterFrames | GivenFrames
"""What rules are judged on."""


def _readable(table: pa.Table, kind: SnapshotKind) -> pa.Table:
    """The rows of a frame that could be read, with the columns that rules see."""
    good = pc.is_valid(table["key"])
    if "error" in table.column_names:
        good = pc.and_(good, pc.is_null(table["error"]))
    return table.filter(good).select([column for column in kind.columns if column != "synonyms"])


# --- the frames as a plan leaves them ---


def after(kind: SnapshotKind, table: pa.Table, plan: Plan) -> pa.Table:
    """The frame of what is set, as the plan leaves it."""
    changes = {(str(c.resource), c.key): c for c in plan.changes if c.resource.scope in kind.scopes}
    if not changes:
        return table
    if kind is QUOTAS:  # which may be a fleet's
        return plan.quotas_after(table.select(schemas.QUOTAS.names))
    rows = []
    for row in table.to_pylist():
        change = changes.get((kind.resource(row), row["key"]))
        if change is None:
            rows.append(row)
        elif change.after is None:
            rows += _uncovered(row)
    left = ((change.target, kind.text_after(change)) for change in changes.values())
    rows += [kind.row(resource, key, text) for (resource, key), text in left if text is not None]
    return schemas.table(kind.schema, rows)


def _uncovered(row: Row) -> list[Row]:
    """The value on a broker when its dynamic value goes: the one in its file."""
    if "source" not in row:
        return []
    if row["source"] == Source.FILE:
        return [row]
    below = ConfigValue.of(row).inherited
    if below is None or below.source != Source.FILE or below.key != row["key"]:
        return []
    synonyms = [s for s in row["synonyms"] if s["source"] == Source.FILE]
    return [{**row, "value": below.text, "source": Source.FILE, "synonyms": synonyms}]


# --- the clients that a set of quotas can tell apart, for when nobody says which clients there are ---


def possible_clients(quotas: pa.Table) -> pa.Table:
    """PAIRS that represent all clients of these quotas, in which null is each name that no quota has: each stored pair,
    and each named user, and any other, with such a client-id and without one."""
    pairs = {*zip(quotas["user"].to_pylist(), quotas["client_id"].to_pylist(), strict=True)}
    pairs |= {(user, client_id) for user in {None, *(user for user, _ in pairs)} for client_id in (None, "")}
    rows = sorted(pairs, key=lambda pair: [(name is None, name or "") for name in pair])
    columns = [pa.array([row[place] for row in rows], pa.string()) for place in (0, 1)]
    return pa.table(columns, ["user", "client_id"])
