"""Latest: work that is done in the background, where only the newest request counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

QUIET = 0.25
"""Seconds without a request before the work begins: who types on is answered first."""


class Latest:
    """Does its work after each request, in a thread of its own; requests that come meanwhile count as one.

    `failed` is given what the work raised; the next request is worked on all the same.
    """

    def __init__(self, work: Callable[[], None], failed: Callable[[Exception], None], *, quiet: float = QUIET) -> None:
        self._work, self._failed, self._quiet, self._lock = work, failed, quiet, threading.Lock()
        self._asked_at = 0.0
        self._is_wanted, self._thread = False, threading.current_thread()
        self._is_running = False

    def ask(self) -> None:
        """Have the work done, once more if it is being done just now."""
        with self._lock:
            self._is_wanted, self._asked_at = True, time.monotonic()
            if self._is_running:
                return
            self._is_running = True
            self._thread = threading.Thread(target=self._run, name="kadmin-nb preview", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until nothing more is to be done."""
        while self._is_running:
            self._thread.join()

    def _run(self) -> None:
        while self._is_still_wanted():
            self._wait_until_quiet()
            try:
                self._work()
            except Exception as exc:  # nobody else would see it: a thread has no cell
                self._failed(exc)

    def _wait_until_quiet(self) -> None:
        while (left := self._asked_at + self._quiet - time.monotonic()) > 0:
            time.sleep(left)

    def _is_still_wanted(self) -> bool:
        with self._lock:
            self._is_running = self._is_wanted
            self._is_wanted = False
            return self._is_running
