"""Every chart beside a frame for it, with as many rows and whatever name a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import sin
from typing import Any

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.model.grammar import format_word

Frame = Callable[..., pa.Table]
"""A frame of so many rows, of clients with names that begin so, in turns."""


def _name(names: Sequence[str], number: int) -> str:
    return names[number % len(names)] if names else "team"


def effective(rows: int, *names: str) -> pa.Table:
    """EFFECTIVE: a third unlimited, a third of zero."""
    values = (None, 0.0, 5e6)
    return schemas.table(
        schemas.EFFECTIVE, (_effective(_name(names, number), number, values[number % 3]) for number in range(rows))
    )


def _effective(name: str, number: int, value: float | None) -> dict[str, Any]:
    limit = {"level": None if value is None else "USER", "value": value, "key": "producer_byte_rate"}
    return {"user": f"{name}{number}", "client_id": name, **limit}


def hierarchy(rows: int, *names: str) -> pa.Table:
    """QUOTAS of users, of client-ids, and of the default user."""
    return schemas.table(schemas.QUOTAS, (_quota(_name(names, number), number) for number in range(rows)))


def _quota(name: str, number: int) -> dict[str, Any]:
    user, client_id = f"{name}{number // 9}", f"{name}{number}"
    entities = (
        (format_word("user", user) + " " + format_word("client-id", client_id), "CLIENT_OF_USER", user, client_id),
        (format_word("client-id", client_id), "CLIENT", None, client_id),
        (format_word("user", client_id), "USER", client_id, None),
    )
    columns = entities[number % 3] if number else ("user=<default>", "DEFAULT_USER", None, None)
    limit = {"key": "producer_byte_rate", "value": 1e6}
    return dict(zip(("entity", "level", "user", "client_id"), columns, strict=True)) | limit


MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)


def history(rows: int, *names: str) -> pa.Table:
    """HISTORY_CHANGES of some days, a snapshot an hour."""
    return schemas.table(schemas.HISTORY_CHANGES, (_past(_name(names, number), number) for number in range(rows)))


def _past(name: str, number: int) -> dict[str, Any]:
    at = MIDNIGHT + timedelta(hours=number % 200)
    return {"cluster_id": "c", "since": at - timedelta(hours=1), "taken_at": at, "snapshot_id": "s", "kind": "quotas",
            "resource": f"user={name}", "key": "k", "state": ("added", "removed", "changed")[number % 3]}  # fmt: skip


def plan(rows: int, *names: str) -> pa.Table:
    """PLAN of lower, higher, new and removed limits, of a config, and of what is not a number."""
    return schemas.table(schemas.PLAN, (_change(_name(names, number), number) for number in range(rows)))


VALUES = (
    ("producer_byte_rate", "1000000", "5000000"),
    ("consumer_byte_rate", "8000000", "2000000"),
    ("request_percentage", None, "50"),
    ("producer_byte_rate", "1000000", None),
    ("retention.ms", "604800000", "86400000"),
    ("cleanup.policy", "delete", "compact"),
)


def _change(name: str, number: int) -> dict[str, Any]:
    key, old, after = VALUES[number % len(VALUES)]
    return {"row": number, "kind": "quota", "op": "set", "resource": f"user={name}{number}", "key": key, "old": old,
            "wanted": after, "after": after, "old_known": True, "validated": "ok", "change": "changed"}  # fmt: skip


def usage(rows: int, *names: str) -> pa.Table:
    """USAGE of clients on two brokers, a minute a window, some of them throttled."""
    return schemas.table(schemas.USAGE, (_window(_name(names, number), number) for number in range(rows)))


def _window(name: str, number: int) -> dict[str, Any]:
    start = MIDNIGHT + timedelta(minutes=number // 16)
    client = {"user": f"{name}{number % 8}", "client_id": name, "broker": number // 8 % 2}
    value = 1e6 * (1 + number % 8) * (1 + sin(number / 80)) / 2
    times = {"window_start": start, "window_end": start + timedelta(minutes=1), "source": "log"}
    throttled = (None, 0.0, 120.0, 45.5)[number % 8 % 4]
    return {**client, **times, "key": "producer_byte_rate", "value": value, "throttle_ms": throttled}


def limits(*names: str) -> pa.Table:
    """QUOTAS for the clients of `usage`."""
    rows = [{"entity": "user=<default>", "level": "DEFAULT_USER", "key": "producer_byte_rate", "value": 2.5e6}]
    return schemas.table(schemas.QUOTAS, rows)


def backtest(rows: int, *names: str) -> pa.Table:
    """BACKTEST: buckets of which every other one would have been throttled."""
    return schemas.table(schemas.BACKTEST, (_replayed(_name(names, number), number) for number in range(rows)))


def _replayed(name: str, number: int) -> dict[str, Any]:
    throttled = float(number % 2 * (number % 50))
    seconds = {"throttled_s": throttled, "longest_s": throttled / 2, "delay_s": throttled / 4}
    counts = {"clients": 1, "windows": 60, "throttled_windows": int(throttled), "throttled_share": throttled / 60}
    bucket = {"bucket_user": f"{name}{number}", "bucket_client_id": "", "level": "USER", "limit": 1e6}
    return {"broker": 1, "key": "producer_byte_rate", **bucket, **counts, **seconds}


def use_of_limits(frame: Any) -> Any:
    """`usage` beside limits."""
    return kn.charts.usage(frame, limits())


CHARTS: dict[str, tuple[Callable[..., Any], Frame]] = {
    "backtest": (kn.charts.usage, backtest),
    "effective": (kn.charts.effective, effective),
    "hierarchy": (kn.charts.hierarchy, hierarchy),
    "history": (kn.charts.history, history),
    "plan": (kn.charts.plan, plan),
    "usage": (kn.charts.usage, usage),
    "usage and limits": (use_of_limits, usage),
}
"""Each chart and the frame that it takes."""


def texts_of(chart: Any) -> Iterator[str]:
    """All texts of the data that a chart carries."""
    specification = chart.to_dict()
    rows = [row for values in specification.get("datasets", {}).values() for row in values]
    return (value for row in rows for value in row.values() if isinstance(value, str))
