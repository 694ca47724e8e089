"""Two texts that Kafka reads as the same value.

A broker stores a value as it was sent and describes it as it was read: ` 0100` is described as `100`,
`compact, delete` as `compact,delete`, `TRUE` as `true`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model.config_units import decimal_of


def same(left: str | None, right: str | None, kind: str | None) -> bool:
    """True if both are one value of Kafka's type `kind`; None is only the same as None."""
    if left == right or left is None or right is None:
        return left == right
    read = _READERS.get(kind or "", str)
    return read(left) == read(right)


def _number_or_text(text: str) -> object:
    number = decimal_of(text)
    return text if number is None else number


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",")]


_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("INT", "SHORT", "LONG", "DOUBLE"), _number_or_text),
    "LIST": _items,
    "BOOLEAN": lambda text: text.strip().lower(),
    **dict.fromkeys(("STRING", "CLASS"), str.strip),
}
