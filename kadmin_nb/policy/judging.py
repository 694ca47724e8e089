"""The verdicts of rules, as findings: one for each row that breaks a rule, one for a rule that is kept or not known."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..errors import KadminError
from ..model.findings import DANGER, FAILED, OK, SKIPPED, UNKNOWN, WARNING, Finding, Row
from ..model.grammar import format_word
from ..model.quota_keys import readable, text_of
from ..model.resources import Resource
from ..resolution.input_columns import CLUSTER
from .rule_frames import NO_PLAN, OTHER, ClusterFrames, GivenFrames, RuleFrames
from .rules import Rule

KEPT, BROKEN, AS_BEFORE, NOT_KNOWN, NO_PLAN_STATE = "kept", "broken", "as before", "unknown", "no plan"
"""The words of the column `state`. `as before`: broken without the plan, too, and the plan makes it no worse."""

EXCESS = "excess"
"""The column of a breach by which a rule says how far beyond its bound a row is."""

_STATES = {KEPT: OK, NOT_KNOWN: UNKNOWN, AS_BEFORE: WARNING, NO_PLAN_STATE: SKIPPED}
_IDENTITY = (
    CLUSTER, "entity", "resource", "resource_type", "resource_name", "user", "client_id", "ip", "broker", "key",
)  # fmt: skip
_OF_NO_VALUE = ("is_sensitive", "is_read_only", "is_default", "type")
"""The columns of CONFIGS that nobody knows of a value that is to be set."""

_NONE_BEFORE: Sequence[Row] = ()


def findings(rules: Iterable[Rule], frames: RuleFrames, before: RuleFrames | None = None) -> list[Finding]:
    """The findings of these rules; `before` has the frames without the plan that is judged."""
    return [finding for rule in rules for finding in _judged(rule, frames, before)]


def _judged(rule: Rule, frames: RuleFrames, before: RuleFrames | None) -> Iterator[Finding]:
    if "plan" in rule.takes and isinstance(frames, ClusterFrames) and frames.plan is None:
        yield verdict(rule, NO_PLAN_STATE, f"it is about a plan, and {NO_PLAN}")
        return
    absent = [reason for name in rule.takes if (reason := frames.absent(name))]
    if absent:
        yield verdict(rule, NOT_KNOWN, "; ".join(absent))
        return
    rows = rule.broken_by({name: frames.frame(name) for name in rule.takes})
    was = _Before(_rows_before(rule, before))
    is_fleet = isinstance(frames, GivenFrames)
    states = [AS_BEFORE if was.had(row) else BROKEN for row in rows]
    for state in (BROKEN, AS_BEFORE):
        yield from (_breach(rule, row, state, is_fleet) for row, its in zip(rows, states, strict=True) if its == state)
    unread = list(dict.fromkeys(reason for name in rule.takes for reason in frames.unread(name)))
    yield from (verdict(rule, NOT_KNOWN, reason) for reason in unread)
    if not rows and not unread:
        yield verdict(rule, KEPT, rule.reason)


def _rows_before(rule: Rule, before: RuleFrames | None) -> Sequence[Row]:
    """What breaks it without the plan. All that a rule finds in a plan is the plan's."""
    if before is None or "plan" in rule.takes:
        return _NONE_BEFORE
    return rule.broken_by({name: before.frame(name) for name in rule.takes})


class _Before:
    """The rows that broke a rule before a plan."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._excess: dict[str, float] = {}
        for row in rows:
            identity = _identity(row)
            self._excess[identity] = max(_excess(row), self._excess.get(identity, -math.inf))

    def had(self, row: Row) -> bool:
        """True if the same row broke the rule; one with an excess is the same while that has not grown."""
        return _excess(row) <= self._excess.get(_identity(row), -math.inf)


def _identity(row: Row) -> str:
    """What tells a row from others: the names in it where it has an excess, else all of it."""
    if EXCESS in row:
        return _as_json({name: row.get(name) for name in _IDENTITY})
    return _as_json({name: cell for name, cell in row.items() if name not in _OF_NO_VALUE})


def _excess(row: Row) -> float:
    excess = row.get(EXCESS)
    return float(excess) if isinstance(excess, int | float) else 0.0


def _as_json(row: Row) -> str:
    return json.dumps(row, default=str, ensure_ascii=False)


def _breach(rule: Rule, row: Row, state: str, is_fleet: bool) -> Finding:
    resource, value = _resource(row), _value(row)
    key = str(row.get("key") or "")
    message = _message(row, resource, key)
    if state == AS_BEFORE:
        message += ", as without the plan"
    return verdict(
        rule, state, message, resource, key, value=value, row=_as_json(row),
        cluster_id=str(row[CLUSTER]) if is_fleet and row.get(CLUSTER) else None,
    )  # fmt: skip


def verdict(
    rule: Rule, state: str, message: str, resource: str | None = None, key: str = "", **evidence: Any
) -> Finding:
    severity = _STATES.get(state, DANGER if rule.severity == DANGER else FAILED)
    is_ok = {KEPT: True, NOT_KNOWN: None, NO_PLAN_STATE: None}.get(state, False)
    told = {"severity": rule.severity, "state": state, "ok": is_ok, "reason": rule.reason, **evidence}
    return Finding(rule.name, severity, message, resource, key, evidence=told)


def _message(row: Row, resource: str | None, key: str) -> str:
    """What a row says, as far as it has the columns of a frame."""
    if not key or not ({"value", "after"} & row.keys()):
        cells = ", ".join(f"{name}={value}" for name, value in row.items() if value is not None)
        return cells if resource is None else f"{resource}: {cells}"
    value = row.get("value", row.get("after"))
    if value is None:
        text = "unlimited" if "bucket_user" in row else "not set"
    else:
        text = readable(key, value) if isinstance(value, float) else str(value)
    said = f"{key} is {text}"
    return said if resource is None else f"{resource}: {said}"


def _value(row: Row) -> str | None:
    """The value of a row, as the broker takes it."""
    value = row.get("value", row.get("after"))
    if value is None:
        return "unlimited" if "bucket_user" in row else None
    return text_of(value) if isinstance(value, float) else str(value)


def _resource(row: Row) -> str | None:
    """The entity, resource or client that a row is about, as it would be typed; None where no column says."""
    for name in ("entity", "resource"):
        if row.get(name):
            return str(row[name])
    if row.get("resource_type"):
        try:
            return str(Resource(str(row["resource_type"]), str(row.get("resource_name") or "")))
        except KadminError:
            return f"{row['resource_type']}={row.get('resource_name')}"
    parts = [("user", row.get("user")), ("client-id", row.get("client_id")), ("ip", row.get("ip"))]
    named = [_part(kind, str(name)) for kind, name in parts if name is not None]
    return " ".join(named) or None


def _part(kind: str, name: str) -> str:
    return f"{kind}={OTHER}" if name.startswith(OTHER) else format_word(kind, name)
