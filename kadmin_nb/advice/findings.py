"""FINDINGS as an answer: counted first, and chosen by word or source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, UsageError, kind_of
from ..frames import schemas
from ..frames.answer import Findings
from ..frames.blocks import NOTEBOOK, Page
from ..hints import did_you_mean
from ..model import rights
from ..model.findings import Finding
from ..model.resources import Resource
from . import FINDINGS, LEFTOVER, THROTTLE, UNREAD

if TYPE_CHECKING:
    from ..frames.blocks import Block


_UNSURE = {LEFTOVER: THROTTLE}
"""The word of rows that are one of another word, for all that is known."""


class ConfigFindings(Findings):
    """FINDINGS. A row fails where something could not be read: what nobody saw is not in order.

    `note` says why it is not known whether throttles are needed, where a right is missing.
    """

    schema = schemas.FINDINGS

    def __init__(self, found: Iterable[Finding], cluster_id: str | None = None, note: str | None = None) -> None:
        super().__init__(found, cluster_id)
        self.note = note

    def only(self, *words: str, source: str | None = None) -> ConfigFindings:
        """Those of these words (`leftover`, `throttle`, `differs`, `repeats`, `default`, `clamped`, `ineffective`,
        `unread`), of one source.

        What could not be read stays, and beside `leftover` each throttle of which nobody knows whether it is one,
        without an operation that mends: what nobody saw is not in order.

        Raises
        ------
        UsageError
            A word that no finding has.
        """
        for word in words:
            if word not in FINDINGS:
                raise UsageError(
                    f"unknown finding {word}", hint=did_you_mean(word, FINDINGS, f"One of {', '.join(FINDINGS)}.")
                )
        chosen = words or tuple(FINDINGS)
        asked = [f for f in self.findings if f.code in chosen and source in (None, f.evidence.get("source"))]
        unsure = {UNREAD, *(_UNSURE[word] for word in chosen if word in _UNSURE)} - {*chosen}
        not_fixed = (replace(f, edit=None, mend=None) for f in self.findings if f.code in unsure)
        return self.of([*asked, *not_fixed])

    @property
    def counts(self) -> dict[tuple[str, str | None], int]:
        """Counts of each word and source."""
        return dict(Counter((finding.code, finding.evidence.get("source")) for finding in self.findings))

    def _error(self, row: dict[str, Any]) -> KadminError:
        needed = rights.to_describe(Resource(row["resource_type"], row["resource_name"]))
        return kind_of(row["error"])(row["message"], code=row["error"], hint=rights.hint(row["error"], needed))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table.select(["finding", "message", "source", "coverage", "mend"])] if len(self) else []

    def _title(self) -> str:
        words = Counter(finding.code for finding in self.findings)
        return "\n".join(f"{count:,} {word}: {FINDINGS[word]}" for word, count in words.items()) or "nothing to look at"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The note, where there are rows that it is about."""
        return [self.note] if self.note and any(finding.code == THROTTLE for finding in self.findings) else []
