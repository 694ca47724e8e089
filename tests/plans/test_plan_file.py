"""A saved plan is the plan, or it is refused."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import kadmin_nb as kn
from kadmin_nb import documents
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.model.changes import OK, Change, Refusal
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.kinds import remedy
from kadmin_nb.plans.plan import Plan, with_head
from kadmin_nb.plans.plan_file import PlanHead
from tests.double import FakeKafka


@pytest.fixture
def double() -> Changes:
    """A cluster in memory."""
    return Changes(FakeKafka())  # type: ignore[arg-type]


@pytest.fixture
def plan() -> Plan:
    names = ["<default>", "x y=z", "DOMAIN\\alice", "naïve 🦆", "'\"", "#;", "{x}"]
    entities = [Entity.of({"user": name, "client-id": DEFAULT}) for name in names]
    changes = [
        Change(0, "set", e, "producer_byte_rate", None, "5000", "5000", level=e.level, validated=OK) for e in entities
    ]
    changes += [
        Change(0, "append", Resource("TOPIC", "t"), "cleanup.policy", None, "compact", "delete,compact", note="a\nb"),
        Change(0, "delete", Resource("BROKER", ""), "log.retention.ms", "7", None, None),
        Change(0, "set", Resource("BROKER", "1"), "ssl.key.password", None, "x", "x", old_known=False),
    ]
    return Plan(
        PlanHead("cluster-id", "2026-08-01T12:00:00.000000+00:00", "because"),
        tuple(c.with_(row=n) for n, c in enumerate(changes, 1)),
    )


def test_what_was_saved_is_what_is_loaded(plan, tmp_path):
    """The plan that I reviewed was not the plan that ran."""
    loaded = Plan.load(plan.save(tmp_path / "plan.json"))
    assert loaded == plan
    assert (loaded.id, loaded.changes_id) == (plan.id, plan.changes_id)
    assert loaded.to_arrow().to_pylist() == plan.to_arrow().to_pylist()


def test_a_plan_says_that_it_has_expired(plan, tmp_path):
    """I sent a plan round for review that nobody could apply any more."""
    ends = {"2026-08-08T12:00:00.000000+00:00": True, "2999-08-08T12:00:00.000000+00:00": False}
    for end, is_over in ends.items():
        loaded = Plan.load(with_head(plan, expires=end).save(tmp_path / f"{end[:4]}.json"))
        assert loaded.head.has_expired() is is_over
        until = f"{end[:10]} {end[11:19]}Z"
        said = f"expired {until}: it can no longer be started" if is_over else f"to be applied until {until}"
        assert said in repr(loaded)
        assert said in loaded._repr_html_()
        assert said in loaded.to_markdown()
        marks = loaded.to_arrow().schema.metadata
        assert (marks[b"kadmin.plan_id"].decode(), marks[b"kadmin.expires"].decode()) == (loaded.id, end)
    assert not plan.head.has_expired()


@pytest.mark.slow
def test_any_changed_byte_is_refused(plan, tmp_path):
    """Somebody added a zero to the file after I had reviewed it."""
    place = plan.save(tmp_path / "plan.json")
    good = place.read_bytes()
    changed = tmp_path / "changed.json"
    for at in range(len(good)):
        changed.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        with pytest.raises(kn.KadminError):
            Plan.load(changed)
    for end in range(0, len(good) - 1, 7):
        changed.write_bytes(good[:end])
        with pytest.raises(kn.Invalid):
            Plan.load(changed)


STRANGE = {
    "no JSON": "hello",
    "a list": "[]",
    "no body": '{"id": "x"}',
    "no id": '{"body": {"format": 1}}',
    "a body that is none": '{"body": 7, "id": "x"}',
    "another format": '{"body": {"format": 1}, "id": "x", "notes": []}',
    "not a number": '{"body": {"format": NaN}, "id": "x", "notes": []}',
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_a_file_that_is_no_plan_says_so(tmp_path, text):
    """A wrong file gave a KeyError."""
    place = tmp_path / "plan.json"
    place.write_text(text)
    with pytest.raises(kn.Invalid, match=r"plan\.json"):
        Plan.load(place)


def test_a_file_that_is_not_there_says_so(tmp_path):
    """A wrong path gave a stack trace."""
    with pytest.raises(kn.NotFound, match="no such plan file"):
        Plan.load(tmp_path / "nothing.json")


def test_a_kind_of_a_later_version_is_refused_with_its_row(plan, tmp_path):
    """A plan of a newer version was half understood."""

    place = plan.save(tmp_path / "plan.json")
    document = json.loads(place.read_text())
    document["body"]["changes"][2]["kind"] = "acl"
    document["id"] = documents.digest(documents.to_json(document["body"]))
    place.write_text(json.dumps(document))
    with pytest.raises(kn.Invalid, match="row 3: this version does not know changes of kind acl"):
        Plan.load(place)


@pytest.mark.parametrize(
    ("row", "change"),
    [
        (0, {"op": "drop"}),
        (0, {"op": "append"}),
        (0, {"after": "much"}),
        (0, {"resource": "user"}),
        (0, {"row": None, "key": []}),
        (7, {"resource": "topic"}),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_although_the_id_fits(plan, tmp_path, row, change):
    """A plan that another tool had written ended in a stack trace, half applied."""

    place = plan.save(tmp_path / "plan.json")
    document = json.loads(place.read_text())
    if "key" in change:
        del document["body"]["changes"][row]["key"]
    else:
        document["body"]["changes"][row].update(change)
    document["id"] = documents.digest(documents.to_json(document["body"]))
    place.write_text(json.dumps(document))
    with pytest.raises(kn.KadminError):
        Plan.load(place)


def test_a_loaded_plan_is_applied_by_a_cluster_only(plan, tmp_path):
    """A plan from a file ran against whatever was connected."""
    with pytest.raises(kn.UsageError, match="bound to no cluster"):
        Plan.load(plan.save(tmp_path / "plan.json")).apply()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda plan: pickle.loads(pickle.dumps(plan))])
def test_a_plan_is_copied_as_a_value(copied, double):
    """pickle said: cannot pickle '_thread.lock' object; and so did a cache, and multiprocessing."""
    stage = double.new_stage()
    stage.set_quota("producer_byte_rate", "1MB/s", user="alice")
    plan = stage.plan("soon")
    other = copied(plan)
    assert (other, other.id) == (plan, plan.id)
    assert repr(other) == repr(plan).replace("plan.apply() applies it.\n", "")
    with pytest.raises(kn.UsageError, match="bound to no cluster"):
        other.apply()
    assert plan.apply().ok


def test_an_id_is_of_the_text_that_every_version_has_written():
    """A name with an umlaut, and the plan that my colleague had approved had another id on my newer version."""
    for value in [*map(chr, range(0x250)), "🦆", "\ud800", "\u2028", None, True, 2**70]:
        said = {"b": [value, 1], "a": {"B": value, "A": None}}
        plain = json.dumps(said, sort_keys=True, separators=(",", ":"))
        assert documents.texts_to_json(said) == documents.to_json(said) == plain


def test_two_plans_that_want_the_same_have_the_same_changes_id(plan):
    """I could not see that the second plan only repeats the first."""
    later = Plan(PlanHead(plan.cluster_id, "2026-08-02T12:00:00.000000+00:00", "again"), plan.changes)
    assert later.id != plan.id
    assert later.changes_id == plan.changes_id


def test_a_refusal_is_the_same_object_after_it_was_saved(tmp_path) -> None:
    """The hint said what right was missing, until the plan was saved and read again."""
    refused = Refusal("TOPIC_AUTHORIZATION_FAILED", "no: not here")
    change = Change(1, "set", Resource("TOPIC", "orders"), "retention.ms", wanted="1", after="1", validated=refused)
    path = kn.Plan(PlanHead("c", "2026-11-21T12:00:00+00:00"), (change,)).save(tmp_path / "plan.json")
    [read] = kn.Plan.load(path).changes
    assert (read.validated, read.lacks_right) == (refused, True)
    assert remedy(read) == "It needs ALTER_CONFIGS on the topic orders."
