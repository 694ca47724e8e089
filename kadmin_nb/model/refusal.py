"""A broker's refusal of one row, or of a whole request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ..errors import KadminError, kind_of


@dataclass(frozen=True, slots=True)
class Refusal:
    """A broker's answer to one row: Kafka's name of the error and the broker's own words."""

    code: str
    message: str | None = None

    @property
    def kind(self) -> type[KadminError]:
        """The class of the error that says the same."""
        return kind_of(self.code)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes: plan files and journals hold refusals as text."""
        code, _, message = text.partition(": ")
        return cls(code, message or None)
