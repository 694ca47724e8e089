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
def heard_between_requests(stop: Stopped = never) -> Iterator[Stopped]:
    """A function that says whether somebody has asked to stop, by Ctrl-C or by `stop`.

    Ctrl-C is heard where it would raise KeyboardInterrupt here: in the main thread, with Python's own handler or
    PySpark's.
    """
    before = signal.getsignal(signal.SIGINT)
    if not _raises_keyboard_interrupt(before) or threading.current_thread() is not threading.main_thread():
        yield stop
        return
    stop_requested = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop_requested.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: stop_requested.is_set() or stop()
    finally:
        signal.signal(signal.SIGINT, before)


def _raises_keyboard_interrupt(handler: object) -> bool:
    """Python's handler does; PySpark's, which a session sets, does so after it has cancelled its jobs."""
    return handler is signal.default_int_handler or getattr(handler, "__module__", "") == "pyspark.core.context"
