"""Findings as an answer: the frame that is their view, those of them that fail, and the edits that fix them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from copy import copy
from operator import attrgetter
from typing import Self

import pyarrow as pa

from ..model.changes import Edit
from ..model.findings import FAILED, UNKNOWN, Finding
from . import schemas
from .answer import Answer
from .frame import Frame
from .schema_metadata import stamped


def _target(finding: Finding) -> str | None:
    return None if finding.target is None else str(finding.target)


_COLUMNS: dict[str, Callable[[Finding], object]] = {
    **dict.fromkeys(("danger", "warning", "finding", "rule", "check"), attrgetter("code")),
    **dict.fromkeys(("resource", "entity", "subject"), _target),
    "resource_type": attrgetter("target.type"),
    "resource_name": attrgetter("target.name"),
    "level": attrgetter("target.level"),
    "key": lambda finding: finding.key or None,
    "row": lambda finding: finding.row or None,
    **dict.fromkeys(("message", "reason", "note", "says"), attrgetter("message")),
    "state": attrgetter("severity"),
    "mend": attrgetter("mend"),
    "op": lambda finding: None if finding.edit is None else finding.edit.op,
}
"""The columns that show a field of a finding; a column that is not here shows its evidence of that name."""


def row_of(finding: Finding, names: Iterable[str]) -> dict[str, object]:
    """These columns of a finding; null where it says nothing about one."""
    evidence = finding.evidence
    return {n: evidence.get(n) if n in evidence or n not in _COLUMNS else _COLUMNS[n](finding) for n in names}


def findings_table(schema: type[Frame] | pa.Schema, findings: Iterable[Finding]) -> pa.Table:
    """The view of findings with these columns."""
    return schemas.table(schema, (row_of(finding, schema.names) for finding in findings))


class Findings(Answer):
    """Findings of rules, as the frame with the columns of `schema`; one that failed or could not be judged fails."""

    schema: type[Frame] | pa.Schema
    failing: Collection[str] = (FAILED, UNKNOWN)
    """The severities that fail."""

    def __init__(self, findings: Iterable[Finding], cluster_id: str | None = None) -> None:
        self.findings = tuple(findings)
        table = findings_table(self.schema, self.findings)
        super().__init__(table if cluster_id is None else stamped(table, cluster_id))

    def of(self, findings: Iterable[Finding]) -> Self:
        """The same answer with these of its findings."""
        answer = copy(self)
        answer.findings = tuple(findings)
        answer._table = findings_table(self._table.schema, answer.findings)
        return answer

    @property
    def failed(self) -> Self:
        """The findings that fail."""
        return self.of(finding for finding in self.findings if finding.severity in self.failing)

    def edits(self) -> list[Edit]:
        """The edits that fix them, for `stage.add`; a finding without one is passed over."""
        return [finding.edit for finding in self.findings if finding.edit]
