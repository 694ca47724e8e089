"""The result of a command line that a test has run in its own process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandResult:
    """The exit code of a command line, and all that it printed."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that it printed, wherever."""
        return self.out + self.err
