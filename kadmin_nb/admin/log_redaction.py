"""kafka-python's log without secrets: at DEBUG it writes down every request, and the bytes of it, logins included."""

from __future__ import annotations

import logging
from typing import Any

_SPEAKERS = ("kafka.net.connection", "kafka.protocol.parser")
_CONFIDENTIAL = ("Sasl", "IncrementalAlterConfigs", "AlterUserScramCredentials")
"""Beginnings of the classes of messages that carry secrets, or answers that may repeat them."""


class _RedactingFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(map(_redacted, record.args))
        return True


def _redacted(argument: Any) -> Any:
    if isinstance(argument, bytes | bytearray | memoryview):
        return f"[{len(argument)} bytes]"
    name = type(argument).__name__
    return f"{name}([secure])" if name.startswith(_CONFIDENTIAL) else argument


def keep_discreet() -> None:
    """Nothing is written where nobody listens, and no secret where somebody does."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    for name in _SPEAKERS:
        logging.getLogger(name).addFilter(_DISCREET)


_DISCREET = _RedactingFilter()
