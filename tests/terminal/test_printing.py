"""Staged changes and plans are printed in the form that `--print` asks for, at every verb that has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kadmin_magics.notebook import entry_point

import kadmin_nb as kn
from kadmin_nb.commands import Result, run
from kadmin_nb.commands.answer_formats import in_print_format
from kadmin_nb.commands.session import PlanOptions, Session
from kadmin_nb.model.changes import Edit
from kadmin_nb.plans import change_lines
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from kadmin_nb.plans.planning import wishes
from kadmin_nb.plans.stage import Stage


def planned(edits: list[Edit], *_: object) -> Plan:
    return Plan(PlanHead("cluster", "2026-01-01T00:00:00+00:00"), tuple(wishes(edits)))


class Staging(Session):
    """A session that stages what it is told, and keeps it; it reaches no cluster."""

    def change(self, edits: Sequence[Edit], plan_options: PlanOptions) -> Stage:
        stage = Stage(planned)
        stage.add(edits)
        return stage

    def plan(self, plan_options: PlanOptions, clients: object = None) -> Stage:
        return self.change(change_lines.edits("set producer_byte_rate=5 user=alice"), plan_options)


def said(*words: str) -> Result:
    return run([*words], Staging(), "%kadmin", entry_point("%kadmin"))


@pytest.mark.parametrize(
    "words", [("quota", "set", "producer_byte_rate=5", "user=alice"), ("quota", "plan")], ids=" ".join
)
def test_a_verb_prints_the_form_that_is_asked_for(words):
    """I retyped the change for the ticket, and got it wrong."""
    result = said(*words, "--print", "markdown")
    assert repr(result.value).splitlines()[-1] == "```"


def test_a_config_is_printed_too():
    """Only quotas could be handed over."""
    result = said("config", "reset", "retention.ms", "topic=t", "--print", "markdown")
    assert "retention.ms" in str(result.value)


def test_printing_is_not_doing():
    """I only wanted to see the lines, and the change was made."""
    with pytest.raises(kn.UsageError, match="--print and --apply cannot be combined"):
        said("quota", "set", "producer_byte_rate=5", "user=alice", "--print", "markdown", "--apply")


def test_an_unknown_form_names_those_that_there_are():
    """--print yaml printed nothing."""
    with pytest.raises(kn.UsageError, match="'yaml' is not 'markdown'"):
        said("quota", "plan", "--print", "yaml")


def test_what_cannot_be_printed_otherwise_says_so():
    """It failed with an AttributeError."""
    with pytest.raises(kn.UsageError, match="--print works with stages and plans only"):
        in_print_format(None)
