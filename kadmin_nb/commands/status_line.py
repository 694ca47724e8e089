"""One line on standard error that says what goes on, where somebody watches: written over, and gone at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TextIO

from ..plans.execution.progress import Advance
from .session import Note

QUIET = 0.5
"""Seconds before anything is shown."""

_ERASE = "\r\x1b[K"


class StatusLine:
    """The line that tells what a command is doing; a stream that is not a terminal gets nothing of it."""

    def __init__(self, stream: TextIO, doing: str) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._since, self._is_shown = time.monotonic(), False
        self._timer = threading.Timer(QUIET, self.say, [doing])
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def say(self, text: str) -> None:
        """Show what goes on now, once it has taken long enough to be worth a line."""
        if time.monotonic() - self._since < QUIET:
            return
        with self._lock:
            print(f"{_ERASE}{text}", end="", file=self._stream, flush=True)
            self._is_shown = True

    def progress(self, advance: Advance) -> None:
        """Show how far a plan is."""
        if self._stream.isatty():
            self.say(str(advance))

    @contextmanager
    def watch(self) -> Iterator[Note | None]:
        """A line for something that takes long; None where nobody watches."""
        yield self.say if self._stream.isatty() else None
        self.close()

    def close(self) -> None:
        """The line is gone, until something else is said; what comes now may be printed."""
        self._timer.cancel()
        with self._lock:
            if self._is_shown:
                print(_ERASE, end="", file=self._stream, flush=True)
            self._is_shown = False
