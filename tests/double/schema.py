"""The keys of config resources that the double knows: a part of Kafka 4.3's, with its types and defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """A config key. `broker` is the broker's key that a topic's falls back to."""

    type: str
    default: str | None
    broker: str | None = None
    is_read_only: bool = False
    documentation: str = "As Kafka documents it."


_CLEANUP = "This config designates the retention policy to use on log segments."

TOPIC = {
    "cleanup.policy": Key("LIST", "delete", "log.cleanup.policy", documentation=_CLEANUP),
    "compression.gzip.level": Key("INT", "-1", "compression.gzip.level"),
    "compression.lz4.level": Key("INT", "9", "compression.lz4.level"),
    "compression.type": Key("STRING", "producer", "compression.type"),
    "compression.zstd.level": Key("INT", "3", "compression.zstd.level"),
    "delete.retention.ms": Key("LONG", "86400000", "log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": Key("LONG", "60000", "log.segment.delete.delay.ms"),
    "flush.messages": Key("LONG", "9223372036854775807", "log.flush.interval.messages"),
    "flush.ms": Key("LONG", "9223372036854775807"),
    "follower.replication.throttled.replicas": Key("LIST", ""),
    "index.interval.bytes": Key("INT", "4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": Key("LIST", ""),
    "local.retention.bytes": Key("LONG", "-2", "log.local.retention.bytes"),
    "local.retention.ms": Key("LONG", "-2", "log.local.retention.ms"),
    "max.compaction.lag.ms": Key("LONG", "9223372036854775807", "log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": Key("INT", "1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": Key("LONG", "3600000", "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": Key("LONG", "9223372036854775807", "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": Key("STRING", "CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": Key("DOUBLE", "0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": Key("LONG", "0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": Key("INT", "1", "min.insync.replicas"),
    "preallocate": Key("BOOLEAN", "false", "log.preallocate"),
    "remote.storage.enable": Key("BOOLEAN", "false"),
    "retention.bytes": Key("LONG", "-1", "log.retention.bytes"),
    "retention.ms": Key("LONG", "604800000"),
    "segment.bytes": Key("INT", "1073741824", "log.segment.bytes"),
    "segment.index.bytes": Key("INT", "10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": Key("LONG", "0"),
    "segment.ms": Key("LONG", "604800000"),
    "unclean.leader.election.enable": Key("BOOLEAN", "false", "unclean.leader.election.enable"),
}
BROKER = {key.broker: Key(key.type, key.default) for key in TOPIC.values() if key.broker} | {
    "log.retention.ms": Key("LONG", None),
    "max.connections": Key("INT", "2147483647"),
    "max.connections.per.ip": Key("INT", "2147483647"),
    "node.id": Key("INT", None, is_read_only=True),
    "num.network.threads": Key("INT", "3"),
    "num.partitions": Key("INT", "1", is_read_only=True),
    "sasl.jaas.config": Key("PASSWORD", None),
    "ssl.key.password": Key("PASSWORD", None),
    "ssl.keystore.location": Key("STRING", None),
    "ssl.keystore.password": Key("PASSWORD", None),
}
GROUP = {
    "consumer.heartbeat.interval.ms": Key("INT", "5000"),
    "consumer.session.timeout.ms": Key("INT", "45000"),
}
CLIENT_METRICS = {
    "interval.ms": Key("INT", "300000"),
    "match": Key("LIST", ""),
    "metrics": Key("LIST", ""),
}
LOGGERS = {"root": "INFO", "kafka.server.KafkaApis": "INFO", "org.apache.kafka": "INFO"}
LOG_LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")

KEYS = {"TOPIC": TOPIC, "BROKER": BROKER, "GROUP": GROUP, "CLIENT_METRICS": CLIENT_METRICS}
STRANGER = Key("STRING", None)
"""A key that Kafka stores on a broker without knowing it; it is shown as if it were a secret."""


def key_of(kind: str, name: str) -> Key | None:
    """The key of a resource of that type; `listener.name.<x>.` before a broker's is passed over."""
    known = KEYS[kind]
    if kind == "BROKER" and name.startswith("listener.name."):
        rest = name.split(".")[3:]
        return known.get(".".join(rest)) or known.get(".".join(rest[1:]))
    return known.get(name)
