"""A worker that Spark has hung up on, as after a limit, ends in silence. Sent by value: it uses nothing else of ours.

PySpark's daemon, of which each worker is a fork, prints a traceback then: on the terminal, with a local Spark.
"""

from __future__ import annotations

import sys
import traceback
from typing import Any

HANG_UPS = (ConnectionError, EOFError)
"""The errors of writing to a connection that is closed, and of reading from it."""


class Tracebacks:
    """The part of the module `traceback` that the daemon uses."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Of any error but a hang-up. No other connection than Spark's is used by the code that asks for it."""
        if not _is_hang_up():
            traceback.print_exc()


def silence() -> None:
    """In this worker, the daemon's own code does not print hang-ups; all other code prints as before."""
    daemon: Any = sys.modules["__main__"]
    if getattr(daemon.__spec__, "name", None) == "pyspark.daemon":
        daemon.traceback, daemon.print = Tracebacks, _print


def _print(*texts: object, **options: Any) -> None:
    if not _is_hang_up():
        print(*texts, **options)


def _is_hang_up() -> bool:
    return isinstance(sys.exc_info()[1], HANG_UPS)
