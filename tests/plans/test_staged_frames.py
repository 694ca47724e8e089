"""Frames of quotas and configs, staged row by row: a row that cannot be staged is named, and then none is."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.plans.stage import Stage


@pytest.fixture
def stage() -> Stage:
    def never(*given: object) -> None:
        raise AssertionError("nothing is planned here")

    return Stage(never)  # type: ignore[arg-type]


def config(kind="TOPIC", name="orders", key="retention.ms", value="1000", **more):
    return {"resource_type": kind, "resource_name": name, "key": key, "value": value, **more}


GOOD = config()
SECRET = "broker=1 ssl.key.password is a secret, and brokers do not show its value: its null does not remove it"
CONFIGS = {
    "a failed row": (
        config(key=None, value=None, error="TOPIC_AUTHORIZATION_FAILED", message="Topic authorization failed."),
        "topic=orders was not read: TOPIC_AUTHORIZATION_FAILED: Topic authorization failed.",
    ),
    "no key": (config(key=None), "no key is given"),
    "an unknown type": (config("USER", "alice"), "USER is not a type of config resource"),
    "a type of a later Kafka": (config("UNKNOWN_64"), "UNKNOWN_64 is not a type of config resource"),
    "no type": (config(None), "None is not a type of config resource"),
    "no name": (config(name=None), "topic=None names no single resource"),
    "a broker that is not a number": (config("BROKER", "one"), "broker=one is not a broker"),
    "a secret": (config("BROKER", "1", "ssl.key.password", None, is_sensitive=True), SECRET),
    "a secret by its name": (config("BROKER", "1", "ssl.key.password", None), SECRET),
    "a key that the broker does not know": (
        config("BROKER", "1", "my.plugin", None, is_sensitive=True),
        SECRET.replace("ssl.key.password", "my.plugin"),
    ),
}


@pytest.mark.parametrize(("row", "words"), CONFIGS.values(), ids=CONFIGS)
def test_a_config_row_that_cannot_be_staged(stage, row, words):
    """My frame ended in a KeyError, or its secrets were staged to be removed."""
    with pytest.raises(kn.UsageError) as refused:
        stage.add(pa.Table.from_pylist([GOOD | dict.fromkeys(row.keys() - GOOD.keys()), row]))
    assert str(refused.value) == f"row 2 of the frame: {words}"
    assert len(stage) == 0


QUOTAS = {
    "no entity": ({"entity": None, "key": "producer_byte_rate", "value": 1.0}, "it has neither an entity nor a level"),
    "a broken entity": ({"entity": "user", "key": "producer_byte_rate", "value": 1.0}, "user"),
    "no key": ({"entity": "user=alice", "key": None, "value": 1.0}, "no key is given"),
    "an unknown level": ({"level": "TEAM", "key": "producer_byte_rate", "value": 1.0}, "TEAM is not a level"),
    "an address that is not there": (
        {"level": "IP", "key": "connection_creation_rate", "value": 1.0},
        "ip has no name",
    ),
    "a value that no quota can have": (
        {"entity": "user=alice", "key": "producer_byte_rate", "value": -1.0},
        "greater than 0",
    ),
}


@pytest.mark.parametrize(("row", "words"), QUOTAS.values(), ids=QUOTAS)
def test_a_quota_row_that_cannot_be_staged(stage, row, words):
    """Row 2,117 of my frame was wrong, and the error did not say which."""
    good = dict.fromkeys(row) | {"entity": "user=bob", "key": "producer_byte_rate", "value": 5.0}
    with pytest.raises(kn.KadminError, match=f"^row 2 of the frame: .*{words}"):
        stage.add(pa.Table.from_pylist([good, row], schema=pa.Table.from_pylist([good | row, good]).schema))
    assert len(stage) == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [(None, "not a frame"), (5, "not a frame"), ("quotas.csv", "line 1: a single"), ([{"key": "x"}], "not a frame")],
)
def test_what_is_no_frame_is_refused(stage, given, told):
    """I passed the name of a file, and got a TypeError of Arrow's."""
    with pytest.raises(kn.UsageError, match=told):
        stage.add(given)


def test_numbers_and_missing_values_of_pandas(stage):
    """A column of numbers was refused, or a NaN became a text."""
    rows = [config(value=1000), config(key="segment.ms", value=float("nan"))]
    stage.add(pd.DataFrame(rows))
    assert [(r["op"], r["key"], r["wanted"]) for r in stage.to_arrow().to_pylist()] == [
        ("set", "retention.ms", "1000"),
        ("delete", "segment.ms", None),
    ]


def quota(**more):
    return {"level": "USER", "user": "alice", "key": "producer_byte_rate", "value": 5.0, **more}


CELLS = {
    "a number as a name": (quota(user=5), "user is of type int, not text"),
    "a fraction as a name": (quota(level="CLIENT", client_id=5.5), "client_id is of type float, not text"),
    "a truth as a name": (quota(user=True), "user is of type bool, not text"),
    "a number as a key": (quota(key=5), "key is of type int, not text"),
    "a number as an entity": (quota(entity=5), "entity is of type int, not text"),
    "a name that is not there": (quota(user=None), "user has no name"),
    "a truth as a value": (quota(value=True), "producer_byte_rate=true is not a number"),
    "a text as a value": (quota(value="x"), "producer_byte_rate=x is not a number"),
    "bytes as a value": (quota(value=b"5"), "value is of type bytes, not float"),
    "a dict as a value": (quota(value={}), "value is of type dict, not float"),
}


