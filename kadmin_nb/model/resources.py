"""Config resources, their operations, and the wire's enumerations (KIP-133, KIP-339)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from ..errors import UsageError
from .changes import Target
from .configurable import THE_CLUSTER, AclResource, Configurable
from .grammar import DEFAULT, format_word, parse_word, split

RESOURCE_TYPES = {"TOPIC": 2, "BROKER": 4, "BROKER_LOGGER": 8, "CLIENT_METRICS": 16, "GROUP": 32}
TYPE_NAMES = {number: name for name, number in RESOURCE_TYPES.items()}
OPERATIONS = {"set": 0, "delete": 1, "append": 2, "subtract": 3}


class Source(StrEnum):
    """The source of a config's value; a member precedes the members that it overrides (KIP-226)."""

    UNKNOWN = "UNKNOWN"
    TOPIC = "DYNAMIC_TOPIC_CONFIG"
    GROUP = "DYNAMIC_GROUP_CONFIG"
    CLIENT_METRICS = "DYNAMIC_CLIENT_METRICS_CONFIG"
    BROKER_LOGGER = "DYNAMIC_BROKER_LOGGER_CONFIG"
    BROKER = "DYNAMIC_BROKER_CONFIG"
    ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    FILE = "STATIC_BROKER_CONFIG"
    BUILT_IN = "DEFAULT_CONFIG"

    @classmethod
    def _missing_(cls, value: object) -> Source:
        """A source that only a later Kafka has."""
        return cls.UNKNOWN


_SOURCES = "TOPIC", "BROKER", "ALL_BROKERS", "FILE", "BUILT_IN", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP"
SOURCES = {number: Source[name] for number, name in enumerate(_SOURCES, 1)}
_VALUE_TYPES = "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"
VALUE_TYPES = dict(enumerate(_VALUE_TYPES, 1))
OWN_SOURCE = {kind: Source[kind] for kind in RESOURCE_TYPES}
"""The source that a value set on the resource itself has."""

WORDS = {kind.lower().replace("_", "-"): kind for kind in RESOURCE_TYPES}
"""The words of the grammar for the resource types: `topic`, `broker-logger`."""


CONFIG_TYPES = {f"{word.removesuffix('s')}s": word for word in WORDS}
"""`--entity-type` of what has configs, and the word of its resource."""

QUOTA_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
"""`--entity-type` of what has quotas, and its entity type of KIP-546."""


def unknown(names: Mapping[int, str], number: int) -> str:
    """The name of an enumeration's number; one that we do not know is `UNKNOWN_<n>`."""
    return names.get(number, f"UNKNOWN_{number}")


_STORE = re.compile(r"(?:listener\.name\.[^.]+\.)?ssl\.(?:keystore\..+|truststore\..+|key\.password)")
"""The keys of a broker's key store and trust store, of all listeners or of one."""


@dataclass(frozen=True, slots=True)
class Resource(Configurable):
    """A config resource; the empty name of a BROKER is the cluster-wide default."""

    kind: ClassVar[str] = "config"
    type: str
    name: str

    @classmethod
    def of(cls, word: str, name: object) -> Resource:
        """The resource that a word such as `topic=orders` or `broker=<default>` names."""
        if word not in WORDS:
            raise UsageError(f"unknown config resource {word}", hint=f"It is one of {', '.join(WORDS)}.")
        if name is DEFAULT and word == "broker":
            return cls("BROKER", "")
        if isinstance(name, int) and not isinstance(name, bool):
            name = str(name)
        if not isinstance(name, str) or not name:
            raise UsageError(f"{word}={name} names no single resource", hint="Only broker has a <default>.")
        return cls(WORDS[word], name)

    @classmethod
    def parse(cls, text: str) -> Resource:
        """The resource that this text names, as `topic=orders`."""
        words = [parse_word(word) for word in split(text)]
        if len(words) != 1:
            raise UsageError(f"{text} does not name one resource")
        return cls.of(words[0].name, words[0].value)

    @property
    def names(self) -> tuple[str]:
        return (self.name,)

    @property
    def scope(self) -> str:
        """The part of a snapshot that shows it; no snapshot shows loggers."""
        return self.type

    @property
    def source(self) -> Source:
        """The source of a value that was set on this very resource."""
        return Source.ALL_BROKERS if self.is_default_broker else OWN_SOURCE.get(self.type, Source.UNKNOWN)

    @property
    def is_default_broker(self) -> bool:
        return self.type == "BROKER" and self.name == ""

    @property
    def topic(self) -> str | None:
        return self.name if self.type == "TOPIC" else None

    def reloads(self, key: str) -> bool:
        """True of the stores of one broker; for all brokers together Kafka takes no store (KAFKA-7429, KAFKA-14136)."""
        return self.type == "BROKER" and self.name != "" and _STORE.fullmatch(key) is not None

    @property
    def authorized_on(self) -> AclResource:
        """Brokers, their loggers and client-metrics are the cluster's."""
        return AclResource(self.type.lower(), self.name) if self.type in ("TOPIC", "GROUP") else THE_CLUSTER

    @property
    def broker(self) -> int | None:
        """The broker that alone can answer for this resource, None when any can."""
        if self.type not in ("BROKER", "BROKER_LOGGER") or not self.name:
            return None
        if not self.name.isascii() or not self.name.isdigit():
            raise UsageError(f"{self} is not a broker", hint="Brokers are numbers: broker=1, or broker=<default>.")
        return int(self.name)

    def __str__(self) -> str:
        word = next((w for w, kind in WORDS.items() if kind == self.type), self.type.lower())
        return format_word(word, DEFAULT if self.is_default_broker else self.name)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: the broker that leads it, none where it is offline, and its replicas in the order of preference."""

    topic: str
    number: int
    leader: int | None
    replicas: tuple[int, ...] = ()
    in_sync: tuple[int, ...] = ()


# -- throttles of replication: configs that Kafka's tools set for a while (KIP-73, KIP-113)

THROTTLES = {
    "TOPIC": ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas"),
    "BROKER": ("leader.replication.throttled.rate", "follower.replication.throttled.rate"),
}
"""The keys that throttle a reassignment, on each type of resource."""

BETWEEN_DISKS = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Throttles moves between the disks of one broker, which no list of reassignments has."""

THROTTLE_RATES = (*THROTTLES["BROKER"], BETWEEN_DISKS)
"""The bytes per second of a broker. It knows them and lists them only once they are set."""

THROTTLE_KEYS = frozenset({*THROTTLES["TOPIC"], *THROTTLE_RATES})

NOBODY_LOOKED = "whether a reassignment was running is not known"


def is_throttle(target: Target) -> bool:
    """True of a config that kafka-reassign-partitions sets when a reassignment begins, and removes when it is over."""
    resource, key = target
    return key in THROTTLES.get(resource.scope, ()) or (resource.scope == "BROKER" and key == BETWEEN_DISKS)
