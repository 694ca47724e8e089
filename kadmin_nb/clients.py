"""Application clients that follow dynamic client configs (KIP-649): confluent-kafka's, with one changed import.

    from kadmin_nb.clients import DynamicProducer as Producer

They need confluent-kafka and nothing else of what kadmin_nb needs. docs/client-configs.md says what they do.
"""

from __future__ import annotations

from typing import NoReturn

from .client_configs.wrappers import DynamicConsumer, DynamicProducer
from .errors import Unsupported

__all__ = ["DynamicConsumer", "DynamicProducer"]

_ASYNCIO = ("AIOConsumer", "AIOProducer")


def __getattr__(name: str) -> NoReturn:
    if name in _ASYNCIO:
        raise Unsupported(
            f"{name} cannot follow client configs: confluent-kafka's asyncio clients make their own client",
            hint="Call DynamicProducer or DynamicConsumer from a thread, as with asyncio.to_thread.",
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
