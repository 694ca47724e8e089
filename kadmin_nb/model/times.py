"""Times, and lengths of time, as people write them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo

from ..errors import UsageError
from .config_units import TIME_WORDS, TIMES

_TIME_HINT = "For example 2026-11-21T12:00:00Z, '2h ago', monday, yesterday, or a datetime with a zone."

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def moment(time: object) -> datetime:
    """A time with its zone, as UTC: a datetime, ISO 8601 text, `now`, `2h ago`, or a day.

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
    if day := _date_called(text.strip().lower(), datetime.now(UTC).date()):
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    length, ago, after = text.strip().rpartition("ago")
    try:
        return _before(length.strip()) if ago and not after else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _date_called(word: str, today: date) -> date | None:
    """The day that is called by its word."""
    days_ago = {"today": 0, "yesterday": 1} | {name: (today.weekday() - n) % 7 for n, name in enumerate(_WEEKDAYS)}
    return today - timedelta(days_ago[word]) if word in days_ago else None


def day_of(day: str, zone: tzinfo) -> date:
    """A day: ISO 8601 text, or `today`, `yesterday`, the last `monday` to `sunday`, by the clocks of a time zone.

    Raises
    ------
    UsageError
        It is none.
    """
    word = day.strip().lower()
    if (called := _date_called(word, datetime.now(zone).date())) is not None:
        return called
    with suppress(ValueError):
        return date.fromisoformat(word)
    raise UsageError(f"{day} is not a day", hint="For example 2026-11-21, yesterday, today or monday.")


def _before(length: str) -> datetime | None:
    """Now less that length."""
    since = length_of_time(length)
    return None if since is None else datetime.now(UTC) - since


_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_UNITS = {**TIMES, "w": 7 * TIMES["d"], "week": 7 * TIMES["d"], "weeks": 7 * TIMES["d"]}
_UNITS |= {word: TIMES[unit] for unit, words in TIME_WORDS.items() for word in words}


def length_of_time(text: str) -> timedelta | None:
    """The length that a text such as `90s`, `1.5h` or `2 days 3 hours` is; None where it is none."""
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text).strip() or any(unit.lower() not in _UNITS for _, unit in parts):
        return None
    with suppress(OverflowError):
        return timedelta(milliseconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))
    return None


def length_text(length: timedelta) -> str:
    """A length in the largest unit in which it is whole, as `length_of_time` takes it: `5 minutes`."""
    sizes = {word: timedelta(milliseconds=_UNITS[word]) for word in ("week", "day", "hour", "minute", "second")}
    for word, size in sizes.items():
        if length % size == timedelta(0):
            return f"{length // size} {word}{'' if length == size else 's'}"
    return f"{length / timedelta(milliseconds=1):.12g} milliseconds"
