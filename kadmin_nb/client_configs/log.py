"""The entries of dynamic client configs, as the records of their topic add up to them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..admin.compacted_topic import CompactedTopic, TopicRecord, appended_at, patiently_read
from ..admin.wire import Wire
from .nouns import CONFIGS_TOPIC, ClientEntity
from .records import ConfigValue
from .rules import Entries, read_entry


class Entry(NamedTuple):
    """The value of an entity's key, with the offset of its record and its time in ms since 1970."""

    value: ConfigValue
    revision: int
    changed: int

    @property
    def changed_at(self) -> datetime:
        """The broker's time, UTC."""
        return appended_at(self.changed)


class ClientConfigLog:
    """The sum of records: the newest of each key counts; one that cannot be read changes nothing but a counter."""

    def __init__(self) -> None:
        self.entries: dict[ClientEntity, dict[str, Entry]] = {}
        self.passed_over = 0

    def take(self, record: TopicRecord) -> None:
        """Add the next record."""
        if (entry := read_entry(record.key, record.value)) is None:
            self.passed_over += 1
            return
        entity, key, value = entry
        if value is None:
            self._remove(entity, key)
        else:
            self.entries.setdefault(entity, {})[key] = Entry(value, record.offset, record.timestamp)

    def values(self) -> Entries:
        """The values alone."""
        return {
            entity: {key: entry.value.value for key, entry in entries.items()}
            for entity, entries in self.entries.items()
        }

    def _remove(self, entity: ClientEntity, key: str) -> None:
        entries = self.entries.get(entity, {})
        entries.pop(key, None)
        if not entries:
            self.entries.pop(entity, None)


class ClientConfigTopic(CompactedTopic):
    """The topic that the entries stand in."""

    def __init__(self, wire: Wire, name: str = CONFIGS_TOPIC) -> None:
        super().__init__(wire, name)
        self._log = ClientConfigLog()

    def current(self, until: float, node: int | None = None) -> ClientConfigLog | None:
        """The entries, by the leader that this broker names, or any; None where there is no topic.

        Raises
        ------
        NotAuthorized, TimedOut, ConnectionFailed, Invalid
            It cannot be read, within that time or at all.
        """
        return patiently_read(lambda: self.newest(until) if self.exists(until, node) else None, until)

    def newest(self, until: float, end: int | None = None) -> ClientConfigLog:
        """The entries up to the offset `end`, as `read` has it.

        Raises
        ------
        NotAuthorized, TimedOut, ConnectionFailed, Invalid
            It cannot be read, within that time or at all.
        """
        if self.position is None:
            self._log = ClientConfigLog()
        for record in self.read(until, end):
            self._log.take(record)
        return self._log
