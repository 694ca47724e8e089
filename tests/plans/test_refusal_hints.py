"""One refusal, in the syntax of each place."""

from __future__ import annotations

import pickle

import pytest

import kadmin_nb as kn
from kadmin_nb import hints, runbooks
from kadmin_nb.commands import terminal
from kadmin_nb.hints import Hint, Option, Verb, sentence

HINT = Hint(
    "Nothing was sent.",
    sentence("{} lets it through, with {}.", Option("allow", ["a.b", "c d"]), Option("reason", "WHY")),
    sentence("{} takes it.", Option("steal", flag="--steal-lock")),
    sentence("{} tells more.", Verb("plan show FILE", "Plan.load(FILE)")),
)
SYNTAXES = {
    "terminal": (
        hints.terminal,
        "Nothing was sent. --allow a.b --allow 'c d' lets it through, with --reason WHY. --steal-lock takes it. "
        "kadmin-nb plan show FILE tells more.",
    ),
    "magic": (
        hints.magic,
        "Nothing was sent. --allow a.b --allow 'c d' lets it through, with --reason WHY. --steal-lock takes it. "
        "%kplan show FILE tells more.",
    ),
    "python": (
        hints.python,
        "Nothing was sent. allow=['a.b', 'c d'] lets it through, with reason='WHY'. steal=True takes it. "
        "Plan.load(FILE) tells more.",
    ),
}


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_each_syntax_names_what_it_has(syntax):
    """A notebook told me to type kadmin-nb."""
    spell, wanted = SYNTAXES[syntax]
    error = kn.Invalid("refused", hint=HINT)
    error.syntax = spell
    assert error.lines() == ["Invalid: refused", f"Hint: {wanted}"]


def test_a_hint_goes_with_the_error_that_it_is_handed_to():
    """The line's number was added, and the hint spoke Python in a terminal."""
    error = kn.Invalid("line 3: refused", hint=kn.Invalid("refused", hint=HINT).hint)
    assert error.hint == SYNTAXES["python"][1]
    for one in (error, pickle.loads(pickle.dumps(error))):
        one.syntax = hints.terminal
        assert one.hint == SYNTAXES["terminal"][1]


@pytest.fixture
def durable(cluster, full_topic):
    """A topic whose retention is set, so that lowering it is dangerous."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "604800000", topic=full_topic)
    stage.plan("a test").apply().raise_for_errors()
    return full_topic


@pytest.mark.broker
def test_the_terminal_lifts_a_danger_by_options(kafka, durable, capsys):
    """The plan said how to apply it, and that was not how."""
    line = ["config", "set", "retention.ms=1000", f"topic={durable}", "--cluster", kafka.bootstrap]
    assert terminal.run_line(line) == 0
    assert f"--allow 'retention.ms topic={durable}'" in capsys.readouterr().out
    assert terminal.run_line([*line, "--apply"]) == 5
    said = f"to apply it anyway: --allow 'retention.ms topic={durable}' and --reason WHY."
    assert f"Hint: Nothing was sent. Correct it or leave it out; {said}" in capsys.readouterr().err


@pytest.mark.broker
def test_python_lifts_a_danger_by_arguments(cluster, durable):
    """`plan.apply(--allow)` is not Python."""
    stage = cluster.new_stage()
    stage.set_config("retention.ms", "1000", topic=durable)
    plan = stage.plan()
    lifting = f"to apply it anyway: allow=['retention.ms topic={durable}'] and reason='WHY'."
    assert lifting in repr(plan)
    with pytest.raises(kn.errors.Dangerous) as refused:
        plan.apply()
    assert refused.value.hint == f"Nothing was sent. Correct it or leave it out; {lifting}"


@pytest.mark.broker
def test_a_runbook_lifts_a_danger_by_its_parameters(kafka, durable, tmp_path):
    """The executed page told me to type --allow, which `runbook run` does not have."""
    given = {"cluster": kafka.bootstrap, "changes": [f"set retention.ms=1000 topic={durable}"], "apply": True}
    with pytest.raises(kn.errors.Dangerous) as refused:
        runbooks.run("change_configs", given, output=tmp_path)
    assert f"to apply it anyway: allow=['retention.ms topic={durable}'] and reason='WHY'." in refused.value.hint


def test_a_hint_for_a_notebook_evaluates_nothing():
    """A plan that I was sent had a key called {x()}; I copied the option that the refusal named, and x() ran."""
    option = Option("allow_unknown", ["{x()}"])
    assert hints.magic(option) == "--allow-unknown '{{x()}}'"
    assert hints.terminal(option) == "--allow-unknown '{x()}'"
