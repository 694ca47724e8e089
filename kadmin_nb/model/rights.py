"""The rights that requests need: Kafka's ACL operations, and the resources that they are checked on."""

from __future__ import annotations

from .entity import Entity
from .resources import Resource

_OWN = {"TOPIC": "topic", "GROUP": "group"}
"""Quotas, brokers, their loggers and client-metrics are the cluster's."""


def to_describe(about: Resource | Entity | str | None = None) -> str:
    """The right to see configs, or quotas, in words: `DESCRIBE_CONFIGS on the topic orders`."""
    return f"DESCRIBE_CONFIGS on {_checked_on(about)}"


def to_alter(about: Resource | Entity | str) -> str:
    """The right to change them: `ALTER_CONFIGS on the cluster`."""
    return f"ALTER_CONFIGS on {_checked_on(about)}"


def _checked_on(about: Resource | Entity | str | None) -> str:
    resource = Resource.parse(about) if isinstance(about, str) and about.startswith(_OWN_WORDS) else about
    if isinstance(resource, Resource) and resource.type in _OWN:
        return f"the {_OWN[resource.type]} {resource.name}"
    return "the cluster"


_OWN_WORDS = tuple(f"{word}=" for word in _OWN.values())


def hint(code: str | None, needed: str | None) -> str | None:
    """The hint that names the missing right; None where the answer is about something else."""
    return f"It needs {needed}." if needed and (code or "").endswith("_AUTHORIZATION_FAILED") else None
