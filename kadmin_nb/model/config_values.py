"""One config of one resource: what is set, what applies without it, where each comes from, which values there are.

Kafka's rule, as data. Whatever is set wins over what is built in. A key wins over the keys that stand in for it, and
among the values of one key the source decides, in the order of `Source`: a listener's own key wins over the key of all
listeners, wherever each of them is set. Topics and groups fall back to keys of the brokers, some of which count minutes
or hours.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..hints import nearest
from .config_units import COUNTED, last_word
from .resources import Resource, Source

BROKER_KEYS = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.decompressed.message.bytes": "max.decompressed.message.bytes",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "remote.copy.lag.bytes": "log.remote.copy.lag.bytes",
    "remote.copy.lag.ms": "log.remote.copy.lag.ms",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}
"""The brokers' key that a key of a topic falls back to."""

STAND_INS = {
    "log.retention.ms": ("log.retention.minutes", "log.retention.hours"),
    "log.roll.ms": ("log.roll.hours",),
    "log.roll.jitter.ms": ("log.roll.jitter.hours",),
    "log.flush.interval.ms": ("log.flush.scheduler.interval.ms",),
}
"""Brokers' keys that decide where this one is not set. Of a broker where nobody sets any, Kafka names none of them."""

BUILT_IN = {
    "log.retention.hours": "168",
    "log.roll.hours": "168",
    "log.roll.jitter.hours": "0",
    "log.flush.scheduler.interval.ms": "9223372036854775807",
    "errors.deadletterqueue.group.enable": "false",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
}
"""Kafka's defaults that it does not name beside a value: of the last stand-ins, and of keys that topics alone have."""

_OF_LISTENER = re.compile(r"listener\.name\.[^.]+\.(?:[^.]+\.(?=sasl\.|connections\.max\.reauth\.))?(?P<key>.+)")
"""A listener's own key, some of them for one mechanism: `listener.name.<listener>.[<mechanism>.]<key>`."""

_RANKS = {source: rank for rank, source in enumerate(Source)}


@dataclass(frozen=True, slots=True)
class Synonym:
    """A value that was set, or built in, somewhere: Kafka's ConfigSynonym. The text is None where it is a secret."""

    source: Source
    key: str
    text: str | None


def behind_listener(key: str) -> str | None:
    """The key of all listeners in `listener.name.<listener>.[<mechanism>.]<key>`; None of other keys."""
    match = _OF_LISTENER.fullmatch(key)
    return match["key"] if match else None


def broker_key(resource_type: str, key: str) -> str | None:
    """The brokers' key that a key of a topic or of a group falls back to; None of other resources."""
    if resource_type == "GROUP":
        return "group.streams.assignors" if key == "streams.assignor.name" else f"group.{key}"
    return BROKER_KEYS.get(key) if resource_type == "TOPIC" else None


def deciding_keys(resource_type: str, key: str) -> tuple[str, ...]:
    """The key and the keys that decide where it is not set, the closest first."""
    first = broker_key(resource_type, key)
    if first is None:
        plain = behind_listener(key) if resource_type == "BROKER" else None
        return (key, *((plain,) if plain else STAND_INS.get(key, ())))
    return tuple(dict.fromkeys((key, first, *STAND_INS.get(first, ()))))


def near_key(resource_type: str, key: str, listed: Iterable[str]) -> str | None:
    """The key of those listed that was probably meant: what a topic calls a key of the brokers, or the reverse; else
    the nearest word."""
    own_name = {of_brokers: own for own, of_brokers in BROKER_KEYS.items()} if resource_type == "TOPIC" else {}
    other_name = own_name.get(key) or BROKER_KEYS.get(key)
    listed = sorted(listed)
    return other_name if other_name in listed else nearest(key, listed)


def in_effect(resource_type: str, key: str, synonyms: Iterable[Synonym]) -> Synonym | None:
    """The synonym that applies; None where no text is known."""
    texts = [synonym for synonym in synonyms if synonym.text is not None]
    if len(texts) < 2:
        return texts[0] if texts else None
    keys = list(dict.fromkeys((*deciding_keys(resource_type, key), *(synonym.key for synonym in texts))))
    return min(texts, key=lambda s: (s.source == Source.BUILT_IN, keys.index(s.key), _RANKS[s.source]))


def fallback(resource_type: str, key: str, synonyms: Iterable[Synonym], source: Source) -> Synonym | None:
    """The synonym that applies once this source, and the sources that override it, do not set the key.

    None where that cannot be seen.
    """
    return in_effect(resource_type, key, synonyms_below(resource_type, key, synonyms, source))


def synonyms_below(resource_type: str, key: str, synonyms: Iterable[Synonym], source: Source) -> list[Synonym]:
    """The synonyms without the values of the key by this source and by the sources that override it."""
    synonyms, rank = list(synonyms), _RANKS[source]
    set_keys = {synonym.key for synonym in synonyms if synonym.source == source}
    # the key, and the brokers' names of it down to the first that is set: a broker calls max.message.bytes of a topic
    # message.max.bytes. The other keys that decide of a broker are not its names, but others.
    names = deciding_keys(resource_type, key) if resource_type in ("TOPIC", "GROUP") else (key,)
    names = names[: next((number for number, name in enumerate(names, 1) if name in set_keys), 1)]
    return [synonym for synonym in synonyms if synonym.key not in names or _RANKS[synonym.source] > rank]


