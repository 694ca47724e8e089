"""Policy: its rules, and the one evaluator that judges them, on whatever there is to judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import NotFound, UsageError, WrongCluster
from ..frames import schemas, snapshot_kinds
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..frames.snapshot_kinds import SnapshotKind
from ..frames.snapshots import Snapshot
from ..model.config_values import ConfigValue
from ..model.findings import OK, UNKNOWN, WARNING, Finding, Row
from ..model.resources import Source
from ..resolution import input_columns
from ..resolution.impact import known_clients
from ..resolution.kernel import PAIRS
from ..secrets import SHOWN
from .capacities import Capacities
from .facts import CLUSTER_ID, EFFECTIVE, MADE_OF, PolicyFacts, PossibleClients
from .policy_answer import PolicyAnswer
from .rules import AS_BEFORE, BROKEN, Rule

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan


@dataclass(frozen=True, eq=False, repr=False)
class Policy(Display):
    """The rules of one file. `source` is its name in errors, `clients` the file of PAIRS that it names.

    `refuses_dangers` is for kafka-configs, which lets dangers through where no policy says that; all others refuse.
    """

    rules: tuple[Rule, ...]
    capacities: Capacities
    source: str
    clients: Path | None = None
    refuses_dangers: bool = False

    def check(self, target: Any, *, pairs: Any = None, on: Any = None) -> PolicyAnswer:
        """POLICY: whether each rule is kept.

        Parameters
        ----------
        target
            A cluster, a snapshot, or a plan: as if it were applied, compared with the rules that are broken without it.
            For a fleet of snapshots in Spark, use `kn.fleets.policy`.
        pairs
            The known clients, PAIRS or USAGE, for rules about EFFECTIVE; default: those of the policy, or all clients
            that quotas distinguish.
        on
            The cluster or snapshot that a plan is applied to.

        Raises
        ------
        UsageError
            Something else; a plan without `on`.
        WrongCluster
            The plan was made for another cluster.
        """
        if hasattr(type(target), "changes_id"):
            return self._of_plan(target, pairs, on)
        if isinstance(target, Snapshot):
            return self.judged(facts_of(target), pairs)
        if hasattr(type(target), "check"):
            checked: PolicyAnswer = target.check(self, pairs=pairs)
            return checked
        raise UsageError(
            f"a policy cannot check a {type(target).__name__}",
            hint="Pass a cluster, a snapshot or a plan; for a fleet in Spark: kn.fleets.policy(policy, …).",
        )

    def _of_plan(self, plan: Plan, pairs: Any, on: Any) -> PolicyAnswer:
        if isinstance(on, Snapshot):
            return self.judged_with(plan, facts_of(on), pairs)
        if on is None:
            raise UsageError(
                "a cluster or a snapshot is required to check a plan",
                hint="policy.check(plan, on=cluster), or a snapshot.",
            )
        checked: PolicyAnswer = on.check(self, plan, pairs=pairs)
        return checked

    def judged(self, facts: PolicyFacts, pairs: Any = None) -> PolicyAnswer:
        """POLICY of the facts of one cluster."""
        return PolicyAnswer(self.findings(self._with_clients(facts, pairs)), facts.cluster_id)

    def judged_with(self, plan: Plan, facts: PolicyFacts, pairs: Any = None) -> PolicyAnswer:
        """POLICY of these facts as if a plan were applied; rules broken before and no worse are marked."""
        now = self._with_clients(facts, pairs)
        then = after(now, plan)
        both = within(now, then)
        findings = compared(*(self.findings(one.with_(named=both)) for one in (now, then)))
        return PolicyAnswer(findings, facts.cluster_id, about_plan=True)

    def findings(self, facts: PolicyFacts) -> list[Finding]:
        """The findings in these facts, in the order of the rules."""
        return [finding for rule in self.rules for finding in rule.judged(facts, self.capacities)]

    def of_frames(self, frames: Collection[str]) -> Policy:
        """The same with only the rules about these frames."""
        return replace(self, rules=tuple(rule for rule in self.rules if rule.frame in frames))

    @property
    def kinds(self) -> set[SnapshotKind]:
        """The kinds that its rules are about."""
        return {MADE_OF[rule.frame] for rule in self.rules}

    @property
    def asks_for_clients(self) -> bool:
        """True if one of its rules is about EFFECTIVE, the limits of clients."""
        return any(rule.frame == EFFECTIVE for rule in self.rules)

    def known_clients(self, pairs: Any = None) -> pa.Table | None:
        """PAIRS, each once, perhaps with a `cluster_id`: these, or those that the policy names, or None."""
        if not self.asks_for_clients:
            return None
        if pairs is None and self.clients is not None:
            pairs = _in_file(self.clients)
        if pairs is None:
            return None
        table = input_columns.read_columns(pairs, schemas.PAIRS.names, PAIRS)
        return known_clients(table, CLUSTER_ID in table.column_names)

    def _with_clients(self, facts: PolicyFacts, pairs: Any) -> PolicyFacts:
        return facts.with_(pairs=of_cluster(self.known_clients(pairs), facts.cluster_id))

    def __len__(self) -> int:
        return len(self.rules)

    def _title(self) -> str:
        return f"<Policy {self.source}, {len(self)} rule{'s' * (len(self) != 1)}>"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The rules, a line each."""
        from ..frames.blocks import Listing

        rules = [f"  {rule.severity:6} {rule.name}: {rule.reason}" for rule in self.rules]
        return [Listing(rules, len(rules), "rules", types=True)]


