"""The verdicts of rules, as findings: one for each row that breaks a rule, one for a rule that is kept or not known.
POLICY is the answer with them: counted first, what is broken shown, and a refusal where a plan breaks it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

from ..errors import ExitState, Invalid, KadminError, PlanRefused, printable
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Page
from ..hints import Hint, Verb, sentence, short_id
from ..model.findings import DANGER, FAILED, OK, SKIPPED, UNKNOWN, WARNING, Finding, Row
from ..model.grammar import DEFAULT, format_word
from ..model.quota_keys import readable, text_of
from ..model.resources import Resource
from ..resolution.input_columns import CLUSTER
from .rule_frames import NO_PLAN, ClusterFrames, GivenFrames, RuleFrames
from .rule_functions import Rule

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan

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
    earlier = []
    if before is not None and "plan" not in rule.takes:  # all that a rule finds in a plan is the plan's
        earlier = rule.broken_by({name: before.frame(name) for name in rule.takes})
    was = {_identity(row): _excess(row) for row in sorted(earlier, key=_excess)}
    is_fleet = isinstance(frames, GivenFrames)
    # the same row broke the rule; one with an excess is the same while that has not grown
    states = [AS_BEFORE if _excess(row) <= was.get(_identity(row), -math.inf) else BROKEN for row in rows]
    for state in (BROKEN, AS_BEFORE):
        yield from (_breach(rule, row, state, is_fleet) for row, its in zip(rows, states, strict=True) if its == state)
    unread = list(dict.fromkeys(reason for name in rule.takes for reason in frames.unread(name)))
    yield from (verdict(rule, NOT_KNOWN, reason) for reason in unread)
    if not rows and not unread:
        yield verdict(rule, KEPT, rule.reason)


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
    text = readable(key, value) if isinstance(value, float) else _value(row) or "not set"
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
    if "bucket_user" in row:  # null is each name that no quota has
        row = {"user": DEFAULT, "client_id": DEFAULT} | {name: cell for name, cell in row.items() if cell is not None}
    parts = [("user", row.get("user")), ("client-id", row.get("client_id")), ("ip", row.get("ip"))]
    named = [format_word(kind, name) for kind, name in parts if name is not None]
    return " ".join(named) or None


# --- the answer ---


CHECK = Verb("policy check policies.py PLAN", "kn.check('policies.py', plan)")

_WORST_FIRST = (BROKEN, NOT_KNOWN, AS_BEFORE, NO_PLAN_STATE, KEPT)
_SAID = {NOT_KNOWN: "not known", AS_BEFORE: "broken as before", NO_PLAN_STATE: "without a plan"}


class PolicyAnswer(Findings):
    """POLICY. A row fails if its rule is broken, or cannot be checked; for a plan, only if the plan is the cause."""

    _is_frame = False
    schema = schemas.POLICY

    def __init__(self, findings: Iterable[Finding], cluster_id: str | None = None, *, about_plan: bool = False) -> None:
        super().__init__(findings, cluster_id)
        self.failing = (FAILED,) if about_plan else (FAILED, UNKNOWN)

    def _exit_state(self, detailed: bool = False) -> ExitState:
        """Broken rules are differences where everything could be judged."""
        if self.ok:
            return ExitState.DONE
        is_judged = all(finding.severity == FAILED for finding in self.failed.findings)
        return ExitState.DIFFERENCES if detailed and is_judged else ExitState.FAILED

    @property
    def broken(self) -> Self:
        """The rows that break a rule, and the rules that are not known."""
        return self.of(finding for finding in self.findings if finding.severity not in (OK, SKIPPED))

    def raise_for_errors(self) -> Self:
        """Itself if every rule is kept, but for those whose breach is a danger.

        Raises
        ------
        Invalid
            One is broken, with its reason, or cannot be checked.
        """
        if complaint := self._blame():
            raise Invalid(f"the policy is broken: {complaint}", code="POLICY")
        return self

    def refuse(self, plan: Plan) -> Self:
        """Itself if the plan breaks no rule.

        Raises
        ------
        PlanRefused
            It breaks a rule; the message has the rule and its reason.
        """
        if complaint := self._blame():
            hint = Hint("Nothing was sent.", sentence("{} shows all of it.", CHECK))
            raise PlanRefused(f"plan {short_id(plan.id)} breaks {complaint}", code="POLICY", hint=hint)
        return self

    def dangers(self, plan: Plan) -> list[Finding]:
        """The dangers of a plan that its rules see, each at the row that is broken, else at the first."""
        found = []
        for breach in self.findings if plan.changes else ():
            if breach.severity == DANGER:
                named = (c for c in plan.changes if str(c.resource) == breach.target and c.key == breach.key)
                change = next(named, plan.changes[0])
                found.append(Finding.about(change, DANGER, breach.code, _breach_text(breach)))
        return found

    @property
    def remarks(self) -> list[str]:
        """A line for each rule that is broken or not known and does not fail."""
        failed = {finding.code for finding in self.failed.findings}
        others = (finding for finding in self.broken.findings if finding.code not in failed)
        return [f"policy: {breach}" for breach in _breach_texts(others)]

    def _blame(self) -> str:
        first, *more = _breach_texts(self.failed.findings) or [""]
        return f"{first} | and {len(more):,} more rule{'s' * (len(more) > 1)}" if more else first

    def _error(self, row: dict[str, Any]) -> KadminError:
        return Invalid(f"{row['rule']}: {row['message']}", code="POLICY")

    def _title(self) -> str:
        """Counts of the rules, and of those in each state."""
        worst: dict[str, Finding] = {}
        for finding in sorted(self.findings, key=_rank):
            worst.setdefault(finding.code, finding)
        states = [one.evidence["state"] for one in sorted(worst.values(), key=_rank)]
        counted = Counter(_SAID.get(state, state) for state in states)
        rules = f"{len(worst)} rule{'s' * (len(worst) != 1)}"
        return printable(", ".join([rules, *(f"{count} {said}" for said, count in counted.items())]))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        shown = self.broken._table
        names = ["rule", "severity", "state", "message", "reason"]
        if shown["cluster_id"].null_count < len(shown):
            names.insert(0, "cluster_id")
        return [shown.select(names)] if len(shown) else []


def _rank(finding: Finding) -> int:
    return _WORST_FIRST.index(finding.evidence["state"])


def _breach_texts(findings: Iterable[Finding]) -> list[str]:
    """Each rule's first breach, how many more there are, and its reason."""
    breaches: dict[str, list[Finding]] = {}
    for finding in findings:
        breaches.setdefault(finding.code, []).append(finding)
    return [_breach_text(*of_rule) for of_rule in breaches.values()]


def _breach_text(first: Finding, *more: Finding) -> str:
    also = f", and {len(more):,} more" if more else ""
    return f"{first.code}: {first.message}{also}; {first.evidence['reason']}"
