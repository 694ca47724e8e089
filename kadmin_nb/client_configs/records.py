"""The records of dynamic client configs: JSON with a version in key and value, in three compacted topics.

A key's text is canonical (names sorted, ASCII, no spaces), since compaction compares its bytes. A reader passes over
what it cannot read: another version, a field that is missing, twice there or of another type, a key that is not
canonical, a record that is too large. docs/client-configs.md has the formats for clients in other languages.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Generic, NamedTuple, Self, TypeVar

import msgspec

from .. import documents
from ..errors import KadminError
from ..model.client_configs import ClientEntity, stored_value

REGISTRATIONS_TOPIC = "__kadmin_client_registrations"
"""The clients that are alive, and the keys that they follow."""

STATUS_TOPIC = "__kadmin_client_config_status"
"""The values that each client took and refused."""

VERSION = 1

MOST_BYTES = 16 * 1024
"""A longer key or value is not read."""

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""A number that a column of a frame takes."""


@dataclass(frozen=True, slots=True)
class Document:
    """Fields as JSON, read strictly: each field occurs once and is of its type."""

    def encode(self) -> bytes:
        """The canonical text."""
        return documents.texts_to_json({"v": VERSION, **msgspec.to_builtins(self)}).encode()

    @classmethod
    def decode(cls, document: bytes | None) -> Self | None:
        """The fields of a record's key or value; None for what cannot be read."""
        if document is None or len(document) > MOST_BYTES:
            return None
        try:
            values = documents.from_json(str(document, "utf-8"))
            is_ours = isinstance(values, dict) and type(values.get("v")) is int and values["v"] == VERSION
            return documents.as_type(values, cls) if is_ours else None
        except ValueError:
            return None


class DocumentKey(Document):
    """The key of a record: only its canonical text is read, as compaction knows no other."""

    __slots__ = ()

    @classmethod
    def decode(cls, document: bytes | None) -> Self | None:
        """The names of a record's key; None for what cannot be read."""
        key = super().decode(document)
        return key if key is not None and key.encode() == document else None


@dataclass(frozen=True, slots=True)
class ConfigKey(DocumentKey):
    """The key of a record of CONFIGS_TOPIC: one entry. A null client-id is the user's own entry."""

    user: str
    client_id: str | None
    key: str


@dataclass(frozen=True, slots=True)
class ConfigValue(Document):
    """An entry's value. Its revision is the record's offset, its time the broker's; a tombstone removes it."""

    value: str
    author: str
    plan_id: str


class Entry(NamedTuple):
    """The value of an entity's key, with the offset of its record and the record's time in ms since 1970."""

    value: str
    revision: int
    author: str = ""
    plan_id: str = ""
    changed: int = 0


Key = TypeVar("Key", bound=DocumentKey)
Value = TypeVar("Value", bound=Document)


class Log(Generic[Key, Value]):
    """The newest record of each key, with its offset and its time in ms; one that cannot be read is only counted."""

    def __init__(self, key_type: type[Key], value_type: type[Value]) -> None:
        self._key_type, self._value_type = key_type, value_type
        self.newest: dict[Key, tuple[Value, int, int]] = {}
        self.passed_over = 0
        self.last = 0

    def take(self, key: bytes | None, value: bytes | None, offset: int, timestamp: int) -> None:
        """Add the next record; a tombstone removes its key."""
        self.last = max(self.last, timestamp)
        names, fields_ = self._key_type.decode(key), self._value_type.decode(value)
        if names is None or (fields_ is None and value is not None) or not self._is_valid(names, fields_):
            self.passed_over += 1
        elif fields_ is None:
            self.newest.pop(names, None)
        else:
            self.newest[names] = fields_, offset, timestamp

    def _is_valid(self, names: Key, value: Value | None) -> bool:
        return True


class ClientConfigLog(Log[ConfigKey, ConfigValue]):
    """The entries in CONFIGS_TOPIC; admins and clients read them by this alone.

    Admins keep the entries of every entity; a client reads only those of its own levels, which are `whose`.
    """

    def __init__(self, whose: Collection[ClientEntity] | None = None) -> None:
        super().__init__(ConfigKey, ConfigValue)
        keys = (ConfigKey(one.user, one.client_id, "").encode() for one in whose or ())
        self._ends_of_keys = None if whose is None else [key.split(b'"key":""') for key in keys]

    def take(self, key: bytes | None, value: bytes | None, offset: int, timestamp: int) -> None:
        """Add the next record, unless its key is another client's: it has one text, whose ends tell whose it is."""
        ends = self._ends_of_keys
        if ends is None or (key and any(key.startswith(first) and key.endswith(last) for first, last in ends)):
            super().take(key, value, offset, timestamp)

    def _is_valid(self, names: ConfigKey, value: ConfigValue | None) -> bool:
        """True of a tombstone, and of an entry that a client may take."""
        try:
            ClientEntity.of(names.user, names.client_id)
            return value is None or stored_value(names.key, value.value) == value.value
        except KadminError:
            return False

    @property
    def entries(self) -> dict[ClientEntity, dict[str, Entry]]:
        """The entries by entity and key, put together each time."""
        entries: dict[ClientEntity, dict[str, Entry]] = {}
        for names, (config, offset, at) in self.newest.items():
            entry = Entry(config.value, offset, config.author, config.plan_id, at)
            entries.setdefault(ClientEntity(names.user, names.client_id), {})[names.key] = entry
        return entries

    def values(self) -> dict[ClientEntity, dict[str, str]]:
        """The values alone."""
        return {
            entity: {key: entry.value for key, entry in entries.items()} for entity, entries in self.entries.items()
        }


@dataclass(frozen=True, slots=True)
class RegistrationKey(DocumentKey):
    """The key of a record of REGISTRATIONS_TOPIC: one instance of a client, as its software calls itself."""

    user: str
    client_id: str
    software: str
    version: str
    instance: str


@dataclass(frozen=True, slots=True)
class Registration(Document):
    """An instance that is alive: the keys that it follows, and, of a consumer, its group. Sent again each interval."""

    keys: list[str]
    interval_ms: Integer
    group_id: str | None
    group_protocol: str | None


@dataclass(frozen=True, slots=True)
class StatusKey(DocumentKey):
    """The key of a record of STATUS_TOPIC: one instance."""

    user: str
    client_id: str
    instance: str


@dataclass(frozen=True, slots=True)
class Status(Document):
    """The values that an instance runs with since `since_ms` by its clock, and for each key that it refused the reason.

    Of a refused key the value is the one that it had before; it may be left out where the client does not know it.
    `revision` is the highest of the entries that are about it, -1 for none.
    """

    revision: Integer
    effective: dict[str, str]
    rejected: dict[str, str]
    since_ms: Integer
