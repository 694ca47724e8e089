"""One check of `doctor`: what was looked at, and how it went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    ABSENT = "absent"
    """Not there, and not needed: an extra that is not installed, a feature that was never set up."""

    SKIPPED = "skipped"
    """An earlier check failed, without which this one cannot be made."""


@dataclass(frozen=True, slots=True)
class Check:
    """One step: what was looked at, how it went, what was seen, what mends it."""

    check: str
    subject: str
    state: CheckState
    note: str
    mend: str | None = None
