"""Units: of config keys, a number with a unit as the plain number and the plain number as people read it; and of times.

Kafka's keys say what they count in their last word: `retention.ms`, `segment.bytes`. Brokers store plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation

from ..errors import Invalid, UsageError

TIMES = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
UNLIMITED = 2**63 - 1
"""Java's longest number, by which Kafka's own defaults mean no limit."""

_RATES = {**SIZES, **{f"{unit}/s": size for unit, size in SIZES.items()}}
_TAKEN = {"ms": TIMES, "bytes": SIZES, "bytes/s": _RATES}
"""The units that a key takes, by what it counts."""

_BYTE_RATES = ("replication.throttled.rate", ".bytes.per.second")
"""The ends of the keys that count bytes per second."""

COUNTED = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}
"""The milliseconds in one of what a key counts."""

_NUMBER = re.compile(r"(?P<number>[+-]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*(?:/s)?)")


def units_of(key: str) -> Mapping[str, int]:
    """The units that a key takes, each with its size."""
    return _TAKEN.get(_counted(key), {})


def refuse_other_than_number(key: str, text: str) -> None:
    """Refuse what is not a number, with a unit that fits the key.

    Raises
    ------
    UsageError
        Not a number, or a unit that does not fit.
    """
    if _NUMBER.fullmatch(text.strip()) is None:
        raise UsageError(f"{text} is not a number")
    if hint := units_hint(key, text):
        raise UsageError(f"{text.strip()} does not fit {key}", hint=hint)


def exact_number(text: str | None) -> Decimal | None:
    """The number that a stored text is, None where it is none. A float takes neighbours among large longs as equal."""
    number = decimal_of(text or "")
    return number if number is not None and number.is_finite() else None


def decimal_of(text: str) -> Decimal | None:
    """The number that a text is, NaN and the infinities among them; None where it is none."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def stored_text(key: str, text: str) -> str:
    """The text that brokers store for a config: a number with a unit as the plain number, any other text as it is.

    Raises
    ------
    Invalid
        The number is not a whole one of what the key counts.

    Examples
    --------
    >>> stored_text("retention.ms", "7d"), stored_text("segment.bytes", "1GiB"), stored_text("retention.ms", "-1")
    ('604800000', '1073741824', '-1')
    >>> stored_text("leader.replication.throttled.rate", "100kB/s")
    '100000'
    """
    match = _NUMBER.fullmatch(text.strip())
    factor = units_of(key).get(match["unit"]) if match else None
    if match is None or factor is None:
        return text
    number = Decimal(match["number"].replace("_", "")) * factor
    if number != number.to_integral_value():
        raise Invalid(f"{key} cannot be {text}: that is {plain(number)}, not a whole number of {_counted(key)}")
    return str(int(number))


def units_hint(key: str, text: str) -> str | None:
    """A hint for a number with a unit that the key does not take; None for other texts.

    Examples
    --------
    >>> units_hint("retention.ms", "7days")
    'retention.ms takes ms, s, min, h, d.'
    """
    match, units = _NUMBER.fullmatch(text.strip()), units_of(key)
    if match is None or not units or not match["unit"] or match["unit"] in units:
        return None
    return f"{key} takes {_listed(units)}."


def _listed(units: Mapping[str, int]) -> str:
    """The units in words, those of a rate once."""
    return f"{', '.join(SIZES)}, each with or without /s" if units is _RATES else ", ".join(units)


def with_unit(key: str, text: str) -> str:
    """A config's value with the same in a larger unit beside it: `604800000 (7 d)`; any other value as it is.

    Examples
    --------
    >>> with_unit("retention.ms", "604800000"), with_unit("segment.bytes", "1073741824"), with_unit("acks", "all")
    ('604800000 (7 d)', '1073741824 (1 GiB)', 'all')
    """
    word = last_word(key)
    if word not in ("bytes", *COUNTED) or not text.isascii() or not text.isdigit() or len(text) > 19:
        return text
    number = int(text)
    larger = "no limit" if number == UNLIMITED else size(number) if word == "bytes" else duration(number, word)
    return f"{text} ({larger})" if larger else text


def duration(number: int, counted: str = "ms") -> str:
    """A whole number of ms, seconds, minutes or hours in a larger unit; empty where none is shorter."""
    milliseconds = number * COUNTED[counted]
    return _in_largest(milliseconds, {unit: size for unit, size in TIMES.items() if size > COUNTED[counted]})


def size(number: int) -> str:
    """A whole number of bytes in a larger unit, of which 1024 are the next; empty below one of them."""
    return _in_largest(number, {unit: SIZES[unit] for unit in ("KiB", "MiB", "GiB", "TiB")})


def _in_largest(number: int, units: Mapping[str, int]) -> str:
    unit = next((unit for unit in reversed([*units]) if number >= units[unit]), None)
    if unit is None:
        return ""
    hundredths, beyond = divmod(number * 100, units[unit])
    hundredths += beyond * 2 > units[unit]
    return f"{'about ' if beyond else ''}{plain(Decimal(hundredths).scaleb(-2))} {unit}"


def plain(number: Decimal) -> str:
    """A decimal without an exponent, and without zeros at its end."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _counted(key: str) -> str:
    """What a key counts: `bytes/s`, or its last word."""
    return "bytes/s" if key.endswith(_BYTE_RATES) else last_word(key)


def last_word(key: str) -> str:
    """The word that says what a key counts: `ms` of `retention.ms`."""
    return key.rpartition(".")[2]


# -- times and lengths of time, as people write them

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
_LENGTHS = {**TIMES, "w": 7 * TIMES["d"]}
_WORDS = {"ms": "millisecond", "s": "sec second", "min": "m min minute", "h": "hr hour", "d": "day", "w": "week"}
"""Units of time as others write them, in the singular."""
_UNITS = {f"{word}{s}": _LENGTHS[unit] for unit, words in _WORDS.items() for word in words.split() for s in ("", "s")}
_UNITS |= _LENGTHS


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
