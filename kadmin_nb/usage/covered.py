"""How much of the world a usage covers: its brokers, from when to when it has rows of them, and how many.

Of a day of a request log: when that was by the clocks of the brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from ..frames.relational import (
    Measure,
    added_up,
    in_arrow,
    of_kinds,
)
from ..model.config_units import day_of
from ..model.findings import Coverage
from ..resolution.input_columns import CLUSTER
from .limits_used import KINDS, USAGE_LABEL
from .written_times import zone_of

IN_ALL = 0.9
"""The share of the time of a usage from which on a broker counts as seen in all of it."""

NAMED = 5
"""Clients, or entities, that a sentence names; the others are counted."""

_ENDS: dict[str, Measure] = {
    "since": ("min", "window_start"),
    "until": ("max", "window_end"),
    "rows": ("count_rows", "broker"),
}


def is_of_brokers(frame: Any) -> bool:
    """True of a USAGE of one cluster here, and not of names alone, as PAIRS are."""
    names = set(pa.table(frame).column_names)
    return {"broker", "window_start", "window_end"} <= names and CLUSTER not in names


def coverage(usage: Any, brokers: Iterable[int] | None = None) -> Coverage:
    """How much of the whole a USAGE of one cluster has: its brokers, and from when to when it has rows of them.

    Parameters
    ----------
    usage
        USAGE, in Spark or as anything with `__arrow_c_stream__`.
    brokers
        The ids of the cluster's brokers: those without a row are then known, too.

    Returns
    -------
    Coverage
        Its text says it in a phrase, `not_known` what is missing.

    Raises
    ------
    UsageError
        Not a frame, or a column is missing or of another type.
    """
    names = ("broker", "window_start", "window_end")
    rows = of_kinds(usage, {name: KINDS[name] for name in names}, USAGE_LABEL)
    return of_brokers(in_arrow(added_up(rows, ["broker"], _ENDS)), brokers)


def of_brokers(spans: pa.Table, brokers: Iterable[int] | None = None) -> Coverage:
    """The same of rows with `broker`, `since` and `until`, and `watched_s` and `rows` where these are known."""
    found = [row for row in spans.to_pylist() if None not in (row["broker"], row["since"], row["until"])]
    known = None if brokers is None else frozenset(brokers)
    if not found:
        return Coverage(frozenset(), known)
    since, until = min(row["since"] for row in found), max(row["until"] for row in found)
    whole = {row["broker"] for row in found if _seconds(row) >= IN_ALL * (until - since).total_seconds()}
    seen = frozenset(row["broker"] for row in found)
    rows = sum(row["rows"] for row in found) if "rows" in spans.column_names else None
    return Coverage(seen, known, since, until, rows, in_part=seen - whole)


def _seconds(row: Mapping[str, Any]) -> float:
    """The time for which a usage has rows of a broker."""
    watched = row.get("watched_s")
    return float((row["until"] - row["since"]).total_seconds() if watched is None else watched)


def remarks(coverage: Coverage) -> Iterator[str]:
    """What a conclusion was read from, and the line that shows what it does not cover."""
    if text := str(coverage):
        yield f"Read from {text}."
    if coverage.missing:
        brokers = ", ".join(map(str, sorted(coverage.missing)))
        yield (
            f"The usage has no row of broker {brokers}: add its request log, or read all brokers' metrics from a "
            "Prometheus."
        )
    if coverage.strange:
        yield "If it is the usage of another cluster, give that of this one; what brokers had that are gone is counted."


# --- a day of a request log, by the clocks that its files are named by ---

_Date = date


def log_day(day: str = "yesterday", tz: str | None = None) -> LogDay:
    """A day of the clocks of the brokers, which name their files by it.

    Parameters
    ----------
    day
        `2026-11-21`, or `today`, `yesterday`, the last `monday` to `sunday`, as it is in that zone now.
    tz
        The brokers' time zone, such as `America/Los_Angeles`; default: UTC.

    Returns
    -------
    LogDay

    Raises
    ------
    UsageError
        It is not a day, or not a time zone.
    """
    return LogDay(day_of(day, zone_of(tz)), tz)


@dataclass(frozen=True)
class LogDay:
    """A day in a time zone: `since` and `until` are its ends in UTC, 24 hours apart, or an hour more or less."""

    date: date
    tz: str | None = None

    @property
    def since(self) -> datetime:
        """Its beginning."""
        return self._midnight(0)

    @property
    def until(self) -> datetime:
        """Its end."""
        return self._midnight(1)

    @property
    def last_day(self) -> _Date:
        """The last day in UTC that has a part of it."""
        return (self.until - timedelta(microseconds=1)).date()

    def _midnight(self, days: int) -> datetime:
        return datetime.combine(self.date + timedelta(days), time(), zone_of(self.tz)).astimezone(UTC)
