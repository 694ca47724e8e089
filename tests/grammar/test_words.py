"""The grammar of words: what is written reads back, whatever it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.errors import UsageError
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import ANY, DEFAULT, Pattern, Word, format_word, parse_word, split

NASTY = ["<default>", "<any>", "--apply", "x y=z", "DOMAIN\\alice", "{x}", "{", "=", "==x", "~=y", "~x", "'", '"',
         "'\"'", "#", "a # b", ";", "a;", "a\nb", "a\r\nb", "\t", " ", "\u2028", "\x85", "\u202e", "\x1b[31m", "a'b\"c",
         "%kquota", "$HOME", "<b>", "ü", "名前"]  # fmt: skip
names = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
parts = names | st.just(DEFAULT)
entities = st.one_of(
    st.fixed_dictionaries({"user": parts}),
    st.fixed_dictionaries({"client-id": parts}),
    st.fixed_dictionaries({"user": parts, "client-id": parts}),
    st.fixed_dictionaries({"ip": parts}),
).map(Entity.of)


@given(entities)
def test_an_entity_reads_back_from_its_own_text(entity):
    """I pasted what the table said, and it named somebody else."""
    assert Entity.parse(str(entity)) == entity


@given(st.lists(st.tuples(st.sampled_from(["user", "client-id", "retention.ms"]), names), min_size=1))
def test_written_words_read_back_one_by_one(given_words):
    """A name with a quote and a space took its neighbour with it."""
    line = " ".join(format_word(name, value) for name, value in given_words)
    assert [parse_word(word) for word in split(line)] == [Word(name, value) for name, value in given_words]


@given(names)
def test_written_words_never_look_anything_up(name):
    """A client called {password} printed my password."""

    def lookup(expression: str) -> object:
        raise AssertionError(f"looked up {expression}")

    assert [parse_word(word, lookup) for word in split(format_word("user", name))] == [Word("user", name)]


@given(names)
def test_a_variable_is_its_literal_text(name):
    """My variable held <default>, and everybody got the quota."""
    assert parse_word("user={who}", lambda expression: name) == Word("user", name)


@given(names, names)
def test_a_variable_within_a_word_is_its_literal_text(first, second):
    """What a variable holds was looked up again."""
    values = {"a": first, "b": second}
    assert parse_word("user=x{a}-{b}", values.__getitem__) == Word("user", f"x{first}-{second}")


@given(st.text())
def test_any_text_splits_or_is_refused(text):
    """A strange line gave a stack trace."""
    try:
        assert all(isinstance(word, str) for word in split(text))
    except UsageError:
        assert "'" in text or '"' in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("describe user=DOMAIN\\alice", ["describe", "user=DOMAIN\\alice"]),
        ("describe 'user=a b'", ["describe", "user=a b"]),
        ("describe user='a b'\"c d\"", ["describe", "user=a bc d"]),
        ("describe;", ["describe"]),
        ("describe ;", ["describe"]),
        ("describe user=x; # why", ["describe", "user=x"]),
        ("describe user='x;'", ["describe", "user=x;"]),
        ("describe # don't", ["describe"]),
        ("#don't", []),
        ("describe user=#1", ["describe", "user=#1"]),
        ("describe '#' x", ["describe", "#", "x"]),
        ("a=''", ["a="]),
        ("", []),
    ],
)
def test_splitting(line, words):
    """Quotes group, the backslash is a character, a comment and a trailing ; go."""
    assert split(line) == words


@pytest.mark.parametrize("line", ["user=o'brien", "'", 'set "x', "a 'b\" c"])
def test_an_open_quote_is_named(line):
    """A forgotten quote made one word of all."""
    with pytest.raises(UsageError, match="quote is never closed"):
        split(line)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("user=<default>", DEFAULT),
        ("user=<any>", ANY),
        ("user==<default>", "<default>"),
        ("user===x", "=x"),
        ("user==~=x", "~=x"),
        ("user~=team-*", Pattern("team-*")),
        ("user={x}", "{x}"),
        ("user==a=b", "a=b"),
    ],
)
def test_right_of_the_sign(word, value):
    """`=` knows two special texts, `==` knows none, `~=` is a pattern."""
    assert parse_word(word) == Word("user", value)


def test_special_values_pass_through_variables_as_themselves():
    """kn.DEFAULT in a variable became a client called <default>."""
    found = {"d": DEFAULT, "a": ANY, "names": ["<default>", "b"], "all": [ANY, DEFAULT, Pattern("b*"), "<any>"]}
    assert parse_word("user={d}", found.__getitem__).value is DEFAULT
    assert parse_word("user={a}", found.__getitem__).value is ANY
    assert parse_word("user={names}", found.__getitem__).value == ("<default>", "b")
    assert parse_word("user={all}", found.__getitem__).value == (ANY, DEFAULT, Pattern("b*"), "<any>")


@pytest.mark.parametrize("nothing", [None, ""])
def test_nothing_in_a_variable_is_refused(nothing):
    """A failed look-up left None in my variable, and it hit everyone."""
    with pytest.raises(UsageError, match=r"\{who\} is") as caught:
        parse_word("user={who}", lambda expression: nothing)
    assert "<default>" in caught.value.hint


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, b"alice", "\ud800"], ids=lambda v: ascii(v)
)
def test_a_missing_value_names_nobody(missing):
    """A hole in my frame became a client called nan."""
    for found in ([missing], ["alice", missing], missing):
        with pytest.raises(UsageError):
            parse_word("user={who}", lambda expression, found=found: found)
    with pytest.raises(UsageError):
        parse_word("user=x{who}", lambda expression: missing)


def test_names_that_sound_like_nothing_are_names():
    """A client called nan could not be named."""
    for name in ("nan", "None", "<NA>", "NaT", "null"):
        assert parse_word("user={who}", lambda expression, name=name: name) == Word("user", name)
