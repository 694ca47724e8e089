"""Finding: the answer of a rule about one thing, whatever the rule judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .changes import Change, Edit
    from .configurable import Configurable


Row = dict[str, Any]
"""Column names with their values."""


OK, WARNING, FAILED, UNKNOWN = "ok", "warning", "failed", "unknown"
"""The severities of findings: all is well; somebody should look; a rule is broken; nobody could see."""

ABSENT, SKIPPED = "absent", "skipped"
"""What a check is about is not there, and not needed; it was not made, as an earlier one failed."""

DANGER = "danger"
"""The severity of a finding about a row of a plan that has to be confirmed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: its `code`, how severe it is, about what, by which evidence, and the edit that fixes it.
    `mend` says in a line how to, whether an edit can or not.

    `target` is an entity, a resource, or the text of a place; None where it is about all of them, and then `key` is
    empty. `row` is the plan's row that it is about, the first of several; 0 without a plan. `evidence` has the further
    columns of its frame.
    """

    code: str
    severity: str
    message: str
    target: Configurable | str | None = None
    key: str = ""
    row: int = 0
    evidence: Mapping[str, Any] = field(default_factory=dict)
    edit: Edit | None = None
    mend: str | None = None

    @classmethod
    def about(cls, change: Change, severity: str, code: str, message: str) -> Finding:
        """A finding about a row of a plan."""
        return cls(code, severity, message, change.resource, change.key, change.row)

    def with_(self, **evidence: Any) -> Finding:
        """The same with this evidence beside its own."""
        return replace(self, evidence={**self.evidence, **evidence})

    @property
    def line(self) -> str:
        """Its message; that of a danger after its row and target."""
        return f"row {self.row}, {self.target} {self.key}: {self.message}" if self.severity == DANGER else self.message
