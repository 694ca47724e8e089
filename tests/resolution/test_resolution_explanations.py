"""An explanation is a sentence that a person understands."""

from __future__ import annotations

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.levels import LEVELS, SHARED
from kadmin_nb.resolution.rules import resolve_client, stored_of

STORED = {
    (Entity.of({"user": "alice", "client-id": DEFAULT}), "producer_byte_rate"): 1e6,
    (Entity.of({"user": "alice"}), "producer_byte_rate"): 5e6,
    (Entity.of({"client-id": "app"}), "producer_byte_rate"): 2e3,
}


def test_it_says_what_binds_and_who_shares_it_and_what_lost() -> None:
    assert resolve_client(STORED, "alice", "app", "producer_byte_rate").why == (
        "set on user=alice client-id=<default>; "
        "shared with nobody (one per client-id); overrides user=alice (5 MB/s), client-id=app (2 kB/s)"
    )


def test_unlimited_is_said() -> None:
    one = resolve_client(STORED, "bob", "", "producer_byte_rate")
    assert one.why == ""
    assert (one.value, one.level, one.entity, one.bucket, one.overridden) == (None, None, None, None, ())


def test_every_level_says_who_shares() -> None:
    assert set(SHARED) == {level.name for level in LEVELS}


def test_rows_become_what_the_rule_reads() -> None:
    rows = [
        {"level": "CLIENT_OF_USER", "user": "<default>", "client_id": "app", "key": "k", "value": 1},
        {"level": "DEFAULT_IP", "user": None, "client_id": None, "ip": None, "key": "k", "value": 2},
        {"level": "OTHER", "user": "zoe", "client_id": None, "ip": None, "key": "k", "value": 3},
    ]
    assert {str(entity): value for (entity, _), value in stored_of(rows).items()} == {
        "user==<default> client-id=app": 1.0,
        "ip=<default>": 2.0,
    }