def facts_of(snapshot: Snapshot, reassigning: bool | None = None) -> PolicyFacts:
    """The facts of a snapshot, to be checked."""
    return PolicyFacts(
        snapshot.cluster_id,
        {name: answer.to_arrow() for name, answer in snapshot.frames.items()},
        reassigning=reassigning,
        scopes=snapshot.scopes,
        complete=snapshot.complete or bool(snapshot.unread),
        unread_parts={part.scope: part.in_one_line() for part in snapshot.unread},
        resources=snapshot.resources,
    )


def of_cluster(pairs: pa.Table | None, cluster_id: str) -> pa.Table | None:
    """The clients of one cluster; all of them where they do not tell."""
    if pairs is None or CLUSTER_ID not in pairs.column_names:
        return pairs
    return pairs.filter(pc.equal(pairs[CLUSTER_ID], cluster_id)).drop_columns([CLUSTER_ID])


def _in_file(place: Path) -> pa.Table:
    from ..frames.files import read_table

    if not place.exists():
        raise NotFound(f"no such file: {place}, which the policy names for its pairs")
    return read_table(place)


# --- the facts as a plan leaves them, and what the plan is to answer for: what it breaks, or makes worse ---


def after(facts: PolicyFacts, plan: Plan) -> PolicyFacts:
    """The facts as if the plan were applied.

    Raises
    ------
    WrongCluster
        The plan was made for another cluster.
    """
    if plan.cluster_id != facts.cluster_id:
        raise WrongCluster(f"plan {plan.id[:12]} was made for cluster {plan.cluster_id}, not for {facts.cluster_id}")
    frames = {name: _after(snapshot_kinds.KINDS[name], table, plan) for name, table in facts.frames.items()}
    return facts.with_(frames=frames)


def within(now: PolicyFacts, then: PolicyFacts) -> PossibleClients:
    """The possible clients of both times: else a client that a plan first names looks like a new breach."""
    parts = [s.of(snapshot_kinds.QUOTAS).select(["user", "client_id"]).cast(_NAMES) for s in (now, then)]
    return PossibleClients.of(pa.concat_tables(part.replace_schema_metadata() for part in parts))


_NAMES = pa.schema([schemas.QUOTAS.schema.field("user"), schemas.QUOTAS.schema.field("client_id")])


def _after(kind: SnapshotKind, table: pa.Table, plan: Plan) -> pa.Table:
    """The frame of what is set, as the plan leaves it."""
    changes = {(str(c.resource), c.key): c for c in plan.changes if c.resource.scope in kind.scopes}
    if not changes:
        return table
    if kind is snapshot_kinds.QUOTAS:  # which may be a fleet's
        return plan.quotas_after(table.select(schemas.QUOTAS.names))
    rows = []
    for row in table.to_pylist():
        change = changes.get((kind.resource(row), row["key"]))
        if change is None:
            rows.append(row)
        elif change.after is None:
            rows += _uncovered(row)
    texts = {c.target: SHOWN if c.is_secret else c.after for c in changes.values() if c.after is not None}
    rows += [kind.row(resource, key, text) for (resource, key), text in texts.items()]
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


def compared(before: Sequence[Finding], then: Sequence[Finding]) -> list[Finding]:
    """The findings of `then`; one that was there before and is no worse is `as before`."""
    broken_before = {_what(finding): finding for finding in before if finding.severity != OK}
    return [_beside(finding, broken_before) for finding in then]


def _what(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.target, finding.key


def _beside(finding: Finding, broken_before: Mapping[Any, Finding]) -> Finding:
    was = broken_before.get(_what(finding))
    if was is None or finding.severity == OK or _is_worse(was.evidence, finding.evidence):
        return finding
    as_before = finding.with_(state=AS_BEFORE)
    return replace(as_before, severity=WARNING, message=f"{finding.message}, as without the plan")


def _is_worse(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Further beyond its bound; where there is no bound, another value that is wrong too."""
    if was["state"] != now["state"]:
        return bool(was["state"] == UNKNOWN and now["state"] == BROKEN)
    if was["excess"] is None or now["excess"] is None:
        return bool(was["value"] != now["value"])
    return not now["excess"] <= was["excess"]
