"""Quota keys, their units, and the one parser of quota values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, Overflow

from ..errors import Invalid, UsageError
from .figures import SIZE_UNITS, exact, exact_size


@dataclass(frozen=True, slots=True)
class QuotaKey:
    """A quota key as the broker defines it. `kind` is LONG, INT or DOUBLE; `unit` is what a value counts.

    `entities` are the entity types it may be set on. All quotas hold per broker.
    """

    name: str
    kind: str
    unit: str
    entities: tuple[str, ...] = ("user", "client-id")


QUOTA_KEYS: tuple[QuotaKey, ...] = (
    QuotaKey("producer_byte_rate", "LONG", "bytes/s"),
    QuotaKey("consumer_byte_rate", "LONG", "bytes/s"),
    QuotaKey("request_percentage", "DOUBLE", "% of one thread"),
    QuotaKey("controller_mutation_rate", "DOUBLE", "mutations/s"),
    QuotaKey("connection_creation_rate", "INT", "connections/s", ("ip",)),
)
USER_CLIENT_KEYS: tuple[str, ...] = tuple(k.name for k in QUOTA_KEYS if "user" in k.entities)
IP_KEYS: tuple[str, ...] = tuple(k.name for k in QUOTA_KEYS if "ip" in k.entities)
QUOTA_KEY_NAMES = (*USER_CLIENT_KEYS, *IP_KEYS)

HEADS = {
    "producer_byte_rate": "producer",
    "consumer_byte_rate": "consumer",
    "request_percentage": "request %",
    "controller_mutation_rate": "mutations",
    "connection_creation_rate": "connections",
}
"""The keys as heads of columns and sentences say them."""

CALLBACK = "client.quota.callback.class"
"""The config by which a broker decides by a class of its own, and not by the levels."""

_KEYS = {key.name: key for key in QUOTA_KEYS}
_VALUE = re.compile(
    r"(?P<number>[+-]?[0-9._]+(?:[eE][+-]?[0-9]+)?|nan|[+-]?inf(?:inity)?)\s*(?P<unit>[A-Za-z]*|%)(?P<rate>/s)?", re.I
)
_MAX_VALUES = {"LONG": 2.0**63, "INT": 2.0**31 - 1}


def on_all_brokers(key: str, value: float, brokers: int) -> float:
    """The value of a quota on all brokers together; mutations are counted once, by the active controller."""
    return value if key == "controller_mutation_rate" else value * brokers


def find(name: str) -> QuotaKey | None:
    """The key of that name, None when this version does not know it."""
    return _KEYS.get(name)


def parse_value(key: str, value: object) -> float:
    """The number to store for `key`, from a number or a text such as `10MB/s`, `50%`, `1_000`.

    Raises
    ------
    UsageError
        Not a number, or a unit that does not fit the key.
    Invalid
        NaN, an infinity, zero, a negative, a fraction where Kafka wants an integer, or too large.
        Brokers let NaN and Infinity pass (kafka-facts 1.4); we do not.
    """
    number = _parse_number(key, value)
    spec = find(key)
    if not math.isfinite(number):
        raise Invalid(f"{key} cannot be {_shown(key, value)}: not a finite number")
    if number <= 0:
        raise Invalid(
            f"{key} cannot be {_shown(key, value)}: a quota must be greater than 0", hint="To lift a quota, remove it."
        )
    if spec and spec.kind != "DOUBLE" and not number.is_integer():
        raise Invalid(f"{key} cannot be {_shown(key, value)}: Kafka wants whole {spec.unit}")
    if spec and number > _MAX_VALUES.get(spec.kind, math.inf):
        raise Invalid(f"{key} cannot be {_shown(key, value)}: too large for a {spec.kind}")
    return number


def _shown(key: str, value: object) -> object:
    """The value of a key that counts something; any other may be a secret, set on the wrong thing."""
    return value if find(key) else "…"


def _parse_number(key: str, value: object) -> float:
    if isinstance(value, bool | bytes) or value is None:
        raise UsageError(f"the value of {key} is not a number")
    if not isinstance(value, str):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise UsageError(f"the value of {key} is not a number") from None
    match = _VALUE.fullmatch(value.strip())
    if match is None:
        raise UsageError(f"{key}={_shown(key, value)} is not a number", hint="For example 5MB/s, 50% or 10/s.")
    factor = _factor(key, match["unit"], match["rate"])
    try:
        return float(Decimal(match["number"].replace("_", "")) * factor)
    except Overflow:
        return math.inf
    except InvalidOperation:
        raise UsageError(f"{key}={_shown(key, match['number'])} is not a number") from None


def _factor(key: str, unit: str, rate: str | None) -> int:
    """The factor of `unit` for this key; a unit that does not fit is refused."""
    spec = find(key)
    counts = spec.unit if spec else "a number"
    if unit == "%" and counts.startswith("%") and not rate:
        return 1
    if unit in SIZE_UNITS and counts == "bytes/s":
        return SIZE_UNITS[unit]
    if not unit and (not rate or counts.endswith("/s")):
        return 1
    fits = {"bytes/s": "kB, MB, GB, KiB, MiB, GiB, each with or without /s", "% of one thread": "%"}
    raise UsageError(
        f"{_shown(key, unit + (rate or ''))} does not fit {key}, which counts {counts}",
        hint=f"It takes {fits.get(counts, 'a plain number')}.",
    )


def text_of(value: float) -> str:
    """A quota value as text: `1000000`, `12.5`; it parses back to the same number."""
    is_long = float(value).is_integer() and abs(value) < 2**63
    return str(int(value)) if is_long else repr(float(value))


def readable(key: str, value: float) -> str:
    """A quota value for people, whole numbers exactly: `1 MB/s`, `64 KiB/s`, `50 %`, `12.5/s`."""
    spec = find(key)
    if spec is None or not math.isfinite(value):
        return text_of(value)
    if spec.unit == "bytes/s":
        return f"{exact_size(value)}/s"
    return f"{exact(value)} %" if spec.unit.startswith("%") else f"{exact(value)}/s"


def typed(key: str, value: float) -> str:
    """A quota value as one would type it: `5MB/s`, `50%`; it parses back to the same number."""
    text = readable(key, value).replace(" ", "").replace(",", "")
    return text if parse_value(key, text) == value else text_of(value)


def rounded(key: str, value: float) -> str:
    """A measured value of a quota's key for people, in three digits: `7.65 MB/s`."""
    return readable(key, float(f"{value:.3g}"))
