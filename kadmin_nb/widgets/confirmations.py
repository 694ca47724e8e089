"""Confirmations: the fields in which dangerous keys are typed a second time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .controls import row, text


class Confirmations:
    """A field for each dangerous key. What is typed into them is allowed, and the executor judges it."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._fields: dict[str, Any] = {}
        self.widget = row()
        self.add(keys)

    def add(self, keys: Iterable[str]) -> None:
        """Ask for these keys too."""
        for key in keys:
            if key not in self._fields:
                self._fields[key] = text(key, width="24em", label="type again")
                self._fields[key].tooltip = f"type {key} to allow what is dangerous about it"
        self.widget.children = tuple(self._fields.values())

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def typed(self) -> list[str]:
        """The keys that were typed."""
        return [field.value.strip() for field in self._fields.values() if field.value.strip()]

    def type(self, key: str, text: str) -> None:
        """Fill the field of a key."""
        self._fields[key].value = text
