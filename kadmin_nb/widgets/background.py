"""Work in the background: one task at a time, or the newest request alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_UNDER_WAY: set[Work] = set()


class Work:
    """One task at a time: while one goes on, another is not begun, however often somebody clicks.

    Parameters
    ----------
    name
        Of the thread.
    failed
        Is given what a task raised, in its thread.
    changed
        Is called when a task begins, is asked to stop, or is over.
    """

    def __init__(self, name: str, failed: Callable[[BaseException], None], changed: Callable[[], None]) -> None:
        self._name, self._failed, self._changed = name, failed, changed
        self._busy, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        """True while a task goes on."""
        return self._busy.locked()

    def is_stopping(self) -> bool:
        """True if the task under way was asked to stop."""
        return self._stop.is_set()

    def start(self, task: Callable[[], None]) -> bool:
        """Begin a task; False if one is under way, and nothing is begun."""
        if not self._busy.acquire(blocking=False):
            return False
        self._stop.clear()
        _UNDER_WAY.add(self)
        self._changed()
        self._thread = threading.Thread(target=self._run, args=(task,), name=self._name, daemon=True)
        self._thread.start()
        return True

    def stop(self) -> None:
        """Ask the task to stop where it next can."""
        self._stop.set()
        self._changed()

    def wait(self, seconds: float | None = None) -> None:
        """Until the task is over."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as exc:  # nobody else would see it: a thread has no cell
            self._failed(exc)
        finally:
            _UNDER_WAY.discard(self)
            self._busy.release()
            self._changed()


def stop_all() -> None:
    """Ask all work that is under way to stop."""
    for work in [*_UNDER_WAY]:
        work.stop()


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
