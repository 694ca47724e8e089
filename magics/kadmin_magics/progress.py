"""One line that tells how far a long call is, where a person watches; nothing else is ever printed."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from IPython.core.interactiveshell import InteractiveShell

from kadmin_nb.plans.execution.progress import Advance

QUIET = 1.0
"""Seconds before anything is shown."""


class Line:
    """An updating line of text: a display in a notebook, standard error in a terminal.

    papermill and nbclient send no input, so nobody watches there, and documents stay as they are.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._kernel = getattr(shell, "kernel", None)
        self._since = time.monotonic()
        self._handle: Any = None

    @property
    def watched(self) -> bool:
        """True if a person can see it."""
        if self._kernel is None:
            return sys.stderr.isatty()
        return bool(getattr(self._kernel, "_allow_stdin", False))

    def progress(self, advance: Advance) -> None:
        """Say how many rows are done."""
        if time.monotonic() - self._since >= QUIET:
            self._say(str(advance))

    def note(self, text: str) -> None:
        """Say what takes long."""
        self._say(text)

    def _say(self, text: str) -> None:
        if not self.watched:
            return
        if self._kernel is None:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self._handle = self._handle or True
        else:
            self._display(text)

    def _display(self, text: str) -> None:
        from IPython.display import display

        plain = {"text/plain": text}
        if self._handle is None:
            self._handle = display(plain, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(plain, raw=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is None:
            return
        if self._kernel is None:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            self._display("")
