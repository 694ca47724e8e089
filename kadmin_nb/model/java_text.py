"""What Kafka's own programs print and take in: texts as Java reads and writes them, and their entity types."""

from __future__ import annotations

import re
from decimal import Decimal

BLANKS = "".join(map(chr, range(0x21)))
"""The characters that Java's `String.trim` takes away: blanks, and all controls."""


def trimmed(text: str) -> str:
    """`text` without the blanks and controls at its ends: Java's `String.trim`."""
    return text.strip(BLANKS)


_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def parse_double(text: str) -> float | None:
    """The decimal number in a text, as `Double.parseDouble` reads it, `5e6` and `5.0d` too; None of any other text."""
    number = trimmed(text)
    number = number[:-1] if number[-1:] in ("d", "D", "f", "F") else number
    return float(number) if _DOUBLE.fullmatch(number) else None


def double_text(value: float) -> str:
    """A number as `Double.toString` writes it: `5000000.0`, `4.0E7`, `1.0E-4`."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(repr(value)), "f") if "e" in repr(value) else repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    places = len(digits) - 1 + int(exponent)
    first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{first}.{rest}E{places}"


CONFIG_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "broker-loggers": "broker-logger",
    "client-metrics": "client-metrics",
    "groups": "group",
}
"""`--entity-type` of what has configs, and the word of its resource."""

QUOTA_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
"""`--entity-type` of what has quotas, and its entity type of KIP-546."""

ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
"""All of them, in the order in which the tool lists them."""


def singular(entity_type: str) -> str:
    """The type without its last letter, as the tool prints it: `topic`; of client-metrics too: `client-metric`."""
    return entity_type[:-1]
