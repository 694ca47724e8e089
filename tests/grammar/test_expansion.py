"""`{…}` in words: which variables, where, and always as literal text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from kadmin_nb.errors import UsageError
from kadmin_nb.model.expansion import expanded_value, expanded_words, literal_words
from kadmin_nb.model.grammar import ANY, DEFAULT, Pattern, Word, format_word, parse_word, split

from .test_words import names


class Known(dict[str, Any]):
    """Variables, as a notebook has them."""

    def value(self, expression: str) -> object:
        return eval(expression, {}, dict(self))


def meant(line: str, **variables: object) -> list[Word]:
    return [parse_word(word) for word in expanded_words(split(line), Known(variables))]


@given(names)
def test_a_variable_is_its_literal_text(name):
    """My variable held <default>, and everybody got the quota."""
    assert meant("user={who}", who=name) == [Word("user", name)]


@given(names, names)
def test_a_variable_within_a_word_is_its_literal_text(first, second):
    """What a variable holds was looked up again."""
    assert meant("user=x{a}-{b}", a=first, b=second) == [Word("user", f"x{first}-{second}")]


@given(names)
def test_written_words_never_look_anything_up(name):
    """A client called {password} printed my password."""
    words = split(format_word("user", name))
    assert expanded_words(words, Known()) == words


D = {"name": "ann", "a b": "x y", "}": "brace"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("user={d['name']}", "ann"),
        ('user={d["name"]}', "ann"),
        ("\"user={d['name']}\"", "ann"),
        ("user={d['a b']}", "x y"),
        ("user={d['}']}", "brace"),
        ("user={n[1]}", "b"),
        ("user={n[0:2][1]}", "b"),
        ("user={path.name}", "ann.json"),
        ("user={f'{x:.2f}'}", "3.14"),
        ("user={repr(t)}", "'t'"),
        ("user={ {'k': 'v'}['k'] }", "v"),
        ("user={', '.join(n)}", "a, b"),
        ("user={x if x != 3 else t}", "3.14159"),
        ("user=a-{t}-{n[0]}", "a-t-a"),
        ("user={{t}}", "{t}"),
        ("user=={t}", "{t}"),
        ("user==a{", "a{"),
        ("user==a}b", "a}b"),
        ("user=a{{b", "a{b"),
    ],
)
def test_expressions_are_pythons(line, name):
    """{d['name']} evaluated d[name], and another user was limited."""
    from pathlib import Path

    variables = {"d": D, "n": ["a", "b"], "x": 3.14159, "t": "t", "path": Path("x/ann.json")}
    assert meant(line, **variables, name="bob") == [Word("user", name)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{t}", "right of ="),
        ("{t}=5", "right of ="),
        ("user{t}=5", "right of ="),
        ("user={t", "a { without its other brace"),
        ("user=t}", "a } without its other brace"),
        ("user={}", "{} is not an expression"),
        ("user=x{n}", "{n} is a list"),
        ("user={none}", "{none} is empty"),
        ("user={empty}", "{empty} is an empty list"),
        ("user={len}", "{len}: a builtin_function_or_method cannot be a name"),
        ("user=x{default}", "{default} is a Special"),
        ("user={frame}", "{frame}: a DataFrame is not a list of names"),
        ("user={d}", "{d}: a dict is not a list of names"),
        ("user=$t", "$t is the name itself; write {t}"),
        ("user=a$t.b", "$t is the name itself; write {t}"),
        ("user=${t}", "${t} is not expanded; write {t}"),
    ],
)
def test_what_is_not_expanded_is_refused(line, says):
    """A plan had the user {who}, and the reason {why}."""
    with pytest.raises(UsageError) as caught:
        meant(line, t="t", n=["a"], none=None, empty=[], default=DEFAULT, d={"a": 1}, frame=pd.DataFrame({"a": [1]}))
    assert says in str(caught.value)


@pytest.mark.parametrize("word", ["user=$ConnectionString", "user==$t", "user=a$", "user=5$", "user=$$"])
def test_a_dollar_without_a_variable_is_a_character(word):
    """Event Hubs' own user, $ConnectionString, could not be named."""
    assert expanded_words([word], Known(t="t")) == [word]


def test_special_values_pass_through_variables_as_themselves():
    """kn.DEFAULT in a variable became a client called <default>."""
    given = {"d": DEFAULT, "a": ANY, "names": ["<default>", "b"], "all": [ANY, DEFAULT, Pattern("b*"), "<any>"]}
    assert meant("user={d}", **given) == [Word("user", DEFAULT)]
    assert meant("user={a}", **given) == [Word("user", ANY)]
    assert meant("user={names}", **given) == [Word("user", "<default>"), Word("user", "b")]
    assert [word.value for word in meant("user={all}", **given)] == [ANY, DEFAULT, Pattern("b*"), "<any>"]
    assert meant("user~={p}", p=Pattern("x*")) == [Word("user", Pattern("x*"))]
    assert meant("user~={d}-*", d="a") == [Word("user", Pattern("a-*"))]


@pytest.mark.parametrize("nothing", [None, ""])
def test_nothing_in_a_variable_is_refused(nothing):
    """A failed look-up left None in my variable, and it hit everyone."""
    with pytest.raises(UsageError, match=r"\{who\} is") as caught:
        meant("user={who}", who=nothing)
    assert "<default>" in caught.value.hint


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, b"alice", "\ud800"], ids=lambda v: ascii(v)
)
def test_a_missing_value_names_nobody(missing):
    """A hole in my frame became a client called nan."""
    for value in ([missing], ["alice", missing], missing):
        with pytest.raises(UsageError):
            meant("user={who}", who=value)
    with pytest.raises(UsageError):
        meant("user=x{who}", who=missing)


def test_a_column_is_a_list_of_names():
    """user={df['user']} was one user whose name was the whole column."""
    assert meant("user={df['user']}", df=pd.DataFrame({"user": ["a", "b"]})) == [Word("user", "a"), Word("user", "b")]


def test_names_that_sound_like_nothing_are_names():
    """A client called nan could not be named."""
    for name in ("nan", "None", "<NA>", "NaT", "null"):
        assert meant("user={who}", who=name) == [Word("user", name)]


def test_an_option_takes_the_object_or_the_text():
    """A path in a variable was not the file of that name."""
    frame = pd.DataFrame()
    assert expanded_value("{df}", Known(df=frame)) is frame
    assert expanded_value("{folder}/x.json", Known(folder="a")) == "a/x.json"
    assert expanded_value("{{}}", Known()) == "{}"


def test_a_text_of_many_lines_has_no_variables():
    """I forgot the f before my text of lines, and a client called {name} was limited."""
    with pytest.raises(UsageError, match=r"user=\{…\} is not expanded here"):
        literal_words(["set", "producer_byte_rate=1", "user={name}"])
    assert literal_words(["set", "user=={name}", "x=a{"]) == ["set", "user=={name}", "x=a{"]
