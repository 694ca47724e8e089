"""Policies beside a live cluster: what has to be read to judge it, and which policies are in force."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .. import files
from ..client_configs.kafka import LiveKafka
from ..errors import NotKnowable, UsageError
from ..frames.snapshot_kinds import CONFIGS
from ..model.changes import Change
from ..model.connection_settings import Settings
from ..model.findings import Finding
from ..policy import Policy, PolicyAnswer, load
from ..policy.evaluation import facts_of
from ..policy.facts import EFFECTIVE, FINDINGS, MADE_OF, PolicyFacts
from .config_audit import is_reassigning
from .snapshots import snapshot_of

if TYPE_CHECKING:
    from ..plans.plan import Plan

VARIABLE = "KADMIN_POLICY"
Given = str | os.PathLike[str] | Policy


def check(kafka: LiveKafka, policies: Iterable[Policy], plan: Plan | None = None, pairs: object = None) -> PolicyAnswer:
    """POLICY of these policies, one after the other: of the cluster as it is, or as a plan would leave it."""
    findings: list[Finding] = []
    for policy in policies:
        facts = _facts(kafka, policy)
        answer = policy.judged(facts, pairs) if plan is None else policy.judged_with(plan, facts, pairs)
        findings += answer.findings
    return PolicyAnswer(findings, kafka.id, about_plan=plan is not None)


def guard(kafka: LiveKafka, policies: Iterable[Policy], plan: Plan) -> PolicyAnswer | None:
    """Refuse a plan that breaks a rule. Only rules about what it touches are judged, and read for; None without any.

    Raises
    ------
    PlanRefused
        The rule, and its reason.
    """
    touched = {frame for change in plan.changes for frame in _touched(change)}
    parts = [part for policy in policies if len(part := policy.of_frames(touched))]
    return check(kafka, parts, plan).refuse(plan) if parts else None


def _touched(change: Change) -> tuple[str, ...]:
    """The frames in which it shows."""
    return tuple(frame for frame, kind in MADE_OF.items() if change.resource.scope in kind.scopes)


def in_force(settings: Settings, chosen: Given | Iterable[Given] | None = None) -> list[Policy]:
    """The policy of the profile, that of `$KADMIN_POLICY`, and those given: a given one adds to them.

    Raises
    ------
    NotFound, UsageError
        One of them is not there, or is none: then nothing is allowed.
    """
    several = [chosen] if isinstance(chosen, str | os.PathLike | Policy) else chosen or ()
    standing = filter(None, (settings.policy, os.environ.get(VARIABLE)))
    by_key: dict[object, Given] = {_policy_key(source): source for source in (*standing, *several)}
    return [source if isinstance(source, Policy) else load(source) for source in by_key.values()]


def policy_in_force(settings: Settings, chosen: Given | None) -> list[Policy]:
    """The one that is given, else those in force.

    Raises
    ------
    UsageError
        There is none.
    """
    policies = in_force(settings) if chosen is None else [chosen if isinstance(chosen, Policy) else load(chosen)]
    if not policies:
        raise UsageError("no policy is in force", hint=f"Name one: a file, ${VARIABLE}, or policy = … in the profile.")
    return policies


def _policy_key(source: Given) -> object:
    return source if isinstance(source, Policy) else files.expanded(source).resolve()


def _facts(kafka: LiveKafka, policy: Policy) -> PolicyFacts:
    """The frames that its rules are about; of quotas alone, whether a broker decides by a class of its own."""
    frames = {rule.frame for rule in policy.rules}
    taken = snapshot_of(kafka, [scope for kind in policy.kinds for scope in kind.scopes])
    if CONFIGS in policy.kinds:
        return facts_of(taken, is_reassigning(kafka) if FINDINGS in frames else None)
    return facts_of(taken).with_(by_callback=EFFECTIVE in frames and _by_callback(kafka))


def _by_callback(kafka: LiveKafka) -> bool:
    try:
        from .resolving import marks

        marks(kafka, assume_default=False)
    except NotKnowable:
        return True
    return False