def in_unit_of(key: str, synonym: Synonym) -> str | None:
    """The text of a synonym, minutes and hours as the milliseconds that `key` counts; -1 is without an end anyway."""
    factor, text = COUNTED.get(last_word(synonym.key), 1), synonym.text
    if text is None or factor == 1 or last_word(key) == last_word(synonym.key) or not text.strip().isdigit():
        return text
    return str(int(text) * factor)


def unnamed_defaults(resource_type: str, key: str) -> list[Synonym]:
    """Kafka's defaults of the deciding keys, where it does not name them itself."""
    names = (name for name in deciding_keys(resource_type, key) if name in BUILT_IN)
    return [Synonym(Source.BUILT_IN, name, BUILT_IN[name]) for name in names]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A row of CONFIGS. `text` is the effective value as the broker read it, None of a secret, or where nothing is set.

    `source` is where that comes from, None where the frame does not tell. `synonyms` has every place with a value, the
    effective one included, each with the text as it was sent.
    """

    resource: Resource
    key: str
    text: str | None = None
    source: Source | None = None
    synonyms: tuple[Synonym, ...] = ()
    type: str | None = None
    is_sensitive: bool = False
    is_read_only: bool | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ConfigValue:
        """The value in a row of CONFIGS. Kafka names no synonyms of some defaults: the value is their synonym."""
        source = None if row["source"] is None else Source(row["source"])
        synonyms = tuple(Synonym(Source(s["source"]), s["key"], s["value"]) for s in row.get("synonyms") or ())
        if not synonyms and source is not None and row["value"] is not None:
            synonyms = (Synonym(source, row["key"], row["value"]),)
        return cls(
            Resource(row["resource_type"], row["resource_name"]),
            row["key"],
            row["value"],
            source,
            synonyms,
            row.get("type"),
            bool(row.get("is_sensitive")),
            row.get("is_read_only"),
        )

    @property
    def is_own(self) -> bool:
        """True if the value is set on the resource itself, by an alter."""
        return self.source == self.resource.source != Source.UNKNOWN

    @property
    def sent(self) -> str | None:
        """The effective text as it was sent: a broker's row shows what it made of that, and its synonym the text."""
        if self.is_sensitive:
            return None
        own_texts = (s.text for s in self.synonyms if (s.source, s.key) == (self.source, self.key))
        return next((text for text in own_texts if text is not None), self.text)

    @property
    def own(self) -> str | None:
        """The text that was sent for the resource itself; None where none was, and of a secret."""
        return self.sent if self.is_own else None

    @property
    def inherited(self) -> Synonym | None:
        """The synonym that applies without the resource's own value; None where the row does not tell."""
        return self.below(self.resource.source)

    @property
    def inherited_text(self) -> str | None:
        """The text of what is inherited, in the unit of the key."""
        synonym = self.inherited
        return in_unit_of(self.key, synonym) if synonym else None

    def below(self, source: Source) -> Synonym | None:
        """The synonym that applies once that source says nothing; None where the row does not tell."""
        return fallback(self.resource.type, self.key, self.synonyms, source)

    @property
    def built_in(self) -> str | None:
        """Kafka's own default, as far as the row tells."""
        return next((s.text for s in self.synonyms if s.source == Source.BUILT_IN), None)

    @property
    def is_unset(self) -> bool:
        """True if Kafka has no default for the key, and it is not set."""
        return self.text is None and not self.is_sensitive


class BrokerConfigs:
    """The brokers' values by key, of the brokers `names`, without their default.

    `unread` are brokers that could not be read: what all brokers have is not known as long as it has any.
    """

    def __init__(self, values: Iterable[ConfigValue], unread: Iterable[str] = ()) -> None:
        by_key: dict[str, dict[str, ConfigValue]] = defaultdict(dict)
        for value in values:
            by_key[value.key][value.resource.name] = value
        self._by_key = dict(by_key)
        self.names = sorted({name for of_key in by_key.values() for name in of_key} - {""})
        self.unread = sorted(set(unread))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def of_all(self, key: str) -> ConfigValue | None:
        """The default for all brokers."""
        return self._by_key.get(key, {}).get("")

    def of_each(self, key: str) -> Mapping[str, ConfigValue]:
        """The values of the brokers that have the key, by name."""
        return {name: value for name, value in self._by_key.get(key, {}).items() if name}

    def synonyms(self, broker: str, resource_type: str, key: str) -> list[Synonym]:
        """Every place where that broker has a value which may decide about a key of such resources, as it reads it."""
        of_keys = (self._by_key.get(name, {}) for name in deciding_keys(resource_type, key))
        values = (values[name] for values in of_keys for name in (broker, "") if name in values)
        return [  # the one that applies, with what the broker made of its text
            replace(synonym, text=value.text) if (synonym.source, synonym.key) == (value.source, value.key) else synonym
            for value in values
            for synonym in value.synonyms
        ]


BOOLEAN = ("true", "false")

LOGGER_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels of a broker's loggers."""


def choices(resource_type: str, value_type: str | None) -> tuple[str, ...]:
    """The values that a config may have, where they are two, or levels; none of others."""
    if resource_type == "BROKER_LOGGER":
        return LOGGER_LEVELS
    return BOOLEAN if value_type == "BOOLEAN" else ()
