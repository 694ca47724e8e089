"""The help of every command, the magics' too, in a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from kadmin_magics.notebook import entry_point

from kadmin_nb.commands.click_glue import SharedOption
from kadmin_nb.commands.root import root


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """Each command below this one, as it is typed, with its help."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=78)
    yield context.command_path, command.get_help(context)
    for verb in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, verb)
        if below is not None:
            yield from _helps(below, verb, context)


TREES = {"kadmin-nb": root, **{name: entry_point(name) for name in ("%kquota", "%kconfig", "%kplan", "%kadmin")}}


@pytest.mark.parametrize("name", TREES)
def test_no_line_of_help_is_cut(name):
    """`quota --help` said "Show the quota that limits user=… client-id=…, key by key:..." of a verb."""
    helps = dict(_helps(TREES[name], name))
    assert len(helps) > 8
    cut = {
        typed: line
        for typed, text in helps.items()
        for line in text.partition("\n\n")[2].splitlines()  # below "Usage: … [ARGS]..."
        if line.endswith("...")
    }
    assert cut == {}


DROP_INS = {"kafka-configs", "kafka-client-quotas", "scram-credentials"}


def _own_options(command: click.Command, name: str) -> Iterator[tuple[str, int]]:
    """Each command below this one, with the number of its options that `help options` does not list."""
    yield name, sum(isinstance(one, click.Option) and not isinstance(one, SharedOption) for one in command.params)
    context = click.Context(command)
    for verb in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, verb)
        if below is not None and verb not in DROP_INS:
            yield from _own_options(below, f"{name} {verb}".removeprefix("kadmin-nb "))


def test_no_command_has_more_than_15_options():
    """`quota usage --help` had 21 options, and I wanted three of them."""
    assert {name: count for name, count in _own_options(root, "kadmin-nb") if count > 15} == {}
