"""Help, near misses and wrong words; no cluster is needed, and none is contacted."""

from __future__ import annotations

import pytest

import kadmin_nb as kn


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%kquota --help", "Usage: %kquota [OPTIONS] COMMAND"),
        ("%kquota", "%kquota set producer_byte_rate=5MB/s user=alice"),
        ("%kquota set --help", "Usage: %kquota set [OPTIONS] KEY=VALUE... TYPE=NAME..."),
        ("%kconfig describe -h", "--documentation"),
        ("%kadmin --help", "%kadmin quota describe"),
        ("%kadmin local start --help", "--secure"),
        ("%kplan --help", "%kplan apply p.json"),
        ("%kquota describe user=alice --help", "--strict"),
        ("%%kquota --help\nx", "Stage every line of the cell, or none."),
    ],
)
def test_help_is_a_value(notebook, line, says):
    """--help printed, and the cell had no output to keep."""
    help_text = notebook(line)
    assert says in help_text
    assert repr(help_text) == str(help_text)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("%kquota alter", "Did you mean %kquota set or %kquota remove?"),
        ("%kquota add producer_byte_rate=1", "Did you mean %kquota set?"),
        ("%kquota list", "Did you mean %kquota describe?"),
        ("%kquota unset producer_byte_rate", "Did you mean %kquota remove?"),
        ("%kconfig delete topic=x", "Did you mean %kconfig reset?"),
        ("%kadmin alter", "%kadmin config set or"),
        ("%kadmin describe", "%kadmin quota describe"),
        ("%kquota describe --entity-type users", "user=alice"),
        ("%kconfig --alter", "Did you mean %kconfig set or %kconfig reset?"),
        ("%kconfig describe --bootstrap-server x", "--cluster HOST:PORT"),
        ("%kquota describ", "Did you mean describe?"),
        ("%kquota describe --stric", "Did you mean --strict"),
        ("%kquota describe usr=alice", "Did you mean user=…?"),
        ("%kquota describe client_id=app", "Did you mean client-id=…?"),
        ("%kquota set producer_byte_rate=1 clientid=x", "Did you mean client-id?"),
        ("%kquota describe user={alise}", "Did you mean alice?"),
        ("%kquota resolve --pairs alise", "Did you mean alice?"),
        ("%kquota describe 'user={d['x']}'", "the other kind"),
    ],
)
def test_a_near_miss_gets_the_right_line(notebook, line, hint):
    """It said 'no such command' and left me there."""
    notebook["alice"] = "alice"
    assert hint in notebook.refused(line, kn.UsageError).hint


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%kquota describe --cluste x", "No such option '--cluste'"),
        ("%kquota set --app producer_byte_rate=1 user=a", "No such option '--app'"),
        ("%kquota describe alice", "alice is neither type=value nor key=value"),
        ("%kquota describe user=", "user= has no value"),
        ("%kquota describe user={nobody}", "no such variable: nobody"),
        ("%kquota describe user={1/0}", "{1/0} raises ZeroDivisionError: division by zero"),
        ("%kquota describe user={nothing}", "{nothing} is empty"),
        ("%kquota describe --as polars", "'polars' is not one of 'pandas', 'arrow', 'spark'"),
        ("%kquota describe --out a.b", "a.b is not a variable name"),
        ("%kquota describe 'user=a", "a quote is never closed"),
        ("%%kquota set\nset producer_byte_rate=1 user=a", "set is on the line of the magic"),
        ("%%kquota\n# nothing", "the cell has no change in it"),
        ("%%kquota\nset retention.ms=1 topic=a", "line 1: topic belongs to configs, not to quotas"),
        ("%%kconfig\n\nset x=1 user=a", "line 2: unknown client config x"),
        ("%kconfig set retention.ms=1 topic=a broker=1", "a config change names resources of one type"),
        ("%kplan", "a file or a subcommand is required"),
        ("%kplan --apply show p.json", "these options belong to plan -f FILE, not to plan show"),
        ("%kplan show nosuch.json", "no such plan file: nosuch.json"),
        ("%kadmin use {nothing}", "{nothing} is empty"),
        ("%kadmin use nosuch", "nosuch is not a file, not a profile"),
        ("%kquota describe", "no cluster was named"),
    ],
)
def test_wrong_words_are_one_line(notebook, line, says):
    """A typing slip filled my screen."""
    notebook["nothing"] = None
    error = notebook.refused(line)
    assert says in str(error)
    assert "\n" not in str(error)
    assert not notebook.displayed


def test_no_cluster_yet_says_how_to_get_one(notebook):
    """It asked for a profile, and I had none."""
    assert "local" in notebook.refused("%kquota describe").hint


def test_ipython_expands_nothing(notebook):
    """A principal with $ in it was replaced before the magic saw it."""
    notebook["HOME"] = "/root"
    assert "usr$HOME" in str(notebook.refused("%kquota describe usr$HOME=x"))
