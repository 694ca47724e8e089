"""The results of APPEND and SUBTRACT on a list, as the controller does it (kafka-facts 2.2).

Items are split on commas as Java does it: not trimmed, empty ones at the end dropped. Subtracting everything
stores an empty text, it does not delete.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.config_units import decimal_of


def append(stored: str | None, items: str) -> str:
    """The stored list with the items that it lacks at its end."""
    result = _items(stored)
    for item in _split(items):
        if item not in result:
            result.append(item)
    return ",".join(result)


def subtract(stored: str | None, items: str) -> str:
    """The stored list without the first copy of each item."""
    result = _items(stored)
    for item in _split(items):
        if item in result:
            result.remove(item)
    return ",".join(result)


def _split(items: str) -> list[str]:
    """Java's `split(",")`: a text without a comma is one item, even an empty one."""
    return items.rstrip(",").split(",") if items.strip(",") or not items else []


def _items(stored: str | None) -> list[str]:
    return [item for item in (stored or "").split(",") if item]


def same(left: str | None, right: str | None, kind: str | None) -> bool:
    """True if both are one value of Kafka's type `kind`; None is only the same as None.

    A broker stores a value as it was sent and describes it as it was read: ` 0100` is described as `100`,
    `compact, delete` as `compact,delete`, `TRUE` as `true`.
    """
    if left == right or left is None or right is None:
        return left == right
    read = _READERS.get(kind or "", str)
    return read(left) == read(right)


_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(
        ("INT", "SHORT", "LONG", "DOUBLE"), lambda text: text if (number := decimal_of(text)) is None else number
    ),
    "LIST": lambda text: [item.strip() for item in text.split(",")],
    "BOOLEAN": lambda text: text.strip().lower(),
    **dict.fromkeys(("STRING", "CLASS"), str.strip),
}
