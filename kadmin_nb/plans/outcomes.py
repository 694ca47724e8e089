"""Outcomes: what became of every row of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import PartlyFailed
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.stamps import stamped
from ..model.changes import FAILED, UNCHANGED, VERIFIED, Outcome
from .plan import Plan, columns_of


class Outcomes(Answer):
    """OUTCOMES as a frame. A row is good when it was verified on every broker, or was so before."""

    def __init__(self, table: pa.Table, plan_id: str = "") -> None:
        super().__init__(table)
        self.plan_id = plan_id or (table.schema.metadata or {}).get(b"kadmin.plan_id", b"").decode()

    @classmethod
    def of(cls, plan: Plan, outcomes: list[Outcome]) -> Outcomes:
        """The frame of these outcomes."""
        table = schemas.from_columns(schemas.OUTCOMES, _columns(outcomes))
        return cls(stamped(table, plan.cluster_id, {"kadmin.plan_id": plan.id}))

    def raise_for_errors(self) -> Outcomes:
        """Itself when every row is good.

        Raises
        ------
        PartlyFailed
            Some rows failed, or could not be verified on every broker.
        """
        if not self.ok:
            first = self.failed.to_arrow().slice(0, 1).to_pylist()[0]
            raise PartlyFailed(
                f"{len(self.failed)} of {len(self)} changes are not verified; the first, {first['resource']} "
                f"{first['key']}, is {first['state']}: {first['message'] or first['error'] or ''}",
                outcomes=self,
                code=first["error"],
                hint="Its rows say which; what was applied stays applied.",
            )
        return self

    @property
    def anything_changed(self) -> bool:
        """Whether the cluster may differ from before."""
        return any(state not in (UNCHANGED, FAILED, "skipped") for state in self._table["state"].to_pylist())

    def _failing(self) -> pa.Array:
        return pc.invert(pc.is_in(self._table["state"], pa.array([UNCHANGED, VERIFIED])))

    def __repr__(self) -> str:
        from ..frames.render import text

        return f"{self._title()}\n{text(self._brief())}"

    def _repr_html_(self) -> str:
        from ..frames.render import document, tree

        return tree(self._title()) + document(self._brief())

    def _title(self) -> str:
        counts = Counter(self._table["state"].to_pylist())
        return f"plan {self.plan_id[:12]}: " + ", ".join(f"{count} {state}" for state, count in counts.items())

    def _brief(self) -> pa.Table:
        columns = [
            "row",
            "resource",
            "key",
            "old",
            "after",
            "state",
            "brokers_agreeing",
            "brokers",
            "lag_ms",
            "message",
        ]
        return self._table.select(columns)


_OWN = ("state", "error", "message", "brokers_agreeing", "brokers", "lag_ms")


def _columns(outcomes: Sequence[Outcome]) -> dict[str, list[Any]]:
    own = {name: list(map(attrgetter(name), outcomes)) for name in _OWN}
    return columns_of([outcome.change for outcome in outcomes]) | own
