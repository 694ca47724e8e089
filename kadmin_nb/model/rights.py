"""The rights that requests need: Kafka's ACL operations, and the resources that they are checked on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ..errors import NotAuthorized, kind_of
from .configurable import THE_CLUSTER, AclResource, Configurable


@dataclass(frozen=True, slots=True)
class Right:
    """An ACL operation, by Kafka's name, on a resource; its text is for people: `CREATE on the topic orders`."""

    operation: str
    on: AclResource

    def __str__(self) -> str:
        return f"{self.operation} on {self.on}"

    def granting_line(self, principal: str) -> str:
        """The line of Kafka's own tool that grants it; the address is left to the shell's `$BOOTSTRAP`."""
        resource = "--cluster" if self.on == THE_CLUSTER else f"--{self.on.type} {shlex.quote(self.on.name)}"
        operation = self.operation.title().replace("_", "")
        whose = f"--allow-principal {shlex.quote(principal)}"
        return f'kafka-acls.sh --bootstrap-server "$BOOTSTRAP" --add {whose} --operation {operation} {resource}'


def to_describe(about: Configurable | None = None) -> Right:
    """The right to see it; by default the right to see quotas and the cluster's configs."""
    return Right(about.describe_operation, about.authorized_on) if about else on_cluster("DESCRIBE_CONFIGS")


def to_alter(about: Configurable | None = None) -> Right:
    """The right to change it; by default the right to change quotas and the cluster's configs."""
    return Right(about.alter_operation, about.authorized_on) if about else on_cluster("ALTER_CONFIGS")


def on_topic(operation: str, topic: str) -> Right:
    """An operation on a topic."""
    return Right(operation, AclResource("topic", topic))


def on_cluster(operation: str) -> Right:
    """An operation on the cluster."""
    return Right(operation, THE_CLUSTER)


def hint(code: str | None, needed: Right | None) -> str | None:
    """The hint that names the missing right; None where the answer is about something else.

    Our writers of a topic have its name as their transactional id.
    """
    if needed and code == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        needed = Right("WRITE", AclResource("transactional-id", needed.on.name))
    return f"It needs {needed}." if needed and kind_of(code) is NotAuthorized else None
