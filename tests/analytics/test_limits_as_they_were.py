"""Utilisation beside a history: each window by the limit of its time; by hand, and beside a loop over `kn.resolve`."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.frames.spark import to_spark
from kadmin_nb.model.levels import LEVELS
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.usage.limits_used import Limits
from tests.history.hours import at as hour_of
from tests.history.hours import taken

pytestmark = pytest.mark.spark

MIDNIGHT = datetime(2026, 11, 22, tzinfo=UTC)
PRODUCE = USER_CLIENT_KEYS[0]
HISTORY = pa.schema([
    pa.field("cluster_id", pa.string()), *schemas.QUOTAS.schema,
    pa.field("valid_from", pa.timestamp("us", "UTC")), pa.field("valid_to", pa.timestamp("us", "UTC")),
])  # fmt: skip
USAGE = pa.schema([pa.field("cluster_id", pa.string()), *schemas.USAGE.schema])
BUCKET = ("cluster_id", "broker", "key", "bucket_user", "bucket_client_id", "user", "client_id", "level", "limit")


def at(seconds: float) -> datetime:
    return MIDNIGHT + timedelta(seconds=seconds)


def used(second: float, value: float | None, client: str = "alice/app", seconds: float = 1, **more: object) -> dict:
    user, client_id = client.split("/")
    return {
        "cluster_id": "here", "broker": 1, "user": user, "client_id": client_id, "key": PRODUCE, "value": value,
        "window_start": at(second), "window_end": at(second + seconds), "source": "test", **more,
    }  # fmt: skip


def limit(value: float, since: float, until: float | None, user: str | None = "alice", **more: object) -> dict:
    return {
        "cluster_id": "here", "entity": "", "level": "USER", "user": user, "key": PRODUCE, "value": value,
        "valid_from": at(since), "valid_to": None if until is None else at(until), **more,
    }  # fmt: skip


DAILY = pa.schema([USAGE.field("cluster_id"), *schemas.UTILISATION_DAILY.schema])


def here(verb: Any, *rows: list[dict], **how: Any) -> list[dict]:
    """The rows of a verb's answer to rows, in this process."""
    return verb(*tables(*rows), **how).to_pylist()


def tables(first: list[dict], *more: list[dict]) -> list[pa.Table]:
    """Usage and a history; or days alone."""
    return [schemas.table(USAGE if more else DAILY, first), *(schemas.table(HISTORY, rows) for rows in more)]


@pytest.fixture(params=["spark", "arrow"])
def on(request, spark) -> Any:
    """The rows of a verb's answer, by either engine."""

    def there(verb: Any, *rows: list[dict]) -> list[dict]:
        return verb(*(to_spark(frame, spark) for frame in tables(*rows))).toArrow().to_pylist()

    return there if request.param == "spark" else here


def shown(rows: list[dict], *names: str) -> set[tuple]:
    return {tuple(row[name] for name in names) for row in rows}


def test_a_limit_that_moves_in_the_middle():
    """Last week's throttling changed when somebody raised the limit today."""
    usage = [used(0, 60), used(1, 90), used(5, 120), used(6, 50), used(9, 10)]
    history = [limit(80.0, -5, 5), limit(100.0, 5, None)]
    found = here(kn.usage.utilisation, usage, history)
    names = ("limit", "windows", "windows_seen", "peak", "mean", "utilisation", "share_above_100", "clients")
    assert shown(found, *names) == {
        (80.0, 5, 2, 90.0, 30.0, 112.5, 0.2, 1),
        (100.0, 5, 3, 120.0, 36.0, 120.0, 0.2, 1),
    }


def test_a_level_that_changes_a_quota_that_is_removed_and_two_clusters(on):
    """A client had a limit of its own until noon, and all day was judged by that of everybody."""
    usage = [
        *(used(second, 10.0) for second in range(10)),
        *(used(second, 7.0, cluster_id="there") for second in range(10)),
        used(9, 3.0, "bob/app"),
    ]
    history = [
        limit(20.0, -1, 4),  # alice's own, removed
        limit(5.0, -1, 7, None, level="DEFAULT_USER"),
        limit(8.0, -1, None, cluster_id="there"),
    ]
    found = on(kn.usage.utilisation, usage, history)
    names = ("cluster_id", "level", "limit", "bucket_user", "user", "windows", "windows_seen", "peak")
    assert shown(found, *names) == {
        ("here", "USER", 20.0, "alice", None, 4, 4, 10.0),
        ("here", "DEFAULT_USER", 5.0, "alice", None, 3, 3, 10.0),
        ("here", None, None, None, "alice", 3, 3, 10.0),
        ("here", None, None, None, "bob", 3, 1, 3.0),
        ("there", "USER", 8.0, "alice", None, 10, 10, 7.0),
    }


