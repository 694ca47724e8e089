"""Fleets that a seed makes: what clients want minute by minute, and what they used under their limits.

They have a shape by day and by hour, bursts, growth, a broker that leads more, clients that come late, noisy ones, and
some that their limits throttle.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from kadmin_nb.frames import schemas
from kadmin_nb.frames.frame import MOMENT
from kadmin_nb.model.entity import Entity
from tests.resolution.hierarchies import KEY, quotas_of

BEGIN = datetime(2026, 10, 5, tzinfo=UTC)
DAYS = 7
SEEDS = range(10)
WINDOW = 300
"""Seconds of a window."""

BROKERS = (1, 2, 3)
CLIENTS = ("steady", "daily", "bursty", "growing", "noisy", "late", "throttled")


@dataclass(frozen=True, slots=True)
class Fleet:
    """The limits, the usage of the first `DAYS` days under them, and what is wanted in as many days after."""

    quotas: pa.Table
    usage: pa.Table
    wanted_then: pa.Table


def fleet(seed: int, days: int = DAYS) -> Fleet:
    """One fleet, a week that was seen and one that comes."""
    random = np.random.default_rng(seed)
    windows = 2 * days * 86400 // WINDOW
    split, limits, seen, then = windows // 2, {}, [], []
    for name in CLIENTS:
        user, wanted = f"{name}-{seed}", _wanted(name, random, windows)
        parts = _parts(random)
        limit = float(np.round(wanted[:split].max() * max(parts) * random.uniform(25, 80)))
        if name == "throttled":
            limit = float(np.round(np.quantile(wanted[:split], random.uniform(0.85, 0.95)) * max(parts)))
        limits[Entity.of({"user": user}), KEY] = limit
        for broker, part in zip(BROKERS, parts, strict=True):
            used, throttle_ms = _under(wanted[:split] * part, limit)
            seen.append(used_by(user, broker, 0, used, throttle_ms))
            then.append(used_by(user, broker, split, wanted[split:] * part, np.zeros(windows - split)))
    return Fleet(quotas_of(limits), pa.concat_tables(seen), pa.concat_tables(then))


def _wanted(name: str, random: np.random.Generator, windows: int) -> np.ndarray:
    """Bytes a second, window by window, on all brokers together."""
    hour = np.arange(windows) * WINDOW / 3600
    shape = 1 + 0.7 * np.sin(2 * np.pi * (hour - random.uniform(0, 24)) / 24)
    weekly = np.where((hour // 24) % 7 >= 5, random.uniform(0.5, 1.0), 1.0)
    noise = random.lognormal(0, {"noisy": 0.9, "steady": 0.1}.get(name, 0.3), windows)
    of_day = np.repeat(random.lognormal(0, 0.15, windows * WINDOW // 86400 + 1), 86400 // WINDOW)[:windows]
    wanted = 10 ** random.uniform(4, 7) * noise * of_day
    if name != "steady":
        wanted = wanted * shape * weekly
    if name == "bursty":
        for start in random.integers(0, windows, windows // 150):
            wanted[start : start + random.integers(1, 6)] *= random.uniform(3, 10)
    if name == "growing":
        wanted = wanted * 2 ** (hour / 24 / random.uniform(14, 30))
    if name == "late":
        wanted[: int(windows * random.uniform(0.1, 0.3))] = 0.0
    return wanted


def _parts(random: np.random.Generator) -> list[float]:
    """The part of each broker: one leads more."""
    parts = random.dirichlet([6, 3, 2])
    return [float(part) for part in parts]


def _under(wanted: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """What was used under a limit, and the throttle: what is not served waits."""
    used, throttle_ms, queue = np.empty_like(wanted), np.zeros_like(wanted), 0.0
    for place, more in enumerate(wanted):
        queue += more
        used[place] = min(queue, limit)
        queue -= used[place]
        throttle_ms[place] = 1000.0 if queue > 0 else 0.0
    return used, throttle_ms


def used_by(user: str, broker: int, first: int, values: np.ndarray, throttle_ms: np.ndarray) -> pa.Table:
    """USAGE of one client on a broker, from this window on; those without use are not there."""
    start = np.datetime64(BEGIN.replace(tzinfo=None), "us") + (first + np.arange(len(values))) * np.timedelta64(
        WINDOW, "s"
    )
    is_there = values > 0
    columns = {
        "broker": np.full(len(values), broker, np.int32),
        "user": [user] * len(values),
        "client_id": ["app"] * len(values),
        "key": [KEY] * len(values),
        "window_start": pa.array(start).cast(MOMENT),
        "window_end": pa.array(start + np.timedelta64(WINDOW, "s")).cast(MOMENT),
        "value": values,
        "throttle_ms": throttle_ms,
        "source": ["test"] * len(values),
    }
    return pa.table(columns).cast(schemas.USAGE.schema).filter(pa.array(is_there))
