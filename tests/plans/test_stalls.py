"""How long a plan would throttle the clients that are known to be busy, and the steps that keep it short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.changes import DELETE, SET, Change
from kadmin_nb.model.entity import Entity
from kadmin_nb.plans import sending
from kadmin_nb.plans.observed_state import table_after
from kadmin_nb.plans.stalls import schedule, stalls, steps

MB = 1e6
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOTHING = schemas.QUOTAS.empty()


def change(row: int, entity: str, old: float | None, after: float | None, key: str = "producer_byte_rate") -> Change:
    whom = Entity.parse(entity)
    texts = [None if value is None else str(int(value)) for value in (old, after)]
    op = DELETE if after is None else SET
    return Change(row, op, whom, key, old=texts[0], wanted=texts[1], after=texts[1], level=whom.level)


def stored(entries: dict[str, float], key: str = "producer_byte_rate") -> pa.Table:
    return table_after(
        NOTHING, [change(n, entity, None, value, key) for n, (entity, value) in enumerate(entries.items())]
    )


def usage(*rows: tuple[object, ...], ago: float = 0.0, key: str = "producer_byte_rate", broker: int = 1) -> pa.Table:
    end = NOON - timedelta(seconds=ago)
    names = ("user", "client_id", "value")
    fixed = {"broker": broker, "key": key, "window_start": end - timedelta(seconds=10), "window_end": end}
    return schemas.table(
        schemas.USAGE, ({**fixed, "source": "test", **dict(zip(names, row, strict=True))} for row in rows)
    )


def found(table: pa.Table, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row[c] for c in columns) for row in table.to_pylist()]


def test_lowering_tenfold_stalls_for_a_minute_and_a_half():
    """I lowered one limit, and the nightly load stood still until somebody restarted it."""
    table = stalls(
        [change(1, "user=alice", 5 * MB, MB / 10)], stored({"user=alice": 5 * MB}), usage(("alice", "app", MB))
    )
    assert table.to_pylist() == [
        {
            "broker": 1,
            "user": "alice",
            "client_id": "app",
            "key": "producer_byte_rate",
            "row": 1,
            "limit_before": 5 * MB,
            "limit_after": MB / 10,
            "bucket_user": "alice",
            "bucket_client_id": "",
            "rate": MB,
            "bucket_rate": MB,
            "stall_s": 99.0,
        }
    ]
    assert table.schema == schemas.STALLS.schema


def test_clients_of_one_bucket_are_added_up_on_each_broker():
    """Each of the four clients was below the new limit, and all four stood still."""
    seen = pa.concat_tables(
        [usage(*[("alice", f"app-{n}", MB) for n in range(4)]), usage(("alice", "app-0", MB), broker=2)]
    )
    table = stalls([change(1, "user=alice", 5 * MB, 2 * MB)], stored({"user=alice": 5 * MB}), seen)
    assert found(table, "broker", "client_id", "bucket_rate", "stall_s") == [
        (1, "app-0", 4 * MB, 11.0),
        (1, "app-1", 4 * MB, 11.0),
        (1, "app-2", 4 * MB, 11.0),
        (1, "app-3", 4 * MB, 11.0),
        (2, "app-0", MB, 0.0),
    ]


def test_whom_the_plan_does_not_touch_is_not_listed():
    """The list had everybody on it."""
    seen = usage(("alice", "app", MB), ("bob", "app", MB))
    table = stalls([change(1, "user=alice", None, 2 * MB)], stored({"user=bob": MB / 2}), seen)
    assert found(table, "user", "limit_before", "limit_after", "stall_s") == [("alice", None, 2 * MB, 0.0)]


HIT = {
    "a limit for one who had none": ({}, [("client-id=app", None, MB / 10)], 1, 99.0),
    "the default user's own limit, less": ({"user=<default>": MB}, [("user=alice", None, MB / 2)], 1, 11.0),
    "a removal that uncovers a tighter default": (
        {"user=alice": MB, "user=<default>": MB / 2},
        [("user=alice", MB, None)],
        1,
        11.0,
    ),
    "a removal that lifts": ({"user=alice": MB}, [("user=alice", MB, None)], 1, 0.0),
    "a raise": ({"user=alice": MB}, [("user=alice", MB, 2 * MB)], 1, 0.0),
    "an own limit leaves the past behind": (
        {"user=alice": MB},
        [("user=alice client-id=app", None, MB / 10)],
        1,
        0.0,
    ),
    "a removal to a bucket of others": (
        {"user=alice client-id=app": MB, "user=alice": MB / 10},
        [("user=alice client-id=app", MB, None)],
        1,
        0.0,
    ),
}


@pytest.mark.parametrize(("before", "changes", "row", "stall"), HIT.values(), ids=HIT)
def test_who_is_hit_by_what(before, changes, row, stall):
    """It looked only at the entries that were lowered, and an added one stalled us."""
    rows = [change(n, *one) for n, one in enumerate(changes, 1)]
    assert found(stalls(rows, stored(before), usage(("alice", "app", MB))), "row", "stall_s") == [(row, stall)]


def test_the_busiest_of_the_recent_windows_counts():
    """It took the lull of the last ten seconds for the truth."""
    seen = pa.concat_tables(
        [
            usage(("alice", "app", MB / 10)),
            usage(("alice", "app", MB), ago=60),
            usage(("alice", "app", 9 * MB), ago=900),
        ]
    )
    table = stalls([change(1, "user=alice", 5 * MB, MB / 2)], stored({"user=alice": 5 * MB}), seen)
    assert found(table, "rate", "stall_s") == [(MB, 11.0)]


def test_an_unknown_use_foretells_nothing():
    """One share consumer in the usage, and no plan could be looked at."""
    changes, before = [change(1, "user=alice", 5 * MB, MB / 10)], stored({"user=alice": 5 * MB})
    table = stalls(changes, before, usage(("alice", "app", MB), ("alice", "share", None)))
    assert found(table, "client_id") == [("app",)]


def test_only_byte_rates_stall():
    """It foretold an hour for request_percentage, where a broker holds an answer for a second at most."""
    seen = usage(("alice", "app", 500.0), key="request_percentage")
    rows = [
        change(1, "user=alice", 1000, 1, "request_percentage"),
        change(2, "ip=10.0.0.1", None, 1, "connection_creation_rate"),
    ]
    assert stalls(rows, NOTHING, seen).num_rows == 0


def test_a_pandas_frame_with_its_own_types_is_usage_too():
    """My frame came from a CSV, and only the types were other ones."""
    frame = usage(("alice", "", MB)).to_pandas().astype({"broker": "int64", "window_end": "datetime64[ns, UTC]"})
    frame["more"] = [object()]
    table = stalls([change(1, "user=alice", 5 * MB, MB / 2)], stored({"user=alice": 5 * MB}), frame)
    assert found(table, "client_id", "stall_s") == [("", 11.0)]


def test_usage_of_several_clusters_says_which():
    """The other cluster's clients were added to ours."""
    seen = pa.concat_tables([usage(("alice", "app", MB)), usage(("alice", "app", 9 * MB))])
    seen = seen.append_column("cluster_id", pa.array(["ours", "theirs"]))
    rows, before = [change(1, "user=alice", 5 * MB, MB / 2)], stored({"user=alice": 5 * MB})
    assert found(stalls(rows, before, seen, cluster_id="ours"), "rate") == [(MB,)]
    with pytest.raises(kn.UsageError, match="the usage have a cluster_id"):
        stalls(rows, before, seen)