def test_before_the_history_begins_the_limit_is_unknown():
    """Nothing was recorded in October, and the report said that nobody had had a limit."""
    usage = [used(0, 60), used(1, 90), used(1, 5, "bob/app"), used(0, 1, cluster_id="elsewhere")]
    found = here(kn.usage.utilisation, usage, [limit(80.0, 1, None)])
    names = ("cluster_id", "user", "bucket_user", "level", "limit", "peak")
    assert shown(found, *names) == {
        ("elsewhere", "alice", None, "UNKNOWN", None, 1.0),
        ("here", "alice", None, "UNKNOWN", None, 60.0),
        ("here", None, "alice", "USER", 80.0, 90.0),
        ("here", "bob", None, None, None, 5.0),
    }


def test_a_limit_that_comes_back_is_one_row_and_no_run_goes_over_the_gap():
    """The limit was lowered for a minute, and the day had three rows of one bucket."""
    usage = [used(second, 90.0) for second in range(9)]
    history = [limit(80.0, -1, 3), limit(200.0, 3, 5), limit(80.0, 5, None)]
    found = here(kn.usage.utilisation, usage, history)
    assert shown(found, "limit", "windows", "longest_above_100_s") == {(80.0, 7, 4.0), (200.0, 2, 0.0)}


def test_two_limits_at_one_time_are_refused():
    """Two recorders had left two open rows of one quota."""
    said = "two limits at one time: cluster_id here, level USER, user alice, key producer_byte_rate"
    with pytest.raises(kn.Invalid) as refused:
        here(kn.usage.utilisation, [used(0, 1)], [limit(1.0, 0, None), limit(2.0, 3, None)])
    assert str(refused.value) == said


def random_history(rng: random.Random, cluster: str, seconds: int) -> Iterator[dict]:
    """Quotas of every level that come, move and go at odd times."""
    for level in LEVELS:
        for user in ("alice", "bob", "carol") if level.user == "name" else (None,):
            for client_id in ("app", "job") if level.client_id == "name" else (None,):
                for key in USER_CLIENT_KEYS[:2]:
                    times = sorted(rng.sample(range(-seconds, 2 * seconds), rng.choice([0, 0, 1, 2, 3])))
                    for since, until in zip(times, [*times[1:], None][: len(times)], strict=True):
                        if rng.random() < 0.7:
                            more = {"level": level.name, "client_id": client_id, "key": key, "cluster_id": cluster}
                            yield limit(rng.choice([10.0, 20.0, 40.0]), since / 2, until and until / 2, user, **more)


