"""Verdicts: what a report looked at, check by check."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import NeedsLook, printable
from ..frames import schemas
from ..frames.answer import Tabular, findings_table
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..model.findings import OK, SKIPPED, WARNING, Coverage, Finding

if TYPE_CHECKING:
    from ..frames.blocks import Block

LOOK, NOT_LOOKED = "look", "not looked"
_WORDS = {OK: OK, WARNING: LOOK, SKIPPED: NOT_LOOKED}
"""The verdict of each severity."""


@dataclass(frozen=True, repr=False)
class Check(Display):
    """One check of a report, for its cell to show: its finding, and the rows."""

    finding: Finding
    found: Any = ()

    def _title(self) -> str:
        return f"{_WORDS[self.finding.severity]}: {self.finding.message}"

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The rows that somebody should look at."""
        if not len(self.found):
            return ()
        return self.found._blocks(page) if isinstance(self.found, Display) else map(printable, map(str, self.found))


class Verdicts(Tabular):
    """VERDICTS, as they come in."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def look(self, check: str, found: Sized, *, look: str, ok: str, coverage: Coverage | None = None) -> Check:
        """A check that should have found nothing; it shows its verdict and what it found.

        Parameters
        ----------
        check
            What was looked for.
        found
            The rows that somebody should look at.
        look
            What they mean.
        ok
            What it means that there are none.
        coverage
            How much of the whole was looked at; the verdict says what is not known.
        """
        severity, message = (WARNING, look) if len(found) else (OK, ok)
        if coverage is not None and coverage.not_known:
            message = f"{message.removesuffix('.')}{coverage.not_known}."
        self.findings.append(Finding(check, severity, message, evidence={"found": len(found)}, coverage=coverage))
        return Check(self.findings[-1], found)

    def pass_over(self, check: str, why: object) -> Check:
        """A check that was not made, and why."""
        self.findings.append(Finding(check, SKIPPED, printable(str(why))))
        return Check(self.findings[-1])

    def raise_for_looks(self) -> None:
        """Nothing where all is well.

        Raises
        ------
        NeedsLook
            Somebody should look: which checks say so.
        """
        bad = [finding.code for finding in self.findings if finding.severity == WARNING]
        if bad:
            raise NeedsLook(f"{len(bad)} of {len(self)} checks need{'s' * (len(bad) == 1)} a look: {', '.join(bad)}")

    def to_arrow(self) -> pa.Table:
        """VERDICTS."""
        verdicts = (finding.with_(verdict=_WORDS[finding.severity]) for finding in self.findings)
        return findings_table(schemas.VERDICTS, verdicts)

    def __len__(self) -> int:
        return len(self.findings)

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self.to_arrow()]
