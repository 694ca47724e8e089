"""This folder's tests once more, in a process of their own that speaks Spark Connect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BOUND = 1800
"""Seconds; far more than the tests take on a machine that does other things as well."""


class Child:
    """It runs beside the tests of other processes."""

    def __init__(self, chosen: str) -> None:
        """`chosen` is pytest's `-k`; an empty text is all of them."""
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115  # as long as the child
        words = ["-m", "spark", "-k", chosen, "-q", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words],
            env={**os.environ, "KADMIN_TEST_SPARK": "connect"},
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
        )

    def ended(self) -> tuple[int, str]:
        """Its exit code, and the end of what it said."""
        code = self._process.wait(BOUND)
        self._said.seek(0)
        return code, self._said.read()[-8000:]

    def stop(self) -> None:
        """End it, where somebody has ended the tests before it was through."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(60)


def end_with(parent: int) -> None:
    """In the child: end as by Ctrl-C when whoever started it is gone, killed or not."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True, name="parent").start()
