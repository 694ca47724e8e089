"""The results of APPEND and SUBTRACT on a list, as the controller does it (kafka-facts 2.2).

Items are split on commas as Java does it: not trimmed, empty ones at the end dropped. Subtracting everything
stores an empty text, it does not delete.
"""

from __future__ import annotations


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
