"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd

from ..errors import UsageError

_TIME_HINT = "Such as 2026-11-21T12:00:00Z, '2h ago', monday, yesterday, or a datetime with a zone."

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def moment(time: object) -> datetime:
    """A time with its zone, as UTC: a datetime, ISO 8601 text, `now`, `2h ago`, in pandas' units, or a day.

    A day is `today`, `yesterday`, or the last `monday` to `sunday`, today's included: its beginning in UTC.

    Raises
    ------
    UsageError
        It is none, or has no zone.
    """
    read = _parse_time(time) if isinstance(time, str) else time
    if not isinstance(read, datetime):
        raise UsageError(f"{time} is not a time", hint=_TIME_HINT)
    if read.tzinfo is None:
        raise UsageError(f"{time} has no time zone", hint="Write 2026-11-21T12:00:00Z, or datetime(…, tzinfo=UTC).")
    return read.astimezone(UTC)


def is_time(text: str) -> bool:
    """True if `moment` takes a text."""
    return _parse_time(text) is not None


def _parse_time(text: str) -> datetime | None:
    if text.strip() == "now":
        return datetime.now(UTC)
    if day := _beginning_of(text.strip().lower()):
        return day
    length, ago, after = text.strip().rpartition("ago")
    try:
        return _before(length.strip()) if ago and not after else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _beginning_of(day: str) -> datetime | None:
    """The midnight with which a day began that is called by its word."""
    now = datetime.now(UTC)
    days_ago = {"today": 0, "yesterday": 1} | {name: (now.weekday() - n) % 7 for n, name in enumerate(_WEEKDAYS)}
    if day not in days_ago:
        return None
    return datetime(now.year, now.month, now.day, tzinfo=UTC) - timedelta(days_ago[day])


def _before(length: str) -> datetime | None:
    """Now less that length; a number alone, of nanoseconds to pandas, is none."""
    since = pd.Timedelta(length)
    if pd.isna(since) or since < pd.Timedelta(0) or not length[-1:].isalpha():
        return None
    back: timedelta = since.to_pytimedelta()
    return datetime.now(UTC) - back
