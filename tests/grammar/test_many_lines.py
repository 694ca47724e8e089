"""Cells and files of many lines: every line is read before the first is staged; an error names the line."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.commands.options import read_selectors
from kadmin_nb.errors import Invalid, KadminError, UsageError
from kadmin_nb.model.changes import Edit
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.expansion import Expand, expanded_words
from kadmin_nb.model.grammar import ANY, DEFAULT, Pattern, format_word
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import change_lines

from .test_expansion import Known

PRODUCE = "producer_byte_rate"


def expanding(**variables: object) -> Expand:
    """The words of a cell, with these variables."""
    return partial(expanded_words, variables=Known(variables))


def one(text: str, **options: object) -> Edit:
    [edit] = change_lines.edits(text, **options)
    return edit


def user(name: object) -> Entity:
    return Entity.of({"user": name})


def test_a_cell_of_both_kinds():
    """One change per line, comments, blank lines, several keys on one line."""
    assert change_lines.edits(
        """
        # the orders team's limits, don't touch
        set producer_byte_rate=5MB/s request_percentage=50% user=alice client-id=<default>   # why not
        remove consumer_byte_rate user='x y=z'

        set retention.ms=1000 topic=orders;
        append cleanup.policy=compact topic=orders
        reset retention.ms topic=orders
        set log.cleaner.backoff.ms=1 broker=<default>
        """
    ) == [
        Edit("set", Entity.of({"user": "alice", "client-id": DEFAULT}), PRODUCE, "5000000"),
        Edit("set", Entity.of({"user": "alice", "client-id": DEFAULT}), "request_percentage", "50"),
        Edit("delete", user("x y=z"), "consumer_byte_rate"),
        Edit("set", Resource("TOPIC", "orders"), "retention.ms", "1000"),
        Edit("append", Resource("TOPIC", "orders"), "cleanup.policy", "compact"),
        Edit("delete", Resource("TOPIC", "orders"), "retention.ms"),
        Edit("set", Resource("BROKER", ""), "log.cleaner.backoff.ms", "1"),
    ]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1), min_size=1, max_size=5
    )
)
def test_a_cell_of_any_names_names_them(names):
    """A name with a quote and a # took the next line with it."""
    cell = "\n".join(f"set {PRODUCE}=1 {format_word('user', name)} # it's" for name in names)
    assert [edit.resource for edit in change_lines.edits(cell)] == [user(name) for name in names]


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("set producer_byte_rate=1 user=a\nset producer_byte_rate=1 user=o'brien", UsageError, "line 2: a quote"),
        ("set producer_byte_rate=1 user=o'brien\nset producer_byte_rate=1 user=d'arcy", UsageError, "line 1: a quote"),
        ("set producer_byte_rate=1 user='a\nset producer_byte_rate=1 user='b'", UsageError, "line 1: a quote"),
        ("\n\nset producer_byte_rate=0 user=a", Invalid, "line 3: "),
        ("set producer_byte_rate=1 usr=a", UsageError, "line 1: usr is neither"),
        ("sett producer_byte_rate=1 user=a", UsageError, "line 1: unknown quota change 'sett'"),
        ("set producer_byte_rate=1 user={who}", UsageError, "line 1: user=.* is not expanded here"),
        ("set producer_byte_rate=1", UsageError, "line 1: an entity needs"),
        ("set user=a", UsageError, "line 1: no key is named"),
        ("set producer_byte_rate=1 user=a user=b", UsageError, "line 1: user is named twice"),
        ("set producer_byte_rate=1 user=<any>", UsageError, "more than one entity"),
        ("set producer_byte_rate=1 user=a ip=1.2.3.4", UsageError, "ip cannot be combined"),
        ("set producer_byte_rate=1 user=", UsageError, "has no value"),
        ("set producer_byte_rate=5% user=a", UsageError, "does not fit"),
        ("set producer_byte_rate user=a", UsageError, "producer_byte_rate is neither type=value"),
        ("remove producer_byte_rate=5 user=a", UsageError, "has a value"),
        ("set retention.ms=5 topic=a broker=1", UsageError, "names resources of one type"),
        ("set retention.ms=5 topic=<default>", UsageError, "names no single resource"),
    ],
)
def test_an_error_names_its_line_and_nothing_is_returned(text, error, says):
    """The first three lines were staged before the fourth was found wrong."""

    with pytest.raises(KadminError, match=says) as caught:
        change_lines.edits(text)
    assert type(caught.value) is error


