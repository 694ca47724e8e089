"""The hierarchy as a tree, and what can never apply."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.errors import UsageError
from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.model.changes import SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.plans.advice import quota_advice as warnings
from kadmin_nb.plans.observed_state import ObservedState
from kadmin_nb.resolution.rules import Stored, entity_at, explain, resolve_client
from kadmin_nb.resolution.shadows import comes_first, shadowed_by, shadows_of_added, tree
from tests.resolution.hierarchies import KEY, quotas_of, subset

USERS, CLIENTS = ("alice", "someone else"), ("app", "another", "")


def quotas(**said: float) -> dict[tuple[Entity, str], float]:
    return {(Entity.parse(text), KEY): value for text, value in said.items()}


def binding(stored: Stored) -> set[Entity]:
    """The entities that bind somebody: every kind of client there is, asked one by one."""
    found = (explain(stored, user, client, [KEY])[0].entity for user in USERS for client in CLIENTS)
    return {entity for entity in found if entity}


@pytest.mark.parametrize("number", range(256))
def test_shadowed_is_what_binds_nobody(number: int) -> None:
    """A quota was called shadowed, and clients without a client-id still felt it."""
    stored = subset(number)
    never = {entity for entity, _ in stored if shadowed_by(stored, entity, KEY)}
    assert never == {entity for entity, _ in stored} - binding(stored)


@pytest.mark.parametrize("number", range(256))
def test_the_shadower_is_who_binds_instead(number: int) -> None:
    stored = subset(number)
    for entity in (entity for entity, _ in stored if entity.level in ("CLIENT", "DEFAULT_CLIENT")):
        client = "app" if entity.level == "CLIENT" else "another"
        winner = explain(stored, "someone else", client, [KEY])[0].entity
        assert shadowed_by(stored, entity, KEY) == (None if winner == entity else winner)


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("number", [0, 0b11000000, 0b11010101, 255])
def test_a_change_shadows_what_comes_after_it_for_every_client(number: int, level: object) -> None:
    """Adding a default user quota silently switched off every client-id quota."""
    before, after = subset(number), subset(number | 1 << level.number)  # type: ignore[attr-defined]
    newly = {e for e, _ in before if e in binding(before)} - binding(after)
    found = shadows_of_added(before, after)
    assert {entity for entities in found.values() for entity in entities} == newly
    assert set(found) <= after.keys() - before.keys()


ENTITIES = sorted(
    {entity_at(level, u, c) for level in LEVELS for u in ("alice", "bob") for c in ("app", "etl")}, key=str
)
EVERYBODY = [(user, client) for user in ("alice", "bob", None) for client in ("app", "etl", None, "")]


@given(st.sampled_from(ENTITIES), st.sampled_from(ENTITIES), st.sets(st.sampled_from(ENTITIES)))
def test_whom_a_quota_reaches_is_what_resolve_says_of_clients_with_and_without_a_client_id(new, other, more) -> None:
    """bob was given 5 MB/s, and each of his clients went on with 256 KiB/s: only one without a client-id had it."""
    stored = dict.fromkeys([(entity, KEY) for entity in (new, other, *more)], 1e6)
    bound = {client for user, client in EVERYBODY if resolve_client(stored, user, client, KEY).entity == new}
    first = comes_first(stored, new, KEY)
    assert (first is None) == bool(bound - {""})
    assert ("" in bound) == (new.get("client-id") is None)
    if first is not None:  # it applies to each client that no closer quota names
        user, client = (part if isinstance(part := new.get(kind), str) else None for kind in ("user", "client-id"))
        assert resolve_client(stored, user, client, KEY).entity == first
    before = quotas_of({target: value for target, value in stored.items() if target[0] != new})
    change = Change(1, SET, new, KEY, None, "1000000", "1000000", level=new.level)
    said = {warned.code for warned in warnings.warnings([change], ObservedState(quotas=before))}
    expected = set() if first is None else {warnings.REACH} if "" in bound else {warnings.SHADOWED}
    assert said & {warnings.REACH, warnings.SHADOWED} == expected


def test_shadows_name_the_change_and_every_quota_under_it() -> None:
    before = quotas(**{"client-id=a": 1, "client-id=b": 2, "client-id=<default>": 3, "user=alice": 4})
    change = (Entity.parse("user=<default>"), KEY)
    assert shadows_of_added(before, {**before, change: 9.0}) == {
        change: tuple(map(Entity.parse, ("client-id=<default>", "client-id=a", "client-id=b")))
    }
    assert shadows_of_added({**before, change: 9.0}, {**before, change: 10.0}) == {}
    assert shadows_of_added({**before, change: 9.0}, before) == {}
    assert shadows_of_added(before, {change: 9.0}) == {}
    assert shadows_of_added(before, {**before, (change[0], "request_percentage"): 9.0}) == {}


STORED = {
    "client-id=app": 1,
    "user=bob client-id=<default>": 2,
    "user=alice": 3e6,
    "user=alice client-id=app": 4,
    "user=<default> client-id=app": 5,
    "ip=10.0.0.1": 6,
    "client-id=<default>": 7,
    "user==<default>": 8,
}


def test_children_follow_their_parents() -> None:
    """Nobody could see what hangs below alice."""
    table = tree(quotas_of(quotas(**STORED)))
    assert table.schema.equals(schemas.TREE.schema)
    rows = [(r["entity"], r["parent"], r["level"], r["value"], r["shadowed_by"]) for r in table.to_pylist()]
    assert rows == [
        ("user==<default>", None, "USER", 8.0, None),
        ("user=alice", None, "USER", 3e6, None),
        ("user=alice client-id=app", "user=alice", "CLIENT_OF_USER", 4.0, None),
        ("user=bob", None, "USER", None, None),
        ("user=bob client-id=<default>", "user=bob", "DEFAULT_CLIENT_OF_USER", 2.0, None),
        ("user=<default>", None, "DEFAULT_USER", None, None),
        ("user=<default> client-id=app", "user=<default>", "CLIENT_OF_DEFAULT_USER", 5.0, None),
        ("client-id=app", None, "CLIENT", 1.0, "user=<default> client-id=app"),
        ("client-id=<default>", None, "DEFAULT_CLIENT", 7.0, None),
        ("ip=10.0.0.1", None, "IP", 6.0, None),
    ]


def test_it_reads_as_a_tree() -> None:
    table = tree(quotas_of({(e, "producer_byte_rate"): v for (e, _), v in quotas(**STORED).items()}))
    assert repr(Answer(table)).splitlines() == [
        "8 quotas on 8 entities; 1 can never apply",
        "    who                    key                  limit  shadowed by",
        "3   user==<default>        producer_byte_rate   8 B/s",
        "3   user=alice             producer_byte_rate  3 MB/s",
        "1     client-id=app        producer_byte_rate   4 B/s",
        "3   user=bob",
        "2     client-id=<default>  producer_byte_rate   2 B/s",
        "6   user=<default>",
        "4     client-id=app        producer_byte_rate   5 B/s",
        "7   client-id=app          producer_byte_rate   1 B/s  user=<default> client-id=app",
        "8   client-id=<default>    producer_byte_rate   7 B/s",
        "ip  ip=10.0.0.1            producer_byte_rate   6 B/s",
    ]
    assert repr(Answer(schemas.TREE.empty())) == "no quotas"


def test_an_entity_without_its_parent_has_its_whole_name() -> None:
    """A branch by itself began with client-id=app, and nobody knew whose."""
    table = tree(quotas_of(quotas(**STORED)))
    only = table.filter(pc.equal(table["entity"], "user=alice client-id=app"))
    assert repr(Answer(only)).splitlines() == [
        "1 quota on user=alice client-id=app",
        "   who                       key                 limit",
        "1  user=alice client-id=app  producer_byte_rate  4 B/s",
    ]


def test_a_long_tree_shows_its_head_and_how_to_get_the_rest() -> None:
    """Ten thousand users filled the notebook."""
    users = {(Entity.of({"user": f"u{number:03}"}), KEY): 1.0 for number in range(207)}
    assert repr(Answer(tree(quotas_of(users)))).splitlines()[-2:] == [
        "3  user=u059  producer_byte_rate  1 B/s",
        "207 rows, the first 60 shown; .to_pandas() has all of it",
    ]


def test_a_hostile_name_cannot_move_the_terminal() -> None:
    """A client-id with an escape sequence cleared the screen."""
    stored = quotas_of({(Entity.of({"user": "a\x1b[2J\u202eb\nuser=root"}), KEY): 1.0})
    shown = repr(Answer(tree(stored))).splitlines()
    assert len(shown) == 3
    assert all(map(str.isprintable, shown))


def test_an_entity_type_of_the_future_is_shown() -> None:
    row = {"entity": "user=zoe group=<default>", "level": "OTHER", "user": "zoe", "key": KEY, "value": 9.0}
    (shown,) = tree(schemas.table(schemas.QUOTAS, [row])).to_pylist()
    assert (shown["entity"], shown["parent"], shown["level"]) == (row["entity"], None, "OTHER")


def test_an_empty_cluster_has_an_empty_tree() -> None:
    assert tree(schemas.QUOTAS.empty()).equals(schemas.TREE.empty())


def test_two_clusters_are_no_tree() -> None:
    import pyarrow as pa

    table = quotas_of(subset(3)).append_column("cluster_id", pa.array(["a", "b"]))
    with pytest.raises(UsageError, match="one cluster"):
        tree(table)
