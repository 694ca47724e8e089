"""Application clients that follow dynamic client configs (KIP-649): confluent-kafka's, with one changed import.

    from kadmin_nb.clients import DynamicProducer as Producer

They need confluent-kafka and nothing else of what kadmin_nb needs. docs/client-configs.md says what they do.
"""

from __future__ import annotations

from .client_configs.wrappers import DynamicConsumer, DynamicProducer

__all__ = ["DynamicConsumer", "DynamicProducer"]
