"""The keys and sources that decide where a config is not set on the resource itself: Kafka's rule, as data.

Whatever is set wins over what is built in. A key wins over the keys that stand in for it, and among the values of one
key the source decides, in the order of `Source`: a listener's own key wins over the key of all listeners, wherever each
of them is set. Topics and groups fall back to keys of the brokers, some of which count minutes or hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..hints import nearest
from .resources import Source

BROKER_KEYS = {
    "TOPIC": {
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
    },
    "GROUP": {
        "consumer.assignment.interval.ms": "group.consumer.assignment.interval.ms",
        "consumer.heartbeat.interval.ms": "group.consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms": "group.consumer.session.timeout.ms",
        "share.assignment.interval.ms": "group.share.assignment.interval.ms",
        "share.delivery.count.limit": "group.share.delivery.count.limit",
        "share.heartbeat.interval.ms": "group.share.heartbeat.interval.ms",
        "share.partition.max.record.locks": "group.share.partition.max.record.locks",
        "share.record.lock.duration.ms": "group.share.record.lock.duration.ms",
        "share.session.timeout.ms": "group.share.session.timeout.ms",
        "streams.assignment.interval.ms": "group.streams.assignment.interval.ms",
        "streams.assignor.name": "group.streams.assignors",
        "streams.heartbeat.interval.ms": "group.streams.heartbeat.interval.ms",
        "streams.initial.rebalance.delay.ms": "group.streams.initial.rebalance.delay.ms",
        "streams.num.standby.replicas": "group.streams.num.standby.replicas",
        "streams.rack.aware.assignment.tags": "group.streams.rack.aware.assignment.tags",
        "streams.session.timeout.ms": "group.streams.session.timeout.ms",
    },
}
"""The brokers' key that a key of a topic or of a group falls back to."""

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

MILLISECONDS = {"minutes": 60_000, "hours": 3_600_000}
"""The units that end the names of keys, other than ms."""

MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""Keys that a listener has for each mechanism, `listener.name.<listener>.<mechanism>.<key>`."""

_LISTENER = "listener.name."
_RANKS = {source: rank for rank, source in enumerate(Source)}


@dataclass(frozen=True, slots=True)
class Synonym:
    """A value that was set, or built in, somewhere: Kafka's ConfigSynonym. The text is None where it is a secret."""

    source: Source
    key: str
    text: str | None


def behind_listener(key: str) -> str | None:
    """The key of all listeners in `listener.name.<listener>.[<mechanism>.]<key>`; None of other keys."""
    if not key.startswith(_LISTENER):
        return None
    scoped = key.removeprefix(_LISTENER).partition(".")[2]
    return next((name for name in MECHANISM_KEYS if scoped.endswith(f".{name}")), scoped or None)


def deciding_keys(resource_type: str, key: str) -> tuple[str, ...]:
    """The key and the keys that decide where it is not set, the closest first."""
    first = BROKER_KEYS.get(resource_type, {}).get(key)
    if first is None:
        plain = behind_listener(key) if resource_type == "BROKER" else None
        return (key, *((plain,) if plain else STAND_INS.get(key, ())))
    return tuple(dict.fromkeys((key, first, *STAND_INS.get(first, ()))))


def near_key(resource_type: str, key: str, listed: Iterable[str]) -> str | None:
    """The key of those listed that was probably meant: what a topic calls a key of the brokers, or the reverse; else
    the nearest word."""
    own_name = {of_brokers: own for own, of_brokers in BROKER_KEYS.get(resource_type, {}).items()}
    other_name = own_name.get(key) or BROKER_KEYS["TOPIC"].get(key)
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
    names = deciding_keys(resource_type, key) if resource_type in BROKER_KEYS else (key,)
    names = names[: next((number for number, name in enumerate(names, 1) if name in set_keys), 1)]
    return [synonym for synonym in synonyms if synonym.key not in names or _RANKS[synonym.source] > rank]


def in_unit_of(key: str, synonym: Synonym) -> str | None:
    """The text of a synonym, minutes and hours as the milliseconds that `key` counts; -1 is without an end anyway."""
    factor, text = MILLISECONDS.get(_unit(synonym.key), 1), synonym.text
    if text is None or factor == 1 or _unit(key) == _unit(synonym.key) or not text.strip().isdigit():
        return text
    return str(int(text) * factor)


def unnamed_defaults(resource_type: str, key: str) -> list[Synonym]:
    """Kafka's defaults of the deciding keys, where it does not name them itself."""
    names = (name for name in deciding_keys(resource_type, key) if name in BUILT_IN)
    return [Synonym(Source.BUILT_IN, name, BUILT_IN[name]) for name in names]


def _unit(key: str) -> str:
    return key.rpartition(".")[2]
