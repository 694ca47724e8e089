"""A scene as a plan leaves it, and what the plan is to answer for: what it breaks, or makes worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import WrongCluster
from ..frames import schemas, snapshot_kinds
from ..frames.snapshot_kinds import SnapshotKind
from ..model.config_values import ConfigValue
from ..model.findings import OK, UNKNOWN, WARNING, Finding
from ..model.resources import Source
from ..model.rows import Row
from ..secrets import SHOWN
from .facts import PolicyFacts
from .possible_clients import PossibleClients
from .rules import AS_BEFORE, BROKEN

if TYPE_CHECKING:
    from ..plans.plan import Plan


def after(scene: PolicyFacts, plan: Plan) -> PolicyFacts:
    """The scene as if the plan were applied.

    Raises
    ------
    WrongCluster
        The plan was made for another cluster.
    """
    if plan.cluster_id != scene.cluster_id:
        raise WrongCluster(f"plan {plan.id[:12]} was made for cluster {plan.cluster_id}, not for {scene.cluster_id}")
    frames = {name: _after(snapshot_kinds.KINDS[name], table, plan) for name, table in scene.frames.items()}
    return scene.with_(frames=frames)


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
