"""A day of a request log, by the clocks that its files are named by: when it was, and the hours that no file has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

from ..frames.relational import Frame, cluster_of, each_once, in_arrow, of_kinds, select, with_columns, words_of
from ..model.times import day_of
from ..resolution.input_columns import CLUSTER
from .bucket_figures import DAY
from .limits_used import KINDS, USAGE_LABEL
from .written_times import zone_of

_Date = date
_ENDS = ("since", "until")
_HOUR = timedelta(hours=1)
_QUARTER = 15 * 60 * 1_000_000
"""Zones are apart by whole quarters of an hour, in microseconds."""


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

    def hours_without_requests(self, usage: Any) -> list[str]:
        """The hours of the day without a request, one line per broker that has such hours, by the clocks of its zone,
        as of a file that is missing.

        Parameters
        ----------
        usage
            USAGE with windows of an hour or less, in Spark or as anything with `__arrow_c_stream__`. That of days
            before tells which brokers there are.

        Raises
        ------
        UsageError
            Not a frame, or a column is missing or of another type.
        """
        seen, hours = self._hours_seen(usage), [*self._hours()]
        if not seen:
            return [f"no request of any broker in {len(hours)} hours of {self.date}"]
        missing = {broker: [hour for hour in hours if hour not in seen[broker]] for broker in sorted(seen)}
        zone = zone_of(self.tz)
        return [
            f"broker {broker}: no request in {len(without)} of {len(hours)} hours of {self.date}:"
            f" {', '.join(f'{hour.astimezone(zone):%H:%M}' for hour in without)}"
            for broker, without in missing.items()
            if without
        ]

    def watched(self, usage: Any) -> Frame:
        """The times in which brokers were watched whose log is always on: the days in UTC on which they have usage, up
        to the end of this day, for `watched=` of `utilisation_daily`.

        Parameters
        ----------
        usage
            As of `hours_without_requests`; of one cluster or, with `cluster_id`, of several.
        """
        rows = _windows_of(usage)
        words, by = words_of(rows), [*cluster_of(rows), "broker"]
        start = words.micros(words.column("window_start"))
        days = each_once(with_columns(rows, {"first": start - words.remainder(start, DAY)}), [*by, "first"])
        first, end = words_of(days).column("first"), words.literal(_micros(self.until), pa.int64())
        last = words.when(first + DAY > end, end, first + DAY)
        return select(with_columns(days, {"since": words.moment(first), "until": words.moment(last)}), [*by, *_ENDS])

    def _midnight(self, days: int) -> datetime:
        return datetime.combine(self.date + timedelta(days), time(), zone_of(self.tz)).astimezone(UTC)

    def _hours(self) -> Iterator[datetime]:
        """The beginnings of its hours, in UTC."""
        at = self.since
        while at < self.until:
            yield at
            at += _HOUR

    def _hours_seen(self, usage: Any) -> dict[int, set[datetime]]:
        """The hours of which each broker has a window; none of a broker that has windows of other days alone."""
        rows = _windows_of(usage)
        words = words_of(rows)
        start, end = (words.micros(words.column(name)) for name in ("window_start", "window_end"))
        quarters = {"first": start - words.remainder(start, _QUARTER), "last": end - words.remainder(end - 1, _QUARTER)}
        once = each_once(with_columns(rows, quarters), ["broker", "first", "last"])
        seen: dict[int, set[datetime]] = defaultdict(set)
        hours = [(hour, _micros(hour), _micros(hour + _HOUR)) for hour in self._hours()]
        for row in in_arrow(once, task="Spark looks for hours without a request").to_pylist():
            seen[row["broker"]] |= {
                hour for hour, since, until in hours if since < row["last"] and row["first"] < until
            }
        return seen


def _windows_of(usage: Any) -> Frame:
    kinds = {name: KINDS[name] for name in ("broker", "window_start", "window_end")}
    return of_kinds(usage, {**kinds, CLUSTER: KINDS[CLUSTER]}, USAGE_LABEL, or_without=(CLUSTER,))


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
