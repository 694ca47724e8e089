"""Quotas that repeat what would hold anyway."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.resolution.effects import redundant
from kadmin_nb.resolution.rules import resolve_client
from tests.resolution.hierarchies import quotas_of

KEY = "producer_byte_rate"


def _stored(**values: float) -> dict:
    """Quotas by names such as `user_alice`, `user_any`, `alice_app`, `any_app`, `alice_any`, `app`, `any`."""
    texts = {
        "alice": "user=alice", "everyone": "user=<default>", "alice_app": "user=alice client-id=app",
        "alice_any": "user=alice client-id=<default>", "any_app": "user=<default> client-id=app",
        "any_any": "user=<default> client-id=<default>", "app": "client-id=app", "any": "client-id=<default>",
    }  # fmt: skip
    return {(Entity.parse(texts[name]), KEY): value for name, value in values.items()}


def _told(**values: float) -> list[str]:
    return [str(r.target) for r in redundant(quotas_of(_stored(**values)))]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"alice": 5, "everyone": 5}, ["user=alice"]),
        ({"alice": 5, "everyone": 6}, []),
        ({"alice_app": 5, "alice_any": 5}, ["user=alice client-id=app"]),
        ({"alice_app": 5, "alice": 5}, []),
        ({"alice_any": 5, "any_any": 5}, ["user=alice client-id=<default>"]),
        ({"alice_any": 5, "any_any": 5, "any_app": 1}, []),
        ({"any_app": 5, "any_any": 5}, ["user=<default> client-id=app"]),
        ({"app": 5, "any": 5}, ["client-id=app"]),
        ({"app": 5, "any": 5, "everyone": 9}, []),
        ({"alice": 5, "any_any": 5, "everyone": 5}, []),
        ({"alice": 5}, []),
    ],
)
def test_a_quota_is_redundant_where_what_is_behind_it_is_the_same(values, told) -> None:
    """Two thousand overrides equal the default, and nobody dared to remove one."""
    assert _told(**values) == told


names = st.sampled_from(["alice", "everyone", "alice_app", "alice_any", "any_app", "any_any", "app", "any"])


@given(st.dictionaries(names, st.sampled_from([1.0, 2.0])))
def test_a_safe_removal_changes_nothing_for_anyone(values) -> None:
    """It was called safe, and a client-id that I had forgotten became slower."""
    stored = _stored(**values)
    for redundancy in redundant(quotas_of(stored)):
        without = {target: value for target, value in stored.items() if target != (redundancy.target, KEY)}
        for user, client_id in product(["alice", "bob"], ["app", "other", ""]):
            now, then = (resolve_client(quotas, user, client_id, KEY) for quotas in (stored, without))
            assert (now.value, now.bucket) == (then.value, then.bucket)


_OTHER = "consumer_byte_rate"
_ORDER = [level.name for level in LEVELS]


def _by_the_scalar_rule(stored: dict) -> list[tuple]:
    """Each quota judged by itself, as one client of each sort is bound with it and without it."""
    told = []
    for entity, key in stored:
        user, client_id = (entity.get(kind) for kind in ("user", "client-id"))
        names = [None] if client_id is DEFAULT else [None, ""] if client_id is None else [str(client_id)]
        bound = [resolve_client(stored, None if user in (None, DEFAULT) else str(user), n, key) for n in names]
        without = {target: value for target, value in stored.items() if target != (entity, key)}
        then = [resolve_client(without, now.user, now.client_id, key) for now in bound]
        pairs = [(a, b) for a, b in zip(bound, then, strict=True) if a.entity == entity]
        levels = {other.level for other, its_key in stored if its_key == key}
        same = (now.value == then.value and now.bucket == then.bucket for now, then in pairs)
        if pairs and all(same) and not any(_between(levels, now, then) for now, then in pairs):
            told.append((str(entity), key, str(pairs[0][1].entity)))
    return told


def _between(levels: set[str], now, then) -> bool:
    named = {"CLIENT_OF_DEFAULT_USER", "CLIENT"} & levels if now.client_id is None else set()
    return any(_ORDER.index(now.level) < _ORDER.index(name) < _ORDER.index(then.level) for name in named)


@given(st.dictionaries(names, st.sampled_from([1.0, 2.0])), st.dictionaries(names, st.sampled_from([1.0, 2.0])))
def test_all_at_once_are_judged_as_one_by_one(values, others) -> None:
    """Two thousand quotas were reviewed in one go, and one of them was told to be something else."""
    stored = _stored(**values) | {(entity, _OTHER): value for (entity, _), value in _stored(**others).items()}
    found = redundant(quotas_of(stored))
    assert [(str(f.target), f.key, f.evidence["expected_source"]) for f in found] == _by_the_scalar_rule(stored)
