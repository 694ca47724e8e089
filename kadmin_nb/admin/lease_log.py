"""The newest record of the lease, in a compacted topic of its own."""

from __future__ import annotations

from dataclasses import dataclass

from .compacted_topic import CompactedTopic
from .wire import Wire

KEY = b"lease"
"""The key of the one record that counts."""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The record that counts: its value, None for a tombstone, and when it was appended, in ms since 1970."""

    value: bytes | None
    appended: int
    offset: int


class LeaseLog(CompactedTopic):
    """The lease's topic: of its records only the newest counts.

    `last_holder` is the newest with a value, for as long as the log has it: who held it, given back or not.
    """

    def __init__(self, wire: Wire, topic: str) -> None:
        super().__init__(wire, topic)
        self._newest: LeaseRecord | None = None
        self.last_holder: LeaseRecord | None = None

    @property
    def newest_offset(self) -> int | None:
        """The offset of the record that counted when it was read."""
        return None if self._newest is None else self._newest.offset

    def newest(self, until: float, end: int | None = None) -> LeaseRecord | None:
        """The record that counts, up to the offset `end`, as `read` has it.

        Raises
        ------
        TimedOut
            The end was not reached in time.
        """
        if self.position is None:
            self._newest = self.last_holder = None
        for record in self.read(until, end):
            if record.key == KEY:
                self._newest = LeaseRecord(record.value, record.timestamp, record.offset)
                self.last_holder = self._newest if record.value is not None else self.last_holder
        return self._newest
