"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pandas as pd

from ..errors import UsageError

_TIME_HINT = "Such as 2026-11-21T12:00:00Z, '2h ago', '90 min ago', or a datetime with a zone."


def moment(time: object) -> datetime:
    """A time with its zone, as UTC: a datetime, ISO 8601 text, `now`, or `2h ago`, in pandas' units.

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


def _parse_time(text: str) -> datetime | None:
    if text.strip() == "now":
        return datetime.now(UTC)
    length, ago, after = text.strip().rpartition("ago")
    try:
        return _before(length.strip()) if ago and not after else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _before(length: str) -> datetime | None:
    """Now less that length; a number alone, of nanoseconds to pandas, is none."""
    since = pd.Timedelta(length)
    if pd.isna(since) or since < pd.Timedelta(0) or not length[-1:].isalpha():
        return None
    back: timedelta = since.to_pytimedelta()
    return datetime.now(UTC) - back
