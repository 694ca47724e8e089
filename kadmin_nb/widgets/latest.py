"""Latest: work that is done in the background, where only the newest request counts."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Latest:
    """Does its work after each request, in a thread of its own; requests that come meanwhile count as one."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work, self._lock = work, threading.Lock()
        self._is_wanted, self._thread = False, threading.current_thread()
        self._is_running = False

    def ask(self) -> None:
        """Have the work done, once more if it is being done just now."""
        with self._lock:
            self._is_wanted = True
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
            self._work()

    def _is_still_wanted(self) -> bool:
        with self._lock:
            self._is_running = self._is_wanted
            self._is_wanted = False
            return self._is_running
