"""Whom a change of quotas touches: limits and buckets."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution.effects import EFFECTS, compare
from kadmin_nb.resolution.rules import Stored, entity_at, explain
from tests.resolution.hierarchies import HOSTILE, KEY, pairs_of, quotas_of


def held(**entries: float) -> dict[tuple[Entity, str], float]:
    return {(Entity.parse(text), KEY): value for text, value in entries.items()}


CLIENTS = [("alice", "app"), ("alice", "web"), ("bob", "app"), ("bob", "")]
ALICE, APP, DEFAULT = "user=alice", "client-id=app", "user=<default>"

CASES = {
    "a limit for who had none": (
        {},
        {ALICE: 5},
        {"alice/app": "becomes limited", "alice/web": "becomes limited"},
    ),
    "none any more": ({APP: 5}, {}, {"alice/app": "becomes unlimited", "bob/app": "becomes unlimited"}),
    "less": ({ALICE: 5}, {ALICE: 4}, {"alice/app": "lowered", "alice/web": "lowered"}),
    "more": ({APP: 5}, {APP: 6}, {"alice/app": "raised", "bob/app": "raised"}),
    "an own bucket": (
        {ALICE: 5},
        {ALICE: 5, f"{ALICE} {APP}": 5},
        {"alice/app": "same value", "alice/web": "same value"},
    ),
    "an own bucket no more": (
        {ALICE: 5, f"{ALICE} {APP}": 6},
        {ALICE: 5},
        {"alice/app": "lowered", "alice/web": "same value"},
    ),
    "another's bucket": (
        {APP: 5},
        {APP: 5, ALICE: 5},
        {
            "alice/app": "same value",
            "alice/web": "becomes limited",
            "bob/app": "same value",
        },
    ),
    "the same from another level": (
        {f"{ALICE} client-id=<default>": 5},
        {f"{ALICE} client-id=<default>": 5, f"{ALICE} {APP}": 5},
        {"alice/app": "same value"},
    ),
    "nothing": ({ALICE: 5}, {ALICE: 5}, {}),
}


@pytest.mark.parametrize(("before", "after", "wanted"), CASES.values(), ids=CASES)
def test_who_is_touched_and_how(before, after, wanted):
    """The review showed the changed line, and not the forty clients behind it."""
    found = compare(quotas_of(held(**before)), quotas_of(held(**after)), pairs_of(CLIENTS), keys=KEY)
    rows = {f"{r['user']}/{r['client_id']}": r["effect"] for r in found.rows.to_pylist()}
    assert rows == wanted
    unchanged = [row["clients"] for row in found.counts.to_pylist() if row["effect"] == "unchanged"]
    assert sum(unchanged) == len(CLIENTS) - len(wanted)


def test_the_worst_comes_first_with_both_sides_of_it():
    """Who loses most was on the last of forty pages."""
    before = held(**{ALICE: 5.0, "user=bob client-id=app": 3.0})
    after = held(**{ALICE: 7.0, DEFAULT: 9.0})
    found = compare(quotas_of(before), quotas_of(after), pairs_of(CLIENTS), keys=KEY).rows
    assert [(row["user"], row["client_id"], row["effect"]) for row in found.to_pylist()] == [
        ("bob", "", "becomes limited"),
        ("alice", "app", "raised"),
        ("alice", "web", "raised"),
        ("bob", "app", "raised"),
    ]
    assert found.to_pylist()[3] == {
        "user": "bob",
        "client_id": "app",
        "key": KEY,
        "effect": "raised",
        "value_before": 3.0,
        "value_after": 9.0,
        "level_before": "CLIENT_OF_USER",
        "level_after": "DEFAULT_USER",
        "bucket_user_before": "bob",
        "bucket_client_id_before": "app",
        "bucket_user_after": "bob",
        "bucket_client_id_after": "",
        "clients_before": 1,
        "clients_after": 2,
    }
    assert found.schema == schemas.IMPACT.schema


def test_a_client_counts_once_however_often_it_is_listed():
    """A day of usage made a million clients out of twenty."""
    pairs = pairs_of([("alice", "app"), ("alice", None), ("alice", ""), ("alice", "app")])
    found = compare(quotas_of({}), quotas_of(held(**{ALICE: 5})), pairs, keys=KEY)
    assert found.rows["clients_after"].to_pylist() == [2, 2]


names = st.sampled_from(["alice", "bob", "", *HOSTILE[:6]])
entities = st.builds(entity_at, st.sampled_from(LEVELS), names.filter(bool), names.filter(bool))
hierarchies = st.dictionaries(st.tuples(entities, st.just(KEY)), st.integers(1, 4).map(float), max_size=12)
clients = st.lists(st.tuples(names, names), max_size=12, unique=True)


@pytest.mark.slow
@settings(max_examples=150)
@given(before=hierarchies, after=hierarchies, clients=clients)
def test_it_is_two_answers_of_the_scalar_rule(before: Stored, after: Stored, clients: list[tuple[str, str]]):
    """The list of who is hit said other limits than `resolve` did afterwards."""
    found = compare(quotas_of(before), quotas_of(after), pairs_of(clients), keys=KEY)
    rows = {(row["user"], row["client_id"]): row for row in found.rows.to_pylist()}
    was, will = _said(before, clients), _said(after, clients)
    assert set(rows) == {client for client in clients if was[client] != will[client]}
    assert sum(found.counts["clients"].to_pylist()) == len(clients)
    for client, row in rows.items():
        assert [row[f"{name}_before"] for name in SAID] == was[client]
        assert [row[f"{name}_after"] for name in SAID] == will[client]
        assert row["effect"] == _effect(row["value_before"], row["value_after"])


SAID = ("value", "level", "bucket_user", "bucket_client_id", "clients")


def _said(stored: Stored, clients: list[tuple[str, str]]) -> dict[tuple[str, str], list[object]]:
    """What the scalar rule says of each client, and how many of them share its bucket."""
    bound = {client: explain(stored, *client, [KEY])[0] for client in clients}
    shared = Counter(one.bucket for one in bound.values())
    return {
        client: [one.value, one.level, *one.bucket, shared[one.bucket]] if one.bucket else [None] * len(SAID)
        for client, one in bound.items()
    }


def _effect(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return EFFECTS[0] if after is not None else EFFECTS[3]
    return "lowered" if after < before else "raised" if after > before else "same value"


def test_hostile_names_go_through_as_they_are():
    """A client called <default> was shown as the default."""
    pairs = [(user, client) for user in HOSTILE for client in (user, "")]
    stored = {(entity_at(LEVELS[0], name, name), KEY): 5.0 for name in HOSTILE}
    found = compare(quotas_of({}), quotas_of(stored), pairs_of(pairs), keys=KEY).rows
    assert sorted(found["user"].to_pylist()) == sorted(HOSTILE)


def test_several_clusters_do_not_mix():
    """bob of one cluster was counted into the bucket of the other's bob."""

    def led(table: pa.Table, *ids: str) -> pa.Table:
        return pa.concat_tables(table.append_column("cluster_id", pa.array([i] * len(table), pa.string())) for i in ids)

    before = led(quotas_of(held(**{APP: 5.0})), "a", "b")
    after = pa.concat_tables(
        [led(quotas_of(held(**{APP: 5.0, DEFAULT: 1.0})), "a"), led(quotas_of(held(**{APP: 5.0})), "b")]
    )
    found = compare(before, after, led(pairs_of(CLIENTS), "a", "b"), keys=KEY)
    assert set(found.rows["cluster_id"].to_pylist()) == {"a"}
    assert found.rows.column_names == ["cluster_id", *schemas.IMPACT.names]
    assert set(found.rows["clients_before"].to_pylist()) == {2, None}
    with pytest.raises(kn.UsageError, match="the quotas have a cluster_id and the pairs have none"):
        compare(before, after, pairs_of(CLIENTS))


def test_a_frame_without_clients_says_what_it_has():
    """The error was a KeyError from deep inside."""
    quotas = quotas_of(held(**{APP: 5.0}))
    with pytest.raises(kn.UsageError, match="the pairs have no column client_id") as caught:
        compare(quotas, quotas, pa.table({"user": ["a"], "clientid": ["b"]}))
    assert caught.value.hint == "They have user, clientid."


def test_nobody_and_nothing():
    """An empty cluster gave a frame with other columns."""
    for quotas, pairs in ((quotas_of({}), pairs_of(CLIENTS)), (quotas_of(held(**{APP: 5})), pairs_of([]))):
        found = compare(quotas, quotas, pairs)
        assert (found.rows.num_rows, found.rows.schema) == (0, schemas.IMPACT.schema)
