"""For any cluster and any wishes: a plan changes what was reviewed and nothing else, and a rollback restores."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.model.changes import APPEND, DELETE, SET, SUBTRACT, Edit
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.execution import executor
from kadmin_nb.plans.journal import replay
from kadmin_nb.plans.outcomes import ApplyResult
from kadmin_nb.plans.plan import Plan
from tests.double import FakeKafka
from tests.plans.simulation import Pages, plan_of, undoing

ENTITIES = [
    Entity.parse(f"user={u} client-id={c}") for u in ("a", "=<default>", "<default>") for c in ("app", "<default>")
]
ENTITIES += [
    Entity.parse(text) for text in ("user=a", "user=b", "user=<default>", "client-id=app", "client-id=<default>")
]
KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
TOPICS = [Resource("TOPIC", name) for name in ("t", "u v", "<default>")]
BROKERS = [Resource("BROKER", name) for name in ("", "1", "2")]
LISTS = ("compact", "delete", "compact,delete")

numbers = st.integers(1, 9)
quota_places = st.tuples(st.sampled_from(ENTITIES), st.sampled_from(KEYS))
number_places = st.one_of(
    st.tuples(st.sampled_from(TOPICS), st.sampled_from(["retention.ms", "max.message.bytes"])),
    st.tuples(st.sampled_from(BROKERS), st.sampled_from(["max.connections", "log.retention.ms"])),
)
list_places = st.tuples(st.sampled_from(TOPICS), st.just("cleanup.policy"))

clusters = st.builds(
    lambda *parts: {place: value for part in parts for place, value in part.items()},
    st.dictionaries(quota_places, numbers.map(float)),
    st.dictionaries(number_places, numbers.map(str)),
    st.dictionaries(list_places, st.sampled_from(LISTS)),
)
wishes = st.one_of(
    st.builds(lambda place, value: Edit(SET, *place, str(value)), st.one_of(quota_places, number_places), numbers),
    st.builds(lambda place: Edit(DELETE, *place), st.one_of(quota_places, number_places, list_places)),
    st.builds(
        lambda op, place, value: Edit(op, *place, value),
        st.sampled_from([SET, APPEND, SUBTRACT]),
        list_places,
        st.sampled_from(LISTS),
    ),
)


def cluster_of(held: dict) -> FakeKafka:
    kafka = FakeKafka()
    kafka.create_topics({topic.name: 1 for topic in TOPICS})
    for target, value in held.items():
        kafka.cluster.write(target, value)
    kafka.cluster.settle()
    return kafka


def consistent(edits: list[Edit]) -> list[Edit]:
    """Without an append to a list of which an earlier wish subtracts, and the reverse: these are refused."""
    together, chosen = {}, []
    for edit in edits:
        earlier = together.get(edit.target)
        if earlier is None or {earlier.op, edit.op} != {APPEND, SUBTRACT}:
            together[edit.target] = _joined(earlier, edit)
            chosen.append(edit)
    return chosen


def several(most: int) -> st.SearchStrategy[list[Edit]]:
    return st.lists(wishes, min_size=1, max_size=most).map(consistent)


def state(kafka: FakeKafka) -> dict:
    """All that is set, on every broker alike."""
    kafka.cluster.settle()
    images = [kafka.cluster.values(node) for node in kafka.cluster.nodes]
    assert images[0] == images[1] == images[2] == kafka.cluster.head.values
    return {(whom, key): value for whom, held in images[0].items() for key, value in held.items()}


def model(held: dict, edits: list[Edit]) -> dict:
    """What the wishes make of a cluster; of one target the last counts, and items of its list add up."""
    after, together = dict(held), {}
    for edit in edits:
        together[edit.target] = _joined(together.get(edit.target), edit)
    for edit in together.values():
        value = _value(edit, held.get(edit.target))
        after.pop(edit.target, None)
        after |= {edit.target: value} if value is not None else {}
    return after


def _joined(earlier: Edit | None, edit: Edit) -> Edit:
    if earlier is None or earlier.op == DELETE or edit.op not in (APPEND, SUBTRACT):
        return edit
    if earlier.op == SET:
        return Edit(SET, *edit.target, _value(edit, earlier.value))
    items = dict.fromkeys([*earlier.value.split(","), *edit.value.split(",")])
    return Edit(edit.op, *edit.target, ",".join(items))


def _value(edit: Edit, now):
    if edit.op in (SET, DELETE):
        return float(edit.value) if edit.value and isinstance(edit.resource, Entity) else edit.value
    items, named = (now if now is not None else "delete").split(","), edit.value.split(",")
    kept = [item for item in items if item]
    if edit.op == APPEND:
        return ",".join([*kept, *(item for item in named if item not in kept)])
    return ",".join(item for item in kept if item not in named)


def applied(kafka: FakeKafka, plan: Plan, pages: Pages, batch: int) -> ApplyResult:
    return executor.apply(kafka, plan, pages.opened(), largest_batch=batch)


@pytest.mark.slow
@settings(max_examples=150)
@given(held=clusters, edits=several(12), batch=st.sampled_from([1, 3, 5000]))
def test_a_plan_changes_exactly_what_was_reviewed(held, edits, batch):
    """I reviewed ten rows, and an eleventh setting had changed (AlterConfigs wiped what it was not told)."""
    kafka = cluster_of(held)
    plan = plan_of(kafka, lambda stage: stage.add(edits))
    shown = {c.target: c.after for c in plan.changes}
    done = applied(kafka, plan, Pages(), batch)
    after = state(kafka)
    assert after == model(held, edits)
    assert {target: after.get(target) for target in shown} == {
        (whom, key): float(text) if text and isinstance(whom, Entity) else text for (whom, key), text in shown.items()
    }
    assert {outcome.state for outcome in done.outcomes} <= {"verified", "unchanged"}
    sent = len(kafka.alters)
    assert {o.state for o in applied(kafka, plan, Pages(), batch).outcomes} == {"unchanged"}
    assert len(kafka.alters) == sent


@pytest.mark.slow
@settings(max_examples=100)
@given(held=clusters, edits=several(12), batch=st.sampled_from([1, 3, 5000]))
def test_a_rollback_restores_what_was(held, edits, batch):
    """The rollback put back most of it."""
    kafka, pages = cluster_of(held), Pages()
    before = copy.deepcopy(state(kafka))
    plan = plan_of(kafka, lambda stage: stage.add(edits))
    applied(kafka, plan, pages, batch)
    done = replay.replayed(pages.opened().before).verified
    assert done == {c.row for c in plan.changes if not c.is_done}
    if not done:
        return
    back = undoing(kafka, plan, pages)
    assert {outcome.state for outcome in applied(kafka, back, Pages(), batch).outcomes} == {"verified"}
    assert state(kafka) == before


@settings(max_examples=60)
@given(held=clusters, edits=several(6), data=st.data())
def test_a_plan_that_is_stale_is_refused(held, edits, data):
    """Someone had changed one of the rows in between, and the plan went over it."""
    kafka = cluster_of(held)
    plan = plan_of(kafka, lambda stage: stage.add(edits))
    moved = data.draw(st.sampled_from(plan.changes))
    other = 77.0 if isinstance(moved.resource, Entity) else "77"
    kafka.cluster.write(moved.target, other)
    before = state(kafka)
    try:
        applied(kafka, plan, Pages(), 5000)
    except kn.errors.Conflict as conflict:
        [row] = conflict.rows.to_arrow().to_pylist()
        assert (row["row"], row["old"], row["now"], row["wanted"]) == (moved.row, moved.old, "77", moved.after)
    else:
        raise AssertionError("it was not refused")
    assert kafka.alters == []
    assert state(kafka) == before
