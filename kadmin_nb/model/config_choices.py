"""The values of the configs that have few, as Kafka's documentation lists them: brokers name none.

They are offered, not enforced: a broker of another version may take more, and decides.
"""

from __future__ import annotations

BOOLEAN = ("true", "false")

_CLEANUP = ("compact", "delete", "compact,delete")
_TIMESTAMP = ("CreateTime", "LogAppendTime")

VALUES: dict[str, tuple[str, ...]] = {
    "cleanup.policy": _CLEANUP,
    "compression.type": ("gzip", "lz4", "producer", "snappy", "uncompressed", "zstd"),
    "message.timestamp.type": _TIMESTAMP,
    "log.cleanup.policy": _CLEANUP,
    "log.message.timestamp.type": _TIMESTAMP,
    "share.auto.offset.reset": ("earliest", "latest"),
    "share.isolation.level": ("read_committed", "read_uncommitted"),
    "ssl.client.auth": ("none", "requested", "required"),
}
"""The values of the keys that have few; of share.auto.offset.reset those without a duration."""

LOGGER_LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""The levels of a broker's loggers."""


def choices(resource_type: str, key: str, value_type: str | None) -> tuple[str, ...]:
    """The values that a config may have, of a list the items; none where they are too many to list."""
    if resource_type == "BROKER_LOGGER":
        return LOGGER_LEVELS
    if value_type == "BOOLEAN":
        return BOOLEAN
    values = VALUES.get(key, ())
    return tuple(value for value in values if "," not in value) if value_type == "LIST" else values