def test_a_frame_without_the_columns_is_refused():
    """A column was spelled otherwise, and nobody was said to be stalled."""
    with pytest.raises(kn.UsageError, match="have no column broker, client_id"):
        stalls([change(1, "user=alice", None, 1)], NOTHING, pd.DataFrame({"user": ["alice"], "clientid": ["app"]}))


def waves_of(plan: list[Change], before: pa.Table, seen: pa.Table, bound: float = 15.0) -> list[sending.Wave]:
    return schedule(sending.waves(plan), before, seen, bound)


def values(waves: list[sending.Wave], row: int) -> list[str | None]:
    return [c.after for wave in waves for c in wave.changes if c.row == row]


def test_a_tenfold_lowering_goes_down_in_steps():
    """Lower it in steps, they said; which, and how long apart, nobody knew."""
    waves = waves_of(
        [change(1, "user=alice", 5 * MB, MB / 10)], stored({"user=alice": 5 * MB}), usage(("alice", "app", MB))
    )
    assert values(waves, 1) == ["606061", "415060", "306506", "226343", "167146", "123431", "100000"]
    assert [wave.pause for wave in waves] == [13.75] * 6 + [0.0]
    assert {(c.row, c.op, c.old) for wave in waves for c in wave.changes} == {(1, SET, "5000000")}


