"""The lease record of one cluster (reliability.md A3.8), without the topic that it stands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kadmin_nb.errors import PlanRefused

if TYPE_CHECKING:
    from .kafka import FakeKafka

SECONDS = 60.0
"""How long a lease lives without a renewal."""


@dataclass
class Record:
    """Who holds the lease until when."""

    holder: str
    plan_id: str
    expires: float


class Lease:
    """A lease as its holder has it; another's taking fences it. `note` says why there is none, where none can be."""

    def __init__(self, kafka: FakeKafka, record: Record | None, note: str | None = None) -> None:
        self._kafka, self._record = kafka, record
        self.note = note

    def renew(self) -> None:
        """Hold it for longer.

        Raises
        ------
        PlanRefused
            Another has taken it.
        """
        self._kafka.request("renew", lambda _: self._renew())

    def release(self) -> None:
        """Give it back; nothing if it is no longer ours."""
        self._kafka.request("release", lambda _: self._release())

    def _is_ours(self) -> bool:
        return self._record is not None and self._kafka.cluster.leases.get("") is self._record

    def _renew(self) -> None:
        if self._record is None:
            return
        if not self._is_ours():
            raise PlanRefused("the lease was taken by another", code="LEASE_LOST", hint="Resume when they are done.")
        self._record.expires = self._kafka.monotonic() + SECONDS

    def _release(self) -> None:
        if self._is_ours():
            del self._kafka.cluster.leases[""]


def take(kafka: FakeKafka, plan_id: str, holder: str, steal: bool) -> Lease:
    """Take the lease, or be refused."""
    held = kafka.cluster.leases.get("")
    if isinstance(held, Record) and held.expires > kafka.monotonic() and held.holder != holder and not steal:
        raise PlanRefused(
            f"{held.holder} is applying plan {held.plan_id}", code="LEASE_HELD", hint="Wait, or steal the lease."
        )
    record = kafka.cluster.leases[""] = Record(holder, plan_id, kafka.monotonic() + SECONDS)
    return Lease(kafka, record)
