"""A call of the port, as the schedule of faults sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


class Crash(BaseException):
    """The process is gone; nothing in the program may catch it."""


@dataclass(frozen=True)
class Call:
    """One request: its number from 1, what it does, to which broker, and how it is carried out there.

    `parts` are what an altering request is about, by entity or resource; `carry_out` takes those that shall be done.
    """

    number: int
    verb: str
    node: int
    timeout: float
    carry_out: Callable[[Mapping[Any, Any]], Any]
    parts: Mapping[Any, Any]
    validate_only: bool = False

    @property
    def alters(self) -> bool:
        """Whether it may change something."""
        return self.verb.startswith("alter") and not self.validate_only

    def __str__(self) -> str:
        return f"#{self.number} {'validate' if self.validate_only else ''}{self.verb} on {self.node}"
