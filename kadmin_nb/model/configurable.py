"""Whatever has keys that a change sets, with the facts that it tells of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..secrets import is_reference

if TYPE_CHECKING:
    from typing import Self

    from .resources import Source


@dataclass(frozen=True)  # with slots it could not be sent to a worker of Spark by value: its class meets it half-made
class AclResource:
    """A resource of Kafka's ACLs: its type, `topic` say, and its name. Its text is for people: `the topic orders`."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"the {self.type} {self.name}" if self != THE_CLUSTER else "the cluster"


THE_CLUSTER = AclResource("cluster", "kafka-cluster")
"""The resource on which most rights are checked."""


class Configurable(ABC):
    """A quota's entity, a config's resource: its text parses back. A subclass says what differs from these facts."""

    __slots__ = ()

    kind: ClassVar[str]
    """The name of its kind of change in plans."""

    describe_operation: ClassVar[str] = "DESCRIBE_CONFIGS"
    alter_operation: ClassVar[str] = "ALTER_CONFIGS"
    """The operations of ACLs that it takes to see it and to change it."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """The one that this text names. Raises KadminError where it names none."""

    @property
    def names(self) -> Sequence[str]:
        """The names in it that are sent to brokers."""
        return ()

    @property
    @abstractmethod
    def scope(self) -> str:
        """The part of a snapshot that shows it."""

    @property
    def level(self) -> str | None:
        """Its place in the hierarchy of quotas, where it has one."""
        return None

    @property
    def topic(self) -> str | None:
        """The name of the topic that it is, None of others."""
        return None

    @property
    def broker(self) -> int | None:
        """The broker that alone can answer for it, None when any can."""
        return None

    @property
    def is_internal(self) -> bool:
        """True of a topic that Kafka, or a tool, keeps for itself."""
        return self.topic is not None and self.topic.startswith("__")

    @property
    def authorized_on(self) -> AclResource:
        """The resource of ACLs on which rights to it are checked."""
        return THE_CLUSTER

    @property
    def source(self) -> Source | None:
        """The source of a value that was set on it, None where brokers name no sources."""
        return None

    def reference(self, value: str) -> str | None:
        """The reference in the text of a secret value, `env:NAME`; None where the text is the secret itself."""
        return value if is_reference(value) else None

    def reloads(self, key: str) -> bool:
        """True if setting this key has an effect even where the value is set already: a broker reloads its store."""
        return False

    def unknown_names(self, key: str) -> Sequence[str]:
        """The names that no Kafka of today knows and that a broker takes without a word."""
        return ()
