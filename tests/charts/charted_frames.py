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


def utilisation(rows: int, *names: str) -> pa.Table:
    """UTILISATION: buckets at 50, 90 and 130 percent of their limit, and some without one."""
    return schemas.table(schemas.UTILISATION, (_use(_name(names, number), number) for number in range(rows)))


def _use(name: str, number: int) -> dict[str, Any]:
    share = (50.0, 90.0, 130.0, None)[number % 4]
    bucket = {"bucket_user": f"{name}{number}", "bucket_client_id": name, "level": "USER", "limit": 1e6}
    whose = bucket if share is not None else {"user": f"{name}{number}", "client_id": name}
    counts = {"brokers": 1, "windows": 10, "windows_seen": 10, "windows_unknown": 0, "mean": 1.0, "p95": 1.0}
    return {
        "broker": 1,
        "key": "producer_byte_rate",
        "peak": 1e4 * (share or 1),
        "utilisation": share,
        **whose,
        **counts,
    }


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


def drift(rows: int, *names: str) -> pa.Table:
    """DRIFT of quotas and configs, in every state."""
    return schemas.table(schemas.DRIFT, (_difference(_name(names, number), number) for number in range(rows)))


STATES = ("added", "removed", "changed", "changed", "changed", "source", "default")


def _difference(name: str, number: int) -> dict[str, Any]:
    kind = ("quotas", "configs")[number % 2]
    return {"kind": kind, "resource": f"topic={name}", "key": f"{name}{number % 60}", "state": STATES[number % 7],
            "is_sensitive": False}  # fmt: skip


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
            "wanted": after, "after": after, "old_known": True, "validated": "ok"}  # fmt: skip


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


def capacity(rows: int, *names: str) -> pa.Table:
    """CAPACITY of two keys, now and in a what-if: a broker of which too much is promised, and one of which the capacity
    is not known."""
    return schemas.table(schemas.CAPACITY, (_promised(_name(names, number), number) for number in range(rows)))


def _promised(name: str, number: int) -> dict[str, Any]:
    able = (100e6, 200e6, 80e6, None)[number // 4 % 4]
    promised = 1e6 * (90 + number % 2 * 40)
    counts = {"clients": 14, "buckets": 14, "unlimited": 0, "fill": None}
    case = ("now", f"with 3x20MB/s of {name}")[number % 2]
    return {
        "broker": number // 4,
        "key": ("producer_byte_rate", "consumer_byte_rate")[number // 2 % 2],
        "case": case,
        "promised": promised,
        "capacity": able,
        "source": able and "stated",
        "seen": 45e6,
        "headroom": able and able - promised,
        "oversubscription": able and promised / able,
        **counts,
    }


def reach(rows: int, *names: str) -> pa.Table:
    """REACH of clients with leaders on two brokers of three, now and without one of them."""
    return schemas.table(schemas.REACH, (_reached(_name(names, number), number) for number in range(rows)))


def _reached(name: str, number: int) -> dict[str, Any]:
    total, leaders = ((16e6, 2), (10e6, 1), (None, 0))[number % 3]
    case = ("now", "without broker 2", f"without broker {name}")[number % 3]
    busiest = {"busiest": 1 if total else None, "busiest_share": 1e7 / total if total else None}
    limit = {"key": "producer_byte_rate", "value": 1e7, "brokers": 3, "on_paper": 3e7}
    client = {"user": f"{name}{number // 3}", "client_id": "app"}
    return {**client, **limit, "case": case, "total": total, "leaders": leaders, "offline": 0, **busiest}


def recommendations(rows: int, *names: str) -> pa.Table:
    """RECOMMENDATIONS: limits that throttle, that are too high, that no client uses, and that fit."""
    return schemas.table(schemas.RECOMMENDATIONS, (_judged(_name(names, number), number) for number in range(rows)))


def _judged(name: str, number: int) -> dict[str, Any]:
    finding, op, proposed, peak = (
        ("throttles needlessly", "set", 6e7, 3e7),
        ("ten times too high", "set", 5.7e5 * (1 + number // 4), 4.67e5),
        ("unused", "delete", None, None),
        ("fits", None, None, 2.5e7),
    )[number % 4]
    counts = {"windows": 1000, "windows_unknown": 0, "hours": 168, "buckets": 1, "clients": 1, "message": ""}
    quota = {"entity": format_word("user", f"{name}{number}"), "level": "USER", "key": "producer_byte_rate"}
    return {**quota, "value": 3e7, "finding": finding, "op": op, "proposed": proposed, "peak": peak, **counts}


def use_of_limits(frame: Any) -> Any:
    """`usage` beside limits."""
    return kn.charts.usage(frame, limits())


CHARTS: dict[str, tuple[Callable[..., Any], Frame]] = {
    "backtest": (kn.charts.backtest, backtest),
    "drift": (kn.charts.drift, drift),
    "effective": (kn.charts.effective, effective),
    "hierarchy": (kn.charts.hierarchy, hierarchy),
    "history": (kn.charts.history, history),
    "plan": (kn.charts.plan, plan),
    "throttling": (kn.charts.throttling, usage),
    "usage": (kn.charts.usage, usage),
    "usage and limits": (use_of_limits, usage),
    "utilisation": (kn.charts.utilisation, utilisation),
    "capacity": (kn.charts.capacity, capacity),
    "reach": (kn.charts.reach, reach),
    "recommend": (kn.charts.recommend, recommendations),
}
"""Each chart and the frame that it takes."""


def texts_of(chart: Any) -> Iterator[str]:
    """All texts of the data that a chart carries."""
    specification = chart.to_dict()
    rows = [row for values in specification.get("datasets", {}).values() for row in values]
    return (value for row in rows for value in row.values() if isinstance(value, str))
