"""What cannot be meant is refused when it is staged, before a broker hears of it."""

from __future__ import annotations

import tracemalloc

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.plans import change_lines
from kadmin_nb.plans.stage import Stage


@pytest.fixture
def stage() -> Stage:
    def never(*given: object) -> None:
        raise AssertionError("nothing is planned here")

    return Stage(never)  # type: ignore[arg-type]


RATE = "producer_byte_rate"
VALUES = {
    "NaN": (RATE, float("nan"), kn.Invalid, "not a finite number"),
    "NaN as text": (RATE, "nan", kn.Invalid, "not a finite number"),
    "infinity": ("request_percentage", float("inf"), kn.Invalid, "not a finite number"),
    "infinity as text": ("request_percentage", "-Infinity", kn.Invalid, "not a finite number"),
    "zero": (RATE, 0, kn.Invalid, "must be greater than 0"),
    "negative": (RATE, "-5", kn.Invalid, "must be greater than 0"),
    "a fraction of a byte": (RATE, 1.5, kn.Invalid, "whole bytes/s"),
    "a fraction of a connection": ("connection_creation_rate", "0.5", kn.Invalid, "whole connections/s"),
    "too large a LONG": (RATE, "1e19", kn.Invalid, "too large for a LONG"),
    "too large an INT": ("connection_creation_rate", 2**31, kn.Invalid, "too large for a INT"),
    "a unit that does not fit": ("request_percentage", "5MB", kn.UsageError, "does not fit request_percentage"),
    "percent of bytes": (RATE, "5%", kn.UsageError, "does not fit producer_byte_rate"),
    "no number": (RATE, "many", kn.UsageError, "is not a number"),
    "a truth": (RATE, True, kn.UsageError, "is not a number"),
    "None": (RATE, None, kn.UsageError, "is not a number"),
}


@pytest.mark.parametrize(("key", "value", "kind", "words"), VALUES.values(), ids=VALUES)
def test_a_value_that_no_quota_can_have(stage, key, value, kind, words):
    """Kafka stored NaN, and the client was without any limit."""
    whom = {"ip": "10.0.0.1"} if key.startswith("connection") else {"user": "alice"}
    with pytest.raises(kind, match=words):
        stage.set_quota(key, value, **whom)
    assert len(stage) == 0


@pytest.mark.parametrize("key", [None, "", 5, ["retention.ms"], b"retention.ms"])
@pytest.mark.parametrize(
    "staged",
    [
        lambda stage, key: stage.set_quota(key, 5, user="x"),
        lambda stage, key: stage.remove_quota(key, user="x"),
        lambda stage, key: stage.set_config(key, "5", topic="t"),
        lambda stage, key: stage.reset_config(key, topic="t"),
        lambda stage, key: stage.append_config(key, "5", topic="t"),
        lambda stage, key: stage.subtract_config(key, "5", topic="t"),
        lambda stage, key: stage.set_client_config(key, "1", user="x"),
        lambda stage, key: stage.reset_client_config(key, user="x"),
    ],
)
def test_a_change_without_a_key_is_refused(stage, staged, key):
    """My variable was None, and the plan was a TypeError, three lines later."""
    with pytest.raises(kn.UsageError, match="no key is given" if key in (None, "") else "is not a text"):
        staged(stage, key)
    assert len(stage) == 0


ENTITIES = {
    "nobody": ({}, "at least one of"),
    "ip and user": ({"ip": "10.0.0.1", "user": "alice"}, "ip cannot be combined"),
    "an empty name": ({"user": ""}, "user has no name"),
    "None": ({"user": None}, "user has no name"),
    "anybody": ({"user": kn.ANY}, "names more than one entity"),
    "two names": ({"user": ["a", "b"]}, "names more than one entity"),
}


@pytest.mark.parametrize(("whom", "words"), ENTITIES.values(), ids=ENTITIES)
def test_an_entity_that_is_none(stage, whom, words):
    """None was taken for the default, and everybody was limited."""
    with pytest.raises(kn.UsageError, match=words):
        stage.set_quota(RATE, 1, **whom)
    assert len(stage) == 0


RESOURCES = {
    "nothing": ({}, "exactly one resource"),
    "two": ({"topic": "a", "broker": 1}, "exactly one resource"),
    "a default topic": ({"topic": kn.DEFAULT}, "names no single resource"),
    "an empty topic": ({"topic": ""}, "names no single resource"),
    "any topic": ({"topic": kn.ANY}, "names no single resource"),
}


@pytest.mark.parametrize(("what", "words"), RESOURCES.values(), ids=RESOURCES)
def test_a_resource_that_is_none(stage, what, words):
    """An empty topic's name hit something else."""
    with pytest.raises(kn.UsageError, match=words):
        stage.set_config("retention.ms", 1, **what)
    assert len(stage) == 0


