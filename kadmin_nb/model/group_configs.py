"""Configs of groups: the type of group that a key is of, and the bounds of the brokers within which it applies.

A broker refuses a value beyond its bounds. One that was stored before the bounds changed stays stored and shown; from
Kafka 4.3 on (KIP-1240) the broker applies the nearest value within them, and until it is changed refuses every other
change of that group, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from .config_fallback import BROKER_KEYS
from .config_units import exact_number
from .config_values import BrokerConfigs

FAMILIES = ("consumer", "share", "streams")
"""The types of groups that have configs; a classic group has none."""

_STANDBYS = "streams.num.standby.replicas"
_MOST_STANDBYS = "group.streams.max.standby.replicas"

CLAMPING = "group.share.max.delivery.count.limit"
"""A key that brokers have if they clamp (KIP-1240)."""


def has_effect(key: str, group_type: str | None) -> bool | None:
    """Does a key have an effect on a group of that type? None where the type is not known."""
    return None if group_type is None else key.partition(".")[0] == group_type


def bounds(key: str) -> tuple[str | None, str | None]:
    """The brokers' keys with the least and the most that a key of groups may be; both None for a key without bounds."""
    if key == _STANDBYS:
        return None, _MOST_STANDBYS
    family, _, rest = key.partition(".")
    if family not in FAMILIES or key not in BROKER_KEYS["GROUP"]:
        return None, None
    return f"group.{family}.min.{rest}", f"group.{family}.max.{rest}"


BOUND_KEYS = (CLAMPING, *sorted({bound for key in BROKER_KEYS["GROUP"] for bound in bounds(key) if bound}))
"""All configs of brokers that bound a key of groups."""


@dataclass(frozen=True, slots=True)
class Clamped:
    """The value that a broker applies in place of the stored one, and its config that says so."""

    broker: str
    applied: str
    bound: str


def clamped(key: str, stored: str | None, brokers: BrokerConfigs) -> list[Clamped]:
    """The brokers that apply another value than the stored one; none where that is not known."""
    number = exact_number(stored)
    if number is None or not brokers.of_each(CLAMPING):
        return []
    least, most = bounds(key)
    found = {}
    for bound, is_beyond in ((least, number.__lt__), (most, number.__gt__)):
        for name, value in brokers.of_each(bound or "").items():
            limit = exact_number(value.text)
            if bound and limit is not None and is_beyond(limit):
                found[name] = Clamped(name, str(value.text), bound)
    return [found[name] for name in sorted(found)]


def applied(key: str, stored: str | None, group_type: str | None, brokers: BrokerConfigs) -> str | None:
    """The value that all brokers apply; None of a key without effect on the type, and where brokers differ
    or their bounds could not be read."""
    if has_effect(key, group_type) is False:
        return None
    if brokers.unread:
        return None
    changed = {one.broker: one.applied for one in clamped(key, stored, brokers)}
    texts = {changed.get(broker, stored) for broker in brokers.names}
    return texts.pop() if len(texts) == 1 else None
