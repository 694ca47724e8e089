"""FINDINGS as an answer: counted first, and chosen by word or source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

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


class Audit(Findings):
    """FINDINGS of one audit, counted by their word. A row fails where something could not be read."""

    schema = schemas.FINDINGS
    words: Mapping[str, str]
    """The words of its findings, and what each means."""

    def only(self, *words: str) -> Self:
        """Those of these words.

        Raises
        ------
        UsageError
            A word that no finding has.
        """
        self._refuse_unknown(words)
        return self.of(finding for finding in self.findings if not words or finding.code in words)

    def _refuse_unknown(self, words: Iterable[str]) -> None:
        for word in words:
            if word not in self.words:
                one_of = f"One of {', '.join(self.words)}."
                raise UsageError(f"unknown finding {word}", hint=did_you_mean(word, self.words, one_of))

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table.select(["finding", "message", "source", "coverage", "fix"])] if len(self) else []

    def _title(self) -> str:
        counts = Counter(finding.code for finding in self.findings)
        return (
            "\n".join(f"{count:,} {word}: {self.words[word]}" for word, count in counts.items()) or "nothing to look at"
        )


class ConfigFindings(Audit):
    """FINDINGS of configs. `note` says why it is not known whether throttles are needed, where a right is missing."""

    words = FINDINGS

    def __init__(self, found: Iterable[Finding], cluster_id: str | None = None, note: str | None = None) -> None:
        super().__init__(found, cluster_id)
        self.note = note

    def only(self, *words: str, source: str | None = None) -> Self:
        """Those of these words (`leftover`, `throttle`, `differs`, `repeats`, `default`, `clamped`, `ineffective`,
        `unread`), of one source.

        What could not be read stays, and beside `leftover` each throttle of which nobody knows whether it is one,
        without an operation that fixes it: what nobody saw is not in order.

        Raises
        ------
        UsageError
            A word that no finding has.
        """
        self._refuse_unknown(words)
        chosen = words or tuple(FINDINGS)
        asked = [f for f in self.findings if f.code in chosen and source in (None, f.evidence.get("source"))]
        unsure = {UNREAD, *(_UNSURE[word] for word in chosen if word in _UNSURE)} - {*chosen}
        not_fixed = (replace(f, edit=None, further=(), fix=None) for f in self.findings if f.code in unsure)
        return self.of([*asked, *not_fixed])

    @property
    def counts(self) -> dict[tuple[str, str | None], int]:
        """Counts of each word and source."""
        return dict(Counter((finding.code, finding.evidence.get("source")) for finding in self.findings))

    def _error(self, row: dict[str, Any]) -> KadminError:
        needed = rights.to_describe(Resource(row["resource_type"], row["resource_name"]))
        return kind_of(row["error"])(row["message"], code=row["error"], hint=rights.hint(row["error"], needed))

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The note, where there are rows that it is about."""
        return [self.note] if self.note and any(finding.code == THROTTLE for finding in self.findings) else []
