"""FINDINGS as an answer: counted first, chosen by word or source, and made into wishes that a stage takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError, kind_of
from ..frames.answer import Answer
from ..frames.arrays import text_array, text_scalar
from ..frames.pages import NOTEBOOK, Page
from ..hints import did_you_mean
from ..model import rights
from ..model.changes import SET, Edit
from ..model.resources import Resource
from . import FINDINGS, LEFTOVER, THROTTLE, UNREAD

if TYPE_CHECKING:
    from ..frames.blocks import Block


_UNSURE = {LEFTOVER: THROTTLE}
"""The word of rows that are one of another word, for all that is known."""


class Findings(Answer):
    """FINDINGS. A row fails where something could not be read: what nobody saw is not in order.

    `note` says why it is not known whether throttles are needed, where a right is missing.
    """

    def __init__(self, table: pa.Table, note: str | None = None) -> None:
        super().__init__(table)
        self.note = note

    def only(self, *words: str, source: str | None = None) -> Findings:
        """Those of these words (`leftover`, `throttle`, `differs`, `repeats`, `default`, `unread`), of one source.

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
        asked = self._of(chosen)
        if source is not None:
            asked = asked.filter(pc.equal(asked["source"], text_scalar(source)))
        unsure = self._of({UNREAD, *(_UNSURE[word] for word in chosen if word in _UNSURE)} - {*chosen})
        return Findings(pa.concat_tables([asked, _without_mending(unsure)]), self.note)

    def _of(self, words: Iterable[str]) -> pa.Table:
        return self._table.filter(pc.is_in(self._table["finding"], text_array(words)))

    @property
    def counts(self) -> dict[tuple[str, str | None], int]:
        """Counts of each word and source."""
        pairs = zip(self._table["finding"].to_pylist(), self._table["source"].to_pylist(), strict=True)
        return dict(Counter(pairs))

    def edits(self) -> list[Edit]:
        """The lines that mend, for `stage.add`; a row without one is passed over."""
        return [_edit(row) for row in self._table.to_pylist() if row["op"]]

    def _failing(self) -> pa.Array:
        return pc.equal(self._table["finding"], text_scalar(UNREAD))

    def _error(self, row: dict[str, Any]) -> KadminError:
        needed = rights.to_describe(Resource(row["resource_type"], row["resource_name"]))
        return kind_of(row["error"])(row["message"], code=row["error"], hint=rights.hint(row["error"], needed))

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._brief()] if len(self) else []

    def title(self) -> str:
        words = Counter(self._table["finding"].to_pylist())
        return "\n".join(f"{count:,} {word}: {FINDINGS[word]}" for word, count in words.items()) or "nothing to look at"

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """The note, where there are rows that it is about."""
        return [self.note] if self.note and THROTTLE in self._table["finding"].to_pylist() else []

    def _brief(self) -> pa.Table:
        return self._table.select(["finding", "message", "source", "mend"])


def _edit(row: dict[str, Any]) -> Edit:
    resource = Resource(row["resource_type"], row["resource_name"])
    return Edit(row["op"], resource, row["key"], row["expected"] if row["op"] == SET else None, row["finding"])


def _without_mending(findings: pa.Table) -> pa.Table:
    """The same rows without the operation that mends, and its line."""
    for name in ("op", "mend"):
        place = findings.schema.get_field_index(name)
        field = findings.schema.field(place)
        findings = findings.set_column(place, field, pa.nulls(len(findings), field.type))
    return findings