def test_a_misspelt_argument_is_a_type_error_as_of_any_function(stage):
    """`client=` was taken without a word."""
    with pytest.raises(TypeError, match="client"):
        stage.set_quota(RATE, 1, client="a")
    with pytest.raises(TypeError, match="topics"):
        stage.set_config("retention.ms", 1, topics="a")
    assert len(stage) == 0


def test_the_last_wish_wins_and_says_so(stage):
    """I set it twice, and did not know which of the two was sent."""
    stage.set_quota(RATE, "1MB/s", user="alice")
    stage.set_quota("consumer_byte_rate", 5, user="alice")
    stage.set_quota(RATE, "2MB/s", user="alice")
    stage.remove_quota("consumer_byte_rate", user="alice")
    stage.remove_quota("consumer_byte_rate", user="alice")
    seen = [(r["row"], r["op"], r["key"], r["wanted"], r["note"]) for r in stage.to_arrow().to_pylist()]
    assert seen == [
        (1, "set", RATE, "2000000", "replaces the earlier set 1000000"),
        (2, "delete", "consumer_byte_rate", None, "replaces the earlier set 5"),
    ]


LISTS = {
    "two appends": (
        ["append compact", "append delete"],
        ("append", "compact,delete", "joins the earlier append compact"),
    ),
    "a third": (
        ["append a", "append b", "append a,c"],
        ("append", "a,b,c", "joins the earlier append a,b"),
    ),
    "two subtracts": (["subtract a", "subtract b"], ("subtract", "a,b", "joins the earlier subtract a")),
    "the same twice": (["append a", "append a"], ("append", "a", None)),
    "after set": (["set a", "append b"], ("set", "a,b", "joins the earlier set a")),
    "out of what is set": (["set a,b", "subtract a"], ("set", "b", "joins the earlier set a,b")),
    "set after all": (["append a", "set b"], ("set", "b", "replaces the earlier append a")),
    "after reset": (["reset", "append b"], ("append", "b", "replaces the earlier delete")),
}


@pytest.mark.parametrize(("wishes", "staged"), LISTS.values(), ids=LISTS)
def test_items_of_a_list_add_up(stage, wishes, staged):
    """Of two append lines for one key only the second was sent."""
    for verb, _, items in (wish.partition(" ") for wish in wishes):
        getattr(stage, f"{verb}_config")(*filter(None, ["cleanup.policy", items]), topic="orders")
    [row] = stage.to_arrow().to_pylist()
    assert (row["op"], row["wanted"], row["note"]) == staged


@pytest.mark.parametrize("wishes", [("append", "subtract"), ("subtract", "append")], ids=str)
def test_append_and_subtract_of_one_key_contradict(stage, wishes):
    """append and subtract of one item: the one that came later won, without a word."""
    edits = change_lines.edits("\n".join(f"{verb} cleanup.policy=compact topic=orders" for verb in wishes))
    stage.set_config("retention.ms", 1, topic="orders")
    with pytest.raises(kn.UsageError, match=f"{wishes[1]} compact cannot be planned together with {wishes[0]} compact"):
        stage.add(edits)
    assert stage.to_arrow()["key"].to_pylist() == ["retention.ms"]


@pytest.mark.slow
def test_one_more_wish_does_not_copy_those_before(stage):
    """A loop over 100,000 clients took two minutes before anything was planned."""
    stage.add(change_lines.edits("\n".join(f"set {RATE}=5MB/s user=user-{number}" for number in range(20_000))))
    tracemalloc.start()
    try:
        edit = stage.set_quota(RATE, "6MB/s", user="user-7")
        assert tracemalloc.get_traced_memory()[1] < 100_000  # bytes; a copy has a megabyte
    finally:
        tracemalloc.stop()
    assert (len(stage), edit.value) == (20_000, "6000000")


def test_rows_are_discarded_by_their_number(stage):
    """I discarded one row and all were gone."""
    for n in range(1, 4):
        stage.set_quota(RATE, n, user=f"u{n}")
    stage.discard([2])
    assert stage.to_arrow()["resource"].to_pylist() == ["user=u1", "user=u3"]
    with pytest.raises(kn.UsageError, match="no such staged row: 3"):
        stage.discard([3])
    stage.discard()
    assert len(stage) == 0


def test_nothing_staged_is_no_plan(stage):
    """An empty plan was applied and said done."""
    with pytest.raises(kn.UsageError, match="nothing is staged"):
        stage.plan()


def test_a_frame_of_configs_is_staged_row_by_row(stage):
    """I had the overrides of another cluster in a frame, and typed them one by one."""
    columns = ("resource_type", "resource_name", "key", "value")
    rows = [("TOPIC", "orders", "retention.ms", "1000"), ("BROKER", "", "log.retention.ms", None)]
    stage.add(pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows]))
    staged = [(row["op"], row["resource"], row["key"], row["wanted"]) for row in stage.to_arrow().to_pylist()]
    assert staged == [
        ("set", "topic=orders", "retention.ms", "1000"),
        ("delete", "broker=<default>", "log.retention.ms", None),
    ]