@pytest.mark.parametrize("before", ["", "scram set SCRAM-SHA-512=env:NEW user=a\n"])
def test_a_word_alone_is_not_repeated(before):
    """I had put the password into the next line, and the error had it."""
    with pytest.raises(UsageError) as caught:
        change_lines.edits(f"{before}Hunter2")
    assert str(caught.value) == f"line {1 + bool(before)}: a single word is not a change"
    assert "Hunter2" not in caught.value.hint


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        ("set producer_byte_rate=1 usr=a", "quota", "Did you mean user?"),
        ("set producer_byte_rat=1 user=a", "quota", "Did you mean producer_byte_rate?"),
        ("set retention.ms=1 topic=a", "quota", "It is set by stage.set_config(…)."),
        ("set producer_byte_rate=1 user=a", "config", "user=… has quotas: stage.set_quota(…)"),
        ("set retention.ms=1 topc=a", "config", "One of topic=…"),
        ("remove retention.ms topic=a", "config", "For a config: reset KEY topic=NAME."),
        ("reset producer_byte_rate user=a", "quota", "For a quota: remove KEY user=NAME."),
        ("remov producer_byte_rate user=a", "quota", "Did you mean remove?"),
        ("set ack=all user=a", None, "Did you mean acks?"),
        ("cofnig set retention.ms=1 topic=a", None, "Did you mean config?"),
    ],
)
def test_a_near_miss_says_the_right_word(text, kind, hint):
    """It told me that I was wrong, and not what is right."""
    with pytest.raises(UsageError) as caught:
        change_lines.edits(text, kind=kind)
    assert hint in caught.value.hint


def test_a_type_that_stands_several_times_is_a_list():
    """user=<any> user=<default> was refused, or a user called <any>."""
    words = ["user=<any>", "user=a", "user~=b*", "user=<default>", "user={more}", "ip=<any>", "user==<any>"]
    chosen = read_selectors(expanding(more=["c", DEFAULT])(words), ["user", "ip"])
    assert chosen == {"user": (ANY, "a", Pattern("b*"), DEFAULT, "c", DEFAULT, "<any>"), "ip": (ANY,)}


def test_an_unknown_key_passes_when_it_is_named():
    """A key of a Kafka to come could not be set."""
    assert one("set producer_byte_rat=5 user=a", allow_unknown=["producer_byte_rat"]).key == "producer_byte_rat"


@pytest.mark.parametrize("name", ["<default>", "--apply", "x y=z", "DOMAIN\\alice", "a\nb", "'", "{x}", "#"])
def test_a_variable_names_exactly_that_client(name):
    """My variable held --apply, and it applied."""
    edit = one(f"set {PRODUCE}=1 user={{who}} client-id={{who}}", expand=expanding(who=name))
    assert edit.resource == Entity.of({"user": name, "client-id": name})


def test_a_variable_may_be_a_number():
    """A rate that I computed had to be put into text by hand."""
    assert one(f"set {PRODUCE}={{rate}} user=a", expand=expanding(rate=5e6)).value == "5000000"


def test_windows_line_ends():
    """A file from Windows named a client with a carriage return."""
    assert one(f"set {PRODUCE}=1 user=a\r\n").resource == user("a")


@pytest.mark.parametrize("spelled", ['ssl.cipher.suites=""', "ssl.cipher.suites=''", "ssl.cipher.suites="])
def test_an_empty_value_is_a_value(spelled):
    """A config was to be set to nothing, and no line could say it."""
    assert change_lines.edits(f"set {spelled} broker=1") == [Edit("set", Resource("BROKER", "1"), SUITES, "")]


SUITES = "ssl.cipher.suites"


@pytest.mark.parametrize(
    "line",
    [
        'set producer_byte_rate="" user=a',
        'set retention.ms=5 topic=""',
        'set retention.ms=="" topic=a',
        'reset retention.ms="" topic=a',
        'append cleanup.policy="" topic=a',
        'set producer_byte_rate=1 entity:team=""',
    ],
)
def test_nothing_is_no_name_no_number_and_no_item(line):
    """A name that a script left out set the quota of somebody else."""
    with pytest.raises(UsageError, match="has no value"):
        change_lines.edits(line)


def test_a_type_of_a_later_kafka_can_be_named():
    """KIP-546 promises any entity type, and a line took team=x for a key."""
    [edit] = change_lines.edits("set producer_byte_rate=1 entity:team=x entity:user=alice")
    assert edit.resource == Entity.of({"user": "alice", "team": "x"})
    assert Entity.parse("user=alice entity:team=x") == Entity.parse("user=alice team=x") == edit.resource
    for wrong in ("entity:team=x entity:team=y", "user=a entity:user=b"):
        with pytest.raises(UsageError, match="is named twice"):
            change_lines.edits(f"set producer_byte_rate=1 {wrong}")


def test_several_resources_of_one_type_have_each_the_same_edits():
    """Ten topics, the same retention: I typed ten lines."""
    edits = change_lines.edits(
        "config set retention.ms=5 segment.ms=6 topic=a topic={topics} topic=a",
        expand=expanding(topics=("b", "c", "a")),
    )
    assert [(str(edit.resource), edit.key, edit.value) for edit in edits] == [
        (f"topic={name}", key, value) for name in "abc" for key, value in (("retention.ms", "5"), ("segment.ms", "6"))
    ]
    assert [str(edit.resource) for edit in change_lines.edits("config reset x broker=<default> broker=2")] == [
        "broker=<default>",
        "broker=2",
    ]
