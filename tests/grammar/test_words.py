"""The grammar of words: what is written reads back, whatever it says."""

from __future__ import annotations

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


@given(st.text())
def test_any_text_splits_or_is_refused(text):
    """A strange line gave a stack trace."""
    try:
        assert all(isinstance(word, str) for word in split(text))
    except UsageError:
        assert "'" in text or '"' in text


def test_quotes_that_end_within_braces_are_refused():
    """'user={d['name']}' staged the user that my variable `name` holds."""
    with pytest.raises(UsageError, match="a quote within"):
        split("set producer_byte_rate=1 'user={d['name']}'")


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
        ("user={d['a b']} x", ["user={d['a b']}", "x"]),
        ('user={d["it\'s; #1"]};', ['user={d["it\'s; #1"]}']),
        ("user={f('}', [1, 2])}-{b} x", ["user={f('}', [1, 2])}-{b}", "x"]),
        ("\"user={d['a b']}\" x", ["user={d['a b']}", "x"]),
        ("user={{a b}}", ["user={{a", "b}}"]),
        ("user=={a b} x", ["user=={a", "b}", "x"]),
        ("user=={'a b'} x", ["user=={a b}", "x"]),
        ("user={a b", ["user={a", "b"]),
        ("", []),
    ],
)
def test_splitting(line, words):
    """Quotes group, the backslash is a character, a comment and a trailing ; go. Braces keep their expression whole."""
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