def test_small_requests_need_fewer_steps():
    """Our clients send 16 kB at a time, and it went down as if each sent a megabyte."""
    plan, before = [change(1, "user=alice", 5 * MB, MB / 10)], stored({"user=alice": 5 * MB})
    waves = schedule([plan], before, usage(("alice", "app", MB)), request=16_384)
    assert values(waves, 1) == ["486835", "238028", "117394", "100000"]


def test_what_stalls_nobody_goes_at_once():
    """The raise waited a minute for somebody else's lowering."""
    plan = [change(1, "user=bob", MB, 9 * MB), change(2, "user=alice", 5 * MB, MB / 10), change(3, "user=carol", 5, 1)]
    waves = waves_of(plan, stored({"user=bob": MB, "user=alice": 5 * MB, "user=carol": 5}), usage(("alice", "app", MB)))
    assert [[c.row for c in wave.changes] for wave in waves] == [[1], [2, 3], *[[2]] * 6]
    assert [wave.pause for wave in waves] == [0.0, *[13.75] * 6, 0.0]


def test_a_removal_is_lowered_to_what_is_below_it_first():
    """Removing the exception dropped the client to the default, and it stood still."""
    plan = [change(1, "user=alice", 5 * MB, None)]
    waves = waves_of(plan, stored({"user=alice": 5 * MB, "user=<default>": MB / 4}), usage(("alice", "app", MB)))
    assert values(waves, 1) == ["606061", "415060", "306506", None]
    assert [c.op for wave in waves for c in wave.changes] == [SET, SET, SET, DELETE]


def test_a_wave_waits_until_the_one_before_is_forgotten():
    """Two short stalls in one minute made one long stall."""
    plan = [change(1, "user=alice", 4 * MB, None), change(2, "user=<default>", 3 * MB, 2 * MB)]
    waves = waves_of(plan, stored({"user=alice": 4 * MB, "user=<default>": 3 * MB}), usage(("alice", "app", 4 * MB)))
    assert [(wave.changes[0].row, wave.pause) for wave in waves] == [(1, 13.75), (2, 0.0)]


PLANS = {
    "a user": ({"user=u-0": 9 * MB}, [("user=u-0", 9 * MB, 3e4)]),
    "the default of all": ({"user=<default>": 9 * MB}, [("user=<default>", 9 * MB, 4e5)]),
    "a limit where there was none": ({}, [("user=<default> client-id=<default>", None, 2e5)]),
    "a removal and a lower": (
        {"user=u-0": 9 * MB, "user=<default>": 4 * MB},
        [("user=u-0", 9 * MB, None), ("user=<default>", 4 * MB, 1e5)],
    ),
    "a client for all its users": ({"client-id=c-0": 9 * MB}, [("client-id=c-0", 9 * MB, 100)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("bound", [2.0, 15.0, 60.0])
@pytest.mark.parametrize(("before", "changes"), PLANS.values(), ids=PLANS)
def test_no_step_stalls_longer_than_the_bound(before, changes, bound):
    """A step in the middle was the long one."""
    seen = usage(*[(f"u-{u}", f"c-{c}", (u + c + 1) * MB) for u in range(3) for c in range(2)])
    plan, now = [change(n, *one) for n, one in enumerate(changes, 1)], stored(before)
    waves = waves_of(plan, now, seen, bound)
    for wave in waves:
        table = stalls(wave.changes, now, seen, windows=12.0)
        assert max((_held(row) for row in table.to_pylist()), default=0.0) <= bound
        now = table_after(now, wave.changes)
    assert sorted(now.to_pylist(), key=str) == sorted(table_after(stored(before), plan).to_pylist(), key=str)


def _held(row: dict) -> float:
    """The stall of a client whose bucket used no more than it was allowed before."""
    if row["limit_after"] is None:
        return 0.0
    return (min(row["bucket_rate"], row["limit_before"] or row["bucket_rate"]) / row["limit_after"] - 1) * 12


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), 0.5])
def test_a_bound_that_no_broker_can_keep_is_refused(bound):
    """--gradual 0 made ten thousand steps."""
    with pytest.raises(kn.UsageError, match="is too short"):
        steps([], schemas.STALLS.empty(), bound)
