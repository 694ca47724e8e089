"""The lease while a plan is carried out: waited for, renewed, given back."""

from __future__ import annotations

import random

from ...admin.ports import Kafka, Lease, not_locked
from ...errors import Interrupted, KadminError, Locked
from ...hints import short_id
from ...model.changes import Refusal
from .. import WAIT_LEASE
from ..apply_options import ApplyOptions
from ..approval import author
from ..plan import Plan
from .progress import Advance, Progress, Stopped

LOST = "FENCED"
"""The code of a lease that is another's, or was."""

PAUSE = 0.25
"""Seconds, by a clock that counts sleep, in which another could take the lease and send: after so long a pause, one
within the renewal included, the lease is renewed again before something is sent. A renewal takes 10 to 90 ms."""

_AGAIN = 0.5, 1.0
"""Seconds until another's lease is looked at again, at least and at most: those who wait must not go on in step."""


class PlanLock:
    """The lease of the cluster, where one is wanted; it is asked for before the first request.

    `unproven` are rows that were sent since it was last known to be ours.
    """

    def __init__(self, kafka: Kafka, plan: Plan, options: ApplyOptions) -> None:
        self._kafka, self._plan, self._options = kafka, plan, options
        self._known_at = kafka.boottime()
        self._lease: Lease | None = None
        self.unproven: set[int] = set()

    @property
    def note(self) -> str | None:
        """The reason why other editors are not kept out; None where they are, or nothing was to be sent."""
        if not self._options.lock:
            return not_locked("no lock was asked for")
        return None if self._lease is None else self._lease.note

    @property
    def left_by(self) -> str:
        """The plan of a process that died while it held the lease; see `Lease.left_by`."""
        return "" if self._lease is None else self._lease.left_by

    def take(self, progress: Progress, stopped: Stopped) -> bool:
        """Take it, where one is wanted; True if another's had to be waited for.

        Raises
        ------
        Locked
            Another's is alive, and was waited for as long as the options say.
        Interrupted
            Somebody asked to stop meanwhile.
        """
        until, patience = None, 0.0
        while self._options.lock and self._lease is None:
            self._known_at = self._kafka.boottime()
            try:
                self._lease = self._kafka.lease(self._plan.id, author(), steal=self._options.steal)
            except Locked as held:
                if until is None:
                    patience = WAIT_LEASE if self._options.wait_lease is None else self._options.wait_lease
                    until = self._kafka.monotonic() + patience
                self._wait(held, until - self._kafka.monotonic(), patience, progress, stopped)
        return until is not None

    def _wait(self, held: Locked, left: float, patience: float, progress: Progress, stopped: Stopped) -> None:
        if left <= 0:
            raise held.reworded(f"{held}; waited {patience - left:.0f} s for it") if patience else held
        if stopped():
            raise Interrupted(
                f"plan {short_id(self._plan.id)} was stopped while it waited, and nothing was sent: {held}"
            )
        progress(Advance(f"waiting: {held}: sent", 0, len(self._plan), left=left))
        self._kafka.sleep(min(left, random.uniform(*_AGAIN)))

    def lost(self, after: float = 0.0) -> Refusal | None:
        """The reason why it is no longer ours; it is renewed, if the last renewal began over `after` seconds ago."""
        now = self._kafka.boottime()
        if self._lease is None or now - self._known_at < after:
            return None
        try:
            self._lease.renew()
        except KadminError as exc:
            return Refusal(exc.code or LOST, f"{exc}: plan {short_id(self._plan.id)} stops here")
        self._known_at = now
        self.unproven.clear()
        return None

    def close(self) -> Refusal | None:
        """Give it back: `LOST` where another has it or had it while rows were sent; else why that is not known."""
        return self._lease.release() if self._lease is not None else None
