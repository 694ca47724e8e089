"""The use of one client by the limits of now, and how much of the whole was seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.resolution.rules import explain
from kadmin_nb.usage.client_use import ClientUse, client_use

KEY = "producer_byte_rate"
BEGIN = datetime(2026, 11, 21, 10, tzinfo=UTC)
ALICE = {"entity": "user=alice", "level": "USER", "user": "alice", "client_id": None, "ip": None, "key": KEY}


def at(second: float) -> datetime:
    return BEGIN + timedelta(seconds=second)


def used(*rows: tuple[int, str, int, float | None, float]) -> pa.Table:
    """USAGE of alice's clients: broker, client-id, second, value, throttle."""
    return schemas.table(
        schemas.USAGE,
        (
            {
                **{"broker": broker, "user": "alice", "client_id": client_id, "key": KEY, "source": "request log"},
                **{"window_start": at(second), "window_end": at(second + 1), "value": value, "throttle_ms": throttle},
            }
            for broker, client_id, second, value, throttle in rows
        ),
    )


def use_of(usage: pa.Table, limit: float) -> ClientUse:
    quotas = schemas.table(schemas.QUOTAS, [{**ALICE, "value": limit}])
    return client_use(usage, quotas, explain({(Entity.of({"user": "alice"}), KEY): limit}, "alice", "app", [KEY]))


def test_the_use_of_throttled_windows_alone_is_compared_with_the_limit() -> None:
    """The limit was raised at noon, and what was throttled in the morning was 3 % of it: used up, it said."""
    rows = [(1, "app", second, 1e5 if second < 5 else 9e5, 500.0 if second < 5 else 0.0) for second in range(10)]
    throttled = use_of(used(*rows), 1e7).throttled[KEY]
    assert (throttled.utilisation, throttled.since) == (1.0, at(0))


def test_the_use_of_others_counts_while_the_bucket_was_throttled() -> None:
    """A neighbour had used most of it at night, and was blamed for a throttle of the day."""
    night = [(1, "batch", second, 9e6, 0.0) for second in range(5)]
    day = [
        (1, name, second, 6e4 if name == "app" else 4e4, 90.0) for second in range(9, 12) for name in ("app", "batch")
    ]
    use = use_of(used(*night, *day), 1e5)
    assert dict(use.throttled[KEY].used) == {("alice", "app"): 18e4, ("alice", "batch"): 12e4}
    assert (use.rows, use.brokers, use.since, use.until) == (3, {1}, at(0), at(12))


def test_a_burst_that_ends_with_a_window_counts_for_the_throttle_of_the_next() -> None:
    """All of the burst was in the second before, and the throttled second was nearly empty."""
    use = use_of(used((1, "app", 0, 1e6, 0.0), (1, "app", 1, 1e3, 900.0), (1, "app", 7, 1e3, 900.0)), 1e5)
    assert use.throttled[KEY].utilisation == 1000.0
