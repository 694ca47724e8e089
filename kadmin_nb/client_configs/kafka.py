"""`ports.Kafka` over a real cluster, whole: `admin.wire_kafka`, and client configs over its connection."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ..admin.wire_kafka import WireKafka

if TYPE_CHECKING:
    from .topic import WireClientConfigs
    from .verbs import WireClientRegistry


class LiveKafka(WireKafka):
    """A cluster, reached. Most commands load nothing of client configs."""

    @cached_property
    def client_configs(self) -> WireClientConfigs:
        """Dynamic client configs."""
        from .topic import WireClientConfigs

        return WireClientConfigs(self.wire)

    @cached_property
    def client_registry(self) -> WireClientRegistry:
        """The records of clients about themselves."""
        from .verbs import WireClientRegistry

        return WireClientRegistry(self.wire)
