"""Finding: the answer of a rule about one thing, whatever the rule judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .changes import Change
    from .configurable import Configurable

DANGER, WARNING = "danger", "warning"
"""The severities of findings about a plan: a danger has to be confirmed, a warning is only shown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: its `code`, how severe it is, and about what.

    `target` is an entity or a resource, or its text where it came out of a file; None where it is about all of them,
    and then `key` is empty and `row` 0. `row` is the plan's row that it is about, the first of several.
    """

    code: str
    severity: str
    message: str
    target: Configurable | str | None = None
    key: str = ""
    row: int = 0

    @classmethod
    def about(cls, change: Change, severity: str, code: str, message: str) -> Finding:
        """A finding about a row of a plan."""
        return cls(code, severity, message, change.resource, change.key, change.row)

    @property
    def line(self) -> str:
        """Its message; that of a danger after its row and target."""
        return f"row {self.row}, {self.target} {self.key}: {self.message}" if self.severity == DANGER else self.message
