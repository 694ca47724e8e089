"""ApplyOptions: one value, at every verb that applies."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import plan_verbs as commands
from kadmin_nb.runbooks import Record

RATE = "producer_byte_rate"
NAMES = {field.name for field in fields(kn.ApplyOptions)}


def test_every_option_can_be_typed():
    """The docs had an option that the command did not."""
    typed = {parameter.name for parameter in commands.apply.params}
    assert NAMES - typed == {"quiet_period"}


@pytest.mark.parametrize("verb", [kn.Cluster.apply, kn.Plan.apply])
def test_help_and_completion_show_every_option(verb):
    """Shift-Tab said **keywords."""
    parameters = inspect.signature(verb).parameters
    assert parameters.keys() >= NAMES | {"options", "progress"}
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in NAMES)


def test_a_record_takes_the_same():
    """The runbook's apply took other words."""
    assert [*inspect.signature(Record.apply).parameters] == ["self", "options", "keywords"]


@pytest.mark.broker
def test_options_are_one_value_that_a_keyword_changes(cluster, unique):
    """I wanted our team's options everywhere, and one exception."""
    user = unique("user")
    ours = kn.ApplyOptions(lock=False, skip_conflicts=True)
    stage = cluster.new_stage()
    stage.set_quota(RATE, 1000, user=user)
    plan = stage.plan()
    stage.set_quota(RATE, 500, user=user)
    assert stage.plan().apply(ours).to_pandas()["state"].tolist() == ["verified"]
    with pytest.raises(kn.Conflict):
        cluster.apply(plan, ours, skip_conflicts=False)
    outcomes = cluster.apply(plan, ours)
    assert outcomes.to_pandas()["state"].tolist() == ["skipped"]
    assert "no lock was asked for" in repr(outcomes)


@pytest.mark.broker
def test_an_option_that_nobody_knows_is_refused(cluster, unique):
    """skip_conflict was taken, and did nothing."""
    stage = cluster.new_stage()
    stage.set_quota(RATE, 1000, user=unique("user"))
    with pytest.raises(TypeError, match="skip_conflict"):
        cluster.apply(stage.plan(), skip_conflict=True)


def test_steps_need_to_know_what_clients_use():
    """It lowered all at once, as if I had not asked for steps."""
    with pytest.raises(kn.UsageError, match="the clients' usage") as refused:
        kn.ApplyOptions(gradual=15.0)
    assert refused.value.hint == "Add usage='NAME', a USAGE frame."
