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
from . import FINDINGS, UNREAD

if TYPE_CHECKING:
    from ..frames.blocks import Block


class Findings(Answer):
    """FINDINGS. A row fails where something could not be read: what nobody saw is not in order."""

    def only(self, *words: str, source: str | None = None) -> Findings:
        """Those of these words (`leftover`, `throttle`, `differs`, `repeats`, `default`, `unread`), of one source.

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
        table = self._table.filter(pc.is_in(self._table["finding"], text_array(words or FINDINGS)))
        return Findings(table if source is None else table.filter(pc.equal(table["source"], source)))

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

    def _brief(self) -> pa.Table:
        return self._table.select(["finding", "message", "source", "mend"])


def _edit(row: dict[str, Any]) -> Edit:
    resource = Resource(row["resource_type"], row["resource_name"])
    return Edit(row["op"], resource, row["key"], row["expected"] if row["op"] == SET else None, row["finding"])
