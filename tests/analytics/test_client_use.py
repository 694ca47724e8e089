"""The use of one client: each window by the limit of its own time, and how much of the whole was seen."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.model.entity import Entity
from kadmin_nb.resolution.rules import explain
from kadmin_nb.usage.client_use import client_use
from kadmin_nb.usage.limits_over_time import limits_over_time

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


def history(*limits: tuple[float, float | None, float]) -> pa.Table:
    """QUOTAS_HISTORY of alice: since, until, limit; seconds, None for no end."""
    rows: list[dict[str, Any]] = [
        {**ALICE, "value": value, "valid_from": at(since), "valid_to": None if until is None else at(until)}
        for since, until, value in limits
    ]
    kinds = [
        *schemas.QUOTAS.schema,
        *(pa.field(name, pa.timestamp("us", "UTC")) for name in ("valid_from", "valid_to")),
    ]
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def use_of(usage: pa.Table, limits: pa.Table, now: float, recorded: float | None = None) -> Any:
    explanation = explain({(Entity.of({"user": "alice"}), KEY): now}, "alice", "app", [KEY])
    micros = None if recorded is None else int(at(recorded).timestamp() * 1e6)
    return client_use(usage, limits_over_time(limits, (KEY,)), explanation, micros)


def test_a_throttle_is_judged_by_the_limit_of_its_time() -> None:
    """The limit was raised at noon, and what was throttled in the morning was 3 % of it: used up, it said."""
    rows = [(1, "app", second, 1e5 if second < 5 else 9e5, 500.0 if second < 5 else 0.0) for second in range(10)]
    raised = history((-10, 5, 1e5), (5, None, 1e7))
    (throttled,) = use_of(used(*rows), raised, 1e7, recorded=20).throttled
    assert (throttled.limit.value, throttled.utilisation, throttled.until) == (1e5, 100.0, at(5))
    (without,) = use_of(used(*rows), schemas.table(schemas.QUOTAS, [{**ALICE, "value": 1e7}]), 1e7).throttled
    assert (without.limit.value, without.utilisation, without.grew) == (1e7, 1.0, True)


@pytest.mark.parametrize(("recorded", "level"), [(20, "USER"), (8, "USER"), (3, "UNKNOWN")])
def test_a_limit_that_changed_after_the_last_snapshot_is_unknown_since(recorded: float, level: str) -> None:
    """The snapshot was of the morning, and the limit of the evening was said to be the same."""
    rows = [(1, "app", second, 1e5, 500.0) for second in range(4, 6)]
    (throttled,) = use_of(used(*rows), history((-10, None, 1e5)), 1e5 if recorded == 20 else 2e5, recorded).throttled
    assert (throttled.limit.level, throttled.limit.value) == (level, 1e5 if level == "USER" else None)


def test_the_use_of_others_counts_while_the_bucket_was_throttled() -> None:
    """A neighbour had used most of it at night, and was blamed for a throttle of the day."""
    night = [(1, "batch", second, 9e6, 0.0) for second in range(5)]
    day = [
        (1, name, second, 6e4 if name == "app" else 4e4, 90.0) for second in range(9, 12) for name in ("app", "batch")
    ]
    use = use_of(used(*night, *day), schemas.table(schemas.QUOTAS, [{**ALICE, "value": 1e5}]), 1e5)
    (throttled,) = use.throttled
    assert dict(throttled.used) == {("alice", "app"): 18e4, ("alice", "batch"): 12e4}
    assert (use.rows, use.brokers, use.times) == (3, {1}, (at(0), at(12)))


def test_a_burst_that_ends_with_a_window_counts_for_the_throttle_of_the_next() -> None:
    """All of the burst was in the second before, and the throttled second was nearly empty."""
    use = use_of(
        used((1, "app", 0, 1e6, 0.0), (1, "app", 1, 1e3, 900.0), (1, "app", 7, 1e3, 900.0)),
        schemas.table(schemas.QUOTAS, [{**ALICE, "value": 1e5}]),
        1e5,
    )
    assert use.throttled[0].utilisation == 1000.0
