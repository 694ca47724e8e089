"""Changes are sent in an order in which nobody is held below both the limit they had and the one they get."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kadmin_nb.model.changes import Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.sending import waves
from kadmin_nb.resolution.rules import resolve_client

KEYS = ("producer_byte_rate", "consumer_byte_rate")
IP_KEY = "connection_creation_rate"
USERS, CLIENT_IDS, IPS = ("alice", "bob"), ("app", "else"), ("10.0.0.1", "10.0.0.2")
PARTS = [
    *({"user": u, "client-id": c} for u in (*USERS, DEFAULT, None) for c in (*CLIENT_IDS, DEFAULT, None) if u or c),
    *({"ip": ip} for ip in (*IPS, DEFAULT)),
]
ENTITIES = [Entity.of({kind: name for kind, name in parts.items() if name is not None}) for parts in PARTS]
TARGETS = [(e, key) for e in ENTITIES for key in ((IP_KEY,) if e.get("ip") else KEYS)]
CLIENTS = [(user, client_id) for user in (*USERS, "carol") for client_id in ("app", "more", "")]

hierarchies = st.dictionaries(st.sampled_from(TARGETS), st.integers(1, 6).map(float))


def changes_of(before: dict, after: dict, targets: list) -> list[Change]:
    """The rows that lead from one hierarchy to another, in this order; some may be done already."""
    text = {target: (_text(before.get(target)), _text(after.get(target))) for target in targets}
    return [
        Change(n, "delete" if new is None else "set", *target, old, new, new, level=target[0].level)
        for n, (target, (old, new)) in enumerate(text.items(), 1)
    ]


def _text(value: float | None) -> str | None:
    return None if value is None else str(int(value))


def limits(stored: dict) -> dict[tuple[str, ...], float]:
    """What holds every client and address, key by key; infinite where nothing does."""
    bound = {(*client, key): resolve_client(stored, *client, key).value for client in CLIENTS for key in KEYS}
    for ip in (*IPS, "10.0.0.9"):
        of_default = stored.get((Entity.of({"ip": DEFAULT}), IP_KEY))
        bound[ip, IP_KEY] = stored.get((Entity.of({"ip": ip}), IP_KEY), of_default)
    return {who: math.inf if value is None else value for who, value in bound.items()}


def carried_out(stored: dict, changes: list[Change]) -> dict:
    """The hierarchy after these changes."""
    after = {target: value for target, value in stored.items() if target not in {c.target for c in changes}}
    return after | {c.target: float(c.after) for c in changes if c.after is not None}


@pytest.mark.slow
@settings(max_examples=100)
@given(hierarchies, hierarchies, st.permutations(TARGETS), st.data())
def test_nobody_is_held_below_what_they_had_and_get(before, after, targets, data):
    """While the plan ran, a client was throttled that it was meant to leave alone."""
    changes = changes_of(before, after, targets[: data.draw(st.integers(1, len(targets)))])
    wanted = carried_out(before, changes)
    least = {who: min(had, limits(wanted)[who]) for who, had in limits(before).items()}
    now = before
    for wave in waves(changes):
        partly = carried_out(now, data.draw(st.lists(st.sampled_from(wave))))
        now = carried_out(now, wave)
        for seen in (limits(partly), limits(now)):
            assert not {who: (seen[who], least[who]) for who in seen if seen[who] < least[who]}
    assert now == wanted


@given(hierarchies, hierarchies, st.permutations(TARGETS))
def test_every_change_is_in_one_wave_and_in_its_place(before, after, targets):
    """A row was sent twice, and another one never."""
    changes = changes_of(before, after, targets)
    ordered = waves(changes)
    assert sorted(c.row for wave in ordered for c in wave) == [c.row for c in changes]
    for wave in ordered:
        assert wave
        assert [c.row for c in wave] == sorted(c.row for c in wave)


@given(hierarchies, hierarchies, st.permutations(TARGETS), st.data())
def test_an_entity_is_whole_where_no_other_row_has_its_keys(before, after, targets, data):
    """Nothing else in the plan touched those keys, and still they went out one by one."""
    changes = changes_of(before, after, targets[: data.draw(st.integers(1, len(targets)))])
    shared = {c.resource for c in changes for other in changes if other.key == c.key and other.resource != c.resource}
    sent = [resource for wave in waves(changes) for resource in {c.resource for c in wave}]
    assert {resource for resource in sent if sent.count(resource) > 1} <= shared


def quota(text: str, old: str | None, after: str | None, key: str = KEYS[0], **more) -> Change:
    entity = Entity.parse(text)
    return Change(0, "set" if after else "delete", entity, key, old, after, after, level=entity.level, **more)


def config(resource: str, op: str, key: str) -> Change:
    value = None if op == "delete" else "1"
    return Change(0, op, Resource.parse(resource), key, None, value, value)


ORDERS = {
    "raise, add, remove, lower": [
        [quota("user=a", "1", "2")],
        [quota("user=b", None, "1")],
        [quota("user=c", "1", None)],
        [quota("user=d", "2", "1")],
    ],
    "additions, the most specific first": [
        [quota("user=a client-id=b", None, "1")],
        [quota("user=a client-id=<default>", None, "1")],
        [quota("user=a", None, "1"), quota("user=b", None, "1")],
        [quota("user=<default> client-id=b", None, "1")],
        [quota("user=<default> client-id=<default>", None, "1")],
        [quota("user=<default>", None, "1")],
        [quota("client-id=b", None, "1")],
        [quota("client-id=<default>", None, "1")],
        [quota("ip=10.0.0.1", None, "1")],
        [quota("ip=<default>", None, "1")],
        [quota("team=x", None, "1")],
    ],
    "removals, the least specific first": [
        [quota("ip=<default>", "1", None)],
        [quota("ip=10.0.0.1", "1", None)],
        [quota("client-id=<default>", "1", None)],
        [quota("user=<default>", "1", None)],
        [quota("user=a", "1", None)],
        [quota("user=a client-id=b", "1", None)],
    ],
    "an entity with keys that no other has": [
        [
            quota("user=a", "1", "2"),
            quota("user=a", "2", "1", KEYS[1]),
            quota("user=a", "1", None, "request_percentage"),
            quota("user=a", None, "1", "controller_mutation_rate"),
        ],
    ],
    "entities that no client has in common": [
        [quota("user=a", "1", "2"), quota("user=a", "2", "1", KEYS[1])],
        [quota("user=b", "2", "1"), quota("user=b", "1", None, KEYS[1])],
    ],
    "a key without others joins one with others": [
        [quota("user=<default>", "1", "2")],
        [quota("user=a", "2", "1"), quota("user=a", "1", "2", KEYS[1])],
    ],
    "an entity with two keys that wait for others": [
        [quota("user=a", "1", "2")],
        [quota("user=a", None, "1", KEYS[1])],
        [quota("user=<default>", "2", "1"), quota("user=<default>", "2", "1", KEYS[1])],
    ],
    "a row stays behind one that must come before it": [
        [quota("user=a", "1", "2")],
        [quota("client-id=c", "1", None), quota("client-id=c", "1", None, KEYS[1])],
        [quota("user=a", "2", "1", KEYS[1])],
    ],
    "numbers, not texts": [[quota("user=a", "9", "10")], [quota("user=b", "1e7", "9999999")]],
    "an unknown old value": [[quota("user=a", "1", "2")], [quota("user=b", None, "1", old_known=False)]],
    "a removal that is done": [[quota("user=a", "1", "2")], [quota("user=b", None, None)]],
    "quotas before configs": [[quota("user=a", "2", "1")], [config("topic=t", "set", "a")]],
    "configs without the default": [
        [config("broker=1", "set", "a"), config("topic=t", "delete", "b"), config("broker=2", "delete", "a")]
    ],
    "a broker is shielded before the default moves": [
        [config("broker=1", "set", "a"), config("topic=t", "append", "b"), config("broker=1", "delete", "c")],
        [config("broker=<default>", "set", "a"), config("broker=<default>", "delete", "b")],
        [config("broker=2", "delete", "a"), config("broker=1", "delete", "b"), config("topic=u", "delete", "d")],
    ],
}


@pytest.mark.parametrize("expected", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "backwards"])
def test_the_order(expected, turned):
    """The default was lowered before the clients had their own limits."""
    changes = [c for wave in expected for c in wave]
    numbered = [c.with_(row=n) for n, c in enumerate(reversed(changes) if turned else changes, 1)]
    ordered = [{(str(c.resource), c.op, c.key) for c in wave} for wave in waves(numbered)]
    assert ordered == [{(str(c.resource), c.op, c.key) for c in wave} for wave in expected]


def test_a_level_of_a_later_version_is_sent_too():
    """A plan with a level that this version does not know was cut short."""
    later = quota("team=x", None, "1").with_(level="TEAM")
    assert waves([later, quota("user=a", None, "1").with_(level=None)]) == [
        [quota("user=a", None, "1").with_(level=None)],
        [later],
    ]


def test_nothing_is_no_wave():
    """An empty plan sent an empty request."""
    assert waves([]) == []


@pytest.mark.slow
def test_the_order_costs_little():
    """Ten thousand changes of one kind waited for their order."""
    made, ordered = [], []
    for _ in range(5):  # a collection of garbage falls into one or two of them
        started = time.process_time()
        entities = [Entity.of({"user": f"u{n}"}) for n in range(10_000)]
        changes = [Change(n, "set", e, KEYS[0], "1", "2", "2", level="USER") for n, e in enumerate(entities)]
        made.append(time.process_time() - started)
        (wave,) = waves(changes)
        ordered.append(time.process_time() - started - made[-1])
        assert wave == changes
    assert min(ordered) < min(made)
