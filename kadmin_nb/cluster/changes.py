"""From staged wishes to verified rows: plans, wired to this cluster."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..admin.kafka import WireKafka
from ..frames.stamps import now
from ..model.changes import Edit
from ..plans import collector, executor, picture, planning, validation
from ..plans.masking import with_masks
from ..plans.outcomes import Outcomes
from ..plans.plan import Plan, bound
from ..plans.stage import Stage


class Changes:
    """The changing half of a `Cluster`."""

    def __init__(self, kafka: WireKafka) -> None:
        self._kafka = kafka

    def stage(self) -> Stage:
        """A new, empty stage."""
        return Stage(self._plan)

    def apply(self, plan: Plan, **options: Any) -> Outcomes:
        """Carry out a plan; see `plans.executor.apply`."""
        with collector.at_rest():
            return Outcomes.of(plan, executor.apply(self._kafka, plan, **options))

    def verify(self, plan: Plan, **options: Any) -> Outcomes:
        """What every broker holds of a plan; see `plans.executor.check`."""
        return Outcomes.of(plan, executor.check(self._kafka, plan, **options))

    def _plan(self, edits: list[Edit], reason: str | None, allow_unknown: Collection[str]) -> Plan:
        with collector.at_rest():
            seen = picture.take(self._kafka, [e.target for e in edits], whole=True)
            rows = with_masks(planning.changes(edits, seen, allow_unknown), seen.quotas)
            rows = validation.validated(self._kafka, rows)
        return bound(Plan(self._kafka.id, now(), tuple(rows), reason), self.apply)
