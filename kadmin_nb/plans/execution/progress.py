"""The progress of a plan while it runs, as the terminal and the notebook draw it, and Ctrl-C that ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True, slots=True)
class Advance:
    """`what` ("sent", "verified", "waiting") has been done to `done` of `of` rows.

    What is only left out, as after a stop, does not count as done. `left` is how many seconds are waited for the rest,
    where that is known.
    """

    what: str
    done: int
    of: int
    left: float | None = None

    def __str__(self) -> str:
        remaining = f", {self.left:.0f} s left" if self.left and self.done < self.of else ""
        return f"{self.what} {self.done:,} of {self.of:,}{remaining}"


Progress = Callable[[Advance], None]


def silent(advance: Advance) -> None:
    """Nobody watches."""


Stopped = Callable[[], bool]


def never() -> bool:
    """Nobody can interrupt."""
    return False


@contextmanager
def heard_between_requests(stop: Stopped = never) -> Iterator[Stopped]:
    """A function that says whether to stop, asked by Ctrl-C or by `stop`.

    The first Ctrl-C stops a plan between two requests, the second at once.

    Ctrl-C is heard where it would raise KeyboardInterrupt here: in the main thread, with Python's own handler or
    PySpark's.
    """
    before = signal.getsignal(signal.SIGINT)
    # Python's handler raises KeyboardInterrupt; PySpark's, which a session sets, does so after cancelling its jobs
    raises = before is signal.default_int_handler or getattr(before, "__module__", "") == "pyspark.core.context"
    if not raises or threading.current_thread() is not threading.main_thread():
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
