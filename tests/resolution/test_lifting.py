"""Changes that would lift a limit of one client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.model.quota_keys import parse_value, typed
from kadmin_nb.resolution.rules import entity_at, resolve_client
from kadmin_nb.resolution.shadows import lifts, words_of

KEY = "producer_byte_rate"
USER, DEFAULT_USER = Entity.of({"user": "alice"}), Entity.of({"user": DEFAULT})
OWN = Entity.of({"user": "alice", "client-id": "app"})


def _lines(stored, user="alice", client_id="app") -> list[str]:
    return [words_of(lift.edit) for lift in lifts(stored, resolve_client(stored, user, client_id, KEY))]


def test_the_narrowest_change_comes_first() -> None:
    """I doubled the default for everyone, where one client was meant."""
    assert _lines({(USER, KEY): 5e6}) == [
        "set producer_byte_rate=10MB/s user=alice client-id=app",
        "set producer_byte_rate=10MB/s user=alice",
        "remove producer_byte_rate user=alice",
    ]


def test_a_removal_that_lowers_is_not_offered() -> None:
    """Remove the quota, it said; the one behind it was lower."""
    stored = {(OWN, KEY): 5e6, (USER, KEY): 1e6}
    assert _lines(stored) == ["set producer_byte_rate=10MB/s user=alice client-id=app"]


def test_a_removal_that_is_not_enough_is_not_offered() -> None:
    """10 MB/s were wanted, and the quota behind gives 8."""
    stored = {(OWN, KEY): 5e6, (USER, KEY): 8e6}
    assert _lines(stored) == ["set producer_byte_rate=10MB/s user=alice client-id=app"]


def test_what_is_unlimited_cannot_be_lifted() -> None:
    """It offered to set a limit where there was none."""
    assert _lines({}) == []


def test_a_client_without_a_client_id_is_lifted_by_its_user() -> None:
    """A quota on a client-id cannot reach a client that sends none (KAFKA-13341)."""
    assert _lines({(DEFAULT_USER, KEY): 5e6}, client_id="")[0] == "set producer_byte_rate=10MB/s user=alice"


def test_side_effects_are_told() -> None:
    """Nobody said that the client would get an allowance beside the shared one."""
    alone, everyone, removal = lifts({(USER, KEY): 5e6}, resolve_client({(USER, KEY): 5e6}, "alice", "app", KEY))
    assert (alone.reach, alone.consequence) == (
        "only this client",
        "gets a limit of its own; the others still share the old one",
    )
    assert (everyone.consequence, everyone.after) == ("", 1e7)
    assert removal.after is None


def test_a_lift_says_that_other_clients_go_by_another_quota() -> None:
    """It said that all client-ids of alice together would have it; they had a default of their own."""
    stored = {(USER, KEY): 5e6, (Entity.of({"user": "alice", "client-id": DEFAULT}), KEY): 1e6}
    assert lifts(stored, resolve_client(stored, "alice", "", KEY))[0].reach == (
        "only clients without a client-id; all others keep user=alice client-id=<default> (1 MB/s)"
    )


stored_quotas = st.dictionaries(
    st.sampled_from([(entity_at(level, "alice", "app"), KEY) for level in LEVELS]),
    st.integers(1, 10**9).map(float),
)


@given(stored_quotas, st.sampled_from(["alice", ""]), st.sampled_from(["app", ""]))
def test_every_change_lifts(stored, user, client_id) -> None:
    """The change was made, and the limit was the same as before."""
    now = resolve_client(stored, user, client_id, KEY)
    for lift in lifts(stored, now):
        changed = {target: value for target, value in stored.items() if target != (lift.edit.resource, KEY)}
        changed |= {} if lift.edit.value is None else {(lift.edit.resource, KEY): float(lift.edit.value)}
        then = resolve_client(changed, user, client_id, KEY).value
        assert then == lift.after
        assert then is None or then >= 2 * (now.value or 0)


@pytest.mark.parametrize("key", [KEY, "request_percentage", "controller_mutation_rate"])
@given(value=st.floats(1e-3, 1e15))
def test_a_value_is_typed_as_it_is_parsed(key, value) -> None:
    """5.0000001 MB/s were typed as 5 MB/s."""
    value = float(round(value) or 1) if key == KEY else value
    assert parse_value(key, typed(key, value)) == value
