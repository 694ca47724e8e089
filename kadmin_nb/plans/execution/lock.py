"""The cluster's lease while a plan is carried out."""

from __future__ import annotations

from ...admin.ports import NOT_KEPT_OUT, Kafka, Lease
from ...errors import KadminError
from ...model.refusal import Refusal
from ..author import author
from ..plan import Plan


class PlanLock:
    """The lease, where one is wanted and there is something to do.

    Raises
    ------
    PlanRefused
        Another holds it.
    """

    def __init__(self, kafka: Kafka, plan: Plan, *, lock: bool, steal: bool) -> None:
        self._lease: Lease | None = kafka.lease(plan.id, author(), steal=steal) if lock and len(plan) else None

    @property
    def note(self) -> str | None:
        """The reason why other editors are not kept out; None where they are."""
        if self._lease is None:
            return f"{NOT_KEPT_OUT}; no lock was asked for"
        return self._lease.note

    def lost(self) -> Refusal | None:
        """The reason why it is no longer ours."""
        try:
            if self._lease is not None:
                self._lease.renew()
        except KadminError as exc:
            return Refusal(exc.code or "FENCED", str(exc))
        return None

    def close(self) -> None:
        """Give it back."""
        if self._lease is not None:
            self._lease.release()