def random_usage(rng: random.Random, cluster: str, seconds: int, count: int) -> list[dict]:
    clients = [f"{user}/{client}" for user in ("alice", "bob", "carol", "") for client in ("app", "job", "")]
    rows = {}
    for _ in range(count):
        broker, client, key = rng.choice([1, 2]), rng.choice(clients), rng.choice(USER_CLIENT_KEYS[:2])
        second = rng.randrange(-seconds // 4, seconds // 4)
        row = used(
            second, rng.choice([None, 0.0, 5.0 + 40 * rng.random()]), client, broker=broker, key=key,
            cluster_id=cluster, throttle_ms=rng.choice([None, 0.0, 20.0]),
        )  # fmt: skip
        rows[broker, client, key, second] = row
    return list(rows.values())


def as_it_was(history: list[dict], cluster: str, time: datetime) -> pa.Table:
    """QUOTAS of a cluster at a time."""
    rows = [
        row for row in history
        if row["cluster_id"] == cluster and row["valid_from"] <= time < (row["valid_to"] or at(1e6))
    ]  # fmt: skip
    return schemas.table(schemas.QUOTAS, rows)


def window_by_window(usage: list[dict], history: list[dict], by_day: bool = False) -> dict[tuple, dict[str, Any]]:
    """UTILISATION by a plain loop: each window of each client by `kn.resolve` of the quotas of that moment."""
    of_broker, clients = defaultdict(set), defaultdict(set)
    for row in usage:
        of_broker[row["cluster_id"], row["broker"]].add(row["window_start"])
        clients[row["cluster_id"], row["broker"], row["key"]].add((row["user"], row["client_id"]))
    rows = {
        tuple(row[name] for name in ("cluster_id", "broker", "key", "user", "client_id", "window_start")): row
        for row in usage
    }
    in_force, windows, sharing = defaultdict(set), defaultdict(lambda: defaultdict(list)), defaultdict(set)
    for (cluster, broker, key), its in clients.items():
        start, pairs = min(of_broker[cluster, broker]), sorted(its)
        since = min(row["valid_from"] for row in history if row["cluster_id"] == cluster)
        while start <= max(of_broker[cluster, broker]):
            asked = pa.table({"user": [user for user, _ in pairs], "client_id": [client for _, client in pairs]})
            for bound in kn.resolve(as_it_was(history, cluster, start), asked, keys=key).to_pylist():
                client = bound["user"], bound["client_id"]
                level, names = bound["level"], (None, None)
                if start < since:
                    level, bound = "UNKNOWN", {"value": None, "bucket_user": None, "bucket_client_id": None}
                if bound["bucket_user"] is None:
                    names = client
                bucket = (
                    cluster,
                    broker,
                    key,
                    bound["bucket_user"],
                    bound["bucket_client_id"],
                    *names,
                    level,
                    bound["value"],
                )
                bucket = (*bucket, start.date()) if by_day else bucket
                in_force[bucket].add(start)
                if row := rows.get((cluster, broker, key, *client, start)):
                    windows[bucket][start].append(row)
                    sharing[bucket].add(client)
            start += timedelta(seconds=1)
    found = in_force if by_day else windows  # a day has those that nobody used, too
    return {it: figures(it[8], windows[it], len(in_force[it]), len(sharing[it])) for it in list(found)}


def figures(limit: float | None, windows: dict[datetime, list[dict]], count: int, clients: int) -> dict[str, Any]:
    sums = {start: sum(row["value"] or 0.0 for row in rows) for start, rows in windows.items()}
    known = [start for start, rows in windows.items() if any(row["value"] is not None for row in rows)]
    told = [row["throttle_ms"] for rows in windows.values() for row in rows if row["throttle_ms"] is not None]
    above = [sum(use > part * limit for use in sums.values()) if limit and known else None for part in (0.8, 1.0)]
    return {
        "clients": clients, "windows": count, "windows_seen": len(sums),
        "windows_unknown": sum(any(row["value"] is None for row in rows) for rows in windows.values()),
        "used_sum": sum(sums.values()) if known else None, "peak": max(sums.values()) if known else None,
        "windows_above_80": above[0], "windows_above_100": above[1], "throttle_ms": max(told, default=None),
        "windows_throttled": sum(any(row["throttle_ms"] for row in its) for its in windows.values()) if told else None,
    }  # fmt: skip


def ratios_of(plain: dict[str, Any]) -> dict[str, Any]:
    """The columns of UTILISATION out of these figures."""
    count, names = plain["windows"], ("clients", "windows", "windows_seen", "windows_unknown", "peak", "throttle_ms")
    parts = {
        "mean": plain["used_sum"],
        "share_above_80": plain["windows_above_80"],
        "share_above_100": plain["windows_above_100"],
        "share_throttled": plain["windows_throttled"],
    }
    return {
        **{name: plain[name] for name in names},
        **{name: None if part is None else part / count for name, part in parts.items()},
    }


def made(seed: int) -> tuple[list[dict], list[dict]]:
    """A usage that goes over midnight, and a history, of two clusters."""
    rng = random.Random(seed)
    history = [row for cluster in ("here", "there") for row in random_history(rng, cluster, 40)]
    history += [limit(1.0, -15, None, "nobody", cluster_id=cluster) for cluster in ("here", "there")]
    return [row for cluster in ("here", "there") for row in random_usage(rng, cluster, 80, 150)], history


@pytest.mark.parametrize("seed", range(4))
def test_window_by_window_like_a_loop_over_resolve(spark, seed):
    """The limits were right at the ends of the day."""
    usage, history = made(seed)
    found = {tuple(row[name] for name in BUCKET): row for row in here(kn.usage.utilisation, usage, history)}
    plain = {bucket: ratios_of(its) for bucket, its in window_by_window(usage, history).items()}
    assert found.keys() == plain.keys()
    assert len({bucket[7] for bucket in plain}) >= 6
    for bucket, row in plain.items():
        assert {name: found[bucket][name] for name in row} == pytest.approx(row), bucket


def test_days_one_by_one(on):
    """The report of a day was another one than a plain look at its windows."""
    usage, history = made(5)
    days = on(kn.usage.utilisation_daily, usage, history)
    plain = window_by_window(usage, history, by_day=True)
    assert {row["day"] for row in days} == {MIDNIGHT.date() - timedelta(days=1), MIDNIGHT.date()}
    found = {tuple(row[name] for name in (*BUCKET, "day")): row for row in days}
    assert found.keys() == plain.keys()
    for bucket, its in plain.items():
        assert {name: found[bucket][name] for name in its} == pytest.approx(its), bucket


@pytest.mark.parametrize("watched", [False, True, MIDNIGHT + timedelta(hours=6)])
def test_a_day_by_itself_is_the_day_out_of_all(on, watched):
    """Yesterday's report had no row of the client that slept all day, last week's had one."""
    usage, history = made(6)
    every = on(partial(kn.usage.utilisation_daily, watched=watched), usage, history)
    assert any(row["windows_seen"] == 0 for row in every)
    day = MIDNIGHT.date()
    found = on(partial(kn.usage.utilisation_daily, watched=watched, days=(day, day)), usage, history)
    assert sorted(found, key=repr) == sorted((row for row in every if row["day"] == day), key=repr)


def test_one_cluster_and_its_days_take_no_other_limits_along(on):
    """For two days of one cluster each worker was sent 155 MB: the limits of all clusters, of all years."""
    usage, history = made(6)
    day, days = MIDNIGHT.date(), partial(kn.usage.utilisation_daily, days=(MIDNIGHT.date(), MIDNIGHT.date()))
    every = [row for row in on(kn.usage.utilisation_daily, usage, history) if row["day"] == day]
    found = on(partial(days, cluster_id="here"), usage, history)
    assert sorted(found, key=repr) == sorted((row for row in every if row["cluster_id"] == "here"), key=repr)
    of_here = [row for row in history if row["cluster_id"] == "here"]
    until = MIDNIGHT + timedelta(days=1)
    then = [row for row in of_here if row["valid_from"] < until and (row["valid_to"] or until) > MIDNIGHT]
    rows = Limits.of(schemas.table(HISTORY, history), None, ["cluster_id"], "here", (day, day)).over_time
    assert len(then) < len(of_here)
    assert sum(len(np.unique(np.asarray(part.tables.values))) - 1 for part in rows.parts) <= len(then)


def test_what_was_recorded_before_the_days_still_tells_since_when_limits_are_known(on):
    """The quotas had been removed a week before, and yesterday's clients had an unknown limit."""
    usage = [used(0, 60), used(1, 5, "bob/app"), used(0, 1, cluster_id="elsewhere")]
    week, year = 7 * 86_400, 365 * 86_400
    history = [limit(80.0, -2 * week, -week), limit(90.0, -year, None, "bob"), limit(7.0, week, None, "bob", key="any")]
    days = partial(kn.usage.utilisation_daily, days=(MIDNIGHT.date(), MIDNIGHT.date()))
    names = ("cluster_id", "user", "bucket_user", "level", "limit", "peak")
    assert shown(on(days, usage, history), *names) == {
        ("elsewhere", "alice", None, "UNKNOWN", None, 1.0),
        ("here", "alice", None, None, None, 60.0),
        ("here", None, "bob", "USER", 90.0, 5.0),
    }


def test_time_that_is_known_to_be_watched_counts_though_nobody_was_at_work():
    """The log is always on, and the night did not count: a client of two busy minutes was busy all day."""
    usage, history = [used(0, 60), used(300, 90)], [limit(80.0, -5, 200), limit(100.0, 200, None)]
    found = here(kn.usage.utilisation, usage, history, watched=at(500))
    assert shown(found, "limit", "windows", "mean") == {(80.0, 200, 0.3), (100.0, 300, 0.3)}
    whole = here(kn.usage.utilisation_daily, usage[:1], history, watched=True)
    assert shown(whole, "limit", "windows", "windows_seen") == {(80.0, 200, 1), (100.0, 86_200, 0)}


def test_beside_a_history_that_was_recorded(tmp_path):
    """At first nothing was set, and all that was used then was taken for the time before the history."""
    history = kn.open_history(tmp_path / "history")
    for hour, limits in ((1, {}), (2, {"alice": 100.0})):
        history.record(taken(hour, limits))
    starts = [hour_of(hour) for hour in (0.5, 1.5, 2.5)]
    usage = [used(0, 60) | {"window_start": start, "window_end": start + timedelta(seconds=1)} for start in starts]
    found = kn.usage.utilisation(schemas.table(USAGE, usage), history, keys=PRODUCE).to_pylist()
    assert shown(found, "level", "limit", "user", "windows") == {
        ("UNKNOWN", None, "alice", 1), (None, None, "alice", 1), ("USER", 100.0, None, 1)
    }  # fmt: skip
