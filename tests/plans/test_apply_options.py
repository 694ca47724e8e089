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
    assert NAMES - typed == {"quiet_period", "policy"}


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
    ours = kn.ApplyOptions(lock=False)
    stage = cluster.new_stage()
    stage.set_quota(RATE, 1000, user=user)
    assert "no lock was asked for" in repr(stage.plan().apply(ours))
    stage.set_quota(RATE, 500, user=user)
    assert "no lock was asked for" not in repr(cluster.apply(stage.plan(), ours, lock=True))


@pytest.mark.broker
def test_an_option_that_nobody_knows_is_refused(cluster, unique):
    """stealing was taken, and did nothing."""
    stage = cluster.new_stage()
    stage.set_quota(RATE, 1000, user=unique("user"))
    with pytest.raises(TypeError, match="stealing"):
        cluster.apply(stage.plan(), stealing=True)


def test_steps_need_to_know_what_clients_use():
    """It lowered all at once, as if I had not asked for steps."""
    with pytest.raises(kn.UsageError, match="the clients' usage") as refused:
        kn.ApplyOptions(gradual=15.0)
    assert refused.value.hint == "Add usage='NAME', a USAGE frame."
