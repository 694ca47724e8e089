"""The rights that requests need: Kafka's ACL operations, and the resources that they are checked on."""

from __future__ import annotations

from ..errors import NotAuthorized, kind_of
from .resources import Resource

_OWN = {"TOPIC": "topic", "GROUP": "group"}
"""Quotas, brokers, their loggers and client-metrics are the cluster's."""


def to_describe(about: object = None) -> str:
    """The right to see configs, or quotas, in words: `DESCRIBE_CONFIGS on the topic orders`."""
    return f"DESCRIBE_CONFIGS on {_checked_on(about)}"


def to_alter(about: object = None) -> str:
    """The right to change configs, or quotas, in words: `ALTER_CONFIGS on the cluster`."""
    return f"ALTER_CONFIGS on {_checked_on(about)}"


def _checked_on(about: object) -> str:
    if isinstance(about, Resource) and about.type in _OWN:
        return f"the {_OWN[about.type]} {about.name}"
    return "the cluster"


def hint(code: str | None, needed: str | None) -> str | None:
    """The hint that names the missing right; None where the answer is about something else."""
    return f"It needs {needed}." if needed and kind_of(code) is NotAuthorized else None
