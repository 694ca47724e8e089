"""The progress of a plan while it runs, as the terminal and the notebook draw it, and Ctrl-C that ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from ...model.changes import Outcome

WAITING, SENT = "waiting", "sent"
"""The states of a row that is to be sent, and of one that a broker has accepted while nobody has looked for it yet."""


@dataclass(frozen=True, slots=True)
class Advance:
    """`what` ("sent", "verified", "waiting") has been done to `done` of `of` rows, in `batch` of `batches` requests.

    What is only left out, as after a stop, does not count as done.

    `left` is how many seconds the rest will take as far as it can be told. `behind` says of the broker that is furthest
    behind how many rows it shows and how fast they come. `outcomes` are those that are known by now, `WAITING` or
    `SENT`; they are worked out while they are read, and can be for as long as the call lasts.
    """

    what: str
    done: int
    of: int
    batch: int = 0
    batches: int = 0
    left: float | None = None
    outcomes: Iterable[Outcome] = field(default=(), compare=False, repr=False)
    behind: str = ""

    @property
    def is_over(self) -> bool:
        """True if nothing of this is left."""
        return self.done >= self.of

    def __str__(self) -> str:
        batch = f", batch {self.batch} of {self.batches}" if self.batch and self.batches > 1 else ""
        remaining = f", {self.left:.0f} s left" if self.left and not self.is_over else ""
        if self.behind:
            return f"{self.what}: {self.behind}{remaining}"
        return f"{self.what} {self.done:,} of {self.of:,}{batch}{remaining}"


Progress = Callable[[Advance], None]


def silent(advance: Advance) -> None:
    """Nobody watches."""


def seconds_left(since: float, now: float, done: int, of: int) -> float | None:
    """The time that the remaining rows take at the pace so far."""
    return (now - since) / done * (of - done) if done else None


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
