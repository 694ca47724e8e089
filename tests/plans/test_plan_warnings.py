"""Warnings below a plan: what its rows do not show. They refuse nothing."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb import hints
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import DELETE, SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.findings import DANGER, Finding
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.plans.advice import Advice, dangers
from kadmin_nb.plans.advice import quota_advice as warnings
from kadmin_nb.plans.observed_state import ObservedState
from kadmin_nb.plans.plan import Plan, bound, document_of, with_note
from kadmin_nb.plans.plan_file import PlanHead
from tests.double import FakeKafka
from tests.plans.plan_rows import rows
from tests.plans.scenes import hold

RATE = "producer_byte_rate"


def quotas(held: dict[str, float], key: str = RATE) -> pa.Table:
    found = []
    for text, value in held.items():
        entity = Entity.parse(text)
        names = {kind: None if (name := entity.get(kind)) is DEFAULT else name for kind in ("user", "client-id")}
        found.append(
            {"entity": text, "level": entity.level, "user": names["user"], "client_id": names["client-id"]}
            | {"key": key, "value": value}
        )
    return schemas.table(schemas.QUOTAS, found)


def changes(held: dict[str, float], wanted: dict[str, float | None], key: str = RATE) -> list[Change]:
    made = []
    for row, (text, value) in enumerate(wanted.items(), 1):
        entity, old = Entity.parse(text), held.get(text)
        new = None if value is None else f"{value:.0f}"
        was = None if old is None else f"{old:.0f}"
        made.append(Change(row, SET if new else DELETE, entity, key, was, new, new, level=entity.level))
    return made


def told(held: dict[str, float], wanted: dict[str, float | None], key: str = RATE, **scene) -> list[tuple[str, str]]:
    found = warnings.warnings(changes(held, wanted, key), ObservedState(quotas=quotas(held, key), **scene))
    return [(one.code, one.message) for one in found]


def words(held: dict[str, float], wanted: dict[str, float | None], **scene) -> list[str]:
    return [word for word, _ in told(held, wanted, **scene)]


APP, ANY_APP, ALL = "client-id=app", "client-id=<default>", "user=<default>"
OF_ALICE, ANY_OF_ALICE = "user=alice client-id=app", "user=alice client-id=<default>"

SCENES = {
    "a default user beside client-ids": ({APP: 5, ANY_APP: 6}, {ALL: 9}, ["shadows"]),
    "a default user alone": ({}, {ALL: 9}, []),
    "a default user that is only changed": ({APP: 5, ALL: 8}, {ALL: 9}, []),
    "a client-id beside a default user": ({ALL: 9}, {APP: 5}, ["shadowed"]),
    "a client-id that the plan uncovers": ({ALL: 9, APP: 4}, {APP: 5, ALL: None}, []),
    "both in one plan": ({}, {ALL: 9, APP: 5}, ["shadows", "shadowed"]),
    "any client-id, and nobody else": ({}, {ANY_APP: 5}, []),
    "any client-id of a user": ({}, {ANY_OF_ALICE: 5}, []),
    "any client-id of a user who has a quota": ({"user=alice": 9}, {ANY_OF_ALICE: 5}, []),
    "any client-id of another user": ({"user=bob": 9}, {ANY_OF_ALICE: 5}, []),
    "any client-id with a default user behind": ({ALL: 9}, {ANY_OF_ALICE: 5}, []),
    "a named client-id": ({}, {APP: 5}, []),
    "the first user beside client-ids": ({APP: 5}, {"user=alice": 9}, []),
    "the second user beside client-ids": ({APP: 5, "user=bob": 9}, {"user=alice": 9}, []),
    "the first user beside a default user": ({ALL: 5}, {"user=alice": 9}, []),
    "the first pair below its user": ({"user=alice": 9}, {OF_ALICE: 5}, []),
    "the first pair below another user": ({"user=bob": 9}, {OF_ALICE: 5}, []),
    "the first pair of a client-id": ({APP: 9}, {OF_ALICE: 5}, []),
    "the first pair of another client-id": ({"client-id=other": 9}, {OF_ALICE: 5}, []),
    "a user whose client-ids have a default": ({ANY_OF_ALICE: 5}, {"user=alice": 9}, ["reach"]),
    "a user and its client-ids, both new": ({}, {ANY_OF_ALICE: 5, "user=alice": 9}, ["reach"]),
    "a user whose client-ids lose their default": (
        {ANY_OF_ALICE: 5, "user=alice": 9},
        {"user=alice": 8, ANY_OF_ALICE: None},
        [],
    ),
    "a user beside another's client-ids": ({ANY_OF_ALICE: 5}, {"user=bob": 9}, []),
    "everyone whose client-ids have a default": ({ALL: 4, f"{ALL} {ANY_APP}": 5}, {ALL: 9}, ["reach"]),
    "a removal": ({APP: 5, ALL: 9}, {APP: None}, []),
    "what is so already": ({ALL: 9, APP: 5}, {APP: 5}, []),
}


@pytest.mark.parametrize(("held", "wanted", "says"), SCENES.values(), ids=SCENES)
def test_what_the_rows_do_not_show_is_said_and_nothing_else(held, wanted, says):
    """The plan had one row, and changed who shared with whom in half of the cluster."""
    assert words(held, wanted) == says


def test_who_is_silenced_is_named_and_counted():
    """It shadowed 400 client-ids, and the note had room for five."""
    held = {f"client-id=c{n}": 5.0 for n in range(400)}
    [(_, said)] = told(held, {ALL: 9})
    assert said == (
        "user=<default> producer_byte_rate shadows 400 quotas, which can never apply any more: client-id=c0, "
        "client-id=c1, client-id=c10 and 397 more"
    )
    [(_, never)] = told({ALL: 9.0}, dict(held))
    assert never == (
        "producer_byte_rate of client-id=c0, client-id=c1, client-id=c2 and 397 more can never apply: user=<default> "
        "always wins"
    )


def test_whom_a_quota_of_a_user_reaches_is_said_once_for_many():
    """bob was given 5 MB/s, and each of his clients went on with 256 KiB/s."""
    [(_, said)] = told({"user=bob client-id=<default>": 262144.0}, {"user=bob": 5e6})
    assert said == (
        "producer_byte_rate of user=bob reaches only clients without a client-id; all others keep "
        "user=bob client-id=<default> (256 KiB/s)"
    )
    held = {f"user=u{n} client-id=<default>": 1e6 for n in range(5)}
    [(_, said)] = told(held, {f"user=u{n}": 5e6 for n in range(5)})
    assert said == (
        "producer_byte_rate of user=u0, user=u1, user=u2 and 2 more reaches only clients without a client-id; "
        "all others keep user=u0 client-id=<default> (1 MB/s), user=u1 client-id=<default> (1 MB/s), "
        "user=u2 client-id=<default> (1 MB/s) and 2 more"
    )


@pytest.mark.parametrize(
    ("key", "value", "brokers", "says"),
    [
        (RATE, 5e6, 3, ["5 MB/s per broker: up to 15 MB/s in total"]),
        (
            "request_percentage",
            50,
            6,
            ["50 % per broker: up to 300 % in total"],
        ),
        (RATE, 5e6, 1, []),
        ("controller_mutation_rate", 5, 3, []),
    ],
)
def test_what_a_limit_is_on_all_brokers_is_said_once(key, value, brokers, says):
    """I allowed 5 MB/s, and the client sent 15."""
    found = told({}, {"user=alice": value, "user=bob": value}, key, brokers=brokers)
    assert [said for _, said in found] == says


def test_a_user_that_is_named_as_in_an_acl_is_told():
    """The quota was stored, verified, and bound nobody for a year."""
    [(word, said)] = told({}, {str(Entity.of({"user": "User:alice"})): 5})
    assert (word, said) == ("principal", "user=User:alice: a quota takes the name without its type, what follows User:")


@pytest.mark.parametrize(
    "name",
    [
        "alice", "alice@EXAMPLE.COM", "DOMAIN\\alice", "team orders", "a=b", "100%", "x,y", "жанна", "<default>",
        "CN=alice", "CN=alice, OU=data", "/C=DE/CN=alice", "arn:aws:iam::1:role/etl",
        "CN=alice,OU=data,O=Example,L=Berlin,ST=BE,C=DE", "CN=Smith\\, Alice,O=Example",
        "1.2.840.113549.1.9.1=#1605,CN=a", "arn:aws:iam::123456789012:user/alice", "ANONYMOUS", "kafka/host@REALM",
    ],
)  # fmt: skip
def test_a_name_that_a_client_may_have_is_let_be(name):
    """Every second user name had a warning, and I stopped reading them."""
    assert told({}, {str(Entity.of({"user": name})): 5}) == []


def test_many_odd_names_are_one_line():
    """A table of 300 users, each with its own warning."""
    [(_, said)] = told({}, {f"user=User:u{n}": 5.0 for n in range(300)})
    assert said.startswith("user=User:u0, user=User:u1, user=User:u2 and 297 more: ")


# -- with a cluster


def planned(kafka: FakeKafka, held: dict[str, float], wanted: dict[str, float | None]) -> Plan:
    hold(kafka, {(entity, RATE): value for entity, value in held.items()}, {})
    kafka.cluster.settle()
    made = changes(held, wanted)
    plan = Plan(PlanHead(kafka.id, kafka.now().isoformat(), "a test"), tuple(made))
    live = SimpleNamespace(target="")  # type: ignore[assignment]
    return bound(plan, live, dangers.advice_on(kafka, made, None))


def test_they_stand_below_the_plan_at_every_face_and_in_its_file(tmp_path):
    """They were printed once, when nobody looked, and the file had none."""
    plan = planned(FakeKafka(), {APP: 5e6}, {"user=<default>": 9e6, "user=User:bob": 1e6})
    kinds = ["shadows", "principal", "per broker"]
    assert [word for (word,) in rows(plan.warnings(), "warning")] == kinds
    again = kn.Plan.load(plan.save(tmp_path / "p.json"))
    assert (again.id, again.notes, again == plan) == (plan.id, (), True)
    assert again.warnings().to_arrow().to_pylist() == plan.warnings().to_arrow().to_pylist()
    said = "9 MB/s per broker: up to 27 MB/s in total"
    for one in (plan, again):
        for shown in (repr(one), one.to_markdown()):
            assert f"warning: {said}" in shown
        assert "27 MB/s in total" in one._repr_html_()
    assert document_of(with_note(again, "seen", author="b", at="now")).count('"kind":"warning"') == len(kinds)


def test_a_plan_of_configs_asks_for_none_of_it():
    """A config change read all quotas of the cluster first."""
    from kadmin_nb.model.resources import Resource

    kafka = FakeKafka()
    change = Change(1, SET, Resource("BROKER", "1"), "max.connections", "1", "2", "2")
    told = dangers.advice_on(kafka, [change], None)
    assert (told.dangers, told.warnings, kafka.calls) == ((), (), [])


def test_a_loaded_plan_can_be_handed_to_another_process(tmp_path):
    """A plan could be pickled until it had a warning."""
    plan = kn.Plan.load(planned(FakeKafka(), {}, {"user=User:bob": 1e6}).save(tmp_path / "p.json"))
    again = pickle.loads(pickle.dumps(plan))
    assert (again, repr(again)) == (plan, repr(plan))


def test_a_note_that_is_no_advice_is_refused(tmp_path):
    """A hand-made note broke the plan's display with a stack trace."""
    plan = Plan(PlanHead("c", "2026-01-01T00:00:00+00:00"), ())
    note = {"kind": "danger", "row": "first", "plan_id": plan.id}
    place = tmp_path / "p.json"
    place.write_text(f'{{"body":{plan._body},"id":"{plan.id}","notes":[{note!s}]}}'.replace("'", '"'))
    with pytest.raises(kn.Invalid, match="is not a plan file: a note of it has no resource"):
        kn.Plan.load(place)


def test_long_lists_below_a_plan_end():
    """A hundred dangers below a plan of a hundred rows."""
    several = tuple(Finding("durability", DANGER, "1 becomes 0", "topic=t", "k", row) for row in range(1, 101))
    lines = Advice(several).refusal_lines("a test", hints.terminal)
    assert len(lines) == 22
    assert len(Advice(several).refusal_lines("a test", hints.terminal, shown=None)) == 101
    assert lines[-2:] == [
        "! … and 80 more",
        "Correct it or leave it out; to apply it anyway: --allow 'k topic=t'.",
    ]
    assert (
        Advice(several).refusal_lines(None, hints.terminal)[-1]
        == "Correct it or leave it out; to apply it anyway: --allow 'k topic=t' and --reason WHY."
    )
