"""The metadata records that say what is set on a cluster, decoded: quotas, configs, topics, SCRAM users, transactions.

Kafka declares them in `common/metadata/*.json` of kafka-metadata; all that are read here have version 0 only.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from ..model.changes import DELETE, SET
from ..model.entity import Entity
from ..model.quota_keys import text_of
from ..model.resources import RESOURCE_TYPES, Resource, unknown
from ..model.scram import MECHANISMS, ScramUser
from ..secrets import SHOWN, is_secret_name
from .batches import unsigned

CREATE = "create"
QUOTA, CONFIG, SCRAM, TOPIC = Entity.kind, Resource.kind, ScramUser.kind, "topic"
BEGIN, END, ABORT = 23, 24, 25
MARKS = (BEGIN, END, ABORT)
"""The types of the marks of a metadata transaction."""

NO_CHANGES = frozenset({0, 1, 3, 5, 6, 7, 8, 10, 12, 15, 17, 18, 19, 20, 21, 26, 27, 28})
"""The types that are about something else: partitions, brokers, features, ACLs, delegation tokens, producer ids."""

_RESOURCE_TYPES = {number: name for name, number in RESOURCE_TYPES.items()}
_MECHANISMS = dict(enumerate(MECHANISMS, 1))
_FRAME_VERSION = 1
_DOUBLE = struct.Struct(">d")
_INT = struct.Struct(">i")
_REMEMBERED = 10_000
"""Names that are made once for all their records."""


class MetadataChange(NamedTuple):
    """What a record changes. A topic has its id beside its name; one that is deleted is named by its id alone."""

    kind: str
    op: str
    resource: str
    key: str | None = None
    value: str | None = None


def type_of(value: bytes) -> tuple[int, int, int]:
    """The type of a record's value, its version, and where its fields begin.

    Raises
    ------
    ValueError, IndexError
        It is framed in another way.
    """
    frame_version, position = unsigned(value, 0)
    if frame_version != _FRAME_VERSION:
        raise ValueError
    kind, position = unsigned(value, position)
    version, position = unsigned(value, position)
    return kind, version, position


def change_of(kind: int, value: bytes, position: int) -> MetadataChange:
    """The change that the fields of a record of one of the types of `READERS` tell of.

    Raises
    ------
    ValueError, IndexError, struct.error
        The fields do not fit into it.
    """
    return READERS[kind](value, position)


def _quota(value: bytes, position: int) -> MetadataChange:
    entity, key, size = _entity_and_key(value[position:-_QUOTA_ENDS])
    (number,) = _DOUBLE.unpack_from(value, position + size)
    if value[position + size + _DOUBLE.size]:
        return MetadataChange(QUOTA, DELETE, entity, key)
    return MetadataChange(QUOTA, SET, entity, key, text_of(number))


_QUOTA_ENDS = 10
"""Bytes behind the key of a quota: its value, whether it is removed, and how many tagged fields follow."""


@lru_cache(_REMEMBERED)
def _entity_and_key(fields: bytes) -> tuple[str, str, int]:
    """The entity of a quota, its key, and the bytes that both take: of a log of quotas they are half of the work."""
    count, position = unsigned(fields, 0)
    parts = []
    for _ in range(count - 1):
        entity_type, position = _text(fields, position)
        name, position = _text_or_null(fields, position)
        position = _past_tags(fields, position)
        parts.append((entity_type, name))
    key, position = _text(fields, position)
    return str(Entity.from_wire(parts)), key, position


@lru_cache(_REMEMBERED)
def _resource(number: int, name: str) -> str:
    return str(Resource(unknown(_RESOURCE_TYPES, number), name))


def _config(value: bytes, position: int) -> MetadataChange:
    number = int.from_bytes(value[position : position + 1], "big", signed=True)
    name, position = _text(value, position + 1)
    key, position = _text(value, position)
    text, position = _text_or_null(value, position)
    resource = _resource(number, name)
    if text is None:
        return MetadataChange(CONFIG, DELETE, resource, key)
    return MetadataChange(CONFIG, SET, resource, key, SHOWN if is_secret_name(key) else text)


def _topic(value: bytes, position: int) -> MetadataChange:
    name, position = _text(value, position)
    return MetadataChange(TOPIC, CREATE, str(Resource("TOPIC", name)), value=_topic_id(value, position))


def _removed_topic(value: bytes, position: int) -> MetadataChange:
    return MetadataChange(TOPIC, DELETE, "", value=_topic_id(value, position))


def _scram(value: bytes, position: int) -> MetadataChange:
    """That a credential exists: salt and keys are passed over."""
    user, mechanism, position = _user(value, position)
    for _ in range(3):
        size, position = unsigned(value, position)
        position += size - 1
    (iterations,) = _INT.unpack_from(value, position)
    return MetadataChange(SCRAM, SET, user, mechanism, str(iterations))


def _removed_scram(value: bytes, position: int) -> MetadataChange:
    user, mechanism, _ = _user(value, position)
    return MetadataChange(SCRAM, DELETE, user, mechanism)


READERS: dict[int, Callable[[bytes, int], MetadataChange]] = {
    2: _topic,
    4: _config,
    9: _removed_topic,
    11: _scram,
    14: _quota,
    22: _removed_scram,
}
"""The records that are read, by their type."""


def _user(value: bytes, position: int) -> tuple[str, str, int]:
    name, position = _text(value, position)
    return str(ScramUser(name)), unknown(_MECHANISMS, value[position]), position + 1


def _topic_id(value: bytes, position: int) -> str:
    """As Kafka writes it."""
    topic_id = value[position : position + 16]
    if len(topic_id) < 16:
        raise ValueError
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")


def _text(value: bytes, position: int) -> tuple[str, int]:
    text, position = _text_or_null(value, position)
    if text is None:
        raise ValueError
    return text, position


def _text_or_null(value: bytes, position: int) -> tuple[str | None, int]:
    """A text in the compact form: its length and one, zero for null, then UTF-8."""
    size, start = unsigned(value, position)
    if size == 0:
        return None, start
    end = start + size - 1
    if end > len(value):
        raise ValueError
    return value[start:end].decode(errors="replace"), end


def _past_tags(value: bytes, position: int) -> int:
    count, position = unsigned(value, position)
    for _ in range(count):
        _, position = unsigned(value, position)
        size, position = unsigned(value, position)
        position += size
    return position
