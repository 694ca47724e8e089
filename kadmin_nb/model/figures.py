"""Figures: how numbers, shares, lengths of time, sizes and times are written for people.

Thousands are separated, no number has an exponent, a space is before the unit. A measured number has three digits, one
that was set has all of them (`exact`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from .config_units import SIZES

SIZE_UNITS = {unit: size for unit, size in SIZES.items() if unit != "TiB"}
"""The units of bytes, and how many bytes each has."""

_TIMES = {"d": 86400, "h": 3600, "min": 60}


def digits(value: float) -> str:
    """A measured number in three digits: `0.125`, `12.5`, `12,300`."""
    return f"{float(f'{value:.3g}'):,.15g}"


def exact(value: float) -> str:
    """A number that was set: a whole one with all its digits, any other with six."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{float(f'{value:.6g}'):,.15g}"


def percent(value: float | None) -> str:
    """A number of percent: `12.5 %`."""
    return "" if value is None else f"{digits(value)} %"


def share(value: float | None) -> str:
    """A share of one in percent: 0.125 is `12.5 %`."""
    return "" if value is None else percent(value * 100)


def seconds(value: float | None) -> str:
    """A length of time, from two of a unit on in that unit: `0.25 s`, `90 s`, `2.5 min`, `3 h`."""
    if value is None:
        return ""
    unit = next((unit for unit, size in _TIMES.items() if value >= 2 * size), None)
    return f"{digits(value / _TIMES[unit])} {unit}" if unit else f"{digits(value)} s"


def milliseconds(value: float | None) -> str:
    """A length of time in milliseconds, from a second on in seconds."""
    if value is None:
        return ""
    return seconds(value / 1000) if value >= 1000 else f"{digits(value)} ms"


def size(value: float | None) -> str:
    """A measured number of bytes: `7.65 MB`."""
    return "" if value is None else exact_size(float(f"{value:.3g}"))


def exact_size(value: float) -> str:
    """A number of bytes in the largest decimal unit, or in the largest binary one where that is whole and shorter."""
    unit = _largest(("GB", "MB", "kB"), value) or "B"
    decimal = f"{_scaled(value, SIZE_UNITS[unit])} {unit}"
    binary = None if value % SIZE_UNITS["KiB"] else _largest(("GiB", "MiB", "KiB"), value)
    if binary and value % SIZE_UNITS[binary] == 0:
        return min(decimal, f"{value / SIZE_UNITS[binary]:,.0f} {binary}", key=len)
    return decimal


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit of all measured numbers of a column, its size, and the places that they have behind the point."""

    unit: str
    size: float
    places: int

    @classmethod
    def of(cls, units: Mapping[str, float], values: Iterable[float]) -> Scale:
        """The largest of these units that one of the values has; three digits of each value, or three places."""
        most = max(values := [abs(value) for value in values], default=0.0)
        *larger, smallest = units.items()
        unit, size = next((one for one in larger if most >= one[1] * (2 if one[0].strip() in _TIMES else 1)), smallest)
        places = {value: len(digits(value / size).partition(".")[2]) for value in (*values, most)}
        return cls(unit, size, max(places[most], min(max(places.values()), 3)))

    def text(self, value: float) -> str:
        """The value in the unit; of one that has no such places that it is less."""
        shown = f"{value / self.size:,.{self.places}f}"
        return f"{shown if not value or shown.strip('-0.') else f'<{10**-self.places:.{self.places}f}'}{self.unit}"


def moment(value: str | datetime | None) -> str:
    """A time in UTC, to the second, as a column has it: `2026-11-21 12:00:00`."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return str(value or "")[:19].replace("T", " ")


def utc(value: str | datetime | float) -> str:
    """A time as a sentence has it, which an option for a TIME takes: `2026-11-21 12:00:00Z`."""
    if isinstance(value, int | float):
        value = datetime.fromtimestamp(value, UTC)
    return f"{moment(value)}Z"


def _largest(units: Iterable[str], value: float) -> str | None:
    """The first of these units that the value has one of."""
    return next((unit for unit in units if value >= SIZE_UNITS[unit]), None)


def _scaled(value: float, size: int) -> str:
    """A whole number of bytes in a unit: exactly, where it is not a measured one, in six digits."""
    if not float(value).is_integer() or value >= 2**63:
        return exact(value / size)
    units, rest = divmod(int(value), size)
    return f"{units:,}.{str(size + rest)[1:].rstrip('0')}" if rest else f"{units:,}"
