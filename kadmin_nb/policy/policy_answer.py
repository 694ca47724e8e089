"""POLICY as an answer: counted first, what is broken shown, and turned into a refusal where a plan breaks it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote
from xml.etree import ElementTree as xml

import pyarrow as pa

from .. import files
from ..errors import ExitState, Invalid, KadminError, PlanRefused, printable
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Page
from ..frames.frame import FRAME
from ..hints import Hint, Verb, sentence
from ..model.findings import FAILED, OK, UNKNOWN, Finding
from ..version import VERSION
from .facts import CLUSTER_ID
from .rules import AS_BEFORE, BROKEN, KEPT, REFUSE, WARN

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan


CHECK = Verb("policy check --plan FILE", "policy.check(plan, on=cluster)")
RULES_TOLD = 3
"""Broken rules that a refusal tells, with a breach of each."""

_SAID = {
    (BROKEN, REFUSE): "broken",
    (BROKEN, WARN): "broken (warns)",
    (UNKNOWN, REFUSE): "not known",
    (UNKNOWN, WARN): "not known (warns)",
    (AS_BEFORE, REFUSE): "broken as before",
    (AS_BEFORE, WARN): "broken as before (warns)",
    (KEPT, REFUSE): "kept",
    (KEPT, WARN): "kept",
}


class PolicyAnswer(Findings):
    """POLICY. A row fails if a refusing rule is broken, or cannot be checked; for a plan, only if the plan is the
    cause.
    """

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
        """The rules that are broken, warnings included."""
        return self.of(finding for finding in self.findings if finding.severity != OK)

    def raise_for_errors(self) -> Self:
        """Itself if every refusing rule is kept.

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
            It breaks a rule, or makes it worse; the message has the rule and its reason.
        """
        if complaint := self._blame():
            hint = Hint("Nothing was sent.", sentence("{} shows all of it.", CHECK))
            raise PlanRefused(f"plan {plan.id[:12]} breaks {complaint}", code="POLICY", hint=hint)
        return self

    @property
    def remarks(self) -> list[str]:
        """A line for each broken rule that does not fail: it only warns, or was broken before."""
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
        worst: dict[str, int] = {}
        states = list(_SAID)
        for finding in self.findings:
            rank = states.index((finding.evidence["state"], finding.evidence["severity"]))
            worst[finding.code] = min(rank, worst.get(finding.code, rank))
        counted = Counter(_SAID[states[rank]] for rank in sorted(worst.values()))
        rules = f"{len(worst)} rule{'s' * (len(worst) != 1)}"
        return printable(", ".join([rules, *(f"{count} {said}" for said, count in counted.items())]))

    def _shown(self) -> pa.Table:
        names = ("cluster_id", "rule", "severity", "state", "message", "wanted", "reason")
        return self.broken._table.select([name for name in names if name in self._table.column_names])

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        shown = self._shown()
        return [shown] if len(shown) else []


def _breach_texts(findings: Iterable[Finding]) -> list[str]:
    """Each rule's first breach, how many more there are, and its reason."""
    breaches: dict[str, list[Finding]] = {}
    for finding in findings:
        breaches.setdefault(finding.code, []).append(finding)
    return [_breach_text(*of_rule) for of_rule in breaches.values()]


def _breach_text(first: Finding, *more: Finding) -> str:
    also = f", and {len(more):,} more" if more else ""
    return f"{first.code}: {first.message} (wanted {first.evidence['wanted']}){also}; {first.evidence['reason']}"


class FleetPolicyAnswer(PolicyAnswer):
    """POLICY of several clusters, with a leading `cluster_id`."""

    schema = pa.schema([pa.field("cluster_id", pa.string(), nullable=False), *schemas.POLICY.schema], {FRAME: "POLICY"})


def together(answers: Mapping[str, PolicyAnswer]) -> PolicyAnswer:
    """POLICY of several clusters."""
    return FleetPolicyAnswer(f.with_(cluster_id=id_) for id_, answer in answers.items() for f in answer.findings)


# --- findings as JUnit's XML, which every CI shows: a test case a rule ---


def write_report(findings: Iterable[Finding], place: Path, suite: str) -> None:
    """Write it to a file: a breach is a failure, what cannot be known an error, a warning a line of output.

    Raises
    ------
    NotFound, Invalid
        The file cannot be written.
    """
    files.write(place, document(findings, suite))


def document(findings: Iterable[Finding], suite: str) -> str:
    """The XML; control characters, which XML has no way to say, as escapes."""
    cases = [_case(list(several)) for _, several in groupby(findings, lambda f: (f.evidence.get(CLUSTER_ID), f.code))]
    failures, errors = (sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error"))
    counted = {"tests": len(cases), "failures": failures, "errors": errors}
    root = xml.Element("testsuite", {"name": printable(suite), **{name: str(n) for name, n in counted.items()}})
    root.extend(cases)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _case(findings: Sequence[Finding]) -> xml.Element:
    first = findings[0]
    case = xml.Element(
        "testcase", name=printable(first.code), classname=printable(first.evidence.get(CLUSTER_ID, "policy"))
    )
    for kind, severity in (("failure", FAILED), ("error", UNKNOWN)):
        if matching := [finding for finding in findings if finding.severity == severity]:
            xml.SubElement(case, kind, message=printable(first.evidence["reason"])).text = _message_lines(matching)
            break
    else:
        if matching := [finding for finding in findings if finding.severity != OK]:
            xml.SubElement(case, "system-out").text = _message_lines(matching)
    return case


def _message_lines(findings: Iterable[Finding]) -> str:
    return "\n".join(printable(f"{finding.message} (wanted {finding.evidence['wanted']})") for finding in findings)


# --- findings as SARIF 2.1.0, which code scanning shows beside a pull request: a result a breach ---


def write_sarif(findings: Iterable[Finding], place: Path, policy: str) -> None:
    """Write it to a file: each result is an error, or a warning where the rule warns, at the policy's file.

    Raises
    ------
    NotFound, Invalid
        The file cannot be written.
    """
    breaches = [finding for finding in findings if finding.severity != OK]
    reasons = {finding.code: printable(finding.evidence["reason"]) for finding in breaches}
    rules = [{"id": printable(code), "shortDescription": {"text": text}} for code, text in sorted(reasons.items())]
    driver = {"name": "kadmin_nb", "version": VERSION, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(finding, policy) for finding in breaches]}
    files.write(place, json.dumps({"version": "2.1.0", "runs": [run]}, indent=1) + "\n")


def _result(finding: Finding, policy: str) -> dict[str, Any]:
    cluster_id = finding.evidence.get(CLUSTER_ID)
    location = {"physicalLocation": {"artifactLocation": {"uri": quote(policy)}, "region": {"startLine": 1}}}
    return {
        "ruleId": printable(finding.code),
        "level": "error" if finding.severity in (FAILED, UNKNOWN) else "warning",
        "message": {"text": printable(f"{cluster_id}: {finding.message}" if cluster_id else finding.message)},
        "locations": [location],
    }
