"""The units of config keys: a number with a unit as the plain number, and the plain number as people read it.

Kafka's keys say what they count in their last word: `retention.ms`, `segment.bytes`. Brokers store plain numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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

_COUNTED = {"ms": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}
"""The milliseconds in one of what a key counts."""

_NUMBER = re.compile(r"(?P<number>[+-]?[0-9][0-9_]*(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*(?:/s)?)")


def comma_hint(text: str) -> str | None:
    """A hint for a number with commas, with the number that was probably meant; None for any other text.

    Examples
    --------
    >>> comma_hint("1,5MB")
    'Did you mean 1.5MB? Decimals have a point; thousands have no comma.'
    """
    text = text.strip()
    if "," not in text or not text[:1].isdigit():
        return None
    meant = text.replace(",", "." if text.count(",") == 1 else "")
    return f"Did you mean {meant}? Decimals have a point; thousands have no comma."


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
        raise UsageError(f"{text} is not a number", hint=comma_hint(text))
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
    """A hint for a number with a comma, or with a unit that the key does not take; None for other texts.

    Examples
    --------
    >>> units_hint("retention.ms", "7days")
    'retention.ms takes ms, s, min, h, d.'
    """
    match, units = _NUMBER.fullmatch(text.strip()), units_of(key)
    if match is None or not units:
        return comma_hint(text) if units else None
    return None if match["unit"] in units or not match["unit"] else f"{key} takes {_listed(units)}."


def _listed(units: Mapping[str, int]) -> str:
    """The units in words, those of a rate once."""
    return f"{', '.join(SIZES)}, each with or without /s" if units is _RATES else ", ".join(units)


TIME_WORDS = {
    "ms": ("millisecond", "milliseconds"),
    "s": ("sec", "secs", "second", "seconds"),
    "min": ("m", "mins", "minute", "minutes"),
    "h": ("hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
}
"""Units of time as others write them."""


def with_unit(key: str, text: str) -> str:
    """A config's value with the same in a larger unit beside it: `604800000 (7 d)`; any other value as it is.

    Examples
    --------
    >>> with_unit("retention.ms", "604800000"), with_unit("segment.bytes", "1073741824"), with_unit("acks", "all")
    ('604800000 (7 d)', '1073741824 (1 GiB)', 'all')
    """
    word = _last_word(key)
    if word not in ("bytes", *_COUNTED) or not text.isascii() or not text.isdigit() or len(text) > 19:
        return text
    number = int(text)
    larger = "no limit" if number == UNLIMITED else size(number) if word == "bytes" else duration(number, word)
    return f"{text} ({larger})" if larger else text


def duration(number: int, counted: str = "ms") -> str:
    """A whole number of ms, seconds, minutes or hours in a larger unit; empty where none is shorter."""
    milliseconds = number * _COUNTED[counted]
    return _in_largest(milliseconds, {unit: size for unit, size in TIMES.items() if size > _COUNTED[counted]})


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
    return "bytes/s" if key.endswith(_BYTE_RATES) else _last_word(key)


def _last_word(key: str) -> str:
    return key.rpartition(".")[2]
