"""POLICY as an answer: counted first, what is broken shown, and turned into a refusal where a plan breaks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from ..errors import ExitState, Invalid, KadminError, PlanRefused, printable
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Page
from ..hints import Hint, Verb, sentence
from ..model.findings import DANGER, FAILED, OK, SKIPPED, UNKNOWN, Finding
from .judging import AS_BEFORE, BROKEN, KEPT, NO_PLAN_STATE, NOT_KNOWN

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan


CHECK = Verb("policy check policies.py PLAN", "kn.check('policies.py', plan)")
RULES_TOLD = 3
"""Broken rules that a refusal tells, with a breach of each."""

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
            raise PlanRefused(f"plan {plan.id[:12]} breaks {complaint}", code="POLICY", hint=hint)
        return self

    def dangers(self, plan: Plan) -> list[Finding]:
        """The dangers of a plan that its rules see: they stand at the row that is broken, else at the first."""
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
        breach_texts = _breach_texts(self.failed.findings)
        more = len(breach_texts[RULES_TOLD:])
        return " | ".join(
            [*breach_texts[:RULES_TOLD], *([f"and {more:,} more rule{'s' * (more > 1)}"] if more else [])]
        )

    def _error(self, row: dict[str, Any]) -> KadminError:
        return Invalid(f"{row['rule']}: {row['message']}", code="POLICY")

    def _title(self) -> str:
        """Counts of the rules, and of those in each state."""
        worst: dict[str, tuple[int, str]] = {}
        for finding in self.findings:
            state = finding.evidence["state"]
            said = _SAID.get(state, state) + (" (danger)" if finding.severity == DANGER else "")
            rank = (_WORST_FIRST.index(state), said)
            worst[finding.code] = min(rank, worst.get(finding.code, rank))
        counted = Counter(said for _, said in sorted(worst.values()))
        rules = f"{len(worst)} rule{'s' * (len(worst) != 1)}"
        return printable(", ".join([rules, *(f"{count} {said}" for said, count in counted.items())]))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        shown = self.broken._table
        names = ["rule", "severity", "state", "message", "reason"]
        if shown["cluster_id"].null_count < len(shown):
            names.insert(0, "cluster_id")
        return [shown.select(names)] if len(shown) else []


def _breach_texts(findings: Iterable[Finding]) -> list[str]:
    """Each rule's first breach, how many more there are, and its reason."""
    breaches: dict[str, list[Finding]] = {}
    for finding in findings:
        breaches.setdefault(finding.code, []).append(finding)
    return [_breach_text(*of_rule) for of_rule in breaches.values()]


def _breach_text(first: Finding, *more: Finding) -> str:
    also = f", and {len(more):,} more" if more else ""
    return f"{first.code}: {first.message}{also}; {first.evidence['reason']}"
