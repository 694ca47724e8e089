"""Every chart beside a frame for it, with as many rows and whatever name a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.frames import schemas

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
    counts = {"brokers": 1, "windows": 10, "windows_seen": 10, "mean": 1.0, "p95": 1.0}
    return {
        "broker": 1,
        "key": "producer_byte_rate",
        "peak": 1e4 * (share or 1),
        "utilisation": share,
        **whose,
        **counts,
    }


CHARTS: dict[str, tuple[Callable[..., Any], Frame]] = {
    "effective": (kn.charts.effective, effective),
    "utilisation": (kn.charts.utilisation, utilisation),
}
"""Each chart and the frame that it takes."""


def texts_of(chart: Any) -> Iterator[str]:
    """All texts of the data that a chart carries."""
    specification = chart.to_dict()
    rows = [row for values in specification.get("datasets", {}).values() for row in values]
    return (value for row in rows for value in row.values() if isinstance(value, str))