@pytest.mark.parametrize(("row", "words"), CELLS.values(), ids=CELLS)
def test_a_cell_of_quotas_that_arrow_does_not_take(stage, row, words):
    """`user=5` in my frame: Expected bytes, got a 'int' object."""
    with pytest.raises(kn.UsageError) as refused:
        stage.add(pd.DataFrame([quota() | dict.fromkeys(row.keys() - quota().keys()), row], dtype=object))
    assert str(refused.value) == f"row 2 of the frame: {words}"
    assert len(stage) == 0


def test_a_number_too_large_for_a_quota(stage):
    """Python int too large to convert to C long."""
    with pytest.raises(kn.Invalid, match=r"^row 2 of the frame: producer_byte_rate cannot be 10+: too large"):
        stage.add(pd.DataFrame([quota(), quota(value=10**30)]))


SECRETS = {
    "bytes": (b"s3cret", "value is of type bytes, not text"),
    "a dict": ({"s3cret": 1}, "value is of type dict, not text"),
    "a list of bytes": ([b"s3cret"], "value is of type list, not text"),
    "digits": (10**5000, "value is of type int, not text"),
}


@pytest.mark.parametrize(("value", "words"), SECRETS.values(), ids=SECRETS)
def test_a_value_of_configs_that_is_no_text(stage, value, words):
    """b'x' was staged, with the b."""
    with pytest.raises(kn.UsageError) as refused:
        stage.add(pd.DataFrame([GOOD, config(value=value)], dtype=object))
    assert str(refused.value) == f"row 2 of the frame: {words}"
    assert len(stage) == 0


@pytest.mark.parametrize("value", [b"x", {"a": 1}, [b"x"]])
def test_a_value_that_is_neither_a_text_nor_a_number(stage, value):
    """The same one by one, and in a column that Arrow has a type for."""
    with pytest.raises(kn.UsageError, match="not a text or a number"):
        stage.set_config("retention.ms", value, topic="t")
    with pytest.raises(kn.UsageError, match=r"^value of the frame holds what a column cannot hold"):
        stage.add(pd.DataFrame([config(value=value)]))


def test_texts_and_numbers_in_one_column(stage):
    """A column with `compact` and a number was refused, and brokers beside topics."""
    rows = [
        config(value=604_800_000),
        config(key="cleanup.policy", value=["compact", "delete"]),
        config("BROKER", 1, "log.retention.ms", 10.0),
        config(key="preallocate", value=True),
        config(key="segment.ms", value="7"),
        config(key="segment.bytes", value=float("nan")),
        config(key="max.message.bytes", value=pd.NA),
    ]
    stage.add(pd.DataFrame(rows))
    assert [(r["op"], r["resource"], r["wanted"]) for r in stage.to_arrow().to_pylist()] == [
        ("set", "topic=orders", "604800000"),
        ("set", "topic=orders", "compact,delete"),
        ("set", "broker=1", "10"),
        ("set", "topic=orders", "true"),
        ("set", "topic=orders", "7"),
        ("delete", "topic=orders", None),
        ("delete", "topic=orders", None),
    ]
    stage.discard()
    stage.add(pd.DataFrame([quota(value="10MB/s"), quota(user="bob")]))
    assert [r["wanted"] for r in stage.to_arrow().to_pylist()] == ["10000000", "5"]


@pytest.mark.broker
def test_what_a_broker_told_can_be_staged_again_but_for_its_secrets(cluster):
    """I copied a broker's configs, and 51 of its 340 rows were staged to be removed."""
    told = cluster.configs.describe(broker=1).to_pandas()
    stage = cluster.new_stage()
    with pytest.raises(kn.UsageError, match=r"row \d+ of the frame: broker=1 .* is a secret"):
        stage.add(told)
    assert len(stage) == 0
    for frame in (told, told[["resource_type", "resource_name", "key", "value", "is_sensitive"]]):
        stage.add(frame[~frame.is_sensitive])
    removed = {row["key"] for row in stage.to_arrow().to_pylist() if row["op"] == "delete"}
    assert not removed & set(told.key[told.is_sensitive | told.value.notna()])
    assert len(stage) == int((~told.is_sensitive).sum())


@pytest.mark.broker
def test_an_answer_with_a_failed_row_is_not_staged(cluster, topic):
    """One topic of two could not be read, and staging the answer ended in a TypeError."""
    stage = cluster.new_stage()
    told = cluster.configs.describe(topic=[topic, "no-such-topic"])
    with pytest.raises(
        kn.UsageError, match=r"row \d+ of the frame: topic=no-such-topic was not read: UNKNOWN_TOPIC_OR"
    ):
        stage.add(told)
    assert len(stage) == 0


def test_names_that_are_not_the_entitys_are_refused():
    """I took alice's rows, wrote bob into them, and it was alice whose quotas changed."""
    rows = {"entity": ["user=alice"], "level": ["USER"], "user": ["bob"], "key": ["producer_byte_rate"], "value": [1.0]}
    with pytest.raises(kn.UsageError) as caught:
        Stage(lambda *_: None).add(pa.table(rows))
    assert str(caught.value) == "row 1 of the frame: its entity is user=alice, and its user is bob"
    del rows["entity"]
    stage = Stage(lambda *_: None)
    stage.add(pa.table({**rows, "client_id": pa.nulls(1, pa.string()), "ip": pa.nulls(1, pa.string())}))
    assert stage.to_arrow()["resource"].to_pylist() == ["user=bob"]
