"""The clients near a limit or over it: the rows of UTILISATION that somebody should look at, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames import meanings, schemas
from ..frames.answer import Answer
from ..frames.pages import NOTEBOOK, Page
from ..frames.relational import in_arrow, taken, where, words_of
from ..model.quota_keys import readable
from .rules import WHY_UNKNOWN

if TYPE_CHECKING:
    from ..frames.blocks import Block

NEAR_PERCENT = 80.0
"""Percent of a limit from which on its bucket is near it."""


class NearAnswer(Answer):
    """NEAR: a row a bucket and broker, the worst first. `limits` is how many were looked at, `unknown` of how many of
    them it is unknown how much was used, in full or in part."""

    def __init__(self, table: pa.Table, limits: int = 0, percent: float = NEAR_PERCENT, unknown: int = 0) -> None:
        super().__init__(table)
        self.limits, self.percent, self.unknown = limits, percent, unknown

    def title(self) -> str:
        """Their number, and the worst of them."""
        if not self.limits:
            return "Nobody of this usage has a limit."
        if not len(self):
            known = self.limits - self.unknown
            return f"None of {known:,} limits was used to {self.percent:g} %, and nobody was throttled."
        over = pc.sum(pc.greater(self._table["utilisation"], 100)).as_py() or 0
        (worst,) = self._table.slice(0, 1).to_pylist()
        counts = f"{len(self):,} of {self.limits:,} limits are near or over, {over:,} of them over"
        return f"{counts}. The worst: {_bucket_sentence(worst)}."

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        """That the use of some limits is unknown."""
        if self.unknown:
            yield f"The use of {self.unknown:,} of {self.limits:,} limits is not known in full. {WHY_UNKNOWN}"


def near(utilisation: Any, percent: float = NEAR_PERCENT) -> NearAnswer:
    """NEAR out of UTILISATION: who used so many percent of a limit in a window, or was throttled."""
    rows = taken(utilisation, schemas.UTILISATION.names, "the rows of utilisation")
    words = words_of(rows)
    limited = in_arrow(where(rows, ~words.is_null(words.column("limit"))), task="Spark counts the utilisation")
    is_full = pc.greater_equal(limited["utilisation"], percent)
    is_near = pc.or_(pc.fill_null(is_full, False), pc.fill_null(pc.greater(limited["throttle_ms"], 0), False))
    order = [("utilisation", "descending"), ("throttle_ms", "descending"), ("broker", "ascending")]
    nearest = limited.filter(is_near).sort_by(order).select(schemas.NEAR.names).cast(schemas.NEAR.schema)
    unknown = pc.sum(pc.greater(limited["windows_unknown"], 0)).as_py() or 0
    return NearAnswer(schemas.marked(nearest, limited.schema.metadata), len(limited), percent, unknown)


def _bucket_sentence(row: Mapping[str, Any]) -> str:
    """One row in words: whose bucket, the key, and how much of how much."""
    parts = (("user", row["bucket_user"]), ("client-id", row["bucket_client_id"]))
    whose = " ".join(f"{kind}={name}" for kind, name in parts if name)
    used = meanings.measured(row["key"], row["peak"], row["windows_unknown"])
    limit = readable(row["key"], row["limit"])
    share = "" if row["utilisation"] is None else f" ({row['utilisation']:.3g} %)"
    return f"{whose} {row['key']} {used} of {limit}{share} on broker {row['broker']}"
