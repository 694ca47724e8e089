"""Each answer and each error says itself how a command ends."""

from __future__ import annotations

import pytest

import kadmin_nb as kn
from kadmin_nb.errors import ExitState
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import Change, Outcome
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans.outcomes import ApplyResult, Outcomes
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.policy import PolicyAnswer
from kadmin_nb.policy.judging import verdict
from kadmin_nb.policy.rule_functions import Rule

WHOM = Entity.of({"user": "a"})
WANTED = Change(1, "set", WHOM, "producer_byte_rate", "1", "2", "2")
THERE = Change(1, "set", WHOM, "producer_byte_rate", "2", "2", "2")


def plan(change: Change) -> Plan:
    return Plan(PlanHead("cluster", "2026-01-01T00:00:00Z"), (change,))


def outcomes(change: Change, state: str) -> Outcomes:
    made = plan(change)
    return Outcomes.of(made.id, made.cluster_id, ApplyResult([Outcome(change, state)]))


def configs(error: str | None) -> kn.Answer:
    row = {"resource_type": "TOPIC", "resource_name": "t", "key": None if error else "k", "error": error}
    return kn.Answer(schemas.table(schemas.CONFIGS, [row]))


def policy(*states: str) -> PolicyAnswer:
    rule = Rule("r", "why", "error", ("quotas",), lambda quotas: quotas, "p.py", 1)
    return PolicyAnswer(verdict(rule, state, "a message") for state in states)


@pytest.mark.parametrize(
    ("value", "plain", "detailed"),
    [
        (configs(None), 0, 3),
        (configs("TOPIC_AUTHORIZATION_FAILED"), 1, 1),
        (kn.Answer(schemas.CONFIGS.empty()), 0, 0),
        (plan(WANTED), 0, 3),
        (plan(THERE), 0, 0),
        (outcomes(WANTED, "verified"), 0, 0),
        (outcomes(THERE, "unchanged"), 0, 0),
        (outcomes(WANTED, "unverified"), 4, 4),
        (outcomes(WANTED, "failed"), 1, 1),
        (policy("kept"), 0, 0),
        (policy("broken"), 1, 3),
        (policy("broken", "unknown"), 1, 1),
    ],
)
def test_the_exit_state_of_an_answer(value, plain, detailed):
    """CI could not tell a change from none, and called an apply that had nothing to do a difference."""
    assert (value._exit_state(), value._exit_state(detailed=True)) == (plain, detailed)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (kn.UsageError("x"), ExitState.WRONG_USAGE),
        (kn.errors.Conflict("x"), ExitState.REFUSED),
        (kn.errors.Locked("x"), ExitState.TRY_AGAIN),
        (kn.errors.NeedsLook("x"), ExitState.DIFFERENCES),
        (kn.Invalid("x"), ExitState.FAILED),
        (kn.PartlyFailed("x"), ExitState.PARTLY),
        (kn.PartlyFailed("x", outcomes=outcomes(WANTED, "unverified")), ExitState.PARTLY),
        (kn.PartlyFailed("x", outcomes=outcomes(WANTED, "failed")), ExitState.FAILED),
        (kn.PartlyFailed("x", outcomes=configs("UNKNOWN_TOPIC_OR_PARTITION")), ExitState.FAILED),
    ],
)
def test_the_exit_state_of_an_error(error, state):
    """A plan that was refused ended like one that failed half-way."""
    assert error.exit_state is state


def test_a_runbook_that_was_used_wrongly_failed():
    """The command was right; the notebook that it ran was not, and the shell said that I had mistyped."""
    error = kn.UsageError("x")
    error.document = "out.ipynb"
    assert error.exit_state is ExitState.FAILED
