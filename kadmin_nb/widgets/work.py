"""Work: what takes long, in a thread of its own, so that the cell and the kernel's messages go on."""

from __future__ import annotations

import threading
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
