"""The entity types of Kafka's own command lines, by the words that name them here."""

from __future__ import annotations

CONFIG_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "broker-loggers": "broker-logger",
    "client-metrics": "client-metrics",
    "groups": "group",
}
"""`--entity-type` of what has configs, and the word of its resource."""

QUOTA_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
"""`--entity-type` of what has quotas, and its entity type of KIP-546."""

ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
"""All of them, in the order in which the tool lists them."""


def singular(entity_type: str) -> str:
    """The type without its last letter, as the tool prints it: `topic`; of client-metrics too: `client-metric`."""
    return entity_type[:-1]
