"""The cluster's lease while a plan is carried out."""

from __future__ import annotations

from ...admin.ports import NOT_KEPT_OUT, Kafka, Lease
from ...errors import KadminError
from ...model.refusal import Refusal
from ..author import author
from ..plan import Plan

LOST = "FENCED"
"""The code of a lease that is another's, or was."""

FRESH = 5.0
"""Seconds after which the lease is renewed once more before something is sent: the process may have slept."""


class PlanLock:
    """The lease, where one is wanted and there is something to do.

    `unproven` are rows that were sent since it was last known to be ours.

    Raises
    ------
    PlanRefused
        Another holds it.
    """

    def __init__(self, kafka: Kafka, plan: Plan, *, lock: bool, steal: bool) -> None:
        self._kafka, self._plan_id, self._known_at = kafka, plan.id, kafka.boottime()
        self._lease: Lease | None = kafka.lease(plan.id, author(), steal=steal) if lock and len(plan) else None
        self.unproven: set[int] = set()

    @property
    def note(self) -> str | None:
        """The reason why other editors are not kept out; None where they are."""
        if self._lease is None:
            return f"{NOT_KEPT_OUT}; no lock was asked for"
        return self._lease.note

    def lost(self, after: float = 0.0) -> Refusal | None:
        """The reason why it is no longer ours; it is renewed, if it was not in the last `after` seconds."""
        now = self._kafka.boottime()
        if self._lease is None or now - self._known_at < after:
            return None
        try:
            self._lease.renew()
        except KadminError as exc:
            return Refusal(exc.code or LOST, f"{exc}: plan {self._plan_id[:12]} stops here")
        self._known_at = now
        self.unproven.clear()
        return None

    def give_back(self) -> Refusal | None:
        """Give it back: `LOST` where another has it or had it while rows were sent; else why that is not known."""
        return self._lease.release() if self._lease is not None else None

    def close(self) -> None:
        """Give it back, where nobody did."""
        self.give_back()
