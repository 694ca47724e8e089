"""A file with a right hash and a wrong shape is refused before anything is sent."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import kadmin_nb as kn
from kadmin_nb import documents
from kadmin_nb.model.changes import OK, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans import plan_file
from kadmin_nb.plans.journal import Journal, store
from kadmin_nb.plans.kinds import KINDS
from kadmin_nb.plans.plan import Plan, document_of, read_plan, with_note
from kadmin_nb.plans.plan_file import PlanHead
from tests.architecture.sources import ROOT
from tests.double.kafka import FakeKafka

SCHEMA = ROOT / "docs" / "plan.schema.json"

AT = "2026-08-01T12:00:00.000000+00:00"
SET_IN_FORMAT_3: dict[str, Any] = {
    "is_let_through": True,
    "meant": "retention.bytes",
    "topic_id": "YXBwcm92ZWQta2Fma2EtMQ",
    "until": "2026-09-01T12:00:00+02:00",
}
ROWS = (
    Change(
        1, "set", Entity.of({"user": "alice"}), "producer_byte_rate", None, "5000", "5000", level="USER", validated=OK
    ),
    Change(2, "delete", Resource("TOPIC", "t"), "retention.ms", "7", None, None, **SET_IN_FORMAT_3),
    Change(3, "set", Resource("BROKER", "1"), "ssl.key.password", None, "env:A", "env:A", False, is_secret=True),
)
PLAN = with_note(
    Plan(PlanHead("cluster", AT, "why", "User:a (a@b)", "2026-08-08T12:00:00.000000+00:00"), ROWS),
    "read it",
    author="User:b (b@b)",
    at=AT,
)
GOOD = json.loads(document_of(PLAN))
WRONG: tuple[Any, ...] = (None, True, 7, 1.5, -1, 10**30, "", "x", [], ["x"], {}, {"x": 1}, [[[]]])


def with_right_id(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the id of its body, and notes about that."""
    document["id"] = documents.digest(documents.to_json(document["body"]))
    for note in document["notes"] if isinstance(document["notes"], list) else ():
        if isinstance(note, dict) and "plan_id" in note:
            note["plan_id"] = document["id"]
    return document


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a document."""
    yield path
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(below, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def mutations() -> Iterator[tuple[str, Any]]:
    """Each field of every type, gone, and with a stranger beside it."""
    for path in places(GOOD):
        for wrong in WRONG:
            changed = copy.deepcopy({"": GOOD})
            inside, key = at(changed, ("", *path)[:-1]), ("", *path)[-1]
            if type(inside[key]) is not type(wrong):
                inside[key] = wrong
                yield f"{path} is {wrong!r}", changed[""]
        for rest in ("gone", "and more"):
            changed = copy.deepcopy(GOOD)
            holder = at(changed, path)
            if rest == "and more" and isinstance(holder, dict) and path[:1] != ("notes",):
                holder["stranger"] = "x"
                yield f"{path} {rest}", changed
            if rest == "gone" and path:
                del at(changed, path[:-1])[path[-1]]
                yield f"{path} gone", changed


MUTATIONS = dict(mutations())
LAWFUL = {  # another plan, and a whole one
    "('body', 'expires') is None",
    "('body', 'reason') is None",
    "('body', 'undoes') is ''",
    "('body', 'undoes') is 'x'",
    "('notes', 0) gone",
    *(f"('body', 'changes', {row}, {name!r}) is None" for row in range(3) for name in ("old", "level", "note")),
    *(
        f"('body', 'changes', {n}, {c!r}) is {v!r}"
        for n in range(3)
        for c in ("old", "level", "note")
        for v in ("", "x")
        if (n, c) != (0, "old")  # a quota's, which is a number
    ),
    *(f"('body', 'changes', {row}, 'old_known') is True" for row in range(3)),
    "('body', 'changes', 1, 'after') is ''",
    "('body', 'changes', 1, 'after') is 'x'",
    "('body', 'changes', 2) gone",
    "('body', 'changes', 2, 'is_secret') gone",
    *(f"('body', 'changes', 1, {name!r}) gone" for name in SET_IN_FORMAT_3),
    "('notes', 0, 'author') gone",
    "('notes', 0, 'at') gone",
    "('notes', 0, 'text') gone",
}


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) - LAWFUL))
def test_every_wrong_shape_is_refused(name, tmp_path):
    """A plan that another tool had written was applied, and ended in a stack trace: 74 of 150 shapes."""
    document = MUTATIONS[name]
    if name.startswith("('body'") and "body" in document:
        with_right_id(document)
    (tmp_path / "p.json").write_text(json.dumps(document))
    kafka = FakeKafka()
    with pytest.raises(kn.KadminError) as raised:
        Plan.load(tmp_path / "p.json")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600
    assert kafka.calls == []


@pytest.mark.parametrize("name", sorted(set(MUTATIONS) & LAWFUL))
def test_what_is_another_plan_is_loaded(name, tmp_path):
    """A plan without a reason was none."""
    document = with_right_id(MUTATIONS[name])
    (tmp_path / "p.json").write_text(json.dumps(document))
    assert Plan.load(tmp_path / "p.json").id == document["id"]


def loaded(text: str) -> Plan:
    return read_plan(text, "p.json")


def of_format(number: object, **fields: object) -> str:
    """A plan of another format, whose second row has these fields."""
    document = copy.deepcopy(GOOD)
    document["body"]["format"] = number
    row = document["body"]["changes"][1]
    for name in SET_IN_FORMAT_3:
        del row[name]
    row |= fields
    return json.dumps(with_right_id(document))


@pytest.mark.parametrize("number", [2, 4])
def test_a_plan_of_another_format_is_refused_by_its_number(number):
    """The plan of a newer version was "not a plan file of format 2: format must be same as const definition"."""
    with pytest.raises(kn.Invalid) as refused:
        loaded(of_format(number, owner="a field to come"))
    assert str(refused.value) == f"p.json is not a plan file: its format is {number}, and this version reads 3"


def test_an_end_that_an_earlier_version_wrote_is_ignored_with_a_note():
    """A plan from last week was refused, for a field that had gone."""
    for_good, for_a_day = loaded(of_format(3)), loaded(of_format(3, until="2026-09-01T12:00:00+02:00"))
    assert for_good.changes_id != for_a_day.changes_id
    assert json.loads(document_of(for_a_day)) == json.loads(of_format(3, until="2026-09-01T12:00:00+02:00"))
    assert "ignored" not in repr(for_good)
    assert "the end of a change is ignored: row 2 (2026-09-01T12:00:00+02:00)" in repr(for_a_day)


def numbered(*numbers: object) -> str:
    document = copy.deepcopy(GOOD)
    for row, number in zip(document["body"]["changes"], numbers, strict=True):
        row["row"] = number
    return json.dumps(with_right_id(document))


TEXTS = {
    "two rows of one number": (numbered(1, 1, 3), "its row 2: its number is 1"),
    "rows from zero": (numbered(0, 1, 2), "its row 1: row: expected int >= 1"),
    "a number that is none": (numbered(1.0, 2, 3), "its row 1: row: expected int, got float"),
    "NaN": (document_of(PLAN).replace('"row":1', '"row":NaN'), "NaN is not a JSON number"),
    "brackets": ("[" * 200_000, "Nested too deeply"),
    "digits": (document_of(PLAN).replace('"row":1', f'"row":{"1" * 6_000}'), "A number with too many digits"),
    "a key twice": (document_of(PLAN).replace('"row":1', '"row":1,"row":1'), "A name occurs twice in one object"),
    "half a pair": (document_of(PLAN).replace('"ok"', r'"\ud800"'), "Half a surrogate pair is not text"),
    "a later kind": (
        json.dumps(with_right_id(json.loads(document_of(PLAN).replace('"kind":"quota"', '"kind":"acl"')))),
        "its row 1: this version does not know changes of kind acl",
    ),
    "no such month": (
        json.dumps(with_right_id(json.loads(document_of(PLAN).replace("2026-08-01", "2026-13-01")))),
        "month must be in 1",
    ),
    "no such end": (
        json.dumps(with_right_id(json.loads(document_of(PLAN).replace("2026-09-01", "2026-09-31")))),
        "its row 2: day is out of range",
    ),
    "an end without a zone": (
        json.dumps(with_right_id(json.loads(document_of(PLAN).replace("12:00:00+02:00", "12:00:00")))),
        "its row 2: until: expected str matching regex",
    ),
    "an entity in other words": (
        json.dumps(with_right_id(json.loads(document_of(PLAN).replace('"user=alice"', '"user=alice "')))),
        "its id does not match|user=alice",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_means_nothing_or_two_things(name):
    """The last of two keys was taken, and the reviewer had read the first."""
    text, told = TEXTS[name]
    with pytest.raises(kn.KadminError, match=told) as raised:
        loaded(text)
    assert len(str(raised.value)) < 600


@pytest.mark.slow
@pytest.mark.parametrize("name", ["old", "wanted", "after"])
@pytest.mark.parametrize("value", ["abc", "1,5", "nan", ""])
def test_a_quota_that_is_not_a_number_is_refused(name, value, tmp_path):
    """`plan show` ended in a stack: could not convert string to float."""
    document = copy.deepcopy(GOOD)
    document["body"]["changes"][0][name] = value
    (tmp_path / "p.json").write_text(documents.to_json(with_right_id(document)))
    with pytest.raises(kn.Invalid, match="is not a plan file: its row 1: the value"):
        Plan.load(tmp_path / "p.json")


def changed(row: int, **fields: object) -> str:
    """The good plan with other fields in one row, under the right hash."""
    document = copy.deepcopy(GOOD)
    document["body"]["changes"][row - 1] |= fields
    return json.dumps(with_right_id(document))


LONG = "é" * 16_384
ROWS_THAT_ARE_NONE = {
    "no word": (1, {"resource": "inf"}, "inf does not name an entity"),
    "any user": (1, {"resource": "user=<any>"}, "user=<any> names more than one entity"),
    "two types": (1, {"resource": "user=a ip=1.2.3.4"}, "ip cannot be combined with user or client-id"),
    "an open quote": (1, {"resource": "user='a"}, "a quote is never closed, at character 6: '"),
    "a config of a user": (2, {"resource": "user=alice"}, "unknown config resource user"),
    "the default topic": (2, {"resource": "topic=<default>"}, "topic=<default> names no single resource"),
    "a broker without a number": (2, {"resource": "broker=one"}, "broker=one is not a broker"),
    "a quota that is appended": (1, {"op": "append"}, "append cannot be done to a quota"),
    "a client config of nobody": (
        2,
        {"kind": "client-config", "resource": "client-id=x"},
        "a client config belongs to",
    ),
    "a long name": (2, {"resource": f"topic={LONG}"}, "a name has 32,768 bytes, but Kafka takes at most 32,767"),
    "a long key": (2, {"key": LONG}, "the key has 32,768 bytes, but Kafka takes at most 32,767"),
    "a long value": (3, {"wanted": f"env:{LONG}"}, "the value has 32,772 bytes, but Kafka takes at most 32,767"),
}


@pytest.mark.parametrize(("row", "fields", "words"), ROWS_THAT_ARE_NONE.values(), ids=ROWS_THAT_ARE_NONE)
def test_a_row_that_is_not_a_change_is_named_with_its_file(row, fields, words):
    """The error was "user=<any> names more than one entity": I had 40 files of 2,000 rows."""
    with pytest.raises(kn.Invalid) as refused:
        loaded(changed(row, **fields))
    assert str(refused.value).startswith(f"p.json is not a plan file: its row {row}: {words}")
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    "fields",
    [
        {"resource": "client-id=app user=alice", "key": "producer_byte_rate"},
        {"resource": "user=alice client-id=app", "key": "producer_byte_rate", "op": "delete", "wanted": None},
    ],
)
def test_two_rows_of_one_key_are_refused(fields):
    """The first row set a quota and the third removed it, and the reviewer had read the first."""
    document = json.loads(changed(1, resource="user=alice client-id=app"))
    row = {**document["body"]["changes"][0], "row": 2, **fields}
    document["body"]["changes"][1] = row if row["op"] == "set" else {**row, "after": None}
    with pytest.raises(kn.Invalid) as refused:
        loaded(json.dumps(with_right_id(document)))
    assert str(refused.value) == (
        "p.json is not a plan file: its rows 1 and 2 both change producer_byte_rate of user=alice client-id=app"
    )


@pytest.mark.parametrize(("name", "most"), [("key", 32_767), ("wanted", 32_767), ("old", 32_767), ("after", 65_535)])
def test_the_schema_bounds_what_is_sent(name, most):
    """A value of 20 MB passed our check in the pull request, and the broker ended the connection."""
    schema = json.loads(SCHEMA.read_text())
    jsonschema.validate(json.loads(changed(2, op="set", **{"wanted": "x", "after": "x", name: "x" * most})), schema)
    too_long = changed(2, op="set", **{"wanted": "x", "after": "x", name: "x" * (most + 1)})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(too_long), schema)
    with pytest.raises(kn.Invalid, match=f"its row 2: {name}: expected str of length <= {most}"):
        loaded(too_long)


def test_the_longest_names_are_loaded():
    """The schema counts a name with its quotes."""
    entity = Entity.of({"user": "' " * 16_383, "client-id": "'" * 32_767})
    plan = Plan(
        PlanHead("cluster", AT), (Change(1, "set", entity, "producer_byte_rate", None, "5", "5", level="USER_CLIENT"),)
    )
    assert loaded(document_of(plan)) == plan


def test_a_journal_holds_a_plan_of_the_same_shape(tmp_path):
    """`plan apply ID` read from the journal what `plan apply FILE` refuses."""
    journals = store.Journals(tmp_path)
    for number, (name, document) in enumerate(sorted(MUTATIONS.items())):
        if name in LAWFUL or number % 7:
            continue
        place = tmp_path / "cluster" / f"{number:064}.jsonl"
        with Journal.open(place) as journal:
            journal.write("plan", plan=document)
        for look in (lambda j: j.plan, lambda j: j.to_arrow(), lambda j: j.state and j.plan):
            with pytest.raises(kn.KadminError):
                look(journals.find(f"{number:064}"))
        [row] = journals.to_arrow().to_pylist()
        assert row["error"]
        place.unlink()


def test_the_schema_is_published():
    """A pipeline that checks plans in a pull request had to guess what they are."""
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(GOOD, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**GOOD, "id": 7}, schema)
    row, head = schema["definitions"]["change"]["properties"], schema["properties"]["body"]["properties"]
    assert [*row.keys()] == [*plan_file.Row.__struct_fields__]
    assert head.keys() - {"changes"} == {*PlanHead.__struct_fields__}
    assert row["kind"]["enum"] == [*KINDS]


@pytest.mark.long
@pytest.mark.slow
def test_a_plan_of_100_000_changes_is_loaded_within_seconds(tmp_path):
    """The check took longer than all the rest."""
    rows = (
        Change(n, "set", Entity.of({"user": f"u{n}"}), "producer_byte_rate", None, "5", "5") for n in range(1, 100_001)
    )
    place = Plan(PlanHead("cluster", AT), tuple(rows)).save(tmp_path / "p.json")
    began = time.process_time()
    assert len(Plan.load(place)) == 100_000
    assert time.process_time() - began < 30
