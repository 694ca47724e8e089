"""Ctrl-C while a plan is carried out: the first stops it between two requests, the second at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Stopped = Callable[[], bool]


def never() -> bool:
    """Nobody can interrupt."""
    return False


@contextmanager
def heard_between_requests() -> Iterator[Stopped]:
    """A function that says whether somebody has asked to stop.

    Only where Ctrl-C would raise KeyboardInterrupt here: in the main thread, with Python's own handler.
    """
    default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not default or threading.current_thread() is not threading.main_thread():
        yield never
        return
    stop_requested = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop_requested.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop_requested.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
