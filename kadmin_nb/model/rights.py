"""The rights that requests need: Kafka's ACL operations, and the resources that they are checked on."""

from __future__ import annotations

from ..errors import NotAuthorized, kind_of
from .configurable import THE_CLUSTER, Configurable


def to_describe(about: Configurable | None = None) -> str:
    """The right to see configs, or quotas, in words: `DESCRIBE_CONFIGS on the topic orders`."""
    return f"DESCRIBE_CONFIGS on {about.authorized_on if about else THE_CLUSTER}"


def to_alter(about: Configurable | None = None) -> str:
    """The right to change configs, or quotas, in words: `ALTER_CONFIGS on the cluster`."""
    return f"ALTER_CONFIGS on {about.authorized_on if about else THE_CLUSTER}"


def hint(code: str | None, needed: str | None) -> str | None:
    """The hint that names the missing right; None where the answer is about something else."""
    return f"It needs {needed}." if needed and kind_of(code) is NotAuthorized else None
