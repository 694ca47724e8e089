"""The lease of one cluster (reliability.md A3.8), without the topic that its record stands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kadmin_nb.admin.ports import not_locked
from kadmin_nb.errors import KadminError, Locked, PlanRefused
from kadmin_nb.model.changes import Refusal

if TYPE_CHECKING:
    from .kafka import FakeKafka

SECONDS = 120.0
"""How long a lease lives without a renewal."""


@dataclass(eq=False)
class Record:
    """Who holds the lease until when."""

    holder: str
    plan_id: str
    expires: float


class Lease:
    """A lease as its holder has it. `note` says why there is none, where none could be had."""

    def __init__(self, kafka: FakeKafka, record: Record | None, note: str | None = None) -> None:
        self._kafka, self._record = kafka, record
        self.note, self.left_by = note, ""

    def renew(self) -> None:
        """Hold it for its whole time again; FENCED when another has taken it, whatever a lost answer raises."""
        if self._record is not None:
            self._kafka.request("renew the lease", lambda _: self._renew())

    def release(self) -> Refusal | None:
        """Give it back, if it is still ours; never raises. A second time does nothing."""
        if self._record is not None:
            try:
                self._kafka.request("release the lease", lambda _: self._release())
            except KadminError as exc:
                return Refusal(exc.code or "", str(exc))
            finally:
                self._record = None
        return None

    def _is_ours(self) -> bool:
        return self._kafka.cluster.leases.get("") is self._record

    def _renew(self) -> None:
        self._refuse_lost()
        if self._record is not None:
            self._record.expires = self._kafka.boottime() + SECONDS

    def _release(self) -> None:
        self._refuse_lost()
        del self._kafka.cluster.leases[""]

    def _refuse_lost(self) -> None:
        if not self._is_ours():
            raise PlanRefused("another took the lease", code="FENCED", hint="Resume it when they are done.")


def had(kafka: FakeKafka, plan_id: str, holder: str, steal: bool) -> Lease:
    """The lease, or one with a note where it cannot be had; LOCKED while another's is alive."""
    if not kafka.locks:
        return Lease(kafka, None, not_locked("no topic may be made"))
    try:
        lease: Lease = kafka.request("take the lease", lambda _: _taken(kafka, plan_id, holder, steal))
    except PlanRefused:
        raise
    except KadminError as exc:
        return Lease(kafka, None, not_locked(str(exc)))
    return lease


def _taken(kafka: FakeKafka, plan_id: str, holder: str, steal: bool) -> Lease:
    held = kafka.cluster.leases.get("")
    if isinstance(held, Record) and held.expires > kafka.boottime() and not steal:
        raise Locked(f"{held.holder} holds the lease for plan {held.plan_id[:8]}", code="LOCKED")
    record = kafka.cluster.leases[""] = Record(holder, plan_id, kafka.boottime() + SECONDS)
    return Lease(kafka, record)
