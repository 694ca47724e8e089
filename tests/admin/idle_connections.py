"""Connections that are closed, as after ten minutes without a request."""

from __future__ import annotations

from kadmin_nb.admin.wire import _waited
from kadmin_nb.client_configs.kafka import LiveKafka


def idle_out(kafka: LiveKafka) -> None:
    """Close every connection: the next request makes a new one, and logs in."""
    connections = list(kafka.wire._manager._conns.values())
    closing = kafka.wire._manager.call_soon(lambda: [connection.close() for connection in connections])
    _waited(closing, 5.0, "closing")
